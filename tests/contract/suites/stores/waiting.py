"""Vectors and the texts they were made from: what waits for a vector, and what is covered."""

from __future__ import annotations

from typing import Any

from recollect.store.base import Coverage
from recollect.types import Tier
from suites.stores.helpers import (
    Contract,
    change,
    check_waiting,
    forget,
    nearest,
    purge_everything,
    put,
    save,
)
from suites.stores.samples import (
    CHANGE,
    DAY,
    MODEL,
    NOON,
    OTHER,
    PLENTY,
    WIDTH,
    axis,
    memory,
)


class WaitingContract(Contract):
    def test_a_vector_goes_with_the_text_it_was_made_from(self) -> None:
        store = self.store()
        for field in ("title", "text", "context"):
            save(store, memory(field))
            put(store, MODEL, {field: axis(0)})
            assert store.vectors.waiting(MODEL, PLENTY) == []
            change(store, field, **{field: "other words"})
            assert nearest(store, axis(0)) == []
            [waiting] = store.vectors.waiting(MODEL, PLENTY)
            assert "other words" in waiting.text
            purge_everything(store)

    def test_a_vector_stays_when_other_fields_change(self) -> None:
        store = self.store()
        save(store, memory("a"))
        put(store, MODEL, {"a": axis(0)})
        change(store, "a", tier="core", tags=("x",), why="because", updated_at=NOON + DAY)
        assert nearest(store, axis(0)) == ["a"]
        assert store.vectors.coverage(MODEL) == Coverage(1, 1)

    def test_of_what_waits_the_oldest_of_equal_size_is_given_first_with_its_text(self) -> None:
        store = self.store()
        stored = save(store, *(memory(f"m{n}", text=f"t{n}", context=f"c{n}") for n in range(5)))
        keys = [one.key for one in stored.values()]
        for identity in (MODEL, OTHER):
            waiting = store.vectors.waiting(identity, PLENTY)
            assert [one.key for one in waiting] == keys
            assert [one.text.split() for one in waiting] == [
                ["About", f"m{n}", f"t{n}", f"c{n}"] for n in range(5)
            ]
            assert store.vectors.waiting(identity, 2) == waiting[:2]
        put(store, MODEL, {"m0": axis(0), "m3": axis(1)})
        assert [one.key for one in store.vectors.waiting(MODEL, PLENTY)] == [
            keys[1], keys[2], keys[4],
        ]  # fmt: skip
        assert [one.key for one in store.vectors.waiting(OTHER, PLENTY)] == keys

    def test_of_what_waits_the_smallest_is_given_first_up_to_a_size(self) -> None:
        store = self.store()
        texts = {"long": "x" * 300, "short": "y", "wide": "ä" * 100, "middle": "z" * 150}
        stored = save(store, *(memory(id, title="", text=text) for id, text in texts.items()))
        names = {one.key: id for id, one in stored.items()}

        def waiting(identity: str, **narrowed: Any) -> list[str]:
            found = store.vectors.waiting(identity, PLENTY, **narrowed)
            return [names[one.key] for one in found]

        save(store, memory("other"))
        put(store, OTHER, {"other": axis(0)})
        forget(store, "other")
        for identity in (MODEL, OTHER):
            assert waiting(identity) == ["short", "middle", "wide", "long"], "Sizes are in bytes."
            assert waiting(identity, size=151) == ["short", "middle"]
            assert waiting(identity, size=0) == ["short"], "The first is given, whatever its size."
            assert waiting(identity, among=["long", "short", "gone"]) == ["short", "long"]
            assert waiting(identity, among=[]) == []
            assert waiting(identity, without={stored["short"].key}) == ["middle", "wide", "long"]
            assert waiting(identity, without={stored["short"].key}, size=1) == ["middle"]

    def test_of_what_waits_core_memories_are_given_first(self) -> None:
        store = self.store()
        texts = {"a": "x", "b": "y" * 20, "c": "z" * 10}
        tiers: dict[str, Tier] = {"a": "capture", "b": "core", "c": "core"}
        stored = save(store, *(memory(id, text=texts[id], tier=tiers[id]) for id in texts))
        for identity in (MODEL, OTHER):
            found = store.vectors.waiting(identity, PLENTY)
            assert [one.key for one in found] == [stored["c"].key, stored["b"].key]
            core = {one.key for one in found}
            [last] = store.vectors.waiting(identity, PLENTY, without=core)
            assert last.key == stored["a"].key
        put(store, MODEL, {"b": axis(0), "c": axis(1)})
        [last] = store.vectors.waiting(MODEL, PLENTY)
        assert last.key == stored["a"].key

    def test_what_one_may_embed_is_given_to_no_other(self) -> None:
        store = self.store()
        save(store, *(memory(f"m{n}") for n in range(20)))
        vectors = store.vectors
        for count in (20, 19):
            if count == 19:  # the first vector of a model makes it known
                put(store, MODEL, {"m0": axis(0)})
            with vectors.lease() as first:
                assert first
                taken = vectors.waiting(MODEL, 4)
                with vectors.lease() as second:
                    others = vectors.waiting(MODEL, PLENTY) if second else []
                assert not {one.key for one in taken} & {one.key for one in others}
            with vectors.lease() as again:
                assert again
                assert len(vectors.waiting(MODEL, PLENTY)) == count

    def test_coverage_and_what_waits_follow_every_change(self) -> None:
        store = self.store()
        save(store, *(memory(f"m{n}") for n in range(6)))
        assert store.vectors.coverage(MODEL) == Coverage(0, 6)
        put(store, MODEL, {f"m{n}": axis(n) for n in range(4)})
        check_waiting(store, ["m4", "m5"], Coverage(4, 6))
        forget(store, "m0", "m4")
        check_waiting(store, ["m5"], Coverage(3, 4))
        change(store, "m1", text="new words")
        check_waiting(store, ["m5", "m1"], Coverage(2, 4))
        with store.writing(CHANGE) as write:
            for stored in write.find(["m0", "m4"]).values():
                write.restore(stored)
            write.purge(write.find(["m5"])["m5"])
        check_waiting(store, ["m0", "m4", "m1"], Coverage(2, 5))
        forget(store, "m2", "m4")
        change(store, "m2", text="back again")
        check_waiting(store, ["m0", "m1", "m2"], Coverage(1, 4))

    def test_a_vector_that_comes_too_late_is_dropped(self) -> None:
        store = self.store()
        stored = save(store, memory("forgotten"), memory("purged"), memory("live"))
        forget(store, "forgotten")
        with store.writing(CHANGE) as write:
            write.purge(stored["purged"])
        rows = [(one.key, axis(0)) for one in stored.values()]
        store.vectors.put(MODEL, WIDTH, rows)
        assert nearest(store, axis(0)) == ["live"]
        assert store.vectors.coverage(MODEL) == Coverage(1, 1)

    def test_a_vector_of_a_text_that_was_edited_meanwhile_is_dropped(self) -> None:
        store = self.store()
        save(store, memory("edited"), memory("retagged"), memory("kept", context=" \u3000\n"))
        waiting = store.vectors.waiting(MODEL, PLENTY)
        change(store, "edited", text="new words")
        change(store, "retagged", tags=("new",))
        store.vectors.put(
            MODEL, WIDTH, [(one.key, axis(0)) for one in waiting], texts=dict(waiting)
        )
        assert nearest(store, axis(0)) == ["kept", "retagged"]
        [again] = store.vectors.waiting(MODEL, PLENTY)
        assert again.text == "About edited\nnew words"
