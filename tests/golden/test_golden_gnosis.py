"""The `gnosis` recipe, number by number. Source: docs/reference/recipes.md, gnosis."""

from __future__ import annotations

import hashlib
import hmac
import threading
from collections.abc import Sequence
from math import exp
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from planned import (
    HOUR,
    NOW,
    Fields,
    PlannedServer,
    ago,
    by_id,
    ids,
    search_one,
    search_planned,
    settings,
    vault,
)
from planned_search import OverAt

from model_server import Fault, Recorded, Reply
from recollect import Memory, Recollect, Response, UserError
from recollect.present.response import compact, summary
from recollect.stages.adjustments import matched_keywords
from recollect.stages.rerank import Skip

pytestmark = pytest.mark.usefixtures("each_store")


def notes(count: int, **fields: Any) -> list[Fields]:
    """Memories `n00`, `n01` … with titles `note 00` …, the newest last."""
    return [
        {"id": f"n{n:03}", "title": f"note {n:03}", "updated_at": ago((count - n) * HOUR), **fields}
        for n in range(count)
    ]


def search(memory: Recollect, query: str, **more: Any) -> Response:
    return memory.search(query, recipe="gnosis", **more)


def rerank_with(
    folder: Path,
    relevance: dict[str, float],
    memories: Sequence[Fields],
    query: str = "quartz",
    **more: Any,
) -> Response:
    """Search these memories, and five more that keep the reranker from being skipped, with a
    reranker that gives exactly these scores by title."""
    fillers: list[Fields] = [{"id": f"filler{n}", "title": f"filler {n}"} for n in range(5)]
    memories = [*memories, *fillers]
    return search_planned(folder, memories, query, "gnosis", relevance=relevance, **more)


# Skip: fewer than five candidates


def test_worked_first_in_both_lists_with_cosine_point_eight(tmp_path: Path) -> None:
    with PlannedServer() as server:
        server.plan("quartz", {"crystal": 0.8})
        memories = [{"id": "m", "title": "crystal", "tags": ["quartz"]}]
        with vault(tmp_path, memories, settings(server, rerank=True)) as memory:
            response = search(memory, "quartz")
    [result] = response.results
    assert result.score == pytest.approx(0.6946, abs=5e-5)
    assert result.fields["verified"] is False
    assert server.reranked() == []
    assert summary(response) == "Reranked 0 of 1, returned 1"


def test_worked_first_by_topic_alone(tmp_path: Path) -> None:
    result = search_one(tmp_path, {"title": "crystal", "tags": ["Quartz"]}, "quartz", "gnosis")
    assert result.score == pytest.approx(0.6193, abs=5e-5)
    assert result.fields["vector_similarity"] is None


@pytest.mark.parametrize(("kind", "factor"), [("fact", 1.0), ("preference", 1.25)])
def test_worked_first_by_vector_alone_with_cosine_point_three(
    tmp_path: Path, kind: str, factor: float
) -> None:
    """A preference is scored by its RRF before the boost, and then × 1.25."""
    memories = [{"id": "m", "title": "crystal", "kind": kind}]
    cosines = {"crystal": 0.3}
    [result] = search_planned(tmp_path, memories, "quartz", "gnosis", cosines=cosines).results
    assert result.score == pytest.approx(factor * 0.4228, abs=factor * 5e-5)
    assert result.fields["vector_similarity"] == pytest.approx(0.3, abs=1e-6)


@pytest.mark.parametrize(
    ("topic_rank", "vector_rank", "cosine"),
    [(1, 1, 0.8), (1, 2, 0.5), (None, 1, 0.3), (2, None, None), (1, 1, -0.9), (4, 4, 1.0)],
)
def test_the_skip_formula_in_the_recipes_own_words(
    topic_rank: int | None, vector_rank: int | None, cosine: float | None
) -> None:
    rrf = sum(1 / (60 + rank) for rank in (topic_rank, vector_rank) if rank)
    x = rrf / (2 / 61) * (1 if cosine is None else cosine)
    expected = min(0.70, 0.40 + 0.30 / (1 + exp(-10 * (x - 0.4))))
    assert Skip().score(rrf, cosine, largest=2 / 61).value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("candidates", "deep", "read"), [(4, False, 0), (5, False, 5), (1, True, 1), (4, True, 4)]
)
def test_search_reranks_from_five_candidates_on_and_deep_search_always(
    tmp_path: Path, candidates: int, deep: bool, read: int
) -> None:
    memories = notes(candidates)
    with PlannedServer() as server:
        server.relevance = {f"note {n:03}": 0.5 for n in range(candidates)}
        with vault(tmp_path, memories, settings(server, rerank=True)) as memory:
            response = search(memory, "quartz vein", deep=deep)
    assert len(server.reranked()) == response.counts["reranked"] == read
    assert {one.fields["verified"] for one in response} == {read > 0}
    assert not read or {one.score for one in response} == {0.5}


def test_skipped_scores_use_the_rrf_before_the_boosts_and_are_capped(tmp_path: Path) -> None:
    """Topic alone, all first or second: 0.6193 for the first. The preference × 1.25 would be 0.774
    and the summary × 1.3 more: both stop at 0.70. The result × 0.6 and the done × 0.7 do not."""
    made = ("summary", "preference", "result", "task_done")
    memories = [
        {"id": kind, "title": kind, "kind": kind, "tags": ["quartz"], "updated_at": ago(n * HOUR)}
        for n, kind in enumerate(made)
    ]
    with vault(tmp_path, memories) as memory:
        found = {one.id: one.score for one in search(memory, "quartz")}

    def alone(rank: int) -> float:
        return 0.40 + 0.30 / (1 + exp(-10 * (61 / 2 / (60 + rank) - 0.4)))

    assert found == pytest.approx(
        {
            "summary": 0.70,
            "preference": 0.70,
            "result": alone(3) * 0.6,
            "task_done": alone(4) * 0.7,
        },
        abs=1e-12,
    )


# How many


@pytest.mark.parametrize(
    ("deep", "returned", "vectors", "topics", "pool"),
    [(False, 32, 64, 48, 64), (True, 100, 256, 192, 256)],
)
def test_candidates_and_results_at_most(
    tmp_path: Path, deep: bool, returned: int, vectors: int, topics: int, pool: int
) -> None:
    """Three hundred memories near the query, and three hundred others tagged with it: every list is
    longer than its place, and the two have nothing in common."""
    near = [{"id": f"v{n:03}", "title": f"near {n}"} for n in range(300)]
    tagged = [{"id": f"t{n:03}", "title": f"tag {n}", "tags": ["quartz"]} for n in range(300)]
    with PlannedServer() as server:
        server.plan("quartz vein", {f"near {n}": 0.9 for n in range(300)})
        server.relevance = {f"near {n}": 0.5 for n in range(300)}
        server.relevance |= {f"tag {n}": 0.5 for n in range(300)}
        with vault(tmp_path, [*near, *tagged], settings(server, rerank=True)) as memory:
            response = search(memory, "quartz vein", deep=deep)
            more = search(memory, "quartz vein", deep=deep, limit=1000)
            few = search(memory, "quartz vein", deep=deep, limit=7)
    counts = response.counts
    assert (counts["vector"], counts["topic"]) == (vectors, topics)
    assert (counts["pool"], counts["reranked"], counts["returned"]) == (pool, pool, returned)
    assert counts["dropped"] == {"pool": vectors + topics - pool, "limit": pool - returned}
    assert summary(response) == f"Reranked {pool} of {pool}, returned {returned}"
    assert len(more) == returned
    assert any(str(returned) in note for note in more.notes)
    assert len(few) == 7


def test_the_boosts_decide_who_is_in_the_pool(tmp_path: Path) -> None:
    """64 memories by vector and 48 others by topic compete for 64 places: 32 of each would get in.
    The last of the topics, and one a little before it, are a preference and a summary: 1.3 and 1.4
    lift them into the pool. The reranker is shown the pool, best first."""
    near: list[Fields] = [{"id": f"v{n:03}", "title": f"near {n:03}"} for n in range(64)]
    tagged: list[Fields] = [
        {"id": f"t{n:03}", "title": f"tag {n:03}", "tags": ["quartz"], "updated_at": ago(n * HOUR)}
        for n in range(48)
    ]
    places = {"preference": 47, "summary": 40}
    for kind, place in places.items():
        tagged[place] = {**tagged[place], "kind": kind}
    with PlannedServer() as server:
        cosines = {f"near {n:03}": 0.9 - n / 1000 for n in range(64)}
        server.plan("quartz", cosines)
        with vault(tmp_path, [*near, *tagged], settings(server, rerank=True)) as memory:
            search(memory, "quartz")
    rrf = {f"near {n:03}": 1 / (61 + n) for n in range(64)}
    rrf |= {f"tag {n:03}": 1 / (61 + n) for n in range(48)}
    rrf["tag 047"] *= 1.3
    rrf["tag 040"] *= 1.4
    # Equal RRF: `t…` goes before `v…` by id.
    pool = sorted(rrf, key=lambda t: (-rrf[t], f"t{t[4:]}" if t[0] == "t" else f"v{t[5:]}"))[:64]
    assert {"tag 047", "tag 040"} <= set(pool)
    assert server.reranked() == pool


# Keywords


def test_deep_search_needs_two_keywords_and_search_one(tmp_path: Path) -> None:
    with vault(tmp_path, notes(1)) as memory:
        for query in ("quartz", "the quartz", "quartz, Quartz!", "how quartz is"):
            assert search(memory, query).recipe == "gnosis"
            with pytest.raises(UserError, match="Deep search needs at least 2 keywords"):
                search(memory, query, deep=True)
        for query in ("", " ", "how is the", "x ?"):
            with pytest.raises(UserError, match="needs at least 1 keyword "):
                search(memory, query)
        assert search(memory, "quartz vein", deep=True).recipe == "gnosis"


def test_recipes_without_a_deep_search_say_so(tmp_path: Path) -> None:
    with (
        vault(tmp_path) as memory,
        pytest.raises(UserError, match="vault has no deep search; gnosis has one"),
    ):
        memory.search("quartz vein", recipe="vault", deep=True)


# Topics


def test_topics_rank_by_matching_keywords_then_newest_then_id(tmp_path: Path) -> None:
    """Tags match whole and in any case; a word in a title, or a tag of two words, is no topic."""
    memories: list[Fields] = [
        {"id": "two-old", "title": "a", "tags": ["Quartz", "VEIN"], "updated_at": ago(9 * HOUR)},
        {"id": "one-new", "title": "b", "tags": ["quartz"], "updated_at": ago(1 * HOUR)},
        {"id": "one-b", "title": "c", "tags": ["vein", "x"], "updated_at": ago(2 * HOUR)},
        {"id": "one-a", "title": "d", "tags": ["vein", "y"], "updated_at": ago(2 * HOUR)},
        {"id": "twice", "title": "e", "tags": ["quartz", "QUARTZ"], "updated_at": ago(0 * HOUR)},
        {"id": "word", "title": "quartz vein"},
        {"id": "phrase", "title": "f", "tags": ["quartz vein"]},
    ]
    with vault(tmp_path, memories) as memory:
        response = search(memory, "the quartz vein")
    assert response.counts["topic"] == 5
    assert ids(response) == ["two-old", "twice", "one-new", "one-a", "one-b"]


@pytest.mark.sqlite
def test_tags_are_looked_up_by_keyed_hash(tmp_path: Path) -> None:
    """HMAC-SHA-256 under a key of the vault's own: the same tag has another hash elsewhere."""
    hashes = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        with vault(tmp_path / name, [{"id": "m", "title": "x", "tags": ["Quartz"]}]) as memory:
            rows = memory.store.database.rows
            [(topic,)] = rows("SELECT topic FROM tags")
            [(key,)] = rows("SELECT value FROM meta WHERE key = 'topic_key'")
        assert topic == hmac.digest(bytes.fromhex(str(key)), b"quartz", hashlib.sha256)
        hashes.append(topic)
    assert len({*hashes, hashlib.sha256(b"quartz").digest()}) == 3


# Keyword floor


@pytest.mark.parametrize(
    ("raw_score", "query", "fields", "score"),
    [
        (0.0, "harper", {"title": "Harper"}, 0.30),
        (0.008, "harper", {"text": "Met Harper in Oslo"}, 0.30),
        (0.008, "harper", {"tags": ["HARPER lee"]}, 0.30),
        (0.008, "harper lisbon", {"text": "Harper."}, 0.15),
        (0.008, "harper lisbon", {"text": "Harper, Lisbon"}, 0.30),
        (0.008, "harper harper lisbon", {"text": "harper"}, 0.15),
        (0.25, "harper lisbon", {"text": "harper"}, 0.25),
        (0.50, "harper", {"text": "harper"}, 0.50),
        (0.05, "harp", {"text": "harper"}, 0.05),  # no whole word
        (0.05, "cat", {"text": "concatenate cat_food"}, 0.05),
        (0.05, "harper", {"why": "harper", "context": "harper", "details": "harper"}, 0.05),
        (0.05, "how does harper", {"text": "show how"}, 0.05),
    ],
)
def test_literal_matches_are_raised_to_a_floor(
    tmp_path: Path, raw_score: float, query: str, fields: dict[str, Any], score: float
) -> None:
    fields = {"id": "m", "title": "memory of it", **fields}
    response = rerank_with(tmp_path, {fields["title"]: raw_score}, [fields], query)
    assert by_id(response)["m"].score == pytest.approx(score, abs=1e-12)


def test_how_does_not_match_show() -> None:
    shown = Memory(id="m", title="Show", text="somehow shown", created_at=NOW, updated_at=NOW)
    assert matched_keywords({"how", "show", "shown"}, shown) == {"show", "shown"}


# Adjustments


@pytest.mark.parametrize(
    ("kind", "raw_score", "score"),
    [
        ("fact", 0.5, 0.5),
        ("preference", 0.5, 0.625),
        ("preference", 0.9, 1.0),
        ("summary", 0.5, 0.65),
        ("summary", 0.8, 1.0),
        ("result", 0.5, 0.3),
        ("task_done", 0.5, 0.35),
        ("preference_done", 0.5, 0.5 * 0.875),
        ("preference_done", 0.9, 1.0 * 0.7),  # the cap holds before the done factor
        ("summary_done", 0.5, 0.5 * 1.3 * 0.7),
        ("result_done", 0.5, 0.5 * 0.6 * 0.7),
        ("preferences", 0.5, 0.5),
        ("undone", 0.5, 0.5),
        ("_done", 0.5, 0.35),
    ],
)
def test_kinds_adjust_the_reranked_score(
    tmp_path: Path, kind: str, raw_score: float, score: float
) -> None:
    response = rerank_with(tmp_path, {"it": raw_score}, [{"id": "m", "title": "it", "kind": kind}])
    assert by_id(response)["m"].score == pytest.approx(score, abs=1e-12)


def test_a_done_preference_sinks_below_its_active_twin(tmp_path: Path) -> None:
    memories = [
        {"id": "done", "title": "tea", "kind": "preference_done"},
        {"id": "fact", "title": "milk", "kind": "fact"},
        {"id": "active", "title": "coffee", "kind": "preference"},
    ]
    response = rerank_with(tmp_path, {"tea": 0.6, "milk": 0.6, "coffee": 0.6}, memories)
    assert ids(response) == ["active", "fact", "done"]


def test_the_floor_is_on_the_raw_score_and_adjustments_come_after(tmp_path: Path) -> None:
    memories = [
        {"id": "result", "title": "quartz", "kind": "result"},
        {"id": "wish", "title": "Quartz!", "kind": "preference"},
    ]
    response = rerank_with(tmp_path, {"quartz": 0.01, "Quartz!": 0.01}, memories)
    scores = {id: one.score for id, one in by_id(response).items() if id in ("result", "wish")}
    assert scores == pytest.approx({"result": 0.30 * 0.6, "wish": 0.30 * 1.25})


# Score floor


def test_under_the_score_floor_is_dropped_and_counted(tmp_path: Path) -> None:
    """0.03 is not under 0.03. A result of 0.04 is, once it is demoted. The fillers are 0."""
    memories = [
        {"id": "at", "title": "at"},
        {"id": "under", "title": "under"},
        {"id": "demoted", "title": "demoted", "kind": "result"},
        {"id": "lifted", "title": "lifted", "kind": "preference"},
    ]
    scores = {"at": 0.03, "under": 0.0299, "demoted": 0.04, "lifted": 0.025}
    response = rerank_with(tmp_path, scores, memories)
    assert ids(response) == ["lifted", "at"]
    assert response.counts["dropped"] == {"score_floor": 2 + 5}
    assert summary(response) == "Reranked 9 of 9, returned 2"


def test_an_empty_answer_is_an_answer(tmp_path: Path) -> None:
    response = rerank_with(tmp_path, {}, [])
    assert (response.results, response.topics, response.degraded) == ((), {}, ())
    assert compact(response) == [[], "Reranked 5 of 5, returned 0", {}]


# Preview


def test_a_preview_has_the_documented_fields(tmp_path: Path) -> None:
    memories = [
        {"id": "m", "title": "it", "text": "t" * 300, "kind": "decision", "tags": ["b", "a"],
         "updated_at": ago(HOUR)},
    ]  # fmt: skip
    response = rerank_with(tmp_path, {"it": 0.4}, memories)
    [result] = response.results
    assert result.fields == {
        "preview": "t" * 240,
        "vector_similarity": pytest.approx(1.0),
        "rerank_score": 0.4,
        "kind": "decision",
        "timestamp": "2026-03-01T11:00:00Z",
        "topics": ["b", "a"],
        "complete": False,
        "verified": True,
    }
    assert result.fields["rerank_score"] == result.score


@pytest.mark.parametrize(
    ("score", "length", "whole"),
    [
        (0.81, 2047, True),
        (0.81, 2048, False),
        (0.80, 2047, False),
        (0.80, 200, True),  # short enough to be shown whole anyway
        (0.10, 200, True),
    ],
)
def test_a_sure_result_is_inlined(tmp_path: Path, score: float, length: int, whole: bool) -> None:
    text = "x" * length
    response = rerank_with(tmp_path, {"it": score}, [{"id": "m", "title": "it", "text": text}])
    fields = response.results[0].fields
    assert fields["complete"] is whole
    assert (fields["preview"] == text) is whole


@pytest.mark.parametrize(("deep", "inlined"), [(False, 3), (True, 5)])
def test_the_best_three_or_five_are_inlined(tmp_path: Path, deep: bool, inlined: int) -> None:
    memories = [{"id": f"m{n}", "title": f"it {n}", "text": f"{n}" * 1000} for n in range(8)]
    relevance = {f"it {n}": 0.99 - n / 100 for n in range(8)}
    response = search_planned(
        tmp_path, memories, "quartz vein", "gnosis", relevance=relevance, deep=deep
    )
    whole = [True] * inlined + [False] * (8 - inlined)
    assert [one.fields["complete"] for one in response] == whole


def test_the_response_is_results_counts_and_topics(tmp_path: Path) -> None:
    memories = [
        {"id": f"m{n}", "title": f"it {n}", "tags": ["rock", "mine"] if n < 2 else ["rock"]}
        for n in range(3)
    ]
    response = rerank_with(tmp_path, {f"it {n}": 0.5 for n in range(3)}, memories)
    results, counts, topics = compact(response)
    assert [one["id"] for one in results] == ["m0", "m1", "m2"]
    assert counts == "Reranked 8 of 8, returned 3"
    assert topics == {"rock": 3, "mine": 2}
    assert list(topics) == ["rock", "mine"]


# What can go wrong


def test_without_a_reranker_nothing_is_verified_and_the_response_says_why(tmp_path: Path) -> None:
    response = search_planned(tmp_path, notes(9), "quartz", "gnosis")
    assert [entry.channel for entry in response.degraded] == ["rerank"]
    assert all(one.score <= 0.70 and not one.fields["verified"] for one in response)
    assert len(response) == 9


def read_at_most(server: PlannedServer, count: int) -> threading.Event:
    """Let the reranker hang after this many documents; the event says that it does."""
    rerank, stopped = server.answer, threading.Event()

    def stopping(request: Recorded) -> Reply:
        if request.path == "/rerank" and len(server.reranked()) >= count:
            stopped.set()
            server.closing.wait()
        return rerank(request)

    server.answer = stopping  # type: ignore[method-assign]
    return stopped


def test_a_reranker_that_fails_halfway_keeps_what_it_said(tmp_path: Path) -> None:
    """Eight are read at a time. The first eight are scored, then the server breaks: the rest goes
    below in its fused order, with preferences lifted as before, and is neither floored nor dropped.
    A score of 0 among the eight must not flatten that order."""
    with PlannedServer() as server:
        titles = [f"note {n:03}" for n in range(20)]
        server.plan("quartz", {title: 0.9 - n / 100 for n, title in enumerate(titles)})
        server.relevance = {title: 0.0 if n == 3 else 0.9 - n / 10 for n, title in
                            enumerate(titles[:8])}  # fmt: skip
        with vault(tmp_path, notes(20), settings(server, rerank=True)) as memory:
            rerank = server.answer

            def breaking(request: Any) -> Any:
                if request.path == "/rerank" and len(server.reranked()) >= 8:
                    server.fail_next(1, status=400)
                return rerank(request)

            server.answer = breaking  # type: ignore[method-assign]
            response = search(memory, "quartz")
    assert [entry.channel for entry in response.degraded] == ["rerank"]
    assert response.counts["reranked"] == 8
    verified = [one.id for one in response if one.fields["verified"]]
    assert verified == ["n000", "n001", "n002", "n004", "n005", "n006", "n007"]
    assert ids(response)[len(verified) :] == [f"n{n:03}" for n in range(8, 20)]


def test_the_deadline_ends_the_reranking_and_the_response_says_so(
    tmp_path: Path, over_at: OverAt
) -> None:
    """Time for one batch and a half: one batch of eight is verified, and the other twelve keep the
    order they had."""
    with PlannedServer() as server:
        titles = [f"note {n:03}" for n in range(20)]
        server.plan("quartz", {title: 0.9 - n / 100 for n, title in enumerate(titles)})
        server.relevance = dict.fromkeys(titles, 0.6)
        told = settings(server, rerank=True)
        told = replace(told, rerank=replace(told.rerank, budget_ms=750))
        with vault(tmp_path, notes(20), told) as memory:
            waited = over_at(read_at_most(server, 8))
            response = search(memory, "quartz")
    assert waited == [0.75]
    assert [(entry.channel, entry.reason) for entry in response.degraded] == [
        ("rerank", "reranked 8 of 20 within the deadline")
    ]
    assert ids(response) == [f"n{n:03}" for n in range(20)]
    assert [one.fields["verified"] for one in response] == [True] * 8 + [False] * 12
    assert summary(response) == "Reranked 8 of 20, returned 20"


def test_a_reranker_that_hangs_holds_up_nothing(tmp_path: Path) -> None:
    """A tenth of a second for a server that never answers: the answer comes unverified."""
    with PlannedServer() as server:
        told = settings(server, rerank=True)
        told = replace(told, rerank=replace(told.rerank, budget_ms=100))
        with vault(tmp_path, notes(6), told) as memory:
            search(memory, "quartz")
            read_at_most(server, 0)
            response = search(memory, "quartz")
    assert ("rerank", "reranked 0 of 6 within the deadline") in [
        (entry.channel, entry.reason) for entry in response.degraded
    ]
    assert not any(one.fields["verified"] for one in response)


def test_a_reranker_out_of_range_is_not_believed(tmp_path: Path) -> None:
    relevance = {"note 000": 1.5}
    response = search_planned(tmp_path, notes(6), "quartz", "gnosis", relevance=relevance)
    assert [entry.channel for entry in response.degraded] == ["rerank"]
    assert all(one.score <= 0.70 for one in response)


def test_without_vectors_topics_answer_alone(tmp_path: Path) -> None:
    with (
        PlannedServer() as server,
        vault(tmp_path, notes(3, tags=["quartz"]), settings(server)) as memory,
    ):
        server.fault = Fault.NOT_JSON
        response = search(memory, "quartz")
    assert [entry.channel for entry in response.degraded] == ["vector"]
    assert ids(response) == ["n002", "n001", "n000"]  # newest first
