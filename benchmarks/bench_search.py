"""Compare, in one process, the keyword channel of each recipe with an equivalent bare FTS5
statement on one FTS5 index of everything, question by question in turn; and measure the rest of a
search with `vault` for 30 candidates."""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import apsw

from data import data_argument, median, mixed_passages, passages, questions
from recollect import Recollect
from recollect.context import SearchContext
from recollect.ingest.exchange import raw_lines
from recollect.recall.keyword import Keyword
from recollect.recipes.registry import BUILT_IN
from recollect.settings import Embedding, Rerank, Settings
from recollect.store.base import COLUMNS, KeywordQuery
from recollect.store.sqlite.fts5_index import TOKENIZERS
from recollect.store.sqlite.segments.merging import Merger
from recollect.types import Filter, Search

SETTINGS = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))
RECIPES = ("blend", "vault", "covalence", "echovault")
SIZES = (10_000, 100_000)
MILLION = 1_000_000
# Largest ratio to the statement's time, by the least number of memories.
AIMS = {MILLION: 0.1, 100_000: 0.2}
ROUNDS = 3  # of each question; the best counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    data_argument(parser)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument(
        "--million",
        action="store_true",
        help="a million passages mixed from the sentences of scale-wiki, instead of its own",
    )
    parser.add_argument("--size", type=int, help="as many passages instead")
    parser.add_argument("--home", type=Path, help="keep what is made there, or use what is there")
    args = parser.parse_args()
    made = mixed_passages if args.million else passages
    sizes = (MILLION,) if args.million else SIZES
    for size in (args.size,) if args.size else sizes:
        with (
            tempfile.TemporaryDirectory() as temporary,
            Recollect(home=args.home or temporary, settings=SETTINGS) as memory,
        ):
            if not memory.store.vocabulary.documents():
                fill(memory, made(args.data, size))
            raw = fts5_alone(memory, (args.home or Path(temporary)) / "fts5.db")
            report(memory, raw, questions(args.data, args.queries))


def fill(memory: Recollect, rows: list[dict[str, str]]) -> None:
    memory.import_lines(raw_lines(json.dumps(row).encode() for row in rows))
    Merger(memory.store.database).run()


def fts5_alone(memory: Recollect, file: Path) -> apsw.Connection:
    """Make one FTS5 index of all memories, in a separate file."""
    columns = ", ".join(COLUMNS["stemmed"])
    connection = apsw.Connection(str(file))
    if connection.execute("SELECT 1 FROM sqlite_master").get:
        return connection
    connection.execute(
        f"CREATE VIRTUAL TABLE stemmed USING fts5 ({columns}, content = '', "
        f"contentless_delete = 1, tokenize = '{TOKENIZERS['stemmed']}')"
    )
    rows = memory.store.database.connection().execute(f"SELECT key, {columns} FROM indexed")
    with connection:
        places = ", ?" * len(COLUMNS["stemmed"])
        connection.executemany(f"INSERT INTO stemmed (rowid, {columns}) VALUES (?{places})", rows)
    return connection


def report(memory: Recollect, raw: apsw.Connection, asked: list[str]) -> None:
    memories = memory.store.vocabulary.documents()
    aim = next((most for size, most in AIMS.items() if memories >= size), None)
    segments = memory.store.database.rows("SELECT count(*) FROM segments WHERE ready")[0][0]
    print(f"memories, segments              {memories:>10,} {segments:>3}")
    for recipe in RECIPES:
        found = [query for text in asked if (query := keyword_query(memory, recipe, text))]
        bare, packed = zip(*(timed(memory, raw, query) for query in found), strict=True)
        print(f"{recipe + ': FTS5 statement, p50':31} {median([*bare]):>10.3f} ms")
        print(f"{recipe + ': keyword index, p50':31} {median([*packed]):>10.3f} ms")
        wanted = "" if aim is None else f"  (at most {aim})"
        print(f"{recipe + ': index / statement':31} {sum(packed) / sum(bare):>10.2f}{wanted}")
    rest = [rest_of_search(memory, text) for text in asked * 2][len(asked) :]
    print(f"rest of the pipeline, p50       {median(rest):>10.3f} ms")
    print(f"rest of the pipeline, p95       {sorted(rest)[int(0.95 * len(rest))]:>10.3f} ms")


def keyword_query(memory: Recollect, recipe: str, text: str) -> KeywordQuery | None:
    """Return the query of the recipe's keyword channel to the stemmed index."""
    channels = (one for one in BUILT_IN[recipe].recall if isinstance(one, Keyword))
    channel = next(one for one in channels if one.index == "stemmed")
    context = SearchContext(
        recipe=recipe,
        search=Search(query=text),
        limit=10,
        now=memory.now(),
        store=memory.store,
        models=memory.models,
    )
    found = channel.matches(context)
    return found and KeywordQuery(*found, channel.columns, channel.depth.at(10), Filter())


def timed(memory: Recollect, raw: apsw.Connection, query: KeywordQuery) -> tuple[float, float]:
    """Time the statement and the index, in turn."""
    weights = ", ".join(map(str, query.column_weights))
    statement = f"""
        SELECT rowid, bm25(stemmed, {weights}) AS score FROM stemmed
         WHERE stemmed MATCH ? ORDER BY score LIMIT {query.limit}"""
    both: list[Callable[[], object]] = [
        lambda: raw.execute(statement, (query.expression,)).fetchall(),
        lambda: memory.store.keyword.match(query),
    ]
    times = [[milliseconds(one) for one in both] for _ in range(ROUNDS)]
    bare, packed = map(min, zip(*times, strict=True))
    return bare, packed


def milliseconds(work: Callable[[], object]) -> float:
    start = time.thread_time()  # of this thread alone, so that a busy machine does not count
    work()
    return (time.thread_time() - start) * 1000


def rest_of_search(memory: Recollect, text: str) -> float:
    timings = memory.search(text, recipe="vault").timings_ms
    return timings["total"] - timings["keyword"] - timings["session"]


if __name__ == "__main__":
    main()
