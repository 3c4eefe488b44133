"""Which memory is which part of a file, before and after the file has changed."""

from __future__ import annotations

from base64 import b32encode
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from recollect.documents.document import Chunk
from recollect.hashing import content_digest
from recollect.ingest.ids import slug

# A file that was written anew has nothing in common with what it was, however long one looks.
MOST_COMPARED = 100
SUFFIX = 10  # letters of five bits each: enough for every part of every file that one has


class Part(NamedTuple):
    """A part of a file that is a memory already."""

    memory_id: str
    heading: str
    text: str


def assigned(before: Sequence[Part], after: Sequence[Chunk]) -> list[str | None]:
    """For each cut the memory that it is; None for one that is new.

    What says the same under the same heading stays what it is, wherever it has moved; then what
    says the same; then, in order, what stands under the same heading; and then what still holds
    half of the lines it had.
    """
    found: list[str | None] = [None] * len(after)
    left = list(before)
    for same in (_heading_and_text, _text, _heading):
        waiting: dict[object, deque[Part]] = defaultdict(deque)
        for part in left:
            waiting[same(part)].append(part)
        taken: set[str] = set()
        for place, cut in enumerate(after):
            if found[place] is None and waiting[same(cut)]:
                found[place] = waiting[same(cut)].popleft().memory_id
                taken.add(str(found[place]))
        left = [part for part in left if part.memory_id not in taken]
    for place, cut in enumerate(after):
        if found[place] is None and (most := _most_of(left, cut)) is not None:
            found[place] = most.memory_id
            left.remove(most)
    return found


def _most_of(parts: Sequence[Part], cut: Chunk) -> Part | None:
    """The first part of which the cut holds half of the lines or more."""
    lines = set(cut.text.split("\n"))
    for part in parts[:MOST_COMPARED]:
        held = [line for line in part.text.split("\n") if line.strip()]
        if held and 2 * sum(line in lines for line in held) >= len(held):
            return part
    return None


def _heading_and_text(one: Part | Chunk) -> object:
    return one.heading, one.text


def _text(one: Part | Chunk) -> object:
    return one.text


def _heading(one: Part | Chunk) -> object:
    return one.heading


def new_ids(folder: str, path: str, cut: Chunk, before: int = 0) -> Iterator[str]:
    """Ids for a part that is new, best first: the same part of the same file gets the same again,
    so that what comes back is what it was. `before`: so many parts of the file say the same."""
    said = "\0".join((folder, path, cut.heading, cut.text))
    start = slug(path) or "file"
    number = before
    while True:
        digest = content_digest(f"{said}\0{number}" if number else said, 20)
        yield f"{start}-{b32encode(digest).decode().lower()[:SUFFIX]}"
        number += 1
