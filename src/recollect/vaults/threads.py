"""Threads that ask one vault. If it hangs, neither a search nor the end of the process waits."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, TypeVar

Answer = TypeVar("Answer")
Work = tuple[Future[Any], Callable[[], Any]] | None


class VaultThreads:
    """A few daemon threads. Python would wait for those of `concurrent.futures` when it exits,
    however long a vault hangs."""

    def __init__(self, name: str, size: int) -> None:
        self._waiting: SimpleQueue[Work] = SimpleQueue()
        self._threads = [
            threading.Thread(target=_work, args=(self._waiting,), name=name, daemon=True)
            for _ in range(size)
        ]
        for thread in self._threads:
            thread.start()

    def ask(self, question: Callable[[], Answer]) -> Future[Answer]:
        """The answer, once a thread is free; a question that is cancelled before is never asked."""
        future: Future[Answer] = Future()
        self._waiting.put((future, question))
        return future

    def close(self) -> None:
        """Each thread ends after what it does now; nobody waits for that."""
        for _ in self._threads:
            self._waiting.put(None)


def _work(waiting: SimpleQueue[Work]) -> None:
    while (work := waiting.get()) is not None:
        future, question = work
        if not future.set_running_or_notify_cancel():
            continue
        try:
            future.set_result(question())
        except BaseException as error:  # it is raised where the answer is asked for
            future.set_exception(error)
        del future, question, work  # what was answered is not kept until the next question
