"""Splitting a document into chunks at its headings or definitions, and within long sections.

Each section is split separately, so that an edit does not change the chunks of other sections. A
short section is joined with its next sibling. A long section is split at paragraphs, then at lines,
then within a line; only chunks within a section overlap.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from recollect.documents.document import Chunk, Document, SectionStart
from recollect.documents.file_types import MARKDOWN
from recollect.documents.markdown import fence_after

# Characters. A model reads about this much of a text, and a person of a result.
TARGET = 1_500
MOST = 2_500
# One or two sentences, so that a statement at a border is whole in at least one chunk.
OVERLAP = 200
LONGEST = MOST - OVERLAP  # of a chunk without its overlap
FAR = 20  # white space of this length ends the overlap
SENTENCE = re.compile(r"[.!?][\"')\]]*\s+|[。！？]")
SPACE = re.compile(r"\s")
# A file, or a section with subsections, up to this length becomes one chunk.
WHOLE = 2_000
# A shorter section is hard to find by itself; a shorter rest is joined to the chunk before it.
SMALL = 400
# Short sections are joined up to this length.
ENOUGH = 800
# 2 MB are about 1,400 chunks of the usual length. Only a file of thousands of short sections has
# more, and one file should not dominate a vault.
MOST_CHUNKS = 2_000
SEPARATOR = " > "


class Lines(NamedTuple):
    """The lines of a document, and the position at which each begins."""

    texts: list[str]
    begins_at: list[int]

    def size(self, start: int, end: int) -> int:
        return self.begins_at[end] - self.begins_at[start]

    def blank(self, start: int, end: int) -> bool:
        return not any(text.strip() for text in self.texts[start:end])

    def begins(self, line: int) -> bool:
        """Return True for one line in four, at which chunks prefer to begin. It depends only on the
        line's text, so that it does not change when the line moves."""
        return zlib.crc32(self.texts[line].strip().encode(errors="replace")) % 4 == 0


class ChunkLines(NamedTuple):
    """The text of a chunk, and its first and last line, counted from 0."""

    text: str
    first: int
    last: int


def split(lines: Lines, start: int, end: int, *, fenced: bool) -> Iterator[ChunkLines]:
    """Split the lines from `start` to `end`, without blank lines around them, into one chunk or
    several that overlap. `fenced`: keep blocks between ``` whole if possible."""
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
            yield from _split_line(lines.texts[first], first)
        elif not lines.blank(first, last):
            yield _with_overlap(lines, before, first, last)
        before = first


def _with_overlap(lines: Lines, before: int, first: int, last: int) -> ChunkLines:
    """Return the lines of a run after the end of the previous run, which began at `before`."""
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
    """Return the last sentence or two of a long line, or its last words."""
    if len(line) <= OVERLAP:
        return line
    end = line[-OVERLAP:]
    found = SENTENCE.search(end) or SPACE.search(end)
    if found and end[found.end() :].strip():
        return end[found.end() :].lstrip()
    return end


def _runs(lines: Lines, start: int, end: int, *, fenced: bool) -> Iterator[tuple[int, int]]:
    """Yield the first and last line of each chunk: paragraphs of about TARGET characters."""
    borders = [start]
    begin = start
    for first, last in _blocks(lines, start, end, fenced=fenced):
        if first > begin and _is_border(lines, begin, first, last):
            borders.append(first)
            begin = first
    borders.append(end)
    if len(borders) > 2:
        before, begin, end = borders[-3:]
        if lines.size(begin, end) < SMALL and lines.size(before, end) <= LONGEST:
            del borders[-2]  # join a short rest to the chunk before it
    yield from pairwise(borders)


def _is_border(lines: Lines, begin: int, first: int, last: int) -> bool:
    """Return True if a new chunk begins with the lines from `first` to `last`."""
    size, new = lines.size(begin, first), lines.size(first, last)
    if size > LONGEST or new > LONGEST:  # a long line becomes several chunks
        return True
    if size + new > TARGET:
        return size >= TARGET // 2 or size + new > LONGEST
    return size >= TARGET * 2 // 3 and lines.begins(first)


def _blocks(lines: Lines, start: int, end: int, *, fenced: bool) -> Iterator[tuple[int, int]]:
    """Yield paragraphs with the blank lines after them; if one is too long, its lines."""
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


def _split_line(text: str, line: int) -> Iterator[ChunkLines]:
    """Split a long line into chunks, at white space if possible."""
    begin, begin_new = 0, 0
    while len(text) - begin_new > LONGEST:
        space = SPACE.search(text, begin_new + TARGET, begin_new + LONGEST)
        end = space.end() if space else begin_new + TARGET
        if text[begin:end].strip():
            yield ChunkLines(text[begin:end].strip(), line, line)
        space = SPACE.search(text, end - OVERLAP, end - 1)
        begin, begin_new = space.end() if space else end - OVERLAP, end
    if text[begin:].strip():
        yield ChunkLines(text[begin:].strip(), line, line)


class SplitDocument(NamedTuple):
    """The chunks of a document, and notes for the user."""

    chunks: list[Chunk]
    notes: tuple[str, ...] = ()


class _Section:
    """A section of a document: its own lines, then its subsections."""

    __slots__ = ("below", "end", "level", "own_end", "path", "start", "titled")

    def __init__(self, start: int, level: int, path: tuple[str, ...], *, titled: bool) -> None:
        self.start = start
        self.level = level
        self.path = path
        self.titled = titled
        self.own_end = self.end = -1
        self.below: list[_Section] = []


class _Group(NamedTuple):
    """Lines that stay together. `path`: the common headings above them. `bare`: they are only a
    heading."""

    start: int
    end: int
    path: tuple[str, ...]
    bare: bool = False


def split_document(document: Document) -> SplitDocument:
    """Split a document into chunks, with a note if some are left out. Each line that is not blank
    is in at least one chunk."""
    texts = document.text.split("\n")
    lines = Lines(texts, [0, *accumulate(len(text) + 1 for text in texts)])
    root = _tree(document.sections, len(texts))
    fenced = document.file_type == MARKDOWN
    chunks = [
        Chunk(part.text, SEPARATOR.join(group.path), *_line_numbers(document, part))
        for group in _groups(root, lines)
        for part in split(lines, group.start, group.end, fenced=fenced)
    ]
    if len(chunks) <= MOST_CHUNKS:
        return SplitDocument(chunks)
    note = f"{len(chunks) - MOST_CHUNKS:,} of its {len(chunks):,} chunks are left out."
    return SplitDocument(chunks[:MOST_CHUNKS], (note,))


def _line_numbers(document: Document, part: ChunkLines) -> tuple[int, int]:
    if document.lines:
        last = len(document.lines) - 1
        return document.lines[min(part.first, last)], document.lines[min(part.last, last)]
    return document.first_line + part.first, document.first_line + part.last


def _tree(starts: Sequence[SectionStart], count: int) -> _Section:
    """Return the sections as a tree, whose root is the whole document."""
    root = _Section(0, -1, (), titled=False)
    open_sections = [root]
    last = -1
    for start in starts:
        if not last < start.line < count:
            continue
        last = start.line
        while open_sections[-1].level >= max(start.level, 0):
            _close(open_sections.pop(), start.line)
        parent = open_sections[-1]
        path = (*parent.path, start.title) if start.title else parent.path
        section = _Section(start.line, start.level, path, titled=bool(start.title))
        parent.below.append(section)
        open_sections.append(section)
    for section in reversed(open_sections):
        _close(section, count)
    return root


def _close(section: _Section, line: int) -> None:
    section.end = line
    section.own_end = section.below[0].start if section.below else line


def _groups(section: _Section, lines: Lines) -> list[_Group]:
    """Return the groups of lines of a section."""
    if lines.size(section.start, section.end) <= (WHOLE if section.below else MOST):
        return [_Group(section.start, section.end, _heading(section, lines))]
    items = [_groups(below, lines) for below in section.below]
    if not lines.blank(section.start, section.own_end):
        bare = _is_bare(section, lines)
        items.insert(0, [_Group(section.start, section.own_end, section.path, bare)])
    return _join_short(items, lines)


def _heading(section: _Section, lines: Lines) -> tuple[str, ...]:
    """Return the headings of a section; if it has no own text, those of its only subsection."""
    while len(section.below) == 1 and (
        lines.blank(section.start, section.own_end) or _is_bare(section, lines)
    ):
        section = section.below[0]
    return section.path


def _is_bare(section: _Section, lines: Lines) -> bool:
    """Return True if the section's own lines are only its heading, with a line under or over it."""
    if not section.titled:
        return False
    with_words = 0
    for text in lines.texts[section.start : section.own_end]:
        with_words += any(map(str.isalnum, text))
        if with_words > 1:
            return False
    return True


def _join_short(items: list[list[_Group]], lines: Lines) -> list[_Group]:
    """Join short siblings with each other, or with a sibling of one group. Siblings of several
    groups have their own headings and stay as they are."""
    done: list[list[_Group]] = []
    short: _Group | None = None
    for item in items:
        if len(item) == 1 and lines.size(item[0].start, item[0].end) < SMALL:
            if short is not None and _is_enough(short, item[0], lines):
                done.append([short])
                short = None
            short = item[0] if short is None else _join(short, item[0])
            continue
        if short is not None:
            item = _place_short(short, done, item, lines)
            short = None
        done.append(item)
    if short is not None:
        done.append(_place_short(short, done, [], lines))
    return [group for item in done for group in item]


def _is_enough(short: _Group, following: _Group, lines: Lines) -> bool:
    """Return True if a new chunk begins before the next section. Some sections always begin one, so
    that an edit changes only few chunks."""
    size = lines.size(short.start, short.end)
    return size >= ENOUGH or (size >= SMALL and lines.begins(following.start))


def _place_short(
    short: _Group, done: list[list[_Group]], following: list[_Group], lines: Lines
) -> list[_Group]:
    """Join a short group to the following groups, which are returned, or to the groups in `done`,
    or append it there."""
    if lines.size(short.start, short.end) < SMALL:
        if following and (
            short.bare
            or (len(following) == 1 and lines.size(short.start, following[0].end) <= MOST)
        ):
            return [_join(short, following[0]), *following[1:]]
        if done and len(done[-1]) == 1 and lines.size(done[-1][0].start, short.end) <= MOST:
            done[-1] = [_join(done[-1][0], short)]
            return following
    done.append([short])
    return following


def _join(first: _Group, second: _Group) -> _Group:
    """Join two groups under their common headings. A bare first group takes the headings of the
    second if these are below its own."""
    if first.bare and second.path[: len(first.path)] == first.path:
        return _Group(first.start, second.end, second.path, second.bare)
    shared = 0
    for title, other in zip(first.path, second.path, strict=False):
        if title != other:
            break
        shared += 1
    return _Group(first.start, second.end, first.path[:shared])
