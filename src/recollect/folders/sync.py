"""Bringing the memories of a folder up to date with its files.

A file that is as it was when it was last read is not read again. One that was only touched is read
and not written. The content of a file decides what became of it: the same content at another place
is the file that went from its old one, and keeps its memories. Each file is written together with
what is known of it, so that a sync that was killed goes on where it stopped.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from functools import partial
from itertools import chain
from pathlib import Path, PurePosixPath

from recollect.checks import lies_in
from recollect.errors import NotFound
from recollect.folders.chunk_writing import ChunkWriter, Synced
from recollect.folders.file_reading import (
    LACKING,
    FileToRead,
    ReadFile,
    Reading,
    read_files,
    ready_made,
)
from recollect.folders.instructions import is_instruction_file
from recollect.folders.scan import FoundFile, Scan, scan_file, scan_folder
from recollect.folders.transcript import transcript_type
from recollect.folders.transcript_reading import read_transcript
from recollect.maths import parts
from recollect.secrets.redaction import Redaction
from recollect.store.base import Store, Writing
from recollect.store.folders import Folder, StoredFile
from recollect.store.prepared import PreparedMemories
from recollect.worker_processes import Workers, fitting, part_size

# A file that was changed so shortly before it was read may have been changed once more since, and
# its time would not tell: clocks of file systems are that coarse. Git calls such files racy.
COARSE_NS = 2_000_000_000
# The most chunks and files of one write transaction: long enough to be quick, short enough that
# other writers wait little.
BATCH_CHUNKS = 500
BATCH_FILES = 200
# With fewer files, starting workers takes longer than they spare.
FEW_FILES = 500
# What a worker reads and prepares at once, which is written as quickly as a batch that is not
# prepared: so many files, and about so many bytes.
MOST_FILES = 1000
MOST_BYTES = 8_000_000

NOT_THERE = "The folder {folder} is not there; its memories are kept as they are."


class Away(NotFound):
    """The folder is not there or is empty; none of its memories was forgotten."""


class Sync:
    """One pass over a folder."""

    def __init__(
        self,
        store: Store,
        writing: Callable[..., AbstractContextManager[Writing]],
        writing_many: Callable[..., AbstractContextManager[Writing]],
        folder: Folder,
        redaction: Redaction | None,
        now: Callable[[], datetime],
        own: Collection[str] = (),
        home: Path | None = None,
    ) -> None:
        """`writing` and `writing_many` begin a write, as those of `Session` do. `own`: files that
        are left out. `home`: the home folder, of which nothing is read."""
        self._store = store
        self._writing = writing
        self._writing_many = writing_many
        self._folder = folder
        self._root = Path(folder.path)
        self._redaction = redaction
        self._now = now
        self._own = frozenset(own)
        self._home = home
        self.report = Synced()

    def run(
        self,
        scan: Scan | None = None,
        *,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> Synced:
        """Bring the memories up to date with a scan; without one, with the whole folder."""
        scan = self._counting(self._scan() if scan is None else scan)
        known = self._store.folders.files(self._folder)
        self.report.left_out.update(scan.left_out)
        for path, why in scan.named:
            self.report.name(path, why)
        gone = [file for file in known.values() if not file.gone and scan.gone(file.path)]
        self._check_not_away(scan, known, gone)
        waiting = [found for found in scan.files.values() if not self._is_unchanged(found, known)]
        moved = MovedFiles([file for file in known.values() if file.gone or file in gone])
        progress(0, len(waiting))
        finished = 0
        for batch, prepared in self._read([(found, known.get(found.path)) for found in waiting]):
            with self._writing_many("sync", prepared=prepared) as write:
                writer = ChunkWriter(write, self._folder, self._now, self.report, batch)
                paths = {file.found.path for file in batch}
                stored = write.files.stored(self._folder, [*paths])
                # What another process has taken in meanwhile, and what another file was before.
                taken = {path for path in paths if stored.get(path) != known.get(path)}
                for file in batch:
                    if file.found.path not in taken:
                        before = _before(file, known, moved)
                        self._write(writer, file, known, before)
                        if before is not None and before.path != file.found.path:
                            taken.add(before.path)
                    elif file.part == 1:
                        self.report.files["unchanged"] += 1
                writer.flush()
                write.index_added(prepared)
            finished += sum(not file.more for file in batch)
            progress(finished, len(waiting))
        if not self._folder.client:
            self._forget_gone([file for file in gone if file.key not in moved.taken])
        return self.report

    def _scan(self) -> Scan:
        alone = is_instruction_file(str(self._root))
        try:
            if not (self._root.parent if alone else self._root).is_dir():
                raise Away(NOT_THERE.format(folder=self._root))
        except OSError as error:
            raise Away(f"The folder {self._root} cannot be read: {error.strerror}.") from error
        return scan_file(self._root) if alone else scan_folder(self._root)

    def _counting(self, scan: Scan) -> Scan:
        """The scan without what is none of the folder's documents."""
        if self._folder.client:
            wanted = transcript_type(self._folder.client).files.fullmatch
            files = {path: file for path, file in scan.files.items() if wanted(path)}
            return scan._replace(files=files, left_out=Counter(why.reason for _, why in scan.named))
        own = {path for path, file in scan.files.items() if str(file.full) in self._own}
        if self._home is not None and lies_in(self._home, self._root):
            folders = {file.full.parent for file in scan.files.values()}
            home = {folder for folder in folders if lies_in(folder, self._home)}
            own |= {path for path, file in scan.files.items() if file.full.parent in home}
        if not own:
            return scan
        files = {path: file for path, file in scan.files.items() if path not in own}
        return scan._replace(files=files, left_out=scan.left_out + Counter(ignored=len(own)))

    def _check_not_away(
        self, scan: Scan, known: Mapping[str, StoredFile], gone: Sequence[StoredFile]
    ) -> None:
        """Refuse to forget everything: the disk of a folder that is empty now may be away."""
        live = [file for file in known.values() if not file.gone]
        if scan.paths is None and not scan.files and gone and len(gone) == len(live):
            raise Away(
                f"The folder {self._root} is empty, and it had {len(live):,} files before; their "
                "memories are kept. `recollect add --remove` forgets them."
            )

    def _is_unchanged(self, found: FoundFile, known: Mapping[str, StoredFile]) -> bool:
        """Whether the file need not be read; then it is counted."""
        before = known.get(found.path)
        if before is None or before.gone or before.read_ns - before.changed_ns < COARSE_NS:
            return False
        if before.reason == LACKING:
            return False  # the extra may have been installed since
        if (before.size, before.changed_ns, before.inode) != (
            found.size, found.changed_ns, found.inode,
        ):  # fmt: skip
            return False
        if before.reason:
            self.report.left_out[before.reason] += 1
        else:
            self.report.files["unchanged"] += 1
        return True

    def _read(
        self, files: Sequence[FileToRead]
    ) -> Iterator[tuple[list[ReadFile], PreparedMemories | None]]:
        """The files read, in batches; many are read by worker processes, which also prepare what is
        written of them."""
        reading = Reading(self._folder, self._redaction, self._now())
        workers = 0
        batches: Iterable[tuple[list[ReadFile], PreparedMemories | None]]
        each = (read_files(reading, [file]) for file in files)
        every: Iterable[ReadFile] = chain.from_iterable(each)
        if self._folder.client:
            every = chain.from_iterable(read_transcript(reading, *file) for file in files)
        if len(files) > FEW_FILES and not self._folder.client:
            workers = fitting()
        if workers > 1:
            size = max(part_size(len(files), MOST_FILES, workers), BATCH_FILES)
            ready = partial(ready_made, reading)
            some = parts(files, size, lambda file: file[0].size, MOST_BYTES)
            batches = Workers(ready, workers).map(some)
        else:
            read = parts(every, BATCH_FILES, lambda file: len(file.chunks), BATCH_CHUNKS)
            batches = ((batch, None) for batch in read)
        for batch, prepared in batches:
            for file in batch:
                self.report.redacted.update(file.redacted)
                for note in file.notes:
                    self.report.note(file.found.path, note)
            yield batch, prepared

    def _write(
        self,
        writer: ChunkWriter,
        file: ReadFile,
        known: dict[str, StoredFile],
        before: StoredFile | None,
    ) -> None:
        found, left_out, files = file.found, file.left_out, writer.files
        now = StoredFile(
            before.key if before is not None else 0, found.path,
            # A file of which more is to come must not look as if it was read.
            0 if file.more else found.size, found.changed_ns,
            found.inode, file.read_ns, file.digest,
            left_out.reason if left_out is not None else "", gone=False,
        )  # fmt: skip
        if left_out is not None and left_out.reason == "vanished":
            return  # the next pass will see what became of it
        if left_out is not None and left_out.reason == "unreadable" and self._folder.client:
            self.report.leave_out(found.path, left_out)
            return  # what was said stays said
        if file.title is None and left_out is None and before is not None:
            if not _is_racy(before, now):
                files.put(self._folder, now)  # touched, no more
            self.report.files["unchanged"] += 1
            return
        if before is not None and before.path != now.path:
            files.remove_file(self._folder, now.path)
        key = files.put(self._folder, now)
        known[now.path] = now._replace(key=key)
        if file.part == 1:
            self._count(file, before)
        writer.write(key, file, before)

    def _count(self, file: ReadFile, before: StoredFile | None) -> None:
        if file.left_out is not None:
            same = before is not None and not before.gone and before.digest == file.digest
            if same and before is not None and before.reason == file.left_out.reason:
                self.report.left_out[file.left_out.reason] += 1  # named before
            else:
                self.report.leave_out(file.found.path, file.left_out)
        elif before is None:
            self.report.files["added"] += 1
        elif before.path != file.found.path:
            self.report.files["renamed"] += 1
        else:
            self.report.files["restored" if before.gone else "changed"] += 1

    def _forget_gone(self, gone: Sequence[StoredFile]) -> None:
        for first in range(0, len(gone), BATCH_FILES):
            with self._writing("sync", reason="Its file is gone.") as write:
                writer = ChunkWriter(write, self._folder, self._now, self.report)
                for file in gone[first : first + BATCH_FILES]:
                    chunks = write.files.chunks(file.key)
                    for memory in write.find([chunk.memory_id for chunk in chunks]).values():
                        writer.forget(memory)
                    write.files.put(self._folder, file._replace(gone=True, read_ns=time.time_ns()))
                    if not file.reason:
                        self.report.files["gone"] += 1


def _before(
    file: ReadFile, known: Mapping[str, StoredFile], moved: MovedFiles
) -> StoredFile | None:
    """The file as it was before: at its own place, or at the one from which it went."""
    here = known.get(file.found.path)
    if here is not None and not here.gone:
        return here
    before = here
    if here is None or here.digest != file.digest:
        before = moved.matching(file.found, file.digest) or here
    if before is not None:
        moved.take(before)
    return before


def _is_racy(before: StoredFile, now: StoredFile) -> bool:
    """Whether a file is as it was, but was changed so shortly before that it will be read again
    anyway: then there is nothing to keep."""
    same = before._replace(read_ns=now.read_ns) == now
    return same and now.read_ns - now.changed_ns < COARSE_NS


class MovedFiles:
    """Known files that are gone, to be found again by their content or their inode."""

    def __init__(self, files: Iterable[StoredFile]) -> None:
        self.taken: set[int] = set()
        self._by_digest: dict[bytes, list[StoredFile]] = {}
        self._by_inode: dict[int, StoredFile] = {}
        # The last that went is the likeliest to come back.
        for file in sorted(files, key=lambda file: (file.gone, -file.read_ns)):
            if file.digest and not file.reason:
                self._by_digest.setdefault(file.digest, []).append(file)
            if file.inode and not file.gone and not file.reason:
                self._by_inode.setdefault(file.inode, file)

    def matching(self, found: FoundFile, digest: bytes) -> StoredFile | None:
        """The file with the same content; else the one with the same inode and the same ending,
        which was renamed and changed."""
        for file in self._by_digest.get(digest, ()):
            if file.key not in self.taken:
                return file
        renamed = self._by_inode.get(found.inode)
        if renamed is None or renamed.key in self.taken:
            return None
        return renamed if PurePosixPath(renamed.path).suffix == found.full.suffix else None

    def take(self, file: StoredFile) -> None:
        self.taken.add(file.key)
