"""Bringing the memories of a folder up to date with its files.

An unchanged file is not read again; one that was only touched is read but not written. Moved files
are found by their content and keep their memories. Each file is written together with its state, so
that a sync that was killed continues where it stopped.
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

from recollect.checks import is_inside
from recollect.errors import NotFound
from recollect.folders import is_instruction_file
from recollect.folders.chunk_writing import ChunkWriter, Synced
from recollect.folders.file_reading import (
    LACKING,
    FileToRead,
    ReadFile,
    Reading,
    read_files,
    ready_made,
)
from recollect.folders.scan import FoundFile, Scan, scan_file, scan_folder
from recollect.folders.transcript import transcript_type
from recollect.folders.transcript_reading import read_transcript
from recollect.maths import batched
from recollect.secrets.redaction import Redaction
from recollect.store.base import Store, Writing
from recollect.store.folders import Folder, StoredFile
from recollect.store.memory_rows import PreparedMemories
from recollect.worker_processes import Workers, part_size, worker_count

# If a file was changed this shortly before it was read, another change may have the same time,
# because clocks of file systems are coarse. Git calls such files racy.
COARSE_NS = 2_000_000_000
# Of one write transaction: large enough to be fast, small enough not to delay other writers.
BATCH_CHUNKS = 500
BATCH_FILES = 200
FEW_FILES = 500  # with fewer, starting worker processes takes longer than they save
# Files and bytes that a worker prepares at once; writing them takes as long as an unprepared batch.
MOST_FILES = 1000
MOST_BYTES = 8_000_000

NOT_THERE = "The folder {folder} is not there; its memories are kept as they are."


class Away(NotFound):
    """The folder is missing or empty; its memories are kept."""


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
        """`writing` and `writing_many`: begin a write, as in `Session`. `own`: files to leave out.
        `home`: the home folder, which is left out."""
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
        """Bring the memories up to date with a scan, by default of the whole folder."""
        scan = self._filter(self._scan() if scan is None else scan)
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
                stored = write.files.read_files(self._folder, [*paths])
                # Files that another process has synced meanwhile, or that were moved in this sync.
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

    def _filter(self, scan: Scan) -> Scan:
        """Return the scan without files that are not documents of the folder."""
        if self._folder.client:
            wanted = transcript_type(self._folder.client).files.fullmatch
            files = {path: file for path, file in scan.files.items() if wanted(path)}
            return scan._replace(files=files, left_out=Counter(why.reason for _, why in scan.named))
        own = {path for path, file in scan.files.items() if str(file.full) in self._own}
        if self._home is not None and is_inside(self._home, self._root):
            folders = {file.full.parent for file in scan.files.values()}
            home = {folder for folder in folders if is_inside(folder, self._home)}
            own |= {path for path, file in scan.files.items() if file.full.parent in home}
        if not own:
            return scan
        files = {path: file for path, file in scan.files.items() if path not in own}
        return scan._replace(files=files, left_out=scan.left_out + Counter(ignored=len(own)))

    def _check_not_away(
        self, scan: Scan, known: Mapping[str, StoredFile], gone: Sequence[StoredFile]
    ) -> None:
        """Refuse to forget everything: if the folder is empty, its disk may not be mounted."""
        live = [file for file in known.values() if not file.gone]
        if scan.paths is None and not scan.files and gone and len(gone) == len(live):
            raise Away(
                f"The folder {self._root} is empty, and it had {len(live):,} files before; their "
                "memories are kept. `recollect add --remove` forgets them."
            )

    def _is_unchanged(self, found: FoundFile, known: Mapping[str, StoredFile]) -> bool:
        """Return True, and count the file, if it need not be read."""
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
        """Read the files in batches. Many files are read by worker processes, which also prepare
        their memories for writing."""
        reading = Reading(self._folder, self._redaction, self._now())
        workers = 0
        batches: Iterable[tuple[list[ReadFile], PreparedMemories | None]]
        each = (read_files(reading, [file]) for file in files)
        every: Iterable[ReadFile] = chain.from_iterable(each)
        if self._folder.client:
            every = chain.from_iterable(read_transcript(reading, *file) for file in files)
        if len(files) > FEW_FILES and not self._folder.client:
            workers = worker_count()
        if workers > 1:
            size = max(part_size(len(files), MOST_FILES, workers), BATCH_FILES)
            ready = partial(ready_made, reading)
            some = batched(files, size, lambda file: file[0].size, MOST_BYTES)
            batches = Workers(ready, workers).map(some)
        else:
            read = batched(every, BATCH_FILES, lambda file: len(file.chunks), BATCH_CHUNKS)
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
            # A file with more parts must not look completely read.
            0 if file.more else found.size, found.changed_ns,
            found.inode, file.read_ns, file.digest,
            left_out.reason if left_out is not None else "", gone=False,
        )  # fmt: skip
        if left_out is not None and left_out.reason == "vanished":
            return  # the next sync will handle it
        if left_out is not None and left_out.reason == "unreadable" and self._folder.client:
            self.report.leave_out(found.path, left_out)
            return  # keep its memories
        if file.title is None and left_out is None and before is not None:
            if not _is_racy(before, now):
                files.put(self._folder, now)  # only touched
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
                self.report.left_out[file.left_out.reason] += 1  # reported before
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
    """Return the file's stored state, at its own path or at the one it was moved from."""
    here = known.get(file.found.path)
    if here is not None and not here.gone:
        return here
    before = here
    if here is None or here.digest != file.digest:
        before = moved.find(file.found, file.digest) or here
    if before is not None:
        moved.take(before)
    return before


def _is_racy(before: StoredFile, now: StoredFile) -> bool:
    """Return True if a file is unchanged, but so recent that it will be read again anyway."""
    same = before._replace(read_ns=now.read_ns) == now
    return same and now.read_ns - now.changed_ns < COARSE_NS


class MovedFiles:
    """Known files that are gone, found again by their content or their inode."""

    def __init__(self, files: Iterable[StoredFile]) -> None:
        self.taken: set[int] = set()
        self._by_digest: dict[bytes, list[StoredFile]] = {}
        self._by_inode: dict[int, StoredFile] = {}
        # The most recently lost file is the likeliest to come back.
        for file in sorted(files, key=lambda file: (file.gone, -file.read_ns)):
            if file.digest and not file.reason:
                self._by_digest.setdefault(file.digest, []).append(file)
            if file.inode and not file.gone and not file.reason:
                self._by_inode.setdefault(file.inode, file)

    def find(self, found: FoundFile, digest: bytes) -> StoredFile | None:
        """Return the file with the same content, else one with the same inode and ending, which was
        renamed and changed."""
        for file in self._by_digest.get(digest, ()):
            if file.key not in self.taken:
                return file
        renamed = self._by_inode.get(found.inode)
        if renamed is None or renamed.key in self.taken:
            return None
        return renamed if PurePosixPath(renamed.path).suffix == found.full.suffix else None

    def take(self, file: StoredFile) -> None:
        self.taken.add(file.key)
