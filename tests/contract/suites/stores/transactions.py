"""Saving, changing, forgetting, restoring and purging: `Writing` and `Memories.get`."""

from __future__ import annotations

from recollect.types import Filter, Memory
from suites.stores.helpers import (
    Contract,
    check_all_given,
    check_vocabulary,
    forget,
    ids,
    matches,
    nearest,
    purge,
    put,
    restore,
    save,
    state,
)
from suites.stores.samples import (
    CHANGE,
    EVERYTHING,
    MODEL,
    NOON,
    PLENTY,
    axis,
    full_memory,
    memory,
    odd_memories,
)


class TransactionContract(Contract):
    def test_a_memory_comes_back_with_every_field(self) -> None:
        store = self.store()
        check_all_given(full_memory())
        save(store, full_memory())
        assert store.memories.get(["full"]) == {"full": full_memory()}
        assert self.store().memories.get(["full"]) == {"full": full_memory()}

    def test_a_bare_memory_comes_back_bare(self) -> None:
        store = self.store()
        bare = Memory(id="bare", text="x", created_at=NOON, updated_at=NOON)
        save(store, bare)
        assert store.memories.get(["bare"]) == {"bare": bare}

    def test_odd_texts_come_back_unchanged_in_every_field(self) -> None:
        store = self.store()
        odd = {made.id: made for made in odd_memories(150)}
        save(store, *odd.values())
        assert store.memories.get(list(odd)) == odd
        with store.writing(CHANGE) as write:
            assert {id: stored.memory for id, stored in write.find(odd).items()} == odd
        listed = store.memories.browse(Filter(archived=True), PLENTY)
        assert {made.id: made for made in listed} == odd

    def test_only_the_ids_asked_for_come_back(self) -> None:
        store = self.store()
        save(store, memory("a"), memory("b"), memory("c"))
        assert set(store.memories.get(["c", "nowhere", "a", "a"])) == {"a", "c"}
        assert store.memories.get([]) == {}

    def test_a_write_sees_what_it_wrote(self) -> None:
        with self.store().writing(CHANGE) as write:
            assert write.find(["a"]) == {}
            added = write.add(memory("a"))
            assert write.find(["a"]) == {"a": added}
            changed = write.replace(added, memory("a", title="Another"))
            assert write.find(["a"]) == {"a": changed}

    def test_a_write_is_seen_by_others_when_it_is_done_and_not_before(self) -> None:
        store, other = self.store(), self.store()
        with store.writing(CHANGE) as write:
            write.add(memory("a", text="lighthouse"))
            assert other.memories.get(["a"]) == {}
            assert matches(other, "lighthouse") == []
        assert set(other.memories.get(["a"])) == {"a"}
        assert matches(other, "lighthouse") == ["a"]

    def test_a_write_that_raises_leaves_nothing_behind(self) -> None:
        store = self.store()
        kept = save(store, memory("kept", text="anchor"))["kept"]
        before = state(store)
        try:
            with store.writing(CHANGE) as write:
                write.add(memory("new", text="lighthouse", tags=("harbor",)))
                write.replace(kept, memory("kept", text="changed"))
                write.forget(write.find(["new"])["new"], NOON)
                raise OnPurpose
        except OnPurpose:
            pass
        assert state(store) == before
        check_vocabulary(store)

    def test_replace_changes_every_field_and_keeps_the_key(self) -> None:
        store = self.store()
        before = save(store, memory("full"))["full"]
        with store.writing(CHANGE) as write:
            after = write.replace(before, full_memory())
        assert after.key == before.key
        assert store.memories.get(["full"]) == {"full": full_memory()}
        with store.writing(CHANGE) as write:
            write.replace(after, memory("full"))
        assert store.memories.get(["full"]) == {"full": memory("full")}

    def test_replace_keeps_the_order_of_tags(self) -> None:
        store = self.store()
        stored = save(store, memory("a", tags=("x", "y", "z")))["a"]
        for tags in (("z", "y", "x"), ("y",), ("y", "q", "x"), ()):
            with store.writing(CHANGE) as write:
                stored = write.replace(stored, memory("a", tags=tags))
            assert store.memories.get(["a"])["a"].tags == tags

    def test_replace_brings_a_forgotten_memory_back(self) -> None:
        store = self.store()
        save(store, memory("a", text="lighthouse"))
        forget(store, "a")
        with store.writing(CHANGE) as write:
            write.replace(write.find(["a"])["a"], memory("a", text="anchor"))
        assert store.memories.get(["a"])["a"].text == "anchor"
        assert (matches(store, "anchor"), matches(store, "lighthouse")) == (["a"], [])
        check_vocabulary(store)

    def test_a_forgotten_memory_is_in_no_answer(self) -> None:
        store = self.store()
        save(store, memory("a", text="lighthouse", tags=("light",)), memory("b", text="anchor"))
        put(store, MODEL, {"a": axis(0), "b": axis(1)})
        forget(store, "a")
        assert store.memories.get(["a", "b"]).keys() == {"b"}
        assert ids(store.memories.browse(EVERYTHING, PLENTY)) == ["b"]
        assert ids(store.memories.newest(EVERYTHING, PLENTY)) == ["b"]
        assert matches(store, "lighthouse") == []
        assert matches(store, "lighthouse", "plain") == []
        assert store.topics.carrying(["light"], PLENTY, EVERYTHING) == []
        assert nearest(store, axis(0)) == ["b"]
        assert store.vectors.similarities(MODEL, axis(0), ["a", "b"]).keys() == {"b"}
        assert store.vocabulary.documents() == 1
        assert store.vocabulary.frequencies(["lighthouse", "light"]) == {}

    def test_find_names_forgotten_memories_as_forgotten(self) -> None:
        store = self.store()
        save(store, full_memory("a"), memory("b"))
        forget(store, "a")
        with store.writing(CHANGE) as write:
            found = write.find(["a", "b"])
        assert {id: stored.forgotten for id, stored in found.items()} == {"a": True, "b": False}
        assert found["a"].memory == full_memory("a")

    def test_restore_brings_a_memory_back_into_every_answer(self) -> None:
        store = self.store()
        save(store, full_memory("a"), memory("b", text="anchor"))
        before = state(store)
        forget(store, "a")
        assert state(store) != before
        restore(store, "a")
        assert state(store) == before

    def test_purge_removes_a_memory_and_frees_its_id(self) -> None:
        for forgotten_first in (False, True):
            store = self.store()
            save(store, memory("a", text="lighthouse", tags=("light",)))
            put(store, MODEL, {"a": axis(0)})
            if forgotten_first:
                forget(store, "a")
            with store.writing(CHANGE) as write:
                write.purge(write.find(["a"])["a"])
                assert write.find(["a"]) == {}
            check_vocabulary(store)
            assert nearest(store, axis(0)) == []
            save(store, memory("a", text="anchor"))
            assert (matches(store, "anchor"), matches(store, "lighthouse")) == (["a"], [])
            purge(store, "a")


class OnPurpose(Exception):
    """Raised to end a write early."""
