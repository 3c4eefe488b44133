"""Search while the user types: a quick answer for each key, the complete one when typing pauses;
and the lines that show it.

Two threads search, so that no key waits for a search and no quick answer for a reranker. An answer
for an outdated query is dropped, and its search ends at its next step.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace
from prompt_toolkit.formatted_text import ANSI, StyleAndTextTuples, to_formatted_text

from recollect import Memory, Recollect, RecollectError, Response, Result
from recollect.plugin.pickers import (
    Cancelled,
    PickerText,
    Search,
    counted,
    evidence,
    no_results,
    visible,
)

PAUSE_S = 0.15  # pause in typing after which the complete answer is searched
LEAVING_S = 0.2  # wait for a search when closing, but not for a model that is being loaded


class Item(Struct, frozen=True, eq=False):
    """A line of the list; `result` is None without a query."""

    memory: Memory
    result: Result | None

    @property
    def line(self) -> int:
        """The matching line of its file, or 0."""
        return (self.result and self.result.file and self.result.file.line) or 0


class Answer(NamedTuple):
    """The items to show; `whole` if no better answer will follow; `problem`: why there are none."""

    items: tuple[Item, ...] = ()
    response: Response | None = None
    whole: bool = True
    problem: str = ""
    now: datetime | None = None


class LiveAnswers:
    """Searches in `memory` as the query changes. Its threads call `show` with each answer."""

    def __init__(self, memory: Recollect, search: Search, show: Callable[[Answer], object]) -> None:
        self.memory = memory
        self._search, self._show = search, show
        self._changed = threading.Condition()
        self._number = 0  # of the query; negative after `close`
        self._query = ""
        self._finished = 0  # the number of the query whose complete answer was shown
        self._warm = False
        self._threads = [
            threading.Thread(target=work, name="recollect-find", daemon=True)
            for work in (self._answer_quickly, self._answer_completely)
        ]
        for thread in self._threads:
            thread.start()

    def ask(self, query: str) -> None:
        """Answer this query, even if it is the same as before."""
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
            self._send_answer(number, quick=True)

    def _answer_completely(self) -> None:
        self.memory.warm_up()
        self._warm = True
        number = 0
        while (number := self._next(number)) > 0:
            if not self._is_typing(number) and self._finished != number:
                self._send_answer(number, quick=False)

    def _next(self, number: int) -> int:
        with self._changed:
            self._changed.wait_for(lambda: self._number != number)
            return self._number

    def _is_typing(self, number: int) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: self._number != number, PAUSE_S)

    def _send_answer(self, number: int, *, quick: bool) -> None:
        query = self._query

        def step(what: str) -> None:
            if number != self._number:
                raise Cancelled("Other words are searched for now.")

        asking = self.memory.acting_as(self.memory.caller, step=step)
        try:
            answer = self._search_now(asking, query, quick)
        except Cancelled:
            return
        except RecollectError as error:
            answer = Answer(problem=str(error))
        with self._changed:
            if number != self._number or self._finished == number:
                return
            self._finished = number if answer.whole else self._finished
            self._show(answer)

    def _search_now(self, memory: Recollect, query: str, quick: bool) -> Answer:
        asked = replace(self._search, query=query)
        if not query.strip():
            limit = asked.limit or memory.recipe(asked.recipe).limits.default
            listed = memory.list(asked.filter, limit)
            return Answer(tuple(Item(each, None) for each in listed), now=memory.now())
        left_out = self._skip_slow_parts(memory, query) if quick else {}
        asked = replace(asked, changes={**asked.changes, **left_out})
        response = memory.search(asked)
        items = tuple(Item(result.memory, result) for result in response)
        return Answer(items, response, not left_out, now=memory.now())

    def _skip_slow_parts(self, memory: Recollect, query: str) -> dict[str, object]:
        """Return changes of the recipe that skip the reranker, and a model that is not loaded."""
        left_out = memory.deferral(query, self._search.recipe)
        vectors = memory.recipe(self._search.recipe).roles.get("vector")
        if not self._warm and vectors:
            left_out[f"recall.{vectors}.when"] = "never"
        return left_out


PROMPT = "> "
# The keys and their effects; ^ is Ctrl.
KEYS = {
    "Enter": "choose",
    "^O": "open",
    "^E": "edit",
    "^Y": "copy",
    "^T": "pin",
    "^X": "forget",
    "^G": "accept",
    "Tab": "why",
    "^Z": "undo",
    "Esc": "leave",
}
POINTER, REST = "› ", "  "


def key_lines(columns: int) -> list[str]:
    """Return the keys, in as many lines as needed."""
    lines = [""]
    for key, effect in KEYS.items():
        hint = f"{key} {effect}"
        if lines[-1] and len(lines[-1]) + 2 + len(hint) > columns:
            lines.append("")
        lines[-1] += f"{'  ' if lines[-1] else ''}{hint}"
    return lines


def list_lines(
    text: PickerText, answer: Answer, place: int, columns: int, lines: int
) -> StyleAndTextTuples:
    """Return a line for each item that fits, around the chosen one."""
    first = max(0, min(place - lines // 2, len(answer.items) - lines))
    shown: StyleAndTextTuples = []
    for number, item in enumerate(answer.items[first : first + lines], start=first):
        chosen = number == place
        row = text.row(item.memory, columns - len(POINTER), answer.now)
        shown += [("reverse" if chosen else "", f"{POINTER if chosen else REST}{row}"), ("", "\n")]
    return shown


def status_line(answer: Answer) -> str:
    """Return the status: the number and quality of the results, and if the search continues."""
    if answer.problem:
        return visible(answer.problem)
    if answer.now is None:
        return "Opening the vault …"
    if answer.response is None:
        return "Type to search." if answer.items else "No memory found."
    if not answer.items:
        return no_results(answer.response, "") if answer.whole else "Searching …"
    parts = [counted(len(answer.items), "result"), evidence(answer.response)]
    return " · ".join(filter(None, (*parts, "" if answer.whole else "searching deeper …")))


def preview_lines(
    text: PickerText, item: Item, now: datetime, columns: int, *, colour: bool, why: bool
) -> list[StyleAndTextTuples]:
    """Return the memory's text, or its explanation."""
    lines = text.preview(item.memory, item.result, now, columns, colour=colour, why=why)
    return [to_formatted_text(ANSI(line)) for line in lines]
