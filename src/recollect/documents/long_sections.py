"""A part that is too long for one cut, as several: at paragraphs, at lines, within a line."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

# What a model reads of a text, and a person of a result, is about this long.
TARGET = 1_500
MOST = 2_500
# One or two sentences: what is said across a border is found on one side of it at least.
OVERLAP = 200
# What a piece has without its overlap.
LONGEST = MOST - OVERLAP
# A shorter rest goes with what is before it.
SMALL = 400
# What is so many blanks away does not belong to it.
FAR = 20
FENCE = re.compile(r" {0,3}(```+|~~~+)")
SENTENCE = re.compile(r"[.!?][\"')\]]*\s+|[。！？]")
SPACE = re.compile(r"\s")


class Lines(NamedTuple):
    """The lines of a document, and where each begins in it."""

    texts: list[str]
    begins_at: list[int]

    def size(self, start: int, end: int) -> int:
        return self.begins_at[end] - self.begins_at[start]

    def blank(self, start: int, end: int) -> bool:
        return not any(text.strip() for text in self.texts[start:end])

    def begins(self, line: int) -> bool:
        """True for one line in four, by what it says: a cut begins here rather than elsewhere. What
        hangs on the words alone is the same wherever they stand."""
        return zlib.crc32(self.texts[line].strip().encode(errors="replace")) % 4 == 0


class Piece(NamedTuple):
    """The text of a cut, and its first and last line, counted from 0."""

    text: str
    first: int
    last: int


def pieces(lines: Lines, start: int, end: int, *, fenced: bool) -> Iterator[Piece]:
    """The lines from `start` up to `end` without the blank ones around them: one piece, or several
    that overlap. `fenced`: blocks between ``` stay whole where they can."""
    while start < end and not lines.texts[start].strip():
        start += 1
    while start < end and not lines.texts[end - 1].strip():
        end -= 1
    if start == end:
        return
    if lines.size(start, end) - 1 <= MOST:
        yield Piece("\n".join(lines.texts[start:end]), start, end - 1)
        return
    before = start
    for first, last in _runs(lines, start, end, fenced=fenced):
        if lines.size(first, last) > LONGEST and last == first + 1:
            yield from _of_line(lines.texts[first], first)
        elif not lines.blank(first, last):
            yield _with_overlap(lines, before, first, last)
        before = first


def _with_overlap(lines: Lines, before: int, first: int, last: int) -> Piece:
    """The lines of a run after the end of the run before it, which began at `before`."""
    while last > first and not lines.texts[last - 1].strip():
        last -= 1
    texts = lines.texts[first:last]
    tail = first
    while tail > before and not lines.texts[tail - 1].strip():
        tail -= 1
    if tail == before or lines.size(tail, first) > FAR:
        return Piece("\n".join(texts), first, last - 1)
    begin = tail
    while begin > before and lines.size(begin - 1, first) <= OVERLAP:
        begin -= 1
    while begin < tail and not lines.texts[begin].strip():
        begin += 1
    if begin < tail:
        return Piece("\n".join([*lines.texts[begin:first], *texts]), begin, last - 1)
    end = _end_of(lines.texts[tail - 1])
    return Piece("\n".join([end, *lines.texts[tail:first], *texts]), tail - 1, last - 1)


def _end_of(line: str) -> str:
    """The last sentence or two of a long line; the last words where there is no sentence."""
    if len(line) <= OVERLAP:
        return line
    end = line[-OVERLAP:]
    found = SENTENCE.search(end) or SPACE.search(end)
    if found and end[found.end() :].strip():
        return end[found.end() :].lstrip()
    return end


def _runs(lines: Lines, start: int, end: int, *, fenced: bool) -> Iterator[tuple[int, int]]:
    """What is together in one piece, of what must not be torn apart: about TARGET long."""
    borders = [start]
    begin = start
    for first, last in _atoms(lines, start, end, fenced=fenced):
        if first > begin and _breaks(lines, begin, first, last):
            borders.append(first)
            begin = first
    borders.append(end)
    if len(borders) > 2 and _is_rest(lines, *borders[-3:]):
        del borders[-2]
    yield from pairwise(borders)


def _breaks(lines: Lines, begin: int, first: int, last: int) -> bool:
    """Whether a new piece begins with the lines from `first` to `last`."""
    held, new = lines.size(begin, first), lines.size(first, last)
    if held > LONGEST or new > LONGEST:  # a line that is several pieces
        return True
    if held + new > TARGET:
        return held >= TARGET // 2 or held + new > LONGEST
    return held >= TARGET * 2 // 3 and lines.begins(first)


def _is_rest(lines: Lines, before: int, begin: int, end: int) -> bool:
    return lines.size(begin, end) < SMALL and lines.size(before, end) <= LONGEST


def _atoms(lines: Lines, start: int, end: int, *, fenced: bool) -> Iterator[tuple[int, int]]:
    """Paragraphs, with the blank lines after them; where one is too long, its lines."""
    for first, last in _paragraphs(lines.texts, start, end, fenced=fenced):
        if lines.size(first, last) <= LONGEST:
            yield first, last
        elif fenced:
            yield from _atoms(lines, first, last, fenced=False)
        else:
            yield from ((line, line + 1) for line in range(first, last))


def _paragraphs(
    texts: list[str], start: int, end: int, *, fenced: bool
) -> Iterator[tuple[int, int]]:
    begin, blank, fence = start, False, ""
    for line in range(start, end):
        text = texts[line]
        if not text.strip():
            blank = True
            continue
        if blank and not fence:
            yield begin, line
            begin = line
        blank = False
        found = FENCE.match(text) if fenced else None
        if found and not fence:
            fence = found[1]
        elif found and found[1].startswith(fence) and not text[found.end() :].strip():
            fence = ""
    yield begin, end


def _of_line(text: str, line: int) -> Iterator[Piece]:
    """A single line that is too long: at white space where there is some, else anywhere."""
    begin, begin_new = 0, 0
    while len(text) - begin_new > LONGEST:
        space = SPACE.search(text, begin_new + TARGET, begin_new + LONGEST)
        end = space.end() if space else begin_new + TARGET
        yield from _stripped(text[begin:end], line)
        space = SPACE.search(text, end - OVERLAP, end - 1)
        begin, begin_new = space.end() if space else end - OVERLAP, end
    yield from _stripped(text[begin:], line)


def _stripped(text: str, line: int) -> Iterator[Piece]:
    if text.strip():
        yield Piece(text.strip(), line, line)
