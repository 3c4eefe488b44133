"""Vectors of models: `finish_vectors`, `in_batches`, identities, and token vectors with MaxSim."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import ProviderError
from recollect.hashing import is_intact
from recollect.models.active import Absent, open_embedder
from recollect.models.vectors import (
    BATCH,
    QueryTokens,
    finish_vectors,
    in_batches,
    maxsim,
    pack_tokens,
    token_cosines,
)
from recollect.settings import Embedding
from recollect.types import Span

if TYPE_CHECKING:
    from recollect.models.base import Matrix

WHO = "The embedding provider toy"
NAN, INFINITE = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("raw", "dimensions", "expected"),
    [
        ([[3.0, 4.0], [0.0, -2.0]], 0, [[0.6, 0.8], [0.0, -1.0]]),
        ([[3.0, 4.0, 12.0]], 2, [[0.6, 0.8]]),  # cut to its first parts
        ([[3.0, 4.0]], 2, [[0.6, 0.8]]),
    ],
)
def test_rows_become_unit_length_float32(raw: Any, dimensions: int, expected: Any) -> None:
    rows = finish_vectors(raw, expected_rows=len(raw), dimensions=dimensions, who=WHO)
    assert rows.dtype == np.float32
    assert np.allclose(rows, expected)


@pytest.mark.parametrize(
    ("raw", "rows", "dimensions", "says"),
    [
        ([[3.0, 4.0]], 1, 3, "2 dimensions, and embedding.dimensions"),
        ([[1.0]], 2, 0, "1 vectors for 2 texts"),
        ([[1.0], [1.0]], 1, 0, "2 vectors for 1 texts"),
        ([], 1, 0, "0 vectors for 1 texts"),
        ([[1.0, 0.0], [1.0, 0.0, 0.0]], 2, 0, "2 and of 3 dimensions"),
        ([[0.0, 0.0]], 1, 0, "zero length"),
        ([[0.0, 1.0]], 1, 1, "zero length"),  # only the cut makes it zero
        ([[]], 1, 0, "without dimensions"),
        *([[[1.0, bad]], 1, 0, "NaN or infinity"] for bad in (NAN, INFINITE, -INFINITE, None)),
        *([[[1.0, bad]], 1, 0, "other than numbers"] for bad in ("many", [1.0], 10**400)),
    ],
)
def test_what_is_no_vector_per_text_is_refused(
    raw: Any, rows: int, dimensions: int, says: str
) -> None:
    with pytest.raises(ProviderError) as caught:
        finish_vectors(raw, expected_rows=rows, dimensions=dimensions, who=WHO)
    assert caught.value.transient is False
    message = str(caught.value)
    assert message.startswith(WHO)
    assert message.endswith(".")
    assert all(part in message for part in says.split(", and "))


def test_no_texts_give_an_empty_matrix() -> None:
    rows = finish_vectors([], expected_rows=0, dimensions=5, who=WHO)
    assert rows.shape == (0, 5)
    assert rows.dtype == np.float32


@given(
    st.lists(
        st.floats(allow_nan=False, allow_infinity=False).filter(lambda x: x != 0),
        min_size=1,
        max_size=8,
    )
)
def test_any_finite_non_zero_vector_gets_length_one(row: list[float]) -> None:
    """Numbers whose squares leave float's range are no exception."""
    rows = finish_vectors([row], expected_rows=1, dimensions=0, who=WHO)
    assert np.linalg.norm(rows.astype(np.float64)) == pytest.approx(1.0, abs=1e-6)


def test_batches_are_bounded_and_joined_in_order() -> None:
    asked: list[int] = []

    def ask(texts: list[str]) -> list[list[float]]:
        asked.append(len(texts))
        return [[1.0, float(text)] for text in texts]

    rows = in_batches([str(n) for n in range(BATCH * 2 + 1)], "", ask, dimensions=0, who=WHO)
    assert asked == [BATCH, BATCH, 1]
    assert np.allclose(rows[:, 1] / rows[:, 0], np.arange(BATCH * 2 + 1), rtol=1e-5)


def test_batches_of_different_dimensions_are_refused() -> None:
    def ask(texts: list[str]) -> list[list[float]]:
        return [[1.0] * (2 if len(texts) == BATCH else 3)] * len(texts)

    with pytest.raises(ProviderError, match="2 and of 3 dimensions") as caught:
        in_batches(["x"] * (BATCH + 1), "", ask, dimensions=0, who=WHO)
    assert not caught.value.transient


def test_prefixes_go_before_every_text_and_a_blank_stands_for_an_empty_one() -> None:
    asked: list[str] = []

    def ask(texts: list[str]) -> list[list[float]]:
        asked.extend(texts)
        return [[1.0]] * len(texts)

    in_batches(["a", ""], "q: ", ask, dimensions=0, who=WHO)
    in_batches(["a", ""], "", ask, dimensions=0, who=WHO)
    assert asked == ["q: a", "q: ", "a", " "]


def test_no_texts_ask_nothing() -> None:
    def ask(texts: list[str]) -> list[list[float]]:
        raise AssertionError("There is nothing to ask.")

    assert in_batches([], "", ask, dimensions=7, who=WHO).shape == (0, 7)


def identity(settings: Embedding) -> str:
    opened = open_embedder(settings, {})
    assert not isinstance(opened, Absent)
    return opened.identity


def test_identity_names_only_what_is_set() -> None:
    plain = Embedding(provider="openai", model="text-embedding-3-small")
    assert identity(plain) == "openai:text-embedding-3-small"
    full = Embedding(
        provider="ollama", model="m", dimensions=256, query_prefix="q: ", document_prefix="d: "
    )
    assert identity(full) == 'ollama:m dimensions=256 query_prefix="q: " document_prefix="d: "'


def test_identity_differs_with_everything_that_changes_the_vectors() -> None:
    base: dict[str, Any] = {"provider": "openai", "model": "m"}
    variants: list[dict[str, Any]] = [
        {},
        {"provider": "ollama"},
        {"model": "n"},
        {"dimensions": 8},
        {"query_prefix": "x"},
        {"document_prefix": "x"},
        {"query_prefix": 'x" document_prefix="x'},
        {"query_prefix": "x", "document_prefix": "x"},
    ]
    assert len({identity(Embedding(**base | more)) for more in variants}) == len(variants)


def test_identity_leaves_out_the_address_and_the_time_out() -> None:
    plain = Embedding(provider="openai", model="m")
    elsewhere = Embedding(
        provider="openai", model="m", base_url="https://me:secret@host/v1", timeout_s=1
    )
    assert identity(plain) == identity(elsewhere)


WIDTH = 96


def unit_vectors(count: int) -> Matrix:
    rows = np.random.default_rng(1).normal(size=(count, WIDTH)).astype(np.float32)
    made: Matrix = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return made


SCALES = np.full(WIDTH, WIDTH**-0.5, np.float32)
TEXT = unit_vectors(40)
QUERY = QueryTokens(
    [Span(0, 4), Span(5, 9), Span(10, 12)], TEXT[[3, 20, 7]], np.array([0.5, 0.3, 0.2], np.float32)
)


def test_a_token_takes_two_bits_a_number_and_a_text_a_checksum() -> None:
    assert len(pack_tokens(TEXT, SCALES)) == 40 * WIDTH // 4 + 4


def test_cosines_of_packed_vectors_are_near_those_of_the_vectors() -> None:
    [found] = token_cosines(QUERY, [pack_tokens(TEXT, SCALES)], SCALES)
    assert found.shape == (3, 40)
    assert found.argmax(axis=1).tolist() == [3, 20, 7]
    assert np.abs(found - QUERY.vectors @ TEXT.T).max() < 0.15


def test_maxsim_is_the_weighted_mean_of_the_best_cosines() -> None:
    similarities = np.array([[0.1, 0.8], [0.4, -0.2], [0.0, 0.5]], np.float32)
    assert maxsim(QUERY, similarities) == pytest.approx(0.5 * 0.8 + 0.3 * 0.4 + 0.2 * 0.5)


@pytest.mark.parametrize("damage", ["cut", "changed", "empty"])
def test_damaged_vectors_are_left_out_and_the_others_compared(damage: str) -> None:
    whole = pack_tokens(TEXT[:10], SCALES)
    damaged = {"cut": whole[:-24], "changed": b"?" + whole[1:], "empty": b""}[damage]
    assert is_intact(whole)
    assert not is_intact(damaged)
    left_out, compared = token_cosines(QUERY, [damaged, whole], SCALES)
    assert left_out.shape == (3, 0)
    assert compared.shape == (3, 10)
