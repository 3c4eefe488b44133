"""A vault of version 8, committed as it was made: SQLite before 3.44 cannot read its schema."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from old_vaults import check_nothing_is_lost, open_vault


def test_nothing_is_lost_and_other_tools_can_open_it(tmp_path: Path) -> None:
    with open_vault(8, tmp_path) as memory:
        check_nothing_is_lost(memory, 8)
        assert len(memory.history("jwt")) == 2
        assert memory.store.candidates.waiting() == []
        assert [result.id for result in memory.search("sessions")] == ["jwt"]
        memory.save(id="new", title="Indexed by the new view", tags=["z", "a"])
        assert [result.id for result in memory.search("z a", recipe="router")] == ["new"]
    with sqlite3.connect(tmp_path / "vault.db") as other:
        assert other.execute("SELECT tags FROM indexed WHERE id = 'jwt'").fetchall() == [
            ("tokens auth zeal again",)
        ]
    other.close()
