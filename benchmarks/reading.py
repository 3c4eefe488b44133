"""Measure the loss and the saving of `blend` by reading only candidates whose order the reranker
can change.

Each judged set's questions are asked twice, with that rule and with all of the best read, by cached
scores and without a deadline: nDCG@10 of both, and the amount of text that the reranker reads with
the rule, as a share of all. `--timed` uses no cached scores of the reranker, and prints its mean
time per question, elapsed and CPU; a question that does not need it counts as 0.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from data import data_argument
from recollect.recipes.registry import BUILT_IN
from recollect.settings import Settings
from recollect.stages.rerank import RerankInterpolation
from recollect_evaluation.cache import FILE, Cache, CachedReranker, cache_folder
from recollect_evaluation.datasets import Question
from recollect_evaluation.evaluation import Contestant, Evaluation, open_evaluation
from recollect_evaluation.metrics import measure_run

BLEND = Contestant("blend", BUILT_IN["blend"])
SETS = ("cranfield", "cacm", "chroma-chunking", "qed-nq", "hotpotqa-1k", "locomo")
Rule = Callable[[RerankInterpolation, Sequence[float], int], int]


def every(stage: RerankInterpolation, scores: Sequence[float], limit: int) -> int:
    """Return all of the best, whatever their scores."""
    return min(stage.top, len(scores))


@contextmanager
def silent(what: str, steps: int) -> Iterator[Callable[[int], None]]:
    yield lambda done: None


class Asked(NamedTuple):
    """nDCG@10; the text that the reranker reads, in characters, with the query before each text;
    and its total time for all questions, in elapsed and CPU seconds."""

    ndcg: float
    characters: int
    clock: float
    processor: float


def asked(
    evaluation: Evaluation, questions: Sequence[Question], rule: Rule, *, timed: bool
) -> Asked:
    characters, clock, processor = 0, 0.0, 0.0
    scores = CachedReranker.scores

    def counted(self: CachedReranker, query: str, documents: Sequence[str]) -> list[float]:
        nonlocal characters, clock, processor
        characters += sum(len(query) + len(document) for document in documents)
        if not timed:
            return scores(self, query, documents)
        start, before = time.perf_counter(), time.process_time()
        found = [*self._reranker.scores(query, documents)]
        clock += time.perf_counter() - start
        processor += time.process_time() - before
        return found

    ours = RerankInterpolation._count_contested
    RerankInterpolation._count_contested = rule  # type: ignore[method-assign, assignment]
    CachedReranker.scores = counted  # type: ignore[method-assign]
    try:
        found = evaluation.quality(BLEND, questions, silent).returned
    finally:
        RerankInterpolation._count_contested = ours  # type: ignore[method-assign]
        CachedReranker.scores = scores  # type: ignore[method-assign]
    values = measure_run(found, evaluation.dataset.grades)
    ndcg = sum(one["ndcg@10"] for one in values.values()) / len(values)
    return Asked(ndcg, characters, clock, processor)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    data_argument(parser)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--queries", type=int, default=150)
    parser.add_argument(
        "--timed", action="store_true", help="also tell how long the reranker takes"
    )
    args = parser.parse_args()
    cache = Cache(cache_folder(os.environ) / FILE)
    shares, times = [], []
    print(f"{'set':<20}{'questions':>10}{'all read':>10}{'rule':>10}{'reading':>10}")
    for name in args.sets:
        with open_evaluation(args.data / name, Settings(), os.environ, cache) as evaluation:
            evaluation.prepare(silent, vectors=True)
            questions = evaluation.questions(args.queries, 0)
            if args.timed:  # the first one loads the model
                asked(evaluation, questions[:1], every, timed=True)
            whole = asked(evaluation, questions, every, timed=args.timed)
            kept = asked(
                evaluation, questions, RerankInterpolation._count_contested, timed=args.timed
            )
        share = kept.characters / whole.characters
        shares.append(share)
        figures = f"{len(questions):>10}{whole.ndcg:>10.4f}{kept.ndcg - whole.ndcg:>+10.4f}"
        print(f"{name:<20}{figures}{share:>10.2f}", flush=True)
        if args.timed:
            times.append(kept.processor / whole.processor)
            for what, one in (("all read", whole), ("rule", kept)):
                each = [1000 * spent / len(questions) for spent in (one.clock, one.processor)]
                print(f"  rerank, {what:<10}{each[0]:>9.0f} ms, of the processor {each[1]:.0f} ms")
            print(
                f"  time, rule / all  {kept.clock / whole.clock:>9.2f}, {times[-1]:.2f}", flush=True
            )
    print(f"{'mean of the sets':<50}{sum(shares) / len(shares):>10.2f}")
    if times:
        print(f"{'mean of their times, of the processor':<50}{sum(times) / len(times):>10.2f}")


if __name__ == "__main__":
    main()
