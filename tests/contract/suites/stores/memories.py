"""Reading without a question."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from recollect.store.base import AGES, Dates, Facets, Store
from recollect.store.feedback import FeedbackEvent, FeedbackState, Verdict
from recollect.types import Filter, Place, place_of
from suites.stores.helpers import (
    Contract,
    forget,
    ids,
    matches,
    nearest,
    pages,
    purge_everything,
    put,
    save,
)
from suites.stores.samples import (
    CHANGE,
    DAY,
    EVERYTHING,
    FILTERS,
    MODEL,
    NOON,
    PLENTY,
    axis,
    browsing_memories,
    memory,
    shuffle,
)

NOTHING = Facets({}, {}, {}, {}, dict.fromkeys(AGES, 0))
AGED = dict.fromkeys(AGES, 4)


class MemoriesContract(Contract):
    def test_browsing_is_core_capture_file_and_newest_first_in_each(self) -> None:
        store = self.store()
        made = browsing_memories()
        save(store, *shuffle(made))
        assert store.memories.browse(EVERYTHING, PLENTY) == made
        for limit in (0, 1, 5, len(made) + 1):
            assert store.memories.browse(EVERYTHING, limit) == made[:limit]

    def test_pages_together_are_the_whole(self) -> None:
        store = self.store()
        save(store, *shuffle(browsing_memories()))
        for filter in (EVERYTHING, Filter(project="harbor"), Filter(without_kinds=("session",))):
            whole = store.memories.browse(filter, PLENTY)
            assert whole
            for size in (1, 2, 5, len(whole)):
                assert list(pages(store, filter, size)) == whole, f"{filter}, pages of {size}"

    def test_a_page_begins_behind_a_place_whose_memory_is_gone_or_moved(self) -> None:
        """The next page begins below the last memory read, even if that one was forgotten, purged,
        or pinned meanwhile."""
        store = self.store()
        made = browsing_memories()
        for number, last in enumerate(made):
            save(store, *made)
            with store.writing(CHANGE) as write:
                stored = write.find([last.id])[last.id]
                if number % 3 == 0:
                    write.forget(stored, NOON)
                elif number % 3 == 1:
                    write.purge(stored)
                else:
                    write.replace(stored, memory(last.id, tier="core", updated_at=NOON + DAY))
            assert store.memories.browse(EVERYTHING, PLENTY, place_of(last)) == made[number + 1 :]
            purge_everything(store)

    def test_a_place_needs_no_memory(self) -> None:
        store = self.store()
        made = browsing_memories()
        save(store, *shuffle(made))
        core = [one for one in made if one.tier == "core"]
        places = {
            Place("core", NOON + DAY, ""): 0,
            Place("core", datetime(1, 1, 1, tzinfo=UTC), ""): len(core),
            Place("capture", datetime(9999, 12, 31, tzinfo=UTC), ""): len(core),
            Place("file", datetime(1, 1, 1, tzinfo=UTC), "\U0010ffff"): len(made),
            Place("core", made[0].updated_at, made[0].id + "!"): 1,
        }
        for place, above in places.items():
            assert store.memories.browse(EVERYTHING, PLENTY, place) == made[above:], place

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
        save(store, memory("a", tags=("anchor",), project="harbor"))
        put(store, MODEL, {"a": axis(0)})
        none = Filter(among=())
        assert _facets(store, none) == NOTHING
        assert store.memories.dates(none) == Dates({}, {})
        assert store.memories.browse(none, 5) == store.memories.newest(none, 5) == []
        assert store.topics.carrying(["anchor"], 5, none) == []
        assert matches(store, "anchor", filter=none) == nearest(store, axis(0), filter=none) == []

    def test_newest_are_the_last_changed_whatever_their_tier(self) -> None:
        store = self.store()
        made = sorted(browsing_memories(), key=lambda one: (-one.updated_at.timestamp(), one.id))
        save(store, *shuffle(made))
        for limit in (0, 1, 7, PLENTY):
            assert store.memories.newest(EVERYTHING, limit) == made[:limit]

    def test_facets_count_what_memories_have_in_common_most_first_then_by_name(self) -> None:
        store = self.store()
        assert _facets(store, EVERYTHING) == NOTHING
        save(
            store,
            memory("a", project="tower", kind="task", source="chat", tags=("ops", "auth")),
            memory("b", project="harbor", kind="task", source="mail", tags=("ops",)),
            memory("c", project="Harbor", kind="fact", tags=("keys",)),
            memory("d", project="harbor", kind="decision"),
        )
        found = _facets(store, EVERYTHING)
        assert [list(part.items()) for part in found] == [
            [("harbor", 2), ("Harbor", 1), ("tower", 1)],
            [("task", 2), ("decision", 1), ("fact", 1)],
            [("chat", 1), ("mail", 1)],
            [("ops", 2), ("auth", 1), ("keys", 1)],
            list(AGED.items()),
        ]

    def test_ages_count_from_now_to_the_moment(self) -> None:
        """As `since` does: exactly so old still counts, and so does what is of tomorrow."""
        store = self.store()
        moment = timedelta(microseconds=1)
        for name, span in AGES.items():
            save(
                store,
                memory(f"{name}-just", updated_at=NOON - span, project="just"),
                memory(f"{name}-over", updated_at=NOON - span - moment, project="over"),
            )
        save(store, memory("tomorrow", updated_at=NOON + DAY, created_at=NOON - 999 * DAY))
        found = _facets(store, EVERYTHING).age
        assert list(found.items()) == [
            (name, 2 * place) for place, name in enumerate(AGES, start=1)
        ]
        just = _facets(store, Filter(project="just")).age
        assert list(just.values()) == [1, 2, 3, 4]
        for name, span in AGES.items():
            since = Filter(since=NOON - span)
            assert len(store.memories.browse(since, PLENTY)) == found[name]

    def test_tags_that_differ_in_case_are_one_facet_and_count_a_memory_once(self) -> None:
        store = self.store()
        save(
            store,
            memory("a", tags=("Auth", "auth", "AUTH")),
            memory("b", tags=("auth",)),
            memory("c", tags=("ÜBER", "über", "anchor")),
        )
        assert list(_facets(store, EVERYTHING).tags.items()) == [
            ("AUTH", 2),
            ("anchor", 1),
            ("ÜBER", 1),
        ]
        # The spelling is one that the counted memories have.
        assert _facets(store, Filter(among=("b",))).tags == {"auth": 1}
        assert _facets(store, Filter(tags=("aUTH",))).tags == {"AUTH": 2}

    def test_facets_and_dates_count_what_passes_the_filter_and_is_live(self) -> None:
        for filter, passing, failing in FILTERS:
            store = self.store()
            gone = {"source": "gone", "valid_until": NOON} | dict(passing)
            save(store, *(memory(f"outside-{n}", **failing) for n in range(4)))
            save(store, *(memory(f"inside-{n}", **passing) for n in range(3)))
            save(store, memory("inside-8", **gone))
            forget(store, "inside-8")
            kind = memory("x", **passing).kind
            assert _facets(store, filter).kind == {kind: 3}, filter
            assert store.memories.dates(filter) == Dates({NOON.date(): 3}, {}), filter
            assert "gone" not in _facets(store, EVERYTHING).source
            purge_everything(store)

    def test_a_day_ends_at_midnight_utc_in_every_century(self) -> None:
        store = self.store()
        moment = timedelta(microseconds=1)
        days = [
            date(1, 1, 2), date(1899, 12, 31), date(1969, 12, 30), date(1969, 12, 31),
            date(1970, 1, 1), date(1970, 1, 2), date(2026, 3, 1), date(9999, 12, 30),
        ]  # fmt: skip
        made = []
        for day in shuffle(days):
            begins = datetime(day.year, day.month, day.day, tzinfo=UTC)
            for place, at in enumerate((begins, begins + DAY / 2, begins + DAY - moment)):
                expires = at if place else None
                made.append(memory(f"{day}-{place}", created_at=at, valid_until=expires))
        save(store, *made)
        found = store.memories.dates(EVERYTHING)
        assert list(found.made.items()) == [(day, 3) for day in days]
        assert list(found.expiring.items()) == [(day, 2) for day in days]

    def test_feedback_is_counted_by_what_was_said(self) -> None:
        store, other = self.store(), self.store()
        assert store.feedback.counts() == (0, 0)
        for accepted in (True, False, True):
            store.feedback.add("where is the anchor?", "a", accepted, NOON)
        assert store.feedback.counts() == other.feedback.counts() == (2, 1)
        store.feedback.add("anchor", "b", False, NOON)
        assert other.feedback.counts() == (2, 2)

    def test_of_a_memory_and_a_query_what_was_said_last_stands(self) -> None:
        """However often it was said, and however the query was typed."""
        store, other = self.store(), self.store()
        store.feedback.add("Where is the anchor?", "a", False, NOON)
        store.feedback.add("where is  the ANCHOR", "a", True, NOON + DAY)
        other.feedback.add("where is the anchor?", "a", True, NOON)
        other.feedback.add("anchor", "b", False, NOON)
        words, asked = "where is the anchor", "where is the anchor?"
        right, wrong = Verdict(words, asked, "a", True), Verdict("anchor", "anchor", "b", False)
        assert store.feedback.find_verdicts([words]) == [right]
        assert sorted(store.feedback.find_verdicts(["anchor", words, "sail"])) == [wrong, right]
        assert store.feedback.find_verdicts([]) == []
        assert store.feedback.count_standing() == other.feedback.count_standing() == (1, 1)

    def test_feedback_is_taken_back_whole(self) -> None:
        store = self.store()
        for accepted in (True, True, False):
            store.feedback.add("Anchor?", "a", accepted, NOON)
        store.feedback.add("anchor", "b", True, NOON)
        assert not store.feedback.take_back("anchor", "a", accepted=True)
        assert not store.feedback.take_back("sail", "a")
        assert store.feedback.take_back("anchor", "a", accepted=False)
        assert not store.feedback.take_back("anchor", "a")
        assert store.feedback.find_verdicts(["anchor"]) == [Verdict("anchor", "anchor", "b", True)]

    def test_queries_of_feedback_are_found_by_their_vectors(self) -> None:
        """Queries without a vector of the model come without a cosine. Taking back the last
        feedback on a query removes its vector."""
        store, other = self.store(), self.store()
        for query in ("North?", "east", "south"):
            store.feedback.add(query, "a", True, NOON)
        assert other.feedback.list_unembedded("m", 2) == {"south": "south", "east": "east"}
        store.feedback.embed("m", {"north": axis(0), "east": axis(1)})
        assert other.feedback.list_unembedded("m", 9) == {"south": "south"}
        near = other.feedback.find_near("m", axis(0), 0.5)
        assert near == {"south": None, "north": pytest.approx(1.0, abs=1e-3)}
        nothing = dict.fromkeys(("north", "east", "south"))
        assert store.feedback.find_near("else", axis(0), 0.5) == nothing
        assert store.feedback.find_near(None, None, 0.5) == nothing
        store.feedback.take_back("north", "a")
        assert other.feedback.find_near("m", axis(0), -1.0) == {
            "south": None, "east": pytest.approx(0.0, abs=1e-3),
        }  # fmt: skip

    def test_what_was_learned_is_kept_beside_the_feedback(self) -> None:
        store, other = self.store(), self.store()
        assert store.feedback.state() == FeedbackState(False, "")
        store.feedback.add("anchor", "a", True, NOON)
        store.feedback.add("sail", "a", False, NOON)
        store.feedback.add("mast", "b", True, NOON + DAY)
        store.feedback.learn("a lesson")
        assert other.feedback.state() == FeedbackState(True, "a lesson")
        assert [one.query for one in store.feedback.questions()] == ["anchor", "mast"]
        store.feedback.unlearn()
        assert other.feedback.state() == FeedbackState(True, "")
        assert other.feedback.questions() == []
        store.feedback.take_back("mast", "b")
        store.feedback.add("keel", "a", True, NOON)
        assert [one.query for one in other.feedback.questions()] == ["keel"]

    def test_forgotten_memories_are_found_with_their_time_and_listed_last(self) -> None:
        store = self.store()
        save(store, *(memory(id) for id in "abc"))
        forget(store, "b")
        assert store.memories.ids() == ["a", "c"]
        assert store.memories.ids(forgotten=True) == ["a", "c", "b"]
        found = store.memories.find(["b", "c", "none"])
        assert {id: stored.forgotten_at for id, stored in found.items()} == {
            "b": NOON + DAY, "c": None,
        }  # fmt: skip
        assert found["b"].memory == memory("b")

    def test_feedback_is_completed_and_never_doubled(self) -> None:
        store = self.store()
        store.feedback.add("anchor", "a", True, NOON)
        event = FeedbackEvent("anchor", "a", True, NOON)
        others = [event._replace(at=NOON + DAY), event._replace(accepted=False)]
        events = [(event, 1), (others[0], 1), (event, 2), (others[1], 1)]
        for added in (3, 0):
            with store.writing(CHANGE) as write:
                assert write.complete_feedback(events) == added
            assert store.feedback.list_all() == [event, others[0], event, others[1]]


def _facets(store: Store, filter: Filter) -> Facets:
    return store.memories.facets(filter, NOON)
