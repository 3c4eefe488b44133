"""The `echovault` recipe, number by number. Source: docs/reference/recipes.md, echovault."""

from __future__ import annotations

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
    close_models,
    fts5_scores,
    ids,
    part,
    raw,
    search_planned,
    settings,
    stored_dimensions,
    vault,
)

from model_server import Fault
from recollect import Filter, Recollect
from recollect.settings import ContextSettings, SemanticMode

pytestmark = pytest.mark.usefixtures("each_store")


def bm25_scores(memory: Recollect, expression: str) -> dict[str, float]:
    """Return SQLite's own scores, every weight 1."""
    columns = ("title", "text", "why", "impact", "tags", "kind", "project", "source")
    asked = f"{{{' '.join(columns)}}} : ({expression})"
    return fts5_scores(memory, asked, dict.fromkeys(columns, 1))


# Keyword recall


def test_pieces_match_as_prefixes_any_of_them(tmp_path: Path) -> None:
    memories: list[Fields] = [
        {"id": "authn", "title": "Authentication"},
        {"id": "tokens", "title": "Old tokens"},
        {"id": "other", "title": "The author's oath"},
        {"id": "none", "title": "Reauth"},
    ]
    with vault(tmp_path, memories) as memory:
        response = memory.search("auth token", recipe="echovault")
        assert set(ids(response)) == {"authn", "tokens", "other"}
        expected = bm25_scores(memory, '"auth"* OR "token"*')
        largest = max(expected.values())
        assert {result.id: result.score for result in response} == pytest.approx(
            {id: score / largest for id, score in expected.items()}
        )


def test_pieces_are_split_at_white_space_alone_and_quoted(tmp_path: Path) -> None:
    """`user-id` is one piece, so its two tokens must be neighbours."""
    memories: list[Fields] = [
        {"id": "together", "title": "the user-ident column"},
        {"id": "apart", "title": "an id per user"},
        {"id": "word", "title": "OR"},
    ]
    with vault(tmp_path, memories) as memory:
        assert ids(memory.search("user-id", recipe="echovault")) == ["together"]
        assert ids(memory.search('"user" OR', recipe="echovault", limit=9)) != []
        assert ids(memory.search('" * - ()', recipe="echovault")) == []
        assert ids(memory.search("or", recipe="echovault")) == ["word"]  # no stop words here


def test_the_eight_documented_fields_are_searched(tmp_path: Path) -> None:
    searched = {"title", "text", "why", "impact", "tags", "kind", "project", "source"}
    others = {"context", "details", "domain", "space", "path"}
    memories: list[Fields] = [
        {"id": name, "title": "plain", name: ["zebra"] if name == "tags" else "zebra"}
        for name in searched | others
    ]
    with vault(tmp_path, [*memories, {"id": "zebra", "title": "plain"}]) as memory:
        assert set(ids(memory.search("zeb", recipe="echovault", limit=20))) == searched


def test_five_results_unless_asked_from_twice_as_many_candidates(tmp_path: Path) -> None:
    memories = [{"id": f"m{n:02}", "title": "gauge"} for n in range(30)]
    with vault(tmp_path, memories) as memory:
        unasked = memory.search("gauge", recipe="echovault")
        seven = memory.search("gauge", recipe="echovault", limit=7)
    assert (unasked.counts["keyword"], len(unasked)) == (10, 5)
    assert (seven.counts["keyword"], len(seven)) == (14, 7)
    assert ids(seven) == [f"m{n:02}" for n in range(7)]


# Tiers


def test_the_third_keyword_result_stops_the_embedding_call(tmp_path: Path) -> None:
    """Two memories of `kiln` are not enough, so the model is asked; a third is saved, and from then
    on it is not asked at all. The server counts."""
    memories = [
        {"id": "a", "title": "kiln one"},
        {"id": "b", "title": "kiln two"},
        {"id": "c", "title": "oven"},
    ]
    with PlannedServer() as server:
        server.plan("kiln", {"kiln one": 0.6, "oven": 0.9})
        with vault(tmp_path, memories, settings(server)) as memory:
            sparse = memory.search("kiln", recipe="echovault")
            assert server.asked_to_embed("kiln") == 1
            assert set(ids(sparse)) == {"a", "b", "c"}
            memory.edit("c", text="a small kiln")
            memory.embed_now()
            enough = memory.search("kiln", recipe="echovault")
            assert server.asked_to_embed("kiln") == 1
            scores = bm25_scores(memory, '"kiln"*')
    assert "vector" not in enough.counts
    assert enough.degraded == ()
    largest = max(scores.values())
    assert {one.id: one.score for one in enough} == pytest.approx(
        {id: score / largest for id, score in scores.items()}
    )
    assert enough.results[0].score == 1.0


def test_sparse_keywords_and_vectors_are_merged_at_three_to_seven(tmp_path: Path) -> None:
    """Two by keyword, three by vector, one in both: every list over its own largest."""
    memories = [
        {"id": "both", "title": "kiln"},
        {"id": "word", "title": "the kiln and much more about ovens"},
        {"id": "near", "title": "oven"},
    ]
    with PlannedServer() as server:
        server.plan("kiln", {"the kiln and much more about ovens": -0.2, "oven": 0.8})
        with vault(tmp_path, memories, settings(server)) as memory:
            response = memory.search("kiln", recipe="echovault", view="full")
            keyword = bm25_scores(memory, '"kiln"*')
    found = by_id(response)
    ratio = keyword["word"] / keyword["both"]
    assert ratio < 1
    assert {id: result.score for id, result in found.items()} == pytest.approx(
        {"both": 0.3 + 0.7, "near": 0.7 * 0.8, "word": 0.3 * ratio - 0.7 * 0.2}, abs=1e-6
    )
    assert (part(found["both"], "keyword").weight, part(found["both"], "vector").weight) == (
        0.3,
        0.7,
    )
    assert [term.name for term in found["near"].explain.parts] == ["vector"]


def test_twice_the_limit_is_fetched_by_vector(tmp_path: Path) -> None:
    memories = [{"id": f"m{n:02}", "title": f"note {n}"} for n in range(30)]
    response = search_planned(tmp_path, memories, "unrelated", "echovault", limit=4)
    assert (response.counts["vector"], len(response)) == (8, 4)


def test_a_model_that_fails_is_named_and_keywords_answer(tmp_path: Path) -> None:
    memories = [{"id": "m", "title": "kiln"}]
    with PlannedServer() as server, vault(tmp_path, memories, settings(server)) as memory:
        server.fault = Fault.NOT_JSON
        response = memory.search("kiln", recipe="echovault")
    assert ids(response) == ["m"]
    assert [entry.channel for entry in response.degraded] == ["vector"]
    assert response.results[0].score == 1.0


# Context

CONTEXT: list[Fields] = [
    {"id": "word", "title": "kiln", "project": "p", "updated_at": ago(9 * HOUR)},
    {"id": "near", "title": "oven", "project": "p", "updated_at": ago(8 * HOUR)},
    {"id": "new", "title": "wheel", "project": "p", "updated_at": ago(1 * HOUR)},
    {"id": "newer", "title": "clay", "project": "q", "updated_at": ago(0 * HOUR)},
    {"id": "old", "title": "glaze", "project": "p", "updated_at": ago(20 * HOUR)},
]


def context_ids(memory: Recollect, query: str = "kiln", **more: Any) -> list[str]:
    return [one.id for one in memory.context(query, **more).memories]


@pytest.mark.parametrize(
    ("semantic", "provider", "warm", "embeds"),
    [
        ("auto", "ollama", True, True),
        ("auto", "ollama", False, False),
        ("auto", "openai", False, True),  # a remote API is always warm
        ("always", "ollama", False, True),
        ("never", "ollama", True, False),
        ("never", "openai", True, False),
    ],
)
def test_context_embeds_as_its_mode_and_the_models_warmth_say(
    tmp_path: Path, semantic: SemanticMode, provider: str, warm: bool, embeds: bool
) -> None:
    with PlannedServer() as server:
        server.plan("kiln", {"oven": 0.9})
        with vault(tmp_path, CONTEXT, settings(server, provider)) as memory:
            server.loaded = {"toy:latest"} if warm else set()
            found = memory.context("kiln", semantic=semantic, topup_recent=False)
    assert server.asked_to_embed("kiln") == int(embeds)
    assert [one.id for one in found.memories][:2] == (["word", "near"] if embeds else ["word"])
    assert found.response is not None
    assert found.response.degraded == ()  # a mode that was chosen is no loss


def test_always_embeds_however_many_keyword_results_there_are(tmp_path: Path) -> None:
    memories = [{"id": f"m{n}", "title": f"kiln {n}"} for n in range(6)]
    with PlannedServer() as server, vault(tmp_path, memories, settings(server)) as memory:
        memory.context("kiln", semantic="auto")
        assert server.asked_to_embed("kiln") == 0
        memory.context("kiln", semantic="always")
        assert server.asked_to_embed("kiln") == 1


def test_without_a_model_every_mode_is_keyword_only(tmp_path: Path) -> None:
    with vault(tmp_path, CONTEXT) as memory:
        for semantic in ("auto", "always", "never"):
            assert context_ids(memory, semantic=semantic, topup_recent=False) == ["word"]


def test_free_places_are_filled_with_the_newest_none_twice(tmp_path: Path) -> None:
    with vault(tmp_path, CONTEXT) as memory:
        assert context_ids(memory) == ["word", "newer", "new", "near", "old"]
        assert context_ids(memory, limit=3) == ["word", "newer", "new"]
        # The newest are asked for within the same filter.
        assert context_ids(memory, limit=3, filter=Filter(project="p")) == ["word", "new", "near"]
        # `clay` is both found and the newest: it comes once, and its place is not lost.
        assert context_ids(memory, "clay", limit=2) == ["newer", "new"]
        assert context_ids(memory, topup_recent=False) == ["word"]


def test_context_without_a_query_is_what_is_newest(tmp_path: Path) -> None:
    with PlannedServer() as server, vault(tmp_path, CONTEXT, settings(server)) as memory:
        before = len(server.embeds())
        assert context_ids(memory, "", limit=2, filter=Filter(project="p")) == ["new", "near"]
        assert context_ids(memory, "", topup_recent=False) == []
        assert len(server.embeds()) == before


def test_the_settings_decide_unless_the_call_does(tmp_path: Path) -> None:
    with PlannedServer() as server:
        server.plan("kiln", {"oven": 0.9})
        keyword_only = ContextSettings(semantic="never", topup_recent=False)
        told = replace(settings(server), context=keyword_only)
        with vault(tmp_path, CONTEXT, told) as memory:
            assert context_ids(memory) == ["word"]
            assert context_ids(memory, semantic="always", limit=2) == ["word", "near"]
            assert context_ids(memory, topup_recent=True, limit=2) == ["word", "newer"]


# Vectors


def test_another_dimension_is_refused_and_reindex_is_the_cure(tmp_path: Path) -> None:
    """The vault was built with 8 dimensions; now the same model gives 6. The memory is saved, the
    error names both, keyword search goes on, and `reindex` makes it right."""
    with PlannedServer() as server:
        with vault(tmp_path, [{"id": "a", "title": "kiln"}], settings(server)) as memory:
            assert stored_dimensions(memory, "a") == 8
        server.dimensions = 6
        memory = Recollect(
            tmp_path / "vault.db",
            home=tmp_path,
            settings=settings(server, model="another"),
            environment={},
            clock=lambda: NOW,
        )
        try:
            memory.save(id="b", title="second kiln")
            reason = memory.embed_now() or ""
            assert "8" in reason
            assert "6" in reason
            assert "recollect reindex" in reason
            assert [one.id for one in memory.show(["a", "b"])] == ["a", "b"]
            response = memory.search("kiln", recipe="echovault")
            assert set(ids(response)) == {"a", "b"}
            assert memory.reindex() == 2
            assert memory.embed_now() is None
            healed = memory.search("kiln", recipe="echovault")
            assert healed.degraded == ()
            assert healed.counts["vector"] == 2
        finally:
            memory.close()
            close_models(memory.models)


# The result


def test_a_result_is_a_pointer(tmp_path: Path) -> None:
    fields = {
        "id": "a1b2", "title": "Switched to JWT auth", "text": "Replaced cookies with JWT",
        "why": "stateless", "impact": "Bearer everywhere", "kind": "decision",
        "tags": ["auth", "jwt"], "project": "my-app", "source": "claude-code",
        "details": "the long story", "created_at": "2026-03-01T10:30:00Z",
    }  # fmt: skip
    with vault(tmp_path, [fields, {"id": "bare", "title": "JWT"}]) as memory:
        found = by_id(memory.search("jwt", recipe="echovault"))
        assert memory.show(["a1b2"])[0].details == "the long story"
    assert found["a1b2"].fields == {
        "title": "Switched to JWT auth",
        "what": "Replaced cookies with JWT",
        "why": "stateless",
        "impact": "Bearer everywhere",
        "category": "decision",
        "tags": ["auth", "jwt"],
        "project": "my-app",
        "source": "claude-code",
        "has_details": True,
        "created_at": "2026-03-01T10:30:00Z",
    }
    assert found["bare"].fields["has_details"] is False
    assert raw(found["a1b2"], "keyword") <= 1.0
