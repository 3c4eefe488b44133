"""A folder and its memories, brought into step.

A file that is as it was when it was last read is not read again. One that was only touched is read
and not written. What became of a file is decided by its content: the same content at another place
is the file that went from its old one, and keeps its memories. Each file is written together with
what is known of it, so that whoever is killed in between goes on where it stopped.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from recollect.documents import file_types
from recollect.documents.chunking import all_cuts
from recollect.documents.document import Chunk, Document, LeftOut, Reason
from recollect.documents.reader import DEFAULT, Limits, contents, parsed
from recollect.errors import NotFound, UserError
from recollect.folders.chunk_matching import Part, assigned, new_ids
from recollect.folders.scan import Scan, Seen, look
from recollect.hashing import bytes_digest
from recollect.ingest.draft import Draft, complete, draft
from recollect.store.base import Store, Stored, Writing
from recollect.store.folders import FileChunk, Folder, StoredFile

# A file that was changed so shortly before it was read may have been changed once more since, and
# its time would not tell: clocks of file systems are that coarse. Git calls such files racy.
COARSE_NS = 2_000_000_000
# One write transaction holds so many parts at most: long enough to be quick, short enough that
# other writers wait little.
BATCH_PARTS = 500
BATCH_FILES = 200
# As many as a person reads; the others are counted.
MOST_NAMED = 100
SOURCE = "folder"
# Every folder has such files: they are counted, and nobody wants to know their names.
USUAL: frozenset[Reason] = frozenset({"binary", "empty", "generated", "unknown kind"})
LACKING: Reason = "needs an extra"
KINDS = {True: "code", False: "document"}
# What a file says of its memories; where it says nothing, this is what holds.
TOLD: Mapping[str, object] = {
    "tags": (), "domain": "", "severity": None, "valid_from": None, "valid_until": None,
}  # fmt: skip

NOT_THERE = "The folder {folder} is not there; its memories are kept as they are."

Redact = Callable[[str], tuple[str, Mapping[str, int]]]
RedactDraft = Callable[[Draft], tuple[Draft, Mapping[str, int]]]


class Away(NotFound):
    """The folder is not there, or holds nothing any more; nothing of it was forgotten."""


class Cleaning(NamedTuple):
    """How secrets are taken out: of a file as a whole, keeping its lines, and of what else is known
    of it."""

    text: Redact
    draft: RedactDraft


class Synced:
    """What was done: files by what became of them, memories, and what was left out."""

    def __init__(self) -> None:
        self.files: Counter[str] = Counter()
        self.memories: Counter[str] = Counter()
        self.left_out: Counter[str] = Counter()
        self.named: list[tuple[str, str]] = []
        self.redacted: Counter[str] = Counter()

    def leave_out(self, path: str, why: LeftOut) -> None:
        self.left_out[why.reason] += 1
        if why.reason not in USUAL:
            self.name(path, why)

    def name(self, path: str, why: LeftOut) -> None:
        self.note(path, f"{why.reason}: {why.words}" if why.words else why.reason)

    def note(self, path: str, words: str) -> None:
        if len(self.named) < MOST_NAMED:
            self.named.append((path, words))

    @property
    def changed(self) -> int:
        return sum(self.memories.values())


class _Read(NamedTuple):
    """A file that was read: as the file system described it before, what it holds, and the parts it
    is cut into; none where it is left out."""

    seen: Seen
    read_ns: int
    digest: bytes
    document: Document | None
    cuts: Sequence[Chunk]
    left_out: LeftOut | None


class Sync:
    """One pass over a folder."""

    def __init__(
        self,
        store: Store,
        folder: Folder,
        cleaning: Cleaning | None,
        now: Callable[[], datetime],
        limits: Limits = DEFAULT,
        own: Collection[str] = (),
    ) -> None:
        """`own`: where the vault's own files are, which change with everything that is written."""
        self._store = store
        self._folder = folder
        self._root = Path(folder.path)
        self._cleaning = cleaning
        self._now = now
        self._limits = limits
        self._own = frozenset(own)
        self.done = Synced()

    def run(
        self,
        looked: Scan | None = None,
        *,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> Synced:
        """Bring the memories into step with what was `looked` at; with everything, without it."""
        found = self._without_own(self._look() if looked is None else looked)
        known = self._store.folders.files(self._folder)
        self.done.left_out.update(found.left_out)
        for path, why in found.named:
            self.done.name(path, why)
        gone = [one for one in known.values() if not one.gone and found.gone(one.path)]
        self._check_not_away(found, known, gone)
        waiting = [seen for seen in found.seen.values() if not self._as_it_was(seen, known)]
        spare = _Spare([one for one in known.values() if one.gone or one in gone])
        progress(0, len(waiting))
        finished = 0
        for batch in _batches(self._read(seen, known.get(seen.path)) for seen in waiting):
            with self._store.writing() as write:
                for one in batch:
                    self._write(write, one, self._before(one, known, spare))
            finished += len(batch)
            progress(finished, len(waiting))
        self._forget_gone([one for one in gone if one.key not in spare.taken])
        return self.done

    # Looking

    def _look(self) -> Scan:
        try:
            if not self._root.is_dir():
                raise Away(NOT_THERE.format(folder=self._root))
        except OSError as error:
            raise Away(
                f"The folder {self._root} cannot be looked into: {error.strerror}."
            ) from error
        return look(self._root)

    def _without_own(self, found: Scan) -> Scan:
        own = [one.path for one in found.seen.values() if str(one.full) in self._own]
        if not own:
            return found
        seen = {path: one for path, one in found.seen.items() if path not in own}
        return found._replace(seen=seen, left_out=found.left_out + Counter(ignored=len(own)))

    def _check_not_away(
        self, found: Scan, known: Mapping[str, StoredFile], gone: Sequence[StoredFile]
    ) -> None:
        """An empty folder is what is left of one whose disk was taken away."""
        live = [one for one in known.values() if not one.gone]
        if found.asked is None and not found.seen and gone and len(gone) == len(live):
            raise Away(
                f"The folder {self._root} is empty, and it held {len(live):,} files before, which "
                "are kept in mind; `recollect folders remove` forgets them."
            )

    def _as_it_was(self, seen: Seen, known: Mapping[str, StoredFile]) -> bool:
        """Whether it need not be read."""
        before = known.get(seen.path)
        if before is None or before.gone or before.read_ns - before.changed_ns < COARSE_NS:
            return False
        if before.reason == LACKING:
            return False  # it may have been installed since
        if (before.size, before.changed_ns, before.inode) != (
            seen.size, seen.changed_ns, seen.inode,
        ):  # fmt: skip
            return False
        self._count_unchanged(before)
        return True

    def _count_unchanged(self, before: StoredFile) -> None:
        if before.reason:
            self.done.left_out[before.reason] += 1
        else:
            self.done.files["unchanged"] += 1

    # Reading

    def _read(self, seen: Seen, before: StoredFile | None) -> _Read:
        read_ns = time.time_ns()
        raw = contents(seen.full, seen.path, self._limits)
        if isinstance(raw, LeftOut):
            return _Read(seen, read_ns, b"", None, (), raw)
        digest = bytes_digest(raw)
        same = before is not None and not before.gone and before.digest == digest
        if before is not None and same and before.reason != LACKING:
            why = LeftOut(before.reason) if before.reason else None  # type: ignore[arg-type]
            return _Read(seen, read_ns, digest, None, (), why)
        document = parsed(raw, seen.path)
        if isinstance(document, LeftOut):
            return _Read(seen, read_ns, digest, None, (), document)
        if self._cleaning is not None:
            text, found = self._cleaning.text(document.text)
            self.done.redacted.update(found)
            document = document._replace(text=text)
        cuts, notes = all_cuts(document)
        for note in notes:
            self.done.note(seen.path, note)
        return _Read(seen, read_ns, digest, document, cuts, None)

    # Deciding

    def _before(
        self, one: _Read, known: Mapping[str, StoredFile], spare: _Spare
    ) -> StoredFile | None:
        """What the file was before: at its own place, or at the one from which it went."""
        here = known.get(one.seen.path)
        if here is not None and not here.gone:
            return here
        if here is not None and here.digest == one.digest:
            spare.take(here)
            return here
        moved = spare.like(one)
        if moved is not None:
            spare.take(moved)
            return moved
        if here is not None:
            spare.take(here)
        return here

    # Writing

    def _write(self, write: Writing, one: _Read, before: StoredFile | None) -> None:
        now = StoredFile(
            before.key if before is not None else 0, one.seen.path, one.seen.size,
            one.seen.changed_ns, one.seen.inode, one.read_ns, one.digest,
            one.left_out.reason if one.left_out is not None else "", gone=False,
        )  # fmt: skip
        if one.left_out is not None and one.left_out.reason == "vanished":
            return  # the next pass will see what became of it
        if one.document is None and one.left_out is None and before is not None:
            if not _unsettled(before, now):
                write.files.put(self._folder, now)  # touched, no more
            self.done.files["unchanged"] += 1
            return
        if before is not None and before.path != now.path:
            write.files.remove_file(self._folder, now.path)
        key = write.files.put(self._folder, now)
        parts = write.files.chunks(key) if before is not None else []
        stored = write.find([part.memory_id for part in parts])
        self._count(one, before)
        kept = self._write_parts(write, one, before, parts, stored)
        for part in parts:
            held = stored.get(part.memory_id)
            if held is not None and held.key not in kept and not held.forgotten:
                write.forget(held, self._now())
                self.done.memories["forgotten"] += 1
        held_before = {stored[part.memory_id].key: part for part in parts}
        if _places(kept) != _places(held_before):
            write.files.put_chunks(key, kept)

    def _count(self, one: _Read, before: StoredFile | None) -> None:
        if one.left_out is not None:
            same = before is not None and not before.gone and before.digest == one.digest
            if same and before is not None and before.reason == one.left_out.reason:
                self.done.left_out[one.left_out.reason] += 1  # told before
            else:
                self.done.leave_out(one.seen.path, one.left_out)
        elif before is None:
            self.done.files["added"] += 1
        elif before.path != one.seen.path:
            self.done.files["renamed"] += 1
        else:
            self.done.files["restored" if before.gone else "changed"] += 1

    def _write_parts(
        self,
        write: Writing,
        one: _Read,
        before: StoredFile | None,
        parts: Sequence[FileChunk],
        stored: Mapping[str, Stored],
    ) -> dict[int, FileChunk]:
        """The file's parts as memories, by the memories' keys."""
        held = [
            Part(part.memory_id, part.heading, stored[part.memory_id].memory.text)
            for part in parts
            if part.memory_id in stored
        ]
        kept: dict[int, FileChunk] = {}
        said: Counter[tuple[str, str]] = Counter()
        for number, (id, cut) in enumerate(zip(assigned(held, one.cuts), one.cuts, strict=True), 1):
            known = stored.get(id) if id is not None else None
            repeated = said[cut.heading, cut.text]
            said[cut.heading, cut.text] += 1
            if known is not None and known.forgotten and before is not None and not before.gone:
                key = known.key  # somebody has forgotten this part, and not the file
            else:
                key = self._write_part(write, one, cut, known, repeated)
            id = known.memory.id if known is not None else ""
            kept[key] = FileChunk(id, number, cut.heading, cut.first_line, cut.last_line)
        return kept

    def _write_part(
        self, write: Writing, one: _Read, cut: Chunk, known: Stored | None, repeated: int
    ) -> int:
        given = self._draft(one, cut)
        if known is None:
            id, known = self._place(write, one.seen.path, cut, repeated)
        else:
            id = known.memory.id
        if known is None:
            self.done.memories["added"] += 1
            new = Draft({**given.fields, "tier": "file"})
            return write.add(complete(new, id, None, self._now())).key
        memory = complete(given, id, known.memory, self._now())
        if memory != known.memory or known.forgotten:
            self.done.memories["updated"] += 1
            write.replace(known, memory)
        return known.key

    def _place(
        self, write: Writing, path: str, cut: Chunk, repeated: int
    ) -> tuple[str, Stored | None]:
        """An id for a new part: one that is free, or was this very part before."""
        for id in new_ids(self._folder.path, path, cut, repeated):
            held = write.find([id]).get(id)
            if held is None or (held.forgotten and held.memory.text == cut.text):
                return id, held
        raise AssertionError("ids do not end")

    def _draft(self, one: _Read, cut: Chunk) -> Draft:
        assert one.document is not None
        document, seen = one.document, one.seen
        changed = _moment(seen.changed_ns, self._now())
        title = document.title
        heading = cut.heading if cut.heading.startswith(title) else f"{title} > {cut.heading}"
        fields: dict[str, object] = {
            **TOLD,
            "kind": KINDS[document.form in file_types.CODE],
            "project": self._folder.project,
            "source": SOURCE,
            "created_at": changed,
            "updated_at": changed,
            **document.fields,
            "title": seen.path,
            "text": cut.text,
            "context": heading.removesuffix(" > "),
            "path": str(seen.full),
        }
        given = draft(fields)
        given = Draft({**given.fields, **{name: None for name in TOLD if fields[name] is None}})
        if self._cleaning is not None:
            given, found = self._cleaning.draft(given)
            self.done.redacted.update(found)
        return given

    def _forget_gone(self, gone: Sequence[StoredFile]) -> None:
        for first in range(0, len(gone), BATCH_FILES):
            with self._store.writing() as write:
                for file in gone[first : first + BATCH_FILES]:
                    stored = write.find([cut.memory_id for cut in write.files.chunks(file.key)])
                    for one in stored.values():
                        if not one.forgotten:
                            write.forget(one, self._now())
                            self.done.memories["forgotten"] += 1
                    write.files.put(self._folder, file._replace(gone=True, read_ns=time.time_ns()))
                    if not file.reason:
                        self.done.files["gone"] += 1


class _Spare:
    """Files that are not where they were: one that turns up elsewhere may be one of them."""

    def __init__(self, files: Iterable[StoredFile]) -> None:
        self.taken: set[int] = set()
        # The last that went is the likeliest to come back.
        ordered = sorted(files, key=lambda one: (one.gone, -one.read_ns))
        self._by_digest: dict[bytes, list[StoredFile]] = {}
        self._by_inode: dict[int, StoredFile] = {}
        for one in ordered:
            if one.digest and not one.reason:
                self._by_digest.setdefault(one.digest, []).append(one)
            if one.inode and not one.gone and not one.reason:
                self._by_inode.setdefault(one.inode, one)

    def like(self, one: _Read) -> StoredFile | None:
        """The one with the same content; else the one with the same place on the disk, which was
        renamed and changed."""
        for file in self._by_digest.get(one.digest, ()):
            if file.key not in self.taken:
                return file
        file_there = self._by_inode.get(one.seen.inode)
        if file_there is None or file_there.key in self.taken:
            return None
        same_kind = PurePosixPath(file_there.path).suffix == one.seen.full.suffix
        return file_there if same_kind else None

    def take(self, file: StoredFile) -> None:
        self.taken.add(file.key)


def _batches(read: Iterable[_Read]) -> Iterator[list[_Read]]:
    batch: list[_Read] = []
    parts = 0
    for one in read:
        batch.append(one)
        parts += len(one.cuts)
        if parts >= BATCH_PARTS or len(batch) >= BATCH_FILES:
            yield batch
            batch, parts = [], 0
    if batch:
        yield batch


def _places(parts: Mapping[int, FileChunk]) -> dict[int, tuple[object, ...]]:
    """Where each memory stands, by its key."""
    return {key: part[1:] for key, part in parts.items()}


def _unsettled(before: StoredFile, now: StoredFile) -> bool:
    """Whether a file is as it was, and was changed so shortly before that it will be read again
    anyway: then there is nothing to note."""
    same = before._replace(read_ns=now.read_ns) == now
    return same and now.read_ns - now.changed_ns < COARSE_NS


def _moment(changed_ns: int, now: datetime) -> datetime:
    """When the file was changed; a time that no calendar has is taken for now."""
    try:
        return datetime.fromtimestamp(changed_ns / 1e9, UTC)
    except (OverflowError, ValueError, OSError):
        return now


def checked_folder(path: Path) -> Path:
    """The folder's real place, or why it is none."""
    try:
        real = Path(os.path.realpath(path))
        if real.is_dir():
            return real
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be looked into.") from error
    what = "is not a folder" if real.exists() else "is not there"
    raise NotFound(f"{path} {what}; give the folder to add.")
