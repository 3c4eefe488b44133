"""Writing the chunks of a file as memories."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from recollect.documents.document import Chunk
from recollect.folders.chunk_matching import StoredChunk, matching_memories, new_ids, repetitions
from recollect.folders.file_reading import CleanDraft, ReadFile
from recollect.folders.instructions import is_instructions
from recollect.folders.report import Synced
from recollect.ingest.draft import Draft, complete
from recollect.store.base import Stored, Writing
from recollect.store.folders import FileChunk, Folder, StoredFile
from recollect.types import SESSION


class ChunkWriter:
    """Writes the chunks of files of one folder within one transaction."""

    def __init__(
        self,
        write: Writing,
        folder: Folder,
        now: Callable[[], datetime],
        report: Synced,
    ) -> None:
        self._write = write
        self._folder = folder
        self._now = now
        self._report = report
        self._tier = "core" if is_instructions(folder.path) else "file"

    def write(self, key: int, file: ReadFile, before: StoredFile | None) -> None:
        """Make the memories of a file, after its first `file.after` chunks, those of the chunks
        read; the others are forgotten."""
        known = self._write.files.chunks(key, file.after) if before is not None else []
        stored = self._write.find([chunk.memory_id for chunk in known])
        kept = self._write_chunks(file, before, known, stored)
        for memory in stored.values():
            if memory.key not in kept:
                self.forget(memory)
        known_by_key = {stored[chunk.memory_id].key: chunk for chunk in known}
        if _places(kept) != _places(known_by_key):
            self._write.files.put_chunks(key, kept, file.after)

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
        """The file's chunks as memories, by the memories' keys."""
        candidates = [
            StoredChunk(chunk.memory_id, chunk.heading, stored[chunk.memory_id].memory.text)
            for chunk in known
            if chunk.memory_id in stored
        ]
        ids = matching_memories(candidates, file.chunks)
        kept: dict[int, FileChunk] = {}
        chunks = zip(ids, file.chunks, file.drafts, repetitions(file.chunks), strict=True)
        for number, (id, chunk, clean, repeated) in enumerate(chunks, file.after + 1):
            memory = stored.get(id) if id is not None else None
            if memory is not None and memory.forgotten and before is not None and not before.gone:
                key = memory.key  # somebody has forgotten this chunk, and not the file
            else:
                key = self._write_chunk(file, chunk, clean, memory, repeated)
            id = memory.memory.id if memory is not None else ""
            kept[key] = FileChunk(id, number, chunk.heading, chunk.first_line, chunk.last_line)
        return kept

    def _write_chunk(
        self, file: ReadFile, chunk: Chunk, clean: CleanDraft, memory: Stored | None, repeated: int
    ) -> int:
        content, redacted = clean
        self._report.redacted.update(redacted)
        if memory is None:
            id, memory = self._place(file.found.path, chunk, repeated)
        else:
            id = memory.memory.id
        if memory is None:
            self._report.memories["added"] += 1
            new = Draft({**content.fields, "tier": self._tier})
            return self._write.add(complete(new, id, None, self._now())).key
        after = complete(content, id, memory.memory, self._now())
        if after != memory.memory or memory.forgotten:
            self._report.memories["updated"] += 1
            self._write.replace(memory, after)
        return memory.key

    def _place(self, path: str, chunk: Chunk, repeated: int) -> tuple[str, Stored | None]:
        """An id for a new chunk that is free, or the forgotten memory that was this very chunk."""
        name = SESSION if self._folder.client else ""  # the names of transcripts are long numbers
        for id in new_ids(self._folder.path, path, chunk, repeated, name):
            stored = self._write.find([id]).get(id)
            if stored is None or (stored.forgotten and stored.memory.text == chunk.text):
                return id, stored
        raise AssertionError("ids do not end")


def _places(chunks: Mapping[int, FileChunk]) -> dict[int, tuple[object, ...]]:
    """Number, heading and lines of each memory, by its key."""
    return {key: chunk[1:] for key, chunk in chunks.items()}
