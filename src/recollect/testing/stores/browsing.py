"""Reading without a question: `Memories` and `FeedbackLog`."""

from __future__ import annotations

from recollect.testing.stores.asking import (
    Contract,
    ids,
    matches,
    nearest,
    pages,
    purge_everything,
    put,
    save,
)
from recollect.testing.stores.samples import (
    EVERYTHING,
    FILTERS,
    MODEL,
    NOON,
    PLENTY,
    axis,
    browsing_memories,
    memory,
    shuffled,
)
from recollect.types import Filter


class BrowsingContract(Contract):
    def test_browsing_is_core_capture_file_and_newest_first_in_each(self) -> None:
        store = self.store()
        made = browsing_memories()
        save(store, *shuffled(made))
        assert store.memories.browse(EVERYTHING, PLENTY) == made
        for limit in (0, 1, 5, len(made) + 1):
            assert store.memories.browse(EVERYTHING, limit) == made[:limit]

    def test_pages_together_are_the_whole(self) -> None:
        store = self.store()
        save(store, *shuffled(browsing_memories()))
        for filter in (EVERYTHING, Filter(project="harbor"), Filter(without_kinds=("session",))):
            whole = store.memories.browse(filter, PLENTY)
            assert whole
            for size in (1, 2, 5, len(whole)):
                assert list(pages(store, filter, size)) == whole, f"{filter}, pages of {size}"

    def test_browsing_filters_hold_before_the_limit(self) -> None:
        for filter, passing, failing in FILTERS:
            store = self.store()
            save(store, *(memory(f"outside-{n}", tier="core", **failing) for n in range(5)))
            save(store, *(memory(f"inside-{n}", tier="file", **passing) for n in range(3)))
            for read in (store.memories.browse, store.memories.newest):
                assert ids(read(filter, 3)) == ["inside-0", "inside-1", "inside-2"], filter
            purge_everything(store)

    def test_among_no_ids_there_is_nothing(self) -> None:
        store = self.store()
        save(store, memory("a", tags=("anchor",)))
        put(store, MODEL, {"a": axis(0)})
        none = Filter(among=())
        assert store.memories.browse(none, 5) == store.memories.newest(none, 5) == []
        assert store.topics.carrying(["anchor"], 5, none) == []
        assert matches(store, "anchor", filter=none) == nearest(store, axis(0), filter=none) == []

    def test_newest_are_the_last_changed_whatever_their_tier(self) -> None:
        store = self.store()
        made = sorted(browsing_memories(), key=lambda one: (-one.updated_at.timestamp(), one.id))
        save(store, *shuffled(made))
        for limit in (0, 1, 7, PLENTY):
            assert store.memories.newest(EVERYTHING, limit) == made[:limit]

    def test_feedback_is_counted_by_what_was_said(self) -> None:
        store, other = self.store(), self.store()
        assert store.feedback.counts() == (0, 0)
        for accepted in (True, False, True):
            store.feedback.add("where is the anchor?", "a", accepted, NOON)
        assert store.feedback.counts() == other.feedback.counts() == (2, 1)
        store.feedback.add("anchor", "b", False, NOON)
        asked = "where is the anchor?"
        said = [("a", asked, True), ("a", asked, False), ("a", asked, True)]
        assert other.feedback.about(["a", "c"]) == said
        assert store.feedback.about(["b", "a"]) == [*said, ("b", "anchor", False)]
        assert store.feedback.about([]) == []
