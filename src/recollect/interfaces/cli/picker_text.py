"""What the picker shows, as lines of styled text that fit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from functools import lru_cache, partial

from prompt_toolkit.formatted_text import ANSI, StyleAndTextTuples, to_formatted_text

from recollect.interfaces.cli.layout import MarkedText, cells, laid_out, wrapped
from recollect.interfaces.cli.lines import shortened
from recollect.interfaces.cli.output import BOLD, CYAN, DIM, MARK, styled
from recollect.interfaces.cli.picker_answers import Answer, Item
from recollect.interfaces.cli.results import INDENT, about, passage_lines, reasons
from recollect.interfaces.cli.screen import COLOURS, ELSEWHERE, NO_COLOURS, Screen
from recollect.present import sentences
from recollect.present.snippet import flowed
from recollect.present.visible import visible
from recollect.present.words import age, counted, heading_line, place_in_file
from recollect.query.terms import WORD

PROMPT = "> "
# What the keys do; the letters are pressed with Ctrl.
KEYS = {
    "Enter": "choose",
    "^O": "open",
    "^E": "edit",
    "^Y": "copy",
    "^T": "pin",
    "^X": "forget",
    "^G": "accept",
    "Tab": "why",
    "^Z": "undo",
    "Esc": "leave",
}
POINTER, REST = "› ", "  "
AGES_FROM = 50  # columns of a list that has room for ages
TAB = 4
NEAR = 400  # characters of a text that are seen without a key
SAME = 60  # characters of a passage that tell where it stands
PASSAGE = 4  # lines
FIELDS = ("context", "why", "impact", "details")


def key_lines(columns: int) -> list[str]:
    """The keys, in as many lines as they need."""
    lines = [""]
    for key, effect in KEYS.items():
        hint = f"{key} {effect}"
        if lines[-1] and len(lines[-1]) + 2 + len(hint) > columns:
            lines.append("")
        lines[-1] += f"{'  ' if lines[-1] else ''}{hint}"
    return lines


def list_lines(answer: Answer, place: int, columns: int, lines: int) -> StyleAndTextTuples:
    """The items, a line each, those around the chosen one where not all fit."""
    first = max(0, min(place - lines // 2, len(answer.items) - lines))
    shown: StyleAndTextTuples = []
    for number, item in enumerate(answer.items[first : first + lines], start=first):
        chosen = number == place
        old = age(item.memory.updated_at, answer.now) if answer.now and columns >= AGES_FROM else ""
        room = columns - len(POINTER) - len(old) - 1
        pinned = "* " if item.memory.tier == "core" else ""
        title = shortened(f"{pinned}{heading_line(item.memory)}", room)
        line = f"{POINTER if chosen else REST}{title}{' ' * (room - cells(title) + 1)}{old}"
        shown += [("reverse" if chosen else "", line), ("", "\n")]
    return shown


def status_line(answer: Answer) -> str:
    """How many there are, how good they are, and whether better ones may come."""
    if answer.problem:
        return visible(answer.problem)
    if answer.now is None:
        return "Opening the vault …"
    if answer.response is None:
        return "Type to search." if answer.items else "No memory found."
    if not answer.items:
        return sentences.no_results(answer.response, "") if answer.whole else "Searching …"
    parts = [counted(len(answer.items), "result"), sentences.evidence(answer.response)]
    return " · ".join(filter(None, (*parts, "" if answer.whole else "searching deeper …")))


@lru_cache(maxsize=8)
def preview_lines(
    item: Item, now: datetime, columns: int, *, colour: bool, why: bool
) -> list[StyleAndTextTuples]:
    """The memory, or why it is there."""
    # As wide as a result whose lines are indented.
    width = columns + len(INDENT)
    shown = ELSEWHERE.set(
        Screen(terminal=True, width=width, styles=COLOURS if colour else NO_COLOURS)
    )
    try:
        lines = [*_heading(item, columns), *(_why(item) if why else _memory(item, now, columns))]
    finally:
        ELSEWHERE.reset(shown)
    return [to_formatted_text(ANSI(line)) for line in lines]


def _heading(item: Item, columns: int) -> Iterator[str]:
    yield from (styled(line, BOLD) for line in wrapped(heading_line(item.memory), columns))


def _why(item: Item) -> Iterator[str]:
    yield ""
    if item.result is None:
        yield "It is listed, not searched for: type some words."
    else:
        yield from (line.removeprefix(INDENT) for line in reasons(item.result.explain))


def _memory(item: Item, now: datetime, columns: int) -> Iterator[str]:
    memory, result = item.memory, item.result
    yield styled(about(memory, now, partial(age, now=now)), DIM)
    words: set[str] = set()
    if result is not None:
        notes = [place_in_file(result.file)] if result.file else []
        for each in (*notes, *sentences.others(result)):
            yield styled(shortened(each, columns), DIM)
        passage = MarkedText.of(result.marked)
        words = {passage.text[start:end].casefold() for start, end in passage.matches}
        if flowed(passage.text[:SAME]).strip("… ") not in flowed(memory.text[:NEAR]):
            yield from ("", *passage_lines(passage, PASSAGE))
    yield from ("", *_marked(memory.text, words, columns))
    for name in FIELDS:
        if value := getattr(memory, name):
            yield from ("", styled(name, CYAN), *_marked(value, words, columns))


def _marked(text: str, words: set[str], columns: int) -> Iterator[str]:
    """The lines of the text, with these words marked."""

    def mark(found: re.Match[str]) -> str:
        return styled(found[0], MARK) if found[0].casefold() in words else found[0]

    for line in laid_out(visible(text).expandtabs(TAB), columns):
        yield WORD.sub(mark, line)
