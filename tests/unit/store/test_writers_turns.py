"""Who waits for a long work is let in between two of its writes."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from patience import until
from recollect.files import exclusive
from recollect.store.sqlite import turns
from recollect.store.sqlite.connection import Database
from recollect.store.sqlite.vault_files import SET


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database(tmp_path / "vault.db")
    yield opened
    opened.close()


def nobody_waits(database: Database) -> bool:
    with exclusive(Path(f"{database.path}{turns.WAITING}")) as alone:
        return alone


def test_who_waits_for_a_write_is_known_until_it_writes(database: Database) -> None:
    def save() -> None:
        with database.writing() as connection:
            assert nobody_waits(database)
            connection.execute(SET, ("saved", "beside"))

    thread = threading.Thread(target=save)
    with database.writing() as connection:
        thread.start()
        until(lambda: not nobody_waits(database), "somebody waits")
        connection.execute(SET, ("saved", "first"))
    thread.join()
    [(saved,)] = database.rows("SELECT value FROM meta WHERE key = 'saved'")
    assert saved == "beside"


def test_a_long_work_begins_its_next_write_when_nobody_waits_any_more(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    with ExitStack() as others:
        lock = Path(f"{database.path}{turns.WAITING}")
        others.enter_context(exclusive(lock, shared=True))

        def sleep(seconds: float) -> None:
            pauses.append(seconds)
            if len(pauses) == 3:
                others.close()

        monkeypatch.setattr(time, "sleep", sleep)
        with database.writing():
            assert pauses == []
        with database.writing(giving_way=True):
            assert len(pauses) == 3


def test_a_long_work_comes_to_an_end_beside_any_number_of_others(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "LONGEST_S", 0.0)
    with (
        exclusive(Path(f"{database.path}{turns.WAITING}"), shared=True),
        database.writing(giving_way=True),
    ):
        assert not nobody_waits(database)
