"""The contract of every embedder: subclass `EmbedderContract` under pytest to check yours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recollect.models.base import Embedder, Immediate

if TYPE_CHECKING:  # exists for type checkers only
    from recollect.models.base import Matrix

SENTENCES = (
    "The deploy failed because the disk was full.",
    "Use a connection pool of ten for the database.",
    "Anna prefers tea to coffee in the morning.",
    "Rotate the signing keys every ninety days.",
)

ODD_TEXTS = (
    "",
    " ",
    "\n\t",
    "\x00",
    "日本語のメモを検索する",
    "نص عربي قصير",
    "👩‍👩‍👧‍👦 🏳️‍🌈",
    "e\u0301 and \u00e9",
    "a lone surrogate \ud800 in the middle",
    "\u202eright to left\u202c",
    '"quotes", \\backslashes\\ and </tags>',
)

UNIT_TOLERANCE = 1e-4  # a float32 row of a few thousand parts, normalised, stays well within


class EmbedderContract:
    """The laws of `Embedder`, one test each. `embedder` is called once per test."""

    # How far a part of a vector may move when the same text is embedded again, perhaps in other
    # company: padding and thread counts change the last digits of most models.
    tolerance: float = 1e-3

    def embedder(self) -> Embedder:
        """The embedder under test, ready for use."""
        raise NotImplementedError("Return the embedder to check.")

    def test_one_unit_length_float32_row_per_text(self) -> None:
        rows = self.embedder().documents(SENTENCES)
        _check_shape(rows, len(SENTENCES))

    def test_queries_and_documents_have_the_same_dimension(self) -> None:
        embedder = self.embedder()
        queries, documents = embedder.queries(SENTENCES[:1]), embedder.documents(SENTENCES[:1])
        _check_shape(queries, 1)
        assert queries.shape == documents.shape, "A query could not be compared with a memory."

    def test_rows_come_in_the_order_of_the_texts(self) -> None:
        embedder = self.embedder()
        together = embedder.documents(SENTENCES)
        backwards = embedder.documents(SENTENCES[::-1])[::-1]
        assert np.allclose(together, backwards, atol=self.tolerance), "The order was not kept."
        for place, text in enumerate(SENTENCES):
            alone = embedder.documents([text])[0]
            nearest = int(np.argmax(together @ alone))
            assert nearest == place, f"Text {place} alone is nearest to row {nearest}."

    def test_different_texts_have_different_vectors(self) -> None:
        rows = self.embedder().documents(SENTENCES)
        alike = rows @ rows.T - np.eye(len(rows))
        assert float(alike.max()) < 1 - UNIT_TOLERANCE, "Two unlike texts got the same vector."

    def test_the_same_texts_give_the_same_vectors(self) -> None:
        embedder = self.embedder()
        for ask in (embedder.queries, embedder.documents):
            assert np.allclose(ask(SENTENCES), ask(SENTENCES), atol=self.tolerance), (
                "Embedding the same texts twice gave different vectors."
            )

    def test_no_texts_give_no_rows(self) -> None:
        embedder = self.embedder()
        for rows in (embedder.queries([]), embedder.documents([])):
            assert rows.ndim == 2, f"No texts must give a matrix of no rows, not {rows.ndim}-d."
            assert rows.shape[0] == 0, f"No texts gave {rows.shape[0]} rows."
            assert rows.dtype == np.float32, f"The rows are {rows.dtype}, not float32."

    def test_more_texts_than_a_batch_keep_count_and_order(self) -> None:
        texts = [f"Note {number} is about subject {number * 7}." for number in range(250)]
        embedder = self.embedder()
        rows = embedder.documents(texts)
        _check_shape(rows, len(texts))
        for place in (0, 99, 100, 249):
            alone = embedder.documents([texts[place]])[0]
            assert np.allclose(rows[place], alone, atol=self.tolerance), f"Row {place} is another."

    def test_empty_and_odd_texts_are_embedded_like_any_other(self) -> None:
        embedder = self.embedder()
        _check_shape(embedder.documents(ODD_TEXTS), len(ODD_TEXTS))
        _check_shape(embedder.queries(ODD_TEXTS), len(ODD_TEXTS))

    def test_an_odd_text_leaves_its_neighbours_alone(self) -> None:
        embedder = self.embedder()
        among = embedder.documents([*ODD_TEXTS, SENTENCES[0]])[-1]
        alone = embedder.documents(SENTENCES[:1])[0]
        assert np.allclose(among, alone, atol=self.tolerance), "Its company changed a vector."

    def test_a_long_text_is_embedded(self) -> None:
        long = " ".join(SENTENCES[number % len(SENTENCES)] for number in range(400))
        _check_shape(self.embedder().documents([long]), 1)

    def test_any_sequence_of_texts_will_do(self) -> None:
        embedder = self.embedder()
        from_tuple, from_list = embedder.queries(SENTENCES), embedder.queries(list(SENTENCES))
        assert np.allclose(from_tuple, from_list, atol=self.tolerance)

    def test_identity_is_a_stable_text_of_one_line(self) -> None:
        embedder = self.embedder()
        before = embedder.identity
        embedder.documents(SENTENCES[:1])
        assert before == embedder.identity, "The identity changed by use."
        assert before.strip(), "The identity is empty."
        assert len(before.splitlines()) == 1, "The identity must be one line."

    def test_local_and_warm_are_answered_with_a_bool(self) -> None:
        embedder = self.embedder()
        assert isinstance(embedder.local, bool)
        assert isinstance(embedder.warm(), bool)

    def test_whether_texts_are_embedded_at_once_is_answered_with_a_bool(self) -> None:
        embedder = self.embedder()
        if isinstance(embedder, Immediate):
            assert isinstance(embedder.at_once(SENTENCES[:1]), bool)
            assert not embedder.at_once(["word " * 100_000]), "No save waits for a book."


def _check_shape(rows: Matrix, count: int) -> None:
    assert rows.dtype == np.float32, f"The rows are {rows.dtype}, not float32."
    assert rows.ndim == 2, f"The result has {rows.ndim} dimensions; it must be a matrix."
    assert rows.shape[0] == count, f"{count} texts gave {rows.shape[0]} rows."
    assert rows.shape[1] > 0, "The vectors have no parts."
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1)
    assert np.allclose(lengths, 1.0, atol=UNIT_TOLERANCE), f"Lengths are not 1: {lengths}."
