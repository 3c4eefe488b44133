"""Tasks that the tests with several processes run in each of them: `vault_worker.py TASK
ARGUMENT…`."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from suites.stores.samples import CHANGE

from recollect.engine import Recollect
from recollect.settings import Embedding, Rerank, Settings
from recollect.types import Filter

OFF = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))
MODEL = "toy:model"


def open_vault(path: str) -> Recollect:
    return Recollect(path, home=Path(path).parent / "home", settings=OFF)


def say(*words: object) -> None:
    print(*words, flush=True)


def save(memory: Recollect, name: str) -> str:
    """Save one memory, and a vector for it; its id."""
    saved = memory.save(title=f"About {name}", text=f"anchor {name}", tags=["deep", name])
    with memory.store.writing(CHANGE) as write:
        key = write.find([saved.id])[saved.id].key
    memory.store.vectors.put(MODEL, 4, [(key, np.array([1, 0, 0, 0], np.float32))])
    return saved.id


def save_and_search(path: str, worker: str, saves: str) -> None:
    """Save `saves` memories; search for each at once, and for the others' now and then."""
    with open_vault(path) as memory:
        for number in range(int(saves)):
            name = f"w{worker}n{number}"
            id = save(memory, name)
            assert [result.id for result in memory.search(name, recipe="router")] == [id]
            if number % 5 == 0:
                assert memory.search("anchor", recipe="vault", limit=5).results
                near = memory.store.vectors.nearest(
                    MODEL, np.array([1, 0, 0, 0], np.float32), 10_000, Filter()
                )
                assert id in {one.memory_id for one in near}
                assert len(near) == len({one.memory_id for one in near})
            say(id)


def make_vaults(folder: str, worker: str, vaults: str) -> None:
    """Open vault after vault, none of which is there yet, and save one memory in each."""
    for number in range(int(vaults)):
        with open_vault(f"{folder}/{number}.db") as memory:
            memory.save(title=f"From worker {worker}")


def answer(path: str) -> None:
    """For each word that is asked, say which memories have it; the vault stays open."""
    with open_vault(path) as memory:
        say("open")
        for line in sys.stdin:
            say(*(result.id for result in memory.search(line.strip(), recipe="router")))


TASKS = {task.__name__: task for task in (save_and_search, make_vaults, answer)}

if __name__ == "__main__":
    say("ready")
    sys.stdin.readline()
    TASKS[sys.argv[1]](*sys.argv[2:])
