"""Whatever a text holds: its subwords are made, kept as they are, and found."""

from __future__ import annotations

import unicodedata

import apsw
from hypothesis import example, given, settings
from hypothesis import strategies as st

from examples import examples
from recollect.query import subwords as module
from recollect.query.subwords import subwords, subwords_query
from recollect.store.sqlite.fts5_index import TOKENIZERS

fast = settings(max_examples=examples(300))

SCRIPTS = "日本語東京学校さくらカタカナー한국어검색기능ภาษาไทยที่นี่ก็ພາສາລາວភាសាខ្មែរဘာသာစကား"
SIGNS = "aZz09_.- \n\"'*():^{}\0"
unspaced = st.text(st.sampled_from(SCRIPTS), min_size=2, max_size=30).filter(
    lambda text: unicodedata.is_normalized("NFKC", text)
)
identifiers = st.text(st.sampled_from("abXYZ019_"), min_size=1, max_size=12)
texts = (
    st.text(max_size=40)
    | st.text(st.sampled_from(SIGNS + SCRIPTS), max_size=40)
    | st.lists(identifiers | unspaced, max_size=6).map(" ".join)
)


def holding(*texts: str) -> apsw.Connection:
    """An index like the vault's, with the subwords of each text."""
    connection = apsw.Connection(":memory:")
    connection.execute(
        f'CREATE VIRTUAL TABLE parts USING fts5 (text, tokenize = "{TOKENIZERS["subwords"]}")'
    )
    for text in texts:
        connection.execute("INSERT INTO parts VALUES (?)", (" ".join(subwords(text)),))
    return connection


def finds(connection: apsw.Connection, expression: str) -> bool:
    return bool(connection.execute("SELECT 1 FROM parts WHERE parts MATCH ?", (expression,)).get)


EMPTY = holding("FileSyncService")


@given(text=texts)
@example(text='" OR "')
@example(text="İstanbul2 ẞ9 ŉA")
@example(text="\ud800aB")
@fast
def test_no_text_raises_and_none_becomes_syntax(text: str) -> None:
    subwords(text)
    asked = subwords_query(text)
    if asked:
        finds(EMPTY, asked)


@given(text=texts)
@example(text="x½y ™ a…b")
@fast
def test_tokens_come_back_from_the_index_as_they_were_made(text: str) -> None:
    connection = holding(text)
    connection.execute("CREATE VIRTUAL TABLE seen USING fts5vocab (parts, instance)")
    seen = connection.execute("SELECT term FROM seen ORDER BY offset").fetchall()
    assert [term for (term,) in seen] == subwords(text)


@given(text=texts)
@example(text="3D 1990s B2\naB cD")
@fast
def test_the_quick_look_misses_nothing(text: str) -> None:
    every: list[str] = []
    for run, compound in module._pieces(module._normal(text)):
        every += module.pairs(run) if run else module._extra_tokens(compound)
    assert subwords(text) == every


@given(text=unspaced, data=st.data())
@fast
def test_every_piece_of_an_unspaced_text_is_found(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 2))
    end = data.draw(st.integers(start + 2, len(text)))
    connection = holding(f"x {text} y")
    phrase, *_ = subwords_query(text[start:end]).split(" OR ")
    assert finds(connection, phrase), "As a whole, not by a pair of it."


@given(words=st.lists(st.text("cdwxz", min_size=2, max_size=6), min_size=2, max_size=4))
@fast
def test_an_identifier_is_found_however_it_is_written(words: list[str]) -> None:
    camel = "".join(word.title() for word in words)
    ways = [camel, "_".join(words), "-".join(words), ".".join(words), "".join(words)]
    for written in ways[:4]:
        connection = holding(written)
        for asked in [*ways, " ".join(words), f"{words[0]} {''.join(words[1:])}"]:
            assert finds(connection, subwords_query(asked)), f"{asked} in {written}"
