"""A write that adds many memories puts their words into a segment itself, within the write."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

import msgspec
import pytest
from locked_work import OLD, key_of
from store_fixtures import OpenStore, problems
from suites.stores.helpers import matches, purge
from suites.stores.samples import CHANGE, NOON, memory
from words_in_vault import check_words, small_segments

from patience import until
from recollect.lifetime import Lifetime
from recollect.store.memory_rows import Packed, PreparedMemories
from recollect.store.sqlite.replacement import change_key
from recollect.store.sqlite.segments import merging, packing, tables
from recollect.store.sqlite.segments.packing import fields_of, prepare
from recollect.store.sqlite.store import SqliteStore
from recollect.store.sqlite.writing import TRIGGERS, BackgroundMerging
from recollect.types import Memory

# Words that some step treats in its own way: identifiers, scripts without spaces, letters that
# change with their neighbours, words that unicode61 splits again, other blanks, the separator of
# texts that are tokenized together.
WORDS = (
    "hello the of a to running runs ran don't well-known FileSyncService baz_qux XMLHttpRequest2 "
    "v1.4.2 1.4.2 1990s U.S. naïve café ΑΣ'Α ΟΔΥΣΣΕΥΣ İstanbul ſtraße Ǆ ǅungla ΐ ŉ ẞen ﬁles ½ ㌀ "
    "e\u0301 \u0301x ´x a\u200bb A\u00a0B x\u3000y q\x1cz a\x1fB A\x85b Ab\u2028cD x\u2003y "
    "ファイル\u3000同期 日本語テキスト 東京 한국어 말 ไทย ภาษา \U000fdcba long" + "er" * 30
).split(" ")


@pytest.fixture
def store(open_store: OpenStore, monkeypatch: pytest.MonkeyPatch) -> SqliteStore:
    small_segments(monkeypatch)
    monkeypatch.setattr(tables, "AT_ONCE", 7)
    monkeypatch.setattr(BackgroundMerging, "wrote", lambda *_, **__: None)  # as it was written
    store = open_store(lifetime=Lifetime.ONCE)
    store.vectors.begin("model", 2)
    return store


def some(count: int, seed: int = 1) -> list[Memory]:
    chance = random.Random(seed)

    def said(most: int) -> str:
        words = chance.choices(WORDS, k=chance.randint(1, most))
        return chance.choice([" ", " ", "\n", "  ", "\t"]).join(words)

    return [
        memory(
            f"m{seed}-{number}",
            title=said(2),
            text=said(9),
            context=chance.choice(["", said(2)]),
            tags=tuple({chance.choice(WORDS) for _ in range(2)}),
            details=chance.choice(["", said(4)]),
        )
        for number in range(count)
    ]


def check(store: SqliteStore, memories: Sequence[Memory]) -> None:
    """Check that everything derived is as it should be, and that these memories are live."""
    ids = {one.id for one in memories}
    check_words(store)
    assert problems(store) == []
    assert not store.database.rows("SELECT 1 FROM meta WHERE key = 'bulk'")
    assert set(store.memories.ids()) == ids
    assert store.vectors.coverage("model") == (0, len(ids))


def rows(store: SqliteStore, table: str) -> int:
    return int(str(store.database.rows(f"SELECT count(*) FROM {table}")[0][0]))


def add(
    store: SqliteStore, memories: Sequence[Memory], ready: PreparedMemories | None = None
) -> None:
    with store.writing_many(CHANGE, prepared=ready) as write:
        for one in memories:
            write.add(one)
        if ready is not None:
            write.index_added(ready)


def test_many_memories_become_segments_and_never_pass_through_the_buffer(
    store: SqliteStore,
) -> None:
    add(store, some(20))
    assert rows(store, "segments") == 3
    assert rows(store, "stemmed_docsize") == rows(store, "segment_changes") == 0
    check(store, some(20))


@pytest.mark.parametrize("together", [7, 10_000])
def test_odd_words_and_long_texts_are_packed_as_fts5_has_them(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch, together: int
) -> None:
    """A word more than 255 times in a memory and a position beyond 65,535 take more bytes."""
    monkeypatch.setattr(packing, "TOGETHER", together)  # texts
    memories = [*some(60), memory("long", title="The", text="the " * 70_000 + "end")]
    add(store, memories)
    check(store, memories)


def test_few_memories_go_into_the_buffer(store: SqliteStore) -> None:
    add(store, some(5))
    assert (rows(store, "segments"), rows(store, "stemmed_docsize")) == (0, 5)
    check(store, some(5))


def test_what_was_prepared_elsewhere_is_used_for_these_memories_alone(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = some(8), some(8, seed=2)
    ready = prepare(map(fields_of, first))
    calls: list[int] = []

    def count_calls(rows: Iterable[Sequence[str]], *, counting: bool = True) -> PreparedMemories:
        calls.append(1)
        return prepare(rows, counting=counting)

    monkeypatch.setattr(packing, "prepare", count_calls)
    with store.writing_many(CHANGE) as write:
        for one in first:
            write.add(one)
        write.index_added(ready)
        assert calls == []
        for one in second:
            write.add(one)
        write.index_added(ready)
        assert calls == [1, 1]  # seven at once
    check(store, first + second)


def test_a_memory_that_the_same_write_changes_is_found_as_it_is_in_the_end(
    store: SqliteStore,
) -> None:
    memories = some(9)
    with store.writing_many(CHANGE) as write:
        stored = [write.add(one) for one in memories]
        write.replace(stored[0], msgspec.structs.replace(memories[0], text="lighthouse"))
        write.forget(stored[1], NOON)
        write.purge(stored[2])
        write.restore(stored[1]._replace(forgotten_at=NOON))
        write.forget(stored[3], NOON)
        write.index_added(prepare(map(fields_of, memories)))
        write.replace(stored[4], msgspec.structs.replace(memories[4], text="lighthouse"))
    check(store, [*memories[:2], *memories[4:]])
    assert set(matches(store, "lighthouse")) == {memories[0].id, memories[4].id}


def test_a_bulk_write_that_fails_leaves_nothing(store: SqliteStore) -> None:
    def fail() -> None:
        with store.writing_many(CHANGE) as write:
            for one in some(9):
                write.add(one)
            write.index_added()
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert rows(store, "segments") == rows(store, "postings") == rows(store, "vocabulary") == 0
    check(store, [])
    add(store, some(9))
    check(store, some(9))


def test_what_was_prepared_is_written_before_the_write_that_makes_it_ready(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    memories = some(9)
    inside: list[int] = []
    monkeypatch.setattr(tables, "write_rows", lambda *_: inside.append(1))
    add(store, memories, prepare(map(fields_of, memories)))
    assert (rows(store, "segments"), inside) == (1, [])
    check(store, memories)
    assert store.database.connection().pragma("synchronous") == 2  # FULL, as before


def test_what_was_written_before_a_write_is_removed_where_it_is_not_what_was_added(
    store: SqliteStore,
) -> None:
    add(store, some(9), prepare(map(fields_of, some(8, seed=2))))
    check(store, some(9))
    assert store.database.rows("SELECT DISTINCT segment FROM postings WHERE segment = 1") == []
    again = some(9)[:8] + some(2, seed=3)  # of memories that are there nothing is written before
    with store.writing_many(CHANGE, prepared=prepare(map(fields_of, again))):
        assert store.database.rows("SELECT number FROM segments WHERE NOT ready") == []


def test_a_segment_that_was_removed_before_its_write_is_written_within_it(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = merging.Merger._stage

    def stage_and_remove(merger: merging.Merger, packed: Packed) -> tables.StagedSegment | None:
        staged = stage(merger, packed)
        merger._remove_unready()
        return staged

    monkeypatch.setattr(merging.Merger, "_stage", stage_and_remove)
    add(store, some(9), prepare(map(fields_of, some(9))))
    check(store, some(9))


def test_a_write_that_fails_leaves_a_segment_that_the_next_one_removes(store: SqliteStore) -> None:
    ready = prepare(map(fields_of, some(9)))
    with pytest.raises(KeyError), store.writing_many(CHANGE, prepared=ready):
        raise KeyError
    check(store, [])
    add(store, some(9), ready)
    assert rows(store, "segments") == 1
    check(store, some(9))


def test_a_bulk_write_into_a_locked_vault_leaves_no_word_to_read(
    open_store: OpenStore, store: SqliteStore
) -> None:
    path = store.database.path
    store.close()
    change_key(path, None, OLD)
    locked = open_store(path, lifetime=Lifetime.ONCE, keys=key_of)
    add(locked, some(9))
    check(locked, some(9))
    assert rows(locked, "segments") == 2
    assert b"hello" not in path.read_bytes()


def test_the_key_of_a_purged_memory_is_not_given_again(store: SqliteStore) -> None:
    """The log of changes still names it, and a segment does not speak for what is named there."""
    first, second = some(8), some(8, seed=2)
    add(store, first)
    purge(store, first[-1].id)
    add(store, second)
    assert store.memories.find([second[0].id])[second[0].id].key == len(first) + 1
    check(store, [*first[:-1], *second])


def counted_merging(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> tuple[BackgroundMerging, list[int]]:
    """The background of a process that stays, and a one for each time it merges."""
    monkeypatch.undo()
    small_segments(monkeypatch)
    runs: list[int] = []
    monkeypatch.setattr(merging.Merger, "run", lambda *_, **__: runs.append(1))
    return BackgroundMerging(store.database, lifetime=Lifetime.LIBRARY), runs


@pytest.mark.own_segments
def test_segments_are_joined_after_the_next_write_that_makes_none(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until then an import may go on, which would wait for it."""
    background, runs = counted_merging(store, monkeypatch)
    background.wrote(segments=True)
    background.wrote(segments=True)
    assert runs == []
    background.wrote()
    until(lambda: runs)
    background.close()
    assert runs == [1]


def test_a_process_that_stays_joins_what_an_import_left(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    background, runs = counted_merging(store, monkeypatch)
    background.resume()
    assert runs == [], "There are no segments yet."
    add(store, some(9))
    background.resume()
    until(lambda: runs)
    background.close()


def test_a_write_that_only_adds_works_without_triggers(store: SqliteStore) -> None:
    connection = store.database.connection()
    with store.writing_many(CHANGE) as write:
        write.add(memory("a"))
        write.find(["a"])
        assert not connection.config(TRIGGERS, -1)
        a = write.find(["a"])["a"]
        write.forget(a, NOON)  # from here on they are needed
        assert connection.config(TRIGGERS, -1)
        write.add(memory("b"))
        write.restore(a._replace(forgotten_at=NOON))
        write.add(memory("c"))
    check(store, [memory(id) for id in "abc"])


def test_after_a_write_that_failed_triggers_are_on_again(store: SqliteStore) -> None:
    def fail() -> None:
        with store.writing_many(CHANGE) as write:
            write.add(memory("a"))
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    with store.writing(CHANGE) as write:
        write.add(memory("b", text="found by its word"))
    check(store, [memory("b")])
    assert matches(store, "found") == ["b"]


@pytest.mark.own_segments
@pytest.mark.parametrize(("count", "segments"), [(1_999, 0), (2_000, 1)])
def test_segments_begin_at_two_thousand_memories(
    open_store: OpenStore, count: int, segments: int
) -> None:
    store = open_store(lifetime=Lifetime.ONCE)
    add(store, [memory(f"m{number}", text=f"ship {number}") for number in range(count)])
    assert rows(store, "segments") == segments
