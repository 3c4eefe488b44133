"""Measure `recollect find` on 10,000 memories: from the start to the first list, and from each key
to its echo and to its results, in a real process on a pseudo-terminal.

Painting is output to the terminal: the first bytes after a key are its echo, the last before it
falls silent are its results. There is no model, so nothing is reranked. Each run types one question
of scale-wiki; medians and 95th percentiles.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time

from bench_startup import RECOLLECT, compile_package
from data import data_argument, median, passages, questions
from recollect import Recollect
from recollect.ingest.draft import make_draft

SILENT_S = 0.3  # nothing more is painted then
KEY_MS = 50
LINES, COLUMNS = 40, 120
TYPED = 24  # characters of a question
LISTED = b"Type to search."


class Watched:
    """The picker on a pseudo-terminal, with the moments at which it painted."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._here, there = pty.openpty()
        fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
        self.start = time.perf_counter()
        self._process = subprocess.Popen(
            [RECOLLECT, "find"], stdin=there, stdout=there, stderr=there, env=environment,
            start_new_session=True,
        )  # fmt: skip
        os.close(there)

    def painted(self, until: bytes = b"") -> tuple[float, float]:
        """Return the moments of the next paint and of the last one before silence, or before these
        bytes."""
        first = last = 0.0
        seen = b""
        while select.select([self._here], [], [], SILENT_S if first and not until else 30)[0]:
            seen += os.read(self._here, 1 << 16)
            last = time.perf_counter()
            first = first or last
            if until and until in seen:
                break
        return first, last

    def press(self, key: str) -> tuple[float, float]:
        """Return the seconds from a key to its echo, and to its results."""
        start = time.perf_counter()
        os.write(self._here, key.encode())
        first, last = self.painted()
        return first - start, last - start

    def end(self) -> None:
        os.write(self._here, b"\x03")
        self._process.wait()
        os.close(self._here)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    data_argument(parser)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args()
    compile_package()
    with tempfile.TemporaryDirectory() as home:
        environment = os.environ | {
            "RECOLLECT_HOME": home,
            "RECOLLECT_EMBEDDING__PROVIDER": "none",
            "RECOLLECT_RERANK__PROVIDER": "none",
        }
        with Recollect(home=home, environment=environment) as memory:
            memory.save_all([make_draft(row) for row in passages(args.data, args.memories)])
        tell(typed(environment, questions(args.data, args.runs)))


def typed(environment: dict[str, str], asked: list[str]) -> dict[str, list[float]]:
    """Return the milliseconds of each event while these questions are typed."""
    environment = environment | {"TERM": "xterm-256color"}
    times: dict[str, list[float]] = {}
    for question in asked:
        for name, seconds in measured(environment, question[:TYPED]):
            times.setdefault(name, []).append(seconds * 1000)
    return times


def tell(times: dict[str, list[float]]) -> None:
    bare = median(times["python -c pass"])
    limits = {"key to echo": KEY_MS, "key to results": KEY_MS}
    for name, spent in times.items():
        wanted = f"  (at most {limits[name]} ms)" if name in limits else ""
        high = sorted(spent)[int(0.95 * (len(spent) - 1))]
        print(
            f"{name:<26}{median(spent):>8.1f} ms{median(spent) / bare:>8.2f} ×"
            f"  95 %: {high:.1f} ms{wanted}"
        )


def measured(environment: dict[str, str], question: str) -> list[tuple[str, float]]:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    times = [("python -c pass", time.perf_counter() - start)]
    watched = Watched(environment)
    times.append(("first list", watched.painted(LISTED)[1] - watched.start))
    watched.painted()
    for key in question:
        echo, results = watched.press(key)
        times += [("key to echo", echo), ("key to results", results)]
    watched.end()
    return times


if __name__ == "__main__":
    main()
