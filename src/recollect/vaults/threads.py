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
    """A few daemon threads, each started when all others are busy: who asks one question after the
    other is answered by one. Python would wait for those of `concurrent.futures` when it exits,
    however long a vault hangs."""

    def __init__(self, name: str, size: int) -> None:
        self._name = name
        self._size = size
        self._waiting: SimpleQueue[Work] = SimpleQueue()
        self._threads = 0
        self._open = 0  # questions without an answer
        self._guard = threading.Lock()

    def ask(self, question: Callable[[], Answer]) -> Future[Answer]:
        """The answer, once a thread is free; a question that is cancelled before is never asked."""
        future: Future[Answer] = Future()
        with self._guard:
            self._open += 1
            if self._threads < min(self._open, self._size):
                self._threads += 1
                threading.Thread(target=self._work, name=self._name, daemon=True).start()
        self._waiting.put((future, question))
        return future

    def close(self) -> None:
        """Each thread ends after what it does now; nobody waits for that."""
        for _ in range(self._size):
            self._waiting.put(None)

    def _work(self) -> None:
        while (work := self._waiting.get()) is not None:
            future, question = work
            if future.set_running_or_notify_cancel():
                self._answer(future, question)
            else:
                self._done()
            del future, question, work  # what was answered is not kept until the next question

    def _answer(self, future: Future[Any], question: Callable[[], Any]) -> None:
        try:
            answer = question()
        except BaseException as error:  # it is raised where the answer is asked for
            self._done()
            future.set_exception(error)
        else:
            self._done()
            future.set_result(answer)

    def _done(self) -> None:
        """Before the answer is there: whoever asks on needs no other thread."""
        with self._guard:
            self._open -= 1
