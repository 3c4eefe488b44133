"""A vault read by Python's own SQLite, as stock tools would, which may be much older than ours."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from recollect import Recollect
from recollect.settings import Embedding, Rerank, Settings

OFF = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))


def test_every_table_but_the_keyword_indexes_can_be_read(tmp_path: Path) -> None:
    with Recollect(tmp_path / "vault.db", home=tmp_path, settings=OFF, environment={}) as memory:
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
    with Recollect(tmp_path / "vault.db", home=tmp_path, settings=OFF, environment={}) as memory:
        memory.save(id="jwt", title="Switched to JWT")
    with closing(sqlite3.connect(tmp_path / "vault.db")) as other:
        for change in ("UPDATE memories SET title = 'x'", "DELETE FROM memories"):
            with pytest.raises(sqlite3.Error):
                other.execute(change)
