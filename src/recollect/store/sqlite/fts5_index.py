"""The FTS5 tables of the keyword indexes, their tokens, and snippets of memories."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import apsw

from recollect.index.phrases import Leaf, Node, Phrase, leaves, resolved
from recollect.query.fts5 import any_of, parse
from recollect.query.terms import quote
from recollect.store.base import COLUMNS, KeywordIndexName
from recollect.store.memory_rows import LAST
from recollect.store.sqlite import subwords
from recollect.types import Memory

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
SNIPPET = (
    "coalesce(nullif(snippet(found, 1, '<mark>', '</mark>', '...', 32), ''),"
    " nullif(snippet(found, 2, '<mark>', '</mark>', '...', 32), ''),"
    " snippet(found, 0, '<mark>', '</mark>', '...', 32), '')"
)
SNIPPET_READS = 8000
SAME_START = 4
MOST_MATCHES = 1000
QUOTED = re.compile(r'"((?:[^"]|"")*)"')


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


def understood(connection: apsw.Connection, index: str, expression: str) -> Node:
    """The match expression with its texts tokenised. An empty one matches nothing, as in FTS5."""
    columns = COLUMNS[index]
    asked = parse(expression or quote(""), columns)
    return resolved(asked, columns, tokenizer(connection, index))


def phrases(index: str, node: Node) -> list[str]:
    """Return FTS5's phrases of an expression in order, each as an expression of its own."""
    return [_alone(index, leaf, phrase) for leaf in leaves(node) for phrase in leaf.phrases]


def _alone(index: str, leaf: Leaf, phrase: Phrase) -> str:
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

    def _declared(name: str) -> str:  # what the index does not hold cannot match here either
        return name if name in COLUMNS[index] else f"{name} UNINDEXED"

    connection.execute(
        f"CREATE VIRTUAL TABLE found USING fts5 ({', '.join(map(_declared, columns))}, "
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
