"""Answers while somebody types: a quick one for each key, the whole one when the typing pauses.

They come from two threads, so that no key waits for a search and no quick answer for a reranker.
An answer for words that are no longer there is dropped, and its search ends at its next step.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from recollect import Memory, Recollect, RecollectError, Response, Result
from recollect.plugin.pickers import Cancelled, Search

PAUSE_S = 0.15  # whoever has not typed for so long reads
LEAVING_S = 0.2  # a model that is being loaded is not waited for


class Item(Struct, frozen=True, eq=False):
    """A line of the list; `result` is None where nothing was asked."""

    memory: Memory
    result: Result | None

    @property
    def line(self) -> int:
        """The line of its file that matches; 0 where none is known."""
        return (self.result and self.result.file and self.result.file.line) or 0


class Answer(NamedTuple):
    """What there is to show; `whole` where nothing better will come. `problem` says why there is
    nothing."""

    items: tuple[Item, ...] = ()
    response: Response | None = None
    whole: bool = True
    problem: str = ""
    now: datetime | None = None


class LiveAnswers:
    """Searches in `memory` as the words change. `show` is called, by one of the threads, with each
    answer."""

    def __init__(self, memory: Recollect, search: Search, show: Callable[[Answer], object]) -> None:
        self.memory = memory
        self._search, self._show = search, show
        self._changed = threading.Condition()
        self._number = 0  # of the words; negative: nobody asks any more
        self._query = ""
        self._finished = 0  # the number of the words whose whole answer was shown
        self._warm = False
        self._threads = [
            threading.Thread(target=work, name="recollect-find", daemon=True)
            for work in (self._answer_quickly, self._answer_wholly)
        ]
        for thread in self._threads:
            thread.start()

    def ask(self, query: str) -> None:
        """Answer these words from now on, also where they are those from before."""
        with self._changed:
            self._number += 1
            self._query = query
            self._changed.notify_all()

    def close(self) -> None:
        """End the searches and close the vault."""
        with self._changed:
            self._number = -1
            self._changed.notify_all()
        for thread in self._threads:
            thread.join(LEAVING_S)
        if not any(thread.is_alive() for thread in self._threads):
            self.memory.close()

    def _answer_quickly(self) -> None:
        number = 0
        while (number := self._next(number)) > 0:
            self._tell(number, quick=True)

    def _answer_wholly(self) -> None:
        self.memory.warm_up()
        self._warm = True
        number = 0
        while (number := self._next(number)) > 0:
            if not self._typing_on(number) and self._finished != number:
                self._tell(number, quick=False)

    def _next(self, number: int) -> int:
        with self._changed:
            self._changed.wait_for(lambda: self._number != number)
            return self._number

    def _typing_on(self, number: int) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: self._number != number, PAUSE_S)

    def _tell(self, number: int, *, quick: bool) -> None:
        query = self._query

        def step(what: str) -> None:
            if number != self._number:
                raise Cancelled("Other words are searched for now.")

        asking = self.memory.acting_as(self.memory.caller, step=step)
        try:
            answer = self._answered(asking, query, quick)
        except Cancelled:
            return
        except RecollectError as error:
            answer = Answer(problem=str(error))
        with self._changed:
            if number != self._number or self._finished == number:
                return
            self._finished = number if answer.whole else self._finished
            self._show(answer)

    def _answered(self, memory: Recollect, query: str, quick: bool) -> Answer:
        asked = replace(self._search, query=query)
        if not query.strip():
            limit = asked.limit or memory.recipe(asked.recipe).limits.default
            listed = memory.list(asked.filter, limit)
            return Answer(tuple(Item(each, None) for each in listed), now=memory.now())
        left_out = self._left_out(memory, query) if quick else {}
        asked = replace(asked, changes={**asked.changes, **left_out})
        found = memory.search(asked)
        items = tuple(Item(result.memory, result) for result in found)
        return Answer(items, found, not left_out, now=memory.now())

    def _left_out(self, memory: Recollect, query: str) -> dict[str, object]:
        """The changes with which nobody waits: for no reranker, nor for a model that is still being
        loaded."""
        left_out = memory.deferral(query, self._search.recipe)
        vectors = memory.recipe(self._search.recipe).roles.get("vector")
        if not self._warm and vectors:
            left_out[f"recall.{vectors}.when"] = "never"
        return left_out
