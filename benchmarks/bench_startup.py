"""Measure start-up: whole commands against `python -c pass`, on a vault of 10,000 memories; a
shell's completion of an id; the MCP server until its first answer.

Each is run many times, interleaved, so that a busy machine slows all of them alike; medians. The
package is compiled first, as an installer does.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import recollect
from data import data_argument, median, passages
from recollect import Recollect
from recollect.ingest.draft import make_draft

WANTED = {
    "recollect --version": 1.48,
    "recollect search --json": 9.0,
}
MCP = "recollect mcp, to answer"
COMPLETION = "completion of an id"
WANTED_MS = {MCP: 800, COMPLETION: 60}
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"},
    },
}
QUERY = ("search", "world championship long-distance runner", "--recipe", "vault", "--json")
RECOLLECT = str(Path(sys.executable).with_name("recollect"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    data_argument(parser)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=40)
    args = parser.parse_args()
    compile_package()
    with tempfile.TemporaryDirectory() as home:
        environment = os.environ | {
            "RECOLLECT_HOME": home,
            "RECOLLECT_EMBEDDING__PROVIDER": "none",
            "RECOLLECT_RERANK__PROVIDER": "none",
        }
        rows = passages(args.data, args.memories)
        with Recollect(home=home, environment=environment) as memory:
            memory.save_all([make_draft(row) for row in rows])
        tell(measured(environment, args.runs, rows[0]["id"]))


def tell(times: dict[str, list[float]], wanted: dict[str, float] = WANTED) -> None:
    """Print each median, and its ratio to Python itself."""
    bare = median(times["python -c pass"])
    for name, spent in times.items():
        limit = f"  (at most {wanted[name]:g} ×)" if name in wanted else ""
        limit = f"  (at most {WANTED_MS[name]} ms)" if name in WANTED_MS else limit
        print(f"{name:<26}{median(spent) * 1000:>8.1f} ms{median(spent) / bare:>8.2f} ×{limit}")


def compile_package() -> None:
    """Compile modules that have changed: else every start would."""
    compileall.compile_dir(str(Path(recollect.__file__).parent), quiet=1)


def commands(environment: dict[str, str], id: str) -> dict[str, Callable[[], None]]:
    """Return the one-shot commands."""

    def run(*command: str) -> Callable[[], None]:
        return lambda: _run(command, environment)

    return {
        "python -c pass": run(sys.executable, "-c", "pass"),
        "recollect --version": run(RECOLLECT, "--version"),
        "recollect search --json": run(RECOLLECT, *QUERY),
        COMPLETION: run(RECOLLECT, "completion", "--line", "show", id[:-1]),
    }


def in_turn(works: dict[str, Callable[[], None]], runs: int) -> dict[str, list[float]]:
    """Time each this number of times, one after the other."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(runs):
        for name, work in works.items():
            start = time.perf_counter()
            work()
            times[name].append(time.perf_counter() - start)
    return times


def measured(environment: dict[str, str], runs: int, id: str) -> dict[str, list[float]]:
    works = commands(environment, id)
    works[MCP] = lambda: _first_answer(environment)
    return in_turn(works, runs)


def _run(command: tuple[str, ...], environment: dict[str, str]) -> None:
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)


def _first_answer(environment: dict[str, str]) -> None:
    """Start the server and read its first answer, without waiting for its end."""
    process = subprocess.Popen(
        [RECOLLECT, "mcp"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(INITIALIZE).encode() + b"\n")
    process.stdin.flush()
    assert process.stdout.readline()
    process.kill()
    process.communicate()


if __name__ == "__main__":
    main()
