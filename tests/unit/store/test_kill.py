"""A process killed at any moment: what it said is saved is there, and nothing is half there."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from recollect.store.sqlite.store import SqliteStore
from recollect.testing.stores.helpers import matches

WORKER = Path(__file__).with_name("vault_worker.py")
ROUNDS = 8
ALL = 1_000_000

if sys.platform == "win32":
    pytest.skip("kill -9 is a matter of POSIX", allow_module_level=True)


def killed_while_saving(path: Path, worker: int, after_s: float) -> list[str]:
    """Let a worker save for that long and kill it; the ids it had said, each a whole line."""
    process = subprocess.Popen(
        [sys.executable, str(WORKER), "save_forever", str(path), str(worker)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin
    assert process.stdout
    assert process.stderr
    assert process.stdout.readline() == "ready\n"
    process.stdin.write("go\n")
    process.stdin.flush()
    alarm = threading.Timer(after_s, process.kill)
    alarm.start()
    said, errors = process.communicate(timeout=60)
    alarm.join()
    assert process.returncode == -9, errors
    assert errors == ""
    whole, _, _ = said.rpartition("\n")
    return whole.split()


def check(path: Path, said: set[str], kills: int) -> None:
    """Every id that was said is in the vault, live or forgotten as its worker left it; of what
    was under way there is a whole memory or none; and all that is derived is in step."""
    store = SqliteStore(path)
    with store.writing() as write:
        held = write.find(said)
    assert set(held) == said
    live = {id for id, stored in held.items() if not stored.forgotten}
    assert len(said - live) <= kills, "Only the last memory of a worker can have been forgotten."
    found = {*matches(store, "anchor", limit=ALL), *matches(store, "chain", limit=ALL)}
    assert live <= found
    assert len(found - said) <= kills
    assert [finding for finding in store.examine() if finding.problem] == []
    store.close()


def test_killed_savers_lose_nothing_that_they_had_saved(disk_path: Path) -> None:
    path = disk_path / "vault.db"
    chance = random.Random(11)
    said: set[str] = set()
    for worker in range(ROUNDS):
        said.update(killed_while_saving(path, worker, chance.uniform(0.1, 0.5)))
        check(path, said, worker + 1)
    assert len(said) > 5 * ROUNDS


def test_a_process_killed_while_making_a_vault_leaves_one_that_opens(disk_path: Path) -> None:
    chance = random.Random(12)
    for number in range(6):
        path = disk_path / f"{number}.db"
        said = killed_while_saving(path, 0, chance.uniform(0, 0.03))
        check(path, set(said), 1)


def test_two_savers_killed_at_different_moments_do_not_harm_each_other(disk_path: Path) -> None:
    path = disk_path / "vault.db"
    chance = random.Random(13)
    said: set[str] = set()
    with ThreadPoolExecutor() as pool:
        for worker in (0, 2):
            moments = [chance.uniform(0.2, 0.6) for _ in range(2)]
            for ids in pool.map(killed_while_saving, [path] * 2, (worker, worker + 1), moments):
                said.update(ids)
            check(path, said, worker + 2)
