"""The `vault` recipe, number by number. Source: docs/reference/recipes.md, vault."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from math import exp, log, sqrt
from pathlib import Path
from typing import Any

import pytest
from planned import (
    DAY,
    NOW,
    Fields,
    PlannedServer,
    ago,
    by_id,
    fts5_scores,
    ids,
    part,
    raw,
    search_one,
    search_planned,
    settings,
    stored_dimensions,
    vault,
)

from model_server import Fault
from recollect import Filter, Recollect
from recollect.query.terms import STOP_WORDS
from recollect.recipes.registry import BUILT_IN
from recollect.store.base import KeywordQuery
from recollect.store.sqlite.keyword import SqliteKeyword
from recollect.types import Memory

pytestmark = pytest.mark.usefixtures("each_store")

SIGNALS = ["semantic", "vector", "severity", "temporal_decay", "tag_overlap", "domain_match"]
KEYWORD_ONLY = [0.40, 0.00, 0.15, 0.15, 0.15, 0.15]
WITH_VECTORS = [0.25, 0.15, 0.15, 0.15, 0.15, 0.15]


def weights(memory: Recollect, query: str) -> list[float]:
    """The weights that scored the best result."""
    found = [part(memory.search(query, recipe="vault").results[0], name) for name in SIGNALS]
    assert all(term.weight is not None for term in found)
    return [term.weight or 0.0 for term in found]


# The worked score


def test_the_worked_score(tmp_path: Path) -> None:
    """One query token against four memory tokens, all equally rare: the cosine is 1/√4 = 0.5.
    The memory has two tags, one of which is among the two asked for: one of three."""
    result = search_one(
        tmp_path,
        {
            "title": "jwt", "text": "tokens", "tags": ["auth", "session"], "severity": "critical",
            "domain": "security", "updated_at": ago(365 * DAY),
        },
        "jwt", "vault", prefer_tags=["auth", "login"], prefer_domain="security",
    )  # fmt: skip
    assert [raw(result, name) for name in SIGNALS] == pytest.approx([0.5, 0, 1, 0.5, 1 / 3, 1])
    parts = [part(result, name).value for name in SIGNALS]
    assert parts == pytest.approx([0.20, 0, 0.15, 0.075, 0.05, 0.15], abs=1e-12)
    assert result.score == pytest.approx(0.625, abs=1e-12)
    assert result.explain.value == result.score
    assert [term.name for term in result.explain.parts] == SIGNALS


# Keyword recall


def test_stop_words_are_the_documented_list() -> None:
    listed = """a an and are as at be but by do does for from has have how i in is it its of on or
        that the this to was what when where which who why will with you your"""
    assert set(listed.split()) == STOP_WORDS


def test_only_words_that_carry_meaning_recall(tmp_path: Path) -> None:
    """A question full of stop words and single letters must find by `jwt`, not by `how` or `x`."""
    memories = [
        {"id": "noise", "title": "How does it do that, and why with x?"},
        {"id": "signal", "title": "Checks of JWT"},
    ]
    with vault(tmp_path, memories) as memory:
        assert ids(memory.search("how does x JWT do it?", recipe="vault")) == ["signal"]
        assert ids(memory.search("how does it", recipe="vault")) == []
        assert ids(memory.search("   ", recipe="vault")) == []


def test_query_text_never_becomes_syntax(tmp_path: Path) -> None:
    with vault(tmp_path, [{"id": "near", "title": "near miss"}]) as memory:
        for query in ("NEAR(miss", 'title:miss"', "miss*", "(miss", "-miss", "NOT miss", "^miss"):
            assert ids(memory.search(query, recipe="vault")) == ["near"], query
        assert ids(memory.search("mis*", recipe="vault")) == []


def test_words_are_stemmed_and_accents_do_not_matter(tmp_path: Path) -> None:
    memories = [
        {"id": "stem", "title": "Authenticating users"},
        {"id": "accent", "title": "Café crème"},
        {"id": "dotted", "title": "İstanbul"},
    ]
    with vault(tmp_path, memories) as memory:
        assert ids(memory.search("authentication user", recipe="vault")) == ["stem"]
        for query in ("CAFE", "café", "cafe\u0301 creme\u0300"):
            assert ids(memory.search(query, recipe="vault")) == ["accent"]
        assert ids(memory.search("İSTANBUL", recipe="vault")) == ["dotted"]


def test_title_id_text_tags_and_context_are_searched_and_nothing_else(tmp_path: Path) -> None:
    others = "why impact details kind project source domain space path".split()
    memories: list[Fields] = [
        {"id": name, "title": "plain", name: "zebra"} for name in ("text", "context", *others)
    ]
    memories += [
        {"id": "title", "title": "zebra"},
        {"id": "tags", "title": "plain", "tags": ["zebra"]},
        {"id": "zebra", "title": "plain"},
    ]
    with vault(tmp_path, memories) as memory:
        found = ids(memory.search("zebra", recipe="vault"))
    assert set(found) == {"title", "zebra", "text", "tags", "context"}


WEIGHTS = {"title": 10.0, "id": 5.0, "text": 3.0, "tags": 2.0, "context": 1.0}


def frog_scores(memory: Recollect) -> dict[str, float]:
    """Return SQLite's own scores of the lakes' memories."""
    return fts5_scores(memory, f'{{{" ".join(WEIGHTS)}}} : ("frog" OR "newt")', WEIGHTS)


def lake_memories() -> list[dict[str, Any]]:
    """Return ninety notes on lakes; `frog` is in 40 of them, in different fields, and `newt` in 12.
    The words of `why` and `project` count for the length of a row and for nothing else."""
    made: list[dict[str, Any]] = []
    for n in range(90):
        note: dict[str, Any] = {"id": f"n{n:02}", "title": f"lake {n}", "text": "pond " * (n % 7)}
        if n < 40:
            field = ("title", "text", "context")[n % 3]
            note[field] = f"{note.get(field, '')} frog {'reed ' * (n % 5)}{'frog ' * (n % 2)}"
        if n % 9 == 0:
            note["tags"] = ["frog", f"t{n}"] if n < 40 else [f"t{n}"]
        if n % 8 == 1:
            note["context"] = f"{note.get('context', '')} newt"
        if n % 4 == 0:
            note |= {"why": "frog frog frog", "project": "newt"}
        made.append(note)
    return made


def test_candidates_come_by_weighted_bm25(tmp_path: Path) -> None:
    with vault(tmp_path, lake_memories()) as memory:
        keyword = BUILT_IN["vault"].recall[0]
        matched = memory.store.keyword.match(
            KeywordQuery(
                "stemmed",
                '{title id text tags context} : ("frog" OR "newt")',
                keyword.columns,  # type: ignore[union-attr]
                100,
                Filter(),
            )
        )
        expected = frog_scores(memory)
    assert dict(matched.matches) == pytest.approx(expected, rel=1e-9)
    assert [one.memory_id for one in matched.matches] == sorted(
        expected, key=lambda id: (-dict(matched.matches)[id], id)
    )


@pytest.mark.parametrize(("limit", "fetched"), [(1, 30), (10, 30), (11, 33), (15, 45)])
def test_candidates_are_three_times_the_limit_and_thirty_at_least(
    tmp_path: Path, limit: int, fetched: int
) -> None:
    """Fifty-odd notes match. The guard for small corpora returns every candidate here, so that the
    answer shows which ones were fetched: the best by BM25."""
    with vault(tmp_path, lake_memories()) as memory:
        response = memory.search("frog newt", recipe="vault", limit=limit)
        best = frog_scores(memory)
    assert len(best) > 45
    assert response.counts["keyword"] == fetched
    cut = sorted(best.values(), reverse=True)[fetched - 1]
    assert {id for id, score in best.items() if score > cut + 1e-9} <= set(ids(response))
    assert len(response) == fetched


def test_equal_candidates_are_cut_by_id(tmp_path: Path) -> None:
    """Sixty memories that no formula can tell apart, saved in an order of their own: the thirty
    that become candidates are the first by id, and so is the order of the answer."""
    names = [f"twin-{n * 37 % 60:02}" for n in range(60)]
    with vault(tmp_path, [{"id": name, "title": "twins"} for name in names]) as memory:
        assert ids(memory.search("twins", recipe="vault")) == sorted(names)[:30]


@pytest.mark.own_segments
@pytest.mark.sqlite
def test_without_bm25_the_rank_orders_and_the_response_says_so(tmp_path: Path) -> None:
    with vault(tmp_path, [{"id": "a", "title": "otter"}]) as memory:
        store = memory.store
        store.keyword = SqliteKeyword(
            store.database, store.topics, store.packed, scorer="no_such_function"
        )
        response = memory.search("otter", recipe="vault")
    assert ids(response) == ["a"]
    assert any(
        part.channel == "keyword" and "bm25() is not available" in part.reason
        for part in response.degraded
    )


# semantic: TF-IDF


def tfidf_reference(query: str, memory: Memory, every: Sequence[Memory]) -> float:
    """The recipe's words again, in the simplest code there is."""

    def tokens(text: str) -> list[str]:
        held = [c if c in "abcdefghijklmnopqrstuvwxyz0123456789_" or c.isalpha() else " "
                for c in text.lower()]  # fmt: skip
        found = "".join(held).split()
        return [token for token in found if token not in STOP_WORDS and len(token) > 1]

    def of(one: Memory) -> list[str]:
        return tokens(f"{one.title} {one.text} {one.context} {' '.join(one.tags)}")

    def vector(found: list[str]) -> dict[str, float]:
        made = {}
        for token, count in Counter(found).items():
            df = sum(token in of(one) for one in every)
            made[token] = count / len(found) * (log((len(every) + 1) / (df + 1)) + 1)
        return made

    one, other = vector(tokens(query)), vector(of(memory))
    if not one or not other:
        return 0.0
    dot = sum(weight * other.get(token, 0.0) for token, weight in one.items())
    return dot / sqrt(sum(w * w for w in one.values())) / sqrt(sum(w * w for w in other.values()))


@pytest.mark.parametrize(
    "query", ["jwt rotation", "rotate keys keys daily", "never_seen keys", "schlüssel the 東京"]
)
def test_semantic_is_the_tf_idf_cosine_over_every_live_memory(tmp_path: Path, query: str) -> None:
    """The vocabulary counts live memories of every kind, sessions too, and no forgotten one; it
    does not stem, so that `rotate` recalls `rotation` but adds nothing to its cosine."""
    memories: list[Fields] = [
        {"id": "keys", "title": "Rotate the keys", "text": "keys daily, keys_v2", "tags": ["jwt"]},
        {"id": "jwt", "title": "JWT", "text": "the rotation of a key", "context": "rotation"},
        {"id": "word", "title": "Schlüssel", "text": "keys in 東京 and 東京"},
        {"id": "empty", "title": "the", "text": "keys"},
        {"id": "session", "title": "keys in the chat", "kind": "session"},
        {"id": "gone", "title": "keys keys jwt rotation"},
    ]
    with vault(tmp_path, memories) as memory:
        memory.forget(["gone"])
        every = list(memory.export())
        response = memory.search(query, recipe="vault")
    assert response.results
    for result in response:
        if result.memory.kind != "session":
            expected = tfidf_reference(query, result.memory, every)
            assert raw(result, "semantic") == pytest.approx(expected, abs=1e-12), result.id


def test_the_vocabulary_follows_edits(tmp_path: Path) -> None:
    memories = [{"id": f"m{n}", "title": "copper", "text": f"mine{n}"} for n in range(3)]
    with vault(tmp_path, memories) as memory:
        memory.edit("m1", title="silver")
        memory.forget(["m2"])
        memory.forget(["m2"], undo=True)
        memory.save(title="copper kettle", id="m3")
        every = list(memory.export())
        response = memory.search("copper silver", recipe="vault")
        assert {result.id for result in response} == {"m0", "m1", "m2", "m3"}
        for result in response:
            expected = tfidf_reference("copper silver", result.memory, every)
            assert raw(result, "semantic") == pytest.approx(expected, abs=1e-12)


# severity, tags, domain


@pytest.mark.parametrize(
    ("severity", "value"),
    [("critical", 1.0), ("warning", 0.7), ("suggestion", 0.4), (None, 0.4)],
)
def test_severity_values(tmp_path: Path, severity: str | None, value: float) -> None:
    result = search_one(tmp_path, {"title": "valve", "severity": severity}, "valve", "vault")
    assert raw(result, "severity") == value


@pytest.mark.parametrize(
    ("asked", "held", "value"),
    [
        (["a"], ["a"], 1.0),
        (["A"], ["a"], 1.0),
        (["a"], ["A"], 1.0),
        (["ÉTÉ"], ["été"], 1.0),
        (["a", "b"], ["b", "c"], 1 / 3),
        (["a"], ["b"], 0.0),
        (["a"], [], 0.0),
        ([], ["a"], 0.0),
        ([], [], 0.0),
        (["a", "A"], ["a", "b"], 1 / 2),
    ],
)
def test_tag_overlap_is_the_jaccard_of_asked_and_held(
    tmp_path: Path, asked: list[str], held: list[str], value: float
) -> None:
    fields = {"title": "valve", "tags": held}
    result = search_one(tmp_path, fields, "valve", "vault", prefer_tags=asked)
    assert raw(result, "tag_overlap") == pytest.approx(value)


def test_filters_count_as_asked_for_and_preferences_filter_nothing(tmp_path: Path) -> None:
    memories: list[Fields] = [
        {"id": "both", "title": "valve", "tags": ["a"], "domain": "steam"},
        {"id": "none", "title": "valve"},
    ]
    with vault(tmp_path, memories) as memory:
        filtered = memory.search("valve", recipe="vault", tags=("a",), domain="steam")
        preferred = memory.search(
            "valve", recipe="vault", prefer_tags=["a"], prefer_domain="steam", limit=2
        )
    assert ids(filtered) == ["both"]
    assert (raw(filtered.results[0], "tag_overlap"), raw(filtered.results[0], "domain_match")) == (
        1.0,
        1.0,
    )
    assert ids(preferred) == ["both", "none"]
    assert raw(preferred.results[1], "domain_match") == 0.0


# temporal decay


def decay(folder: Path, **fields: Any) -> float:
    result = search_one(folder, {"title": "valve", **fields}, "valve", "vault")
    return raw(result, "temporal_decay")


@pytest.mark.parametrize(
    ("age", "value"),
    [(0 * DAY, 1.0), (365 * DAY, 0.5), (730 * DAY, 0.25), (-30 * DAY, 1.0)],
)
def test_memories_fade_with_a_half_life_of_a_year(
    tmp_path: Path, age: timedelta, value: float
) -> None:
    found = decay(tmp_path, updated_at=ago(age))
    assert found == pytest.approx(value, abs=1e-12)
    assert found == pytest.approx(exp(-log(2) * max(age, 0 * DAY) / (365 * DAY)))


# The windows below are 100 days long, so that their last quarter is 25 days.
@pytest.mark.parametrize(
    ("left", "value"),
    [
        (100 * DAY, 1.0),
        (25 * DAY + timedelta(seconds=1), 1.0),
        (25 * DAY, 1.0),
        (12.5 * DAY, 0.5),
        (DAY, 0.04),
        (timedelta(0), 0.0),
        (-DAY, 0.0),
    ],
)
def test_a_validity_window_ramps_down_in_its_last_quarter(
    tmp_path: Path, left: timedelta, value: float
) -> None:
    """The memory is ten years old: with a window, age does not matter."""
    window = {"valid_from": ago(100 * DAY - left), "valid_until": ago(-left)}
    found = decay(tmp_path, updated_at=ago(3650 * DAY), **window)
    assert found == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize(
    ("fields", "value"),
    [
        ({}, 10 / 25),  # the window begins when the memory was made
        ({"valid_from": ago(2 * DAY)}, 1.0),  # valid_from goes before created_at: a short window
    ],
)
def test_a_window_begins_at_valid_from_or_when_the_memory_was_made(
    tmp_path: Path, fields: Fields, value: float
) -> None:
    found = decay(tmp_path, created_at=ago(90 * DAY), valid_until=ago(-10 * DAY), **fields)
    assert found == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("length", [timedelta(0), -5 * DAY])
def test_a_window_without_length_counts_as_one_until_it_expires(
    tmp_path: Path, length: timedelta
) -> None:
    until = NOW + DAY
    fields = {
        "id": "m",
        "title": "valve",
        "valid_until": until.isoformat(),
        "valid_from": (until - length).isoformat(),
    }
    with vault(tmp_path, [fields]) as memory:
        before, after = (
            raw(memory.search("valve", recipe="vault", now=now).results[0], "temporal_decay")
            for now in (NOW, until)
        )
    assert (before, after) == (1.0, 0.0)


# Adaptive weights


def give_feedback(memory: Recollect, accepted: int, dismissed: int) -> None:
    for place in range(accepted + dismissed):
        memory.store.feedback.add("valve", "m", place < accepted, NOW)


@pytest.mark.parametrize(
    ("accepted", "dismissed", "semantic", "each"),
    [
        (0, 0, 0.40, 0.15),
        (29, 0, 0.40, 0.15),  # one event too few
        (30, 0, 0.55, 0.1125),
        (0, 30, 0.25, 0.1875),
        (15, 15, 0.40, 0.15),
        (45, 5, 0.52, 0.12),  # worked
        (10, 40, 0.31, 0.1725),  # worked
    ],
)
def test_weights_learn_from_thirty_feedback_events_on(
    tmp_path: Path, accepted: int, dismissed: int, semantic: float, each: float
) -> None:
    with vault(tmp_path, [{"id": "m", "title": "valve"}]) as memory:
        give_feedback(memory, accepted, dismissed)
        found = weights(memory, "valve")
    assert found == pytest.approx([semantic, 0.0, each, each, each, each], abs=1e-12)
    assert sum(found) == pytest.approx(1.0, abs=1e-12)


def test_with_vectors_the_vector_weight_does_not_learn(tmp_path: Path) -> None:
    """45 of 50 accepted: semantic 0.37, vector 0.15 as ever, the four others 0.12 each."""
    memories = [{"id": "m", "title": "valve"}]
    with PlannedServer() as server, vault(tmp_path, memories, settings(server)) as memory:
        assert weights(memory, "valve") == WITH_VECTORS
        give_feedback(memory, 45, 5)
        found = weights(memory, "valve")
    assert found == pytest.approx([0.37, 0.15, 0.12, 0.12, 0.12, 0.12], abs=1e-12)


# Small corpus guard


def matching(count: int) -> list[dict[str, Any]]:
    return [{"id": f"m{n:03}", "title": "gauge"} for n in range(count)]


@pytest.mark.parametrize(
    ("found", "limit", "returned"),
    [
        (49, 20, 49),  # fewer than 50, and 20 is less than half of 49
        (50, 20, 20),  # 50 is not fewer than 50
        (41, 20, 41),
        (40, 20, 20),  # exactly half is not less than half
        (39, 20, 20),
        (3, 1, 3),
        (2, 1, 1),
        (30, 14, 30),
        (30, 15, 15),
    ],
)
def test_small_corpora_are_answered_whole(
    tmp_path: Path, found: int, limit: int, returned: int
) -> None:
    with vault(tmp_path, matching(found)) as memory:
        response = memory.search("gauge", recipe="vault", limit=limit)
    assert response.counts["keyword"] == found
    assert len(response) == returned
    assert bool(response.notes) == (returned > limit)
    assert response.counts["dropped"] == ({"limit": found - returned} if found > returned else {})


def test_memories_found_by_vectors_alone_do_not_count_for_the_guard(tmp_path: Path) -> None:
    """Two by keyword, twenty more by meaning: a limit of two is not less than half of two, so the
    guard stays away although twenty-two candidates are on the table."""
    memories = [*matching(2), *({"id": f"v{n:02}", "title": f"meter {n}"} for n in range(20))]
    response = search_planned(tmp_path, memories, "gauge", "vault", limit=2)
    assert response.counts["pool"] == 22
    assert len(response) == 2


# Vectors


def test_with_vectors_the_weights_and_the_cosine_change(tmp_path: Path) -> None:
    """`near` has no word of the query and comes through vectors; `word` comes through keywords; the
    cosine of `against` is negative and counts 0."""
    memories = [
        {"id": "near", "title": "fermata"},
        {"id": "word", "title": "pause"},
        {"id": "against", "title": "pause again"},
    ]
    cosines = {"fermata": 0.8, "pause again": -0.6, "pause": 1.0}
    response = search_planned(tmp_path, memories, "pause", "vault", cosines=cosines)
    found = by_id(response)
    assert {id: raw(result, "vector") for id, result in found.items()} == pytest.approx(
        {"near": 0.8, "word": 1.0, "against": 0.0}, abs=1e-6
    )
    assert [part(found["near"], name).weight for name in SIGNALS] == WITH_VECTORS
    assert found["near"].score == pytest.approx(0.15 * 0.8 + 0.15 * 0.4 + 0.15, abs=1e-6)
    assert response.degraded == ()


def test_a_keyword_hit_beyond_the_nearest_still_has_its_cosine(tmp_path: Path) -> None:
    """Forty memories lie nearer than the only one that has the word. The vector channel fetches
    thirty, so it misses that one; its cosine is looked up all the same."""
    memories = [
        {"id": "word", "title": "harmonica"},
        *({"id": f"near{n:02}", "title": f"near {n}"} for n in range(40)),
    ]
    cosines = {"harmonica": 0.25} | {f"near {n}": 0.9 for n in range(40)}
    response = search_planned(
        tmp_path, memories, "harmonica music", "vault", cosines=cosines, limit=10
    )
    assert response.counts["vector"] == 30
    assert raw(by_id(response)["word"], "vector") == pytest.approx(0.25, abs=1e-6)


def test_the_nearest_join_three_times_the_limit_and_thirty_at_least(tmp_path: Path) -> None:
    memories = [{"id": f"m{n:02}", "title": f"note {n}"} for n in range(50)]
    with PlannedServer() as server, vault(tmp_path, memories, settings(server)) as memory:
        for limit, fetched in ((1, 30), (10, 30), (12, 36)):
            response = memory.search("unrelated", recipe="vault", limit=limit)
            assert response.counts["vector"] == fetched
            assert len(response) == limit


@pytest.mark.parametrize("why", ["switched off", "broken"])
def test_without_an_answer_from_the_model_the_keyword_weights_hold(
    tmp_path: Path, why: str
) -> None:
    with (
        PlannedServer() as server,
        vault(tmp_path, [{"id": "m", "title": "valve"}], settings(server)) as memory,
    ):
        if why == "switched off":
            memory.models = type(memory.models)(settings(None), {})
        else:
            server.fault = Fault.NOT_JSON
        response = memory.search("valve", recipe="vault")
    [result] = response.results
    assert [part(result, name).weight for name in SIGNALS] == KEYWORD_ONLY
    [lost] = response.degraded
    assert lost.channel == "vector"
    assert ("none" if why == "switched off" else "not JSON") in lost.reason


def test_memories_are_embedded_in_hundreds_from_title_text_and_context(tmp_path: Path) -> None:
    """Each memory once per model: what has its vector is skipped, and a change of anything else
    than title, text or context leaves it."""
    memories = [
        {"id": f"m{n:03}", "title": f"t{n}", "text": "x", "context": "c", "why": "w", "tags": ["g"]}
        for n in range(250)
    ]
    with PlannedServer() as server, vault(tmp_path, memories, settings(server)) as memory:
        sent = [request.body["input"] for request in server.embeds()]
        assert [len(batch) for batch in sent] == [100, 100, 50]
        assert sent[0][:2] == ["t0\nx\nc", "t1\nx\nc"]
        memory.embed_now()
        memory.edit("m000", tags=["other"], severity="critical", why="changed")
        assert memory.waiting() == 0
        memory.edit("m000", context="changed")
        memory.embed_now()
        assert sum(len(request.body["input"]) for request in server.embeds()) in (251, 252)
        assert stored_dimensions(memory, "m000") == server.dimensions


# Sessions


def test_sessions_are_searched_apart_and_score_a_half(tmp_path: Path) -> None:
    """The session has every word of the query in its title and would win on words. It is searched
    apart, scores 0.5 and is ranked by that."""
    memories = [
        {"id": "chat", "title": "rotate signing keys", "kind": "session", "severity": "critical"},
        {"id": "rule", "title": "rotate signing keys", "severity": "critical", "domain": "auth"},
        {"id": "weak", "title": "keys", "text": "of the piano", "updated_at": ago(900 * DAY)},
    ]
    with vault(tmp_path, memories) as memory:
        response = memory.search(
            "rotate signing keys", recipe="vault", prefer_domain="auth", limit=3
        )
        found = by_id(response)
        assert ids(response) == ["rule", "chat", "weak"]
        assert found["chat"].score == 0.5
        assert found["rule"].score > 0.5 > found["weak"].score
        assert (response.counts["keyword"], response.counts["session"]) == (2, 1)
        assert ids(memory.search("rotate", recipe="vault", kind="session")) == ["chat"]
        assert ids(memory.search("rotate", recipe="vault", kind="fact")) == ["rule"]


def test_sessions_tie_at_a_half_and_the_most_relevant_come_first(tmp_path: Path) -> None:
    """152 chats hold `token`, three of them in their titles, which count more than texts. In the
    order of ids these three come last, and would not be shown."""
    memories: list[Fields] = [
        {"id": f"s{n:03}", "title": "chat", "text": f"token, {n} more words", "kind": "session"}
        for n in range(149)
    ]
    titles = {"s150": "token of the ship", "s151": "ship with a token", "s152": "token token"}
    memories += [{"id": id, "title": title, "kind": "session"} for id, title in titles.items()]
    with vault(tmp_path, memories) as memory:
        response = memory.search("token", recipe="vault", limit=5)
        assert ids(response) == ["s152", "s150", "s151", "s000", "s001"], "Equal ones by id."
        assert {result.score for result in response} == {0.5}


def test_sessions_do_not_come_through_vectors(tmp_path: Path) -> None:
    memories = [
        {"id": "chat", "title": "talk", "kind": "session"},
        {"id": "fact", "title": "hush"},
    ]
    assert ids(search_planned(tmp_path, memories, "silence", "vault")) == ["fact"]


def test_sessions_do_not_crowd_out_the_rest(tmp_path: Path) -> None:
    """A hundred chats shout `deploy`, and one rule says it once, far down. Chats have candidates
    of their own, so the rule is recalled; and it is all that was asked for, so it is above 0.5."""
    memories: list[Fields] = [
        {"id": f"s{n:03}", "title": "deploy deploy", "kind": "session"} for n in range(100)
    ]
    rule = {
        "id": "rule", "title": "Fridays", "text": "no deploy", "severity": "critical",
        "domain": "ops", "tags": ["release"],
    }  # fmt: skip
    with vault(tmp_path, [*memories, rule]) as memory:
        response = memory.search(
            "deploy", recipe="vault", limit=10, prefer_domain="ops", prefer_tags=["release"]
        )
    assert (response.counts["session"], response.counts["keyword"]) == (30, 1)
    assert ids(response)[:2] == ["rule", "s000"]
    assert len(response) == 10


# Views


def test_the_scan_view_has_the_documented_fields(tmp_path: Path) -> None:
    text = "x" * 119 + "yz" + "0" * 100
    fields = {
        "id": "m", "title": "valve", "text": text, "context": "abc", "kind": "rule",
        "domain": "steam", "tags": ["b", "a"],
    }  # fmt: skip
    result = search_one(tmp_path, fields, "valve", "vault")
    assert result.id == "m"
    assert result.fields == {
        "title": "valve",
        "type": "rule",
        "domain": "steam",
        "tags": ["b", "a"],
        "snippet": "x" * 119 + "y",
        "token_estimate": -(-(5 + 221 + 3) // 4),
    }


def test_the_full_view_has_the_whole_memory_and_six_signals(tmp_path: Path) -> None:
    fields = {"id": "m", "title": "valve", "details": "long story", "severity": "critical"}
    result = search_one(tmp_path, fields, "valve", "vault", view="full")
    assert set(result.fields) == {"memory", "breakdown"}
    shown: Any = result.fields["memory"]
    assert (shown["id"], shown["details"]) == ("m", "long story")
    breakdown: Any = result.fields["breakdown"]
    assert list(breakdown) == SIGNALS
    assert breakdown["severity"] == 1.0
