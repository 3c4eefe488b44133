"""What hooks remember of an agent's session: what was shown in it, and when the agent was asked.

One small file a session in the home. Memories stand in it as hashes under the vault's key: an id is
made from a title's words, and a locked vault shows none of them.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from recollect.hashing import content_digest

FOLDER = "hooks"  # in the home; the log is there, too
KEPT_S = 7 * 24 * 3600  # a session that nobody has gone on with for so long is over


class HookSession(Struct):
    """`shown`: hashes of the memories that the agent has seen. `turns`: how many it has finished;
    `asked`: how many it had when it was last asked what is worth keeping. `compacted`: its
    conversation was summarised, and it has not been asked since. `read`: how far its transcript was
    read, as the bytes before and the number of the next line."""

    shown: list[str] = []
    turns: int = 0
    asked: int = 0
    compacted: bool = False
    read: tuple[int, int] = (0, 1)


class SessionFile:
    """The file of one session of one client."""

    def __init__(self, home: Path, client: str, session: str) -> None:
        name = f"{client}-{content_digest(session, 8).hex()}.json"
        self._file = home / FOLDER / name if session else None
        self._read = b""

    def read(self) -> HookSession:
        """What is known of the session; nothing where there is no such file, or a broken one."""
        if self._file is not None:
            with suppress(OSError, msgspec.MsgspecError):
                self._read = self._file.read_bytes()
                return msgspec.json.decode(self._read, type=HookSession)
        return HookSession()

    def write(self, session: HookSession) -> None:
        """Replace the file, where anything has changed. It need not outlast a power cut, and to
        make it so would take longer than all the rest."""
        written = msgspec.json.encode(session)
        if self._file is None or written == (self._read or NOTHING):
            return
        self._file.parent.mkdir(mode=0o700, exist_ok=True)
        beside = self._file.with_suffix(f".json-{os.urandom(4).hex()}")
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as stream:
            stream.write(written)
        beside.replace(self._file)


NOTHING = msgspec.json.encode(HookSession())


def remove_old(home: Path) -> None:
    """Remove the files of sessions that are over."""
    with suppress(OSError):
        for file in (home / FOLDER).glob("*.json*"):
            with suppress(OSError):
                if time.time() - file.stat().st_mtime > KEPT_S:
                    file.unlink()
