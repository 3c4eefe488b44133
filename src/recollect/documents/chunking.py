"""Where a document is cut: at its headings or definitions, and where these are long, within them.

Each part decides for itself how it is cut, so that an edit in one leaves the cuts of the others as
they are. A part that is short goes with what follows it under the same parent. A part that is long
is cut at paragraphs, then at lines, then within a line; there, and only there, cuts overlap.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from recollect.documents import long_sections
from recollect.documents.document import Chunk, Document, Mark
from recollect.documents.file_types import MARKDOWN
from recollect.documents.long_sections import MOST, Lines

# A file, or a part with parts of its own, that is no longer than this is about one thing: one cut.
WHOLE = 2_000
# A shorter part says too little to be found by itself.
SMALL = 400
# So much is enough for several short parts in one cut.
ENOUGH = 800
# 2 MB in cuts of the usual length are some 1,400. Only what is made of thousands of short parts has
# more, and one file should not outweigh a vault.
MOST_CUTS = 2_000
SEPARATOR = " > "


class Chunks(NamedTuple):
    """The cuts of a document, and what there is to tell of them."""

    cuts: list[Chunk]
    notes: tuple[str, ...] = ()


class _Part:
    """A part of a document: its own lines, then the parts below it."""

    __slots__ = ("below", "end", "level", "own_end", "path", "start", "titled")

    def __init__(self, start: int, level: int, path: tuple[str, ...], *, titled: bool) -> None:
        self.start = start
        self.level = level
        self.path = path
        self.titled = titled
        self.own_end = self.end = -1
        self.below: list[_Part] = []


class _Group(NamedTuple):
    """Lines that stay together. `path`: the headings that all of them stand under; `bare`: there
    is nothing but a heading."""

    start: int
    end: int
    path: tuple[str, ...]
    bare: bool = False


def cut(document: Document) -> list[Chunk]:
    """The document's cuts, from top to bottom; every line that is not blank is in one at least."""
    return all_cuts(document).cuts


def all_cuts(document: Document) -> Chunks:
    """The cuts, and a note where there are more than a file may have."""
    texts = document.text.split("\n")
    lines = Lines(texts, [0, *accumulate(len(text) + 1 for text in texts)])
    root = _tree(document.marks, len(texts))
    fenced = document.form == MARKDOWN
    made = [
        Chunk(piece.text, SEPARATOR.join(group.path), *_numbers(document, piece))
        for group in _groups(root, lines)
        for piece in long_sections.pieces(lines, group.start, group.end, fenced=fenced)
    ]
    if len(made) <= MOST_CUTS:
        return Chunks(made)
    rest = f"{len(made) - MOST_CUTS:,} of its {len(made):,} parts are left out."
    return Chunks(made[:MOST_CUTS], (rest,))


def _numbers(document: Document, piece: long_sections.Piece) -> tuple[int, int]:
    if document.lines:
        last = len(document.lines) - 1
        return document.lines[min(piece.first, last)], document.lines[min(piece.last, last)]
    return document.first_line + piece.first, document.first_line + piece.last


def _tree(marks: Sequence[Mark], count: int) -> _Part:
    """The parts that the marks begin, in one that is the whole document."""
    root = _Part(0, -1, (), titled=False)
    open_now = [root]
    last = -1
    for mark in marks:
        if not last < mark.line < count:
            continue
        last = mark.line
        while open_now[-1].level >= max(mark.level, 0):
            _close(open_now.pop(), mark.line)
        above = open_now[-1]
        path = (*above.path, mark.title) if mark.title else above.path
        part = _Part(mark.line, mark.level, path, titled=bool(mark.title))
        above.below.append(part)
        open_now.append(part)
    for part in reversed(open_now):
        _close(part, count)
    return root


def _close(part: _Part, line: int) -> None:
    part.end = line
    part.own_end = part.below[0].start if part.below else line


def _groups(part: _Part, lines: Lines) -> list[_Group]:
    """What stays together in a part."""
    if lines.size(part.start, part.end) <= (WHOLE if part.below else MOST):
        return [_Group(part.start, part.end, _heading(part, lines))]
    items = [_groups(below, lines) for below in part.below]
    if not lines.blank(part.start, part.own_end):
        items.insert(0, [_Group(part.start, part.own_end, part.path, _is_bare(part, lines))])
    return _joined(items, lines)


def _heading(part: _Part, lines: Lines) -> tuple[str, ...]:
    """A part that holds one part and no words of its own is about what that is about."""
    while len(part.below) == 1 and (lines.blank(part.start, part.own_end) or _is_bare(part, lines)):
        part = part.below[0]
    return part.path


def _is_bare(part: _Part, lines: Lines) -> bool:
    """Whether its own lines are its heading, with the line under or over it, and no more."""
    if not part.titled:
        return False
    said = 0
    for text in lines.texts[part.start : part.own_end]:
        said += any(map(str.isalnum, text))
        if said > 1:
            return False
    return True


def _joined(items: list[list[_Group]], lines: Lines) -> list[_Group]:
    """Neighbours under one parent, those that are short together or with one that is not. What is
    in several groups has its own headings, and nothing is added to it."""
    done: list[list[_Group]] = []
    short: _Group | None = None
    for item in items:
        if len(item) == 1 and lines.size(item[0].start, item[0].end) < SMALL:
            if short is not None and _is_enough(short, item[0], lines):
                done.append([short])
                short = None
            short = item[0] if short is None else _together(short, item[0])
            continue
        if short is not None:
            item = _placed(short, done, item, lines)
            short = None
        done.append(item)
    if short is not None:
        done.append(_placed(short, done, [], lines))
    return [group for item in done for group in item]


def _is_enough(short: _Group, following: _Group, lines: Lines) -> bool:
    """Whether the short parts so far go without the next one. Some parts always begin a cut once
    there is anything before them: after an edit, the cuts are soon the same again."""
    size = lines.size(short.start, short.end)
    return size >= ENOUGH or (size >= SMALL and lines.begins(following.start))


def _placed(
    short: _Group, done: list[list[_Group]], following: list[_Group], lines: Lines
) -> list[_Group]:
    """What follows, after what is short was put with it, with what is before it, or by itself."""
    if lines.size(short.start, short.end) < SMALL:
        if following and (
            short.bare
            or (len(following) == 1 and lines.size(short.start, following[0].end) <= MOST)
        ):
            return [_together(short, following[0]), *following[1:]]
        if done and len(done[-1]) == 1 and lines.size(done[-1][0].start, short.end) <= MOST:
            done[-1] = [_together(done[-1][0], short)]
            return following
    done.append([short])
    return following


def _together(one: _Group, other: _Group) -> _Group:
    """The heading of both is what they share; one that is bare says nothing against the other."""
    if one.bare and other.path[: len(one.path)] == one.path:
        return _Group(one.start, other.end, other.path, other.bare)
    return _Group(one.start, other.end, _shared(one.path, other.path))


def _shared(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    pairs = enumerate(zip(one, other, strict=False))
    first = next((number for number, (title, same) in pairs if title != same), None)
    return min(one, other, key=len) if first is None else one[:first]
