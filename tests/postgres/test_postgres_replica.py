"""Searches at a replica that follows by streaming replication: never older than the primary while
that answers, one's own writes included, and for a while without it."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from patience import until
from postgres_server import as_superuser
from recollect import Recollect
from recollect.auth.token_store import TokenStore
from recollect.errors import StoreError
from recollect.settings import Embedding, Rerank, Settings, StoreSettings
from recollect_postgres import access as access_in_postgres
from recollect_postgres import replica as replicas
from recollect_postgres.access import PostgresAccess
from recollect_postgres.pool import Connection, Pool


@pytest.fixture
def engine(
    postgres_url: str, postgres_vault: str, replica: str, tmp_path: Path
) -> Iterator[Recollect]:
    settings = Settings(
        store=StoreSettings(url=postgres_url, vault=postgres_vault, read_url=replica, retry_s=0.01),
        embedding=Embedding(provider="none"),
        rerank=Rerank(provider="none"),
    )
    with Recollect(home=tmp_path, settings=settings, environment={}) as opened:
        yield opened


def asked_pools(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The places whose connections are taken from now on."""
    take, places = Pool.take, list[str]()

    def noted(pool: Pool, *, fresh: bool = False) -> Connection:
        places.append(pool.place)
        return take(pool, fresh=fresh)

    monkeypatch.setattr(Pool, "take", noted)
    return places


def found(engine: Recollect, query: str) -> tuple[list[str], list[str]]:
    """The titles, and what the replica has to tell."""
    answer = engine.search(query, recipe="router")
    told = [part.reason for part in answer.degraded if part.channel == "replica"]
    return [engine.show([result.id])[0].title for result in answer.results], told


def test_a_replica_answers_and_never_without_what_was_written(
    engine: Recollect, replica: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replicas, "CATCH_UP_S", 60)  # a busy machine may take its time
    engine.save(title="Deploys need a ticket")
    places = asked_pools(monkeypatch)
    assert found(engine, "deploys") == (["Deploys need a ticket"], [])
    host = replica.partition("host=")[2]
    assert any(host in place for place in places)
    assert engine.dependencies() == {"database": None, "replica": None}
    # One that does not follow is left aside.
    monkeypatch.setattr(replicas, "CATCH_UP_S", 0.01)
    as_superuser("postgres", "SELECT pg_wal_replay_pause()", host=host)
    try:
        engine.save(title="Deploys need two tickets")
        assert found(engine, "two tickets")[0] == ["Deploys need two tickets"]
    finally:
        as_superuser("postgres", "SELECT pg_wal_replay_resume()", host=host)

    def asked_again() -> bool:
        places.clear()
        return bool(engine.search("deploys").results) and host in str(places)

    until(asked_again)


def test_without_the_primary_a_replica_answers_for_a_while_and_says_so(
    engine: Recollect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replicas, "CATCH_UP_S", 60)
    engine.save(title="Deploys need a ticket")
    assert engine.search("deploys").results
    monkeypatch.setattr(replicas, "AGAIN_S", 60)
    take, primary, asked = Pool.take, engine.store.database._pool, []

    def away(pool: Pool, *, fresh: bool = False) -> Connection:
        if pool is primary:
            if threading.current_thread() is threading.main_thread():
                asked.append(fresh)  # the log of reads is written beside it
            raise psycopg.OperationalError("server closed the connection unexpectedly")
        return take(pool, fresh=fresh)

    monkeypatch.setattr(Pool, "take", away)
    replica = engine.store.database._replica
    monkeypatch.setattr(replica, "_equal_at", replica._equal_at - 20)  # so long ago
    answer = engine.search("deploys", recipe="router")
    assert answer.results
    [told] = [part.reason for part in answer.degraded if part.channel == "replica"]
    [seconds] = re.findall(r"written in the last (\d+) s\.", told)
    assert int(seconds) >= 20
    assert len(asked) == 1  # counting its use does not wait for the primary
    problems = engine.dependencies()
    assert problems["database"]
    assert problems["replica"] is None
    monkeypatch.setattr(replica, "_max_staleness_s", 0.0)
    with pytest.raises(StoreError, match="cannot be reached"):
        engine.search("deploys")


def test_a_replica_that_is_away_leaves_searches_to_the_primary(
    postgres_url: str, postgres_vault: str, tmp_path: Path
) -> None:
    place = StoreSettings(
        url=postgres_url, vault=postgres_vault, read_url="postgresql://r@/r?host=/nowhere"
    )
    settings = Settings(
        store=place, embedding=Embedding(provider="none"), rerank=Rerank(provider="none")
    )
    with Recollect(home=tmp_path, settings=settings, environment={}) as engine:
        engine.save(title="Deploys need a ticket")
        assert engine.search("deploys").results
        assert "cannot be reached" in str(engine.dependencies()["replica"])


def test_a_replica_lets_callers_in_while_the_primary_is_away_and_no_longer(
    postgres_url: str, postgres_vault: str, replica: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = StoreSettings(url=postgres_url, vault=postgres_vault, read_url=replica, retry_s=0.01)
    access = PostgresAccess(place)
    tokens = TokenStore(access)
    secret, token = tokens.create(["search:use"])
    assert tokens.find(secret) is not None
    until(lambda: bool(access._database().replica_rows("SELECT 1 FROM tokens WHERE used_at > 0")))
    take, primary, asked = Pool.take, access._database()._pool, []

    def gone(pool: Pool, *, fresh: bool = False) -> Connection:
        if pool is primary:
            asked.append(fresh)
            raise psycopg.OperationalError("server closed the connection unexpectedly")
        return take(pool, fresh=fresh)

    with monkeypatch.context() as patch:
        patch.setattr(access_in_postgres, "AGAIN_S", 60.0)
        patch.setattr(Pool, "take", gone)
        for _ in range(3):
            assert tokens.find(secret) == (tokens.list_all()[0], "live")
        assert len(asked) == 1  # and is not waited for by each request
        with pytest.raises(StoreError, match="cannot be reached"):
            tokens.revoke(token.id)
        access._answered_at -= place.max_staleness_s
        with pytest.raises(StoreError, match="cannot be reached"):
            tokens.find(secret)
    access.close()
