"""Segments: what a merge makes of the buffer says exactly what FTS5 said, at any moment."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any

import pytest
from killed_work import Killing, run_and_kill
from locked_work import OLD, key_of
from store_fixtures import OpenStore, problems
from suites.stores.helpers import change, forget, matches, save
from suites.stores.samples import CHANGE, memory
from words_in_vault import check_words, small_segments

from examples import one_in
from recollect.lifetime import Lifetime
from recollect.store.sqlite import keyword
from recollect.store.sqlite.fts5_index import pooled_bm25
from recollect.store.sqlite.replacement import change_key
from recollect.store.sqlite.segments import buffer, merging
from recollect.store.sqlite.segments.merging import Merger, SegmentSize, choose_segments
from recollect.store.sqlite.store import SqliteStore
from recollect.types import Memory

VOCABULARY = (
    "File FileSyncService running runs ran café naïve U.S. x-y 日本語テキスト hello world worlds "
    "the İstanbul ſtraße v1.4.2 ΑΣ is_ready 1990s"
).split()

Fill = Callable[[int], SqliteStore]
merges_itself = pytest.mark.own_segments  # what is merged, and when, is what it is about


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    small_segments(monkeypatch)


def said(chance: random.Random, most: int) -> str:
    return " ".join(chance.choices(VOCABULARY, k=chance.randint(0, most)))


def some(id: str, chance: random.Random) -> Memory:
    return memory(
        id,
        title=said(chance, 3),
        text=said(chance, 12),
        tags=tuple({chance.choice("abc") for _ in range(2)}),
        details=chance.choice(["", said(chance, 4)]),
    )


@pytest.fixture
def fill(open_store: OpenStore) -> Callable[[int], SqliteStore]:
    """Fill the vault of the test: that many memories, all in FTS5. As for a command, nothing is
    merged in the background."""

    def fill_vault(count: int) -> SqliteStore:
        store, chance = open_store(lifetime=Lifetime.ONCE), random.Random(7)
        save(store, *(some(f"m{number}", chance) for number in range(count)))
        return store

    return fill_vault


@pytest.fixture
def other(open_store: OpenStore) -> SqliteStore:
    """The store of another process."""
    return open_store(lifetime=Lifetime.ONCE)


def numbers(store: SqliteStore) -> list[int]:
    found = store.database.rows("SELECT number FROM segments WHERE ready ORDER BY number")
    return [int(str(number)) for (number,) in found]


def buffered_keys(store: SqliteStore) -> list[int]:
    with store.database.reading() as connection:
        return buffer.keys(connection)


def merge(store: SqliteStore, *, briefly: bool = False) -> None:
    Merger(store.database).run(briefly=briefly)


def join_all(store: SqliteStore) -> None:
    """Join all segments, whatever their sizes."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(merging, "TIMES", 1 << 30)
        merge(store)


def check(*stores: SqliteStore) -> None:
    """Each store has the words that a new index would have, and the doctor finds nothing."""
    for store in stores:
        check_words(store)
        assert problems(store) == []


def act_during(patched: pytest.MonkeyPatch, step: str, act: Callable[[], object]) -> None:
    """Act in that step of a merge, between what it reads and what it writes."""
    real = getattr(merging, step)

    def step_and_act(*given: object) -> object:
        made = real(*given)
        act()
        return made

    patched.setattr(merging, step, step_and_act)


def test_only_a_full_buffer_becomes_segments(fill: Fill) -> None:
    store = fill(5)
    merge(store)
    assert numbers(store) == []
    assert len(buffered_keys(store)) == 5
    save(store, *(memory(f"n{number}") for number in range(15)))
    merge(store)
    assert len(numbers(store)) >= 1
    assert len(buffered_keys(store)) < 3
    check(store)


@merges_itself
def test_a_command_that_ends_makes_no_segment_while_the_buffer_stays_large(
    fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search reads such a buffer row by row, which takes longer than FTS5 alone."""
    monkeypatch.setattr(buffer, "FIRST", 10)
    monkeypatch.setattr(merging, "AT_THE_END", 20)
    store = fill(21)
    merge(store, briefly=True)
    assert numbers(store) == []
    forget(store, "m0")
    merge(store, briefly=True)
    assert len(numbers(store)) == 1
    assert buffered_keys(store) == []


def test_joining_everything_leaves_one_segment_and_returns_the_freed_pages(
    fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merging, "KEPT_FREE", 0)
    store = fill(300)
    merge(store)
    forget(store, "m3", "m20")
    join_all(store)
    assert len(numbers(store)) == 1
    assert store.database.rows("SELECT count(*) FROM segments") == [(1,)]
    assert store.database.rows("PRAGMA freelist_count") == [(0,)]
    check(store)


@merges_itself
def test_what_is_changed_while_it_is_merged_stays_in_the_buffer(
    fill: Fill, other: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = fill(7)

    def write_meanwhile() -> None:
        change(other, "m1", text="quite another wording")
        change(other, "m2", tags=("fresh",))
        forget(other, "m3")
        save(other, memory("late", text="came meanwhile"))

    act_during(monkeypatch, "pack", write_meanwhile)
    merge(store, briefly=True)
    assert len(numbers(store)) == 1
    check(store, other)
    for vault in (store, other):
        assert matches(vault, "wording") == ["m1"]
        assert matches(vault, "fresh") == ["m2"]
        assert matches(vault, "meanwhile") == ["late"]
    assert set(buffered_keys(store)) >= {2, 3, 8}


@merges_itself
def test_what_is_changed_while_segments_are_joined_is_found_as_it_is_now(
    fill: Fill, other: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, turns = fill(14), count()
    merge(store)
    save(store, *(memory(f"n{number}") for number in range(8)))
    edit = partial(change, other, "m1")
    act_during(
        monkeypatch, "join_documents", lambda: edit(text=f"quite another wording {next(turns)}")
    )
    join_all(store)
    assert next(turns) > 0
    check(store)
    assert matches(other, "wording") == ["m1"]


@merges_itself
def test_a_large_buffer_next_to_segments_is_left_to_fts5(
    fill: Fill, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not read row by row, and only rows that may be among the best are scored."""
    scored: list[int] = []

    def counting(*asked: Any) -> float:
        scored.append(1)
        return pooled_bm25(*asked)

    monkeypatch.setattr(keyword, "pooled_bm25", counting)
    store = fill(7)
    merge(store)
    save(store, *(memory(f"s{n}", text="anchor " * 9) for n in range(4)))
    merge(store)
    save(store, *(memory(f"b{n:03}", text="anchor in a long sentence") for n in range(200)))
    save(store, memory("best", text="anchor " * 20))
    assert len(buffered_keys(store)) == 201
    assert matches(store, "anchor", limit=3)[:2] == ["best", "s0"]
    assert len(scored) < 10
    names = store.database.rows("SELECT name FROM temp.sqlite_master")
    assert not [name for (name,) in names if "instance" in str(name)]


@merges_itself
def test_only_one_of_two_processes_merges(
    fill: Fill, other: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, segments = fill(7), list[int]()

    def merge_too() -> None:
        merge(other)  # returns at once
        segments.append(len(other.database.rows("SELECT number FROM segments")))

    act_during(monkeypatch, "pack", merge_too)
    merge(store)
    assert segments == [1]
    check(store)


def test_a_merge_that_reindex_overtakes_is_given_up(
    fill: Fill, other: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = fill(9)

    def reindex() -> None:
        if not numbers(other):
            other.rebuild()

    act_during(monkeypatch, "pack", reindex)
    merge(store)
    check(store)


def test_a_reader_sees_one_moment_while_others_merge(fill: Fill, other: SqliteStore) -> None:
    store = fill(20)
    check(other)
    with other.database.reading() as connection:
        before = connection.execute("SELECT count(*) FROM segments").get
        merge(store)
        assert connection.execute("SELECT count(*) FROM segments").get == before
        check_words(other)
    check(other)


def test_which_segments_are_joined() -> None:
    def sizes(*live: int) -> dict[int, SegmentSize]:
        return {number: SegmentSize(size, size) for number, size in enumerate(live, 1)}

    assert choose_segments(sizes(100, 9)) == []
    assert choose_segments({1: SegmentSize(9, 9), 2: SegmentSize(60, 100)}) == [2]
    assert choose_segments({1: SegmentSize(0, 5)}) == [1]
    assert choose_segments(sizes(7, 200, 6, 5)) == [1, 3, 4]
    assert choose_segments(sizes(200, 30, 20)) == [1, 2, 3]
    assert choose_segments(sizes(merging.LARGEST, 10)) == []
    assert len(choose_segments(sizes(*[merging.LARGEST // 16] * 61))) == 16


def test_few_segments_stay_and_a_memory_is_written_again_a_few_times() -> None:
    """However many come, a thousand at a time."""
    sizes: dict[int, SegmentSize] = {}
    written = most = 0
    for number in range(1, 301):
        sizes[number] = SegmentSize(1000, 1000)
        while group := choose_segments(sizes):
            total = sum(sizes.pop(one).live for one in group)
            sizes[group[0]] = SegmentSize(total, total)
            written += total
        most = max(most, len(sizes))
    assert most <= 6
    assert written / 300_000 < 15


@merges_itself
def test_a_process_that_stays_merges_after_its_saves(store: SqliteStore) -> None:
    chance = random.Random(3)
    for number in range(12):
        save(store, some(f"m{number}", chance))
    thread = store.merging._thread
    assert thread is not None
    thread.join()
    assert numbers(store)
    check(store)


@merges_itself
def test_a_command_that_fills_the_buffer_merges_when_it_closes_the_vault(
    fill: Fill, open_store: OpenStore
) -> None:
    store = fill(8)
    assert numbers(store) == []
    store.close()
    store = open_store()
    assert len(numbers(store)) == 1
    check(store)


@pytest.mark.skipif(sys.platform == "win32", reason="kill -9 is a matter of POSIX")
@pytest.mark.parametrize("committed", [False, True])
def test_a_merge_killed_at_any_point_leaves_a_vault_that_answers_right(
    fill: Fill, *, committed: bool
) -> None:
    store = fill(12)
    path = store.database.path

    def close(store: SqliteStore) -> None:
        store.merging.close = lambda: None  # type: ignore[method-assign]
        store.close()

    def work() -> None:
        store = SqliteStore(path, lifetime=Lifetime.ONCE)
        merge(store)
        join_all(store)

    close(store)
    # The larger steps, so that each kill is of another kind of write and the whole is short.
    step = 1
    while run_and_kill(work, Killing(step, committed=committed)):
        store = SqliteStore(path, lifetime=Lifetime.ONCE)
        check_words(store)
        change(store, "m1", text=f"after kill {step}")
        assert matches(store, "kill") == ["m1"]
        close(store)
        step += 3
    store = SqliteStore(path, lifetime=Lifetime.ONCE)
    check(store)
    assert store.database.rows("SELECT count(*) FROM segments WHERE NOT ready") == [(0,)]
    store.close()


def test_a_locked_vault_has_segments_too(fill: Fill, open_store: OpenStore) -> None:
    store = fill(8)
    path = store.database.path
    merge(store)
    store.close()
    change_key(path, None, OLD)
    store = open_store(lifetime=Lifetime.ONCE, keys=key_of)
    assert numbers(store)
    change(store, "m2", text="worlds apart")
    save(store, *(memory(f"n{number}", text="newer") for number in range(4)))
    merge(store)
    check(store)
    assert b"newer" not in path.read_bytes()


def test_reindex_makes_segments_of_many_memories(fill: Fill) -> None:
    store = fill(20)
    store.rebuild()
    assert numbers(store)
    assert buffered_keys(store) == []
    check(store)


DAMAGE = {
    "a row is gone": "DELETE FROM postings WHERE words = 0 AND token = 'hello'",
    "large postings are gone": (
        "UPDATE postings SET postings = NULL, large = 99 WHERE token = 'the'"
    ),
    "a token is another": "UPDATE postings SET token = 'hellp' WHERE words = 0 AND token = 'hello'",
    "postings are cut": "UPDATE postings SET postings = x'00' WHERE words = 0 AND token = 'hello'",
    "a document is another": (
        "UPDATE postings SET postings = zeroblob(length(postings)) WHERE token = 'hello'"
    ),
    "places are others": (
        "UPDATE postings SET places = zeroblob(length(places)) WHERE words = 0 AND token = 'the'"
    ),
    "a length is another": (
        "UPDATE segment_documents SET lengths = "
        "CAST(x'63' || substr(lengths, 2) AS BLOB) WHERE words = 0"
    ),
    "a checksum is another": "UPDATE segment_documents SET checksum = x'00' WHERE words = 0",
    "lengths are others": "UPDATE segment_documents SET lengths = zeroblob(length(lengths))",
    "keys are others": "UPDATE segment_documents SET keys = zeroblob(length(keys))",
    "a key is gone": (
        "UPDATE segment_documents SET keys = substr(keys, 9), lengths = substr(lengths, 5)"
    ),
    "a change is not noted": "DELETE FROM segment_changes",
    "a segment is gone": "DELETE FROM segments",
    "the documents of a segment are gone": "DELETE FROM segment_documents",
}


@merges_itself
@pytest.mark.parametrize("what", DAMAGE)
def test_the_doctor_finds_damage_and_reindex_mends_it(what: str, fill: Fill) -> None:
    store = fill(9)
    merge(store)
    change(store, "m1", text="edited")
    check(store)
    with store.database.writing() as connection:
        connection.execute(DAMAGE[what])
    assert "stemmed index" in [one.check for one in problems(store)]
    store.rebuild()
    check(store)


ACTIONS = ("save", "edit", "tag", "forget", "back", "merge", "join")


@pytest.mark.parametrize("seed", range(0, 4, one_in(2)))
def test_any_history_says_what_a_new_index_says(seed: int, open_store: OpenStore) -> None:
    """Two processes save, edit, tag, forget, restore, purge and merge, in any order."""
    chance = random.Random(seed)
    stores = [open_store(lifetime=Lifetime.ONCE) for _ in range(2)]
    live, forgotten = list[str](), list[str]()
    for step in range(60):
        store = chance.choice(stores)
        what = chance.choices(ACTIONS, (6, 2, 1, 1, 1, 1, 1))
        if what == ["merge"]:
            merge(store, briefly=chance.random() < 0.5)
        elif what == ["join"]:
            join_all(store)
        elif what == ["save"] or not live:
            save(store, some(f"s{step}", chance))
            live.append(f"s{step}")
        elif what == ["edit"]:
            change(store, chance.choice(live), text=said(chance, 9), title=said(chance, 2))
        elif what == ["tag"]:
            change(store, chance.choice(live), tags=(chance.choice("xyz"),))
        elif what == ["forget"]:
            forgotten.append(live.pop(chance.randrange(len(live))))
            forget(store, forgotten[-1])
        elif forgotten:
            id = forgotten.pop()
            with store.writing(CHANGE) as write:
                before = write.find([id])[id]
                purged = chance.random() < 0.5
                (write.purge if purged else write.restore)(before)
            live += [] if purged else [id]
            if purged and chance.random() < 0.5:
                store.scrub()
        if step % 12 == 0:
            check_words(chance.choice(stores))
    check(*stores)
