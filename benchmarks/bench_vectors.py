"""The vector channel on real embeddings of scale-wiki: exact numpy against Recollect's index.

Time of the 64 nearest (matrix product and argpartition against `store.vectors.nearest`), recall
against the exact answer, and recall with a filter that keeps one memory in a hundred.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from data import data_argument, median
from embeddings import cache_argument, embedded
from recollect.ingest.draft import Draft
from recollect.ingest.saving import save_drafts
from recollect.store.sqlite.store import SqliteStore
from recollect.times import EPOCH
from recollect.types import Filter

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

Answer = TypeVar("Answer")
MODEL = "bench"
NEAREST = 64
EVERYTHING = Filter()
ONE_IN_A_HUNDRED = Filter(project="rare")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    data_argument(parser)
    cache_argument(parser)
    parser.add_argument("--passages", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=300)
    args = parser.parse_args()
    vectors, queries = embedded(args.data, args.cache, args.passages)
    with tempfile.TemporaryDirectory() as folder:
        store = filled(Path(folder) / "vault.db", vectors)
        report(store, vectors, queries[: args.queries])
        store.close()


def filled(path: Path, vectors: Floats) -> SqliteStore:
    """A vault with a short memory for every vector; every hundredth is of project `rare`."""
    store = SqliteStore(path)
    with store.writing() as write:
        drafts = [
            Draft({"id": f"{place:06}", "title": "x", "project": "" if place % 100 else "rare"})
            for place in range(len(vectors))
        ]
        save_drafts(write, drafts, EPOCH, lambda: None)
    rows = store.database.rows("SELECT key, id FROM memories")
    store.vectors.put(
        MODEL,
        vectors.shape[1],
        [(key, vectors[int(str(id))]) for key, id in rows],  # type: ignore[misc]
    )
    return store


def report(store: SqliteStore, vectors: Floats, queries: Floats) -> None:
    start = time.perf_counter()
    store.vectors.nearest(MODEL, queries[0], NEAREST, EVERYTHING)
    opening = time.perf_counter() - start
    # One after the other, so that neither has to work in the other's cache or beside its threads.
    exact, every_expected = timed(lambda query: exact_nearest(vectors, query), queries)
    ours, every_found = timed(
        lambda query: store.vectors.nearest(MODEL, query, NEAREST, EVERYTHING), queries
    )
    hits10, hits64, rare = [], [], []
    every = np.arange(0, len(vectors), 100)
    for query, expected, found in zip(queries, every_expected, every_found, strict=True):
        places = [int(near.memory_id) for near in found]
        hits10.append(len({*places[:10]} & {*expected[:10].tolist()}) / 10)
        hits64.append(len({*places} & {*expected.tolist()}) / NEAREST)
        kept = store.vectors.nearest(MODEL, query, 10, ONE_IN_A_HUNDRED)
        wanted = every[exact_nearest(vectors[every], query)[:10]].tolist()
        rare.append(len({int(near.memory_id) for near in kept} & {*wanted}) / 10)
    print(f"vectors                     {len(vectors):>10,} × {vectors.shape[1]}")
    print(f"reading the index           {opening:>10.2f} s")
    print(f"exact numpy, p50            {median(exact) * 1000:>10.3f} ms")
    print(f"vector channel, p50         {median(ours) * 1000:>10.3f} ms")
    print(f"channel / numpy             {median(ours) / median(exact):>10.3f}  (at most 0.15)")
    print(f"recall@10                   {np.mean(hits10):>10.4f}  (at least 0.99)")
    print(f"recall@64                   {np.mean(hits64):>10.4f}")
    print(f"recall@10, 1 % pass         {np.mean(rare):>10.4f}  (1.0)")


def timed(ask: Callable[[Floats], Answer], queries: Floats) -> tuple[list[float], list[Answer]]:
    """The time and the answer of every query."""
    times, answers = [], []
    for query in queries:
        start = time.perf_counter()
        answers.append(ask(query))
        times.append(time.perf_counter() - start)
    return times, answers


def exact_nearest(vectors: Floats, query: Floats) -> NDArray[np.intp]:
    """The nearest 64, best first: what the index is measured against."""
    scores = vectors @ query
    best = np.argpartition(scores, len(scores) - NEAREST)[-NEAREST:]
    ordered: NDArray[np.intp] = best[np.argsort(-scores[best])]
    return ordered


if __name__ == "__main__":
    main()
