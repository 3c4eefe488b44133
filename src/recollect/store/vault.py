"""The store that the engine needs, beyond searching: every store of a home implements it."""

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
    from recollect.store.upkeep import AgingCaptures, CapturedRemarks, Reviews, Trash

Result = TypeVar("Result")
SET_NOTE = """
INSERT INTO meta VALUES ({own}?, ?)
    ON CONFLICT ({key}key) DO UPDATE SET value = excluded.value"""


class Finding(NamedTuple):
    """The result of one check of the doctor: the problem, or None. `note`: what a repair lost."""

    check: str
    problem: str | None
    note: str = ""


class SqlDatabase(Protocol):
    """The vault's database, for the SQL that both stores share. Its statements have `?` for a
    value, and names in braces for what differs: `{vault}`, or `{m.vault}` for a table named `m`, is
    the condition that a row belongs to the vault (always true in a file, which holds one vault)."""

    @property
    def frozen(self) -> bool:
        """True if the vault is read-only."""

    def sql(self, text: str) -> str:
        """Return a shared statement in this database's dialect."""

    def among(self, values: Iterable[str | int]) -> Any:
        """Return the value of `{among}`."""

    def rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return all rows of a statement."""

    def reading(self) -> AbstractContextManager[Any]:
        """Enter a block with a connection that reads one snapshot."""

    def translate_errors(self) -> AbstractContextManager[None]:
        """Raise the database's errors as StoreError."""

    def writing(self) -> AbstractContextManager[Any]:
        """Enter a block with a connection in a transaction that is durable at its end."""


class VaultDatabase(SqlDatabase, Protocol):
    """The vault's database, for the engine. `locked`: it is encrypted and open. `at_rest`: the idle
    lock has closed it; the next call opens it."""

    @property
    def locked(self) -> bool: ...

    @property
    def at_rest(self) -> bool: ...

    @property
    def place(self) -> str:
        """The location, for people: a path, or a database without user and password."""

    def probes(self) -> dict[str, Callable[[], None]]:
        """Return what the vault depends on, each with a call that raises its error."""

    def retrying(self, action: Callable[[], Result]) -> Result:
        """Return the result of `action`. If the connection was lost and nothing was written, call
        it again, for as long as the settings say."""

    def note_damage(self, sentence: str | None) -> None:
        """Note that the vault is damaged, or with None that it is not."""


class VaultMemories(Memories, Protocol):
    def find_by_keys(self, keys: Collection[int]) -> dict[int, Stored]:
        """Return the memories of these keys, forgotten ones included, purged ones left out."""

    def beginning(self, start: str, limit: int, *, forgotten: bool = False) -> list[str]:
        """Return the sorted ids that begin with `start`, of live or of forgotten memories."""

    def ending(self, end: str, limit: int, *, forgotten: bool = False) -> list[str]:
        """Return the ids that end with `end`, like `beginning`. This reads every id."""

    def list_around(
        self, filter: Filter, at: datetime, limit: int, *, field: MomentField, later: bool
    ) -> list[Memory]:
        """Return the memories whose `field` is nearest to a moment, nearest first: later ones, or
        those until then. For `updated_at`, only those changed after their creation."""


class VaultTopics(TopicIndex, Protocol):
    def hash_word(self, word: str) -> bytes:
        """Return a hash of the lower-cased word that only this vault can make."""


class VaultVectors(VectorIndex, Protocol):
    def whole(self, identity: str) -> tuple[list[int], Vector]:
        """Return the keys of all memories with exactly one vector, and these vectors as float16."""


class VaultStore(Store, Protocol):
    """A vault that a home can have."""

    kept: local  # values that callers keep with the vault, by thread

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
    def aging(self) -> AgingCaptures: ...

    @property
    def trash(self) -> Trash: ...

    def searching(self) -> AbstractContextManager[Sequence[Degraded]]:
        """Enter a block around a search; it yields what the answer has to report as degraded. A
        database with round trips uses one transaction for all reads."""

    def moment(self) -> AbstractContextManager[object]:
        """Enter a block that reads one snapshot, with a value that changes with every write."""

    def changes(self) -> int:
        """Return a number that changes whenever another connection has written."""

    def counts(self) -> dict[str, Any]:
        """Return the numbers of memories, tags and so on."""

    def rebuild(self) -> None:
        """Rebuild everything derived from the memories, except vectors."""

    def examine(self, advance: Callable[[int], None] = lambda done: None) -> list[Finding]:
        """Check every memory and everything derived from them."""

    def glance(self) -> list[Finding]:
        """Run the checks that are quick however large the vault is."""

    def scrub(self) -> None:
        """Remove the remains of purged memories."""

    def resume_merging(self) -> None:
        """Do in the background the upkeep that other processes left; for a long-lived process."""
