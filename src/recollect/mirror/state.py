"""What a mirror decides: from what changed since the last time on either side, what to do.

The state says how both sides were when they were last the same. It lies in the mirrored folder, so
it may have been changed by anybody, and is checked when it is read.
"""

from __future__ import annotations

import os
import re
from typing import Literal, NamedTuple

import msgspec
from msgspec import Struct

from recollect.errors import UserError
from recollect.mirror.file_names import ENDING

STATE = ".recollect-mirror.json"
VERSION = 1
ANEW = (
    f"Remove {STATE} to begin anew: no memory and no file is lost by that, and where the two "
    "differ, both are kept."
)

# One side since both were last the same; what was never the same before has changed.
Side = Literal["unchanged", "changed", "gone"]
Action = Literal[
    "keep",  # nothing to do
    "settle",  # both say the same already; note it
    "write",  # the file anew, from the memory
    "edit",  # the memory, from the file
    "conflict",  # the memory's version stays; the file's is kept beside it
    "forget",  # the memory
    "trash",  # the file
    "take in",  # the file as a memory, new or once forgotten
    "drop",  # what is noted of both
]

DECISIONS: dict[tuple[Side, Side], Action] = {
    # memory, file
    ("unchanged", "unchanged"): "keep",
    ("unchanged", "changed"): "edit",
    ("unchanged", "gone"): "forget",
    ("changed", "unchanged"): "write",
    ("changed", "changed"): "conflict",
    ("changed", "gone"): "write",
    ("gone", "unchanged"): "trash",
    ("gone", "changed"): "take in",
    ("gone", "gone"): "drop",
}


def decide(memory: Side, file: Side, *, same: bool = False) -> Action:
    """What to do with a memory and its file. `same`: they say the same, however that came about."""
    if same and "gone" not in (memory, file) and (memory, file) != ("unchanged", "unchanged"):
        return "settle"
    return DECISIONS[memory, file]


class Entry(Struct, frozen=True, forbid_unknown_fields=True):
    """A memory and its file when they were last the same: the file's path, a digest of its bytes,
    the memory's revision. `stamp`: the `updated_at` that the file says; the memory's own may be
    later. `kept`: somebody chose the file's name, so it stays."""

    path: str
    digest: str
    revision: str
    stamp: str = ""
    kept: bool = False


class State(Struct, frozen=True, forbid_unknown_fields=True):
    """What a folder's mirror remembers, by the memories' ids; `vault`: whose mirror it is."""

    version: int
    vault: str
    entries: dict[str, Entry] = {}


class Step(NamedTuple):
    """One thing that was done, or would be; `told`: what there is to say of it."""

    action: Action
    id: str
    path: str
    told: str = ""


def side(noted: str | None, now: str | None) -> Side:
    """What became of one side, by what tells its states apart; None where it is not there."""
    if now is None:
        return "gone"
    return "unchanged" if noted == now else "changed"


def state_text(state: State) -> str:
    return msgspec.json.format(msgspec.json.encode(state), indent=1).decode() + "\n"


def read_state(raw: bytes, vault: str) -> State:
    """The state in these bytes; UserError where it is another vault's, or cannot be read."""
    try:
        version = msgspec.json.decode(raw, type=_Version).version
        if version > VERSION:
            raise UserError(
                f"{STATE} was written by a newer version of Recollect (form {version}; this one "
                f"reads {VERSION})."
            )
        state = msgspec.json.decode(raw, type=State)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UserError(f"{STATE} cannot be read: {error}. {ANEW}") from error
    if state.vault != vault:
        raise UserError(
            f"The folder mirrors another vault, as {STATE} in it says; name another folder."
        )
    for entry in state.entries.values():
        if not is_inside(entry.path):
            raise UserError(f"{STATE} names {entry.path!r}, which is no file of the mirror. {ANEW}")
    return state


class _Version(Struct):
    version: int


def is_inside(path: str) -> bool:
    """Whether a path names a Markdown file below the folder that is not hidden."""
    if "\0" in path or (os.sep == "\\" and re.search(r"[\\:]", path)):
        return False
    parts = path.split("/")  # an absolute path begins with an empty one
    return path.lower().endswith(ENDING) and all(part and part[0] != "." for part in parts)
