"""Processes beside this one, for work that keeps a core busy: one call of a function for each item.

A worker is a fresh Python that reads items from its input and writes results to its output. It ends
with its input: so none outlives this process, however that ends. What a worker that died was doing
is done in this process.
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

# Each takes about 100 MB, and one process writes what they make: more would wait for it.
MOST = 4
# `recollect` is found where this one is, and nothing is imported from a working directory.
PROGRAM = (
    "import sys; sys.path.append(sys.argv[1]);from recollect.worker_processes import work; work()"
)
PACKAGES = Path(__file__).parents[1]
# A worker makes large arrays again and again; glibc would give their memory back to the system each
# time, and getting it again takes as long as filling it.
KEEP_MEMORY = {"MALLOC_MMAP_THRESHOLD_": "1000000000", "MALLOC_TRIM_THRESHOLD_": "1000000000"}

Item = TypeVar("Item")
Result = TypeVar("Result")


def fitting() -> int:
    """How many workers this machine has a use for: as many as there are cores for this process."""
    if hasattr(os, "sched_getaffinity"):
        return min(len(os.sched_getaffinity(0)), MOST)
    return min(os.cpu_count() or 1, MOST)


def part_size(items: int, most: int, workers: int) -> int:
    """How many of these items a worker gets at once: two parts for each of them, or as many as a
    part may have."""
    return min(most, -(-items // (2 * workers)))


class Workers(Generic[Item, Result]):
    """So many processes that call the function, which must be picklable as its results are."""

    def __init__(self, function: Callable[[Item], Result], count: int) -> None:
        self._function = function
        self._count = count
        self._closed = False
        self._every: list[subprocess.Popen[bytes]] = []
        self._idle: queue.SimpleQueue[subprocess.Popen[bytes] | None] = queue.SimpleQueue()

    def map(self, items: Iterable[Item]) -> Iterator[Result]:
        """The results in the order of the items. Few are made ahead. Where reading the items fails,
        the results of those before come first."""
        ahead: deque[Future[Result]] = deque()
        failure: Exception | None = None
        with ThreadPoolExecutor(self._count, "recollect-worker") as threads:
            try:
                for _ in range(self._count):
                    self._idle.put(self._started())
                source = iter(items)
                while True:
                    try:
                        item = next(source)
                    except StopIteration:
                        break
                    except Exception as error:
                        failure = error
                        break
                    ahead.append(threads.submit(self._called, item))
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

    def _started(self) -> subprocess.Popen[bytes] | None:
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
        with suppress(OSError):  # it has ended: so will the first call find
            _send(self._function, process)
        return process

    def _called(self, item: Item) -> Result:
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
                with suppress(OSError):  # closing writes what is left, and the process is gone
                    if stream is not None:
                        stream.close()
            process.wait()


def _send(value: object, process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    pickle.dump(value, process.stdin, pickle.HIGHEST_PROTOCOL)
    process.stdin.flush()


def work() -> None:
    """The program of a worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started it ends it
    gc.disable()  # nothing it makes is a cycle, and there is much of it
    items, results = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr
    with suppress(EOFError, BrokenPipeError):
        function = pickle.load(items)
        while True:
            pickle.dump(function(pickle.load(items)), results, pickle.HIGHEST_PROTOCOL)
            results.flush()
