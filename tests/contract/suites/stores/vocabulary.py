"""Counting words: `Vocabulary`."""

from __future__ import annotations

import msgspec

from suites.stores.helpers import Contract, check_vocabulary, forget, purge, restore, save
from suites.stores.samples import CHANGE, NOON, memory, random_memories


class VocabularyContract(Contract):
    def test_the_vocabulary_counts_what_a_count_from_scratch_counts(self) -> None:
        store = self.store()
        check_vocabulary(store)
        made = random_memories(60)
        stored = save(store, *made)
        check_vocabulary(store)
        for before in list(stored.values())[:20]:
            with store.writing(CHANGE) as write:
                after = msgspec.structs.replace(before.memory, text="w3 fresh", tags=("w1", "New"))
                stored[after.id] = write.replace(before, after)
        check_vocabulary(store)
        forget(store, *list(stored)[10:30])
        check_vocabulary(store)
        restore(store, *list(stored)[10:20])
        check_vocabulary(store)
        purge(store, *list(stored)[15:25])
        check_vocabulary(store)
        assert store.vocabulary.documents() == 60 - 10 - 5

    def test_one_write_may_change_a_memory_many_times(self) -> None:
        store = self.store()
        with store.writing(CHANGE) as write:
            stored = write.add(memory("a", text="one two"))
            stored = write.replace(stored, memory("a", text="two three"))
            write.forget(stored, NOON)
            write.restore(write.find(["a"])["a"])
            write.purge(write.add(memory("b", text="three four")))
        check_vocabulary(store)
        assert store.vocabulary.frequencies(["one", "two", "three", "four"]) == {
            "two": 1,
            "three": 1,
        }

    def test_tokens_are_listed_by_how_they_begin_and_how_long_they_are(self) -> None:
        store = self.store()
        save(store, memory("a", text="anchor anchors ancho an", tags=("Anchor",)))
        save(store, memory("b", text="anchor ranchor andere änchor anc_hor"))
        assert store.vocabulary.beginning("an", 5, 6) == {"anchor": 2, "ancho": 1, "andere": 1}
        assert store.vocabulary.beginning("anc", 7, 9) == {"anchors": 1, "anc_hor": 1}
        assert store.vocabulary.beginning("än", 1, 9) == {"änchor": 1}
        assert store.vocabulary.beginning("anchor", 1, 5) == {}
        forget(store, "b")
        assert store.vocabulary.beginning("an", 5, 6) == {"anchor": 1, "ancho": 1}

    def test_tokens_never_seen_are_left_out(self) -> None:
        store = self.store()
        save(store, memory("a", text="anchor"), memory("b", text="anchor chain"))
        asked = ["anchor", "chain", "nowhere", "", "anchor"]
        assert store.vocabulary.frequencies(asked) == {"anchor": 2, "chain": 1}
        assert store.vocabulary.frequencies([]) == {}
