"""Texts by their pieces: what numpy puts together is what the text says."""

from __future__ import annotations

import random
from collections import Counter
from itertools import islice

import apsw
import numpy as np
import pytest

from recollect.index.postings import read_places
from recollect.query.terms import keywords
from recollect.store.base import COLUMNS
from recollect.store.sqlite import fts5_index
from recollect.store.sqlite.fts5_index import tokenizer
from recollect.store.sqlite.segments import packing

# Words that some step treats in its own way: identifiers, scripts without spaces, letters that
# change with their neighbours, other blanks, the separator of texts that are tokenized together.
ODD = (
    "the of running runs don't well-known FooBar baz_qux XMLHttpRequest2 1.4.2 v1.2 U.S. naïve "
    "ΑΣ'Α ΟΔΥΣΣΕΥΣ İstanbul ISTANBUL Ǆ ﬁne ½ ㌀ e\u0301 \u0301x ´x a\u200bb A\u00a0B x\u3000y "
    "q\x1cz a\x1fB A\x85b Ab\u2028cD x\u2003y ファイル\u3000同期 "
    "東京 タワー 한국어 말 ไทย ภาษา \U000fdcba long" + "er" * 30
).split(" ")


def odd_memories(count: int) -> list[list[str]]:
    chance = random.Random(4)

    def text(most: int) -> str:
        some = chance.choices(ODD, k=chance.randrange(most))
        return chance.choice([" ", "\n", "  ", "\t"]).join(some)

    return [
        [f"{chance.choice(['aB', 'a-', 'é'])}{number}", *(text(8) for _ in packing.FIELDS[1:])]
        for number in range(count)
    ]


def in_words(texts: list[str]) -> list[list[str]]:
    found, numbers = packing.in_pieces(texts)
    spelled = iter([found[number] for number in numbers.tokens.tolist()])
    return [list(islice(spelled, count)) for count in numbers.counts.tolist()]


def test_the_pieces_of_a_text_are_what_stands_between_blanks() -> None:
    texts = ["", "a", " a  b\ta\n", "nul\0inside", "東京 a", "x" * 40, "x" * 41, "x" * 40 + "y"]
    assert in_words(texts) == [text.replace("\0", " ").split() for text in texts]


@pytest.mark.parametrize("together", [7, 10_000])
@pytest.mark.parametrize("index", ["stemmed", "plain", "subwords", "details"])
def test_packed_words_are_those_of_each_text_alone(
    index: str, together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packing, "TOGETHER", together)  # texts tokenized at once
    rows = odd_memories(60)
    packed = packing.prepare(rows).indexes[index]  # type: ignore[index]
    documents = np.frombuffer(packed.documents, np.uint32)
    found: dict[tuple[int, int], dict[int, str]] = {}
    for token, count, bits, postings, places in packed.rows:
        for document, column, position in zip(
            *read_places(count, bits, postings, places), strict=True
        ):
            cell = found.setdefault((int(documents[document]), int(column)), {})
            cell[int(position)] = token
    cut = tokenizer(apsw.Connection(":memory:"), index)
    for number, row in enumerate(rows):
        texts = dict(zip(packing.FIELDS, row, strict=True))
        columns = [texts.get(name, "") for name in COLUMNS[index]]
        if index == "subwords":
            columns = [
                *fts5_index.subword_columns(*(texts[name] for name in fts5_index.SUBWORD_FIELDS))
            ]
        for column, text in enumerate(columns):
            assert [*dict(sorted(found.get((number, column), {}).items())).values()] == cut(text)


def test_the_vocabulary_counts_the_tokens_of_each_memory() -> None:
    rows = odd_memories(60)
    expected: Counter[str] = Counter()
    for row in rows:
        expected.update({*keywords("\n".join([row[at] for at in packing.SEMANTIC_FIELDS]))})
    assert packing.prepare(rows).vocabulary == expected
