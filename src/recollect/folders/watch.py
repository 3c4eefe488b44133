"""Following folders: the operating system reports changed files, which are then synced.

One process follows all folders of a vault. A folder that goes away is reported and skipped until it
is back, and vectors are computed in another thread.
"""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from recollect.errors import RecollectError, StoreError
from recollect.files import exclusive
from recollect.folders import is_instruction_file
from recollect.folders.chunk_writing import Synced
from recollect.folders.scan import NEVER, Matcher, Scan, scan_paths
from recollect.folders.sync import NOT_THERE, Away
from recollect.store.folders import Folder

# Changes within STEP_MS of each other are grouped, for at most GROUP_MS: editors write a file in
# several steps, and a change of branch writes thousands of files.
STEP_MS = 50
GROUP_MS = 400
# Between checks for folders that are back or were added by another process.
CHECK_MS = 1000
MANY = 500  # changed files, from which on a complete scan is as fast
LOCK = "watching.lock"
# The error of watchfiles for a changed name that is not valid UTF-8.
NO_TEXT = "Unable to decode path"

# (st_dev, st_ino) of a folder, which changes if the folder is replaced.
Identity = tuple[int, int]


class Follower:
    """Follows folders until it is stopped.

    `folders`: returns the folders to follow. `sync`: brings a folder up to date. `tell`: receives
    messages for the user.
    """

    def __init__(
        self,
        folders: Callable[[], Iterable[Folder]],
        sync: Callable[[Folder, Scan | None], Synced],
        tell: Callable[[str], None],
        stop: threading.Event,
    ) -> None:
        self._folders = folders
        self._sync = sync
        self._tell = tell
        self._stop = stop
        self._away: dict[str, str] = {}
        # In a burst the system drops events, even of new folders, which are then not watched; and a
        # file may change again while it is read. So watching restarts after a burst.
        self._unsettled = False
        self._asked_at = 0.0
        self._matchers: dict[str, Matcher] = {}

    def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Follow until it is stopped. `ready`: called once, when changes are watched and everything
        is up to date."""
        first = True
        while not self._stop.is_set():
            present = self._present()
            if not present:
                if first:
                    ready()
                    first = False
                self._stop.wait(CHECK_MS / 1000)
                continue
            self._unsettled = False
            for changes in self._changes(present):
                if changes is None:
                    for folder, _ in present.values():
                        self._update(folder, None)
                    if first:
                        ready()
                        first = False
                    continue
                self._follow(present, changes)
                if (not changes and self._unsettled) or self._folders_changed(present):
                    break

    def _present(self) -> dict[str, tuple[Folder, Identity]]:
        """Return the existing folders to follow, with their identities."""
        present = {}
        for folder in self._folders():
            identity = _identity(folder.path)
            if identity is not None:
                present[folder.path] = (folder, identity)
            elif is_instruction_file(folder.path):
                if folder.files:
                    self._update(folder, None)  # a missing file is not a missing disk
            else:
                self._gone(folder, NOT_THERE.format(folder=folder.path))
        return present

    def _changes(self, present: Mapping[str, tuple[Folder, Identity]]) -> Iterator[set[str] | None]:
        """Yield changed paths, an empty set if nothing has changed for a while, and None if
        anything may have changed, as at the start. Ends if watching must be restarted."""
        watching = False
        try:
            for changes in _changed_paths(present, self._stop):
                if not watching:
                    watching = True
                    yield None
                yield changes
        except (OSError, RuntimeError) as error:
            if NO_TEXT in str(error):
                self._stop.wait(CHECK_MS / 1000)  # it may be written again and again
                yield None
            elif all(_identity(path) == identity for path, (_, identity) in present.items()):
                raise StoreError(_why(error)) from error
            # Otherwise a folder went away while it was watched.

    def _follow(self, present: Mapping[str, tuple[Folder, Identity]], changes: set[str]) -> None:
        for root, (folder, _) in present.items():
            paths = _below(root, changes)
            if root in changes:
                self._update(folder, None)
            elif paths:
                self._update(folder, self._scan(folder, paths))
            if len(paths) > MANY:
                self._unsettled = True

    def _scan(self, folder: Folder, paths: list[str]) -> Scan | None:
        """Scan these files. Return None if everything must be scanned: there is a new folder, an
        ignore rule has changed, or the folder is empty, as without its disk."""
        root = Path(folder.path)
        if folder.path not in self._matchers:
            self._matchers[folder.path] = Matcher(root)
        matcher = self._matchers[folder.path]
        if len(paths) > MANY or any(matcher.is_rule(path) for path in paths) or _is_empty(root):
            return None
        scan = scan_paths(root, paths, matcher)
        others = (path for path in paths if path not in scan.files)
        came = any(_is_folder(root / path) and matcher.takes(path) for path in others)
        return None if came else scan

    def _folders_changed(self, present: Mapping[str, tuple[Folder, Identity]]) -> bool:
        """Return True if the existing folders to follow have changed; check once every CHECK_MS."""
        if time.monotonic() - self._asked_at < CHECK_MS / 1000:
            return False
        self._asked_at = time.monotonic()
        now = {folder.path: _identity(folder.path) for folder in self._folders()}
        before = {path: identity for path, (_, identity) in present.items()}
        return {path: found for path, found in now.items() if found is not None} != before

    def _update(self, folder: Folder, scan: Scan | None) -> None:
        """Sync a folder, completely if it was away; report a problem once."""
        try:
            done = self._sync(folder, None if folder.path in self._away else scan)
        except Away as error:
            self._gone(folder, str(error))
            return
        except RecollectError as error:
            self._gone(folder, str(error))
            self._unsettled = True  # try again later
            return
        if self._away.pop(folder.path, None) is not None:
            self._tell(f"The folder {folder.path} is followed again.")
        if done.changed:
            self._tell(summary(folder, done))

    def _gone(self, folder: Folder, why: str) -> None:
        if self._away.get(folder.path) != why:
            self._tell(why)
        self._away[folder.path] = why


def summary(folder: Folder, done: Synced) -> str:
    """Return `harbor: 1 changed, 2 gone`."""
    files = [f"{done.files[what]:,} {what}" for what in
             ("added", "changed", "renamed", "restored", "gone") if done.files[what]]  # fmt: skip
    return f"{folder.project}: {', '.join(files) or f'{done.changed:,} memories changed'}"


def folder_changes(folder: Path, stop: threading.Event) -> Iterator[bool]:
    """Yield True after each change in the folder, or when it goes away or comes back, and False if
    nothing has changed for a while, until it is stopped."""
    root = str(folder.absolute())
    while not stop.is_set():
        identity = _identity(root)
        watching = False
        try:
            for changes in _changed_paths([root], stop):
                # Changes before watching started were not reported.
                yield not watching or bool(_below(root, changes))
                watching = True
                if _identity(root) != identity:
                    break
        except (OSError, RuntimeError):
            yield True
        stop.wait(CHECK_MS / 1000)


def _changed_paths(roots: Iterable[str], stop: threading.Event) -> Iterator[set[str]]:
    """Yield changed paths; an empty set if none has changed for a while."""
    import watchfiles  # noqa: PLC0415  start-up time

    for changes in watchfiles.watch(
        *roots, watch_filter=None, debounce=GROUP_MS, step=STEP_MS, stop_event=stop,
        rust_timeout=CHECK_MS, yield_on_timeout=True, raise_interrupt=False,
        ignore_permission_denied=True,
    ):  # fmt: skip
        yield {path for _, path in changes}


def alone(home: Path) -> AbstractContextManager[bool]:
    """Hold the lock of this home's follower; the value is False if another process has it."""
    return exclusive(home / LOCK)


def wait_until_alone(home: Path, stop: threading.Event) -> Iterator[None]:
    """Yield once no other process follows the folders of this home; never if stopped first."""
    while not stop.is_set():
        with alone(home) as first:
            if first:
                yield
                return
        stop.wait(CHECK_MS / 1000)


def _below(root: str, changes: Iterable[str]) -> list[str]:
    """Return the changed paths below the root, with slashes, without those in NEVER."""
    start = root.rstrip(os.sep) + os.sep
    found = [path[len(start) :] for path in changes if path.startswith(start)]
    return [Path(path).as_posix() for path in found if NEVER.isdisjoint(Path(path).parts)]


def _identity(path: str) -> Identity | None:
    try:
        status = Path(path).stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _is_folder(path: Path) -> bool:
    """Return True for a folder, but not for a link to one."""
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except (OSError, ValueError):
        return False


def _is_empty(root: Path) -> bool:
    try:
        with os.scandir(root) as entries:
            return next(entries, None) is None
    except OSError:
        return True


def _why(error: Exception) -> str:
    """Return a message for an error of the system, such as its limit of watched folders."""
    message = str(error)
    if "limit" in message.lower() or "space left" in message.lower():
        return (
            "The system cannot watch this many folders; raise fs.inotify.max_user_watches, or add "
            "smaller folders."
        )
    return f"The folders cannot be followed: {message[:200]}."
