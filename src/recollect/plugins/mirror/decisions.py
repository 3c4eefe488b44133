"""What a mirror does with a memory and its file, by what changed on either side since last time."""

from __future__ import annotations

from typing import Literal

from recollect.plugin.mirrors import Action

# One side since both were last the same; a side that was never the same before has changed.
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


def decide(memory: Side, file: Side, *, same: bool = False) -> Action:
    """The action for a memory and its file. `same`: they say the same, whatever happened."""
    if same and "gone" not in (memory, file) and (memory, file) != ("unchanged", "unchanged"):
        return "settle"
    return DECISIONS[memory, file]


def side(before: str | None, now: str | None) -> Side:
    """What happened to one side, by a text that tells its versions apart; None where there is
    none."""
    if now is None:
        return "gone"
    return "unchanged" if before == now else "changed"
