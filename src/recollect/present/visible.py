"""Memory text made safe to show: no character steers a terminal, reorders a line, or hides.

Control characters steer terminals. Bidirectional ones make text read in another order than it is
written (the "Trojan Source" attack). Tag characters show nothing but are read by models.
"""

from __future__ import annotations

import re
from typing import Any

STEERING = range(0x7F, 0xA0)  # JSON escapes those below U+0020 itself
BIDIRECTIONAL = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
TAGS = range(0xE0000, 0xE0080)
NAMED = {code: f"<U+{code:04X}>" for code in (*STEERING, *BIDIRECTIONAL, *TAGS)}
HIDING = frozenset(map(chr, NAMED))
PICTURES = {code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\t\n"}
SHOWN = NAMED | PICTURES | {0x7F: "␡"}
# Printable by the letter, and nothing to see: fillers, an empty Braille cell, variation selectors.
BLANK = frozenset(
    (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0,
     *range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))
)  # fmt: skip
SEPARATORS = {ord(sign): "-" for sign in "·>"}  # what stands between the parts of a line
LABEL, LABEL_WORDS = 40, 2  # characters and words of a kind, a project or a tag
SHOWN_CHARACTER = re.compile(r"<U\+([0-9A-F]{4,5})>")
# The keys of JSON under which they stand; under some, as the keys of an object.
LABELS = frozenset(("kind", "project", "tags", "type", "category", "topics"))
IDS = frozenset(
    ("id", "ids", "asked", "around", "history", "joined", "replaces", "same", "seems_replaced_by",
     "seems_to_replace", "superseded", "superseded_by", "target")
)  # fmt: skip


def visible(text: str) -> str:
    """The text with control characters as pictures, and those that reorder or hide by name."""
    return text.translate(SHOWN)


def one_line(text: str) -> str:
    """Return visible text in one line: titles, ids and names of files may hold line breaks."""
    return visible(" ".join(text.splitlines()))


def quoted(text: str) -> str:
    """Return visible text with `> ` before every line: it cannot pass for what is around it."""
    return "\n".join(f"> {visible(line)}".rstrip() for line in text.splitlines())


def label(name: str) -> str:
    """Return a kind, a project or a tag as data: one line of visible characters, which can pass
    neither for a sentence nor for another part of a line. More than two words become one, which a
    filter takes as well: it compares without case and blanks."""
    shown = "".join(" " if each.isspace() else each for each in name if _shows(each))
    words = shown.translate(SEPARATORS).split()
    if len(words) > 1:
        words = [word.rstrip(".,:;!?") for word in words]
    if len(words) > LABEL_WORDS:
        words = ["".join(word[:1].upper() + word[1:] for word in words)]
    text = " ".join(words)
    return text if len(text) <= LABEL else f"{text[:LABEL]}…"


def shown_id(id: str) -> str:
    """Return an id with what is not visible by name, such as `<U+200B>`; `written_id` reads it."""
    if id.isascii() and id.isprintable():  # as most
        return id
    return "".join(each if _shows(each) else f"<U+{ord(each):04X}>" for each in id)


def written_id(shown: str) -> str:
    """Return the id that is shown so."""
    return SHOWN_CHARACTER.sub(lambda found: chr(int(found[1], 16)), shown)


def as_data(value: Any, name: str = "") -> Any:
    """Return JSON for a model, in which kinds, projects, tags and ids are data. `name`: the key of
    the value."""
    if isinstance(value, str):
        return label(value) if name in LABELS else shown_id(value) if name in IDS else value
    if isinstance(value, list | tuple):
        return [as_data(each, name) for each in value]
    if isinstance(value, dict):
        return {as_data(key, name): as_data(each, key) for key, each in value.items()}
    return value


def _shows(character: str) -> bool:
    """Whether a character can be seen, or is a blank."""
    return (character.isprintable() or character.isspace()) and ord(character) not in BLANK


def visible_json(encoded: str) -> str:
    """The same JSON value with such characters as escapes: a program reads what was written."""
    if HIDING.isdisjoint(encoded):  # as most: far quicker than to translate
        return encoded
    return encoded.translate({ord(each): _escaped(each) for each in HIDING})


def _escaped(character: str) -> str:
    return "\\u" + character.encode("utf-16-be").hex("|", 2).replace("|", "\\u")
