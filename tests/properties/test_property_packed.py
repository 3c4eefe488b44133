"""The packed index answers as FTS5 does: the same memories, in the same order, with the same
scores, whatever is asked and however the memories are spread over segments and write buffer."""

from __future__ import annotations

import random
from typing import Any, get_args

import apsw
import pytest
from match_expressions import Expressions
from store_fixtures import OpenStore
from suites.stores.helpers import change, forget, save
from suites.stores.samples import memory

from examples import examples
from recollect.index import KeywordStatistics, ranking
from recollect.query.fts5 import any_of
from recollect.store.base import COLUMNS, KeywordIndexName, KeywordQuery, Match
from recollect.store.sqlite import fts5_index
from recollect.store.sqlite.filters import where
from recollect.store.sqlite.fts5_index import (
    TOKENIZERS,
    index_statistics,
    parse_expression,
    phrases,
)
from recollect.store.sqlite.segments import buffer, merging, search
from recollect.store.sqlite.segments.merging import Merger
from recollect.store.sqlite.segments.search import PackedSearch
from recollect.store.sqlite.store import SqliteStore
from recollect.store.sqlite.writing import BackgroundMerging
from recollect.types import Filter, Memory

INDEXES: tuple[KeywordIndexName, ...] = get_args(KeywordIndexName)
CLOSE = 1e-9
LONG = "x" * 90
TOO_LONG = "y" * 40_000  # FTS5 cuts it
WORDS = (
    *"anchor anchors anchored chain chains harbor the the the of of and été ETE 東京 Ärger".split(),
    *"fileSync FileSyncService file_sync don't 3.14 ... near or not naïve 東京都".split(),
    LONG,
)
FEW_WORDS = "anchor chain harbor rope".split()
FILTERS = (
    Filter(),
    Filter(),
    Filter(project="quay"),
    Filter(kind="fact"),
    Filter(tags=("deep",)),
    Filter(without_kinds=("fact", "note")),
    Filter(holding=("anchor",)),
    Filter(without=(("chain",), ("the", "of"))),
)
MEMORIES = 60


class Reference:
    """FTS5 over every live memory of a store, in tables of its own."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self._connection = apsw.Connection(":memory:")
        rows = store.database.connection().execute
        for index in INDEXES:
            columns = ", ".join(COLUMNS[index])
            self._connection.execute(
                f'CREATE VIRTUAL TABLE "{index}_" USING fts5 '
                f'({columns}, tokenize = "{TOKENIZERS[index]}")'
            )
            if index == "subwords":
                every = fts5_index.subword_rows(store.database.connection())
            else:
                there = "WHERE details <> ''" if index == "details" else ""
                every = rows(f"SELECT key, {columns} FROM indexed {there}")
            places = ", ?" * len(COLUMNS[index])
            self._connection.executemany(
                f'INSERT INTO "{index}_" (rowid, {columns}) VALUES (?{places})', every
            )

    def match(self, query: KeywordQuery) -> list[Match]:
        weights = ", ".join(map(repr, query.column_weights))
        sql = f'SELECT rowid, -bm25("{query.index}_", {weights}) FROM "{query.index}_" (?)'
        passing = self._passing(query.filter)
        found = self._connection.execute(sql, (query.expression,))
        matches = [Match(passing[key], score) for key, score in found if key in passing]
        return sorted(matches, key=lambda one: (-one.score, one.memory_id))[: query.limit]

    def _passing(self, filter: Filter) -> dict[int, str]:
        """What passes the filter; words are looked up here, as FTS5 finds them."""
        plain = Filter(**{name: getattr(filter, name) for name in ("project", "kind", "tags")})
        condition, values = where(plain, self._store.topics)
        sql = f"SELECT m.key, m.id, m.kind FROM memories m WHERE {condition}"
        rows = self._store.database.rows(sql, *values)
        found = {key: id for key, id, kind in rows if kind not in filter.without_kinds}
        for words in (filter.holding,) if filter.holding else ():
            found = {key: found[key] for key in self._holding(words) & found.keys()}
        for words in filter.without:
            each = [self._holding((word,)) | self._holding((word,), "details") for word in words]
            found = {key: found[key] for key in found.keys() - set.intersection(*each)}
        return found  # type: ignore[return-value]

    def _holding(self, words: tuple[str, ...], index: str = "stemmed") -> set[int]:
        asked = " ".join(f'"{word}"' for word in words)
        return {
            key for (key,) in self._connection.execute(f"SELECT rowid FROM {index}_ (?)", (asked,))
        }

    def statistics(self, query: KeywordQuery) -> KeywordStatistics:
        node = parse_expression(self._connection, query.index, query.expression)
        return index_statistics(self._connection, f"{query.index}_", phrases(query.index, node))

    def terms(self, index: KeywordIndexName, start: str) -> list[str]:
        self._connection.execute(
            f"CREATE VIRTUAL TABLE IF NOT EXISTS terms_{index} USING fts5vocab ('{index}_', row)"
        )
        rows = self._connection.execute(f"SELECT term FROM terms_{index} ORDER BY term")
        return [term for (term,) in rows if term.startswith(start)]


def some_memory(id: str, chance: random.Random) -> Memory:
    def text(most: int) -> str:
        return " ".join(chance.choices(WORDS, k=chance.randint(0, most)))

    return memory(
        id,
        title=text(4),
        text=text(12) + (f" {TOO_LONG}" if chance.random() < 0.03 else ""),
        context=text(2),
        why=text(2),
        details=text(8) if chance.random() < 0.4 else "",
        kind=chance.choice(("fact", "note", "decision")),
        project=chance.choice(("quay", "", "of")),
        tags=tuple(
            dict.fromkeys(chance.choices(("deep", "sea", "anchor"), k=chance.randint(0, 2)))
        ),
    )


def live_through(store: SqliteStore, chance: random.Random) -> None:
    """Save, change and forget memories; now and then the buffer becomes a segment."""
    ids: list[str] = []
    for number in range(MEMORIES):
        id = f"m{chance.randint(0, 999):03}-{number}"
        save(store, some_memory(id, chance))
        ids.append(id)
        if chance.random() < 0.25:
            changed = some_memory(chance.choice(ids), chance)
            change(store, changed.id, title=changed.title, text=changed.text, tags=changed.tags)
        if chance.random() < 0.1:
            forget(store, ids.pop(chance.randrange(len(ids))))
        if chance.random() < 0.07:
            Merger(store.database).run()


@pytest.fixture
def store(open_store: OpenStore, monkeypatch: pytest.MonkeyPatch) -> SqliteStore:
    monkeypatch.setattr(buffer, "FIRST", 4)
    monkeypatch.setattr(buffer, "MOST", 4)
    monkeypatch.setattr(BackgroundMerging, "wrote", lambda merging, **_: None)  # the test says when
    return open_store()


@pytest.mark.parametrize("seed", range(examples(6)))
def test_any_question_has_the_answer_that_fts5_alone_would_give(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(ranking, "MANY", 0)
    monkeypatch.setattr(search, "FIRST_READ", 3)
    monkeypatch.setattr(search, "THEN_READ", 9)
    chance = random.Random(seed)
    live_through(store, chance)
    reference = Reference(store)
    for index in INDEXES:
        expressions = Expressions(WORDS, COLUMNS[index], seed)
        for number in range(24):
            asked = expressions.expression() if number % 4 else expressions.any_of()
            weights = {column: chance.choice((0.0, 1.0, 2.5)) for column in COLUMNS[index]}
            limit = chance.choice((1, 3, 10, 100))
            query = KeywordQuery(index, asked, weights, limit, chance.choice(FILTERS))
            check(store, query, reference)


@pytest.mark.parametrize("seed", range(examples(36)))
def test_phrases_count_where_fts5_counts_them_though_what_they_are_part_of_fails(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Beside OR and NOT: few words make many rows that nearly match."""
    asked: list[KeywordQuery] = []
    by_fts5 = PackedSearch._by_fts5

    def noted(search: PackedSearch, query: KeywordQuery, *given: Any) -> list[Match]:
        asked.append(query)
        return by_fts5(search, query, *given)

    monkeypatch.setattr(PackedSearch, "_by_fts5", noted)
    chance = random.Random(seed)
    for number in range(24):
        texts = (" ".join(chance.choices(FEW_WORDS, k=chance.randint(0, 6))) for _ in range(2))
        save(store, memory(f"m{number}", title=next(texts), text=next(texts), tags=()))
        if number in (8, 16):
            Merger(store.database).run()
    reference = Reference(store)
    expressions = Expressions((*FEW_WORDS, "absent"), COLUMNS["plain"], seed)
    weights = dict.fromkeys(COLUMNS["plain"], 1.0)
    for _ in range(40):
        check(
            store, KeywordQuery("plain", expressions.expression(), weights, 9, Filter()), reference
        )
    assert len(asked) > 4


def check(store: SqliteStore, query: KeywordQuery, reference: Reference) -> None:
    found, expected = store.keyword.match(query).matches, reference.match(query)
    assert [one.memory_id for one in found] == [one.memory_id for one in expected], query
    for one, other in zip(found, expected, strict=True):
        assert one.score == pytest.approx(other.score, rel=CLOSE), query
    found_counts = store.keyword.statistics(query.index, query.expression)
    assert found_counts == reference.statistics(query), query


def test_the_terms_are_those_of_live_memories(store: SqliteStore) -> None:
    live_through(store, random.Random(3))
    reference = Reference(store)
    for index in INDEXES:
        for start in ("", "anch", "t", "file", "東", "zz"):
            assert store.keyword.terms(index, start) == reference.terms(index, start)


def zipf(chance: random.Random) -> str:
    """The first words are in nearly every text, and the last in few."""
    rarity = [1 / (number + 1) for number in range(60)]
    words = chance.choices(range(60), rarity, k=chance.randint(1, 25))
    return " ".join(f"w{number}" for number in words)


def test_the_best_are_the_same_where_common_words_are_looked_up_for_candidates_only(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(11)
    monkeypatch.setattr(merging, "AT_ONCE", 150)
    save(store, *(memory(f"m{n:03}", title=zipf(chance), text=zipf(chance)) for n in range(400)))
    Merger(store.database).run()
    monkeypatch.setattr(merging, "TIMES", 0)
    save(store, *(memory(f"b{n}", text=zipf(chance)) for n in range(3)))
    looked_up: list[bool] = []
    choosing = ranking.candidates

    def chosen(*asked: Any) -> Any:
        found = choosing(*asked)
        looked_up.append(found is not None)
        return found

    monkeypatch.setattr(ranking, "candidates", chosen)
    for _ in range(examples(180)):
        words = {f"w{int(60 * chance.random() ** 2)}" for _ in range(chance.randint(1, 7))}
        weights = dict.fromkeys(COLUMNS["stemmed"], 1.0) | {"title": 5.0}
        query = KeywordQuery("stemmed", any_of(sorted(words)), weights, 10, Filter())
        monkeypatch.setattr(ranking, "MANY", 1 << 30)
        every = store.keyword.match(query).matches
        monkeypatch.setattr(ranking, "MANY", 0)
        assert store.keyword.match(query).matches == every
    assert sum(looked_up) > 10, f"It must have been tried: {sum(looked_up)}"
