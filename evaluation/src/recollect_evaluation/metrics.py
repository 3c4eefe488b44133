"""Quality measures of rankings, computed by trec_eval, and their confidence intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log2
from typing import TYPE_CHECKING

import numpy as np
import pytrec_eval

if TYPE_CHECKING:
    from numpy.typing import NDArray

DEPTH = 10
# Our name → trec_eval's; it gets only the first ten results, so that recip_rank is cut.
MEASURES = {"ndcg@10": "ndcg_cut_10", "mrr@10": "recip_rank", "recall@10": "recall_10"}
# Enough that the bounds of an interval move by less than a thousandth from seed to seed.
RESAMPLES = 10_000
# Numbers drawn at a time: 32 MB.
CHUNK = 4_000_000
# Differences of means below this are rounding.
ROUNDING = 1e-12

PerQuery = dict[str, dict[str, float]]


def measure_run(
    run: Mapping[str, Sequence[str]], grades: Mapping[str, Mapping[str, int]]
) -> PerQuery:
    """Return each measure for each question. `run` has the returned ids, best first; of a repeated
    id the first place counts. A question without results counts 0."""
    # trec_eval sorts by score: places become scores, so that ties cannot change the order.
    scored = {
        query: {id: float(-place) for place, id in enumerate([*dict.fromkeys(ids)][:DEPTH])}
        for query, ids in run.items()
    }
    # trec_eval treats grades below 0 specially; here they mean not relevant.
    judged = {query: {id: max(0, grade) for id, grade in grades[query].items()} for query in run}
    measures = pytrec_eval.RelevanceEvaluator(judged, set(MEASURES.values())).evaluate(scored)
    return {
        query: {name: measures.get(query, {}).get(theirs, 0.0) for name, theirs in MEASURES.items()}
        for query in run
    }


def ndcg(ids: Sequence[str], grades: Mapping[str, int]) -> float:
    """Return nDCG@10 of one question like trec_eval's `ndcg_cut`: the gain is the grade divided by
    the logarithm of rank + 1; 0 if nothing is relevant. Ranks count from 1."""

    def gain(values: Sequence[int]) -> float:
        return sum(grade / log2(rank + 1) for rank, grade in enumerate(values[:DEPTH], start=1))

    best = gain(sorted(grades.values(), reverse=True))
    return gain([grades.get(id, 0) for id in ids]) / best if best > 0 else 0.0


def resample(columns: Sequence[Sequence[float]], seed: int = 0) -> NDArray[np.float64]:
    """Bootstrap: return the mean of each column in each of `RESAMPLES` samples of the questions,
    drawn with replacement; a row per column. All columns have the same samples, so that the mean of
    a column of differences is a paired one."""
    values = np.asarray(columns, np.float64).T
    size = len(values)
    draw = np.random.default_rng(seed)
    means: list[NDArray[np.float64]] = []
    left = RESAMPLES
    while left:
        count = min(left, max(1, CHUNK // size))
        left -= count
        drawn = draw.integers(0, size, (count, size)) + size * np.arange(count)[:, None]
        often = np.bincount(drawn.ravel(), minlength=count * size).reshape(count, size)
        means.append(often @ values / size)
    return np.concatenate(means).T


def interval(means: NDArray[np.float64]) -> tuple[float, float]:
    """Return the 95 % interval of a bootstrapped mean."""
    low, high = np.percentile(means, (2.5, 97.5)).tolist()
    return low, high


def chance(differences: NDArray[np.float64]) -> float:
    """Return the two-sided p of a bootstrapped mean difference: twice the share of samples on the
    rarer side of 0, at least one sample."""
    rarer = min((differences <= ROUNDING).sum(), (differences >= -ROUNDING).sum())
    return min(1.0, 2 * (int(rarer) + 1) / (len(differences) + 1))
