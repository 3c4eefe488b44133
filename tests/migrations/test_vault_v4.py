"""A vault of version 4, committed as it was made: opening it gives every memory a checksum."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from old_vaults import check_nothing_is_lost, open_vault

from recollect.engine import Recollect
from recollect.store.sqlite.checksums import find_altered


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Recollect]:
    with open_vault(4, tmp_path) as found:
        yield found


def test_nothing_is_lost(memory: Recollect) -> None:
    check_nothing_is_lost(memory, 4)


def test_every_memory_gets_a_checksum_of_what_it_is(memory: Recollect) -> None:
    connection = memory.store.database.connection()
    assert len(connection.execute("SELECT DISTINCT checksum FROM memories").fetchall()) == 3
    connection.execute("UPDATE memories SET severity = 'warning' WHERE id = 'jwt'")
    assert [(one.id, one.what) for one in find_altered(connection)] == [("jwt", "fields")]
