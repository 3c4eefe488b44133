"""The `covalence` recipe, number by number. Source: docs/reference/recipes.md, covalence."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from math import sqrt
from pathlib import Path
from typing import Any

import pytest
from planned import (
    DAY,
    HOUR,
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
from recollect import Recollect, Response

pytestmark = pytest.mark.usefixtures("each_store")


def formula(v: int | None, f: int | None, tier: int, *, title: bool, age_hours: float) -> float:
    """The recipe's one line."""
    relevance = (1 / (60 + v) if v else 0) + (1 / (60 + f) if f else 0)
    relevance += 0.20 / (60 + tier) + (0.01 if title else 0)
    return 0.90 * relevance + 0.10 * (1 / (1 + age_hours / 8760)) * 0.033


def search(memory: Recollect, query: str, **more: Any) -> Response:
    return memory.search(query, recipe="covalence", **more)


def test_the_formula_gives_the_worked_numbers() -> None:
    """The reference above, before it is used on anything else."""
    worked = [
        formula(1, 2, 2, title=False, age_hours=24),
        formula(None, 1, 1, title=True, age_hours=8760),
        formula(3, None, 3, title=False, age_hours=17520),
    ]
    assert worked == pytest.approx([0.035464, 0.028355, 0.018243], abs=5e-7)


def test_worked_vector_first_keyword_second_file_a_day_old(tmp_path: Path) -> None:
    memories: list[Fields] = [
        {"id": "it", "title": "rust/notes.md", "text": "some borrow checker notes, and rather many",
         "tier": "file", "updated_at": ago(24 * HOUR)},
        {"id": "other", "title": "Borrow checker"},
    ]  # fmt: skip
    cosines = {"rust/notes.md": 0.9, "Borrow checker": 0.8}
    response = search_planned(tmp_path, memories, "borrow checker", "covalence", cosines=cosines)
    result = by_id(response)["it"]
    assert raw(result, "vector") == 1 / 61
    assert raw(result, "keyword") == 1 / 62
    assert result.score == pytest.approx(0.035464, abs=5e-7)


def test_worked_keyword_first_core_with_title_match_a_year_old(tmp_path: Path) -> None:
    memories: list[Fields] = [
        {"id": "it", "title": "v1.4-ROADMAP.md", "tier": "core", "updated_at": ago(8760 * HOUR)},
        {"id": "other", "title": "x", "text": "the roadmap mentions 1 and 4 somewhere"},
    ]
    with vault(tmp_path, memories) as memory:
        response = search(memory, "roadmap 1.4")
    result = response.results[0]
    assert result.id == "it"
    assert [entry.channel for entry in response.degraded] == ["vector"]
    assert raw(result, "keyword") == 1 / 61
    assert raw(result, "title") == 0.01
    assert result.score == pytest.approx(0.028355, abs=5e-7)


def test_worked_vector_third_no_keyword_capture_two_years_old(tmp_path: Path) -> None:
    memories: list[Fields] = [
        {"id": "a", "title": "one"},
        {"id": "b", "title": "two"},
        {"id": "it", "title": "three", "updated_at": ago(17520 * HOUR)},
    ]
    cosines = {"one": 0.9, "two": 0.8, "three": 0.7}
    response = search_planned(tmp_path, memories, "unrelated", "covalence", cosines=cosines)
    result = by_id(response)["it"]
    assert (raw(result, "vector"), raw(result, "keyword")) == (1 / 63, 0.0)
    assert result.score == pytest.approx(0.018243, abs=5e-7)


def test_every_result_follows_the_formula(tmp_path: Path) -> None:
    """Thirty memories of all tiers and ages; ranks are read from SQLite and from the plan."""
    tiers = ("core", "file", "capture")
    memories: list[Fields] = [
        {
            "id": f"m{n:02}",
            "title": f"harbor map {n}" if n % 5 == 0 else f"sheet {n}",
            "text": "harbor " * (n % 4) + "pier " * (n % 7),
            "tier": tiers[n % 3],
            "updated_at": ago(timedelta(hours=501 * n - 1000)),
        }
        for n in range(30)
    ]
    cosines = {str(one["title"]): 0.95 - n / 100 for n, one in enumerate(memories) if n % 2}
    with PlannedServer() as server:
        server.plan("harbor map", cosines)
        with vault(tmp_path, memories, settings(server)) as memory:
            response = search(memory, "harbor map", limit=30)
            expression = '{title text} : ("harbor" OR "map")'
            rows = fts5_scores(memory, expression, {"title": 5, "text": 1})
    f = {id: rank for rank, id in enumerate(rows, start=1)}
    by_cosine = sorted(
        memories, key=lambda one: (-cosines.get(str(one["title"]), 0.0), str(one["id"]))
    )
    v = {str(one["id"]): rank for rank, one in enumerate(by_cosine, start=1)}
    assert len(response) == 30
    for result in response:
        expected = formula(
            v[result.id],
            f.get(result.id),
            tiers.index(result.memory.tier) + 1,
            title="harbor map" in result.memory.title,
            age_hours=max(0.0, (NOW - result.memory.updated_at) / HOUR),
        )
        assert result.score == pytest.approx(expected, abs=1e-12), result.id


# Keywords


def test_every_word_counts_stop_words_too_and_stems_match(tmp_path: Path) -> None:
    memories: list[Fields] = [
        {"id": "stop", "title": "the"},
        {"id": "stem", "title": "sailing"},
        {"id": "version", "title": "v", "text": "1 and nothing else"},
        {"id": "none", "title": "x", "context": "sail", "why": "sail", "tags": ["sail"]},
        {"id": "sail", "title": "y"},
    ]
    with vault(tmp_path, memories) as memory:
        assert set(ids(search(memory, "the sails"))) == {"stop", "stem"}
        assert ids(search(memory, "1.4")) == ["version"]
        assert ids(search(memory, "?!")) == []


def test_a_word_in_the_title_counts_five_in_the_text(tmp_path: Path) -> None:
    """Rows of equal length: once in the title is as good as five times in the text, so that the id
    decides, and not as good as six times."""
    memories: list[Fields] = [
        {"id": "a-title", "title": "sail", "text": "y y y y y y"},
        {"id": "b-five", "title": "x", "text": "sail sail sail sail sail y"},
        {"id": "c-six", "title": "x", "text": "sail sail sail sail sail sail"},
    ]
    with vault(tmp_path, memories) as memory:
        found = by_id(search(memory, "sail"))
    assert [raw(found[id], "keyword") for id in ("c-six", "a-title", "b-five")] == [
        1 / 61,
        1 / 62,
        1 / 63,
    ]


def test_each_list_is_cut_at_a_hundred_or_at_the_limit(tmp_path: Path) -> None:
    memories = [{"id": f"m{n:03}", "title": f"sail {n}"} for n in range(120)]
    with PlannedServer() as server, vault(tmp_path, memories, settings(server)) as memory:
        few = search(memory, "sail")
        many = search(memory, "sail", limit=115)
    assert (few.counts["keyword"], few.counts["vector"], len(few)) == (100, 100, 10)
    assert (many.counts["keyword"], many.counts["vector"], len(many)) == (115, 115, 115)


# Title


@pytest.mark.parametrize(
    ("query", "title", "matches"),
    [
        ("roadmap 1.4", "v1.4-ROADMAP.md", True),
        ("ROADMAP", "v1.4-roadmap.md", True),
        ("road map", "v1.4-ROADMAP.md", True),
        ("roadmap 1.5", "v1.4-ROADMAP.md", False),
        ("roadmap 14", "v1.4-ROADMAP.md", False),
        ("FileSyncService", "src/FileSyncService.swift", True),
        ("été", "L'ÉTÉ", True),
        ("e\u0301te\u0301", "L'ÉTÉ", True),
        ("md . v", "v1.4-ROADMAP.md", True),
    ],
)
def test_the_title_bonus_wants_every_word_as_a_substring(
    tmp_path: Path, query: str, title: str, matches: bool
) -> None:
    """The memory also comes by vector, so that it is there to look at when no word matches."""
    memories = [{"id": "m", "title": title, "tier": "file"}]
    [result] = search_planned(tmp_path, memories, query, "covalence").results
    assert raw(result, "title") == (0.01 if matches else 0.0)


def test_the_title_bonus_finds_the_version(tmp_path: Path) -> None:
    """FTS5 reads `1.4` as `1` and `4`, so by keyword alone every roadmap with a 1 and a 4 in its
    body looks as good. The title settles it."""
    memories: list[Fields] = [
        {"id": f"v{minor}", "title": f"v1.{minor}-ROADMAP.md", "text": "1 4 1 4", "tier": "file"}
        for minor in range(8)
    ]
    with vault(tmp_path, memories) as memory:
        assert ids(search(memory, "roadmap 1.4"))[0] == "v4"


# Tier and recency


def test_tiers_break_ties_core_file_capture(tmp_path: Path) -> None:
    memories = [{"id": f"a-{t}", "title": "x", "tier": t} for t in ("capture", "core", "file")]
    found = by_id(search_planned(tmp_path, memories, "unrelated", "covalence"))
    assert {id: raw(one, "tier") for id, one in found.items()} == {
        "a-core": 1 / 61,
        "a-file": 1 / 62,
        "a-capture": 1 / 63,
    }
    assert part(found["a-core"], "tier").weight == pytest.approx(0.9 * 0.2)


@pytest.mark.parametrize(
    ("age", "value"),
    [(0 * DAY, 1.0), (365 * DAY, 0.5), (730 * DAY, 1 / 3), (DAY, 0.997), (-DAY, 1.0)],
)
def test_recency_is_hyperbolic(tmp_path: Path, age: timedelta, value: float) -> None:
    result = search_one(tmp_path, {"title": "sail", "updated_at": ago(age)}, "sail", "covalence")
    assert raw(result, "recency") == pytest.approx(value, abs=5e-4)
    assert part(result, "recency").weight == pytest.approx(0.10 * 0.033)


# Vectors


def test_prefixes_go_before_query_and_memories(tmp_path: Path) -> None:
    with PlannedServer() as server:
        told = settings(server, query_prefix="search_query: ", document_prefix="search_document: ")
        with vault(tmp_path, [{"id": "m", "title": "sail"}], told) as memory:
            search(memory, "boats")
    sent = [request.body["input"] for request in server.embeds()]
    assert sent == [["search_document: sail"], ["search_query: boats"]]


def test_vectors_are_cut_to_256_dimensions_and_normalised_again(tmp_path: Path) -> None:
    """Over all 512 dimensions `whole` is nearer: most of `head` points elsewhere. Over the first
    256, `head` is nearer, but only once both are unit vectors again: what the cut leaves of it,
    (0.3, 0), becomes (1, 0), the query's own direction."""

    def vector(first: Sequence[float], last: Sequence[float]) -> list[float]:
        row = [*first, *([0.0] * (256 - len(first))), *last, *([0.0] * (256 - len(last)))]
        length = sqrt(sum(x * x for x in row))
        return [x / length for x in row]

    memories = [{"id": "head", "title": "head"}, {"id": "whole", "title": "whole"}]
    with PlannedServer(dimensions=512) as server:
        server.planned |= {
            "unrelated": vector([1.0], [0.0]),
            "head": vector([0.3], [0.95]),
            "whole": vector([0.6, 0.4], [0.1]),
        }
        with vault(tmp_path, memories, settings(server)) as memory:
            cut = memory.search("unrelated", recipe="covalence")
            whole = memory.search("unrelated", recipe="echovault")
            size = stored_dimensions(memory, "head")
    assert ids(cut) == ["head", "whole"]
    assert ids(whole) == ["whole", "head"]
    assert size == 512  # what is stored is the model's own


def test_a_smaller_model_is_used_whole(tmp_path: Path) -> None:
    memories = [{"id": "b", "title": "b"}, {"id": "a", "title": "a"}]
    cosines = {"a": 0.9, "b": 0.2}
    response = search_planned(tmp_path, memories, "unrelated", "covalence", cosines=cosines)
    assert ids(response) == ["a", "b"]


def test_a_failing_model_is_named_and_the_other_terms_hold(tmp_path: Path) -> None:
    memories = [{"id": "m", "title": "sail"}]
    with PlannedServer() as server, vault(tmp_path, memories, settings(server)) as memory:
        server.fault = Fault.NOT_JSON
        response = search(memory, "sail")
    assert [entry.channel for entry in response.degraded] == ["vector"]
    expected = formula(None, 1, 3, title=True, age_hours=0)
    assert response.results[0].score == pytest.approx(expected)


# Browsing


BROWSED: list[Fields] = [
    {"id": "file-new", "title": "x", "tier": "file", "updated_at": ago(0 * HOUR)},
    {"id": "core-old", "title": "x", "tier": "core", "updated_at": ago(90000 * HOUR)},
    {"id": "core-new", "title": "x", "tier": "core", "updated_at": ago(2 * HOUR)},
    {"id": "capture-old", "title": "x", "updated_at": ago(3 * HOUR), "project": "p"},
    {"id": "capture-b", "title": "x", "updated_at": ago(1 * HOUR)},
    {"id": "capture-a", "title": "x", "updated_at": ago(1 * HOUR)},
]
ORDER = ["core-new", "core-old", "capture-a", "capture-b", "capture-old", "file-new"]


@pytest.mark.parametrize("query", ["", "  ", "\n\t"])
def test_an_empty_query_browses_core_capture_file_newest_first(tmp_path: Path, query: str) -> None:
    with PlannedServer() as server, vault(tmp_path, BROWSED, settings(server)) as memory:
        before = len(server.embeds())
        response = search(memory, query)
        assert ids(response) == ORDER
        assert ids(search(memory, query, limit=3)) == ORDER[:3]
        assert ids(search(memory, query, project="p")) == ["capture-old"]
        assert len(server.embeds()) == before
        assert [one.id for one in memory.list()] == ORDER
    assert response.degraded == ()


def test_browsing_is_newest_first_even_when_now_is_in_the_past(tmp_path: Path) -> None:
    """Seen from ten years ago every memory is of age 0; they still differ in when they changed."""
    memories = [
        {"id": f"m{n * 7 % 10}", "title": "x", "updated_at": ago(n * HOUR)} for n in range(10)
    ]
    with vault(tmp_path, memories) as memory:
        response = search(memory, "", now=NOW - 3650 * DAY)
    assert ids(response) == [str(one["id"]) for one in memories]
