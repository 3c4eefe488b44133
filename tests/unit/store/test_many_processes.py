"""Many processes on one vault: none is turned away, nothing is lost, each sees the others'
memories."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from store_fixtures import OpenStore, problems
from suites.stores.helpers import matches, nearest, save
from suites.stores.samples import EVERYTHING, axis, memory

from examples import examples
from recollect.store.sqlite.store import SqliteStore

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


def test_eight_processes_save_and_search_one_new_vault_at_once(
    open_store: OpenStore, disk_path: Path
) -> None:
    path = disk_path / "vault.db"
    said = run_together([start("save_and_search", path, n, SAVES) for n in range(WORKERS)])
    assert [len(ids) for ids in said] == [SAVES] * WORKERS
    saved = {id for ids in said for id in ids}
    assert len(saved) == WORKERS * SAVES
    store = open_store(path)
    assert store.memories.get(sorted(saved)).keys() == saved
    assert store.vocabulary.documents() == len(saved)
    assert set(matches(store, "anchor", limit=1000)) == saved
    carrying = store.topics.carrying(["deep"], 1000, EVERYTHING)
    assert {one.memory_id for one in carrying} == saved
    assert problems(store) == []


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
