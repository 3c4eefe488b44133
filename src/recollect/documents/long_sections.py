"""Splitting a section that is too long for one chunk: at paragraphs, at lines, within a line."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from recollect.documents.markdown import fence_after

# What a model reads of a text, and a person of a result, is about this long.
TARGET = 1_500
MOST = 2_500
# One or two sentences: a statement across a border is whole in one chunk at least.
OVERLAP = 200
# The length of a chunk without its overlap.
LONGEST = MOST - OVERLAP
# A shorter rest goes with the chunk before it.
SMALL = 400
# Text behind so much white space gets no overlap from before it.
FAR = 20
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
        """True for one line in four, where a chunk begins rather than elsewhere. It depends on the
        line's text alone, so that it holds wherever the line moves."""
        return zlib.crc32(self.texts[line].strip().encode(errors="replace")) % 4 == 0


class ChunkLines(NamedTuple):
    """The text of a chunk, and its first and last line, counted from 0."""

    text: str
    first: int
    last: int


def split(lines: Lines, start: int, end: int, *, fenced: bool) -> Iterator[ChunkLines]:
    """The lines from `start` up to `end` without the blank ones around them: one chunk, or several
    that overlap. `fenced`: blocks between ``` stay whole where they can."""
    while start < end and not lines.texts[start].strip():
        start += 1
    while start < end and not lines.texts[end - 1].strip():
        end -= 1
    if start == end:
        return
    if lines.size(start, end) - 1 <= MOST:
        yield ChunkLines("\n".join(lines.texts[start:end]), start, end - 1)
        return
    before = start
    for first, last in _runs(lines, start, end, fenced=fenced):
        if lines.size(first, last) > LONGEST and last == first + 1:
            yield from _of_line(lines.texts[first], first)
        elif not lines.blank(first, last):
            yield _with_overlap(lines, before, first, last)
        before = first


def _with_overlap(lines: Lines, before: int, first: int, last: int) -> ChunkLines:
    """The lines of a run, behind the end of the run before it, which began at `before`."""
    while last > first and not lines.texts[last - 1].strip():
        last -= 1
    texts = lines.texts[first:last]
    tail = first
    while tail > before and not lines.texts[tail - 1].strip():
        tail -= 1
    if tail == before or lines.size(tail, first) > FAR:
        return ChunkLines("\n".join(texts), first, last - 1)
    begin = tail
    while begin > before and lines.size(begin - 1, first) <= OVERLAP:
        begin -= 1
    while begin < tail and not lines.texts[begin].strip():
        begin += 1
    if begin < tail:
        return ChunkLines("\n".join([*lines.texts[begin:first], *texts]), begin, last - 1)
    end = _end_of(lines.texts[tail - 1])
    return ChunkLines("\n".join([end, *lines.texts[tail:first], *texts]), tail - 1, last - 1)


def _end_of(line: str) -> str:
    """The last sentence or two of a long line; its last words where no sentence begins."""
    if len(line) <= OVERLAP:
        return line
    end = line[-OVERLAP:]
    found = SENTENCE.search(end) or SPACE.search(end)
    if found and end[found.end() :].strip():
        return end[found.end() :].lstrip()
    return end


def _runs(lines: Lines, start: int, end: int, *, fenced: bool) -> Iterator[tuple[int, int]]:
    """The first and last line of each chunk: paragraphs that make up about TARGET characters."""
    borders = [start]
    begin = start
    for first, last in _blocks(lines, start, end, fenced=fenced):
        if first > begin and _breaks(lines, begin, first, last):
            borders.append(first)
            begin = first
    borders.append(end)
    if len(borders) > 2 and _is_rest(lines, *borders[-3:]):
        del borders[-2]
    yield from pairwise(borders)


def _breaks(lines: Lines, begin: int, first: int, last: int) -> bool:
    """Whether a new chunk begins with the lines from `first` to `last`."""
    size, new = lines.size(begin, first), lines.size(first, last)
    if size > LONGEST or new > LONGEST:  # a line that is several chunks
        return True
    if size + new > TARGET:
        return size >= TARGET // 2 or size + new > LONGEST
    return size >= TARGET * 2 // 3 and lines.begins(first)


def _is_rest(lines: Lines, before: int, begin: int, end: int) -> bool:
    return lines.size(begin, end) < SMALL and lines.size(before, end) <= LONGEST


def _blocks(lines: Lines, start: int, end: int, *, fenced: bool) -> Iterator[tuple[int, int]]:
    """Paragraphs, with the blank lines after them; where one is too long, its lines."""
    for first, last in _paragraphs(lines.texts, start, end, fenced=fenced):
        if lines.size(first, last) <= LONGEST:
            yield first, last
        elif fenced:
            yield from _blocks(lines, first, last, fenced=False)
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
        if fenced:
            fence = fence_after(text, fence)
    yield begin, end


def _of_line(text: str, line: int) -> Iterator[ChunkLines]:
    """Chunks of one long line, split at white space where there is some, else anywhere."""
    begin, begin_new = 0, 0
    while len(text) - begin_new > LONGEST:
        space = SPACE.search(text, begin_new + TARGET, begin_new + LONGEST)
        end = space.end() if space else begin_new + TARGET
        yield from _stripped(text[begin:end], line)
        space = SPACE.search(text, end - OVERLAP, end - 1)
        begin, begin_new = space.end() if space else end - OVERLAP, end
    yield from _stripped(text[begin:], line)


def _stripped(text: str, line: int) -> Iterator[ChunkLines]:
    if text.strip():
        yield ChunkLines(text.strip(), line, line)
