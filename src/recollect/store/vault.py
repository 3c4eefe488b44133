"""All that the engine asks of a vault beyond searching it: each store of a home does this."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from threading import local
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from recollect.store.base import Memories, MomentField, Store, Stored, TopicIndex, VectorIndex
from recollect.types import Degraded, Filter, Memory

if TYPE_CHECKING:
    from recollect.store.base import Vector
    from recollect.store.reviews import Aging, CapturedRemarks, Reviews
    from recollect.store.trash import Trash

Done = TypeVar("Done")


class Finding(NamedTuple):
    """One check of the doctor: what is wrong (None: nothing). `note`: what a repair cost."""

    check: str
    problem: str | None
    note: str = ""


class SqlDatabase(Protocol):
    """What holds the vault, as far as the statements that both stores share need it. These have `?`
    for a value, and names in braces for what differs: `{vault}`, or `{m.vault}` of a table named
    `m`, is the condition that a row belongs to the vault, since a file holds no others."""

    @property
    def frozen(self) -> bool:
        """Whether it can only be read."""

    def sql(self, text: str) -> str:
        """A shared statement as this database writes it."""

    def listed(self, values: Iterable[str | int]) -> Any:
        """The value of `{among}`."""

    def rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """All rows of a statement."""

    def reading(self) -> AbstractContextManager[Any]:
        """A connection; what is read in the block is of one moment."""

    def translated(self) -> AbstractContextManager[None]:
        """Raise the database's errors as StoreError."""

    def writing(self) -> AbstractContextManager[Any]:
        """A connection with a transaction that is durable at its end."""


class VaultDatabase(SqlDatabase, Protocol):
    """What holds the vault. `locked`: it is encrypted, and open. `at_rest`: the idle lock has
    closed it, and the next call opens it."""

    @property
    def locked(self) -> bool: ...

    @property
    def at_rest(self) -> bool: ...

    @property
    def place(self) -> str:
        """Where it is, for people: a path, or a database without user and password."""

    def probes(self) -> dict[str, Callable[[], None]]:
        """What it depends on, each with a call that raises what is wrong with it."""

    def retrying(self, action: Callable[[], Done]) -> Done:
        """What `action` returns. Where the connection to a database was lost in its middle, and
        nothing of it was written, it is called again, for as long as the settings say."""

    def note_damage(self, sentence: str | None) -> None:
        """Note that the vault is damaged, or with None that it is not."""


class VaultMemories(Memories, Protocol):
    def keyed(self, keys: Collection[int]) -> dict[int, Stored]:
        """The memories of these keys, forgotten ones too; those that were purged are left out."""

    def beginning(self, start: str, limit: int, *, forgotten: bool = False) -> list[str]:
        """The ids that begin so, by alphabet: of live memories, or of forgotten ones."""

    def ending(self, end: str, limit: int, *, forgotten: bool = False) -> list[str]:
        """Return the ids that end so, like `beginning`. Every id is looked at."""

    def around(
        self, filter: Filter, at: datetime, limit: int, *, field: MomentField, later: bool
    ) -> list[Memory]:
        """The memories whose `field` is next to a moment, nearest first: later ones, or those of
        the moment and before it. Of `updated_at` only those that have changed since they were
        made."""


class VaultTopics(TopicIndex, Protocol):
    def hashed(self, word: str) -> bytes:
        """A hash of the lower-cased word that only this vault can make."""


class VaultVectors(VectorIndex, Protocol):
    def whole(self, identity: str) -> tuple[list[int], Vector]:
        """The keys of all memories that have one vector, and these vectors, as float16."""


class VaultStore(Store, Protocol):
    """A vault that a home can have."""

    kept: local  # what others have in memory of the vault, by thread

    @property
    def database(self) -> VaultDatabase: ...

    @property
    def memories(self) -> VaultMemories: ...

    @property
    def topics(self) -> VaultTopics: ...

    @property
    def vectors(self) -> VaultVectors: ...

    @property
    def reviews(self) -> Reviews: ...

    @property
    def candidates(self) -> CapturedRemarks: ...

    @property
    def aging(self) -> Aging: ...

    @property
    def trash(self) -> Trash: ...

    def searching(self) -> AbstractContextManager[Sequence[Degraded]]:
        """A block around a search, and at its end what the answer has to tell. Where a transaction
        costs a round trip, it is one for all."""

    def moment(self) -> AbstractContextManager[object]:
        """A block in which everything is read as of one moment. It gives a value that is the same
        as long as nothing was written."""

    def changes(self) -> int:
        """A number that changes whenever another one has written."""

    def counts(self) -> dict[str, Any]:
        """How many memories, tags and so on there are."""

    def rebuild(self) -> None:
        """Make everything that is derived from the memories again, except vectors."""

    def examine(self, advance: Callable[[int], None] = lambda done: None) -> list[Finding]:
        """Check every memory and everything that is derived from them."""

    def glance(self) -> list[Finding]:
        """Check what can be checked at once, however large the vault is."""

    def scrub(self) -> None:
        """Remove what is left of purged memories."""

    def resume_merging(self) -> None:
        """For a process that stays: do, beside everything else, the upkeep that others left."""
