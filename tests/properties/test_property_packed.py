"""The packed index finds what FTS5 finds, with the same BM25, whatever the expression."""

from __future__ import annotations

import random

import apsw
from hypothesis import given, settings
from test_property_fts5 import COLUMNS, VOCABULARY, expressions

from examples import examples
from recollect.query.expressions import parse
from recollect.store.sqlite.packed.buffer import Buffer
from recollect.store.sqlite.packed.evaluation import evaluated
from recollect.store.sqlite.packed.phrases import resolved
from recollect.store.sqlite.packed.ranking import scored, total

fast = settings(max_examples=examples(400))
WEIGHTS = (10.0, 1.0, 5.0)
PARTS = 3


def rows() -> list[list[str]]:
    chance = random.Random(7)
    sizes = (3, 9, 2)
    words = VOCABULARY
    return [
        [" ".join(chance.choices(words, k=chance.randint(0, size))) for size in sizes]
        for _ in range(90)
    ]


def indexed() -> tuple[apsw.Connection, list[Buffer]]:
    connection = apsw.Connection(":memory:")
    tables = ["whole", *(f"part{number}" for number in range(PARTS))]
    for table in tables:
        sql = f"CREATE VIRTUAL TABLE {table} USING fts5 ({', '.join(COLUMNS)})"
        connection.execute(sql)
    for key, row in enumerate(rows(), 1):
        for table in ("whole", f"part{key % PARTS}"):
            connection.execute(
                f"INSERT INTO {table} (rowid, title, text, tags) VALUES (?, ?, ?, ?)", (key, *row)
            )
    return connection, [Buffer(connection, table, COLUMNS) for table in tables[1:]]


CONNECTION, SEGMENTS = indexed()
TOKENIZER = CONNECTION.fts5_tokenizer("unicode61", [])


def tokens(text: str) -> list[str]:
    return TOKENIZER(
        text.encode(),
        apsw.FTS5_TOKENIZE_QUERY,
        None,
        include_offsets=False,
        include_colocated=False,
    )


def by_fts5(expression: str) -> dict[int, float]:
    sql = "SELECT rowid, -bm25(whole, 10.0, 1.0, 5.0) FROM whole WHERE whole MATCH ?"
    return dict(CONNECTION.execute(sql, (expression,)))


def packed(expression: str) -> dict[int, float]:
    node = resolved(parse(expression, COLUMNS), COLUMNS, tokens)
    found = [(segment, evaluated(segment, node, WEIGHTS)) for segment in SEGMENTS]
    statistics = total((segment, matches.holding) for segment, matches in found)
    keys, scores = scored(found, statistics)
    return dict(zip(keys.tolist(), scores.tolist(), strict=True))


@given(query=expressions)
@fast
def test_the_same(query: str) -> None:
    assert packed(query) == by_fts5(query)
