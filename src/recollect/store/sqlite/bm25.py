"""BM25 by the statistics of several vaults: what FTS5's own `bm25()` would say if one index held
them all.

`bm25()` counts in its own index alone. It chooses the rows that may be among the best, and only
those are scored anew, since that is done in Python.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import log

import apsw
import msgspec

from recollect.store.base import KeywordStatistics

FUNCTION = "pooled_bm25"
K1, B = 1.2, 0.75  # FTS5's own
LEAST_IDF = 1e-6  # what FTS5 gives to a word that most rows have
STRING = r'"(?:[^"]|"")*"'
PHRASE = rf"{STRING}(?: \+ {STRING})*(?: ?\*)?"
WITHIN = r"\{[^}]*\} : (?=\()"

# Inverse frequencies by phrase (None: it holds no word), weights by column, and the average length
# of a row.
Scoring = tuple[list[float | None], list[float], float]


def phrases(expression: str) -> list[str]:
    """The phrases of a match expression in order, each as an expression of its own."""
    within = re.match(WITHIN, expression)
    return [f"{within[0] if within else ''}{found}" for found in re.findall(PHRASE, expression)]


def counted(connection: apsw.Connection, table: str, expression: str) -> KeywordStatistics:
    """What this index counts. FTS5 keeps its totals in the first row of its data: the number of
    rows, then the tokens of each column, as integers of variable length."""
    every = phrases(expression)
    holding = f", (SELECT count(*) FROM {table} WHERE {table} MATCH ?)" * len(every)
    sql = f"SELECT (SELECT block FROM {table}_data WHERE id = 1){holding}"
    [(totals, *numbers)] = connection.execute(sql, every).fetchall()
    rows, *tokens = _integers(totals) if isinstance(totals, bytes) and totals else (0,)
    return KeywordStatistics(rows, sum(tokens), tuple(numbers))  # type: ignore[arg-type]


def _integers(block: bytes) -> list[int]:
    found, number = [], 0
    for byte in block:
        number = number << 7 | byte & 0x7F
        if not byte & 0x80:
            found.append(number)
            number = 0
    return found


def scoring(statistics: KeywordStatistics, expression: str, weights: Sequence[float]) -> str:
    """What `pooled_bm25` scores by, as JSON."""
    average = statistics.tokens / max(1, statistics.rows)
    pairs = zip(_inverse(statistics), phrases(expression), strict=False)
    inverse = [value if any(map(str.isalnum, phrase)) else None for value, phrase in pairs]
    how: Scoring = (inverse, list(map(float, weights)), average or 1.0)
    return msgspec.json.encode(how).decode()


def least_share(own: KeywordStatistics, common: KeywordStatistics) -> float:
    """A row whose score by `own` is below this share of another row's cannot be above it by
    `common`: what a phrase adds changes by the ratio of its two inverse frequencies, and by a
    factor between 1 and the ratio of the two average lengths."""
    inverse = zip(_inverse(common), _inverse(own), own.holding, strict=True)
    ratios = [new / old for new, old, holding in inverse if holding]
    if not (ratios and own.tokens and common.tokens):
        return 0.0
    longer = (common.tokens / common.rows) / (own.tokens / own.rows)
    return min(ratios) * min(1.0, longer) / (max(ratios) * max(1.0, longer))


def _inverse(statistics: KeywordStatistics) -> list[float]:
    """`ln((N − n + ½) / (n + ½))` of each phrase."""
    found = (
        log((max(0, statistics.rows - holding) + 0.5) / (holding + 0.5))
        for holding in statistics.holding
    )
    return [value if value > 0 else LEAST_IDF for value in found]


def pooled_bm25(api: apsw.FTS5ExtensionApi, *how: apsw.SQLiteValue) -> float:
    """The row's score, negated as `bm25()` does it, and computed in the same order: equal
    statistics give equal numbers. `how` is what `scoring` gives."""
    if api.aux_data is None:
        known, *rest = msgspec.json.decode(str(how[0]), type=Scoring)
        if len(known) != api.phrase_count:  # FTS5 passes over some phrases that hold no word
            known = [value for value in known if value is not None]
        api.aux_data = ([value or LEAST_IDF for value in known], *rest)
    inverse, weights, average = api.aux_data
    length = api.column_size(-1)
    total = 0.0
    for phrase, rarity in enumerate(inverse[: api.phrase_count]):
        frequency = 0.0
        for column, places in enumerate(api.phrase_locations(phrase)):
            for _ in places:
                frequency += weights[column]
        total += rarity * (
            (frequency * (K1 + 1.0)) / (frequency + K1 * (1 - B + B * length / average))
        )
    return -1.0 * total
