"""The protocols of a store, each as narrow as its one caller, and the values they return."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from msgspec import Struct

from recollect.deadline import NO_DEADLINE, Deadline
from recollect.index.base import KeywordStatistics
from recollect.types import Filter, Memory, Place, Span

if TYPE_CHECKING:  # numpy takes longer to import than a keyword search takes
    import numpy as np
    from numpy.typing import NDArray

    from recollect.store.feedback_log import StoredFeedback
    from recollect.store.folders import StoredFiles, StoredFolders
    from recollect.store.history import Change, StoredHistory
    from recollect.store.prepared import PreparedMemories
    from recollect.store.use_counts import StoredUsage

    Vector = NDArray[np.float32]

KeywordIndexName = Literal["stemmed", "plain", "subwords", "details"]
MomentField = Literal["created_at", "updated_at"]
UsedColumn = Literal["kind", "project"]
WriteOutcome = Literal["added", "updated", "unchanged"]

# From this many memories on, words are in segments. Measured with 1,000 to 10,000 passages: here
# `blend` takes as long as with FTS5 alone, `echovault` half as long; below it FTS5 is quicker.
SEGMENTS_FROM = 2_000

# The columns of each keyword index, in the order of the index. `subwords` holds no words but
# what `query.subwords` finds in a memory's id, title, text, context, tags, why, impact, source and
# details. `details` is an index of its own: another column of `stemmed` would change its BM25.
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


# Of a long text so many passages, about 100 kB, can be compared word by word: the first ones.
MOST_TOKENWISE = 64


class StoredVector(NamedTuple):
    """A vector of a memory, the characters of the passage that it is of, and the packed vectors of
    the passage's tokens; none of a model that gives none."""

    span: Span
    vector: Vector
    tokens: bytes = b""


class NearPassage(NamedTuple):
    """A passage of a memory: its characters, none where it is the whole memory, and the packed
    vectors of its tokens."""

    span: Span
    tokens: bytes


class KeywordMatches(NamedTuple):
    """The matches of a keyword index, best first; `note` tells when they are not ranked by BM25."""

    matches: list[Match]
    note: str | None = None


class KeywordQuery(Struct, frozen=True):
    """What a keyword index is asked: the best `limit` memories that match an FTS5 expression and
    pass the filter, by BM25 with a weight for each column (one that is not named has none). BM25
    counts in the index, or as `common` says: what several indexes count together. Matching raises
    DeadlineOver once `deadline` is over."""

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


class Waiting(NamedTuple):
    """A memory without a vector of the active model, and the text to embed."""

    key: int
    text: str


class EmbeddedText(NamedTuple):
    """A memory with a vector, the text it was made of, and whether the tokens of each passage are
    there and as they were written; of a long text those of the first `MOST_TOKENWISE`."""

    key: int
    text: str
    has_tokens: bool


class Coverage(NamedTuple):
    """How many of the live memories have a vector of a model."""

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


class FeedbackEvent(NamedTuple):
    """Whether a memory was the right result for a query, and when somebody said so."""

    query: str
    memory_id: str
    accepted: bool
    at: datetime


class Verdict(NamedTuple):
    """What was said last of a memory for a query. `words`: the query normalised; two queries with
    the same words are one."""

    words: str
    query: str
    memory_id: str
    accepted: bool


# A decided remark is known so long: until then its transcript may be read again.
CAPTURED_KEPT = timedelta(days=180)
UseKind = Literal["returned", "opened", "accepted", "taken back"]


class ReviewDecision(NamedTuple):
    """What was decided of a review item, and when; `until`: it comes back then."""

    decision: str
    at: datetime
    until: datetime | None


class CapturedRemark(NamedTuple):
    """What a user said that may be worth keeping: when and where, in which form (see
    `capture.forms`), and the fields of the memory that it would be. `mark`: the same for the same
    sentence in the same session."""

    mark: bytes
    at: datetime
    client: str
    session: str
    user: str
    form: str
    place: str
    fields: Mapping[str, str]


class FeedbackState(NamedTuple):
    """Whether there is any feedback, and what was learned from it; '' for nothing."""

    given: bool
    lesson: str


# The names are those that the filter `since` takes.
AGES = {f"{days}d": timedelta(days=days) for days in (1, 7, 30, 365)}


class Facets(NamedTuple):
    """How many memories have each value, most first."""

    project: dict[str, int]
    kind: dict[str, int]
    source: dict[str, int]
    tags: dict[str, int]
    age: dict[str, int]


class Dates(NamedTuple):
    """How many memories there are for each day, earliest day first."""

    made: dict[date, int]
    expiring: dict[date, int]


class MemoryStamp(NamedTuple):
    """Equal content has an equal hash; `updated_at` tells which memory is newer."""

    content_hash: bytes
    updated_at: int


class KeywordIndex(Protocol):
    def match(self, query: KeywordQuery) -> KeywordMatches:
        """The best matches among live memories, best first, ties by id."""

    def statistics(self, index: KeywordIndexName, expression: str) -> KeywordStatistics:
        """What BM25 counts in this index for the expression."""

    def holding(self, index: KeywordIndexName, words: Sequence[str]) -> dict[str, int]:
        """How many rows of the index hold each of these words."""

    def tokens(self, text: str) -> list[str]:
        """The text's tokens in order, as the stemmed index stores them."""

    def terms(self, index: KeywordIndexName, start: str) -> list[str]:
        """The tokens of an index that begin so, as it stores them, by alphabet."""


class VectorIndex(Protocol):
    def nearest(
        self, identity: str, vector: Vector, limit: int, filter: Filter, dimensions: int = 0
    ) -> list[VectorMatch]:
        """The `limit` live memories nearest by cosine among those that pass the filter."""

    def similarities(
        self, identity: str, vector: Vector, ids: Sequence[str], dimensions: int = 0
    ) -> dict[str, float]:
        """The cosine of each of these memories that has a vector of the model."""

    def nearest_passages(
        self, identity: str, vector: Vector, ids: Sequence[str]
    ) -> dict[str, NearPassage]:
        """Of the passages of each of these memories that have tokens of the model, the nearest by
        cosine."""

    def between(self, identity: str, ids: Sequence[str]) -> dict[tuple[str, str], float]:
        """The cosine of each pair of these memories, in this order, that have one vector each."""

    def stored(self, identity: str, ids: Sequence[str]) -> dict[str, list[StoredVector]]:
        """The vectors of each of these memories that has any, in this order: one, or one for each
        passage."""

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

        A key that comes several times is a memory in passages; `spans` says where each one is.
        `tokens` are the packed tokens of each, of a model that gives any.
        `texts` are the texts that were embedded: where a memory's text has changed since then, its
        vector is dropped and the memory goes on waiting.
        """

    def waiting(
        self,
        identity: str,
        limit: int,
        *,
        size: int | None = None,
        among: Sequence[str] | None = None,
        without: Collection[int] = (),
    ) -> list[Waiting]:
        """Live memories without a vector of this model: core memories, else some thousand of the
        newest; of these the smallest first, the oldest of equal ones. Those behind the first only
        as long as all together have at most `size` bytes. Only those with the ids `among`, whatever
        they are; none with the keys `without`."""

    def lease(self) -> AbstractContextManager[bool]:
        """The right to embed what `waiting` gives in the block: True, and nobody else is given the
        same meanwhile. A file has it for one process at a time, and one thread of it. It ends with
        the block, or with the process."""

    def coverage(self, identity: str) -> Coverage:
        """How many live memories have a vector of this model."""

    def model(self) -> str | None:
        """The identity of the vault's model, whose vectors serve searches; None before the first
        vector."""

    def begin(self, identity: str, dimensions: int) -> None:
        """Let vectors of this model be stored beside those of the vault's model, whatever their
        dimension. In a vault without one, it is the vault's model."""

    def adopt(self, identity: str) -> int:
        """Make this the vault's model and remove every other model's vectors, in one transaction;
        return their number."""

    def embedded(self, identity: str, after: int, limit: int) -> list[EmbeddedText]:
        """Live memories with a vector of this model, by key, from the first above `after` on."""


class TopicIndex(Protocol):
    def carrying(self, words: Sequence[str], limit: int, filter: Filter) -> list[Match]:
        """Memories with a tag equal to one of the words: most words first, then newest, then id."""


class Vocabulary(Protocol):
    def documents(self) -> int:
        """How many live memories there are."""

    def frequencies(self, tokens: Iterable[str]) -> dict[str, int]:
        """The number of live memories that contain each token; unknown tokens are left out."""

    def beginning(self, start: str, shortest: int, longest: int) -> dict[str, int]:
        """The tokens of these lengths that begin so, and how many live memories contain each."""


class Memories(Protocol):
    def get(self, ids: Sequence[str]) -> dict[str, Memory]:
        """The live memories among these ids."""

    def stamps(self, ids: Sequence[str]) -> dict[str, MemoryStamp]:
        """The stamps of the live memories among these ids."""

    def find(self, ids: Sequence[str]) -> dict[str, Stored]:
        """The memories with these ids, forgotten ones included."""

    def ids(self, *, forgotten: bool = False) -> list[str]:
        """Every live memory's id at one moment, in browsing order; with `forgotten`, those of the
        forgotten ones follow."""

    def browse(self, filter: Filter, limit: int, after: Place | None = None) -> list[Memory]:
        """Core, then capture, then file, newest first in each; only what comes after `after`."""

    def newest(self, filter: Filter, limit: int, after: Place | None = None) -> list[Memory]:
        """The memories changed last, newest first. `after`: from behind a place on."""

    def made(self, filter: Filter, limit: int, *, oldest: bool = False) -> list[Memory]:
        """By the time they were made, newest first, or oldest first."""

    def replaced(self, ids: Sequence[str]) -> list[Memory]:
        """The live memories whose place one of these has taken, by a link; newest first."""

    def values(self, column: UsedColumn) -> list[str]:
        """The kinds or the projects that live memories have, the first thousand by name."""

    def projects(self, names: Sequence[str]) -> list[str]:
        """Those of these names that are projects of live memories, in this order."""

    def facets(self, filter: Filter, now: datetime) -> Facets:
        """Count the live memories that pass the filter by project, kind, source and tag: every
        value but the empty one, most first, equal counts by name. Tags that differ only in case
        count as one. Count also those changed within each of AGES before `now`."""

    def expiring(
        self, filter: Filter, limit: int, *, until: datetime, since: datetime | None = None
    ) -> list[Memory]:
        """The memories that expire between `since` and `until`, soonest first; without `since` all
        that expire until then, latest first. Equal times are ordered by id."""

    def dates(self, filter: Filter) -> Dates:
        """Count the memories that pass the filter by the day (UTC) they were made and the day they
        expire."""


class Writing(Protocol):
    """One write transaction: durable when its context ends, undone when it raises."""

    @property
    def files(self) -> StoredFiles: ...

    def find(self, ids: Iterable[str]) -> dict[str, Stored]:
        """The memories with these ids, forgotten ones included."""

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
        """Index what `writing_many` has added since the last call. `prepared`: what is ready made
        of these memories, in the order in which they were added."""

    def complete_feedback(self, events: Iterable[tuple[FeedbackEvent, int]]) -> int:
        """Record, in order, each event that is stored less often than its number says; returns how
        many were added."""


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
        """Begin a write transaction. It waits for other writers and is durable when the block
        ends. What memories were before it is kept, and why they were changed: `change`."""

    def writing_many(
        self, change: Change, prepared: PreparedMemories | None = None
    ) -> AbstractContextManager[Writing]:
        """Begin a write transaction that may add many memories; no search within it needs to find
        them. `prepared`: what is ready made of those that it will probably add; some of it may be
        written before the transaction begins."""

    def close(self) -> None:
        """Close the vault."""
