"""Finding by tags, and counting words: `TopicIndex` and `Vocabulary`."""

from __future__ import annotations

import msgspec

from suites.stores.helpers import (
    Contract,
    check_vocabulary,
    forget,
    purge,
    purge_everything,
    restore,
    save,
)
from suites.stores.samples import (
    CHANGE,
    DAY,
    EVERYTHING,
    FILTERS,
    NOON,
    PLENTY,
    memory,
    random_memories,
)


class TopicContract(Contract):
    def test_topics_order_by_matches_then_newest_then_id(self) -> None:
        store = self.store()
        save(
            store,
            memory("old-two", tags=("Auth", "JWT"), updated_at=NOON - DAY),
            memory("z-one", tags=("jwt",), updated_at=NOON),
            memory("a-one", tags=("auth", "else"), updated_at=NOON),
            memory("new-one", tags=("AUTH",), updated_at=NOON + DAY),
            memory("none", tags=("authors",), title="auth jwt"),
        )
        expected = [("old-two", 2), ("new-one", 1), ("a-one", 1), ("z-one", 1)]
        for limit in range(6):
            found = store.topics.carrying(["jwt", "auth", "jwt", "unknown"], limit, EVERYTHING)
            assert [tuple(one) for one in found] == expected[:limit]

    def test_a_topic_counts_once_however_it_is_written(self) -> None:
        store = self.store()
        save(store, memory("a", tags=("Über", "über", "ÜBER")), memory("b", tags=("über", "x")))
        found = store.topics.carrying(["über", "x"], PLENTY, EVERYTHING)
        assert [tuple(one) for one in found] == [("b", 2), ("a", 1)]

    def test_topic_filters_hold_before_the_limit(self) -> None:
        for filter, passing, failing in FILTERS:
            store = self.store()
            for n in range(20):
                tags = ("auth", "jwt", *failing.get("tags", ()))
                save(store, memory(**{"id": f"outside-{n}", **failing, "tags": tags}))
            for n in range(3):
                tags = ("auth", *passing.get("tags", ()))
                save(store, memory(**{"id": f"inside-{n}", **passing, "tags": tags}))
            found = store.topics.carrying(["auth", "jwt"], 3, filter)
            assert [one.memory_id for one in found] == ["inside-0", "inside-1", "inside-2"], filter
            purge_everything(store)

    def test_no_word_carries_no_topic(self) -> None:
        store = self.store()
        save(store, memory("a", tags=("auth",)))
        assert store.topics.carrying([], PLENTY, EVERYTHING) == []


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
