"""Worker processes for CPU-bound work: they call a function for each item.

A worker is a new Python process that reads items from its input and writes results to its output.
It ends with its input, so it cannot outlive this process. If it dies, this process does its item.
"""

from __future__ import annotations

import gc
import os
import pickle
import queue
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Generic, TypeVar

MOST = 4  # of about 100 MB each; more would wait for the process that writes their results
# Imports this `recollect`, and nothing from the working directory.
PROGRAM = (
    "import sys; sys.path.append(sys.argv[1]);from recollect.worker_processes import work; work()"
)
PACKAGES = Path(__file__).parents[1]
# Workers make large arrays repeatedly. By default glibc returns their memory to the system each
# time, and getting it again takes as long as filling it.
KEEP_MEMORY = {"MALLOC_MMAP_THRESHOLD_": "1000000000", "MALLOC_TRIM_THRESHOLD_": "1000000000"}

Item = TypeVar("Item")
Result = TypeVar("Result")


def worker_count() -> int:
    """Return how many workers to use: one per core of this process, at most MOST."""
    if hasattr(os, "sched_getaffinity"):
        return min(len(os.sched_getaffinity(0)), MOST)
    return min(os.cpu_count() or 1, MOST)


def part_size(items: int, most: int, workers: int) -> int:
    """Return how many items a worker gets at once: half of its share, at most `most`."""
    return min(most, -(-items // (2 * workers)))


class Workers(Generic[Item, Result]):
    """`count` processes that call a function, which must be picklable, as its results must be."""

    def __init__(self, function: Callable[[Item], Result], count: int) -> None:
        self._function = function
        self._count = count
        self._closed = False
        self._every: list[subprocess.Popen[bytes]] = []
        self._idle: queue.SimpleQueue[subprocess.Popen[bytes] | None] = queue.SimpleQueue()

    def map(self, items: Iterable[Item]) -> Iterator[Result]:
        """Yield the results in the order of the items, computing only a few ahead. If reading the
        items fails, the results of earlier ones come first."""
        ahead: deque[Future[Result]] = deque()
        failure: Exception | None = None
        with ThreadPoolExecutor(self._count, "recollect-worker") as threads:
            try:
                for _ in range(self._count):
                    self._idle.put(self._start())
                source = iter(items)
                while True:
                    try:
                        item = next(source)
                    except StopIteration:
                        break
                    except Exception as error:
                        failure = error
                        break
                    ahead.append(threads.submit(self._call, item))
                    if len(ahead) > self._count:
                        yield ahead.popleft().result()
                while ahead:
                    yield ahead.popleft().result()
            finally:
                for future in ahead:
                    future.cancel()
                self._end()
        if failure is not None:
            raise failure

    def _start(self) -> subprocess.Popen[bytes] | None:
        pipe = subprocess.PIPE
        command = [sys.executable, "-P", "-c", PROGRAM, str(PACKAGES)]
        environment = os.environ | KEEP_MEMORY
        try:
            process = subprocess.Popen(
                command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=environment
            )
        except OSError:
            return None
        self._every.append(process)
        with suppress(OSError):  # it has ended; the first call notices that
            _send(self._function, process)
        return process

    def _call(self, item: Item) -> Result:
        process = self._idle.get()
        try:
            if process is not None:
                _send(item, process)
                result: Result = pickle.load(process.stdout)  # type: ignore[arg-type]
                return result
        except (OSError, EOFError, ValueError, pickle.UnpicklingError):
            process = None
            if self._closed:
                raise
        finally:
            self._idle.put(process)
        return self._function(item)

    def _end(self) -> None:
        self._closed = True
        for process in self._every:
            process.kill()
            for stream in (process.stdin, process.stdout):
                with suppress(OSError):  # closing flushes, and the process is gone
                    if stream is not None:
                        stream.close()
            process.wait()


def _send(value: object, process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    pickle.dump(value, process.stdin, pickle.HIGHEST_PROTOCOL)
    process.stdin.flush()


def work() -> None:
    """Run a worker until its input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process ends it
    gc.disable()  # it makes many objects and no cycles
    items, results = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr
    with suppress(EOFError, BrokenPipeError):
        function = pickle.load(items)
        while True:
            pickle.dump(function(pickle.load(items)), results, pickle.HIGHEST_PROTOCOL)
            results.flush()
