"""A vault of version 5, committed as it was made: its words stay in FTS5 until the next merge."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from old_vaults import check_nothing_is_lost, open_vault

from recollect.engine import Recollect
from recollect.store.sqlite.segments import buffer
from recollect.store.sqlite.segments.merging import Merger


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Recollect]:
    with open_vault(5, tmp_path) as found:
        yield found


def test_nothing_is_lost(memory: Recollect) -> None:
    check_nothing_is_lost(memory, 5)


def test_the_next_merge_makes_a_segment_of_its_words(
    memory: Recollect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(buffer, "FIRST", 3)
    Merger(memory.store.database).run()
    assert memory.store.database.rows("SELECT ready, last FROM segments") == [(1, 3)]
    assert [result.id for result in memory.search("sessions")] == ["jwt"]
    check_nothing_is_lost(memory, 5)
