"""Tokens and logs in PostgreSQL: fenced by vault, of limited length, and patient with a database
that is away."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from itertools import count

import psycopg
import pytest

from patience import until
from recollect.auth.token_store import TokenStore
from recollect.errors import NotFound
from recollect.settings import StoreSettings
from recollect_postgres import access as shared
from recollect_postgres.access import PostgresAccess
from recollect_postgres.pool import Connection, Pool


@pytest.fixture
def access(postgres_url: str, postgres_vault: str) -> Iterator[PostgresAccess]:
    opened = PostgresAccess(StoreSettings(url=postgres_url, vault=postgres_vault, retry_s=0.01))
    yield opened
    opened.close()


def away(pool: Pool, *, fresh: bool = False) -> Connection:
    raise psycopg.OperationalError("server closed the connection unexpectedly")


def lines(access: PostgresAccess) -> list[bytes]:
    return [line for _, line in access.audit.since(0)]


def test_a_token_is_of_one_vault(
    access: PostgresAccess, postgres_url: str, postgres_vault: str
) -> None:
    secret, token = TokenStore(access).create(["search:use"])
    place = StoreSettings(url=postgres_url, vault=f"{postgres_vault}-other")
    other = TokenStore(PostgresAccess(place))
    assert other.find(secret) is None
    assert other.list_all() == []
    with pytest.raises(NotFound):
        other.revoke(token.id)
    other.close()
    # Row-level security says the same of a query that names no vault.
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("SELECT count(*) FROM recollect.tokens").fetchall() == [(0,)]


def test_servers_that_name_other_hosts_of_the_database_have_one_cookie(
    access: PostgresAccess, postgres_url: str, postgres_vault: str
) -> None:
    several = postgres_url.replace("host=", "host=/nowhere,")
    assert PostgresAccess(StoreSettings(url=several, vault=postgres_vault)).mark == access.mark
    assert PostgresAccess(StoreSettings(url=several, vault="other")).mark != access.mark


def test_lines_wait_for_a_database_that_is_away(
    access: PostgresAccess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared, "AGAIN_S", 0.01)
    tried = count(1)

    def fails(pool: Pool, *, fresh: bool = False) -> Connection:
        next(tried)
        return away(pool, fresh=fresh)

    with monkeypatch.context() as patch:
        patch.setattr(Pool, "take", fails)
        access.audit.append(b"first")
        until(lambda: next(tried) > 20)
        access.audit.append(b"second")
    until(lambda: lines(access) == [b"first", b"second"])


def test_lines_that_cannot_be_written_when_it_is_closed_are_told_to_be_lost(
    access: PostgresAccess, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(Pool, "take", away)
    access.audit.append(b"first")
    with caplog.at_level(logging.WARNING, "recollect.auth.audit"):
        access.close()
    assert "Lines of the log `audit` that are lost: 1. recollect at" in caplog.text


def test_a_log_keeps_its_last_lines(postgres_url: str, postgres_vault: str) -> None:
    access = PostgresAccess(StoreSettings(url=postgres_url, vault=postgres_vault))
    access._logs[0]._most = 3
    for some in ((b"1", b"2"), (b"3", b"4", b"5")):
        for line in some:
            access.audit.append(line)
        access.close()
    assert [*access.audit.since(0)] == [(3, b"3"), (4, b"4"), (5, b"5")]
    assert access.audit.size() == 5
    access.close()
