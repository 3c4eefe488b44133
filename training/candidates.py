"""What `blend` offers its reranker on the judged sets: candidates with the parts of their scores.

    python training/candidates.py ../shared/data offered.pkl --asked asked.json.xz

The settings name the embedder, and its vectors are taken from the evaluation's cache
(benchmarks/fill_cache.py). `asked` is for compute.py, which scores the texts with a reranker on a
GPU; fit.py then looks for the weights that suit both models.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from judged import DEV, HELD
from recollect.context import SearchContext
from recollect.models.english import readable_words
from recollect.recipes.registry import BUILT_IN
from recollect.settings_reading import home_folder, load_settings
from recollect.stages.rerank import RerankInterpolation, focused_text
from recollect.types import Ranking, Term
from recollect_evaluation.cache import FILE, Cache, cache_folder
from recollect_evaluation.evaluation import Contestant, Evaluation, open_evaluation

BLEND = Contestant("blend", BUILT_IN["blend"])


@contextmanager
def silent(what: str, steps: int) -> Iterator[Callable[[int], None]]:
    yield lambda done: None


def flat(term: Term) -> dict[str, float]:
    """The parts of a sum by their names."""
    if term.formula != "sum" or not term.parts:
        return {term.name: term.value}
    return {name: value for part in term.parts for name, value in flat(part).items()}


def offered(bench: Evaluation, questions: int) -> list[dict[str, Any]]:
    """Of each question the candidates, and how good each is; none where nothing was reranked."""
    caught: list[dict[str, Any]] = []

    def catch(stage: RerankInterpolation, ranking: Ranking, context: SearchContext) -> Ranking:
        query = context.search.query
        read = len(readable_words(query)) >= stage.least_words
        for hit in ranking.hits:
            text = focused_text(context.memory(hit.memory_id), query, stage.characters)
            caught.append({"id": hit.memory_id, "score": hit.score, "parts": flat(hit.why),
                           "text": text if read else None})  # fmt: skip
        return ranking

    RerankInterpolation.apply = catch  # type: ignore[method-assign]
    made = []
    for question in bench.questions(questions, 0):
        caught.clear()
        bench.quality(BLEND, [question], silent)
        grades = {id: grade for id, grade in bench.dataset.grades[question.id].items() if grade > 0}
        made.append({"query": question.text, "grades": grades, "candidates": [*caught]})
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="the folder of judged sets")
    parser.add_argument("out", type=Path)
    parser.add_argument("--asked", type=Path, required=True)
    parser.add_argument("--questions", type=int, default=300, help="of each set")
    args = parser.parse_args()
    settings, cache = load_settings(home_folder(os.environ)), Cache(cache_folder(os.environ) / FILE)
    sets = {}
    for name in (*DEV, *HELD):
        with open_evaluation(args.data / name, settings, os.environ, cache) as bench:
            bench.prepare(silent, vectors=True)
            asked = offered(bench, args.questions)
        sets[name] = {"half": "dev" if name in DEV else "held", "questions": asked}
        print(name, len(asked), flush=True)
    args.out.write_bytes(pickle.dumps(sets))
    texts: dict[str, dict[str, None]] = {}
    for question in (question for one in sets.values() for question in one["questions"]):
        for one in question["candidates"]:
            if one["text"] is not None:
                texts.setdefault(question["query"], {})[one["text"]] = None
    packed = [{"text": query, "texts": [*found]} for query, found in texts.items()]
    args.asked.write_bytes(lzma.compress(json.dumps(packed, ensure_ascii=False).encode()))


if __name__ == "__main__":
    main()
