"""A vault of version 7, committed as it was made: nothing of what its memories were is known."""

from __future__ import annotations

from pathlib import Path

from old_vaults import check_nothing_is_lost, open_vault


def test_nothing_is_lost_and_history_begins(tmp_path: Path) -> None:
    with open_vault(7, tmp_path) as memory:
        check_nothing_is_lost(memory, 7)
        assert [result.id for result in memory.search("sessions")] == ["jwt"]
        assert memory.store.database.rows("SELECT action FROM writes") == [("migrate",)]
        assert memory.store.database.rows("SELECT * FROM versions") == []
        [(begun, began)] = memory.store.database.rows(
            "SELECT m.value, w.at FROM meta m, writes w WHERE m.key = 'history_from'"
        )
        assert begun == str(began)
    assert len(list(tmp_path.glob("backups/vault-v7-*.db"))) == 1
