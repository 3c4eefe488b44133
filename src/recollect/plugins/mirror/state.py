"""The state of a mirror: how memories and files were when they were last the same.

It lies in the mirrored folder, where anybody may change it, and is checked when it is read.
"""

from __future__ import annotations

import os
import re

import msgspec
from msgspec import Struct

from recollect import UserError
from recollect.plugin.mirrors import ENDING, STATE

VERSION = 1
START_OVER = (
    f"Remove {STATE} to start over: no memory and no file is lost, and where the two differ, both "
    "are kept."
)


class MirrorEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """A memory and its file when they were last the same: the file's path, a digest of its bytes,
    the memory's revision. `stamp`: the `updated_at` in the file; the memory's own may be later.
    `kept`: somebody chose the file's name, so it stays."""

    path: str
    digest: str
    revision: str
    stamp: str = ""
    kept: bool = False


class State(Struct, frozen=True, forbid_unknown_fields=True):
    """The entries of a mirrored folder by the memories' ids; `vault`: whose mirror it is."""

    version: int
    vault: str
    entries: dict[str, MirrorEntry] = {}


def state_text(state: State) -> str:
    return msgspec.json.format(msgspec.json.encode(state), indent=1).decode() + "\n"


def read_state(raw: bytes, vault: str) -> State:
    """The state in these bytes; UserError where it belongs to another vault or cannot be read."""
    try:
        version = msgspec.json.decode(raw, type=_Version).version
        if version > VERSION:
            raise UserError(
                f"{STATE} was written by a newer version of Recollect (format {version}; this one "
                f"reads {VERSION}). Update Recollect."
            )
        state = msgspec.json.decode(raw, type=State)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UserError(f"{STATE} cannot be read: {error}. {START_OVER}") from error
    if state.vault != vault:
        raise UserError(
            f"The folder mirrors another vault, as its {STATE} says; name another folder."
        )
    for entry in state.entries.values():
        if not is_inside(entry.path):
            raise UserError(
                f"{STATE} names {entry.path!r}, which cannot be a file of the mirror. {START_OVER}"
            )
    return state


class _Version(Struct):
    version: int


def is_inside(path: str) -> bool:
    """Whether a path names a Markdown file below the folder that is not hidden."""
    if "\0" in path or (os.sep == "\\" and re.search(r"[\\:]", path)):
        return False
    parts = path.split("/")  # an absolute path begins with an empty one
    return path.lower().endswith(ENDING) and all(part and part[0] != "." for part in parts)
