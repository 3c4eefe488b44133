"""A vault in PostgreSQL: what is refused, with which sentence, and what fences it from others."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from suites.stores.helpers import save
from suites.stores.samples import CHANGE, memory

from postgres_server import as_superuser
from recollect import Recollect
from recollect.deadline import without_waiting
from recollect.errors import StoreError, UserError
from recollect.settings import Embedding, Rerank, Settings, StoreSettings
from recollect_postgres.database import PostgresDatabase
from recollect_postgres.migration import LOCK, migrate, migrations
from recollect_postgres.pool import place_of
from recollect_postgres.store import PostgresStore

SECRET = "swordfish"


@pytest.fixture
def store(postgres_url: str, postgres_vault: str) -> Iterator[PostgresStore]:
    opened = PostgresStore(postgres_url, postgres_vault)
    yield opened
    opened.close()


@pytest.fixture
def bare_url(postgres_url: str) -> Iterator[str]:
    """A database without any tables."""
    as_superuser("postgres", "CREATE DATABASE bare OWNER recollect")
    yield postgres_url.replace("/recollect?", "/bare?")
    as_superuser("postgres", "DROP DATABASE bare WITH (FORCE)")


def refusal(url: str) -> str:
    """The sentence that refuses it; nothing of the error, its causes included, has the password."""
    with pytest.raises(StoreError) as caught:
        PostgresStore(url, "main")
    assert SECRET not in "".join(traceback.format_exception(caught.value, limit=0))
    return str(caught.value)


# Where it is


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        (f"postgres//me:{SECRET}@host/db", "is not an address of a database"),
        (f"mysql://me:{SECRET}@host/db", "is not an address of a database"),
        (f"postgresql://me:{SECRET}@127.0.0.1:1/db", "cannot be reached"),
        (f"postgresql://me:{SECRET}@/db?host=/nowhere", "cannot be reached"),
    ],
)
def test_an_address_that_leads_nowhere_is_refused_without_its_password(
    url: str, reason: str
) -> None:
    assert reason in refusal(url)


def test_a_place_names_neither_user_nor_password() -> None:
    assert place_of(f"postgresql://me:{SECRET}@host:5433/team") == "team at host:5433"


def test_a_wrong_password_and_a_wrong_database_are_told_apart(postgres_url: str) -> None:
    guarded = postgres_url.replace("recollect@", f"guarded:{SECRET}@")
    assert "refused the user or the password" in refusal(guarded)
    assert "knows no such database" in refusal(postgres_url.replace("/recollect?", "/nothing?"))


# The tables


def test_a_database_is_made_ready_step_by_step_and_each_step_says_what_is_missing(
    bare_url: str,
) -> None:
    assert "`recollect store migrate` makes them" in refusal(bare_url)
    told: list[object] = []
    with pytest.raises(StoreError, match="have a superuser run CREATE EXTENSION vector"):
        migrate(bare_url, told.append)
    assert told == []
    as_superuser("bare", "CREATE EXTENSION vector")
    with psycopg.connect(bare_url) as another:
        another.execute(LOCK)
        with pytest.raises(StoreError, match="Another `recollect store migrate`"):
            migrate(bare_url)
    assert migrate(bare_url) == len(migrations())
    assert migrate(bare_url) == 0
    PostgresStore(bare_url, "main").close()
    as_superuser("bare", "INSERT INTO recollect.migrations VALUES (9999, 'of the future')")
    assert "install a newer Recollect" in refusal(bare_url)
    last = len(migrations())
    as_superuser("bare", f"DELETE FROM recollect.migrations WHERE number >= {last}")
    assert f"have version {last - 1}" in refusal(bare_url)
    as_superuser("bare", f"INSERT INTO recollect.migrations VALUES ({last}, 'last')")
    as_superuser("postgres", "ALTER DATABASE bare SET default_transaction_read_only = on")
    store = PostgresStore(bare_url, "main")
    assert store.database.frozen
    with pytest.raises(StoreError, match="can only be read"):
        save(store, memory("m1"))
    store.close()
    as_superuser("postgres", "ALTER DATABASE bare RESET default_transaction_read_only")
    as_superuser("bare", "ALTER TABLE recollect.memories RENAME TO remembered")
    store = PostgresStore(bare_url, "main")
    with pytest.raises(StoreError, match=r'\(relation "memories" does not exist\): it was renamed'):
        save(store, memory("m1"))
    store.close()


def test_a_server_of_another_version_writes_nothing_once_the_tables_have_changed(
    bare_url: str,
) -> None:
    as_superuser("bare", "ALTER TABLE IF EXISTS recollect.remembered RENAME TO memories")
    as_superuser("bare", "CREATE EXTENSION IF NOT EXISTS vector")
    migrate(bare_url)
    store = PostgresStore(bare_url, "main")
    as_superuser("bare", "INSERT INTO recollect.migrations VALUES (9999, 'of the future')")
    try:
        with pytest.raises(StoreError, match="install a newer Recollect"):
            save(store, memory("m1"))
    finally:
        as_superuser("bare", "DELETE FROM recollect.migrations WHERE number = 9999")
        store.close()


# Connections


def test_a_connection_lost_in_the_middle_of_a_write_leaves_nothing_of_it(
    store: PostgresStore,
) -> None:
    save(store, memory("before"))

    def write_half() -> None:
        with store.writing(CHANGE) as write:
            write.add(memory("half"))
            assert write.find(["half"])
            [(backend,)] = store.database.rows("SELECT pg_backend_pid()")
            as_superuser("recollect", f"SELECT pg_terminate_backend({backend}, 10000)")
            write.add(memory("rest"))

    with pytest.raises(StoreError, match="nothing was written"):
        write_half()
    assert store.memories.ids() == ["before"]


def test_connections_that_were_cut_off_between_two_calls_are_made_anew(
    store: PostgresStore,
) -> None:
    save(store, memory("before"))
    [(backend,)] = store.database.rows("SELECT pg_backend_pid()")
    as_superuser("recollect", f"SELECT pg_terminate_backend({backend}, 10000)")
    save(store, memory("after"))
    assert store.memories.ids() == ["after", "before"]


def test_who_is_not_patient_is_told_that_another_one_writes(
    store: PostgresStore, postgres_url: str, postgres_vault: str
) -> None:
    other = PostgresDatabase(postgres_url, postgres_vault)
    busy = pytest.raises(StoreError, match="is writing to this vault")
    with store.writing(CHANGE), busy, without_waiting(), other.writing():
        pass
    other.close()


def test_a_search_that_takes_too_long_is_stopped(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recollect_postgres.database.SEARCH_SECONDS", 0.001)
    with pytest.raises(StoreError, match="PostgreSQL stopped a statement"):
        store.database.rows("SELECT count(*) FROM generate_series(1, 100000000)")


# Vaults


def test_a_query_that_forgets_its_vault_finds_nothing_and_one_of_another_vault_not_this(
    store: PostgresStore, postgres_url: str, postgres_vault: str
) -> None:
    """Row-level security, for a role that does not own the tables, and for the one that does."""
    save(store, memory("m1"))
    as_superuser(
        "recollect",
        "DROP ROLE IF EXISTS reader",
        "CREATE ROLE reader LOGIN",
        "GRANT USAGE ON SCHEMA recollect TO reader",
        "GRANT SELECT ON ALL TABLES IN SCHEMA recollect TO reader",
    )
    everything = "SELECT count(*) FROM recollect.memories"
    for url in (postgres_url, postgres_url.replace("recollect@", "reader@")):
        with psycopg.connect(url, autocommit=True) as connection:
            assert connection.execute(everything).fetchall() == [(0,)]
            find = "SELECT key FROM recollect.vaults WHERE name = %s"
            [(key,)] = connection.execute(find, (postgres_vault,)).fetchall()
            for vault, seen in ((key, 1), (-key, 0)):  # key + 1 is of another test
                connection.execute(f"SET recollect.vault = '{vault}'")
                assert connection.execute(everything).fetchall() == [(seen,)]
    as_superuser("recollect", "DROP OWNED BY reader", "DROP ROLE reader")


def test_every_table_that_belongs_to_vaults_is_fenced(store: PostgresStore) -> None:
    rows = store.database.rows(
        "SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid "
        "WHERE c.relnamespace = 'recollect'::regnamespace AND c.relkind IN ('r', 'p') "
        "AND a.attname = 'vault' AND NOT (c.relrowsecurity AND c.relforcerowsecurity)"
    )
    assert rows == []


def test_what_is_only_for_files_says_who_does_it_for_a_database(
    postgres_url: str, postgres_vault: str, tmp_path: Path
) -> None:
    settings = Settings(
        store=StoreSettings(url=postgres_url, vault=postgres_vault),
        embedding=Embedding(provider="none"),
        rerank=Rerank(provider="none"),
    )
    with Recollect(home=tmp_path, settings=settings, environment={}) as memory:
        memory.save(title="Deploys need a ticket")
        assert memory.stats()["memories"] == 1
        assert not (tmp_path / "vault.db").exists()
        assert all(finding.problem is None for finding in memory.doctor())
        for action in (memory.backup, memory.export_salvaged):
            with pytest.raises(UserError, match="with PostgreSQL, "):
                action()
