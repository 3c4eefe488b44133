"""Import rate: `recollect import` against a bare script that inserts the same rows.

The bare script writes the same rows into the same tables (memories, both FTS indexes through the
triggers, the vocabulary) in one transaction, with the rows ready made in memory.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import apsw

from data import data_argument, passages
from recollect.store.sqlite.connection import Database


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    data_argument(parser)
    parser.add_argument("--passages", type=int, default=100_000)
    args = parser.parse_args()
    rows = passages(args.data, args.passages)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "memories.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        ours = timed_import(file, Path(folder) / "home")
        bare = timed_bare(Path(folder) / "home" / "vault.db", Path(folder) / "bare.db")
    print(f"passages            {len(rows):>10,}")
    print(f"recollect import    {len(rows) / ours:>10,.0f} a second  ({ours:.1f} s)")
    print(f"bare inserts        {len(rows) / bare:>10,.0f} a second  ({bare:.1f} s)")
    print(f"rate, ours / bare   {bare / ours:>10.2f}  (at least 0.5)")


def timed_import(file: Path, home: Path) -> float:
    """The whole command, start-up included."""
    environment = os.environ | {
        "RECOLLECT_HOME": str(home),
        "RECOLLECT_EMBEDDING__PROVIDER": "none",
    }
    command = [str(Path(sys.executable).with_name("recollect")), "import", str(file)]
    start = time.perf_counter()
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def timed_bare(imported: Path, fresh: Path) -> float:
    """Copy the rows that the import made into an empty vault, by plain SQL."""
    source = apsw.Connection(str(imported), apsw.SQLITE_OPEN_READONLY)
    memories = source.execute("SELECT * FROM memories ORDER BY key").fetchall()
    vocabulary = source.execute("SELECT * FROM vocabulary ORDER BY token").fetchall()
    source.close()
    places = ", ".join("?" for _ in memories[0])
    database = Database(fresh)
    start = time.perf_counter()
    with database.writing() as connection:
        connection.executemany(f"INSERT INTO memories VALUES ({places})", memories)
        connection.executemany("INSERT INTO vocabulary VALUES (?, ?)", vocabulary)
    spent = time.perf_counter() - start
    database.close()
    return spent


if __name__ == "__main__":
    main()
