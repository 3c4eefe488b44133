"""The FTS5 tables of the keyword indexes, and their tokens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import apsw

from recollect.query.terms import quoted
from recollect.store.base import COLUMNS
from recollect.store.sqlite import subwords
from recollect.store.sqlite.connection import LAST

if TYPE_CHECKING:
    from recollect.store.sqlite.packed.phrases import Leaf, Node, Phrase

TABLES: Mapping[str, str] = {
    "stemmed": "stemmed",
    "plain": "plain",
    "subwords": subwords.TABLE,
    "details": "details_words",  # FTS5 has a column of the table's own name already
}
TOKENIZERS: Mapping[str, str] = {
    "stemmed": "porter unicode61",
    "plain": "unicode61",
    "subwords": "ascii tokenchars '.'",  # tokens come ready made: every letter beyond ASCII stays
    "details": "porter unicode61",
}
LONGEST = 32768  # bytes of a token: FTS5 cuts what is beyond


def tokenizer(connection: apsw.Connection, index: str) -> Callable[[str], list[str]]:
    """Cuts texts as the index does, in the connection's thread."""
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


def understood(connection: apsw.Connection, index: str, expression: str) -> Node:
    """The match expression with its texts tokenised. An empty one matches nothing, as in FTS5."""
    from recollect.query.expressions import parse  # noqa: PLC0415  start-up time
    from recollect.store.sqlite.packed.phrases import resolved  # noqa: PLC0415  start-up time

    columns = COLUMNS[index]
    asked = parse(expression or quoted(""), columns)
    return resolved(asked, columns, tokenizer(connection, index))


def phrases(index: str, node: Node) -> list[str]:
    """FTS5's phrases of an expression in order, each as an expression of its own."""
    from recollect.store.sqlite.packed.phrases import leaves  # noqa: PLC0415  start-up time

    return [_alone(index, leaf, phrase) for leaf in leaves(node) for phrase in leaf.phrases]


def _alone(index: str, leaf: Leaf, phrase: Phrase) -> str:
    if leaf.columns is None:
        return phrase.written
    if not leaf.columns:
        return '""'  # no column may match
    names = [COLUMNS[index][number] for number in sorted(leaf.columns)]
    return f"{{{' '.join(names)}}} : {phrase.written}"


def terms(connection: apsw.Connection, table: str, start: str) -> list[str]:
    """The tokens of an FTS5 table that begin so, by alphabet."""
    name = f"{table}_row"
    if not connection.table_exists("temp", name):
        connection.execute(f"CREATE VIRTUAL TABLE temp.{name} USING fts5vocab (main, {table}, row)")
    sql = f"SELECT term FROM temp.{name} WHERE term >= ? AND term < ? ORDER BY term"
    return [str(term) for (term,) in connection.execute(sql, (start, start + LAST))]
