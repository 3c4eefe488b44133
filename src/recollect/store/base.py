"""What the pipeline and the engine ask of a store. Each protocol is as narrow as its one caller."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from recollect.types import Filter, Memory, Place, Span

if TYPE_CHECKING:  # numpy takes longer to import than a keyword search takes
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

KeywordIndexName = Literal["stemmed", "plain", "subwords"]
Outcome = Literal["added", "updated", "unchanged"]

# The columns of each keyword index, in the order of the index. `subwords` holds no words but
# what `query.subwords` finds in a memory's id, title, text, context, tags, why, impact and source.
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "stemmed": (
        "id", "title", "text", "context", "tags", "why", "impact", "kind", "project", "source",
    ),
    "plain": ("title", "text", "tags"),
    "subwords": ("title", "text", "tags", "other"),
}  # fmt: skip


class Found(NamedTuple):
    """A memory's id and what the channel scored it with, larger is better."""

    memory_id: str
    score: float


class Near(NamedTuple):
    """A memory near a vector, by cosine. One that was embedded in passages counts by its nearest:
    which it is, counted from 1 (0: the whole memory), and the characters it spans."""

    memory_id: str
    score: float
    passage: int
    span: Span
    key: int


class Matched(NamedTuple):
    """What a keyword index found, best first; `note` says so when it could not rank by BM25."""

    found: list[Found]
    note: str | None = None


class Waiting(NamedTuple):
    """A memory without a vector of the active model, and the text to embed."""

    key: int
    text: str


class Coverage(NamedTuple):
    """How many of the live memories have a vector of a model."""

    embedded: int
    memories: int


class Stored(NamedTuple):
    """A memory in the store, live or forgotten, with the store's own key for it."""

    key: int
    memory: Memory
    forgotten: bool


# As `since` takes them.
AGES = {f"{days}d": timedelta(days=days) for days in (1, 7, 30, 365)}


class Facets(NamedTuple):
    """What memories have in common: value → how many, most first."""

    project: dict[str, int]
    kind: dict[str, int]
    source: dict[str, int]
    tags: dict[str, int]
    age: dict[str, int]


class Dates(NamedTuple):
    """Day → how many memories, earliest first."""

    made: dict[date, int]
    expiring: dict[date, int]


class Mark(NamedTuple):
    """What tells whether two memories say the same, and which is newer."""

    content_hash: bytes
    updated_at: int


class Folder(NamedTuple):
    """A folder whose files are memories; `followed`: its changes are to be followed. `files`: how
    many of them there are."""

    key: int
    path: str
    project: str
    redact: bool
    followed: bool
    files: int


class File(NamedTuple):
    """A file of a folder as it was when it was last read. `path` is below the folder; `changed_ns`
    and `read_ns` are nanoseconds since 1970; `reason`: why it is left out, empty where it is not;
    `gone`: it is not there any more, and its memories are forgotten."""

    key: int
    path: str
    size: int
    changed_ns: int
    inode: int
    read_ns: int
    digest: bytes
    reason: str
    gone: bool


class FileChunk(NamedTuple):
    """Which part of its file a memory is: its number, counted from 1, and its lines."""

    memory_id: str
    number: int
    heading: str
    first_line: int
    last_line: int


class ChunkPlace(NamedTuple):
    """A memory's part of a file, told to whoever presents it."""

    file: int
    chunk: FileChunk


class KeywordIndex(Protocol):
    def match(
        self,
        index: KeywordIndexName,
        expression: str,
        weights: Mapping[str, float],
        limit: int,
        filter: Filter,
    ) -> Matched:
        """The best `limit` live memories that pass the filter, by BM25, ties by id."""

    def tokens(self, text: str) -> list[str]:
        """The text's words as the stemmed index keeps them, in order."""

    def snippets(
        self, index: KeywordIndexName, expression: str, memories: Sequence[Memory]
    ) -> dict[str, str]:
        """FTS5's own snippet of each memory that the expression matches, by id. None for
        `subwords`: its tokens stand in no text as they are."""


class VectorIndex(Protocol):
    def nearest(
        self, identity: str, vector: Vector, limit: int, filter: Filter, dimensions: int = 0
    ) -> list[Near]:
        """The `limit` live memories nearest by cosine among those that pass the filter."""

    def similarities(
        self, identity: str, vector: Vector, ids: Sequence[str], dimensions: int = 0
    ) -> dict[str, float]:
        """The cosine of each of these memories that has a vector of the model."""

    def between(self, identity: str, ids: Sequence[str]) -> dict[tuple[str, str], float]:
        """The cosine of each two of these memories, in this order, that have one vector each."""

    def put(
        self,
        identity: str,
        dimensions: int,
        vectors: Iterable[tuple[int, Vector]],
        texts: Mapping[int, str] | None = None,
        spans: Sequence[Span] | None = None,
    ) -> None:
        """Keep vectors by memory key; refuse a dimension other than the vault's.

        A key that comes several times is a memory in passages; `spans` says where each stands.
        With `texts`, what each was made from: where a memory says something else by now, the
        vector is dropped and the memory goes on waiting.
        """

    def waiting(self, identity: str, limit: int) -> list[Waiting]:
        """Live memories without a vector of this model, oldest first."""

    def coverage(self, identity: str) -> Coverage:
        """How many live memories have a vector of this model."""

    def adopt(self, identity: str, dimensions: int) -> None:
        """Make this the vault's model, whatever its dimension was before."""

    def remove(self, identity: str) -> int:
        """Remove this model's vectors; returns how many went."""

    def keep_only(self, identity: str) -> int:
        """Remove every other model's vectors; returns how many went."""


class TopicIndex(Protocol):
    def carrying(self, words: Sequence[str], limit: int, filter: Filter) -> list[Found]:
        """Memories with a tag equal to one of the words: most words first, then newest, then id."""


class Vocabulary(Protocol):
    def documents(self) -> int:
        """How many live memories there are."""

    def frequencies(self, tokens: Iterable[str]) -> dict[str, int]:
        """In how many live memories each token stands; tokens never seen are left out."""

    def similar(self, words: Sequence[str]) -> dict[str, list[str]]:
        """For each word of five letters or more, the tokens one slip of the fingers away: a letter
        too many, too few or wrong, or two neighbours swapped. Those in most memories first, then
        by the alphabet, a handful; words that have none are left out."""


class Memories(Protocol):
    def get(self, ids: Sequence[str]) -> dict[str, Memory]:
        """The live memories among these ids."""

    def marks(self, ids: Sequence[str]) -> dict[str, Mark]:
        """The marks of the live memories among these ids: the same content, the same hash."""

    def ids(self) -> list[str]:
        """Every live memory's id at one moment, in browsing order."""

    def browse(self, filter: Filter, limit: int, after: Place | None = None) -> list[Memory]:
        """Core, then capture, then file; newest first in each; behind that place."""

    def newest(self, filter: Filter, limit: int) -> list[Memory]:
        """The memories changed last, newest first."""

    def facets(self, filter: Filter, most: int, now: datetime) -> Facets:
        """How many of the live memories that pass the filter have each project, kind, source and
        tag, the `most` common ones, then by name; empty values are left out. Tags that differ only
        in case count as one. And how many were changed within each of AGES before now."""

    def expiring(
        self, filter: Filter, limit: int, *, until: datetime, since: datetime | None = None
    ) -> list[Memory]:
        """The memories that expire in that time, soonest first; without `since` those that expired
        before `until`, latest first. Equal times by id."""

    def dates(self, filter: Filter) -> Dates:
        """On which days (UTC) the memories that pass the filter were made, and on which those that
        expire do."""


class Folders(Protocol):
    """Folders whose files are memories."""

    def all(self) -> list[Folder]:
        """Every folder, by path."""

    def add(self, path: str, project: str, *, redact: bool, followed: bool, at: datetime) -> Folder:
        """The folder at that path, made or changed."""

    def files(self, folder: Folder) -> dict[str, File]:
        """Its files by path, those that are gone included."""

    def places(self, ids: Sequence[str]) -> dict[str, ChunkPlace]:
        """Where in a file each of these memories stands that stands in one."""


class FileWriting(Protocol):
    """What a write transaction keeps of files."""

    def put(self, folder: Folder, file: File) -> int:
        """Keep what is known of a file; one without a key (0) is made. Its key."""

    def make_way(self, folder: Folder, path: str) -> None:
        """Know nothing any more of a file that was at that path."""

    def chunks(self, file: int) -> list[FileChunk]:
        """The memories of a file, in order, forgotten ones included."""

    def put_chunks(self, file: int, chunks: Mapping[int, FileChunk]) -> None:
        """Which part of the file each memory is, by the memory's key; those it had before and has
        no more are no part of it."""

    def memories(self, folder: Folder) -> list[str]:
        """The ids of all live memories of a folder's files."""

    def remove(self, folder: Folder) -> None:
        """Know nothing of the folder any more; its memories stay as they are."""


class FeedbackLog(Protocol):
    def add(self, query: str, memory_id: str, accepted: bool, at: datetime) -> None:
        """Remember that a result was accepted or dismissed."""

    def counts(self) -> tuple[int, int]:
        """How many were accepted, how many dismissed."""

    def about(self, ids: Sequence[str]) -> list[tuple[str, str, bool]]:
        """What was said of these memories: memory, query, whether accepted."""


class Writing(Protocol):
    """One write transaction: durable when its context ends, undone when it raises."""

    @property
    def files(self) -> FileWriting: ...

    def find(self, ids: Iterable[str]) -> dict[str, Stored]:
        """The memories with these ids, forgotten ones included."""

    def add(self, memory: Memory) -> Stored:
        """A memory whose id is not in the store."""

    def replace(self, before: Stored, after: Memory) -> Stored:
        """Change a memory in place; a forgotten one comes back."""

    def forget(self, before: Stored, at: datetime) -> None:
        """Take a memory out of every answer; `restore` brings it back."""

    def restore(self, before: Stored) -> None:
        """Bring a forgotten memory back."""

    def purge(self, before: Stored) -> None:
        """Remove a memory for good."""


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
    def feedback(self) -> FeedbackLog: ...

    @property
    def folders(self) -> Folders: ...

    def writing(self) -> AbstractContextManager[Writing]:
        """Begin a write; waits for other writers, and is durable when the block ends."""

    def close(self) -> None:
        """Let go of the file."""
