"""Measure the cost of history: a save and an edit with and without it, the growth of a vault by
edits, and reading it back. Costs are ratios, taken in turn in one process; the best of several
rounds."""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

from msgspec.structs import replace

from recollect import Recollect
from recollect.ingest.draft import make_draft
from recollect.settings import Embedding, Rerank, Settings
from recollect.store.sqlite.store import SqliteStore

OFF = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))
START = datetime(2026, 1, 1, tzinfo=UTC)
WORDS = [f"word{number:04}" for number in range(4_000)]
EDITS = 10


def text(chance: Random) -> str:
    return " ".join(chance.choices(WORDS, k=90))


def edited(chance: Random, before: str) -> str:
    """Return the text with a tenth of its words replaced, in one place."""
    words = before.split()
    start = chance.randrange(len(words) - 9)
    words[start : start + 9] = chance.choices(WORDS, k=9)
    return " ".join(words)


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def single_writes(folder: Path, rounds: int) -> None:
    """Time a save and an edit, in turn with history and without."""
    chance = Random(1)
    vaults = {}
    for kept in (True, False):
        vaults[kept] = Recollect(folder / f"{kept}.db", home=folder, settings=OFF)
        vaults[kept].store.keeps_history = kept
    best: dict[tuple[str, bool], float] = {}
    for number in range(rounds):
        words, new = text(chance), text(chance)
        for kept, memory in sorted(vaults.items(), reverse=number % 2 == 0):
            store = memory.save
            times = {
                "save": timed(lambda: store(id=f"m{number}", title=f"T{number}", text=words)),  # noqa: B023
                "edit": timed(lambda: memory.edit(f"m{number}", text=new)),  # noqa: B023
            }
            for what, seconds in times.items():
                best.setdefault((what, kept), 9.0)
                best[what, kept] = min(best[what, kept], seconds)
    for what in ("save", "edit"):
        ratio = best[what, True] / best[what, False]
        print(f"{what}: {best[what, True] * 1e3:.2f} ms, {ratio:.2f} x without history")
    for memory in vaults.values():
        memory.close()


def bulk_save(folder: Path, size: int) -> None:
    """Time many memories in one write, in turn with history and without."""
    chance = Random(2)
    best = {True: 99.0, False: 99.0}
    for round_ in range(3):
        drafts = [make_draft({"id": f"r{round_}-{n}", "text": text(chance)}) for n in range(size)]
        for kept in (True, False):
            with Recollect(folder / f"bulk{round_}{kept}.db", home=folder, settings=OFF) as memory:
                memory.store.keeps_history = kept
                best[kept] = min(best[kept], timed(lambda: memory.save_all(drafts)))  # noqa: B023
    print(f"{size:,} in one write: {best[True] / best[False]:.2f} x without history")


def growth(folder: Path, size: int) -> None:
    """Edit every memory ten times, a hundred a write; then read it back."""
    chance, changed = Random(3), 0
    now = [START]
    file = folder / "growth.db"
    with Recollect(file, home=folder, settings=OFF, clock=lambda: now[0]) as memory:
        texts = [text(chance) for _ in range(size)]
        for start in range(0, size, 1_000):
            some = range(start, min(start + 1_000, size))
            memory.save_all([make_draft({"id": f"m{n}", "text": texts[n]}) for n in some])
        tables = _tables(memory.store)
        for _ in range(EDITS):
            now[0] += timedelta(days=1)
            for n in range(size):
                texts[n], before = edited(chance, texts[n]), texts[n]
                changed += len(before)
            for start in range(0, size, 100):
                with memory.session.writing("edit") as write:
                    ids = [f"m{n}" for n in range(start, min(start + 100, size))]
                    for id, stored in write.find(ids).items():
                        after = {"text": texts[int(id[1:])], "updated_at": now[0]}
                        write.replace(stored, replace(stored.memory, **after))
        grown = _tables(memory.store) - tables
        share = grown / changed
        print(f"{size:,} x {EDITS} edits: {grown:,} bytes, {share:.2f} x the changed texts,")
        print(f"  {share * 10:.2f} x the words that changed in them (a tenth)")
        one = min(timed(lambda: memory.history("m5")) for _ in range(20))
        print(f"history of a memory with {EDITS + 1} versions: {one * 1e3:.2f} ms")
        for days in (1, EDITS):
            since = START + timedelta(days=EDITS - days)
            taken = min(timed(lambda: memory.store.history.changed_since(since)) for _ in range(3))  # noqa: B023
            print(f"changed_since, {size * days:,} changes: {taken * 1e3:.0f} ms")


def _tables(store: SqliteStore) -> int:
    """Return the bytes of the tables of history and their indexes."""
    names = "'writes', 'versions', 'writes_at', 'writes_undoes', 'versions_write'"
    sql = f"SELECT coalesce(sum(pgsize), 0) FROM dbstat WHERE name IN ({names})"
    [(size,)] = store.database.rows(sql)
    assert isinstance(size, int)
    return size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=200)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        single_writes(Path(folder), args.rounds)
        bulk_save(Path(folder), min(args.memories, 2_000))
        growth(Path(folder), args.memories)


if __name__ == "__main__":
    main()
