"""A vault of version 6, committed as it was made: its words are in a segment without a checksum."""

from __future__ import annotations

from pathlib import Path

from old_vaults import check_nothing_is_lost, open_vault


def test_nothing_is_lost_and_the_words_are_found(tmp_path: Path) -> None:
    with open_vault(6, tmp_path) as memory:
        check_nothing_is_lost(memory, 6)
        assert memory.store.database.rows("SELECT * FROM segments") == []
        assert [result.id for result in memory.search("sessions")] == ["jwt"]
        memory.save(id="new", title="Counted as well")
        check = [finding for finding in memory.store.examine() if finding.problem]
        assert check == []
