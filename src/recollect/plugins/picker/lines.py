"""What the picker shows, as lines that fit; a memory's own are made by the command."""

from __future__ import annotations

from datetime import datetime

from prompt_toolkit.formatted_text import ANSI, StyleAndTextTuples, to_formatted_text

from recollect.plugin.pickers import PickerText, counted, evidence, no_results, visible
from recollect.plugins.picker.answers import Answer, Item

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


def key_lines(columns: int) -> list[str]:
    """The keys, in as many lines as they need."""
    lines = [""]
    for key, effect in KEYS.items():
        hint = f"{key} {effect}"
        if lines[-1] and len(lines[-1]) + 2 + len(hint) > columns:
            lines.append("")
        lines[-1] += f"{'  ' if lines[-1] else ''}{hint}"
    return lines


def list_lines(
    text: PickerText, answer: Answer, place: int, columns: int, lines: int
) -> StyleAndTextTuples:
    """The items, a line each, those around the chosen one where not all fit."""
    first = max(0, min(place - lines // 2, len(answer.items) - lines))
    shown: StyleAndTextTuples = []
    for number, item in enumerate(answer.items[first : first + lines], start=first):
        chosen = number == place
        row = text.row(item.memory, columns - len(POINTER), answer.now)
        shown += [("reverse" if chosen else "", f"{POINTER if chosen else REST}{row}"), ("", "\n")]
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
        return no_results(answer.response, "") if answer.whole else "Searching …"
    parts = [counted(len(answer.items), "result"), evidence(answer.response)]
    return " · ".join(filter(None, (*parts, "" if answer.whole else "searching deeper …")))


def preview_lines(
    text: PickerText, item: Item, now: datetime, columns: int, *, colour: bool, why: bool
) -> list[StyleAndTextTuples]:
    """The memory, or why it is there."""
    lines = text.preview(item.memory, item.result, now, columns, colour=colour, why=why)
    return [to_formatted_text(ANSI(line)) for line in lines]
