"""What is in a folder now: every file that counts, or only those that are said to have changed."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from recollect.documents.document import LeftOut, unreadable
from recollect.folders.walk import Candidate, Matcher, Skipped, walk


class Seen(NamedTuple):
    """A file as the file system describes it. `path` is below the folder, with slashes."""

    path: str
    full: Path
    size: int
    changed_ns: int
    inode: int


class Scan(NamedTuple):
    """Files that are there; what is left out and why; and what could not be looked into, of which
    nothing is known: neither that it is there nor that it is gone. `asked`: the paths that were
    looked at, None for all; one that is no file there may have been a folder, and all that was in
    it is gone."""

    seen: dict[str, Seen]
    left_out: Counter[str]
    named: list[tuple[str, LeftOut]]
    hidden: tuple[str, ...]
    asked: frozenset[str] | None = None

    def gone(self, path: str) -> bool:
        """Whether a file that was there is not there any more."""
        if path in self.seen or not (self.asked is None or self._was_asked(path)):
            return False
        return not any(path == one or path.startswith(one) for one in self.hidden)

    def _was_asked(self, path: str) -> bool:
        """Whether it was looked at, or a folder that it was in."""
        assert self.asked is not None
        while path and path not in self.asked:
            path = path.rpartition("/")[0]
        return bool(path)


def look(root: Path) -> Scan:
    """Everything below the root."""
    found = Scan({}, Counter(), [], ())
    hidden: list[str] = []
    for one in walk(root):
        if isinstance(one, Skipped):
            _leave_out(found, hidden, one)
        else:
            found.seen[one.path] = _seen(one)
    return found._replace(hidden=tuple(hidden))


def look_at(root: Path, paths: Iterable[str], matcher: Matcher) -> Scan:
    """These files alone, as a walk would find them."""
    asked = frozenset(paths)
    found = Scan({}, Counter(), [], (), asked)
    hidden: list[str] = []
    for path in sorted(asked):
        left_out = matcher.left_out(path)
        try:
            held = (root / path).lstat()
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            _leave_out(found, hidden, Skipped(path, unreadable(error)))
            continue
        if left_out is not None:
            _leave_out(found, hidden, Skipped(path, left_out))
        elif stat.S_ISREG(held.st_mode):
            found.seen[path] = _seen(Candidate(path, root / path, held))
    return found._replace(hidden=tuple(hidden))


def _leave_out(found: Scan, hidden: list[str], one: Skipped) -> None:
    found.left_out[one.left_out.reason] += 1
    if one.left_out.reason in ("unreadable", "vanished", "link", "special"):
        found.named.append((one.path, one.left_out))
    if one.left_out.reason == "unreadable":
        hidden.append("" if one.path == "./" else one.path)


def _seen(one: Candidate) -> Seen:
    held: os.stat_result = one.stat
    return Seen(one.path, one.full, held.st_size, held.st_mtime_ns, held.st_ino)
