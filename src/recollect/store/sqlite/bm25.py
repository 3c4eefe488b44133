"""BM25 by the statistics of several indexes, as FTS5's own `bm25()` would compute it if one index
held them all.

`bm25()` uses the statistics of its own index alone. It chooses the rows that may be among the best,
and only those are scored again, since that is done in Python.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import apsw
import msgspec

from recollect.deadline import Deadline, DeadlineOver
from recollect.index.base import K1, B, KeywordStatistics, inverse_frequencies
from recollect.store.base import COLUMNS, KeywordQuery
from recollect.store.sqlite.fts5_index import TOKENIZERS

FUNCTION = "pooled_bm25"
STEPS = (
    1_000  # steps of SQLite's virtual machine between checks of the deadline: about a millisecond
)

# Inverse frequencies by phrase, weights by column, and the average length of a row.
Scoring = tuple[list[float], list[float], float]


def counted(connection: apsw.Connection, table: str, phrases: Sequence[str]) -> KeywordStatistics:
    """Return the statistics of this index; each phrase is an expression of its own."""
    holding = f", (SELECT count(*) FROM {table} WHERE {table} MATCH ?)" * len(phrases)
    [(block, *numbers)] = connection.execute(
        f"SELECT (SELECT block FROM {table}_data WHERE id = 1){holding}",
        phrases,
    ).fetchall()
    # In the first row of its data FTS5 keeps the number of rows, then the tokens of each column, as
    # integers of variable length.
    rows, *tokens = _integers(block) if isinstance(block, bytes) and block else (0,)
    return KeywordStatistics(rows, sum(tokens), tuple(numbers))  # type: ignore[arg-type]


def _integers(block: bytes) -> list[int]:
    found, number = [], 0
    for byte in block:
        number = number << 7 | byte & 0x7F
        if not byte & 0x80:
            found.append(number)
            number = 0
    return found


def scoring(statistics: KeywordStatistics, weights: Sequence[float]) -> str:
    """Return the parameters of `pooled_bm25` as JSON."""
    average = statistics.tokens / max(1, statistics.rows) or 1.0
    how: Scoring = (inverse_frequencies(statistics), list(map(float, weights)), average)
    return msgspec.json.encode(how).decode()


# The score of a row by other statistics: the addition of a phrase changes by the ratio of its two
# inverse frequencies, and by a factor between 1 and the ratio of the two average lengths.


def least_by_common(own: KeywordStatistics, common: KeywordStatistics, score: float) -> float:
    """Return the lowest score by `common` of a row that has this score by `own`."""
    ratios = [ratio for ratio, _ in _ratios(own, common)]
    return score * min(ratios, default=0.0) * min(1.0, _longer(own, common))


def least_by_own(own: KeywordStatistics, common: KeywordStatistics, score: float) -> float:
    """Return a score by `own` below which every row has less than `score` by `common`. For phrases
    that count far more there, the most that they can add is subtracted instead."""
    least, longer = 0.0, max(1.0, _longer(own, common))
    for ratio, most in sorted(_ratios(own, common), reverse=True):
        least = max(least, score / (ratio * longer))
        score -= most
    return least


def _longer(own: KeywordStatistics, common: KeywordStatistics) -> float:
    """Return the ratio of the average lengths."""
    if not (own.tokens and common.tokens):
        return 1.0
    return (common.tokens / common.rows) / (own.tokens / own.rows)


def _ratios(own: KeywordStatistics, common: KeywordStatistics) -> list[tuple[float, float]]:
    """For each phrase that `own` has, return how many times as much it adds by `common` in a row of
    average length, and the most that it adds to any row."""
    inverse = zip(inverse_frequencies(common), inverse_frequencies(own), own.holding, strict=True)
    return [(new / old, new * (K1 + 1.0)) for new, old, holding in inverse if holding]


def fts5_scores(
    query: KeywordQuery, common: KeywordStatistics, rows: Iterable[tuple[object, ...]]
) -> list[tuple[int, float]]:
    """Return the key and the score of each of these rows that matches, as FTS5 counts their
    phrases; raise DeadlineOver at the query's deadline. A row is a key and the columns."""
    connection = apsw.Connection(":memory:")
    connection.register_fts5_function(FUNCTION, pooled_bm25)
    columns = COLUMNS[query.index]
    tokenizer = TOKENIZERS[query.index]
    with stopped_at(connection, query.deadline):
        connection.execute(
            f"""CREATE VIRTUAL TABLE words USING fts5
                ({", ".join(columns)}, content = '', tokenize = "{tokenizer}"); BEGIN"""
        )
        sql = f"INSERT INTO words (rowid, {', '.join(columns)}) VALUES (?{', ?' * len(columns)})"
        connection.executemany(sql, rows)
        sql = f"SELECT rowid, -{FUNCTION}(words, ?) FROM words (?)"
        asked = (scoring(common, query.column_weights), query.expression)
        return connection.execute(sql, asked).fetchall()  # type: ignore[return-value]


@contextmanager
def stopped_at(connection: apsw.Connection, deadline: Deadline) -> Iterator[None]:
    """Raise DeadlineOver if a statement in the block exceeds the deadline."""
    if deadline.milliseconds is None:
        yield
        return
    connection.set_progress_handler(lambda: deadline.over, STEPS)
    try:
        yield
    except apsw.InterruptError as error:
        raise DeadlineOver(deadline.reason) from error
    finally:
        connection.set_progress_handler(None)


def pooled_bm25(api: apsw.FTS5ExtensionApi, *how: apsw.SQLiteValue) -> float:
    """Return the row's score, negated like that of `bm25()`, and computed in the same order: equal
    statistics give equal numbers. `how` comes from `scoring`."""
    if api.aux_data is None:
        api.aux_data = msgspec.json.decode(str(how[0]), type=Scoring)
    inverse, weights, average = api.aux_data
    length = api.column_size(-1)
    total = 0.0
    for phrase, rarity in enumerate(inverse):
        frequency = 0.0
        for column, places in enumerate(api.phrase_locations(phrase)):
            for _ in places:
                frequency += weights[column]
        total += rarity * (
            (frequency * (K1 + 1.0)) / (frequency + K1 * (1 - B + B * length / average))
        )
    return -1.0 * total
