"""What can be read of a vault that is damaged, as a store to search in.

It is slower than the vault's own: each memory is read by itself, so that one on a damaged page
costs no other. A part that cannot answer at all answers with nothing. `problems` says what was met.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, cast

from recollect.errors import Damaged
from recollect.store.base import (
    Coverage,
    Dates,
    Facets,
    FeedbackLog,
    FeedbackState,
    KeywordIndex,
    KeywordMatches,
    KeywordQuery,
    KeywordStatistics,
    Match,
    Memories,
    TopicIndex,
    Usage,
    VectorIndex,
    VectorMatch,
    Vocabulary,
    Writing,
)
from recollect.store.folders import Folders
from recollect.store.history import Change, History
from recollect.store.prepared import PreparedMemories
from recollect.store.sqlite.filters import where
from recollect.store.sqlite.memories import READ_UNTAGGED, from_row
from recollect.store.sqlite.store import SqliteStore
from recollect.store.sqlite.vectors import SqliteVectors
from recollect.types import Filter, Memory, Place, best_first

LIMITLESS = 1 << 30
NOTHING = Facets({}, {}, {}, {}, {})
ORDERED = "SELECT key FROM memories INDEXED BY {index} WHERE forgotten_at IS NULL ORDER BY {order}"
BY_TIER = "CASE tier WHEN 'core' THEN 0 WHEN 'capture' THEN 1 ELSE 2 END, updated_at DESC, id"


class ReadableStore:
    """Satisfies `Store`."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self._keys: dict[str, int] = {}
        self.problems: list[str] = []
        self._vectors = SqliteVectors(store.database, store.topics, brief=True, damaged=True)
        self.vectors = cast(VectorIndex, _Part(self, self._vectors, {
            "nearest": [], "similarities": {}, "between": {}, "stored": {},
            "coverage": Coverage(0, 0),
        }, nearest=self._nearest))  # fmt: skip
        self.memories = cast(Memories, _Part(self, store.memories, {
            "stamps": {}, "facets": NOTHING, "dates": Dates({}, {}), "expiring": [],
            "kinds": [], "projects": [], "replaced": [],
        }, get=self._get, newest=self._newest, made=self._made, browse=self._browse))  # fmt: skip
        self.keyword = cast(KeywordIndex, _Part(self, store.keyword, {
            "holding": {}, "terms": [], "statistics": KeywordStatistics(0, 0, ()),
        }, match=self._match))  # fmt: skip
        self.topics = cast(TopicIndex, _Part(self, store.topics, {"carrying": []}))
        self.vocabulary = cast(Vocabulary, _Part(self, store.vocabulary, {
            "documents": 1, "frequencies": {}, "beginning": {},
        }))  # fmt: skip
        self.feedback = cast(FeedbackLog, _Part(self, store.feedback, {
            "counts": (0, 0), "state": FeedbackState(False, ""), "on": [], "near": {},
        }))  # fmt: skip
        self.folders = cast(Folders, _Part(self, store.folders, {"places": {}}))
        self.usage = cast(Usage, _Part(self, store.usage, {"of": {}}))

    @property
    def history(self) -> History:
        return self._store.history

    def writing(
        self, change: Change, *, bulk: bool = False, prepared: PreparedMemories | None = None
    ) -> AbstractContextManager[Writing]:
        return self._store.writing(change, bulk=bulk, prepared=prepared)

    def close(self) -> None:
        """Whoever opened the vault closes it."""

    @contextmanager
    def trying(self) -> Iterator[None]:
        """Note damage, and go on."""
        try:
            with self._store.database.translated():
                yield
        except Damaged as error:
            if str(error) not in self.problems:
                self.problems.append(str(error))

    def _match(self, query: KeywordQuery) -> KeywordMatches:
        found: list[tuple[int, float]] = []
        if query.expression:
            with self.trying():
                found = self._store.keyword.scores(query)
        passing = self._passing(query.filter)
        matches = (Match(id, score) for key, score in found if (id := passing(key)) is not None)
        return KeywordMatches(best_first(matches)[: query.limit])

    def _nearest(
        self, identity: str, vector: Any, limit: int, filter: Filter, dimensions: int = 0
    ) -> list[VectorMatch]:
        passing = self._passing(filter)
        every = self._vectors.nearest(identity, vector, LIMITLESS, Filter(), dimensions)
        return [near for near in every if passing(near.key) is not None][:limit]

    def _get(self, ids: Sequence[str]) -> dict[str, Memory]:
        found = {}
        for id in ids:
            row = self._one("id", id)
            if row is None and id in self._keys:  # the index of ids may be what is damaged
                row = self._one("key", self._keys[id])
            if row is not None:
                found[id] = row
        return found

    def _one(self, column: str, value: str | int) -> Memory | None:
        with self.trying():
            found = self._store.memories.get([value]) if isinstance(value, str) else {}
            if value in found:
                return found[value]
        with self.trying():  # perhaps only its tags cannot be read
            sql = f"{READ_UNTAGGED} WHERE m.{column} = ? AND m.forgotten_at IS NULL"
            for row in self._store.database.connection().execute(sql, (value,)):
                return from_row(row).memory
        return None

    def _newest(self, filter: Filter, limit: int, after: Place | None = None) -> list[Memory]:
        if after is not None:
            return self._store.memories.newest(filter, limit, after)
        return self._listed("memories_recent", "updated_at DESC, id", filter, limit)

    def _made(self, filter: Filter, limit: int, *, oldest: bool = False) -> list[Memory]:
        every = self._newest(filter, LIMITLESS)
        every.sort(key=lambda memory: memory.id)
        return sorted(every, key=lambda memory: memory.created_at, reverse=not oldest)[:limit]

    def _browse(self, filter: Filter, limit: int, after: Place | None = None) -> list[Memory]:
        if after is not None:
            return self._store.memories.browse(filter, limit, after)
        return self._listed("memories_browse", BY_TIER, filter, limit)

    def _listed(self, index: str, order: str, filter: Filter, limit: int) -> list[Memory]:
        passing = self._passing(filter)
        found: list[Memory] = []
        with self.trying():
            for (key,) in self._store.database.rows(ORDERED.format(index=index, order=order)):
                id = passing(int(str(key)))
                found += [] if id is None else self._get([id]).values()
                if len(found) >= limit:
                    break
        return found

    def _passing(self, filter: Filter) -> Callable[[int], str | None]:
        """A function that returns the id of the memory with this key, and None where it does not
        pass the filter or cannot be read."""
        condition, values = where(filter, self._store.topics)
        sql = f"SELECT m.id FROM memories m WHERE m.key = ? AND {condition}"

        def id_of(key: int) -> str | None:
            with self.trying():
                for (id,) in self._store.database.connection().execute(sql, (key, *values)):
                    self._keys[str(id)] = key
                    return str(id)
            return None

        return id_of


class _Part:
    """A part of the store whose methods answer with a default, or another way, where the vault is
    damaged."""

    def __init__(
        self,
        store: ReadableStore,
        part: object,
        defaults: Mapping[str, object],
        **ways: Callable[..., object],
    ) -> None:
        self._store, self._part, self._defaults, self._ways = store, part, defaults, ways

    def __getattr__(self, name: str) -> Any:
        way = self._ways.get(name) or getattr(self._part, name)
        if name not in self._defaults:
            return way

        def answer(*args: Any, **named: Any) -> object:
            with self._store.trying():
                return way(*args, **named)
            return self._defaults[name]

        return answer
