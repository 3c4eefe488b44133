"""File names that people can read and that Linux, macOS, Windows and Obsidian all take."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import islice

from recollect import Memory
from recollect.plugin.mirrors import ENDING, content_digest

# Enough for a title, and short enough that folder and name fit into Windows' 260 characters.
LONGEST = 100
# File systems take 255 bytes; this leaves room for a suffix, the ending, and a temporary name.
MOST_BYTES = 180
# Windows refuses the first ones; with the others Obsidian cannot link to the file.
FORBIDDEN = re.compile(r'[<>:"/\\|?*#^\[\]]')
# Categories of Unicode: control, surrogate, unassigned, private use, line and paragraph ends.
UNSEEN = frozenset(("Cc", "Cs", "Cn", "Co", "Zl", "Zp"))
# Characters that change the reading direction, and the byte order mark.
TURNING = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
RESERVED = re.compile(r"(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³])", re.IGNORECASE)
TAIL = 6


def safe_name(text: str) -> str:
    """The text as the name of a file or folder, without an ending; empty if nothing is left."""
    line = unicodedata.normalize("NFC", text[: LONGEST * 4])
    line = FORBIDDEN.sub(" ", TURNING.sub("", line))
    line = "".join(" " if unicodedata.category(char) in UNSEEN else char for char in line)
    name = _shortened(" ".join(line.split()).lstrip(". ")).rstrip(". ")
    reserved = RESERVED.fullmatch(name.partition(".")[0].rstrip())
    return f"_{name}" if reserved else name


def _shortened(name: str) -> str:
    """The name up to LONGEST, cut at a word where that leaves most of it."""
    short = name[:LONGEST].encode()[:MOST_BYTES].decode(errors="ignore")
    if short == name:
        return name
    whole = short.rpartition(" ")[0]
    return whole if len(whole) > len(short) // 2 else short


def same_place(path: str) -> str:
    """The same text for all paths that some system takes for the same: those that differ in case
    or in how accents are composed."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())


def paths(memory: Memory) -> Iterator[str]:
    """Paths for the memory's file, best first and without end: its project's folder and its title,
    then with the end of its id, then with a hash and a number."""
    folder = safe_name(memory.project)
    name = safe_name(memory.title) or safe_name(memory.text[:LONGEST]) or safe_name(memory.id)
    start = f"{folder}/{name or 'memory'}" if folder else name or "memory"
    yield start + ENDING
    tail = safe_name(memory.id[-TAIL:].lstrip("-"))
    if tail:
        yield f"{start} ({tail}){ENDING}"
    digest = content_digest(memory.id, 6).hex()
    yield f"{start} ({digest}){ENDING}"
    number = 2
    while True:
        yield f"{start} ({digest} {number}){ENDING}"
        number += 1


def free_path(memory: Memory, taken: set[str]) -> str:
    """The first path that no other file has; `taken` holds the `same_place` of those."""
    return next(path for path in paths(memory) if same_place(path) not in taken)


def is_ours(path: str, memory: Memory) -> bool:
    """Whether the file has a name that we would choose."""
    return same_place(path) in map(same_place, islice(paths(memory), 4))
