"""Start-up: whole commands against `python -c pass`, on a vault of 10,000 memories; a search by a
running server; the MCP server until its first answer.

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
from recollect.ingest.draft import draft

WANTED = {
    "recollect --version": 1.48,
    "recollect search --json": 6.0,
    "the same by a server": 4.0,
}
MCP = "recollect mcp, to answer"
FIRST_ANSWER_MS = 250
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
        with Recollect(home=home, environment=environment) as memory:
            memory.save_all([draft(row) for row in passages(args.data, args.memories)])
        times = measured(environment, args.runs)
    bare = median(times["python -c pass"])
    for name, spent in times.items():
        wanted = f"  (at most {WANTED[name]:g} ×)" if name in WANTED else ""
        if name == MCP:
            wanted = f"  (at most {FIRST_ANSWER_MS} ms)"
        print(f"{name:<26}{median(spent) * 1000:>8.1f} ms{median(spent) / bare:>8.2f} ×{wanted}")


def compile_package() -> None:
    """Compile what changed since it was last imported: else every start would."""
    compileall.compile_dir(str(Path(recollect.__file__).parent), quiet=1)


def measured(environment: dict[str, str], runs: int) -> dict[str, list[float]]:
    query = ["search", "world championship long-distance runner", "--recipe", "vault", "--json"]

    def run(*command: str) -> Callable[[], None]:
        return lambda: _run(command, environment)

    works: dict[str, Callable[[], None]] = {
        "python -c pass": run(sys.executable, "-c", "pass"),
        "recollect --version": run(RECOLLECT, "--version"),
        "recollect search --json": run(RECOLLECT, *query, "--no-server"),
        "the same by a server": run(RECOLLECT, *query),
        MCP: lambda: _first_answer(environment),
    }
    times: dict[str, list[float]] = {name: [] for name in works}
    serve = [RECOLLECT, "serve", "--port", "0"]
    with subprocess.Popen(serve, env=environment, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        while b"Log in" not in server.stdout.readline():
            pass
        for _ in range(runs):
            for name, work in works.items():
                start = time.perf_counter()
                work()
                times[name].append(time.perf_counter() - start)
        server.terminate()
    return times


def _run(command: tuple[str, ...], environment: dict[str, str]) -> None:
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)


def _first_answer(environment: dict[str, str]) -> None:
    """Start the server and read its first answer; nobody waits until it ends."""
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
