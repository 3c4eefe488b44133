"""docs/reference/quality.md is made from the committed results, and from nothing else."""

from __future__ import annotations

import copy
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def quality_page(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import quality_page

    return quality_page


@pytest.fixture
def results() -> dict[str, Any]:
    """Two contestants and the two floors on one set; nothing timed."""

    def row(value: float, difference: float, p: float) -> dict[str, Any]:
        bounds = [value - 0.05, value + 0.05]
        apart = {"difference": difference, "ci95": [difference, difference], "p": p, "queries": 9}
        return {
            "queries": 9,
            **dict.fromkeys(("ndcg@10", "mrr@10", "recall@10"), value),
            "ci95": dict.fromkeys(("ndcg@10", "mrr@10", "recall@10"), bounds),
            "against": {"blend": apart} if p < 1 else {},
            "degraded": {},
            "timing": None,
        }

    ran = {
        "bm25": row(0.5, 0.0049, 0.4),
        "dense": row(0.3, -0.1951, 0.01),
        "gnosis": row(0.6, 0.1049, 0.01),
        "blend": row(0.4951, 0, 1),
    }
    facts = {
        "version": "1.2.3", "commit": "abc", "changed": False, "code": "def", "queries": None,
        "seed": 0, "most": {"gnosis": 150}, "models": {"embedding": "toy", "rerank": None},
        "rerank_budget_ms": 300, "python": "3.11", "sqlite": "3.50", "system": "Linux",
        "processor": "one", "cores": 1,
    }  # fmt: skip
    return {
        "date": "2026-01-01",
        "contestants": dict.fromkeys(ran, "fingerprint"),
        "sets": {
            "harbor": {
                "documents": 3, "questions": 9, "not_scored": 1, "problems": {}, "contestants": ran,
            }
        },
        "average": {"sets": ["harbor"], "contestants": ran},
        "left_out": {"sea": "it has no qrels.tsv"},
        "measured_with": facts,
    }  # fmt: skip


def test_the_committed_page_and_pictures_match_the_committed_data(quality_page: ModuleType) -> None:
    """If not: python benchmarks/quality_page.py"""
    made = quality_page.files(quality_page.read(ROOT / "benchmarks" / "results"))
    for name, text in made.items():
        assert (ROOT / "docs" / "reference" / name).read_text(encoding="utf-8") == text
    assert {file.name for file in (ROOT / "docs" / "reference").glob("quality*")} == set(made)


def test_the_best_is_bold_and_only_what_differs_from_blend_has_a_mark(
    quality_page: ModuleType, results: dict[str, Any]
) -> None:
    page = quality_page.files(results)["quality.md"]
    assert "| harbor | 0.500 | 0.300 ▼ | **0.600** ▲ | 0.495 |" in page
    assert "sea is left out: it has no qrels.tsv." in page


@pytest.mark.parametrize(
    ("score", "said"),
    [(0.495, "-0.0050 holds"), (0.4949, "-0.0051 **under**"), (0.52, "+0.0200 holds")],
)
def test_the_floor_is_the_better_of_bm25_and_dense(
    quality_page: ModuleType, results: dict[str, Any], score: float, said: str
) -> None:
    results["sets"]["harbor"]["contestants"]["blend"]["ndcg@10"] = score
    assert f"| harbor | `bm25` 0.500 | {said} |" in quality_page.files(results)["quality.md"]


def test_times_are_shown_once_measured(quality_page: ModuleType, results: dict[str, Any]) -> None:
    assert "Not measured yet." in quality_page.files(results)["quality.md"]
    for row in results["sets"]["harbor"]["contestants"].values():
        stages = {"rerank": 80.04, "total": 100.0}
        row["timing"] = {
            "p50_ms": 99.44, "p95_ms": 120.4, "timed": 9, "stages_ms": stages, "reached": 0.5,
        }  # fmt: skip
    made = quality_page.files(results)
    assert "| `blend` | 99.4 | 120 | 80.0 | 100 | 50%, 50% |" in made["quality.md"]
    assert "quality-latency.svg" in made


def test_confidence_is_shown_if_measured(quality_page: ModuleType, results: dict[str, Any]) -> None:
    assert "Knowing when" not in quality_page.files(results)["quality.md"]
    verdict = {"from": 0.9, "questions": 40, "right": 0.95, "unanswerable": 0.05}
    lost = {"keyword": {"lost": 0.0368, "ci95": [0.0267, 0.0478]}}
    results["fit"] = {"<words>": {"verdicts, held out": [verdict], "lost without": lost}}
    made = quality_page.files(results)
    assert "| weak | 40 | 95% | 5% |" in made["quality.md"]
    assert "| `keyword` | 0.0368 | 0.0267 to 0.0478 |" in made["quality.md"]
    assert "&lt;words&gt;" in made["quality-evidence.svg"]


def test_answers_are_shown_by_group(quality_page: ModuleType, results: dict[str, Any]) -> None:
    counts = {"all, asked": 9, "all, right": 8, "held out, asked": 3, "held out, right": 2}
    assert "Everyday questions" not in quality_page.files(results)["quality.md"]
    results["answers"] = {"memories": 12, "groups": {"typing": counts, "all": counts}}
    text = quality_page.files(results)["quality.md"]
    assert "12 memories" in text
    assert "| typing | 8 of 9 | 2 of 3 |" in text


def test_a_set_that_not_all_have_answered_is_shown_and_the_page_stays_whole(
    quality_page: ModuleType, results: dict[str, Any]
) -> None:
    results["sets"]["lake"] = copy.deepcopy(results["sets"]["harbor"])
    del results["sets"]["lake"]["contestants"]["dense"]
    page = quality_page.files(results)["quality.md"]
    assert "| lake | 0.500 |  | **0.600** ▲ | 0.495 |" in page
