"""Compare a search as of an earlier moment with the same search now, in one process, in turn: with
few and with many changes since. Half of the changes are edits, the rest new and forgotten memories.

The first search as of a moment reads the changes since; later ones reuse them. Times are CPU times:
of the first search its own, of the others the medians of the best of some rounds.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial

from data import data_argument, median, passages, questions
from recollect import Recollect
from recollect.ingest.draft import make_draft
from recollect.ingest.exchange import raw_lines
from recollect.settings import Embedding, Rerank, Settings

SETTINGS = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))
START = datetime(2026, 1, 1, tzinfo=UTC)
CHANGES = (100, 5_000)
RECIPES = ("blend", "vault", "covalence", "echovault")
ROUNDS = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    data_argument(parser)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--queries", type=int, default=100)
    args = parser.parse_args()
    rows = passages(args.data, args.memories + max(CHANGES))
    for changes in CHANGES:
        with tempfile.TemporaryDirectory() as home:
            report(home, rows[: args.memories], rows[args.memories :], changes, args)


def report(
    home: str,
    rows: list[dict[str, str]],
    others: list[dict[str, str]],
    changes: int,
    args: argparse.Namespace,
) -> None:
    at = [START]
    with Recollect(home=home, settings=SETTINGS, environment={}, clock=lambda: at[0]) as memory:
        memory.import_lines(raw_lines(json.dumps(row).encode() for row in rows))
        then = at[0]
        at[0] += timedelta(days=1)
        change(memory, others[:changes])
        asked = questions(args.data, args.queries)
        print(f"{len(rows):,} memories, {changes:,} changes since")
        first = timed(lambda: memory.search(asked[0], as_of=then))
        print(f"  the first search as of then       {first:9.1f} ms")
        for recipe in RECIPES:
            compare(
                recipe,
                asked,
                partial(memory.search, recipe=recipe),
                partial(memory.search, recipe=recipe, as_of=then),
            )
        compare(
            "a page of a list",
            [""] * 20,
            lambda _: memory.list(limit=20),
            lambda _: memory.list(limit=20, as_of=then),
        )


def change(memory: Recollect, rows: list[dict[str, str]]) -> None:
    """Make changes: half of them edits, the rest new and forgotten memories."""
    ids = [found.id for found in memory.list(limit=len(rows))]
    quarter = len(rows) // 4
    for id, row in zip(ids[: 2 * quarter], rows, strict=False):
        memory.edit(id, text=row["text"])
    memory.forget(ids[2 * quarter : 3 * quarter])
    memory.save_all([make_draft(dict(row)) for row in rows[-quarter:]])


def compare(
    name: str, asked: list[str], now: Callable[[str], object], then: Callable[[str], object]
) -> None:
    both = [
        [min(timed(partial(ask, text)) for _ in range(ROUNDS)) for ask in (now, then)]
        for text in asked
    ]
    present, past = (median([*times]) for times in zip(*both, strict=True))
    ratio = f"{past / present:6.2f} ×" if present else ""
    print(f"  {name:<18} now {present:8.2f} ms, as of then {past:8.2f} ms {ratio}")


def timed(call: Callable[[], object]) -> float:
    """Return the CPU time of a call, in milliseconds."""
    start = time.process_time()
    call()
    return 1000 * (time.process_time() - start)


if __name__ == "__main__":
    main()
