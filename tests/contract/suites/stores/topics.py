"""Finding by tags: `TopicIndex`."""

from __future__ import annotations

from suites.stores.helpers import Contract, purge_everything, save
from suites.stores.samples import DAY, EVERYTHING, FILTERS, NOON, PLENTY, memory


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
