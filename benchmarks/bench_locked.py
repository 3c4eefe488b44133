"""Measure the cost of locking: the same work on an open vault and on a locked one, and the ratio.

python benchmarks/bench_locked.py [memories]
"""

from __future__ import annotations

import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from recollect.engine import Recollect
from recollect.ingest.exchange import raw_lines
from recollect.settings import Embedding, Rerank, Settings
from recollect.store.sqlite.vault_files import header_at
from recollect.vaults.keys import (
    Keys,
    derive_key,
    lock_vault,
    rekey_vault,
    sealed_with,
    unlock_vault,
)

OFF = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))
PASSPHRASE = "a passphrase for measuring"
RECIPES = ("blend", "router", "vault")
QUERIES = 60
ROUNDS = 2


def lines(memories: int) -> list[bytes]:
    """Return memories of some hundred words, with word frequencies as in texts: few often, most
    rarely."""
    chance = random.Random(3)
    vocabulary = [f"w{number:05}" for number in range(20_000)]
    weights = [1 / (rank + 10) for rank in range(len(vocabulary))]
    return [
        b'{"id": "m%d", "title": "%s", "text": "%s", "tags": ["t%d"]}'
        % (
            number,
            " ".join(chance.choices(vocabulary, weights, k=6)).encode(),
            " ".join(chance.choices(vocabulary, weights, k=120)).encode(),
            number % 200,
        )
        for number in range(memories)
    ]


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def opened_vault(path: Path) -> Recollect:
    locked = path.exists() and header_at(path) is not None
    return Recollect(
        path, home=path.parent, settings=OFF, passphrase=PASSPHRASE if locked else None
    )


def searches(places: dict[str, Path]) -> dict[str, dict[str, float]]:
    """Return the median CPU milliseconds of a search; each query on both vaults in turn, so that
    other work of the machine disturbs both alike."""
    chance = random.Random(4)
    asked = [f"w{chance.randrange(3000):05} w{chance.randrange(3000):05}" for _ in range(QUERIES)]
    times_of: dict[str, dict[str, float]] = {name: {} for name in places}
    with ExitStack() as stack:
        opened = {name: stack.enter_context(opened_vault(path)) for name, path in places.items()}
        for recipe in RECIPES:
            spent: dict[str, list[float]] = {name: [] for name in places}
            for query in asked:
                for name, memory in opened.items():
                    start = time.process_time()
                    memory.search(query, recipe=recipe)
                    spent[name].append(1000 * (time.process_time() - start))
            for name, times in spent.items():
                times_of[name][f"{recipe}, ms"] = statistics.median(times)
    return times_of


def saves(path: Path) -> float:
    with opened_vault(path) as memory:
        spent = [timed(lambda n=n: memory.save(title=f"saved {n}")) for n in range(50)]  # type: ignore[misc]
    return 1000 * statistics.median(spent)


def imported(folder: Path, written: list[bytes], *, lock: bool) -> float:
    """Import into a new vault, which is kept for the searches."""
    path = folder / "vault.db"
    path.unlink(missing_ok=True)
    if lock:
        lock_vault(path, Keys(OFF.vault, {}, PASSPHRASE), lambda: sealed_with(PASSPHRASE))
    with opened_vault(path) as memory:
        start = time.process_time()
        memory.import_lines(raw_lines(written))
        return time.process_time() - start


def main() -> None:
    memories = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    written = lines(memories)
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        places = {"open": Path(one) / "vault.db", "locked": Path(other) / "vault.db"}
        found: dict[str, dict[str, float]] = {}
        for name, path in places.items():
            rounds = [imported(path.parent, written, lock=name == "locked") for _ in range(ROUNDS)]
            found[name] = {"import, s": min(rounds), "size, MB": path.stat().st_size / 1e6}
        for name, times in searches(places).items():
            found[name] |= times | {"save, wall, ms": saves(places[name])}
        print(f"{memories} memories{'':<16} open   locked  ratio")
        for name, value in found["open"].items():
            locked = found["locked"][name]
            print(f"{name:<24} {value:8.2f} {locked:8.2f} {locked / value:6.2f}")
        path = Path(one) / "vault.db"
        keys = Keys(OFF.vault, {}, PASSPHRASE)
        new = sealed_with(PASSPHRASE)
        print(f"{'Argon2id':<24} {timed(lambda: derive_key(PASSPHRASE, new.header)):8.2f} s")
        print(f"{'lock':<24} {timed(lambda: lock_vault(path, keys, lambda: new)):8.2f} s")
        again = sealed_with(PASSPHRASE)
        print(f"{'rekey':<24} {timed(lambda: rekey_vault(path, keys, lambda: again)):8.2f} s")
        print(f"{'unlock':<24} {timed(lambda: unlock_vault(path, keys)):8.2f} s")


if __name__ == "__main__":
    main()
