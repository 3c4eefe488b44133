"""The vault's schema, word for word: a change to it is a new version and needs a migration."""

from __future__ import annotations

import os
import re
from pathlib import Path

import apsw
from store_fixtures import OpenStore

from recollect.store.sqlite.migration import APPLICATION_ID, VERSION
from recollect.store.sqlite.store import SqliteStore

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


def test_a_new_vault_says_what_it_is(store: SqliteStore) -> None:
    """`file` names it, another program can tell it from any database, and WAL lets many read."""
    connection = store.database.connection()
    assert connection.pragma("application_id") == APPLICATION_ID == int.from_bytes(b"RCLT")
    assert connection.pragma("user_version") == VERSION
    assert connection.pragma("journal_mode") == "wal"


def test_every_connection_is_durable_and_checks_references(
    open_store: OpenStore, tmp_path: Path
) -> None:
    SqliteStore(tmp_path / "vault.db").close()
    store = open_store()
    connection = store.database.connection()
    assert connection.pragma("synchronous") == 2
    assert connection.pragma("foreign_keys") == 1


def test_every_vault_has_a_topic_key_of_its_own(tmp_path: Path) -> None:
    keys = set()
    for name in ("a.db", "b.db"):
        store = SqliteStore(tmp_path / name)
        keys.add(store.topics.hash_word("auth"))
        store.close()
    assert len(keys) == 2
