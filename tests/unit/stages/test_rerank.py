"""The reranking stages: texts, deadline, and the use of logits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import pytest
from planned_search import HangingReranker, OverAt, PlannedReranker, fused_ranking

from recollect.context import SearchContext
from recollect.errors import ProviderError
from recollect.maths import logistic
from recollect.stages.rerank import RerankInterpolation, RerankRun, focused_text, whole_text
from recollect.types import Memory, Ranking, recompute

Search = Callable[..., SearchContext]
STAGE = RerankInterpolation(weight=0.25, bound=10.0, floor=-5.0)
WIDE = RerankInterpolation(weight=1 / 3, bound=10.0, floor=-5.0)  # reaches 5 at most
MEMORIES = {"a": "first text", "b": "second text", "c": "third text"}
QUERY = "which text is it"


@pytest.mark.parametrize(
    ("title", "text", "read"),
    [("Title", "Text", "Title\nText"), ("", "Text", "Text"), ("Title", "", "Title")],
)
def test_title_and_text_are_read(title: str, text: str, read: str) -> None:
    now = datetime(2026, 3, 1, tzinfo=UTC)
    memory = Memory(id="m", title=title, text=text, created_at=now, updated_at=now)
    assert whole_text(memory) == focused_text(memory, "query", 10) == read


class BrokenReranker(PlannedReranker):
    """Fails while it loads, or while it reads."""

    def __init__(self, unready: str = "", failure: str = "") -> None:
        super().__init__({})
        self.unready = unready
        self.failure = failure

    def ready(self) -> None:
        if self.unready:
            raise ProviderError(self.unready, transient=False)

    def scores(self, query: str, documents: Sequence[str]) -> list[float]:
        raise ProviderError(self.failure, transient=False)


def test_scores_after_the_deadline_do_not_count(over_at: OverAt) -> None:
    reads = HangingReranker(2)
    waited = over_at(reads.stopped)
    run = RerankRun(reads, "query", 2)
    scores = run.by(0.2, [(f"m{number}", f"text {number}") for number in range(5)])
    assert scores == {"m0": 0.5, "m1": 0.5}
    assert waited == [0.2]
    reads.go_on.set()
    assert scores == {"m0": 0.5, "m1": 0.5}
    assert run.failure is None


@pytest.mark.parametrize(
    ("reranker", "reason"),
    [
        (None, 'rerank.provider is "none"'),
        (BrokenReranker(unready="No such file."), "No such file."),
        (BrokenReranker(failure="It broke."), "It broke."),
    ],
)
def test_without_a_working_reranker_the_order_stays_and_the_response_says_so(
    search_at: Search, reranker: BrokenReranker | None, reason: str
) -> None:
    before = fused_ranking(b=2.0, a=1.0)
    at = search_at(QUERY, MEMORIES, reranker=reranker)
    assert STAGE.apply(before, at) is before
    assert [(one.channel, one.reason) for one in at.degraded] == [("rerank", reason)]


def verified_ids(ranking: Ranking) -> set[str]:
    return {hit.memory_id for hit in ranking if hit.findings.verified}


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
        "the reranker rates it as an answer (logit of a cross-encoder)",
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
def test_a_query_of_few_words_is_not_reranked(search_at: Search, query: str) -> None:
    before = fused_ranking(b=2.0, a=1.0)
    at = search_at(query, MEMORIES, scores={"first": 0.9})
    assert STAGE.apply(before, at) is before
    assert at.degraded == []


def test_one_candidate_needs_no_opinion(search_at: Search) -> None:
    before = fused_ranking(a=1.0)
    assert STAGE.apply(before, search_at(QUERY, MEMORIES)) is before
    assert STAGE.apply(Ranking(), search_at(QUERY)) == Ranking()


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


def test_equal_scores_come_by_id(search_at: Search) -> None:
    at = search_at(QUERY, MEMORIES, scores=dict.fromkeys(("first", "second", "third"), 0.7))
    assert STAGE.apply(fused_ranking(c=1.0, b=1.0, a=1.0), at).ids == ("a", "b", "c")
