"""The protocols of a store, each as narrow as its one caller, and the values they return."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from msgspec import Struct

from recollect.deadline import NO_DEADLINE, Deadline
from recollect.index import KeywordStatistics
from recollect.types import Filter, Memory, Place, Span

if TYPE_CHECKING:  # numpy takes longer to import than a keyword search takes
    import numpy as np
    from numpy.typing import NDArray

    from recollect.store.feedback import FeedbackEvent, StoredFeedback, StoredUsage
    from recollect.store.folders import StoredFiles, StoredFolders
    from recollect.store.history import Change, StoredHistory
    from recollect.store.memory_rows import PreparedMemories

    Vector = NDArray[np.float32]

KeywordIndexName = Literal["stemmed", "plain", "subwords", "details"]
MomentField = Literal["created_at", "updated_at"]
UsedColumn = Literal["kind", "project"]
WriteOutcome = Literal["added", "updated", "unchanged"]

# With this many memories, words are in segments. Measured with 1,000 to 10,000 passages: here
# `blend` takes as long as with FTS5 alone, `echovault` half as long; with fewer, FTS5 is quicker.
SEGMENTS_FROM = 2_000

# The columns of each keyword index, in order. `subwords` holds the results of `query.subwords`
# for a memory's id, title, text, context, tags, why, impact, source and details. `details` is a
# separate index: another column of `stemmed` would change its BM25.
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "stemmed": (
        "id", "title", "text", "context", "tags", "why", "impact", "kind", "project", "source",
    ),
    "plain": ("title", "text", "tags"),
    "subwords": ("title", "text", "tags", "other"),
    "details": ("details",),
}  # fmt: skip
ANYWHERE: tuple[KeywordIndexName, ...] = ("stemmed", "details")  # together they hold every field


class Match(NamedTuple):
    """A memory's id and its score in an index; larger is better."""

    memory_id: str
    score: float


class VectorMatch(NamedTuple):
    """A memory near a vector, with its cosine. A memory embedded in passages counts by its nearest
    one: `passage` is its number from 1 (0: the whole memory), `span` its characters."""

    memory_id: str
    score: float
    passage: int
    span: Span
    key: int


# Only the first passages of a long text, about 100 kB, can be compared word by word.
MOST_TOKENWISE = 64


class StoredVector(NamedTuple):
    """A vector of a memory, the characters of the passage that it embeds, and the packed vectors of
    the passage's tokens (empty for a model without token vectors)."""

    span: Span
    vector: Vector
    tokens: bytes = b""


class NearPassage(NamedTuple):
    """A passage of a memory: its characters (empty: the whole memory), and its packed token
    vectors."""

    span: Span
    tokens: bytes


class KeywordMatches(NamedTuple):
    """The matches of a keyword index, best first. `note` says so if BM25 did not rank them."""

    matches: list[Match]
    note: str | None = None


class KeywordQuery(Struct, frozen=True):
    """A query to a keyword index: the best `limit` memories that match an FTS5 expression and pass
    the filter, by BM25 with a weight for each column (0 if not named). BM25 uses the statistics of
    the index, or `common`: those of several indexes. Matching raises DeadlineOver at `deadline`."""

    index: KeywordIndexName
    expression: str
    weights: Mapping[str, float]
    limit: int
    filter: Filter
    common: KeywordStatistics | None = None
    deadline: Deadline = NO_DEADLINE

    @property
    def column_weights(self) -> list[float]:
        """The weight of each column of the index, in its order."""
        return [float(self.weights.get(name, 0.0)) for name in COLUMNS[self.index]]


class WaitingMemory(NamedTuple):
    """A memory without a vector of the active model, and the text to embed."""

    key: int
    text: str


class EmbeddedText(NamedTuple):
    """A memory with a vector, and the text that was embedded. `has_tokens`: the token vectors of
    each passage are there and intact; of a long text, those of the first `MOST_TOKENWISE`."""

    key: int
    text: str
    has_tokens: bool


class Coverage(NamedTuple):
    """The number of live memories with a vector of a model, and the number of live memories."""

    embedded: int
    memories: int


class Stored(NamedTuple):
    """A memory in the store, live or forgotten, with the store's own key for it."""

    key: int
    memory: Memory
    forgotten_at: datetime | None = None

    @property
    def forgotten(self) -> bool:
        return self.forgotten_at is not None


# The names are values of the filter `since`.
AGES = {f"{days}d": timedelta(days=days) for days in (1, 7, 30, 365)}


class Facets(NamedTuple):
    """The number of memories with each value, most frequent first."""

    project: dict[str, int]
    kind: dict[str, int]
    source: dict[str, int]
    tags: dict[str, int]
    age: dict[str, int]


class Dates(NamedTuple):
    """The number of memories for each day, earliest day first."""

    made: dict[date, int]
    expiring: dict[date, int]


class MemoryStamp(NamedTuple):
    """Equal content has an equal hash; `updated_at` tells which memory is newer."""

    content_hash: bytes
    updated_at: int


class KeywordIndex(Protocol):
    def match(self, query: KeywordQuery) -> KeywordMatches:
        """Return the best matches among live memories, best first, ties by id."""

    def statistics(self, index: KeywordIndexName, expression: str) -> KeywordStatistics:
        """Return the numbers that BM25 needs for the expression."""

    def holding(self, index: KeywordIndexName, words: Sequence[str]) -> dict[str, int]:
        """Return the number of rows that hold each of these words."""

    def tokens(self, text: str) -> list[str]:
        """Return the text's tokens in order, as the stemmed index stores them."""

    def terms(self, index: KeywordIndexName, start: str) -> list[str]:
        """Return the stored tokens of an index that begin with `start`, sorted."""


class VectorIndex(Protocol):
    def nearest(
        self, identity: str, vector: Vector, limit: int, filter: Filter, dimensions: int = 0
    ) -> list[VectorMatch]:
        """Return the `limit` live memories nearest by cosine among those that pass the filter."""

    def similarities(
        self, identity: str, vector: Vector, ids: Sequence[str], dimensions: int = 0
    ) -> dict[str, float]:
        """Return the cosine of each of these memories that has a vector of the model."""

    def nearest_passages(
        self, identity: str, vector: Vector, ids: Sequence[str]
    ) -> dict[str, NearPassage]:
        """Return the nearest passage of each of these memories with token vectors."""

    def between(self, identity: str, ids: Sequence[str]) -> dict[tuple[str, str], float]:
        """Return the cosines of pairs of these memories, in order, that have one vector each."""

    def read_vectors(self, identity: str, ids: Sequence[str]) -> dict[str, list[StoredVector]]:
        """Return the vectors of each of these memories that has any, in this order: one for the
        memory, or one for each passage."""

    def put(
        self,
        identity: str,
        dimensions: int,
        vectors: Iterable[tuple[int, Vector]],
        texts: Mapping[int, str] | None = None,
        spans: Sequence[Span] | None = None,
        *,
        tokens: Sequence[bytes] = (),
    ) -> None:
        """Store vectors by memory key; refuse a dimension other than the vault's.

        A key that comes several times is a memory in passages; `spans` gives the characters of
        each. `tokens` are the packed token vectors of each, if the model has any. `texts` are the
        texts that were embedded: if a memory's text has changed since, its vector is dropped and
        the memory keeps waiting.
        """

    def waiting(
        self,
        identity: str,
        limit: int,
        *,
        size: int | None = None,
        among: Sequence[str] | None = None,
        without: Collection[int] = (),
    ) -> list[WaitingMemory]:
        """Return live memories without a vector of this model, smallest first, then oldest: core
        memories, or else some thousands of the newest. After the first one, stop when they exceed
        `size` bytes together. `among` limits them to these ids, `without` leaves out these keys."""

    def lease(self) -> AbstractContextManager[bool]:
        """Enter the block with True if no other thread or process is embedding; `waiting` then
        gives its memories to this one alone. The lease ends with the block or the process."""

    def coverage(self, identity: str) -> Coverage:
        """Return how many live memories have a vector of this model."""

    def model(self) -> str | None:
        """Return the identity of the model that serves searches; None before the first vector."""

    def begin(self, identity: str, dimensions: int) -> None:
        """Allow vectors of this model next to those of the vault's model, whatever their dimension.
        Without a vault's model, it becomes the vault's model."""

    def adopt(self, identity: str) -> int:
        """Make this the vault's model, remove all others' vectors, and return their number."""

    def list_embedded(self, identity: str, after: int, limit: int) -> list[EmbeddedText]:
        """Return up to `limit` live memories with a vector of this model, by key, above `after`."""


class TopicIndex(Protocol):
    def carrying(self, words: Sequence[str], limit: int, filter: Filter) -> list[Match]:
        """Return memories with one of these tags: most of them first, then newest, then id."""


class Vocabulary(Protocol):
    def documents(self) -> int:
        """Return the number of live memories."""

    def frequencies(self, tokens: Iterable[str]) -> dict[str, int]:
        """Return how many live memories contain each token; unknown tokens are left out."""

    def beginning(self, start: str, shortest: int, longest: int) -> dict[str, int]:
        """Return how many live memories contain each token of these lengths with this start."""


class Memories(Protocol):
    def get(self, ids: Sequence[str]) -> dict[str, Memory]:
        """Return the live memories among these ids."""

    def stamps(self, ids: Sequence[str]) -> dict[str, MemoryStamp]:
        """Return the stamps of the live memories among these ids."""

    def find(self, ids: Sequence[str]) -> dict[str, Stored]:
        """Return the memories with these ids, forgotten ones included."""

    def ids(self, *, forgotten: bool = False) -> list[str]:
        """Return the ids of all live memories at one moment, in browsing order; with `forgotten`,
        followed by those of the forgotten ones."""

    def browse(self, filter: Filter, limit: int, after: Place | None = None) -> list[Memory]:
        """Return core memories, then captures, then files, newest first, only after `after`."""

    def newest(self, filter: Filter, limit: int, after: Place | None = None) -> list[Memory]:
        """Return the memories changed last, newest first; only those after `after`."""

    def made(self, filter: Filter, limit: int, *, oldest: bool = False) -> list[Memory]:
        """Return memories by creation time, newest first, or oldest first."""

    def list_replaced(self, ids: Sequence[str]) -> list[Memory]:
        """Return the live memories that a link marks as replaced by one of these; newest first."""

    def values(self, column: UsedColumn) -> list[str]:
        """Return the kinds or projects of live memories, the first thousand by name."""

    def projects(self, names: Sequence[str]) -> list[str]:
        """Return those of these names that are projects of live memories, in this order."""

    def facets(self, filter: Filter, now: datetime) -> Facets:
        """Count the live memories that pass the filter by project, kind, source and tag: every
        value but the empty one, most frequent first, equal counts by name. Tags that differ only in
        case count as one. Count also those changed within each of AGES before `now`."""

    def expiring(
        self, filter: Filter, limit: int, *, until: datetime, since: datetime | None = None
    ) -> list[Memory]:
        """Return the memories that expire between `since` and `until`, soonest first; without
        `since`, all that expire until then, latest first. Equal times are ordered by id."""

    def dates(self, filter: Filter) -> Dates:
        """Count the memories that pass the filter by day (UTC) of creation and of expiry."""


class Writing(Protocol):
    """One write transaction: durable when its context ends, undone when it raises."""

    @property
    def files(self) -> StoredFiles: ...

    def find(self, ids: Iterable[str]) -> dict[str, Stored]:
        """Return the memories with these ids, forgotten ones included."""

    def add(self, memory: Memory) -> Stored:
        """Write a memory whose id is not in the store yet."""

    def replace(self, before: Stored, after: Memory) -> Stored:
        """Change a memory in place; a forgotten one comes back."""

    def forget(self, before: Stored, at: datetime) -> None:
        """Hide a memory from every answer; `restore` brings it back."""

    def restore(self, before: Stored) -> None:
        """Bring a forgotten memory back."""

    def purge(self, before: Stored) -> None:
        """Remove a memory for good."""

    def index_added(self, prepared: PreparedMemories | None = None) -> None:
        """Index what `writing_many` has added since the last call. `prepared` holds the index rows
        of these memories, in the order in which they were added."""

    def complete_feedback(self, events: Iterable[tuple[FeedbackEvent, int]]) -> int:
        """Record, in order, events stored less often than their numbers; return how many."""


class Store(Protocol):
    """One vault."""

    @property
    def memories(self) -> Memories: ...

    @property
    def keyword(self) -> KeywordIndex: ...

    @property
    def vectors(self) -> VectorIndex: ...

    @property
    def topics(self) -> TopicIndex: ...

    @property
    def vocabulary(self) -> Vocabulary: ...

    @property
    def feedback(self) -> StoredFeedback: ...

    @property
    def folders(self) -> StoredFolders: ...

    @property
    def history(self) -> StoredHistory: ...

    @property
    def usage(self) -> StoredUsage: ...

    def writing(self, change: Change) -> AbstractContextManager[Writing]:
        """Begin a write transaction. It waits for other writers and is durable when the block ends.
        The memories' previous versions are kept, with the reason given in `change`."""

    def writing_many(
        self, change: Change, prepared: PreparedMemories | None = None
    ) -> AbstractContextManager[Writing]:
        """Begin a write transaction that may add many memories, and need not find them before it
        ends. `prepared` holds the index rows of the memories it will probably add; some may be
        written before the transaction begins."""

    def close(self) -> None:
        """Close the vault."""
