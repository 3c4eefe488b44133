"""A vault as it was at an earlier moment, as a store: what has not changed since is asked in the
vault itself, what has in a vault in memory, and both count together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, cast

from msgspec.structs import replace

from recollect.context import Models
from recollect.deadline import NO_DEADLINE, Deadline
from recollect.errors import ProviderError, UserError
from recollect.models.embedding_queue import Batches
from recollect.store.base import (
    Coverage,
    Memories,
    NearPassage,
    StoredVector,
    UsedColumn,
    VectorIndex,
    VectorMatch,
    Vocabulary,
)
from recollect.store.folders import ChunkPlace, Folders
from recollect.store.sqlite.past import PastVault
from recollect.store.vault import VaultStore
from recollect.times import iso
from recollect.types import Filter, Memory
from recollect.vaults.fan_out import Member
from recollect.vaults.fanned_indexes import FannedVectors, FannedVocabulary
from recollect.vaults.fanned_store import ORDERS, FannedFolders, FannedMemories, FannedStore
from recollect.vaults.known import HOME

if TYPE_CHECKING:
    from recollect.store.base import Vector

# Old wordings that one search embeds: some seconds with the built-in model.
MOST_EMBEDDED = 200
# Moments of which a thread keeps what it has read.
MOST_MOMENTS = 2


def past_store(
    vault: VaultStore,
    at: datetime,
    models: Models | None = None,
    deadline: Deadline = NO_DEADLINE,
) -> PastStore:
    """The vault as it was; UserError where its history does not go back so far. Each thread keeps
    what it has read of the last few moments. Without models, old wordings get no vectors, nor
    after the deadline."""
    begins = vault.history.begins()
    if begins is not None and at < begins:
        raise UserError(
            f"As of {iso(at)}: the vault's history begins later; ask for a time from "
            f"{iso(begins)} on."
        )
    kept: dict[datetime, PastVault] = vault.kept.__dict__.setdefault("past", {})
    past = kept[at] = kept.pop(at) if at in kept else PastVault(vault, at)
    while len(kept) > MOST_MOMENTS:
        kept.pop(next(iter(kept))).then.database.close()
    past.follow()
    return PastStore(past, models, deadline)


class PastStore(FannedStore):
    """Nothing is written to it."""

    def __init__(self, past: PastVault, models: Models | None, deadline: Deadline) -> None:
        vault, then = past.vault, past.then
        members = [Member(HOME, lambda: then)]
        if not past.whole:
            unchanged = Member(HOME, lambda: vault, "", past.last, past.changed)
            members.insert(0, unchanged)
        super().__init__(members, vault, copies=False)
        self.memories = cast(Memories, PastMemories(self))
        self.vectors = cast(VectorIndex, PastVectors(self, past, models, deadline))
        self.vocabulary = cast(Vocabulary, PastVocabulary(self, past))
        self.folders = cast(Folders, PastFolders(self, past))
        self.feedback = then.feedback


class PastMemories(FannedMemories):
    def replaced(self, ids: Sequence[str]) -> list[Memory]:
        """By links of then: what has changed since may have had another one."""
        every = self._fan_out.ask(lambda one: one.store.memories.replaced(ids))
        found = [each for one, some in every for each in some if each.id not in one.changed]
        return sorted(found, key=ORDERS["newest"])

    def values(self, column: UsedColumn) -> list[str]:
        every = super().values(column)
        return [one for one in every if self.browse(replace(Filter(), **{column: one}), 1)]

    def projects(self, names: Sequence[str]) -> list[str]:
        return [name for name in super().projects(names) if self.browse(Filter(project=name), 1)]


class PastVocabulary(FannedVocabulary):
    """What the vault counts, less what has changed since, and with what that was."""

    def __init__(self, store: PastStore, past: PastVault) -> None:
        super().__init__(store)
        self._past = past

    def documents(self) -> int:
        return super().documents() - self._past.changed_live

    def _together(self, count: Callable[[Member], dict[str, int]]) -> dict[str, int]:
        less: Mapping[str, int] = {} if self._past.whole else self._past.vocabulary
        counts = super()._together(count)
        return {word: left for word, n in counts.items() if (left := n - less.get(word, 0)) > 0}


class PastVectors(FannedVectors):
    """Wordings that are no longer there are embedded when vectors are first asked for."""

    def __init__(
        self, store: PastStore, past: PastVault, models: Models | None, deadline: Deadline
    ) -> None:
        super().__init__(store)
        self._past = past
        self._models = models
        self._deadline = deadline
        self._ready: set[str] = set()

    def nearest(
        self, identity: str, vector: Vector, limit: int, filter: Filter, dimensions: int = 0
    ) -> list[VectorMatch]:
        self._embed(identity)
        return super().nearest(identity, vector, limit, filter, dimensions)

    def similarities(
        self, identity: str, vector: Vector, ids: Sequence[str], dimensions: int = 0
    ) -> dict[str, float]:
        self._embed(identity)
        return super().similarities(identity, vector, ids, dimensions)

    def nearest_passages(
        self, identity: str, vector: Vector, ids: Sequence[str]
    ) -> dict[str, NearPassage]:
        self._embed(identity)
        return super().nearest_passages(identity, vector, ids)

    def stored(self, identity: str, ids: Sequence[str]) -> dict[str, list[StoredVector]]:
        self._embed(identity)
        return super().stored(identity, ids)

    def coverage(self, identity: str) -> Coverage:
        self._embed(identity)
        every = self._fan_out.ask(
            lambda one: one.store.vectors.coverage(identity, one.unchanged_since)
        )
        return Coverage(*map(sum, zip(*(one for _, one in every), strict=True)))

    def _embed(self, identity: str) -> None:
        """Give the memories that have changed the vectors of their wordings then."""
        if identity in self._ready:
            return
        self._ready.add(identity)
        self._past.take_vectors(identity)
        with suppress(ProviderError):  # `coverage` tells
            embedder = None if self._models is None else self._models.embedder()
            if embedder is not None and embedder.identity == identity:
                batches = Batches(self._past.then.vectors, embedder, stop=self._late)
                while not self._late() and batches.done < MOST_EMBEDDED and batches.embed():
                    pass

    def _late(self) -> bool:
        return self._deadline.over


class PastFolders(FannedFolders):
    """Where chunks stand in their files, as far as these were not read again since."""

    def __init__(self, store: PastStore, past: PastVault) -> None:
        super().__init__(store)
        self._past = past

    def places(self, ids: Sequence[str]) -> dict[str, ChunkPlace]:
        return self._past.vault.folders.places(ids, unread_since=self._past.at)
