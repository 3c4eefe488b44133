"""A vault of version 3, committed as it was made: opening it makes room for folders."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from old_vaults import check_nothing_is_lost, open_vault

from recollect.engine import Recollect


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Recollect]:
    with open_vault(3, tmp_path) as found:
        yield found


def test_nothing_is_lost(memory: Recollect) -> None:
    check_nothing_is_lost(memory, 3)


def test_a_folder_can_be_added(memory: Recollect, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "tides.md").write_text("# Tides\n\nThe tables are in the harbour office.\n")
    assert memory.folders() == []
    memory.add_folder(notes)
    [found] = memory.search("tide tables", limit=1)
    assert (found.memory.title, found.memory.tier) == ("tides.md", "file")


def test_a_file_memory_of_before_is_no_part_of_a_folder(memory: Recollect) -> None:
    [found] = memory.search("roadmap", limit=1)
    assert (found.id, found.file) == ("roadmap", None)
