"""Memory text made safe to show: no character steers a terminal, reorders a line, or hides.

Control characters steer terminals. Bidirectional ones make text read in another order than it is
written (the "Trojan Source" attack). Tag characters show nothing but are read by models.
"""

from __future__ import annotations

STEERING = range(0x7F, 0xA0)  # JSON escapes those below U+0020 itself
BIDIRECTIONAL = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
TAGS = range(0xE0000, 0xE0080)
NAMED = {code: f"<U+{code:04X}>" for code in (*STEERING, *BIDIRECTIONAL, *TAGS)}
HIDING = frozenset(map(chr, NAMED))
PICTURES = {code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\t\n"}
SHOWN = NAMED | PICTURES | {0x7F: "␡"}


def visible(text: str) -> str:
    """The text with control characters as pictures, and those that reorder or hide by name."""
    return text.translate(SHOWN)


def one_line(text: str) -> str:
    """The same in one line: titles, ids and names of files may hold line breaks."""
    return visible(" ".join(text.splitlines()))


def quoted(text: str) -> str:
    """The same with `> ` before every line, so that text cannot pass for what stands around it."""
    return "\n".join(f"> {visible(line)}".rstrip() for line in text.splitlines())


def visible_json(encoded: str) -> str:
    """The same JSON value with such characters as escapes: a program reads what was written."""
    if HIDING.isdisjoint(encoded):  # as most: far quicker than to translate
        return encoded
    return encoded.translate({ord(each): _escaped(each) for each in HIDING})


def _escaped(character: str) -> str:
    return "\\u" + character.encode("utf-16-be").hex("|", 2).replace("|", "\\u")
