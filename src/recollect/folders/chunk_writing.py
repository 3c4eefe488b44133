"""Writing the chunks of files as memories, and the report of a sync."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from itertools import chain

from recollect.documents.document import LeftOut, Reason
from recollect.folders import is_instructions
from recollect.folders.file_reading import (
    ReadFile,
    StoredChunk,
    matching_memories,
    new_ids,
    repetitions,
)
from recollect.ingest.draft import Draft, complete_draft
from recollect.store.base import Stored, Writing
from recollect.store.folders import FileChunk, Folder, StoredFile

MOST_NAMED = 100  # paths in a report; the others are counted
# Reasons that are common in every folder: such files are only counted.
USUAL: frozenset[Reason] = frozenset({"binary", "empty", "generated", "unknown kind"})


class Synced:
    """The report of a sync: counts of files and memories by what happened, of files left out by
    reason, and of secrets by kind. `named`: paths with a note on each."""

    def __init__(self) -> None:
        self.files: Counter[str] = Counter()
        self.memories: Counter[str] = Counter()
        self.left_out: Counter[str] = Counter()
        self.named: list[tuple[str, str]] = []
        self.redacted: Counter[str] = Counter()

    def include(self, other: Synced) -> None:
        """Add the counts of another sync."""
        for name in ("files", "memories", "left_out", "redacted"):
            getattr(self, name).update(getattr(other, name))
        for path, note in other.named:
            self.note(path, note)

    def leave_out(self, path: str, why: LeftOut) -> None:
        self.left_out[why.reason] += 1
        if why.reason not in USUAL:
            self.name(path, why)

    def name(self, path: str, why: LeftOut) -> None:
        self.note(path, f"{why.reason}: {why.detail}" if why.detail else why.reason)

    def note(self, path: str, note: str) -> None:
        if len(self.named) < MOST_NAMED:
            self.named.append((path, note))

    @property
    def changed(self) -> int:
        """The number of memories that were added, updated or forgotten."""
        return sum(self.memories.values())


class ChunkWriter:
    """Writes the chunks of files of a folder within one transaction."""

    def __init__(
        self,
        write: Writing,
        folder: Folder,
        now: Callable[[], datetime],
        report: Synced,
        files: Sequence[ReadFile] = (),
    ) -> None:
        """`files`: the files to be written."""
        self._write = write
        self.files = write.files
        self._folder = folder
        self._now = now
        self._report = report
        self._tier = "core" if is_instructions(folder.path) else "file"
        self._put_off: list[tuple[int, dict[int, FileChunk], int]] = []
        self._taken = {*write.find(chain.from_iterable(file.ids for file in files))}

    def write(self, key: int, file: ReadFile, before: StoredFile | None) -> None:
        """Write the chunks of a file as memories, after its first `file.after` chunks; forget its
        other memories."""
        known = []
        if before is not None:
            self.flush()
            known = self.files.chunks(key, file.after)
        stored = self._write.find([chunk.memory_id for chunk in known]) if known else {}
        kept = self._write_chunks(file, before, known, stored)
        for memory in stored.values():
            if memory.key not in kept:
                self.forget(memory)
        known_by_key = {stored[chunk.memory_id].key: chunk for chunk in known}
        if _places(kept) != _places(known_by_key):
            self._put_off.append((key, kept, file.after))

    def flush(self) -> None:
        """Write which chunk of its file each memory is. For new files this is delayed, so that
        their memories are written together."""
        for chunks in self._put_off:
            self.files.put_chunks(*chunks)
        self._put_off.clear()

    def forget(self, memory: Stored) -> None:
        if not memory.forgotten:
            self._write.forget(memory, self._now())
            self._report.memories["forgotten"] += 1

    def _write_chunks(
        self,
        file: ReadFile,
        before: StoredFile | None,
        known: Sequence[FileChunk],
        stored: Mapping[str, Stored],
    ) -> dict[int, FileChunk]:
        """Write the file's chunks as memories; return them by the memories' keys."""
        candidates = [
            StoredChunk(chunk.memory_id, chunk.heading, stored[chunk.memory_id].memory.text)
            for chunk in known
            if chunk.memory_id in stored
        ]
        ids = matching_memories(candidates, file.chunks)
        kept: dict[int, FileChunk] = {}
        for at, (id, chunk) in enumerate(zip(ids, file.chunks, strict=True)):
            memory = stored.get(id) if id is not None else None
            if memory is not None and memory.forgotten and before is not None and not before.gone:
                key = memory.key  # a user has forgotten this chunk
            else:
                key = self._write_chunk(file, at, memory)
            id = memory.memory.id if memory is not None else ""
            place = (chunk.heading, chunk.first_line, chunk.last_line)
            kept[key] = FileChunk(id, file.after + at + 1, *place)
        return kept

    def _write_chunk(self, file: ReadFile, at: int, memory: Stored | None) -> int:
        content, redacted = file.drafts[at]
        if redacted:
            self._report.redacted.update(redacted)
        if memory is None:
            id, memory = self._place(file, at)
        else:
            id = memory.memory.id
        if memory is None:
            self._report.memories["added"] += 1
            self._taken.add(id)
            new = Draft({**content.fields, "tier": self._tier})
            return self._write.add(complete_draft(new, id, None, self._now())).key
        after = complete_draft(content, id, memory.memory, self._now())
        if after != memory.memory or memory.forgotten:
            self._report.memories["updated"] += 1
            self._write.replace(memory, after)
        return memory.key

    def _place(self, file: ReadFile, at: int) -> tuple[str, Stored | None]:
        """Return a free id for a new chunk, or the id of a forgotten memory of the same chunk."""
        if file.ids[at] not in self._taken:
            return file.ids[at], None
        chunk, repeated = file.chunks[at], repetitions(file.chunks)[at]
        for id in new_ids(self._folder, file.found.path, chunk, repeated):
            stored = self._write.find([id]).get(id)
            if stored is None or (stored.forgotten and stored.memory.text == chunk.text):
                return id, stored
        raise AssertionError("ids do not end")


def _places(chunks: Mapping[int, FileChunk]) -> dict[int, tuple[object, ...]]:
    """Return number, heading and lines of each memory, by its key."""
    return {key: chunk[1:] for key, chunk in chunks.items()}
