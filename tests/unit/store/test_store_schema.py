"""The vault's schema, word for word: a change to it is a new version and needs a migration."""

from __future__ import annotations

import os
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from store_fixtures import OpenStore

from recollect import Recollect
from recollect.store.sqlite.migration import APPLICATION_ID, VERSION
from recollect.store.sqlite.store import SqliteStore

OFF = {"RECOLLECT_EMBEDDING__PROVIDER": "none", "RECOLLECT_RERANK__PROVIDER": "none"}
SNAPSHOT = Path(__file__).with_name("schema.snapshot.sql")
HOW_TO_UPDATE = (
    "The vault's schema changed. Vaults made before it must still open: raise VERSION in "
    "store/sqlite/migration.py, add migrations/NNNN.sql, commit a vault of the version before "
    "under tests/migrations, and then run this test with UPDATE_SNAPSHOTS=1."
)


def schema(connection: apsw.Connection) -> str:
    """Every statement of the schema on one line, without comments, sorted by kind and name.

    FTS5's own tables are left out: what they are called and hold is SQLite's business.
    """
    rows = connection.execute(
        """
        SELECT s.type, s.name, s.sql FROM sqlite_schema s
          JOIN pragma_table_list l ON l.name = s.tbl_name AND l.schema = 'main'
         WHERE s.sql IS NOT NULL AND l.type <> 'shadow' AND s.name NOT LIKE 'sqlite_%'
         ORDER BY s.type, s.name
        """
    )
    lines = [f"-- {kind} {name}\n{normalise(str(sql))};\n" for kind, name, sql in rows]
    return f"-- version {VERSION}\n" + "\n".join(["", *lines])


def normalise(sql: str) -> str:
    bare = re.sub(r"--[^\n]*", "", sql)
    return re.sub(r"\s+", " ", bare).strip().replace("( ", "(").replace(" )", ")")


def test_the_schema_of_a_new_vault_is_the_committed_one(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "vault.db")
    found = schema(store.database.connection())
    store.close()
    if os.environ.get("UPDATE_SNAPSHOTS"):
        SNAPSHOT.write_text(found, encoding="utf-8")
    assert found == SNAPSHOT.read_text(encoding="utf-8"), HOW_TO_UPDATE


@pytest.mark.parametrize("opened_before", [False, True])
def test_a_vault_says_what_it_is_and_every_connection_is_durable(
    open_store: OpenStore, *, opened_before: bool
) -> None:
    """`file` names it, another program can tell it from any database, and WAL lets many read."""
    if opened_before:
        open_store().close()
    connection = open_store().database.connection()
    assert connection.pragma("application_id") == APPLICATION_ID == int.from_bytes(b"RCLT")
    assert connection.pragma("user_version") == VERSION
    assert connection.pragma("journal_mode") == "wal"
    assert connection.pragma("synchronous") == 2
    assert connection.pragma("foreign_keys") == 1


def test_every_vault_has_a_topic_key_of_its_own(open_store: OpenStore, tmp_path: Path) -> None:
    stores = [open_store(tmp_path / name) for name in ("a.db", "b.db")]
    assert len({store.topics.hash_word("auth") for store in stores}) == 2


def test_every_table_but_the_keyword_indexes_can_be_read(tmp_path: Path) -> None:
    with Recollect(tmp_path / "vault.db", home=tmp_path, environment=OFF) as memory:
        memory.save(id="jwt", title="Switched to JWT", tags=["zeal", "auth", "tokens"])
        memory.save(id="gone", title="Gone")
        memory.forget(["gone"])
    read_only = f"file:{tmp_path}/vault.db?mode=ro"
    with closing(sqlite3.connect(read_only, uri=True)) as other:
        assert other.execute("SELECT id, tags FROM indexed").fetchall() == [
            ("jwt", "zeal auth tokens")
        ]
        tables = other.execute(
            "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') "
            "AND sql NOT LIKE 'CREATE VIRTUAL%'"
        ).fetchall()
        assert len(tables) > 30
        for [name] in tables:
            other.execute(f"SELECT * FROM {name}").fetchall()
            assert other.execute(f"PRAGMA table_info({name})").fetchall()


@pytest.mark.skipif(sqlite3.sqlite_version_info >= (3, 43), reason="it has contentless_delete")
def test_a_version_that_cannot_keep_the_indexes_in_step_changes_no_memory(tmp_path: Path) -> None:
    with Recollect(tmp_path / "vault.db", home=tmp_path, environment=OFF) as memory:
        memory.save(id="jwt", title="Switched to JWT")
    with closing(sqlite3.connect(tmp_path / "vault.db")) as other:
        for change in ("UPDATE memories SET title = 'x'", "DELETE FROM memories"):
            with pytest.raises(sqlite3.Error):
                other.execute(change)
