"""Many processes on one vault: none is turned away, nothing is lost, each sees the others'
memories, and a write that waits for long work gets in between two of its writes."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from store_fixtures import OpenStore, problems
from suites.stores.helpers import matches, nearest, save
from suites.stores.samples import EVERYTHING, axis, memory

from examples import examples
from recollect.deadline import without_waiting
from recollect.errors import StoreError
from recollect.store.sqlite.connection import Database, let_others_write
from recollect.store.sqlite.store import SqliteStore
from recollect.store.sqlite.vault_files import SET

WORKER = Path(__file__).with_name("vault_worker.py")
WORKERS = 8
SAVES = examples(80)
PATIENCE_S = 60


def start(*arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(WORKER), *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def go(*workers: subprocess.Popen[str]) -> None:
    """Let all go at the same moment, once each has imported everything."""
    for process in workers:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
    for process in workers:
        tell(process, "go")


def tell(process: subprocess.Popen[str], line: str) -> None:
    assert process.stdin
    process.stdin.write(f"{line}\n")
    process.stdin.flush()


def hear(process: subprocess.Popen[str]) -> list[str]:
    assert process.stdout
    return process.stdout.readline().split()


def run_together(workers: list[subprocess.Popen[str]]) -> list[list[str]]:
    """Return the output of each worker; no worker may fail."""
    go(*workers)
    ended = [process.communicate(timeout=PATIENCE_S) for process in workers]
    lines = [line for _, errors in ended for line in errors.splitlines()]
    # Eight that write at once may wait for longer than a second, and say so.
    assert [line for line in lines if not line.startswith("Waiting: ")] == []
    assert [process.returncode for process in workers] == [0] * len(workers)
    return [said.split() for said, _ in ended]


def ask(process: subprocess.Popen[str], word: str) -> list[str]:
    tell(process, word)
    return hear(process)


def test_eight_processes_save_and_search_one_new_vault_at_once(disk_path: Path) -> None:
    path = disk_path / "vault.db"
    said = run_together([start("save_and_search", path, n, SAVES) for n in range(WORKERS)])
    assert [len(ids) for ids in said] == [SAVES] * WORKERS
    saved = {id for ids in said for id in ids}
    assert len(saved) == WORKERS * SAVES
    store = SqliteStore(path)
    assert store.memories.get(sorted(saved)).keys() == saved
    assert store.vocabulary.documents() == len(saved)
    assert set(matches(store, "anchor", limit=1000)) == saved
    carrying = store.topics.carrying(["deep"], 1000, EVERYTHING)
    assert {one.memory_id for one in carrying} == saved
    assert problems(store) == []
    store.close()


def test_eight_processes_make_the_same_new_vaults_at_once(tmp_path: Path) -> None:
    vaults = examples(48)
    run_together([start("make_vaults", tmp_path, n, vaults) for n in range(WORKERS)])
    for number in range(vaults):
        store = SqliteStore(tmp_path / f"{number}.db")
        titles = [one.title for one in store.memories.browse(EVERYTHING, 100)]
        assert sorted(titles) == [f"From worker {n}" for n in range(WORKERS)]
        assert problems(store) == []
        store.close()


def test_an_open_process_sees_the_next_save_of_another_at_once(
    open_store: OpenStore, tmp_path: Path
) -> None:
    path = tmp_path / "vault.db"
    store = open_store(path)
    process = start("answer", path)
    go(process)
    assert hear(process) == ["open"]
    assert ask(process, "lighthouse") == []
    for number in range(20):
        save(store, memory(f"m{number:02}", text=f"lighthouse{number}"))
        assert ask(process, f"lighthouse{number}") == [f"m{number:02}"]
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert errors == ""


def test_an_open_store_sees_the_saves_of_another_process_at_once(
    open_store: OpenStore, tmp_path: Path
) -> None:
    path = tmp_path / "vault.db"
    store = open_store(path)
    process = start("save_and_search", path, 0, 10)
    go(process)
    for number in range(10):
        [id] = hear(process)
        assert set(store.memories.get([id])) == {id}
        assert matches(store, f"w0n{number}") == [id]
        assert id in nearest(store, axis(0, 4), 100, identity="toy:model")
        assert store.vocabulary.frequencies([f"w0n{number}"]) == {f"w0n{number}": 1}
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert errors == ""


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
