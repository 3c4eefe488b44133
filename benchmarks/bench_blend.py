"""In one process, at 100,000 memories: `blend` without rerank, end to end, against its three parts
alone (the keyword statement, the query's embedding, the vector scan), and with rerank."""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from data import data_argument, median, passages, questions
from embeddings import cache_argument, embedded
from recollect import Recollect
from recollect.ingest.draft import draft
from recollect.query.fts5 import any_of
from recollect.query.terms import keywords
from recollect.recall.keyword import Keyword
from recollect.recall.vector import Vector
from recollect.recipes.blend import BLEND, DEPTH
from recollect.settings import Embedding, Rerank, Settings
from recollect.store.base import COLUMNS
from recollect.types import Filter

WARM_UP = 20
KEYS = "SELECT id, key FROM memories"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    data_argument(parser)
    cache_argument(parser)
    parser.add_argument("--passages", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=200)
    args = parser.parse_args()
    asked = questions(args.data, args.queries + WARM_UP)
    with tempfile.TemporaryDirectory() as home:
        fill(Path(home), args.data, args.cache, args.passages)
        settings = Settings(rerank=Rerank(provider="none"))
        with Recollect(home=home, settings=settings) as memory:
            report(memory, asked)
        with Recollect(home=home) as memory:
            report_rerank(memory, asked[: WARM_UP + 50])


def fill(home: Path, data: Path, cache: Path, count: int) -> None:
    """A vault of real passages with real vectors, those kept by embeddings.py."""
    rows = passages(data, count)
    vectors, _ = embedded(data, cache, count)
    unembedded = Settings(embedding=Embedding(provider="none"))
    with Recollect(home=home, settings=unembedded) as memory:
        for first in range(0, len(rows), 5000):
            memory.save_all([draft(row) for row in rows[first : first + 5000]])
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


def report(memory: Recollect, asked: list[str]) -> None:
    parts, whole = [], []
    for text in asked:
        parts.append(timed_parts(memory, text))
        start = time.perf_counter()
        memory.search(text, recipe="blend")
        whole.append((time.perf_counter() - start) * 1000)
    parts, whole = parts[WARM_UP:], whole[WARM_UP:]
    print(f"memories                       {memory.store.vocabulary.documents():>10,}")
    print(f"three parts alone, p50         {median(parts):>10.2f} ms")
    print(f"blend without rerank, p50      {median(whole):>10.2f} ms")
    print(f"blend without rerank, p95      {sorted(whole)[int(0.95 * len(whole))]:>10.2f} ms")
    print(f"blend / parts                  {sum(whole) / sum(parts):>10.2f}  (at most 1.3)")


def timed_parts(memory: Recollect, text: str) -> float:
    """The statement that the keyword channel stands on, the model, the scan; one after another."""
    keyword, vector = (
        next(one for one in BLEND.recall if isinstance(one, kind)) for kind in (Keyword, Vector)
    )
    assert isinstance(keyword, Keyword)
    assert isinstance(vector, Vector)
    weights = ", ".join(str(keyword.columns.get(name, 0.0)) for name in COLUMNS["stemmed"])
    sql = f"""
        SELECT rowid, bm25(stemmed, {weights}) AS score FROM stemmed
         WHERE stemmed MATCH ? ORDER BY score LIMIT ?"""
    embedder = memory.models.embedder()
    connection = memory.store.database.connection()
    depth = DEPTH.at(10)
    start = time.perf_counter()
    connection.execute(sql, (any_of(keywords(text)), depth)).fetchall()
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
