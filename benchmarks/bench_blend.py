"""Measure `blend` in one process, at 10,000 and 100,000 memories: the cost of each step of a search
by words, compared with the keyword match; a whole search with vectors, compared with its three
parts (the keyword match, the query's embedding, the vector scan); and one with rerank. Passages
beyond `--real` get copies of the real embeddings with noise."""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from data import data_argument, median, passages, questions
from embeddings import cache_argument, copied, embedded, missing
from recollect import Recollect
from recollect.ingest.draft import make_draft
from recollect.query.fts5 import any_of
from recollect.query.terms import keywords
from recollect.recall.keyword import Keyword
from recollect.recall.vector import Vector
from recollect.recipes.blend import BLEND, DEPTH
from recollect.settings import Embedding, Rerank, Settings
from recollect.store.base import KeywordQuery
from recollect.store.sqlite.segments.merging import Merger
from recollect.types import Filter

if TYPE_CHECKING:
    from recollect.store.base import KeywordMatches

WARM_UP = 20
KEYS = "SELECT id, key FROM memories"
WORDS = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    data_argument(parser)
    cache_argument(parser)
    parser.add_argument("--passages", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--real", type=int, default=100_000, help="so many are embedded")
    args = parser.parse_args()
    asked = questions(args.data, args.queries + WARM_UP)
    for count in args.passages:
        with tempfile.TemporaryDirectory() as home:
            real = min(count, args.real)
            left_out = missing(args.cache, real)
            if left_out:
                save(Path(home), passages(args.data, count))
            else:
                fill(Path(home), args.data, args.cache, count, real)
            with Recollect(home=home, settings=WORDS) as memory:
                report_words(memory, asked)
            if left_out:
                print(f"with vectors: left out, {left_out:,} of {real:,} embeddings are missing;")
                print(f"make them with `benchmarks/embeddings.py --passages {real}`")
                continue
            with Recollect(home=home, settings=Settings(rerank=Rerank(provider="none"))) as memory:
                report(memory, asked)
            with Recollect(home=home) as memory:
                report_rerank(memory, asked[: WARM_UP + 50])


def save(home: Path, rows: list[dict[str, str]]) -> None:
    """Make a vault of real passages without vectors, its segments merged as in a server."""
    with Recollect(home=home, settings=WORDS) as memory:
        for first in range(0, len(rows), 5000):
            memory.save_all([make_draft(row) for row in rows[first : first + 5000]])
    with Recollect(home=home, settings=WORDS) as memory:  # the one that saved was merging, too
        Merger(memory.store.database).run()


def fill(home: Path, data: Path, cache: Path, count: int, real: int | None = None) -> None:
    """Make a vault with the vectors of embeddings.py; beyond `real`, copies of them with noise."""
    rows = passages(data, count)
    vectors = copied(embedded(data, cache, real or count)[0], count)
    save(home, rows)
    with Recollect(home=home) as memory:
        identity = memory.models.embedder().identity
        keys = {str(id): int(str(key)) for id, key in memory.store.database.rows(KEYS)}
        for first in range(0, len(rows), 5000):
            batch = zip(rows[first : first + 5000], vectors[first : first + 5000], strict=True)
            memory.store.vectors.put(
                identity,
                vectors.shape[1],
                [(keys[row["id"]], vector) for row, vector in batch],
            )


def report_words(memory: Recollect, asked: list[str]) -> None:
    """Print the CPU time of a search by words, the share of the keyword match, and each step's
    share of the elapsed time."""
    matching = 0.0
    match: Callable[..., KeywordMatches] = memory.store.keyword.match

    def timed_match(*args: object, **options: object) -> KeywordMatches:
        nonlocal matching
        start = time.thread_time()
        try:
            return match(*args, **options)
        finally:
            matching += time.thread_time() - start

    memory.store.keyword.match = timed_match
    for text in asked[:WARM_UP]:
        memory.search(text, recipe="blend")
    steps: Counter[str] = Counter()
    matching, whole = 0.0, time.thread_time()
    for text in asked[WARM_UP:]:
        steps.update(memory.search(text, recipe="blend").timings_ms)
    whole = time.thread_time() - whole
    count = len(asked) - WARM_UP
    print(f"memories                       {memory.store.vocabulary.documents():>10,}")
    print(f"by words, CPU of a search      {whole / count * 1000:>10.2f} ms")
    print(f"  of that not the match        {(whole - matching) / count * 1000:>10.2f} ms")
    total = steps.pop("total")
    for name, spent in steps.most_common():
        if spent >= total / 100:
            print(f"  {name:<29}{spent / count:>10.2f} ms {spent / total:>6.0%}")


def report(memory: Recollect, asked: list[str]) -> None:
    parts, whole = [], []
    for text in asked:
        parts.append(timed_parts(memory, text))
        start = time.perf_counter()
        memory.search(text, recipe="blend")
        whole.append((time.perf_counter() - start) * 1000)
    parts, whole = parts[WARM_UP:], whole[WARM_UP:]
    print(f"three parts alone, p50         {median(parts):>10.2f} ms")
    print(f"blend without rerank, p50      {median(whole):>10.2f} ms")
    print(f"blend without rerank, p95      {sorted(whole)[int(0.95 * len(whole))]:>10.2f} ms")
    print(f"blend / parts                  {sum(whole) / sum(parts):>10.2f}  (at most 1.3)")


def timed_parts(memory: Recollect, text: str) -> float:
    """Time the match of the keyword channel, the model and the scan, one after another."""
    keyword, vector = (
        next(one for one in BLEND.recall if isinstance(one, kind)) for kind in (Keyword, Vector)
    )
    assert isinstance(keyword, Keyword)
    assert isinstance(vector, Vector)
    embedder = memory.models.embedder()
    depth = DEPTH.at(10)
    asked = KeywordQuery("stemmed", any_of(keywords(text)), keyword.columns, depth, Filter())
    start = time.perf_counter()
    memory.store.keyword.match(asked)
    [query] = embedder.queries([text])
    memory.store.vectors.nearest(embedder.identity, query, depth, Filter())
    return (time.perf_counter() - start) * 1000


def report_rerank(memory: Recollect, asked: list[str]) -> None:
    spent, reached = [], []
    for text in asked:
        response = memory.search(text, recipe="blend")
        spent.append(response.timings_ms["total"])
        reached.append(float(str(response.counts["reranked"])))
    spent, reached = spent[WARM_UP:], reached[WARM_UP:]
    print(f"blend with rerank, p50         {median(spent):>10.2f} ms")
    print(f"blend with rerank, p95         {sorted(spent)[int(0.95 * len(spent))]:>10.2f} ms")
    print(f"candidates read, mean          {sum(reached) / len(reached):>10.1f}  of 20")


if __name__ == "__main__":
    main()
