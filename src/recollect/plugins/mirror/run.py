"""One run of a mirror: compare each memory with its file, and make them equal.

`DECISIONS` lists the actions. After an interruption the two sides of each pair are equal, or differ
as before, so that the next run finds no false conflict.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Literal, TypeVar

from recollect import RecollectError
from recollect.plugin.mirrors import (
    Action,
    Draft,
    Mirrored,
    MirroredVault,
    existing_folder,
    remove_leftovers_below,
    revision,
)
from recollect.plugins.mirror.actions import Actions
from recollect.plugins.mirror.folder import (
    VERSION,
    MirroredFolder,
    MirrorEntry,
    State,
    write_folder,
)
from recollect.plugins.mirror.scan import scan

__all__ = ("mirror", "write_folder")  # the entry point, see `MirrorType`

# The state of one side since both were last equal; a new side has changed.
Side = Literal["unchanged", "changed", "gone"]

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
Value = TypeVar("Value")


def decide(memory: Side, file: Side, *, same: bool = False) -> Action:
    """Return the action for a memory and its file. `same`: their contents are equal."""
    if same and "gone" not in (memory, file) and (memory, file) != ("unchanged", "unchanged"):
        return "settle"
    return DECISIONS[memory, file]


def side(before: str | None, now: str | None) -> Side:
    """Return the change of one side, given its former and current version, None for a missing
    one."""
    if now is None:
        return "gone"
    return "unchanged" if before == now else "changed"


def mirror(
    vault: MirroredVault,
    path: Path,
    *,
    identity: str,
    clean: Callable[[Draft], Draft],
    private: bool = False,
    dry_run: bool = False,
) -> Mirrored:
    """Make a folder and a vault equal, once.

    identity: identifies the vault.
    clean: redacts secrets in a draft, as saving does.
    private: only the owner may read written files.
    """
    folder = MirroredFolder(existing_folder(path), private=private)
    if not dry_run:
        remove_leftovers_below(folder.root)
    state = folder.state(identity)
    scanned = scan(folder.root, state.entries)
    actions = Actions(vault, folder, state.entries, scanned, clean, dry_run=dry_run)
    problems = dict(scanned.problems)

    def attempt(path: str, act: Callable[[], None]) -> None:
        """Act; report a failure, leave its entry unchanged, and go on."""
        done = len(actions.steps)
        try:
            act()
        except RecollectError as error:
            problems[path] = str(error)
            del actions.steps[done:]
        except OSError as error:
            problems[path] = f"It cannot be written: {error.strerror}."
            del actions.steps[done:]

    # Each memory and its file first, then the files without a memory.
    for id in sorted({*state.entries, *actions.memories, *actions.files} - scanned.blocked):
        entry, file = state.entries.get(id), actions.files.get(id)
        attempt(
            file.path if file else entry.path if entry else id, partial(_pair, actions, id, entry)
        )
    for note in scanned.notes:
        attempt(note.path, partial(actions.take_note, note))
    after = State(VERSION, identity, actions.entries)
    if not dry_run and after != state:
        folder.keep_state(after)
    return Mirrored(
        folder.root,
        tuple(actions.steps),
        tuple(sorted(problems.items())),
        actions.unchanged,
        actions.redacted,
    )


def _pair(actions: Actions, id: str, entry: MirrorEntry | None) -> None:
    """Do the action for a memory and its file; `entry`: their last equal state."""
    file, memory = actions.files.get(id), actions.memories.get(id)
    noted = entry or MirrorEntry("", "", "")
    memory_side = side(noted.revision, revision(memory) if memory else None)
    file_side = side(noted.digest, file.digest if file else None)
    same = bool(memory and file and file_side == "changed" and actions.is_same(memory, file))
    match decide(memory_side, file_side, same=same):
        case "keep":
            actions.keep(_present(memory), _present(file))
        case "settle":
            actions.settle(_present(memory), _present(file))
        case "write":
            actions.write(_present(memory), file)
        case "edit":
            actions.edit(_present(memory), _present(file))
        case "conflict":
            actions.conflict(_present(memory), _present(file))
        case "forget":
            actions.forget(_present(memory), noted.path)
        case "trash":
            actions.trash(id, _present(file))
        case "take in":
            actions.take_in(id, _present(file))
        case "drop":
            actions.drop(id)


def _present(value: Value | None) -> Value:
    """Return the value, which the decision guarantees."""
    assert value is not None
    return value
