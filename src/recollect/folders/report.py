"""What a sync of a folder did."""

from __future__ import annotations

from collections import Counter

from recollect.documents.document import LeftOut, Reason

# As many as a person reads; the others are counted.
MOST_NAMED = 100
# Every folder has such files: they are counted, and nobody needs their names.
USUAL: frozenset[Reason] = frozenset({"binary", "empty", "generated", "unknown kind"})


class Synced:
    """Counts of files by what happened to them, of memories, of what was left out by reason, and of
    secrets by kind. `named`: paths with a note on each."""

    def __init__(self) -> None:
        self.files: Counter[str] = Counter()
        self.memories: Counter[str] = Counter()
        self.left_out: Counter[str] = Counter()
        self.named: list[tuple[str, str]] = []
        self.redacted: Counter[str] = Counter()

    def include(self, other: Synced) -> None:
        """Count what another sync did as well."""
        for name in ("files", "memories", "left_out", "redacted"):
            getattr(self, name).update(getattr(other, name))
        for path, note in other.named:
            self.note(path, note)

    def leave_out(self, path: str, why: LeftOut) -> None:
        self.left_out[why.reason] += 1
        if why.reason not in USUAL:
            self.name(path, why)

    def name(self, path: str, why: LeftOut) -> None:
        self.note(path, f"{why.reason}: {why.detail}" if why.detail else why.reason)

    def note(self, path: str, note: str) -> None:
        if len(self.named) < MOST_NAMED:
            self.named.append((path, note))

    @property
    def changed(self) -> int:
        """How many memories were added, updated or forgotten."""
        return sum(self.memories.values())
