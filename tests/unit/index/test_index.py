"""The index by itself, without a store: segments in lists answer as one FTS5 table does."""

from __future__ import annotations

import random
from collections.abc import Sequence

import apsw
import numpy as np
import pytest

from examples import examples
from recollect.index import KeywordStatistics, Row
from recollect.index.evaluation import count_holding, evaluate
from recollect.index.phrases import Node, resolve
from recollect.index.postings import Occurrences, Places, PostingsRow, encode_rows
from recollect.index.ranking import score_matches
from recollect.index.segments import (
    Changes,
    Documents,
    PlacesRow,
    SegmentCache,
    SegmentedSearch,
)
from recollect.query.fts5 import parse

COLUMNS = ("title", "text")
WEIGHTS = (5.0, 1.0)
WORDS = "anchor anchors chain harbor rope the the the of of quay".split()
LAST = chr(0x10FFFF)
Texts = dict[int, tuple[str, str]]  # by key
Parts = dict[int, tuple[Documents, list[Row]]]  # by the number of the segment


class Rows:
    """The rows of segments, by the number of each; a `TokenRows`."""

    def __init__(self, segments: dict[int, list[Row]]) -> None:
        self._segments = segments

    def prefetch(self, node: Node) -> None:
        """Read nothing: all is there."""

    def postings(self, token: str) -> Sequence[PostingsRow]:
        return [row[:-1] for row in self.places([token])]

    def places(self, tokens: Sequence[str]) -> Sequence[PlacesRow]:
        every = self._segments.items()
        return [(number, *row[1:]) for number, rows in every for row in rows if row[0] in tokens]

    def beginning(self, start: str) -> Sequence[PostingsRow]:
        every = self._segments.items()
        return [(n, *row[1:-1]) for n, rows in every for row in rows if row[0].startswith(start)]

    def tokens(self, start: str) -> Sequence[tuple[str, int]]:
        every = [row for rows in self._segments.values() for row in rows]
        names = sorted({row[0] for row in every if row[0].startswith(start)})
        return [(name, sum(row[1] for row in every if row[0] == name)) for name in names]

    def damage_error(self, what: str) -> Exception:
        return RuntimeError(what)


def pack_texts(texts: Texts) -> tuple[Documents, list[Row]]:
    """One segment of these texts."""
    split = {key: [text.split() for text in columns] for key, columns in sorted(texts.items())}
    names = sorted({word for columns in split.values() for words in columns for word in words})
    found = sorted(
        (names.index(word), document, column, position)
        for document, columns in enumerate(split.values())
        for column, words in enumerate(columns)
        for position, word in enumerate(words)
    )
    token, *places = np.array(found, np.int64).reshape(-1, 4).T
    lengths = np.array([sum(map(len, columns)) for columns in split.values()], np.uint32)
    return Documents(np.array([*split], np.int64), lengths), encode_rows(
        names, Occurrences(token, Places(*places))
    )


class Source:
    """The documents of segments, and what was changed since; a `SegmentSource`."""

    def __init__(self, segments: dict[int, Documents]) -> None:
        self._segments = segments

    def changes(self, after: int) -> Sequence[tuple[int, int]]:
        return ()

    def documents(self, number: int, words: int) -> Documents:
        return self._segments[number]


def search_over(segments: Parts, gone: set[int]) -> SegmentedSearch:
    """All these segments; memories that are `gone` count no more."""
    source = Source({number: documents for number, (documents, _) in segments.items()})
    dead = np.array(sorted(gone), np.int64)
    changes = Changes((*segments,), 1, dead, np.full(len(dead), max(segments), np.int64))
    index = SegmentCache().index(source, 0, changes)
    return SegmentedSearch(Rows({number: rows for number, (_, rows) in segments.items()}), index)


def answer(search: SegmentedSearch, expression: str) -> dict[int, float] | None:
    """The scores by key; None for what FTS5 itself has to count."""
    node = resolve(parse(expression, COLUMNS), COLUMNS, str.split)
    matches = evaluate(search, node, WEIGHTS)
    if matches.miscounted:
        return None
    holding = tuple(count_holding(search, node, len(COLUMNS)))
    keys, scores = score_matches(
        search, matches, KeywordStatistics(search.rows, search.tokens, holding)
    )
    return dict(zip(keys.tolist(), scores.tolist(), strict=True))


def by_fts5(texts: Texts, expression: str) -> dict[int, float]:
    connection = apsw.Connection(":memory:")
    connection.execute(f"CREATE VIRTUAL TABLE t USING fts5 ({', '.join(COLUMNS)})")
    connection.executemany(
        "INSERT INTO t (rowid, title, text) VALUES (?, ?, ?)",
        [(key, *columns) for key, columns in texts.items()],
    )
    sql = f"SELECT rowid, -bm25(t, {WEIGHTS[0]}, {WEIGHTS[1]}) FROM t WHERE t MATCH ?"
    return {int(key): float(score) for key, score in connection.execute(sql, (expression,))}


def said(chance: random.Random, most: int) -> str:
    return " ".join(chance.choices(WORDS, k=chance.randint(0, most)))


def expression(chance: random.Random, depth: int = 2) -> str:
    word = chance.choice(WORDS)
    match chance.randrange(9 if depth else 5):
        case 0:
            return f'"{word}"'
        case 1:
            return f'"{word[:3]}" *'
        case 2:
            return f'"{word} {chance.choice(WORDS)}"'
        case 3:
            return f'{chance.choice(COLUMNS)} : "{word}"'
        case 4:
            return f'NEAR("{word}" "{chance.choice(WORDS)}", {chance.randint(0, 3)})'
        case 5:
            return f"({expression(chance, depth - 1)} AND {expression(chance, depth - 1)})"
        case 6:
            return f"({expression(chance, depth - 1)} NOT {expression(chance, depth - 1)})"
        case _:
            return f"({expression(chance, depth - 1)} OR {expression(chance, depth - 1)})"


def spread(chance: random.Random) -> tuple[Texts, Parts, set[int]]:
    """Texts over one to four segments, and which of them are gone."""
    texts = {key: (said(chance, 3), said(chance, 12)) for key in range(1, chance.randint(2, 60))}
    parts: dict[int, Texts] = {number: {} for number in range(1, chance.randint(2, 5))}
    for key, columns in texts.items():
        parts[chance.choice([*parts])][key] = columns
    segments = {number: pack_texts(part) for number, part in parts.items() if part}
    return texts, segments, {key for key in texts if chance.random() < 0.2}


@pytest.mark.parametrize("seed", range(examples(60)))
def test_segments_answer_as_one_fts5_table_does(seed: int) -> None:
    chance = random.Random(seed)
    texts, segments, gone = spread(chance)
    live = {key: columns for key, columns in texts.items() if key not in gone}
    search = search_over(segments, gone)
    asked = [expression(chance) for _ in range(30)]
    answers = {each: answer(search, each) for each in asked}
    assert [each for each in answers.values() if each is not None]
    for each, found in answers.items():
        if found is not None:
            assert found == pytest.approx(by_fts5(live, each), rel=1e-9), each


def test_a_row_that_is_not_what_was_written_is_the_stores_error() -> None:
    documents, rows = pack_texts({1: ("anchor", "chain"), 2: ("", "anchor rope")})
    cut = [(*row[:-2], row[-2][:-1], row[-1]) for row in rows]
    search = search_over({1: (documents, cut)}, set())
    with pytest.raises(RuntimeError, match="a segment cannot be read"):
        answer(search, '"anchor"')
