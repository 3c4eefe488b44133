"""Counts, lists and checks of a large vault, against bare SQL on the same tables in the same run.

Facets, days and stats against one `GROUP BY` over the memories; a page of a list in the middle of
it against the first page, and against the same page by OFFSET; the doctor, quick and whole, against
SQLite's own check of the file. The memories are short and made here, with fifty projects, five
kinds, ten sources, two hundred tags and two years of days. Times are the processor's, of the best
of several rounds in turn; the whole check's is the clock's, since it uses two cores.
"""

from __future__ import annotations

import argparse
import random
import shutil
import tempfile
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from data import CHANGE
from recollect.store.sqlite.memories import BROWSING, DAY_OF
from recollect.store.sqlite.store import SqliteStore
from recollect.times import EPOCH
from recollect.types import Filter, Memory, place_of

NOW = EPOCH + timedelta(days=20_000)
DAYS = 730
BATCH = 20_000
PAGE = 20
ROUNDS = 5
GROUPED = "SELECT project, count(*) FROM memories m WHERE forgotten_at IS NULL GROUP BY 1"
BY_DAY = f"""
    SELECT {DAY_OF.format("created_at")}, count(*) FROM memories m
     WHERE forgotten_at IS NULL GROUP BY 1"""
BY_OFFSET = f"""
    SELECT id FROM memories m WHERE forgotten_at IS NULL ORDER BY {BROWSING} LIMIT ? OFFSET ?"""


def made(count: int, vault: Path) -> SqliteStore:
    """Make a vault with this number of memories."""
    chance = random.Random(1)
    words = [f"word{number}" for number in range(20_000)]
    tags = [f"tag{number}" for number in range(200)]
    store = SqliteStore(vault)
    for start in range(0, count, BATCH):
        with store.writing_many(CHANGE) as write:
            for number in range(start, min(start + BATCH, count)):
                at = NOW - timedelta(seconds=chance.randrange(DAYS * 86_400))
                memory = Memory(
                    id=f"m{number}",
                    title=" ".join(chance.choices(words, k=4)),
                    text=" ".join(chance.choices(words, k=12)),
                    project=f"project{chance.randrange(50)}",
                    kind=chance.choice(("fact", "decision", "bug", "note", "session")),
                    source=f"source{chance.randrange(10)}",
                    tags=tuple(chance.sample(tags, 2)),
                    tier=chance.choices(("core", "capture", "file"), (1, 20, 10))[0],
                    created_at=at,
                    updated_at=at,
                    valid_until=NOW + timedelta(days=9) if number % 100 == 0 else None,
                )
                write.add(memory)
    return store


def best(*asks: Callable[[], object]) -> list[float]:
    """Return the CPU time of each call, in milliseconds: the best of some rounds in turn."""
    found = [float("inf")] * len(asks)
    for _ in range(ROUNDS):
        for place, ask in enumerate(asks):
            start = time.process_time()
            ask()
            found[place] = min(found[place], 1000 * (time.process_time() - start))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--vault", type=Path, help="use this vault, and make it if it is not there")
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    path = args.vault or folder / "vault.db"
    start = time.process_time()
    store = SqliteStore(path) if path.exists() else made(args.memories, path)
    try:
        memories = store.vocabulary.documents()
        print(f"{memories:,} memories; opened or made in {time.process_time() - start:.0f} s")
        counts(store)
        pages(store, memories)
        checks(store, memories)
    finally:
        store.close()
        shutil.rmtree(folder)


def counts(store: SqliteStore) -> None:
    asks: dict[str, Callable[[], object]] = {
        "facets": lambda: store.memories.facets(Filter(), NOW),
        "facets of a project": lambda: store.memories.facets(Filter(project="project1"), NOW),
        "facets of a kind": lambda: store.memories.facets(Filter(kind="fact"), NOW),
        "facets of both": lambda: store.memories.facets(
            Filter(project="project1", kind="fact"), NOW
        ),
        "days": lambda: store.memories.dates(Filter()),
        "days of a project": lambda: store.memories.dates(Filter(project="project1")),
        "stats": store.counts,
    }
    grouped, by_day, *found = best(
        lambda: store.database.rows(GROUPED), lambda: store.database.rows(BY_DAY), *asks.values()
    )
    print(f"{'GROUP BY project, bare':<24} {grouped:9.1f} ms")
    print(f"{'GROUP BY day, bare':<24} {by_day:9.1f} ms")
    for name, spent in zip(asks, found, strict=True):
        print(f"{name:<24} {spent:9.1f} ms  {spent / by_day:6.3f} of GROUP BY day")


def pages(store: SqliteStore, memories: int) -> None:
    [(middle,)] = store.database.rows(BY_OFFSET, 1, memories // 2)
    place = place_of(store.memories.get([str(middle)])[str(middle)])
    filters = {
        "list": Filter(),
        "list of a project": Filter(project="project1"),
        "list of a kind": Filter(kind="bug"),
    }
    for name, filter in filters.items():
        first, deep = best(
            lambda filter=filter: store.memories.browse(filter, PAGE),  # type: ignore[misc]
            lambda filter=filter: store.memories.browse(filter, PAGE, place),  # type: ignore[misc]
        )
        print(f"{name:<24} {first:9.2f} ms  first page; in the middle {deep:.2f} ms")
    [by_offset] = best(lambda: store.database.rows(BY_OFFSET, PAGE, memories // 2))
    print(f"{'the same by OFFSET':<24} {by_offset:9.2f} ms")


def checks(store: SqliteStore, memories: int) -> None:
    [quick] = best(store.glance)
    print(f"{'doctor --quick':<24} {quick:9.1f} ms")
    start = time.perf_counter(), time.process_time()
    wrong = [finding for finding in store.examine() if finding.problem]
    wall, spent = time.perf_counter() - start[0], time.process_time() - start[1]
    assert not wrong, wrong
    began = time.process_time()
    store.database.rows("PRAGMA integrity_check")
    own = time.process_time() - began
    print(
        f"{'doctor':<24} {wall:9.1f} s   {memories / wall:,.0f} memories a second; "
        f"{spent:.1f} s of the processor, {spent / own:.1f} of PRAGMA integrity_check"
    )


if __name__ == "__main__":
    main()
