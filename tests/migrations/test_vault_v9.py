"""A vault of version 9, committed as it was made: it kept counts of its memories."""

from __future__ import annotations

from pathlib import Path

from old_vaults import check_nothing_is_lost, open_vault


def test_nothing_is_lost_and_memories_are_counted_without_kept_counts(tmp_path: Path) -> None:
    with open_vault(9, tmp_path) as memory:
        check_nothing_is_lost(memory, 9)
        assert memory.facets().project == {"harbor": 2}
        assert memory.facets().tags["Gate"] == 1
        assert memory.stats()["forgotten"] == 1
        memory.save(id="new", title="Another", project="harbor", tags=["gate"])
        assert memory.facets().project == {"harbor": 3}
        assert memory.facets().tags["Gate"] == 2
