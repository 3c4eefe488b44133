"""The report of an evaluation: figures with intervals, comparisons, run files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from recollect.errors import UserError
from recollect.version import __version__
from recollect_evaluation.datasets import Dataset
from recollect_evaluation.evaluation import RecipeOutcome
from recollect_evaluation.metrics import MEASURES, chance, interval, resample


def report(
    dataset: Dataset,
    outcomes: Sequence[RecipeOutcome],
    *,
    problems: dict[str, int],
    models: dict[str, str | None],
    left_out: dict[str, str],
) -> dict[str, Any]:
    """Return the report that `recollect eval --json` prints."""
    asked = len(outcomes[0].per_query)
    recipes, comparisons = _figures(outcomes)
    return {
        "dataset": dataset.name,
        "documents": len(dataset.documents),
        "queries": asked,
        "not_scored": len(dataset.questions) - len(dataset.scored),
        "recipes": recipes,
        "comparisons": comparisons,
        "left_out": left_out,
        "problems": problems,
        "version": __version__,
        "models": models,
    }


def _figures(outcomes: Sequence[RecipeOutcome]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return each recipe's figures, and the differences of the others from the first. One bootstrap
    serves all."""
    values = {
        (outcome.recipe, name): [measures[name] for measures in outcome.per_query.values()]
        for outcome in outcomes
        for name in MEASURES
    }
    first = outcomes[0].recipe
    differences = {
        (outcome.recipe, name): [
            mine - theirs
            for mine, theirs in zip(values[outcome.recipe, name], values[first, name], strict=True)
        ]
        for outcome in outcomes[1:]
        for name in MEASURES
    }
    means = resample([*values.values(), *differences.values()])
    sampled = dict(zip(values, means[: len(values)], strict=True))
    apart = dict(zip(differences, means[len(values) :], strict=True))
    recipes = {
        outcome.recipe: {
            **{name: _mean(values[outcome.recipe, name]) for name in MEASURES},
            "ci95": {name: _bounds(sampled[outcome.recipe, name]) for name in MEASURES},
            **_cost(outcome),
        }
        for outcome in outcomes
    }
    comparisons = [
        {
            "recipe": recipe,
            "against": first,
            "measure": name,
            "difference": _mean(apart_by),
            "ci95": _bounds(apart[recipe, name]),
            "p": round(chance(apart[recipe, name]), 4),
        }
        for (recipe, name), apart_by in differences.items()
    ]
    return recipes, comparisons


def _cost(outcome: RecipeOutcome) -> dict[str, Any]:
    timing = outcome.timing
    return {
        "p50_ms": round(timing.percentile(0.50), 3),
        "p95_ms": round(timing.percentile(0.95), 3),
        "timed": len(timing.times_ms),
        "stages_ms": timing.stages_ms,
        "reached": None if timing.reached is None else round(timing.reached, 4),
        "fingerprint": outcome.fingerprint,
        "degraded": outcome.answers.degraded,
    }


def _mean(values: Sequence[float]) -> float:
    return round(sum(values) / len(values), 4)


def _bounds(means: Any) -> list[float]:
    return [round(bound, 4) for bound in interval(means)]


def write_runs(folder: Path, dataset: Dataset, outcomes: Sequence[RecipeOutcome]) -> None:
    """Write a TREC run file and one JSON line per question, for every recipe."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for outcome in outcomes:
            stem = f"{dataset.name}.{outcome.recipe}"
            (folder / f"{stem}.run").write_text("".join(_trec(outcome)), encoding="utf-8")
            (folder / f"{stem}.jsonl").write_bytes(b"".join(_lines(dataset, outcome)))
    except OSError as error:
        raise UserError(f"{folder} cannot be written: {error.strerror}.") from error


def _trec(outcome: RecipeOutcome) -> list[str]:
    """Return lines of `query Q0 document rank score tag`; a larger score is better."""
    return [
        f"{'_'.join(query.split())} Q0 {id} {place} {1 / place:.6f} {outcome.recipe}\n"
        for query, ids in outcome.answers.returned.items()
        for place, id in enumerate(ids, start=1)
    ]


def _lines(dataset: Dataset, outcome: RecipeOutcome) -> list[bytes]:
    times = outcome.timing.times_ms
    return [
        msgspec.json.encode(
            {
                "query": query,
                "text": dataset.questions[query].text,
                "returned": ids,
                "judged": dataset.grades[query],
                **outcome.per_query[query],
                **({"latency_ms": round(times[query], 3)} if query in times else {}),
            }
        )
        + b"\n"
        for query, ids in outcome.answers.returned.items()
    ]
