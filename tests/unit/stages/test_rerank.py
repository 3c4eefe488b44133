"""The reranking stages: texts, deadline, and the use of logits."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import pytest
from planned_search import OverAt, fused_ranking

from recollect.context import SearchContext
from recollect.errors import ProviderError
from recollect.maths import logistic, logit
from recollect.query.passages import window
from recollect.stages.rerank import RerankInterpolation, RerankRun, focused_text, whole_text
from recollect.types import Memory, Ranking, recompute

NOW = datetime(2026, 3, 1, tzinfo=UTC)
HAY = "plain hay and more of it " * 40  # a thousand characters


def memory(title: str, text: str) -> Memory:
    return Memory(id="m", title=title, text=text, created_at=NOW, updated_at=NOW)


def test_all_of_it_is_title_and_text() -> None:
    assert whole_text(memory("Title", "Text")) == "Title\nText"
    assert whole_text(memory("", "Text")) == "Text"
    assert whole_text(memory("Title", "")) == "Title"
    assert focused_text(memory("Title", ""), "query", 10) == "Title"


def test_a_short_text_is_read_whole() -> None:
    assert window("exactly so", ["zebra"], 10) == "exactly so"


def test_a_long_text_is_read_around_the_words() -> None:
    text = f"{HAY}the needle is under the mattress {HAY}"
    seen = window(text, ["needle", "mattress"], 100)
    assert "the needle is under the mattress" in seen
    assert len(seen) <= 100
    assert seen in text
    assert not seen.startswith("lain")


def test_other_endings_are_found_and_other_beginnings_are_not() -> None:
    text = f"{HAY}needles were found {HAY}"
    assert "needles" in window(text, ["needle"], 60)
    assert "needles" in window(text, ["needled"], 60)
    assert "needles" not in window(text, ["unneedled"], 60)


def test_most_different_words_win_and_of_several_places_the_first() -> None:
    text = f"needle needle needle {HAY}needle thread {HAY}thread needle {HAY}"
    seen = window(text, ["needle", "thread"], 60)
    assert "needle thread" in seen
    assert "thread needle" not in seen


@pytest.mark.parametrize("words", [[], ["zebra"]])
def test_without_a_matching_word_the_beginning_is_read(words: list[str]) -> None:
    assert HAY.startswith(window(HAY, words, 50))


def test_words_at_either_end_do_not_leave_the_text() -> None:
    first, last = f"needle {HAY}", f"{HAY}needle"
    assert window(first, ["needle"], 50).startswith("needle")
    assert window(last, ["needle"], 50).endswith("needle")


def test_a_text_without_blanks_is_cut_all_the_same() -> None:
    seen = window("数据库迁移失败" * 100, ["迁移"], 50)
    assert 0 < len(seen) <= 50
    assert window("x" * 500, [], 50)


def test_signs_in_words_are_no_pattern() -> None:
    assert window(f"{HAY}c++ (is) fine", ["c++", "(is"], 40)


CANDIDATES = [(f"m{number}", f"text {number}") for number in range(5)]


class Reads:
    identity = "toy"

    def __init__(self, stops_at: int = 99, failure: str = "", unready: str = "") -> None:
        self.batches: list[list[str]] = []
        self.go_on = threading.Event()
        self.stopped = threading.Event()
        self.stops_at = stops_at
        self.failure = failure
        self.unready = unready

    def ready(self) -> None:
        if self.unready:
            raise ProviderError(self.unready, transient=False)

    def scores(self, query: str, documents: Sequence[str]) -> list[float]:
        if len(self.batches) == self.stops_at:
            if self.failure:
                raise ProviderError(self.failure, transient=True)
            self.stopped.set()
            self.go_on.wait()
        self.batches.append(list(documents))
        return [float(text.split()[1]) / 10 for text in documents]


def test_all_are_read_in_batches_best_first() -> None:
    reads = Reads()
    run = RerankRun(reads, "query", 2)
    assert run.by(60, CANDIDATES) == {"m0": 0.0, "m1": 0.1, "m2": 0.2, "m3": 0.3, "m4": 0.4}
    assert reads.batches == [["text 0", "text 1"], ["text 2", "text 3"], ["text 4"]]
    assert run.failure is None


def test_scores_after_the_deadline_do_not_count(over_at: OverAt) -> None:
    reads = Reads(stops_at=1)
    waited = over_at(reads.stopped)
    run = RerankRun(reads, "query", 2)
    scores = run.by(0.2, CANDIDATES)
    assert scores == {"m0": 0.0, "m1": 0.1}
    assert waited == [0.2]
    reads.go_on.set()
    assert scores == {"m0": 0.0, "m1": 0.1}
    assert run.failure is None


def test_a_failure_is_reported_and_earlier_scores_stay() -> None:
    run = RerankRun(Reads(stops_at=2, failure="It broke."), "query", 2)
    assert set(run.by(60, CANDIDATES)) == {"m0", "m1", "m2", "m3"}
    assert run.failure == "It broke."


def test_a_reranker_that_cannot_load_holds_up_nothing() -> None:
    run = RerankRun(Reads(unready="No such file."), "query", 2)
    assert run.by(60, CANDIDATES) == {}
    assert run.failure == "No such file."


def test_without_texts_there_are_no_scores() -> None:
    assert RerankRun(Reads(), "query", 2).by(60, []) == {}


Search = Callable[..., SearchContext]
STAGE = RerankInterpolation(weight=0.25, bound=10.0, floor=-5.0)
WIDE = RerankInterpolation(weight=1 / 3, bound=10.0, floor=-5.0)  # reaches 5 at most
MEMORIES = {"a": "first text", "b": "second text", "c": "third text"}
QUERY = "which text is it"


def verified_ids(ranking: Ranking) -> set[str]:
    return {hit.memory_id for hit in ranking if hit.findings.verified}


def test_logit_is_the_inverse_of_logistic() -> None:
    assert logit(0.5) == 0
    assert logit(logistic(3.25)) == pytest.approx(3.25)
    assert (logit(0.0), logit(1.0)) == (float("-inf"), float("inf"))
    assert (logit(-0.5), logit(1.5)) == (float("-inf"), float("inf"))


def test_a_quarter_of_the_logit_above_the_floor_is_added(search_at: Search) -> None:
    """Logits 4, −2 and 0 are 9, 3 and 5 above −5: 2.25, 0.75 and 1.25 are added."""
    at = search_at(
        QUERY, MEMORIES, scores={"first": logistic(4), "second": logistic(-2), "third": 0.5}
    )
    ranking = STAGE.apply(fused_ranking(b=1.2, a=1.0, c=0.9), at)
    assert {hit.memory_id: hit.score for hit in ranking} == pytest.approx(
        {"a": 3.25, "c": 2.15, "b": 1.95}
    )
    part = ranking.hits[0].why.parts[-1]
    assert (part.name, part.weight, part.how) == (
        "rerank",
        0.25,
        "found fitting by the reranker (logit of a cross-encoder)",
    )
    assert part.raw == pytest.approx(9)
    assert all(recompute(hit.why) == hit.score for hit in ranking)
    assert ranking.dropped == {"pool": 3}
    assert verified_ids(ranking) == {"a", "b", "c"}
    assert at.degraded == []


def test_certainty_is_bounded_and_rejection_says_nothing(search_at: Search) -> None:
    at = search_at(QUERY, MEMORIES, scores={"first": 1.0, "second": 0.0, "third": 0.5})
    ranking = STAGE.apply(fused_ranking(a=0.0, b=0.0, c=0.0), at)
    assert {hit.memory_id: hit.score for hit in ranking} == {"a": 3.75, "c": 1.25, "b": 0.0}


@pytest.mark.parametrize("query", ["", "?", "text", "first text", "first-text"])
def test_a_query_of_few_words_is_not_read(search_at: Search, query: str) -> None:
    before = fused_ranking(b=2.0, a=1.0)
    at = search_at(query, MEMORIES, scores={"first": 0.9})
    assert STAGE.apply(before, at) is before
    assert at.degraded == []


def test_one_candidate_needs_no_opinion(search_at: Search) -> None:
    before = fused_ranking(a=1.0)
    assert STAGE.apply(before, search_at(QUERY, MEMORIES)) is before
    assert STAGE.apply(Ranking(), search_at(QUERY)) == Ranking()


def test_without_a_reranker_the_order_stays_and_it_is_said(search_at: Search) -> None:
    before = fused_ranking(b=2.0, a=1.0)
    at = search_at(QUERY, MEMORIES)
    assert STAGE.apply(before, at) is before
    [entry] = at.degraded
    assert (entry.channel, entry.reason) == ("rerank", 'rerank.provider is "none"')


def test_unread_candidates_count_as_the_worst_read(
    search_at: Search,
) -> None:
    """Two are read, logits 2 and −4; the third counts −4 as well, and stays below them."""
    at = search_at(QUERY, MEMORIES, scores={"first": logistic(-4), "second": logistic(2)})
    ranking = RerankInterpolation(weight=0.25, top=2, floor=-5.0).apply(
        fused_ranking(a=3.0, b=2.0, c=1.0), at
    )
    assert {hit.memory_id: hit.score for hit in ranking} == pytest.approx(
        {"b": 3.75, "a": 3.25, "c": 1.25}
    )
    assert ranking.hits[-1].why.parts[-1].how == (
        "not read by the reranker: as the lowest it gave (logit of a cross-encoder)"
    )
    assert verified_ids(ranking) == {"a", "b"}


def read(search_at: Search, scores: Sequence[float], limit: int = 10) -> list[str]:
    """Those of memories with these scores that the reranker reads, by their numbers."""
    before = fused_ranking(**{f"m{place}-{limit}": score for place, score in enumerate(scores)})
    texts = {id: f"{id} text" for id in before.ids}
    at = search_at(QUERY, texts, scores={}, limit=limit)
    ranking = WIDE.apply(before, at)
    assert at.degraded == []
    assert ranking.reranked == len(verified_ids(ranking))
    return sorted(verified_ids(ranking))


def test_a_first_candidate_out_of_reach_is_read_alone(
    search_at: Search,
) -> None:
    """Logits from −5 to 10, times a third, bring two candidates 5 closer to each other at most.
    The first is read for the verdict, and the others count as good as it."""
    before = fused_ranking(a=6.0, b=0.9, c=0.8)
    reads = search_at(QUERY, MEMORIES, scores={"first": 0.5})
    ranking = WIDE.apply(before, reads)
    assert ranking.ids == before.ids
    [moved] = {round(hit.score - one.score, 9) for hit, one in zip(ranking, before, strict=True)}
    assert moved > 0
    assert all(recompute(hit.why) == hit.score for hit in ranking)
    assert (ranking.reranked, reads.degraded) == (1, [])
    assert verified_ids(ranking) == {"a"}
    assert verified_ids(WIDE.apply(fused_ranking(a=5.9, b=0.9, c=0.8), reads)) == {"a", "b", "c"}


def test_reading_ends_at_the_first_gap_that_logits_cannot_close(search_at: Search) -> None:
    assert read(search_at, [9.0, 8.0, 4.0, -1.5, -2.0]) == ["m0-10", "m1-10", "m2-10"]


def test_beyond_the_results_only_candidates_for_the_first_place_are_read(
    search_at: Search,
) -> None:
    scores = [9.0, 7.0, 5.0, 4.5, 3.5, 3.0]
    assert len(read(search_at, scores, limit=2)) == 4
    assert len(read(search_at, scores, limit=5)) == 5
    assert len(read(search_at, scores, limit=10)) == 6


def test_leaving_candidates_below_a_gap_unread_changes_no_order(search_at: Search) -> None:
    """Whatever the reranker would say of them: the worst above and the best below."""
    worst = {"first": 0.0, "second": 0.0, "third": 1.0}
    at = search_at(QUERY, MEMORIES, scores=worst)
    assert WIDE.apply(fused_ranking(a=9.0, b=8.5, c=4.2), at).ids == ("c", "a", "b"), (
        "Within reach."
    )
    few = WIDE.apply(fused_ranking(a=9.0, b=8.5, c=3.4), at)
    assert few.ids == ("a", "b", "c")
    assert verified_ids(few) == {"a", "b"}


class Waits:
    """A reranker that reads `reads` documents, and then nothing more until `go_on`."""

    identity = "toy:waits"

    def __init__(self, reads: int) -> None:
        self.reads = reads
        self.go_on = threading.Event()
        self.stopped = threading.Event()

    def ready(self) -> None:
        """It is."""

    def scores(self, query: str, documents: Sequence[str]) -> list[float]:
        if self.reads <= 0:
            self.stopped.set()
            self.go_on.wait()
        self.reads -= len(documents)
        return [0.5] * len(documents)


@pytest.mark.parametrize(("reads", "reached"), [(0, 0), (1, 1), (2, 2)])
def test_the_deadline_holds(search_at: Search, over_at: OverAt, reads: int, reached: int) -> None:
    waits = Waits(reads)
    waited = over_at(waits.stopped)
    at = search_at(QUERY, MEMORIES, reranker=waits, budget_ms=200)
    before = fused_ranking(c=3.0, b=2.0, a=1.0)
    try:
        ranking = RerankInterpolation(batch=1).apply(before, at)
    finally:
        waits.go_on.set()
    assert waited == [0.2]
    assert ranking.ids == before.ids
    assert [one.reason for one in at.degraded] == [f"reranked {reached} of 3 within the deadline"]
    assert verified_ids(ranking) == set(before.ids[:reached])
    assert ranking.reranked == reached


class Fails(Waits):
    def scores(self, query: str, documents: Sequence[str]) -> list[float]:
        raise ProviderError("It broke.", transient=False)


def test_a_reranker_that_breaks_leaves_the_order_and_is_named(search_at: Search) -> None:
    before = fused_ranking(b=2.0, a=1.0)
    at = search_at(QUERY, MEMORIES, reranker=Fails(0))
    assert STAGE.apply(before, at) is before
    assert [(one.channel, one.reason) for one in at.degraded] == [("rerank", "It broke.")]


def test_equal_scores_come_by_id(search_at: Search) -> None:
    at = search_at(QUERY, MEMORIES, scores=dict.fromkeys(("first", "second", "third"), 0.7))
    assert STAGE.apply(fused_ranking(c=1.0, b=1.0, a=1.0), at).ids == ("a", "b", "c")
