"""Which memory holds which chunk of a file, before and after the file has changed."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from recollect.documents.document import Chunk
from recollect.ingest.ids import hash_letters, slug
from recollect.store.folders import Folder
from recollect.types import SESSION

# A file that was written anew shares nothing with its old version, however many are compared.
MOST_COMPARED = 100
SUFFIX = 10  # letters of five bits each: enough for every chunk of every file


class StoredChunk(NamedTuple):
    """A chunk of a file that is a memory already."""

    memory_id: str
    heading: str
    text: str


def matching_memories(before: Sequence[StoredChunk], after: Sequence[Chunk]) -> list[str | None]:
    """For each chunk the id of the memory that holds it; None for a new one.

    A chunk belongs to the memory with the same text under the same heading, wherever it has moved;
    else to one with the same text; else, in order, to one under the same heading; else to one of
    which it holds half of the lines.
    """
    found: list[str | None] = [None] * len(after)
    left = list(before)
    if not left:
        return found
    for key in (_heading_and_text, _text, _heading):
        waiting: dict[object, deque[StoredChunk]] = defaultdict(deque)
        for stored in left:
            waiting[key(stored)].append(stored)
        taken: set[str] = set()
        for place, chunk in enumerate(after):
            if found[place] is None and waiting[key(chunk)]:
                found[place] = waiting[key(chunk)].popleft().memory_id
                taken.add(str(found[place]))
        left = [stored for stored in left if stored.memory_id not in taken]
    for place, chunk in enumerate(after):
        if found[place] is None and (similar := _similar(left, chunk)) is not None:
            found[place] = similar.memory_id
            left.remove(similar)
    return found


def _similar(candidates: Sequence[StoredChunk], chunk: Chunk) -> StoredChunk | None:
    """The first of which the chunk holds half of the lines or more."""
    lines = set(chunk.text.split("\n"))
    for stored in candidates[:MOST_COMPARED]:
        before = [line for line in stored.text.split("\n") if line.strip()]
        if before and 2 * sum(line in lines for line in before) >= len(before):
            return stored
    return None


def _heading_and_text(chunk: StoredChunk | Chunk) -> object:
    return chunk.heading, chunk.text


def _text(chunk: StoredChunk | Chunk) -> object:
    return chunk.text


def _heading(chunk: StoredChunk | Chunk) -> object:
    return chunk.heading


def first_ids(folder: Folder, path: str, chunks: Sequence[Chunk]) -> list[str]:
    """The id that each chunk of a file gets as a new memory, unless it is taken."""
    return [
        next(new_ids(folder, path, chunk, repeated))
        for chunk, repeated in zip(chunks, repetitions(chunks), strict=True)
    ]


def repetitions(chunks: Sequence[Chunk]) -> list[int]:
    """For each chunk how many before it have the same heading and text."""
    seen: Counter[object] = Counter()
    found = []
    for chunk in chunks:
        found.append(seen[_heading_and_text(chunk)])
        seen[_heading_and_text(chunk)] += 1
    return found


def new_ids(folder: Folder, path: str, chunk: Chunk, repeated: int = 0) -> Iterator[str]:
    """Ids for a new chunk, best first, which begin with the path. The same chunk of the same file
    gets the same id again, so that a file that comes back has its old memories. `repeated`: how
    many chunks of the file before it have the same heading and text."""
    content = "\0".join((folder.path, path, chunk.heading, chunk.text))
    # The names of transcripts are long numbers.
    start = SESSION if folder.client else slug(path) or "file"
    number = repeated
    while True:
        letters = hash_letters(f"{content}\0{number}" if number else content)
        yield f"{start}-{letters[:SUFFIX]}"
        number += 1
