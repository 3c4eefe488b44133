"""What a picker shows of a memory, as lines of text that fit (see `present.picking`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial

from recollect.interfaces.cli.desktop import copied, text_of
from recollect.interfaces.cli.layout import MarkedText, cells, laid_out, shortened, wrapped
from recollect.interfaces.cli.output import (
    BOLD,
    COLOURS,
    CYAN,
    DIM,
    ELSEWHERE,
    MARK,
    NO_COLOURS,
    Screen,
    styled,
)
from recollect.interfaces.cli.results import INDENT, about, passage_lines, reasons
from recollect.present import sentences
from recollect.present.snippet import flowed
from recollect.present.visible import visible
from recollect.present.words import age, heading_line, place_in_file
from recollect.query.terms import WORD
from recollect.types import Memory, Result

AGES_FROM = 48  # columns of a list that has room for ages
TAB = 4
NEAR = 400  # characters of a text that are seen without a key
SAME = 60  # characters of a passage that tell where it stands
PASSAGE = 4  # lines
FIELDS = ("context", "why", "impact", "details")


def row(memory: Memory, columns: int, now: datetime | None) -> str:
    """Return a memory as one line of a list: its title, and its age where there is room."""
    old = age(memory.updated_at, now) if now and columns >= AGES_FROM else ""
    pinned = "* " if memory.tier == "core" else ""
    title = shortened(f"{pinned}{heading_line(memory)}", columns - len(old) - 1)
    return f"{title}{' ' * (columns - len(old) - cells(title))}{old}"


def preview(
    memory: Memory, result: Result | None, now: datetime, columns: int, *, colour: bool, why: bool
) -> list[str]:
    """Return the lines of a memory, or of why it is there, with the escapes of a terminal."""
    # As wide as a result whose lines are indented.
    width = columns + len(INDENT)
    shown = ELSEWHERE.set(
        Screen(terminal=True, width=width, styles=COLOURS if colour else NO_COLOURS)
    )
    try:
        whole = _why(result) if why else _memory(memory, result, now, columns)
        heading = (styled(line, BOLD) for line in wrapped(heading_line(memory), columns))
        return [*heading, *whole]
    finally:
        ELSEWHERE.reset(shown)


def copy(memory: Memory, to_terminal: Callable[[str], object]) -> object:
    """Copy a memory to the clipboard, by a program or by the terminal."""
    return copied(text_of(memory), to_terminal)


def _why(result: Result | None) -> Iterator[str]:
    yield ""
    if result is None:
        yield "It is listed, not searched for: type some words."
    else:
        yield from (line.removeprefix(INDENT) for line in reasons(result.explain))


def _memory(memory: Memory, result: Result | None, now: datetime, columns: int) -> Iterator[str]:
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
