"""A write that waits for a long work is let in between two of its writes."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect.deadline import without_waiting
from recollect.errors import StoreError
from recollect.store.sqlite.connection import Database, let_others_write
from recollect.store.sqlite.vault_files import SET


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database(tmp_path / "vault.db")
    yield opened
    opened.close()


def test_a_waiting_write_gets_in_between_two_writes_of_a_long_work(database: Database) -> None:
    other, saved, begun = Database(database.path), threading.Event(), threading.Event()
    writes = 0

    def work() -> None:
        nonlocal writes
        while not saved.is_set() and writes < 200:
            let_others_write()
            with database.writing() as connection:
                writes += 1
                connection.execute(SET, ("written", str(writes)))
                begun.set()
                time.sleep(0.02)

    thread = threading.Thread(target=work)
    thread.start()
    begun.wait()
    with other.writing() as connection:
        connection.execute(SET, ("saved", "beside"))
    saved.set()
    thread.join()
    other.close()
    assert writes < 200


def test_a_write_that_does_not_wait_fails_while_another_one_writes(database: Database) -> None:
    other = Database(database.path)
    with database.writing(), pytest.raises(StoreError), without_waiting(), other.writing():
        pass
    other.close()
    with without_waiting(), database.writing() as connection:
        connection.execute(SET, ("saved", "alone"))
    assert database.rows("SELECT value FROM meta WHERE key = 'saved'") == [("alone",)]
