"""Measure the import rate: `recollect import` against bare inserts of the same rows, and against
LanceDB.

python benchmarks/bench_import.py [--passages 100000] [--rounds 2] [--lancedb PYTHON] [--beside]

The bare script writes the same rows into the same tables (memories, the FTS5 tables through the
triggers, the vocabulary) in one transaction, with the rows prepared in memory. LanceDB makes a
table and its full-text index like `peer_drivers/lancedb_words.py`, with the rows prepared in
memory; `--lancedb` names the Python of an environment that has it. They take turns, and the best
round of each counts. Seconds of all cores include a command's worker processes.

`--beside` instead imports once, and prints the peak memory of the command and of each worker, and
how long another process that saves again and again waits for each save meanwhile.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import apsw

from bench_folders import resident
from data import data_argument, median, passages
from recollect import Recollect
from recollect.store.sqlite.connection import Database


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    data_argument(parser)
    parser.add_argument("--passages", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--lancedb", help="the Python of an environment that has LanceDB")
    parser.add_argument("--beside", action="store_true", help="memory, and how long others wait")
    args = parser.parse_args()
    rows = passages(args.data, args.passages)
    if args.beside:
        with tempfile.TemporaryDirectory() as name:
            beside(written(rows, Path(name)), Path(name, "home"))
        return
    spent: dict[str, list[Spent]] = {}
    for _ in range(args.rounds):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            file = written(rows, folder)
            spent.setdefault("recollect import", []).append(timed_import(file, folder / "home"))
            bare = timed_bare(folder / "home" / "vault.db", folder / "bare.db")
            spent.setdefault("bare inserts", []).append(bare)
            if args.lancedb:
                lance = timed_lancedb(args.lancedb, file, folder / "lance")
                spent.setdefault("LanceDB", []).append(lance)
    best = {what: min(every) for what, every in spent.items()}
    ours = best.pop("recollect import")
    print(f"passages            {len(rows):>10,}")
    report("recollect import", len(rows), ours)
    for what, other in best.items():
        report(what, len(rows), other)
        print(f"  rate, ours / its  {other.wall / ours.wall:>10.2f}  (at least 0.5)")


def written(rows: list[dict[str, str]], folder: Path) -> Path:
    file = folder / "memories.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


class Spent(NamedTuple):
    """Elapsed seconds, and CPU seconds of all cores together."""

    wall: float
    cores: float


def report(what: str, rows: int, spent: Spent) -> None:
    rate = f"{rows / spent.wall:>10,.0f} a second"
    print(f"{what:<20}{rate}  ({spent.wall:.1f} s, {spent.cores:.1f} s of all cores)")


def timed_import(file: Path, home: Path) -> Spent:
    """Time the whole command, start-up included."""
    start, before = time.perf_counter(), os.times()
    started_import(file, environment_of(home)).wait()
    wall, after = time.perf_counter() - start, os.times()
    cores = after.children_user + after.children_system
    return Spent(wall, cores - before.children_user - before.children_system)


def environment_of(home: Path) -> dict[str, str]:
    return os.environ | {"RECOLLECT_HOME": str(home), "RECOLLECT_EMBEDDING__PROVIDER": "none"}


def started_import(file: Path, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    command = [str(Path(sys.executable).with_name("recollect")), "import", str(file)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)


def beside(file: Path, home: Path) -> None:
    environment = environment_of(home)
    peaks: dict[int, int] = {}
    waits: list[float] = []
    with Recollect(home=home, environment=environment) as memory:
        memory.save(title="A note before the import")
        process = started_import(file, environment)
        while process.poll() is None:
            for pid in (process.pid, *_children(process.pid)):
                with suppress(ValueError):  # it has ended
                    peaks[pid] = max(peaks.get(pid, 0), round(resident(pid, "VmHWM")))
            start = time.perf_counter()
            memory.save(title=f"Note {len(waits)} beside the import")
            waits.append(time.perf_counter() - start)
            time.sleep(0.05)
    command = peaks.pop(process.pid)
    print(f"memory of the command       {command:>8,} MB")
    print(f"memory of each worker       {', '.join(map(str, peaks.values())):>8} MB")
    print(f"saves meanwhile             {len(waits):>8,}")
    print(f"a save waits, p50 and most  {median(waits) * 1000:>8.0f} ms, {max(waits):.1f} s")


def _children(parent: int) -> Iterator[int]:
    for place in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(place.read_text().rpartition(")")[2].split()[1]) == parent:
                yield int(place.parent.name)


LANCEDB = """
import json, sys, time
sys.path.insert(0, sys.argv[1])
from lancedb_words import load
rows = [json.loads(line) for line in open(sys.argv[2], encoding="utf-8")]
start, before = time.perf_counter(), time.process_time()
load(sys.argv[3], rows)
print(time.perf_counter() - start, time.process_time() - before)
"""


def timed_lancedb(python: str, file: Path, folder: Path) -> Spent:
    """Time loading and indexing alone, without start-up and parsing."""
    drivers = str(Path(__file__).with_name("peer_drivers"))
    command = [python, "-c", LANCEDB, drivers, str(file), str(folder)]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return Spent(*map(float, said.split()))


def timed_bare(imported: Path, fresh: Path) -> Spent:
    """Copy the rows that the import made into an empty vault, by plain SQL."""
    source = apsw.Connection(str(imported), apsw.SQLITE_OPEN_READONLY)
    memories = source.execute("SELECT * FROM memories ORDER BY key").fetchall()
    vocabulary = source.execute("SELECT * FROM vocabulary ORDER BY token").fetchall()
    source.close()
    places = ", ".join("?" for _ in memories[0])
    database = Database(fresh)
    start, before = time.perf_counter(), time.process_time()
    with database.writing() as connection:
        connection.executemany(f"INSERT INTO memories VALUES ({places})", memories)
        connection.executemany("INSERT INTO vocabulary VALUES (?, ?)", vocabulary)
    spent = Spent(time.perf_counter() - start, time.process_time() - before)
    database.close()
    return spent


if __name__ == "__main__":
    main()
