"""The FTS5 tables of the keyword indexes: their tokens, their subwords, BM25, and snippets.

SQL cannot split identifiers, so every write adds the rows of the index `subwords` from Python; the
triggers remove a changed, forgotten or purged memory.

FTS5's own `bm25()` uses the statistics of one index. Where several indexes are ranked as one,
`pooled_bm25` scores by the statistics of all. It is in Python, so `bm25()` first chooses the rows
that may be among the best.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import apsw
import msgspec

from recollect.deadline import Deadline, DeadlineOver
from recollect.index import K1, B, KeywordStatistics, inverse_frequencies
from recollect.index.phrases import Leaf, Node, Phrase, leaves, resolve
from recollect.query.fts5 import any_of, parse
from recollect.query.subwords import subwords
from recollect.query.terms import quote
from recollect.store.base import COLUMNS, KeywordIndexName, KeywordQuery
from recollect.store.memory_rows import LAST
from recollect.types import Memory

CAMEL_CASE = re.compile("[a-z][A-Z]")
SUBWORD_FIELDS = ("title", "text", "tags", "id", "context", "why", "impact", "source", "details")
SUBWORDS_TABLE = "parts"  # its name since version 3 of the vault
MOST_WAITING = 1000  # memories that a write collects before it indexes them: about a megabyte
INSERT_SUBWORDS = (
    f"INSERT INTO {SUBWORDS_TABLE} (rowid, title, text, tags, other) VALUES (?, ?, ?, ?, ?)"
)
TABLES: Mapping[str, str] = {
    "stemmed": "stemmed",
    "plain": "plain",
    "subwords": SUBWORDS_TABLE,
    "details": "details_words",  # FTS5 has a column of the table's own name already
}
TOKENIZERS: Mapping[str, str] = {
    "stemmed": "porter unicode61",
    "plain": "unicode61",
    "subwords": "ascii tokenchars '.'",  # tokens are made in Python: every non-ASCII letter stays
    "details": "porter unicode61",
}
LONGEST = 32768  # bytes of a token: FTS5 cuts longer ones
SNIPPET = (
    "coalesce(nullif(snippet(found, 1, '<mark>', '</mark>', '...', 32), ''),"
    " nullif(snippet(found, 2, '<mark>', '</mark>', '...', 32), ''),"
    " snippet(found, 0, '<mark>', '</mark>', '...', 32), '')"
)
SNIPPET_READS = 8000
SAME_START = 4
MOST_MATCHES = 1000
QUOTED = re.compile(r'"((?:[^"]|"")*)"')
FUNCTION = "pooled_bm25"
# Steps of SQLite's virtual machine between checks of the deadline: about a millisecond.
STEPS = 1_000
# Inverse frequencies by phrase, weights by column, and the average length of a row.
Scoring = tuple[list[float], list[float], float]


class SubwordsChange:
    """The memories that one write adds to the index, in batches: that halves the time, and FTS5
    writes one segment for each statement that fires triggers."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._waiting: dict[int, Memory] = {}

    def add(self, key: int, memory: Memory) -> None:
        self._waiting[key] = memory
        if len(self._waiting) >= MOST_WAITING:
            self.apply()

    def remove(self, key: int) -> None:
        """Do not index the memory: it is no longer live."""
        self._waiting.pop(key, None)

    def apply(self) -> None:
        rows = [
            (key, *subword_columns(*_subword_texts(self._waiting[key])))
            for key in sorted(self._waiting)
        ]
        self._connection.executemany(INSERT_SUBWORDS, [found for found in rows if any(found[1:])])
        self._waiting.clear()


def fill_subwords(connection: apsw.Connection, condition: str = "true", *values: str) -> None:
    """Add every live memory, or those that meet the condition, to the index that holds none."""
    connection.executemany(INSERT_SUBWORDS, subword_rows(connection, condition, *values))


def subword_rows(
    connection: apsw.Connection, condition: str = "true", *values: str
) -> Iterator[tuple[apsw.SQLiteValue, ...]]:
    """Yield a key and the columns for each memory that has subwords."""
    sql = f"SELECT key, {', '.join(SUBWORD_FIELDS)} FROM indexed WHERE {condition}"
    for key, *texts in connection.execute(sql, values):
        columns = subword_columns(*map(str, texts))
        if any(columns):
            yield key, *columns


def _subword_texts(memory: Memory) -> Iterator[str]:
    return (" ".join(memory.tags) if f == "tags" else getattr(memory, f) for f in SUBWORD_FIELDS)


def subword_columns(title: str, text: str, tags: str, id: str, *others: str) -> tuple[str, ...]:
    """Return the columns of a row. An id made of words and signs adds nothing, since any tokenizer
    splits it; otherwise every memory of plain prose would have a row."""
    rest = (id, *others) if has_subwords(id) else others
    columns = (title, text, tags, "\n".join(filter(None, rest)))
    return tuple(" ".join(subwords(column)) if column else "" for column in columns)


def has_subwords(id: str) -> bool:
    return bool(CAMEL_CASE.search(id)) or not id.isascii()


def tokenizer(connection: apsw.Connection, index: str) -> Callable[[str], list[str]]:
    """Return a function that tokenizes texts as the index does, in the connection's thread."""
    name, *options = TOKENIZERS[index].replace("'", "").split()
    cut = connection.fts5_tokenizer(name, options)

    def tokens(text: str) -> list[str]:
        every: list[str] = cut(  # type: ignore[assignment]  # without offsets: texts
            text.encode(),
            apsw.FTS5_TOKENIZE_DOCUMENT,
            None,
            include_offsets=False,
            include_colocated=False,
        )
        if len(text) < LONGEST // 4 or max(map(len, every), default=0) < LONGEST // 4:
            return every
        return [token.encode()[:LONGEST].decode(errors="ignore") for token in every]

    return tokens


def parse_expression(connection: apsw.Connection, index: str, expression: str) -> Node:
    """The match expression with its texts tokenised. An empty one matches nothing, as in FTS5."""
    columns = COLUMNS[index]
    parsed = parse(expression or quote(""), columns)
    return resolve(parsed, columns, tokenizer(connection, index))


def phrases(index: str, node: Node) -> list[str]:
    """Return FTS5's phrases of an expression in order, each as an expression of its own."""
    return [_as_expression(index, leaf, phrase) for leaf in leaves(node) for phrase in leaf.phrases]


def _as_expression(index: str, leaf: Leaf, phrase: Phrase) -> str:
    if leaf.columns is None:
        return phrase.written
    if not leaf.columns:
        return '""'  # no column may match
    names = [COLUMNS[index][number] for number in sorted(leaf.columns)]
    return f"{{{' '.join(names)}}} : {phrase.written}"


def terms(connection: apsw.Connection, table: str, start: str) -> list[str]:
    """Return the tokens of an FTS5 table that begin with `start`, sorted."""
    name = f"{table}_row"
    if not connection.table_exists("temp", name):
        connection.execute(f"CREATE VIRTUAL TABLE temp.{name} USING fts5vocab (main, {table}, row)")
    sql = f"SELECT term FROM temp.{name} WHERE term >= ? AND term < ? ORDER BY term"
    return [str(term) for (term,) in connection.execute(sql, (start, start + LAST))]


def snippets(
    index: KeywordIndexName, expression: str, memories: Sequence[Memory]
) -> dict[str, str]:
    """Return FTS5's own snippet of each memory that the expression matches, by id; none for
    `subwords`, whose tokens are not words of the text. A contentless index has no text, so the few
    memories shown are indexed in memory with the same tokenizer.

    Of a text with thousands of matches only a part is indexed, since the time of snippet()
    grows with their square. Where that part alone does not match, any of the terms may.
    """
    if not expression or not memories or index == "subwords":
        return {}
    terms = [term.replace('""', '"') for term in QUOTED.findall(expression)]
    connection = apsw.Connection(":memory:")
    columns = dict.fromkeys(("title", "text", "tags", *COLUMNS[index], "id"))

    def declare(name: str) -> str:  # columns that the index lacks cannot match
        return name if name in COLUMNS[index] else f"{name} UNINDEXED"

    connection.execute(
        f"CREATE VIRTUAL TABLE found USING fts5 ({', '.join(map(declare, columns))}, "
        f'tokenize = "{TOKENIZERS[index]}")'
    )
    connection.executemany(
        f"INSERT INTO found VALUES ({', '.join('?' for _ in columns)})",
        [[_near_match(_column(memory, name), terms) for name in columns] for memory in memories],
    )
    sql = f"SELECT id, {SNIPPET} FROM found WHERE found MATCH ?"
    rows = connection.execute(sql, (any_of(terms),)).fetchall()
    rows += connection.execute(sql, (expression,)).fetchall()
    connection.close()
    return {str(id): str(snippet) for id, snippet in rows}


def _near_match(text: str, terms: Sequence[str]) -> str:
    """Return the text, or if it has thousands of matches, a part from shortly before the first."""
    if len(text) <= SNIPPET_READS:
        return text
    lowered = text.lower()
    # A stem may end differently; its beginning is enough to find the places.
    starts = {term.lower()[:SAME_START] for term in terms} - {""}
    if sum(lowered.count(start) for start in starts) <= MOST_MATCHES:
        return text
    first = min(place for start in starts if (place := lowered.find(start)) >= 0)
    begin = max(0, first - SNIPPET_READS // 16)
    return text[begin : begin + SNIPPET_READS]


def _column(memory: Memory, name: str) -> str:
    return " ".join(memory.tags) if name == "tags" else str(getattr(memory, name))


def index_statistics(
    connection: apsw.Connection, table: str, phrases: Sequence[str]
) -> KeywordStatistics:
    """Return the statistics of this index; each phrase is an expression of its own."""
    holding = f", (SELECT count(*) FROM {table} WHERE {table} MATCH ?)" * len(phrases)
    [(block, *numbers)] = connection.execute(
        f"SELECT (SELECT block FROM {table}_data WHERE id = 1){holding}",
        phrases,
    ).fetchall()
    # The first row of FTS5's data has the number of rows, then the tokens of each column, as
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
        values = (scoring(common, query.column_weights), query.expression)
        return connection.execute(sql, values).fetchall()  # type: ignore[return-value]


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
