"""Compare Recollect's vector index with exact numpy, on real embeddings of scale-wiki.

Time to open the index, time of the 64 nearest (matrix product and argpartition against
`store.vectors.nearest`, one after the other for each query), and recall against the exact answer:
without a filter, and with filters that 1 % and 10 % of the memories pass. With `--memory`, also the
peak memory of a server process and of a one-shot search, each with its models. Passages beyond
`--real` are copies of the real embeddings with noise.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from data import CHANGE, data_argument
from embeddings import BATCH, cache_argument, copied, embedded, embedder
from recollect.ingest.draft import Draft
from recollect.ingest.saving import save_drafts
from recollect.store.sqlite.store import SqliteStore
from recollect.times import EPOCH
from recollect.types import Filter

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

NEAREST = 64
# After a product numpy's threads wait busily for the next one, on the cores that a search needs.
RESTED_S = 0.05
# Filters, the share that passes, and the target ratio to numpy with 100,000 memories.
FILTERS = {
    "every memory": (Filter(), slice(0, None, 1), 0.2),
    "10 % pass": (Filter(project="some"), slice(1, None, 10), 1.2),
    "1 % pass": (Filter(project="rare"), slice(0, None, 100), 2.0),
}
OPEN = """
import sys, time
import numpy as np
from pathlib import Path
from recollect.lifetime import Lifetime
from recollect.store.sqlite.store import SqliteStore
from recollect.types import Filter
path, model, lifetime, query = sys.argv[1:]
store = SqliteStore(Path(path), lifetime=Lifetime(lifetime))
query = np.array(query.split(","), np.float32)
start = time.perf_counter(), time.process_time()
store.vectors.nearest(model, query, 10, Filter())
print(time.perf_counter() - start[0], time.process_time() - start[1])
"""
MEMORY = """
import json, sys
from pathlib import Path
from recollect import Recollect
from recollect.lifetime import Lifetime
home, brief, asked = json.loads(sys.argv[1])
with Recollect(home=home, lifetime=Lifetime.ONCE if brief else Lifetime.SERVER) as memory:
    for text in asked:
        response = memory.search(text, limit=10)
        assert len(response) == 10, response
status = Path("/proc/self/status").read_text()
print(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    data_argument(parser)
    cache_argument(parser)
    parser.add_argument("--passages", type=int, default=100_000)
    parser.add_argument("--real", type=int, default=100_000, help="so many are embedded")
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--memory", action="store_true", help="measure the most memory taken, too")
    parser.add_argument("--home", type=Path, help="keep the vault here, or use the one that is")
    args = parser.parse_args()
    real, queries = embedded(args.data, args.cache, min(args.passages, args.real))
    vectors = copied(real, args.passages)
    with tempfile.TemporaryDirectory() as made:
        home = args.home or Path(made)
        path = home / "vault.db"
        if not path.exists():
            filled(path, vectors).close()
        report_opening(path, queries[0])
        store = SqliteStore(path)
        report(store, vectors, queries[: args.queries])
        store.close()
        if args.memory:
            del vectors
            report_memory(home)


def filled(path: Path, vectors: Floats) -> SqliteStore:
    """Make a vault with a short memory for every vector, in the project of a filter or in none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    making = path.with_name("making.db")
    making.unlink(missing_ok=True)
    store = SqliteStore(making)
    model = embedder().identity
    for first in range(0, len(vectors), BATCH):
        places = range(first, min(first + BATCH, len(vectors)))
        drafts = [
            Draft({"id": f"{place:07}", "title": f"note {place}", "project": project(place)})
            for place in places
        ]
        with store.writing(CHANGE) as write:
            save_drafts(write, drafts, EPOCH, lambda: None)
        rows = store.database.rows("SELECT key, id FROM memories WHERE id >= ?", f"{first:07}")
        store.vectors.put(
            model,
            vectors.shape[1],
            [(key, vectors[int(str(id))]) for key, id in rows],  # type: ignore[misc]
        )
        print(f"saved {places.stop:,} of {len(vectors):,}", file=sys.stderr, flush=True)
    store.close()
    shutil.move(making, path)
    return SqliteStore(path)


def project(place: int) -> str:
    return "some" if place % 10 == 1 else "" if place % 100 else "rare"


def report_opening(path: Path, query: Floats) -> None:
    """Time the first search of a new process, which reads the codes: the best of three."""
    text = ",".join(map(str, query.tolist()))
    for lifetime in ("once", "server"):
        command = [sys.executable, "-c", OPEN, str(path), embedder().identity, lifetime, text]
        times = [
            tuple(map(float, subprocess.check_output(command, text=True).split())) for _ in range(3)
        ]
        wall, cpu = (min(column) * 1000 for column in zip(*times, strict=True))
        print(f"first search, {lifetime:<14}{wall:>10.0f} ms (CPU {cpu:.0f} ms; at most 300)")


def report(store: SqliteStore, vectors: Floats, queries: Floats) -> None:
    model = embedder().identity
    print(f"vectors                     {len(vectors):>10,} × {vectors.shape[1]}")
    for name, (filter, passing, aim) in FILTERS.items():
        rows, places = np.ascontiguousarray(vectors[passing]), np.arange(len(vectors))[passing]
        early = []
        for query in queries[:2]:
            start = clocks()
            store.vectors.nearest(model, query, NEAREST, filter)
            early.append((clocks() - start)[1] * 1000)
        exact, ours, hits10, hits64 = [], [], [], []
        for query in queries:
            start = clocks()
            expected = places[exact_nearest(rows, query)].tolist()
            ended = clocks()
            time.sleep(RESTED_S)
            middle = clocks()
            found = store.vectors.nearest(model, query, NEAREST, filter)
            ours.append(clocks() - middle)
            exact.append(ended - start)
            ids = [int(near.memory_id) for near in found]
            hits10.append(len({*ids[:10]} & {*expected[:10]}) / 10)
            hits64.append(len({*ids} & {*expected}) / NEAREST)
        print(f"{name}\n  the first two searches, CPU {early[0]:>7.1f} ms{early[1]:>9.1f} ms")
        for kind, summary in (("least", np.min), ("p50", np.median)):
            for clock, numpy, channel in zip(
                ("", "CPU"), summary(exact, axis=0), summary(ours, axis=0), strict=True
            ):
                print(
                    f"  exact numpy, channel, {clock:>3} {kind:<6}{numpy * 1000:>9.2f} ms"
                    f"{channel * 1000:>9.2f} ms, ratio {channel / numpy:.3f} (aim {aim})"
                )
        print(f"  recall@10, @64            {np.mean(hits10):>10.4f}{np.mean(hits64):>10.4f}")


def clocks() -> NDArray[np.float64]:
    """Return the time, and the CPU time of all threads, which is better on a busy machine."""
    return np.array([time.perf_counter(), time.process_time()])


def report_memory(home: Path) -> None:
    """Print the peak memory of a process that served some searches, and of a one-shot search;
    reranked."""
    asked = ["how do vectors work", "what was decided about the index", "a note on memory"]
    environment = os.environ | {"RECOLLECT_HOME": str(home)}
    for name, brief, texts in (("serving", False, asked), ("one-shot", True, asked[:1])):
        command = [sys.executable, "-c", MEMORY, json.dumps([str(home), brief, texts])]
        answer = subprocess.check_output(command, text=True, env=environment)
        print(f"memory, {name:<20}{int(answer) / 1024:>10.0f} MB")


def exact_nearest(vectors: Floats, query: Floats) -> NDArray[np.intp]:
    """Return the nearest 64, best first, by exact comparison."""
    scores = vectors @ query
    best = np.argpartition(scores, len(scores) - NEAREST)[-NEAREST:]
    ordered: NDArray[np.intp] = best[np.argsort(-scores[best])]
    return ordered


if __name__ == "__main__":
    main()
