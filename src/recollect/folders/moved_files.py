"""Files that are not where they were: one that turns up elsewhere may be one of them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

from recollect.folders.scan import FoundFile
from recollect.store.folders import StoredFile


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
