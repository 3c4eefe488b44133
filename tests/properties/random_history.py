"""Random histories of a vault: what several writers do to it at random times, beside a plain model
of what it then holds. Asked later as of each moment, it must hold and find what the model held."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from datetime import datetime, timedelta
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import pytest
from random_memories import NOW, WORDS, ToyEmbedder, memory_fields, queries

from recollect import Memory, Recollect
from recollect.ingest.draft import make_draft
from recollect.recipes.registry import BUILT_IN
from recollect.settings import Embedding, Rerank, Settings
from recollect.store.sqlite.segments import buffer
from recollect.store.sqlite.segments.merging import Merger
from recollect.store.sqlite.store import SqliteStore

START = NOW - timedelta(days=400)  # before any memory says that it was made
GAPS = (timedelta(microseconds=1), timedelta(minutes=7), timedelta(days=3), timedelta(days=40))
CHANGEABLE = ("title", "text", "tags", "kind", "project", "tier", "context", "details")
TIERS = ("core", "capture", "file")
SETTINGS = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))


class Writer(Protocol):
    """One of several that write to a vault."""

    def do(self, at: datetime, method: str, *args: object, **named: object) -> Any:
        """Call a method of the engine at that time."""


class OwnWriter:
    """Opens the vault for itself, as a process would."""

    def __init__(self, home: Path, *, vectors: bool) -> None:
        self._at = START
        self.memory = Recollect(
            home=home, settings=SETTINGS, environment={}, clock=lambda: self._at
        )
        if vectors:
            self.memory.models.__dict__["_embedder"] = ToyEmbedder()

    def do(self, at: datetime, method: str, *args: object, **named: object) -> Any:
        self._at = at
        return getattr(self.memory, method)(*args, **named)

    def close(self) -> None:
        self.memory.close()


class ProcessWriter:
    """The same in a process of its own."""

    def __init__(self, home: Path, *, vectors: bool) -> None:
        context = get_context("spawn")
        self._calls, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, home, vectors), daemon=True)
        self._process.start()

    def do(self, at: datetime, method: str, *args: object, **named: object) -> Any:
        self._calls.send((at, method, args, named))
        return self._calls.recv()

    def close(self) -> None:
        self._calls.send(None)
        self._process.join()


def _serve(calls: Connection, home: Path, vectors: bool) -> None:
    writer = OwnWriter(home, vectors=vectors)
    while (call := calls.recv()) is not None:
        at, method, args, named = call
        calls.send(writer.do(at, method, *args, **named))
    writer.close()


class Moment(NamedTuple):
    """What the model held at a time, in browsing order."""

    at: datetime
    memories: list[Memory]


class Model:
    """What a vault holds, as two dictionaries."""

    def __init__(self) -> None:
        self.live: dict[str, Memory] = {}
        self.gone: dict[str, Memory] = {}

    def put(self, *memories: Memory) -> None:
        for memory in memories:
            self.gone.pop(memory.id, None)
            self.live[memory.id] = memory

    def forget(self, id: str) -> None:
        self.gone[id] = self.live.pop(id)

    def listed(self) -> list[Memory]:
        def order(one: Memory) -> tuple[object, ...]:
            return TIERS.index(one.tier), -one.updated_at.timestamp(), one.id

        return sorted(self.live.values(), key=order)


class RandomHistory:
    """`writers` change one vault in turn; the reader asks, and makes segments of a small one."""

    def __init__(
        self,
        chance: random.Random,
        reader: OwnWriter,
        writers: Sequence[Writer],
        *,
        segments: bool,
    ) -> None:
        self._chance = chance
        self._segments = segments
        self._reader = reader
        self._writers = [reader, *writers]
        self._at = START
        self._made = 0
        self.model = Model()
        self.moments: list[Moment] = []

    def go(self, steps: int) -> None:
        """Change something, so many times."""
        for _ in range(steps):
            for _ in range(self._chance.choice((1, 1, 2, 6))):
                self._change()
            if self._segments:
                store = self._reader.memory.store
                in_file = isinstance(store, SqliteStore)
                (Merger(store.database) if in_file else store.database.merging).run()
            self._reader.do(self._at, "embed_now")
            self.moments.append(Moment(self._at, self.model.listed()))

    def check(self) -> int:
        """Ask as of each moment, in any order; returns how many searches were compared. Each finds
        memories of that moment, as they were."""
        self._at += timedelta(days=1)
        self._reader.do(self._at, "embed_now")
        compared = 0
        for moment in self._chance.sample(self.moments, len(self.moments)):
            listed = self._reader.do(self._at, "list", limit=1000, as_of=moment.at)
            assert listed == moment.memories, moment.at
            ids = [memory.id for memory in listed]
            assert self._reader.do(self._at, "show", ids, as_of=moment.at) == listed
            held = {memory.id: memory for memory in listed}
            for query, fields in self._questions():
                found = self._search(query, self._at, as_of=moment.at, now=moment.at, **fields)
                for result in found:
                    assert result.memory == held[result.id], (moment.at, query, fields)
                compared += 1
        return compared

    def _search(self, query: str, at: datetime, **fields: Any) -> Any:
        return self._reader.do(at, "search", query, **fields)

    def _questions(self) -> list[tuple[str, dict[str, Any]]]:
        """One for each recipe."""
        asked = list(queries(self._chance))
        return [
            (
                self._chance.choice(asked),
                {
                    "recipe": recipe,
                    "limit": self._chance.choice((3, 10, 30)),
                    "project": self._chance.choice((None, None, "harbor")),
                    "facets": self._chance.random() < 0.3,
                },
            )
            for recipe in BUILT_IN
        ]

    def _change(self) -> None:
        self._at += self._chance.choice(GAPS)
        do = partial(self._chance.choice(self._writers).do, self._at)
        ways: dict[str, Callable[[Any], None]] = {
            "save": self._save, "edit": self._edit, "forget": self._forget,
            "restore": self._restore, "supersede": self._supersede, "merge": self._merge,
            "feedback": self._feedback,
        }  # fmt: skip
        few = len(self.model.live) < 5
        ways["save" if few else self._chance.choice([*ways, "save", "edit"])](do)

    def _some(self, number: int) -> list[str]:
        return self._chance.sample(sorted(self.model.live), number)

    def _save(self, do: Any) -> None:
        """Some new memories; now and then one that says what another says."""
        drafts = []
        for _ in range(self._chance.choice((1, 1, 4, 20))):
            self._made += 1
            fields = memory_fields(self._chance, self._made)
            drafts.append(make_draft(fields))
        for saved in do("save_all", drafts):
            self.model.put(saved.memory)

    def _edit(self, do: Any) -> None:
        [id] = self._some(1)
        fields = memory_fields(self._chance, 0) | {"context": "", "details": "see the runbook"}
        names = self._chance.sample(CHANGEABLE, self._chance.randint(1, 3))
        self.model.put(do("edit", id, **{name: fields[name] for name in names}))

    def _forget(self, do: Any) -> None:
        [id] = self._some(1)
        do("forget", [id])
        self.model.forget(id)

    def _restore(self, do: Any) -> None:
        if self.model.gone:
            id = self._chance.choice(sorted(self.model.gone))
            do("forget", [id], undo=True)
            self.model.put(self.model.gone[id])

    def _supersede(self, do: Any) -> None:
        old, new = self._some(2)
        ahead = new
        while ahead in self.model.live and ahead != old:
            ahead = self.model.live[ahead].superseded_by
        if ahead != old:  # a cycle is refused
            self.model.put(do("supersede", old, new))

    def _merge(self, do: Any) -> None:
        kept, other = self._some(2)
        links = {one.id for one in self.model.live.values() if one.superseded_by == other}
        self.model.put(do("merge", [kept, other]))
        self.model.forget(other)
        self.model.put(*do("show", sorted(links - {kept, other})))

    def _feedback(self, do: Any) -> None:
        [id] = self._some(1)
        query = " ".join(self._chance.sample(WORDS, 2))
        do("feedback", query, id, accept=self._chance.random() < 0.7)


def try_history(seed: int, home: Path, steps: int, other: type[OwnWriter | ProcessWriter]) -> int:
    """A history by two writers, and as of each of its moments; returns how many answers were
    compared."""
    chance, vectors, segments = random.Random(seed), seed % 2 == 0, seed % 3 == 0
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        if segments:
            patch.setattr(buffer, "FIRST", 30)
            patch.setattr(buffer, "MOST", 5)
        reader, second = OwnWriter(home, vectors=vectors), other(home, vectors=vectors)
        stack.callback(reader.close)
        stack.callback(second.close)
        history = RandomHistory(chance, reader, [second], segments=segments)
        history.go(steps)
        return history.check()
