"""Measure the recall of the needed turn within the first 600 tokens of memory_search's text, in its
present form and in the former one (eight results, the id in brackets before the first line). Blend
without a reranker, on a sample of the questions of the conversation sets; tokens of the bundled
tokenizer. Embeddings are cached ($RECOLLECT_CACHE)."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from pathlib import Path
from statistics import mean

from msgspec.structs import replace
from tokenizers import Tokenizer

from recollect.interfaces.cli.output import progress
from recollect.interfaces.mcp.arguments import SEARCH_LIMIT
from recollect.interfaces.mcp.texts import response_text
from recollect.models.base import WEIGHTS
from recollect.present import sentences
from recollect.present.sentences import heading_line, quoted
from recollect.present.snippet import join_lines
from recollect.recipes.blend import BLEND
from recollect.settings import Rerank, Settings
from recollect.types import Response
from recollect_evaluation.cache import FILE, Cache, cache_folder
from recollect_evaluation.evaluation import Evaluation, open_evaluation

SETS = ("locomo", "longmemeval-oracle-turns", "beam-100k")
TOKENS = 600
LIMIT_BEFORE = 8


@cache
def tokenizer() -> Tokenizer:
    found: Tokenizer = Tokenizer.from_file(str(WEIGHTS / "bge-small-en-v1.5" / "tokenizer.json"))
    found.no_padding()
    found.no_truncation()
    return found


def beginning(text: str) -> str:
    """Return the part of the text within the first tokens."""
    ends = tokenizer().encode(text, add_special_tokens=False).offsets
    return text if len(ends) <= TOKENS else text[: ends[TOKENS - 1][1]]


def lines_before(response: Response) -> Iterator[str]:
    for place, result in enumerate(response.results[:LIMIT_BEFORE], start=1):
        yield f"{place}. [{result.id}] in vault agent > {heading_line(result.memory)}"
        body = join_lines(str(result.fields["snippet"]))
        if body and result.memory.title:
            yield quoted(body)
        yield from (f"   {sentence}" for sentence in sentences.others(result))


def recall(evaluation: Evaluation, count: int) -> tuple[float, float, float, float]:
    """Return recall before and now, and the tokens of the answers."""
    found: dict[str, list[float]] = {"before": [], "now": []}
    sizes: dict[str, list[int]] = {"before": [], "now": []}
    for question in evaluation.questions(count, seed=0):
        grades = evaluation.dataset.grades[question.id]
        wanted = [id for id, grade in grades.items() if grade > 0]
        response = evaluation.memory.run_recipe(
            BLEND,
            question.text,
            limit=SEARCH_LIMIT,
            filter=evaluation.filter(question),
            now=question.asked_at,
        )
        response = replace(response, degraded=())
        texts = {
            "before": "\n".join(lines_before(response)),
            "now": response_text(response, brief=True),
        }
        for name, text in texts.items():
            start = f"{beginning(text)}\n"
            mark = "[{}]" if name == "before" else " · {}\n"
            found[name].append(mean(mark.format(id) in start for id in wanted))
            sizes[name].append(len(tokenizer().encode(text, add_special_tokens=False).ids))
    return mean(found["before"]), mean(found["now"]), mean(sizes["before"]), mean(sizes["now"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--queries", type=int, default=200, help="of each set (default: 200)")
    args = parser.parse_args()
    settings = Settings(rerank=Rerank(provider="none"))
    print(f"{'set':<26} {'before':>8} {'now':>8}   tokens of an answer, before and now")
    with closing(Cache(cache_folder(os.environ) / FILE)) as kept:
        for name in SETS:
            with open_evaluation(args.data / name, settings, os.environ, kept) as evaluation:
                evaluation.prepare(progress, vectors=True)
                before, now, *sizes = recall(evaluation, args.queries)
            print(f"{name:<26} {before:8.3f} {now:8.3f}   {sizes[0]:.0f} {sizes[1]:.0f}")


if __name__ == "__main__":
    main()
