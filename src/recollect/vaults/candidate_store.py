"""What another server sent of its vault, as a store: its memories are searched here, and counted as
it counts them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from recollect.lifetime import Lifetime
from recollect.store.base import Coverage, KeywordIndexName, KeywordStatistics
from recollect.store.file_rows import StoredFolders
from recollect.store.folders import ChunkPlace
from recollect.store.sqlite.connection import Database
from recollect.store.sqlite.keyword import SqliteKeyword
from recollect.store.sqlite.scratch import UNKEPT, ScratchStore
from recollect.store.sqlite.store import FIRST_PARTS
from recollect.store.sqlite.topics import SqliteTopics
from recollect.store.sqlite.vectors import SqliteVectors
from recollect.store.sqlite.vocabulary import SqliteVocabulary
from recollect.vaults.candidates import Candidates


class CandidateStore(ScratchStore):
    """`model` is the one that the vectors are of."""

    def __init__(self, sent: Candidates, model: str) -> None:
        super().__init__()
        self.degraded = sent.degraded
        self.keyword = _Keyword(self, sent)
        self.vocabulary = _Vocabulary(self.database, sent)
        self.vectors = _Vectors(self.database, self.topics, sent, model)
        self.folders = _Folders(self.database, sent.places)
        with self.writing(UNKEPT) as write:
            keys = {memory.id: write.add(memory).key for memory in sent.memories}
        if sent.vectors:
            import numpy as np  # noqa: PLC0415  only with vectors

            rows = [(keys[id], np.frombuffer(row, "<f4")) for id, _, row in sent.vectors]
            spans = [span for _, span, _ in sent.vectors]
            self.vectors.put(model, len(rows[0][1]), rows, spans=spans)


class _Keyword(SqliteKeyword):
    def __init__(self, store: ScratchStore, sent: Candidates) -> None:
        super().__init__(store.database, store.topics, store.packed)
        self._sent = {(one.index, one.expression): one.counts for one in sent.statistics}
        self._size = {one.index: one.counts for one in sent.statistics}

    def statistics(
        self, index: KeywordIndexName, expression: str, unchanged_since: int | None = None
    ) -> KeywordStatistics:
        """Of an expression that the server was not asked with, what the memories here say."""
        if (index, expression) in self._sent:
            return self._sent[index, expression]
        found = super().statistics(index, expression)
        size = self._size.get(index, found)
        return found._replace(rows=size.rows, tokens=size.tokens)


class _Vocabulary(SqliteVocabulary):
    def __init__(self, database: Database, sent: Candidates) -> None:
        super().__init__(database)
        self._sent = sent

    def documents(self) -> int:
        return self._sent.documents

    def frequencies(self, tokens: Iterable[str]) -> dict[str, int]:
        asked = list(tokens)
        known = {word: self._sent.frequencies.get(word, 0) for word in asked}
        return super().frequencies(asked) | {word: n for word, n in known.items() if n}


class _Vectors(SqliteVectors):
    def __init__(
        self, database: Database, topics: SqliteTopics, sent: Candidates, model: str
    ) -> None:
        super().__init__(database, topics, lifetime=Lifetime.ONCE)
        self._sent = sent
        self._model = model

    def coverage(self, identity: str, unchanged_since: int | None = None) -> Coverage:
        embedded = self._sent.embedded if identity == self._model else 0
        return Coverage(embedded, self._sent.documents)


class _Folders(StoredFolders):
    def __init__(self, database: Database, places: Mapping[str, ChunkPlace]) -> None:
        super().__init__(database, FIRST_PARTS)
        self._places = places

    def places(
        self, ids: Sequence[str], *, unread_since: datetime | None = None
    ) -> dict[str, ChunkPlace]:
        return {id: self._places[id] for id in ids if id in self._places}
