"""The `router` recipe, number by number. Source: docs/reference/recipes.md, router."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import apsw
import pytest
from planned import (
    Fields,
    PlannedServer,
    by_id,
    ids,
    search_one,
    search_planned,
    settings,
    vault,
)

from model_server import Fault
from recollect import Memory, Recollect, RecollectError

pytestmark = pytest.mark.usefixtures("each_store")


def contentful(memories: Sequence[Memory]) -> apsw.Connection:
    """An index of the page's own shape, but one that keeps its content: what FTS5 says itself."""
    connection = apsw.Connection(":memory:")
    connection.execute(
        "CREATE VIRTUAL TABLE pages USING fts5 (title, text, tags, tokenize = 'unicode61')"
    )
    connection.execute("CREATE TABLE names (id TEXT)")
    for one in memories:
        connection.execute("INSERT INTO names VALUES (?)", (one.id,))
        connection.execute(
            "INSERT INTO pages VALUES (?, ?, ?)", (one.title, one.text, " ".join(one.tags))
        )
    return connection


def fts5_says(memories: Sequence[Memory], query: str) -> dict[str, tuple[float, str]]:
    """BM25 and snippet of each match, from the SQL on the page."""
    rows = contentful(memories).execute(
        """
        SELECT n.id, abs(bm25(pages, 10.0, 1.0, 5.0)), coalesce(
               nullif(snippet(pages, 1, '<mark>', '</mark>', '...', 32), ''),
               nullif(snippet(pages, 2, '<mark>', '</mark>', '...', 32), ''),
               snippet(pages, 0, '<mark>', '</mark>', '...', 32), '')
          FROM pages JOIN names n ON n.rowid = pages.rowid WHERE pages MATCH ?
        """,
        (query,),
    )
    return {str(id): (float(score), str(snippet)) for id, score, snippet in rows}


def search(memory: Recollect, query: str, **more: Any) -> list[str]:
    return ids(memory.search(query, recipe="router", **more))


# Keywords


LIBRARY: list[Fields] = [
    {"id": "alpha", "title": "alpha notes", "text": "beta beta gamma", "tags": ["delta"]},
    {"id": "beta", "title": "beta", "text": "alpha " + "filler " * 60 + "gamma alpha"},
    {"id": "tags", "title": "untitled", "text": "", "tags": ["alpha beta", "gamma"]},
    {"id": "title", "title": "alpha, beta & gamma"},
    {"id": "code", "title": "Widget", "text": "{{age:34}} and walking on a page", "tags": ["OR"]},
    {"id": "far", "title": "gap", "text": "alpha one two three four five six seven eight beta"},
]


@pytest.mark.parametrize(
    "query",
    [
        "alpha",
        "alpha beta",
        '"beta beta"',
        "alph*",
        "alpha OR gamma",
        "alpha NOT gamma",
        "alpha AND beta AND gamma",
        "(alpha OR beta) AND gamma",
        "NEAR(alpha beta, 2)",
        "NEAR(alpha beta)",
        "title : alpha",
        "{title tags} : gamma",
        "^alpha",
        "alpha + notes",
        "age 34",
    ],
)
def test_scores_and_snippets_are_fts5s_own(tmp_path: Path, query: str) -> None:
    """The index is contentless; a second one that keeps its content is asked the same by SQL."""
    with vault(tmp_path, LIBRARY) as memory:
        response = memory.search(query, recipe="router")
        expected = fts5_says(memory.show([str(one["id"]) for one in LIBRARY]), query)
    assert expected
    assert {one.id: one.score for one in response} == pytest.approx(
        {id: score for id, (score, _) in expected.items()}
    )
    assert {one.id: one.fields["snippet"] for one in response} == {
        id: snippet for id, (_, snippet) in expected.items()
    }
    order = sorted(expected, key=lambda id: (-by_id(response)[id].score, id))
    assert ids(response) == order


def test_snippets_come_from_text_else_tags_else_title(tmp_path: Path) -> None:
    with vault(tmp_path, LIBRARY) as memory:
        found = by_id(memory.search("alpha", recipe="router"))
    assert found["beta"].fields["snippet"].startswith("<mark>alpha</mark> filler")  # type: ignore[attr-defined]
    assert found["beta"].fields["snippet"].endswith("...")  # type: ignore[attr-defined]
    assert found["tags"].fields["snippet"] == "<mark>alpha</mark> beta gamma"
    assert found["title"].fields["snippet"] == "<mark>alpha</mark>, beta & gamma"
    assert found["alpha"].fields["snippet"] == "beta beta gamma"  # a text without the word


def test_a_word_of_the_id_does_not_cost_a_snippet(tmp_path: Path) -> None:
    """The plain index has no id. `alpha NOT deploy` finds the memory, and its id holds `deploy`."""
    fields = {"id": "deploy-1", "title": "notes", "text": "alpha rays"}
    result = search_one(tmp_path, fields, "alpha NOT deploy", "router")
    assert result.fields["snippet"] == "<mark>alpha</mark> rays"


def test_nothing_is_stemmed_and_all_words_must_match(tmp_path: Path) -> None:
    with vault(tmp_path, LIBRARY) as memory:
        assert search(memory, "walk") == []
        assert search(memory, "walking") == ["code"]
        assert search(memory, "alpha delta") == ["alpha"]
        assert search(memory, "alpha nowhere") == []


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("alpha (beta", "alpha beta"),
        ('alpha "beta', "alpha beta"),
        ("alpha-beta gamma!", "alpha beta gamma"),
        ("alpha's beta?", "alpha s beta"),
        ("'alpha beta'", "alpha beta"),
        ("alpha, beta", "alpha beta"),
        ("nosuch:alpha", "nosuch alpha"),
        ("alpha (beta OR gamma)", "alpha beta or gamma"),
        ("*", ""),
        ("*reads", "reads"),
        ("{{age:34}}", "age 34"),
        ("-alpha", "alpha"),
        ("AND", "and"),
        ("alpha AND", "alpha and"),
        ("NEAR(alpha, beta)", "near alpha beta"),
    ],
)
def test_what_is_not_valid_fts5_is_searched_as_plain_words(
    tmp_path: Path, query: str, words: str
) -> None:
    everything = [*LIBRARY, {"id": "all", "title": "alpha beta gamma s or and near nosuch reads"}]
    with vault(tmp_path, everything) as memory:
        with pytest.raises(apsw.SQLError):
            fts5_says(memory.show(["alpha"]), query if query != "*reads" else "(*reads)")
        assert search(memory, query, limit=100) == (
            search(memory, words, limit=100) if words else []
        )


def test_absurdly_deep_queries_are_plain_words(tmp_path: Path) -> None:
    """FTS5 refuses these: its parser's stack, or its tree, is full."""
    with vault(tmp_path, LIBRARY) as memory:
        assert len(search(memory, "(" * 500 + "alpha" + ")" * 500)) == 5
        for query in ("(alpha OR " * 500 + "beta" + ")" * 500, "alpha" + " NOT zebra" * 900):
            assert search(memory, query) == []  # OR, or NOT and zebra, would have to be found


def test_the_index_follows_memories_and_tags(tmp_path: Path) -> None:
    with vault(tmp_path, [{"id": "m", "title": "ember", "tags": ["ash"]}]) as memory:
        assert search(memory, "ember ash") == ["m"]
        memory.edit("m", title="spark")
        assert (search(memory, "ember"), search(memory, "spark")) == ([], ["m"])
        memory.edit("m", add_tags=["soot"])
        assert search(memory, "tags : soot") == ["m"]
        memory.edit("m", remove_tags=["ash"])
        assert search(memory, "ash") == []
        memory.forget(["m"])
        assert search(memory, "spark") == []
        memory.forget(["m"], undo=True)
        assert search(memory, "spark") == ["m"]


# Intent


@pytest.mark.parametrize(
    ("query", "embeds"),
    [
        ("ember", 0),
        ("two words", 0),
        ('"three words here"', 0),
        ("'three words here'", 0),
        ("pros AND cons today", 0),
        ("what happened on 2026-03-01", 0),
        ("what happened on 2026/03/01 then", 0),
        ("my-page-slug", 0),
        ("", 0),
        ("three words here", 1),
        ("pros and cons", 1),
        ("how do I NOTICE this", 1),
    ],
)
def test_the_model_is_asked_for_semantic_queries_alone(
    tmp_path: Path, query: str, embeds: int
) -> None:
    with (
        PlannedServer() as server,
        vault(tmp_path, [{"id": "m", "title": "x"}], settings(server)) as memory,
    ):
        response = memory.search(query, recipe="router")
    assert server.asked_to_embed(query) == embeds
    assert response.intent == ("semantic" if embeds else "keyword")
    assert response.degraded == ()


# Fusion

QUESTION = "why embers glow"


def test_the_worked_fusion(tmp_path: Path) -> None:
    """First in keywords and second by vector: 1/61 + 1/62. Second in keywords alone: 1/62."""
    memories: list[Fields] = [
        {"id": "both", "title": f"{QUESTION}!"},
        {"id": "near", "title": "fire"},
        {"id": "word", "title": "a note", "text": f"{QUESTION} and then a good deal more"},
    ]
    cosines = {"fire": 0.9, f"{QUESTION}!": 0.5, "a note": 0.0}
    response = search_planned(tmp_path, memories, QUESTION, "router", cosines=cosines)
    assert ids(response) == ["both", "near", "word"]
    scores = {one.id: one.score for one in response}
    assert scores["both"] == pytest.approx(0.03252, abs=5e-6)
    assert scores["both"] == pytest.approx(1 / 61 + 1 / 62, abs=1e-15)
    assert scores["near"] == pytest.approx(1 / 61, abs=1e-15)
    assert scores["word"] == pytest.approx(0.01613, abs=5e-6)
    found = by_id(response)
    # The keyword snippet survives the merge; what meaning alone found has none.
    assert found["word"].fields["snippet"] == (
        "<mark>why</mark> <mark>embers</mark> <mark>glow</mark> and then a good deal more"
    )
    assert found["near"].fields["snippet"] == ""


def test_what_lies_under_the_cosine_threshold_is_dropped_and_counted(tmp_path: Path) -> None:
    cosines = {"at": 0.3001, "under": 0.2999, "far": -0.5, "near": 0.9}
    memories = [{"id": title, "title": title} for title in cosines]
    response = search_planned(tmp_path, memories, "three words here", "router", cosines=cosines)
    assert ids(response) == ["near", "at"]
    assert response.counts["vector"] == 2
    assert response.counts["dropped"] == {"least_cosine": 2}


@pytest.mark.parametrize(("limit", "cut"), [(10, 100), (100, 100), (110, 110)])
def test_each_list_is_cut_at_a_hundred_or_at_the_limit(
    tmp_path: Path, limit: int, cut: int
) -> None:
    query = "three words here"
    cosines = {f"{query} {n}": 0.5 for n in range(120)}
    memories = [{"id": f"m{n:03}", "title": title} for n, title in enumerate(cosines)]
    response = search_planned(tmp_path, memories, query, "router", cosines=cosines, limit=limit)
    assert (response.counts["keyword"], response.counts["vector"]) == (cut, cut)
    assert len(response) == limit


# Degrading


@pytest.mark.parametrize("why", ["no model", "embedding fails", "similarity fails"])
def test_keywords_answer_when_meaning_cannot(
    tmp_path: Path, why: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when the stored vectors have another dimension than the query's: similarity fails."""
    # A reason is logged once a process, and others may have met this one before.
    monkeypatch.setattr("recollect.context._logged", set())
    query = f"three words {why}"
    memories = [{"id": "m", "title": query}, {"id": "other", "title": "else"}]
    with PlannedServer() as server, vault(tmp_path, memories, settings(server)) as memory:
        match why:
            case "no model":
                memory.models = type(memory.models)(settings(None), {})
            case "embedding fails":
                server.fault = Fault.NOT_JSON
            case "similarity fails":
                server.dimensions = 6
        with caplog.at_level(logging.WARNING, logger="recollect"):
            response = memory.search(query, recipe="router")
        expected = fts5_says(memory.show(["m", "other"]), query)
    assert ids(response) == ["m"]
    assert response.results[0].score == pytest.approx(expected["m"][0])
    [lost] = response.degraded
    assert lost.channel == "vector"
    assert lost.reason
    assert lost.reason in caplog.text


def test_no_vault_open_is_an_error(tmp_path: Path) -> None:
    with vault(tmp_path, [{"id": "m", "title": "x"}]) as memory:
        pass
    with pytest.raises(RecollectError):
        memory.search("x", recipe="router")
