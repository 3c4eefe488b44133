"""Following folders: the operating system says what has changed, and it is found soon after.

One process follows all folders of a vault. It never waits for anybody: a folder that goes away is
told and left alone until it is back, and vectors are made beside it.
"""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from recollect.errors import RecollectError, StoreError
from recollect.folders.scan import Scan, look_at
from recollect.folders.selection import NEVER
from recollect.folders.sync import NOT_THERE, Away, Synced
from recollect.folders.walk import Matcher, matcher
from recollect.store.folders import Folder

try:
    import fcntl
except ImportError:  # Windows: nobody is kept from following twice, which only costs time
    fcntl = None  # type: ignore[assignment]

# Changes that come within STEP_MS of each other are taken together, for GROUP_MS at most: an editor
# writes a file in several steps, and a branch switch thousands.
STEP_MS = 50
GROUP_MS = 400
# How often folders are looked after that are away, or that somebody else has added meanwhile.
LOOK_MS = 1000
# More changed files than this, and looking at everything is as quick as looking at each.
MANY = 500
LOCK = "watching.lock"
# How watchfiles says that something changed whose name is not valid UTF-8.
NO_TEXT = "Unable to decode path"

# (st_dev, st_ino) of a folder that is there.
Place = tuple[int, int]


class Follower:
    """Follows folders until it is told to stop.

    `folders`: those to follow, asked again and again; `sync`: brings one into step; `tell`: says
    in a sentence what happened, for people.
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
        # In a burst the system drops what it cannot queue, new folders among it, which are not
        # listened to then; and a file may change once more while it is read. So when a burst is
        # over, listening begins anew.
        self._unsettled = False
        self._asked_at = 0.0
        self._matchers: dict[str, Matcher] = {}

    def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Until it is stopped. `ready` is called once changes are heard of and everything is in
        step for the first time."""
        first = True
        while not self._stop.is_set():
            there = self._there()
            if not there:
                if first:
                    ready()
                    first = False
                self._stop.wait(LOOK_MS / 1000)
                continue
            self._unsettled = False
            for changes in self._heard(there):
                if changes is None:
                    for path in there:
                        self._brought(there[path][0], None)
                    if first:
                        ready()
                        first = False
                    continue
                self._follow(there, changes)
                if (not changes and self._unsettled) or self._others(there):
                    break

    def _there(self) -> dict[str, tuple[Folder, Place]]:
        """The folders to follow that are there, and which they are."""
        found = {}
        for folder in self._folders():
            place = _place(folder.path)
            if place is not None:
                found[folder.path] = (folder, place)
            else:
                self._gone(folder, NOT_THERE.format(folder=folder.path))
        return found

    def _heard(self, there: Mapping[str, tuple[Folder, Place]]) -> Iterator[set[str] | None]:
        """None where anything may have changed, as when it begins to listen; else what has changed,
        an empty set when nothing has for a while. Ends when it cannot go on; then it is begun anew.
        """
        listening = False
        try:
            for changes in _changes(there, self._stop):
                if not listening:
                    listening = True
                    yield None
                yield changes
        except (OSError, RuntimeError) as error:
            if NO_TEXT in str(error):
                self._stop.wait(LOOK_MS / 1000)  # it may be written again and again
                yield None
            elif all(_place(path) == place for path, (_, place) in there.items()):
                raise StoreError(_why(error)) from error
            # Else a folder went while it was being watched.

    def _follow(self, there: Mapping[str, tuple[Folder, Place]], changes: set[str]) -> None:
        for root, (folder, _) in there.items():
            paths = _below(root, changes)
            if root in changes:
                self._brought(folder, None)
            elif paths:
                self._brought(folder, self._looked(folder, paths))
            if len(paths) > MANY:
                self._unsettled = True

    def _looked(self, folder: Folder, paths: list[str]) -> Scan | None:
        """What became of these files; None where everything must be looked at: a folder came, what
        is ignored has changed, or nothing is left, which may be a disk that was taken away."""
        root = Path(folder.path)
        if folder.path not in self._matchers:
            self._matchers[folder.path] = matcher(root)
        held = self._matchers[folder.path]
        if len(paths) > MANY or any(held.is_rule(path) for path in paths) or _is_empty(root):
            return None
        looked = look_at(root, paths, held)
        others = (path for path in paths if path not in looked.seen)
        came = any(_is_folder(root / path) and held.takes(path) for path in others)
        return None if came else looked

    def _others(self, there: Mapping[str, tuple[Folder, Place]]) -> bool:
        """Whether other folders are to be followed now, or others are there; not asked more often
        than need be."""
        if time.monotonic() - self._asked_at < LOOK_MS / 1000:
            return False
        self._asked_at = time.monotonic()
        now = {folder.path: _place(folder.path) for folder in self._folders()}
        before = {path: place for path, (_, place) in there.items()}
        return {path: place for path, place in now.items() if place is not None} != before

    def _brought(self, folder: Folder, looked: Scan | None) -> None:
        """Into step; what prevents it is told once. Of a folder that was away, everything is looked
        at."""
        try:
            done = self._sync(folder, None if folder.path in self._away else looked)
        except Away as error:
            self._gone(folder, str(error))
            return
        except RecollectError as error:
            self._gone(folder, str(error))
            self._unsettled = True  # try again when it is quiet
            return
        if self._away.pop(folder.path, None) is not None:
            self._tell(f"The folder {folder.path} is followed again.")
        if done.changed:
            self._tell(told(folder, done))

    def _gone(self, folder: Folder, why: str) -> None:
        if self._away.get(folder.path) != why:
            self._tell(why)
        self._away[folder.path] = why


def told(folder: Folder, done: Synced) -> str:
    """`harbor: 1 file changed, 2 gone`."""
    files = [f"{done.files[what]:,} {what}" for what in
             ("added", "changed", "renamed", "restored", "gone") if done.files[what]]  # fmt: skip
    return f"{folder.project}: {', '.join(files) or f'{done.changed:,} memories changed'}"


def beats(folder: Path, stop: threading.Event) -> Iterator[bool]:
    """Again and again until it is stopped: True where something in the folder has changed, or it
    has gone or come back; False where nothing has for a while."""
    root = str(folder.absolute())
    while not stop.is_set():
        place = _place(root)
        listening = False
        try:
            for changes in _changes([root], stop):
                # What changed before it listened was not heard.
                yield not listening or bool(_below(root, changes))
                listening = True
                if _place(root) != place:
                    break
        except (OSError, RuntimeError):
            yield True
        stop.wait(LOOK_MS / 1000)


def _changes(roots: Iterable[str], stop: threading.Event) -> Iterator[set[str]]:
    """The paths that have changed; none when nothing has for a while."""
    import watchfiles  # noqa: PLC0415  start-up time

    for changes in watchfiles.watch(
        *roots, watch_filter=None, debounce=GROUP_MS, step=STEP_MS, stop_event=stop,
        rust_timeout=LOOK_MS, yield_on_timeout=True, raise_interrupt=False,
        ignore_permission_denied=True,
    ):  # fmt: skip
        yield {path for _, path in changes}


@contextmanager
def alone(home: Path) -> Iterator[bool]:
    """Whether this is the only process that follows the folders of this home, until it is over."""
    if fcntl is None:
        yield True
        return
    handle = os.open(home / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
            return
        yield True
    finally:
        os.close(handle)


def wait_until_alone(home: Path, stop: threading.Event) -> Iterator[None]:
    """Yields once nobody else follows the folders of this home; not at all when stopped first."""
    while not stop.is_set():
        with alone(home) as first:
            if first:
                yield
                return
        stop.wait(LOOK_MS / 1000)


def _below(root: str, changes: Iterable[str]) -> list[str]:
    """The changed paths below the root, with slashes. What git and the like write for themselves is
    nobody's business."""
    start = root.rstrip(os.sep) + os.sep
    found = [path[len(start) :] for path in changes if path.startswith(start)]
    return [_posix(path) for path in found if NEVER.isdisjoint(Path(path).parts)]


def _place(path: str) -> Place | None:
    try:
        held = Path(path).stat()
    except OSError:
        return None
    return held.st_dev, held.st_ino


def _posix(path: str) -> str:
    return path.replace(os.sep, "/") if os.sep != "/" else path


def _is_folder(path: Path) -> bool:
    """Links to folders are none."""
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except (OSError, ValueError):
        return False


def _is_empty(root: Path) -> bool:
    try:
        with os.scandir(root) as found:
            return next(found, None) is None
    except OSError:
        return True


def _why(error: Exception) -> str:
    """Linux watches so many folders and no more."""
    words = str(error)
    if "limit" in words.lower() or "space left" in words.lower():
        return (
            "The system does not watch so many folders; raise fs.inotify.max_user_watches, or add "
            "smaller folders."
        )
    return f"The folders cannot be followed: {words[:200]}."
