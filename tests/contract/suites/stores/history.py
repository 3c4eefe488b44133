"""Contract: `History`, and the versions that a write adds to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from recollect.store.base import Store, Stored, Writing
from recollect.store.history import Author, Change, HistoryLimit, WriteOperation
from recollect.types import Memory
from suites.stores.helpers import Contract
from suites.stores.samples import (
    DAY,
    NOON,
    PLENTY,
    full_memory,
    memory,
    odd_memories,
    shuffle,
)

ANN = Author("mcp", "agent 2", "ann")
States = dict[str, tuple[Memory, datetime | None]]


@contextmanager
def writing(
    store: Store, day: int, action: str = "edit", author: Author = ANN, **more: object
) -> Iterator[Writing]:
    """A write on that day after NOON."""
    change = Change(action, author, lambda: NOON + day * DAY)
    with store.writing(change._replace(**more)) as write:  # type: ignore[arg-type]
        yield write


def put(store: Store, day: int, *memories: Memory, **more: Any) -> None:
    """Add or replace memories on that day."""
    with writing(store, day, **more) as write:
        before = write.find([one.id for one in memories])
        for one in memories:
            if one.id in before:
                write.replace(before[one.id], one)
            else:
                write.add(one)


def states(store: Store, day: int) -> States:
    """Return the content of the store on that day, by its history."""
    now = store.memories.find(store.memories.ids(forgotten=True))
    then: dict[int, Stored | None] = {stored.key: stored for stored in now.values()}
    then |= store.history.changed_since(NOON + day * DAY)
    return {
        stored.memory.id: (stored.memory, stored.forgotten_at) for stored in then.values() if stored
    }


class HistoryContract(Contract):
    def test_a_version_has_what_the_memory_was_and_who_changed_it(self) -> None:
        store, first, second = self.store(), memory("a", text="one two three"), full_memory("a")
        put(store, 0, first, action="save")
        with writing(store, 1, reason="It is new.", target="b") as write:
            write.replace(write.find(["a"])["a"], second)
        with writing(store, 2, "forget", Author("page", automatic=True)) as write:
            write.forget(write.find(["a"])["a"], NOON + 2 * DAY)
        forgotten, edited, made = self.store().history.versions("a")
        assert [one.number for one in (made, edited, forgotten)] == [1, 2, 3]
        assert [one.at for one in (made, edited, forgotten)] == [NOON, NOON + DAY, NOON + 2 * DAY]
        assert [one.memory for one in (made, edited, forgotten)] == [first, second, second]
        assert (edited.action, edited.author, edited.reason, edited.target) == (
            "edit", ANN, "It is new.", "b",
        )  # fmt: skip
        assert {*edited.changed} == {*Memory.__struct_fields__} - {"id"}
        assert made.changed == ()
        assert (forgotten.changed, forgotten.forgotten_at) == (("forgotten_at",), NOON + 2 * DAY)
        assert forgotten.author == Author("page", automatic=True)
        assert store.history.versions("unknown") == []

    def test_every_moment_can_be_read_back(self) -> None:
        """Odd texts, every field, several memories a write, one memory several times."""
        store, moments = self.store(), list[States]()
        odd = odd_memories(60)
        ids = [f"m{number}" for number in range(6)]
        for day, one in enumerate(shuffle(odd)):
            id = ids[day % 6]
            with writing(store, day) as write:
                before = write.find(ids)
                if id not in before:
                    write.add(replace(one, id=id))
                elif day % 5 == 0 and not before[id].forgotten:
                    write.forget(before[id], NOON + day * DAY)
                elif day % 4 == 0 and before[id].forgotten:
                    write.restore(before[id])
                else:
                    write.replace(before[id], replace(before[id].memory, text=one.text))
                    write.replace(write.find([id])[id], replace(one, id=id))
            found = store.memories.find(ids)
            moments.append({id: (one.memory, one.forgotten_at) for id, one in found.items()})
        for day, moment in enumerate(moments):
            assert states(store, day) == moment

    def test_a_memory_that_was_made_later_was_not_there(self) -> None:
        store = self.store()
        put(store, 0, memory("a"))
        put(store, 2, memory("b"))
        assert [*states(store, -1)] == []
        assert [*states(store, 1)] == ["a"]
        assert sorted(states(store, 2)) == ["a", "b"]

    def test_what_was_written_after_a_later_time_counts_as_later(self) -> None:
        store = self.store()
        put(store, 0, memory("a"))
        put(store, 5, memory("b"))
        put(store, 1, memory("c"))  # the clock was put back
        assert [*states(store, 2)] == ["a"]
        assert sorted(states(store, 5)) == ["a", "b", "c"]
        assert store.history.last_write(NOON + 2 * DAY) < store.history.last_write(NOON + 5 * DAY)

    def test_a_write_that_changes_nothing_or_is_undone_leaves_nothing(self) -> None:
        store = self.store()
        put(store, 0, memory("a"))
        put(store, 1, memory("a"))
        try:
            with writing(store, 2) as write:
                write.replace(write.find(["a"])["a"], memory("a", text="never"))
                raise KeyError
        except KeyError:
            pass
        with writing(store, 3):
            pass
        assert [one.number for one in store.history.versions("a")] == [1]
        assert store.history.last_write(NOON + 9 * DAY) == store.history.last_write(NOON)

    def test_history_begins_with_the_first_write(self) -> None:
        store = self.store()
        assert store.history.begins() is None
        put(store, 3, memory("a"))
        put(store, 4, memory("b"))
        assert store.history.begins() == NOON + 3 * DAY

    def test_operations_are_those_that_a_user_asked_for_newest_first(self) -> None:
        store, several = self.store(), WriteOperation()
        put(store, 0, memory("a"), memory("b"))
        for day, id in ((1, "c"), (2, "d")):
            with writing(store, day, "import", operation=several) as write:
                write.add(memory(id))
        put(store, 3, memory("e"), author=Author("folder", user="ann", automatic=True))
        put(store, 4, memory("f"), author=Author("http", user="bob"))
        found = store.history.operations("ann", PLENTY)
        assert [(one.action, one.at, sorted(one.ids)) for one in found] == [
            ("import", NOON + DAY, ["c", "d"]), ("edit", NOON, ["a", "b"]),
        ]  # fmt: skip
        with writing(store, 5, "undo", undoes=found[0].number) as write:
            write.forget(write.find(["c"])["c"], NOON)
        assert [one.action for one in store.history.operations("ann", PLENTY)] == ["edit"]

    def test_a_purged_memory_has_no_history(self) -> None:
        store = self.store()
        put(store, 0, memory("a"), memory("b"))
        put(store, 1, memory("a", text="more"))
        with writing(store, 2, target="a") as write:
            write.forget(write.find(["b"])["b"], NOON)
        size = store.history.size()
        with writing(store, 3, "purge") as write:
            write.purge(write.find(["a"])["a"])
        assert store.history.versions("a") == []
        assert [one.target for one in store.history.versions("b")] == ["", ""]
        assert [*states(store, 1)] == ["b"]
        assert [one.at for one in store.history.operations("ann", PLENTY)] == [
            NOON + 2 * DAY, NOON,
        ]  # fmt: skip
        assert 0 < store.history.size() < size

    def test_only_the_newest_versions_are_kept(self) -> None:
        for keep in (HistoryLimit(days=2.5), HistoryLimit(versions=3), HistoryLimit(size=1)):
            store = self.store()
            for day in range(6):
                put(store, day, memory("a", text=f"{day} " * 50), memory(f"b{day}"))
            now, ids = NOON + 5 * DAY, [f"b{day}" for day in range(6)]
            assert not store.history.is_due(HistoryLimit(size=10**9), now)
            while store.history.is_due(keep, now):
                assert 1 <= store.history.compact(keep, now, most=2) <= 2
            numbers = [one.number for one in store.history.versions("a")]
            assert numbers == ([1] if keep.size else [6, 5, 4, 3]), keep
            begins = store.history.begins()
            assert begins == NOON + (5 if keep.size else 2) * DAY
            assert [one.memory.id for id in ids for one in store.history.versions(id)] == ids
            assert len(states(store, 2 if keep.size is None else 5)) >= 4
            with writing(store, 6, "purge") as write:
                for stored in write.find(["a", *ids]).values():
                    write.purge(stored)

    def test_why_a_memory_is_forgotten_stays_known(self) -> None:
        store = self.store()
        put(store, 0, memory("a"))
        with writing(store, 1, "merge", target="b") as write:
            write.forget(write.find(["a"])["a"], NOON + DAY)
        put(store, 2, memory("b"))
        while store.history.compact(HistoryLimit(size=1), NOON + 9 * DAY):
            pass
        assert [(one.action, one.target) for one in store.history.versions("a")] == [
            ("merge", "b"), ("begin", ""),
        ]  # fmt: skip
