"""The work of the processes that the crash harness kills, and the state of the vault known from
outside.

`crash_work.py NAME SEED` uses the library until it is killed. It prints each change as a line of
JSON before it begins, and `done` when it is acknowledged.
"""

from __future__ import annotations

import json
import logging
import random
import sys
from collections.abc import Mapping
from itertools import count
from typing import NamedTuple

import numpy as np

from recollect.engine import Recollect, importing
from recollect.ingest.exchange import raw_lines
from recollect.store import history
from recollect.times import EPOCH

State = tuple[str, bool] | None  # a memory's text, and whether it is live; None: it is purged
States = dict[str, State]

# How often each is done.
OPERATIONS = {"save": 10, "edit": 6, "forget": 2, "undo": 2, "purge": 1, "import": 2, "backup": 1}
IMPORTED = 20  # lines of an import: one transaction, but for the programs that use the library
BATCH = 5  # lines of one transaction there
MODEL = "toy:model"
WRITING = history.Change("save", history.Author("test"), lambda: EPOCH)
VECTOR = np.array([1, 0, 0, 0], np.float32)
WORDS = "anchor chain harbour tide rope sail keel mast lantern storm".split()


class Change(NamedTuple):
    """One operation, and the memories as they are once it is acknowledged."""

    operation: str
    after: States


class Author:
    """Decides what to do next, always the same for one seed. It alone writes its memories."""

    def __init__(self, name: str, seed: int, weights: Mapping[str, int] = OPERATIONS) -> None:
        self._name = name
        self._chance = random.Random(seed)
        self._numbers = count()
        self._weights = weights
        self.states: States = {}  # as acknowledged

    def next(self) -> Change:
        chance = self._chance
        [operation] = chance.choices([*self._weights], [*self._weights.values()])
        live = {id: state[0] for id, state in self.states.items() if state and state[1]}
        forgotten = {id: state[0] for id, state in self.states.items() if state and not state[1]}
        if operation == "backup":
            return Change("backup", {})
        if operation == "import":
            old = chance.sample([*live], min(len(live), IMPORTED // 2))
            new = [self._new_id() for _ in range(IMPORTED - len(old))]
            return Change("import", {id: (self._text(), True) for id in old + new})
        if operation == "undo" and forgotten:
            id = chance.choice([*forgotten])
            return Change("undo", {id: (forgotten[id], True)})
        if operation in ("forget", "purge", "edit") and live:
            id = chance.choice([*live])
            after = {"forget": (live[id], False), "purge": None}
            return Change(operation, {id: after.get(operation, (self._text(), True))})
        return Change("save", {self._new_id(): (self._text(), True)})

    def _new_id(self) -> str:
        return f"{self._name}-{next(self._numbers)}"

    def _text(self) -> str:
        """Words, at times more than a page of the file holds; no two texts say the same."""
        words = self._chance.choices(WORDS, k=self._chance.choice((5, 20, 1000)))
        return f"{self._chance.getrandbits(64):x} {' '.join(words)}"


class Record:
    """An author's memories as known from outside: the acknowledged ones, and the changes that were
    under way when a process was killed."""

    def __init__(self, batch: int = IMPORTED) -> None:
        self._batch = batch  # how many lines of an import happen or do not
        self.states: States = {}
        self.unsure: list[Change] = []
        self.writes = self.kills = 0
        self.failures: list[str] = []

    def done(self, change: Change) -> None:
        self.states |= change.after
        self.writes += len(change.after)

    def problems(self, found: States) -> list[str]:
        """Return what the vault should hold and does not. It has all or none of a change under
        way."""
        unsure = {id for change in self.unsure for id in change.after}
        wrong = [
            f"{id} is {_show(found.get(id))} and was acknowledged as {_show(state)}"
            for id, state in self.states.items()
            if id not in unsure and found.get(id) != state
        ]
        for change in self.unsure:
            ids = change.after.keys()
            now = {id: found.get(id) for id in ids}
            before = {id: self.states.get(id) for id in ids}
            order = [*change.after.items()]
            ends = {0, len(order), *range(0, len(order), self._batch)}
            if now not in [before | dict(order[:end]) for end in ends]:
                wrong.append(f"half of an interrupted {change.operation} happened: {sorted(ids)}")
        return wrong

    def ids(self) -> set[str]:
        return self.states.keys() | {id for change in self.unsure for id in change.after}


def _show(state: State | None) -> str:
    if state is None:
        return "missing"
    return f"{'live' if state[1] else 'forgotten'} with the text {state[0][:20]}…"


def drafts(change: Change) -> list[dict[str, str]]:
    """The memories of a change, as JSON has them."""
    return [
        {"id": id, "title": f"About {id}", "text": state[0] if state else ""}
        for id, state in change.after.items()
    ]


def work(name: str, seed: str) -> None:
    importing.IMPORT_BATCH = importing.SEGMENT_BATCH = (
        BATCH  # so that a kill is likely to come between two
    )
    logging.getLogger("recollect.store").setLevel(logging.ERROR)  # a purge warns of backups
    author = Author(name, int(seed))
    with Recollect() as memory:
        while True:
            change = author.next()
            print(json.dumps(change), flush=True)
            carry_out(memory, change)
            author.states |= change.after
            print("done", flush=True)


def carry_out(memory: Recollect, change: Change) -> None:
    match change.operation:
        case "backup":
            memory.backup(keep=2)
        case "import":
            lines = [json.dumps(draft).encode() for draft in drafts(change)]
            assert not memory.import_lines(raw_lines(lines)).bad
        case "save":
            [draft] = drafts(change)
            memory.save(**draft)
            with memory.store.writing(WRITING) as write:
                key = write.find([draft["id"]])[draft["id"]].key
            memory.store.vectors.put(MODEL, 4, [(key, VECTOR)])
        case "edit":
            [draft] = drafts(change)
            memory.edit(draft["id"], text=draft["text"])
        case operation:
            undo, purge = operation == "undo", operation == "purge"
            memory.forget([*change.after], undo=undo, purge=purge)


if __name__ == "__main__":
    work(*sys.argv[1:])
