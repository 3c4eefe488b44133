"""In one process, on 100,000 passages: the keyword channel of `vault` against the raw FTS5
statement it stands on, and what the rest of the pipeline costs for 30 candidates."""

from __future__ import annotations

import argparse
import tempfile
import time

from data import data_argument, median, passages, questions
from recollect import Recollect
from recollect.context import SearchContext
from recollect.ingest.draft import draft
from recollect.query.fts5 import any_of, within
from recollect.query.terms import keywords
from recollect.recipes.vault import VAULT
from recollect.settings import Embedding, Rerank, Settings
from recollect.types import Search

SETTINGS = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))
RAW = """
SELECT rowid, bm25(stemmed, 5.0, 10.0, 3.0, 1.0, 2.0, 0, 0, 0, 0, 0) AS score FROM stemmed
 WHERE stemmed MATCH ? ORDER BY score LIMIT 30"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    data_argument(parser)
    parser.add_argument("--passages", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=200)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as home, Recollect(home=home, settings=SETTINGS) as memory:
        rows = passages(args.data, args.passages)
        for first in range(0, len(rows), 5000):
            memory.save_all([draft(row) for row in rows[first : first + 5000]])
        report(memory, questions(args.data, args.queries))


def report(memory: Recollect, asked: list[str]) -> None:
    raw, channel, rest = [], [], []
    for text in asked * 2:  # the first round warms the page cache
        raw.append(timed_raw(memory, text))
        channel.append(timed_channel(memory, text))
        timings = memory.search(text, recipe="vault").timings_ms
        rest.append(timings["total"] - timings["keyword"] - timings["session"])
    half = len(asked)
    raw, channel, rest = raw[half:], channel[half:], rest[half:]
    print(f"memories                  {memory.store.vocabulary.documents():>10,}")
    print(f"raw FTS5 statement, p50   {median(raw):>10.3f} ms")
    print(f"keyword channel, p50      {median(channel):>10.3f} ms")
    print(f"channel / raw             {sum(channel) / sum(raw):>10.2f}  (at most 1.2)")
    print(f"rest of the pipeline, p50 {median(rest):>10.3f} ms  (under 5 ms for 30 candidates)")
    print(f"rest of the pipeline, p95 {sorted(rest)[int(0.95 * len(rest))]:>10.3f} ms")


def timed_raw(memory: Recollect, text: str) -> float:
    columns = ("title", "id", "text", "tags", "context")
    expression = within(columns, any_of(keywords(text)))
    connection = memory.store.database.connection()
    start = time.perf_counter()
    connection.execute(RAW, (expression,)).fetchall()
    return (time.perf_counter() - start) * 1000


def timed_channel(memory: Recollect, text: str) -> float:
    at = SearchContext(
        recipe="vault",
        search=Search(query=text),
        limit=10,
        now=memory.now(),
        store=memory.store,
        models=memory.models,
    )
    start = time.perf_counter()
    VAULT.recall[0].recall(at)
    return (time.perf_counter() - start) * 1000


if __name__ == "__main__":
    main()
