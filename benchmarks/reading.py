"""What `blend` loses and saves by reading only candidates whose order the reranker can change.

Each judged set's questions are asked twice, with that rule and with all of the best read, by cached
scores and without a deadline: nDCG@10 of both, and how much text the reranker reads with the rule,
as a share of all.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from data import data_argument
from recollect.evals.cache import FILE, Cache, CachedReranker, cache_folder
from recollect.evals.datasets import Question
from recollect.evals.evaluation import Evaluation, opened
from recollect.evals.metrics import measured
from recollect.evals.runs import Contestant
from recollect.recipes.registry import BUILT_IN
from recollect.settings import Settings
from recollect.stages.rerank_interpolation import RerankInterpolation

BLEND = Contestant("blend", BUILT_IN["blend"])
SETS = ("cranfield", "cacm", "chroma-chunking", "qed-nq", "hotpotqa-1k", "locomo")
Rule = Callable[[RerankInterpolation, Sequence[float], int], int]


def every(stage: RerankInterpolation, scores: Sequence[float], limit: int) -> int:
    """All of the best, whatever their scores are."""
    return min(stage.top, len(scores))


@contextmanager
def silent(what: str, steps: int) -> Iterator[Callable[[int], None]]:
    yield lambda done: None


def asked(evaluation: Evaluation, questions: Sequence[Question], rule: Rule) -> tuple[float, int]:
    """nDCG@10, and how many characters the reranker reads, with the query before each text."""
    characters = 0
    scores = CachedReranker.scores

    def counted(self: CachedReranker, query: str, documents: Sequence[str]) -> list[float]:
        nonlocal characters
        characters += sum(len(query) + len(document) for document in documents)
        return scores(self, query, documents)

    ours = RerankInterpolation._contested
    RerankInterpolation._contested = rule  # type: ignore[method-assign, assignment]
    CachedReranker.scores = counted  # type: ignore[method-assign]
    try:
        found = evaluation.quality(BLEND, questions, silent).returned
    finally:
        RerankInterpolation._contested = ours  # type: ignore[method-assign]
        CachedReranker.scores = scores  # type: ignore[method-assign]
    values = measured(found, evaluation.dataset.grades)
    return sum(one["ndcg@10"] for one in values.values()) / len(values), characters


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    data_argument(parser)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--queries", type=int, default=150)
    args = parser.parse_args()
    cache = Cache(cache_folder(os.environ) / FILE)
    shares = []
    print(f"{'set':<20}{'questions':>10}{'all read':>10}{'rule':>10}{'reading':>10}")
    for name in args.sets:
        with opened(args.data / name, Settings(), os.environ, cache) as evaluation:
            evaluation.prepare(silent, vectors=True)
            questions = evaluation.questions(args.queries, 0)
            whole, characters = asked(evaluation, questions, every)
            kept, read = asked(evaluation, questions, RerankInterpolation._contested)
        share = read / characters
        shares.append(share)
        figures = f"{len(questions):>10}{whole:>10.4f}{kept - whole:>+10.4f}{share:>10.2f}"
        print(f"{name:<20}{figures}", flush=True)
    print(f"{'mean of the sets':<50}{sum(shares) / len(shares):>10.2f}")


if __name__ == "__main__":
    main()
