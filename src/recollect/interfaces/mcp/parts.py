"""A part of a long memory, within a number of tokens: lines, the section of a heading, or a page.

The lines are those of the memory's text and details, one after the other; what else is long follows
them. Where a memory is longer than its share of an answer, its first lines are shown, and which
part goes on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from recollect.documents.markdown import plain_heading, structure
from recollect.errors import UserError
from recollect.interfaces.mcp.brief import estimated_tokens, largest_size
from recollect.memory_json import memory_json
from recollect.types import Memory, Span

LINES = re.compile(r"(?:lines? *)?(\d+) *[-–] *(\d*)")
PAGE = re.compile(r"(?:page *)?(\d+)")
LONG_FIELD = 1000  # characters of a field that is shown beside the lines; a longer one follows them
FIELDS = ("text", "details", "title", "context", "why", "impact")
MOST_HEADINGS = 20  # in an answer
LONGEST_HEADING = 60  # characters
BESIDE = 200  # tokens of what is said beside a part: which lines, how to read on, headings
LEAST = 100  # tokens of a part, however little room there is


class Part(NamedTuple):
    """Lines `first` to `last` of the `lines` that a memory has. `following`: the part that goes on,
    empty where nothing does. `headings`: the first of the memory's headings."""

    memory: Memory
    text: str = ""
    first: int = 0
    last: int = 0
    lines: int = 0
    following: str = ""
    headings: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """Which lines are shown, and how to read on."""
        on = f' To read on: part="{self.following}".' if self.following else ""
        return f"Lines {self.first}-{self.last} of {self.lines}.{on}"

    @property
    def shortened(self) -> Memory:
        """The memory with the part as its text, and without what is too long beside it."""
        gone = {name: "" for name in FIELDS[2:] if len(getattr(self.memory, name)) > LONG_FIELD}
        return replace(self.memory, **gone | {"text": self.text, "details": ""})

    def as_json(self) -> dict[str, Any]:
        """Return the memory's fields without those that are cut, and the part."""
        fields = memory_json(self.shortened)
        del fields["text"], fields["details"]
        part = {"text": self.text, "lines": [self.first, self.last], "of": self.lines}
        part |= {"next": self.following} if self.following else {}
        return fields | {"part": part | ({"headings": [*self.headings]} if self.headings else {})}


def shown_memories(
    memories: Sequence[Memory], name: str, most: int, as_text: Callable[[Memory], str]
) -> list[Memory | Part]:
    """Return the memories, those that are too long for an answer of `most` tokens as their first
    part; with a `name`, that part of each. `as_text`: how a memory is shown."""

    def tokens(memory: Memory) -> int:
        """Return the size of a memory as text or as data, whichever is larger."""
        data = msgspec.json.encode(memory_json(memory)).decode()
        return max(map(estimated_tokens, (as_text(memory), data)))

    sizes = [tokens(memory) for memory in memories]
    share = largest_size(sorted(sizes), most)
    shown: list[Memory | Part] = []
    for memory, size in zip(memories, sizes, strict=True):
        beside = BESIDE + tokens(Part(memory).shortened)
        page, room = max(LEAST, most - beside), max(LEAST, share - beside)
        if name:
            shown.append(part_of(memory, name, page))
        elif size <= share:
            shown.append(memory)
        else:
            text = _body(memory)
            shown.append(_beginning(memory, text, Span(0, len(text)), room, page))
    return shown


def part_of(memory: Memory, name: str, most: int) -> Part:
    """Return the part of a memory that has this name, cut to `most` tokens. Raise UserError where
    there is none: the sentence says what there is."""
    text, asked = _body(memory), name.strip()
    if page := PAGE.fullmatch(asked):
        pages, number = [*_pages(text, most)], int(page[1])
        if not 1 <= number <= len(pages):
            raise UserError(f"The memory {memory.id!r} has {len(pages)} pages, and no {number}.")
        following = str(number + 1) if number < len(pages) else ""
        return _shown(memory, text, pages[number - 1], following)
    starts = [0, *(line.end() for line in re.finditer("\n", text))]
    if lines := LINES.fullmatch(asked):
        first, last = int(lines[1]), min(int(lines[2] or len(starts)), len(starts))
        if not 1 <= first <= last:
            raise UserError(f"The memory {memory.id!r} has {len(starts)} lines, and no {name!r}.")
    else:
        first, last = _section(memory.id, text, name, len(starts))
    end = starts[last] - 1 if last < len(starts) else len(text)
    return _beginning(memory, text, Span(starts[first - 1], end), most, most)


def _body(memory: Memory) -> str:
    long = (name for name in FIELDS[2:] if len(getattr(memory, name)) > LONG_FIELD)
    others = [f"{name}: {getattr(memory, name)}" for name in long]
    return "\n\n".join(filter(None, (memory.text, memory.details, *others)))


def _beginning(memory: Memory, text: str, wanted: Span, most: int, page_tokens: int) -> Part:
    """Return as much of what is wanted as `most` tokens hold, from its beginning. `page_tokens`: of
    a page, where a page goes on with it."""
    first_page = next(_pages(text[wanted.start : wanted.end], most))
    end = wanted.start + first_page.end
    following = ""
    if end < wanted.end and text[end - 1] == "\n":
        first, last = (text.count("\n", 0, place) + 1 for place in (end, wanted.end))
        following = f"{first}-{last}"
    elif end < wanted.end:  # within a line that is too long: only pages go on there
        pages = enumerate(_pages(text, page_tokens), start=1)
        following = str(next(number for number, page in pages if page.end > end))
    return _shown(memory, text, Span(wanted.start, end), following)


def _shown(memory: Memory, text: str, span: Span, following: str) -> Part:
    shown = text[span.start : span.end].rstrip("\n")
    first, lines = text.count("\n", 0, span.start) + 1, text.count("\n") + 1
    found = structure(text).sections[:MOST_HEADINGS]
    headings = tuple(section.title[:LONGEST_HEADING] for section in found)
    return Part(memory, shown, first, first + shown.count("\n"), lines, following, headings)


def _pages(text: str, most: int) -> Iterator[Span]:
    """Yield the pages of a text: as many whole lines as fit into `most` tokens; of a line that is
    too long for a page, as much of it as fits."""
    start = end = taken = 0
    for line in re.findall(r"[^\n]*\n|[^\n]+$", text):
        size = estimated_tokens(f"> {line}")
        if taken + size > most and end > start:
            yield Span(start, end)
            start, taken = end, 0
        if size > most:
            step = max(1, most * len(line) // size)
            for cut in range(step, len(line), step):
                yield Span(start, end + cut)
                start = end + cut
            size = estimated_tokens(text[start : end + len(line)])
        end, taken = end + len(line), taken + size
    if end > start or not text:
        yield Span(start, end)


def _section(id: str, text: str, heading: str, lines: int) -> tuple[int, int]:
    """Return the first and the last line of the section below a heading, with the heading."""
    sections = structure(text).sections
    for number, section in enumerate(sections):
        if plain_heading(section.title) == plain_heading(heading):
            later = (each.line for each in sections[number + 1 :] if each.level <= section.level)
            return section.line + 1, next(later, lines)
    titles = " · ".join(section.title[:LONGEST_HEADING] for section in sections[:MOST_HEADINGS])
    there = f"its headings: > {titles}" if titles else f'it has no headings, but lines: "1-{lines}"'
    raise UserError(f"The memory {id!r} has no part {heading!r}; {there}.")
