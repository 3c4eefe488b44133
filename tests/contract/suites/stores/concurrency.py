"""Several objects and several threads on one vault."""

from __future__ import annotations

import threading
from collections.abc import Callable

from recollect.store.base import Coverage, Writing
from suites.stores.helpers import (
    Contract,
    change,
    check_vocabulary,
    forget,
    matches,
    nearest,
    put,
    restore,
    save,
    state,
)
from suites.stores.samples import CHANGE, EVERYTHING, MODEL, NOON, OTHER, PLENTY, axis, memory


class ConcurrencyContract(Contract):
    def test_an_open_store_follows_what_another_writes(self) -> None:
        store, other = self.store(), self.store()
        save(store, memory("a", text="anchor", tags=("deep",)))
        put(store, MODEL, {"a": axis(0)})
        assert state(other, "anchor", "deep") == state(store, "anchor", "deep")
        steps: tuple[Callable[[Writing], object], ...] = (
            lambda write: write.add(memory("b", text="anchor chain", tags=("deep",))),
            lambda write: write.replace(write.find(["a"])["a"], memory("a", text="sail")),
            lambda write: write.forget(write.find(["b"])["b"], NOON),
            lambda write: write.restore(write.find(["b"])["b"]),
            lambda write: write.purge(write.find(["a"])["a"]),
        )
        for step in steps:
            before = state(store, "anchor", "deep")
            with store.writing(CHANGE) as write:
                step(write)
            assert state(store, "anchor", "deep") != before
            assert state(other, "anchor", "deep") == state(store, "anchor", "deep")
            check_vocabulary(other)

    def test_open_vectors_follow_what_another_writes(self) -> None:
        store, other = self.store(), self.store()
        save(store, memory("a"), memory("b"))
        put(store, MODEL, {"a": axis(0)})
        assert nearest(other, axis(0)) == ["a"]
        put(store, MODEL, {"b": axis(1)})
        assert nearest(other, axis(0)) == ["a", "b"]
        change(store, "a", text="edited")
        assert nearest(other, axis(0)) == ["b"]
        put(store, MODEL, {"a": axis(2)})
        assert nearest(other, axis(2)) == ["a", "b"]
        assert other.vectors.similarities(MODEL, axis(0), ["a"]) == {"a": 0.0}
        forget(store, "b")
        assert nearest(other, axis(2)) == ["a"]
        restore(store, "b")
        put(store, MODEL, {"b": axis(3)})
        assert nearest(other, axis(3)) == ["b", "a"]
        put(store, OTHER, {"a": axis(3)})
        store.vectors.adopt(OTHER)
        assert nearest(other, axis(3)) == []

    def test_threads_share_a_store(self) -> None:
        store = self.store()
        save(store, memory("start"))
        put(store, MODEL, {"start": axis(0)})
        failures: list[BaseException] = []

        def work(worker: int) -> None:
            try:
                for number in range(12):
                    id = f"w{worker}-{number}"
                    save(store, memory(id, text="anchor"))
                    put(store, MODEL, {id: axis(1)})
                    assert id in matches(store, "anchor", limit=PLENTY)
                    found = store.vectors.nearest(MODEL, axis(1), PLENTY, EVERYTHING)
                    assert id in {one.memory_id for one in found}
                    assert all(one.score == (one.memory_id != "start") for one in found)
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(worker,)) for worker in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert store.vectors.coverage(MODEL) == Coverage(49, 49)
