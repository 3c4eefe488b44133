"""A database that goes away and comes back: what was acknowledged is there once, and what was
refused is not there."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import psycopg
import pytest
from suites.stores.helpers import save
from suites.stores.samples import CHANGE, memory

from recollect import Recollect
from recollect.errors import Interrupted, StoreError
from recollect.ingest.exchange import RawLine
from recollect.settings import Embedding, Rerank, Settings, StoreSettings
from recollect_postgres.merging import Merging
from recollect_postgres.pool import Connection, Pool
from recollect_postgres.store import PostgresStore
from recollect_postgres.transactions import commit

CUT = "SELECT pg_terminate_backend(pg_backend_pid())"
INDEXED = """
SELECT segment FROM postings WHERE vault = vault() AND token = %s
 UNION SELECT number FROM segments WHERE vault = vault() AND position(%s IN content) > 0"""
VECTORS = "SELECT words FROM feedback_vectors WHERE vault = vault()"
LOST = "server closed the connection unexpectedly"


def cut(connection: Connection) -> None:
    connection.execute(CUT)


def commit_and_cut(connection: Connection) -> None:
    commit(connection)
    cut(connection)


class Ends:
    """The ways in which writes end, in turn; the last one repeats."""

    def __init__(self, *ends: Callable[[Connection], None]) -> None:
        self._ends = [*ends]

    def __call__(self, connection: Connection) -> None:
        end = self._ends.pop(0) if len(self._ends) > 1 else self._ends[0]
        end(connection)


@pytest.fixture
def engine(postgres_url: str, postgres_vault: str, tmp_path: Path) -> Iterator[Recollect]:
    settings = Settings(
        store=StoreSettings(url=postgres_url, vault=postgres_vault),
        embedding=Embedding(provider="none"),
        rerank=Rerank(provider="none"),
    )
    with Recollect(home=tmp_path, settings=settings, environment={}) as opened:
        yield opened


def away(monkeypatch: pytest.MonkeyPatch, times: int, after: int = 0) -> None:
    """Let this number of attempts to take a connection fail, after some that succeed."""
    take, calls = Pool.take, iter(range(after + times))

    def fails(pool: Pool, *, fresh: bool = False) -> Connection:
        if next(calls, -1) >= after:
            raise psycopg.OperationalError(LOST)
        return take(pool, fresh=fresh)

    monkeypatch.setattr(Pool, "take", fails)


@pytest.mark.parametrize("ends", [commit_and_cut, cut])
def test_a_write_whose_answer_is_lost_is_there_once(
    engine: Recollect, monkeypatch: pytest.MonkeyPatch, ends: Callable[[Connection], None]
) -> None:
    """The connection is cut right after the commit, and right before it."""
    monkeypatch.setattr("recollect_postgres.database.commit", Ends(ends, commit))
    saved = engine.save(title="Deploys need a ticket")
    assert [one.id for one in engine.list()] == [saved.id]
    engine.feedback("deploys", saved.id, accept=True)
    assert engine.opinions() == (1, 0)
    assert len(engine.history(saved.id)) == 1


def test_writes_and_searches_wait_until_the_primary_is_back(
    engine: Recollect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recollect_postgres.pool.FIRST_PAUSE_S", 0.001)
    away(monkeypatch, 3)
    engine.save(title="Deploys need a ticket")
    away(monkeypatch, 3)
    assert engine.search("deploys").results
    away(monkeypatch, 3)
    lines = [RawLine(1, b'{"title": "Rollbacks need none"}')]
    assert engine.import_lines(lines).added == 1


def test_an_import_that_is_cut_off_says_what_is_there_and_goes_on_when_it_is_called_again(
    engine: Recollect, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [RawLine(number, b'{"title": "Note %d"}' % number) for number in range(1, 6)]
    with monkeypatch.context() as patch:
        patch.setattr("recollect.engine.importing.IMPORT_BATCH", 2)
        patch.setattr(engine.store.database, "_retry_s", 0.01)
        patch.setattr("recollect_postgres.database.commit", Ends(commit, cut))
        told = r"nothing was written\. Imported before that: 2 memories\. Import again"
        with pytest.raises(StoreError, match=told):
            engine.import_lines(lines)
    again = engine.import_lines(lines)
    assert (again.added, again.unchanged) == (3, 2)


def test_a_write_is_acknowledged_whatever_becomes_of_what_follows_it(
    engine: Recollect, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost() -> Connection:
        raise Interrupted("The connection was lost; nothing was written.")

    lines = [RawLine(number, b'{"title": "Note %d"}' % number) for number in range(1, 2001)]
    with monkeypatch.context() as patch:
        patch.setattr(engine.store.database, "side_transaction", lost)
        assert engine.import_lines(lines).added == 2000


def cut_merges(engine: Recollect, patch: pytest.MonkeyPatch, times: int) -> None:
    """Cut the connection in this number of merges, while the segments are chosen."""
    choose, calls = Merging._due, iter(range(times))

    def due(merging: Merging, *, scrub: bool) -> list[int]:
        if next(calls, None) is not None:
            with engine.store.database.reading() as connection:
                cut(connection)
        return choose(merging, scrub=scrub)

    patch.setattr(Merging, "_due", due)


def test_a_purge_removes_what_was_said_of_the_memory(engine: Recollect) -> None:
    gone, kept = engine.save(title="The pelican").id, engine.save(title="The heron").id
    for id in (gone, kept):
        engine.feedback("birds at the coast", id, accept=True)
    engine.feedback("a bird with a large bill", gone, accept=True)
    feedback = engine.store.feedback
    feedback.embed("model", {words: np.ones(4) for words in feedback.list_unembedded("model", 10)})
    engine.forget([gone], purge=True)
    assert engine.store.database.rows("SELECT memory_id FROM feedback WHERE vault = vault()") == [
        (kept,)
    ]
    assert len(engine.store.database.rows(VECTORS)) == 1


def test_a_purge_is_told_as_done_whatever_becomes_of_its_connection(
    engine: Recollect, monkeypatch: pytest.MonkeyPatch
) -> None:
    pelican, heron = engine.save(title="The pelican"), engine.save(title="The heron")

    def is_indexed(word: str) -> bool:
        return bool(engine.store.database.rows(INDEXED, word, word.encode()))

    assert is_indexed("pelican")
    with monkeypatch.context() as patch:
        cut_merges(engine, patch, 1)
        engine.forget([pelican.id], purge=True)
    assert not is_indexed("pelican")
    with monkeypatch.context() as patch:
        patch.setattr(engine.store.database, "_retry_s", 0.01)
        cut_merges(engine, patch, 1000)
        with pytest.raises(
            StoreError, match=r"The memories are purged, but .* `recollect reindex`"
        ):
            engine.forget([heron.id], purge=True)
    assert not engine.list()
    assert is_indexed("heron")
    engine.store.rebuild()
    assert not is_indexed("heron")


def test_a_write_is_refused_once_the_deadline_is_over(
    postgres_url: str, postgres_vault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = PostgresStore(postgres_url, postgres_vault, retry_s=0.01)
    with monkeypatch.context() as patch:
        away(patch, 1000)
        with pytest.raises(StoreError, match=r"cannot be reached .* nothing was written"):
            save(store, memory("refused"))
    with monkeypatch.context() as patch:
        away(patch, 1000, after=1)
        patch.setattr("recollect_postgres.database.commit", commit_and_cut)
        with pytest.raises(StoreError, match="may have been written or not"):
            save(store, memory("unknown"))
    assert store.memories.ids() == ["unknown"]
    store.close()


def test_a_search_whose_connection_is_cut_is_made_again(
    engine: Recollect, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.save(title="Deploys need a ticket")
    match, calls = engine.store.keyword.match, []

    def cut(query: object) -> object:
        calls.append(query)
        if len(calls) == 1:
            engine.store.database.rows(CUT)
        return match(query)

    monkeypatch.setattr(engine.store.keyword, "match", cut)
    assert engine.search("deploys", recipe="router").results
    assert len(calls) > 1


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        ("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY", "can only be read"),
        ("SET statement_timeout = '1ms'", "PostgreSQL stopped a statement"),
    ],
)
def test_what_the_server_refuses_is_told_and_nothing_is_half_written(
    postgres_url: str, postgres_vault: str, statement: str, sentence: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    store = PostgresStore(postgres_url, postgres_vault, retry_s=0.01)
    take = Pool.take

    def prepared(pool: Pool, *, fresh: bool = False) -> Connection:
        connection = take(pool, fresh=fresh)
        connection.execute(statement)
        return connection

    def write_many() -> None:
        with store.writing(CHANGE) as write:
            for number in range(300):
                write.add(memory(f"m{number}"))

    with monkeypatch.context() as patch:
        patch.setattr(Pool, "take", prepared)
        with pytest.raises(StoreError, match=sentence):
            write_many()
    take(store.database._pool, fresh=True).close()
    assert store.memories.ids() == []
    store.close()


def test_a_clock_that_differs_writes_nothing(
    postgres_url: str, postgres_vault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = PostgresStore(postgres_url, postgres_vault)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 3600)
    with pytest.raises(StoreError, match=r"differ by 3[56]"):
        save(store, memory("m1"))
    assert store.memories.ids() == []
    store.close()


def test_the_hosts_of_a_url_are_tried_in_turn(postgres_url: str, postgres_vault: str) -> None:
    several = postgres_url.replace("host=", "host=/nowhere,")
    store = PostgresStore(f"{several}&target_session_attrs=read-write", postgres_vault)
    save(store, memory("m1"))
    assert store.memories.ids() == ["m1"]
    assert store.database.place.startswith("recollect at /nowhere, /")
    store.close()
