"""Measure the hooks of coding agents, at the start of a session and at a prompt, against `python -c
pass`, on a vault of 10,000 memories.

Each is run many times, interleaved, so that a busy machine slows all of them alike; medians. A hook
that ended without an answer is counted: on a busy machine a prompt's hook may run out of time.
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

from bench_startup import RECOLLECT, compile_package
from data import data_argument, median, passages
from recollect import Recollect
from recollect.ingest.draft import make_draft

PASS = "python -c pass"
WANTED_MS = {
    "start": 500,
    "prompt": 300,
}
FACT = {
    "id": "tokens",
    "title": "Mobile clients refresh access tokens with a rotating refresh token",
    "project": "harbor",
}
PROMPT = "How do we refresh the access tokens of the mobile client?"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    data_argument(parser)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=30)
    args = parser.parse_args()
    compile_package()
    with tempfile.TemporaryDirectory(prefix="rc") as folder:
        (project := Path(folder, "harbor")).mkdir()
        environment = _made(Path(folder, "home"), passages(args.data, args.memories))
        times, silent = _measured(environment, project, args.runs)
    bare = median(times[PASS])
    for name, spent in times.items():
        wanted = f"  (at most {WANTED_MS[name]} ms)" if name in WANTED_MS else ""
        none = f"  {silent[name]} of {args.runs} without an answer" if silent[name] else ""
        middle = median(spent)
        print(f"{name:<24}{middle * 1000:>8.1f} ms{middle / bare:>8.2f} ×{wanted}{none}")


def _made(home: Path, rows: list[dict[str, str]]) -> dict[str, str]:
    environment = os.environ | {
        "RECOLLECT_HOME": str(home),
        "RECOLLECT_EMBEDDING__PROVIDER": "none",
        "RECOLLECT_RERANK__PROVIDER": "none",
    }
    with Recollect(home=home, environment=environment) as memory:
        memory.save_all([make_draft(row) for row in (FACT, *rows)])
    return environment


def _measured(
    environment: dict[str, str], project: Path, runs: int
) -> tuple[dict[str, list[float]], dict[str, int]]:
    names = (PASS, *WANTED_MS)
    times: dict[str, list[float]] = {name: [] for name in names}
    silent = dict.fromkeys(names, 0)
    for run in range(runs):
        # A new session for each: a memory is shown once per session.
        events = [
            json.dumps({"session_id": f"{run} {name}", "cwd": str(project), "prompt": PROMPT})
            for name in names
        ]
        for name, event in zip(names, events, strict=True):
            hook = "SessionStart" if name.startswith("start") else "UserPromptSubmit"
            command = [RECOLLECT, "hook", hook, "--client", "claude-code"]
            start = time.perf_counter()
            done = subprocess.run(
                [sys.executable, "-c", "pass"] if name == PASS else command,
                input=event.encode(),
                env=environment,
                stdout=subprocess.PIPE,
                check=True,
            )
            times[name].append(time.perf_counter() - start)
            silent[name] += name != PASS and not done.stdout
    return times, silent


if __name__ == "__main__":
    main()
