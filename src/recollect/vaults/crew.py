"""Threads that ask one vault. A vault that hangs keeps neither a search nor the process waiting."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, TypeVar

Answer = TypeVar("Answer")
Work = tuple[Future[Any], Callable[[], Any]] | None


class Crew:
    """A few threads of which none outlives the process, unlike those of `concurrent.futures`:
    Python waits for these at its end, however long a vault hangs."""

    def __init__(self, name: str, size: int) -> None:
        self._waiting: SimpleQueue[Work] = SimpleQueue()
        self._threads = [
            threading.Thread(target=_work, args=(self._waiting,), name=name, daemon=True)
            for _ in range(size)
        ]
        for thread in self._threads:
            thread.start()

    def ask(self, what: Callable[[], Answer]) -> Future[Answer]:
        """Done as soon as a thread is free; one that is cancelled before that is never begun."""
        future: Future[Answer] = Future()
        self._waiting.put((future, what))
        return future

    def close(self) -> None:
        """Each thread ends after what it does now; nobody waits for that."""
        for _ in self._threads:
            self._waiting.put(None)


def _work(waiting: SimpleQueue[Work]) -> None:
    while (work := waiting.get()) is not None:
        future, what = work
        if not future.set_running_or_notify_cancel():
            continue
        try:
            future.set_result(what())
        except BaseException as error:  # it is raised where the answer is asked for
            future.set_exception(error)
        del future, what, work  # what was answered is not kept until the next question
