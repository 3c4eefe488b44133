"""Start-up: whole commands against `python -c pass`, on a vault of 10,000 memories.

Each is run many times, interleaved, so that a busy machine slows all of them alike; medians.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from data import data_argument, median, passages
from recollect import Recollect
from recollect.ingest.draft import draft

WANTED = {"recollect --version": 3.0, "recollect search --json": 8.0}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    data_argument(parser)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=40)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        environment = os.environ | {
            "RECOLLECT_HOME": home,
            "RECOLLECT_EMBEDDING__PROVIDER": "none",
            "RECOLLECT_RERANK__PROVIDER": "none",
        }
        with Recollect(home=home, environment=environment) as memory:
            memory.save_all([draft(row) for row in passages(args.data, args.memories)])
        times = measured(environment, args.runs)
    bare = median(times["python -c pass"])
    for name, spent in times.items():
        ratio = median(spent) / bare
        wanted = f"  (at most {WANTED[name]:g} ×)" if name in WANTED else ""
        print(f"{name:<26}{median(spent) * 1000:>8.1f} ms{ratio:>8.2f} ×{wanted}")


def measured(environment: dict[str, str], runs: int) -> dict[str, list[float]]:
    recollect = str(Path(sys.executable).with_name("recollect"))
    query = ["search", "world championship long-distance runner", "--recipe", "vault", "--json"]
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "recollect --version": [recollect, "--version"],
        "recollect search --json": [recollect, *query],
    }
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(runs):
        for name, command in commands.items():
            start = time.perf_counter()
            subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
            times[name].append(time.perf_counter() - start)
    return times


if __name__ == "__main__":
    main()
