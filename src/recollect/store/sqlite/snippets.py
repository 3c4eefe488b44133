"""Snippets by FTS5's own snippet(), of memories that are shown."""

from __future__ import annotations

import re
from collections.abc import Sequence

import apsw

from recollect.query.fts5 import any_of
from recollect.store.base import COLUMNS, KeywordIndexName
from recollect.store.sqlite.fts5_index import TOKENIZERS
from recollect.types import Memory

SNIPPET = (
    "coalesce(nullif(snippet(found, 1, '<mark>', '</mark>', '...', 32), ''),"
    " nullif(snippet(found, 2, '<mark>', '</mark>', '...', 32), ''),"
    " snippet(found, 0, '<mark>', '</mark>', '...', 32), '')"
)
SNIPPET_READS = 8000
SAME_START = 4
MOST_MATCHES = 1000
QUOTED = re.compile(r'"((?:[^"]|"")*)"')


def snippets(
    index: KeywordIndexName, expression: str, memories: Sequence[Memory]
) -> dict[str, str]:
    """The snippet of each memory that matches, by id. A contentless index has no text, so the few
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
    """The text, or of one with thousands of matches the part from shortly before the first on."""
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
