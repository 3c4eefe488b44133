"""`finish_vectors`, `in_batches`, and what tells the vectors of one model from those of another."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import ProviderError
from recollect.models.active import Absent, open_embedder
from recollect.models.vectors import BATCH, finish_vectors, in_batches
from recollect.settings import Embedding

WHO = "The embedding provider toy"


def refusal(raw: Any, *, expected_rows: int = 1, dimensions: int = 0) -> str:
    with pytest.raises(ProviderError) as caught:
        finish_vectors(raw, expected_rows=expected_rows, dimensions=dimensions, who=WHO)
    assert caught.value.transient is False
    message = str(caught.value)
    assert message.startswith(WHO)
    assert message.endswith(".")
    return message


def test_rows_become_unit_length_float32() -> None:
    rows = finish_vectors([[3.0, 4.0], [0.0, -2.0]], expected_rows=2, dimensions=0, who=WHO)
    assert rows.dtype == np.float32
    assert np.allclose(rows, [[0.6, 0.8], [0.0, -1.0]])


def test_a_cut_keeps_the_first_parts_and_normalises_again() -> None:
    rows = finish_vectors([[3.0, 4.0, 12.0]], expected_rows=1, dimensions=2, who=WHO)
    assert np.allclose(rows, [[0.6, 0.8]])


def test_a_cut_to_the_models_own_dimension_changes_nothing() -> None:
    rows = finish_vectors([[3.0, 4.0]], expected_rows=1, dimensions=2, who=WHO)
    assert np.allclose(rows, [[0.6, 0.8]])


def test_a_cut_beyond_what_the_model_gives_is_refused() -> None:
    message = refusal([[3.0, 4.0]], dimensions=3)
    assert "2 dimensions" in message
    assert "embedding.dimensions" in message


def test_a_wrong_count_is_refused_with_both_numbers() -> None:
    assert "1 vectors for 2 texts" in refusal([[1.0]], expected_rows=2)
    assert "2 vectors for 1 texts" in refusal([[1.0], [1.0]])
    assert "0 vectors for 1 texts" in refusal([])


def test_rows_of_different_dimensions_are_refused() -> None:
    assert "2 and of 3 dimensions" in refusal([[1.0, 0.0], [1.0, 0.0, 0.0]], expected_rows=2)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf"), None])
def test_nan_infinity_and_missing_numbers_are_refused(bad: float | None) -> None:
    assert "NaN or infinity" in refusal([[1.0, bad]])


def test_a_zero_vector_is_refused_also_where_only_the_cut_makes_it_zero() -> None:
    assert "zero length" in refusal([[0.0, 0.0]])
    assert "zero length" in refusal([[0.0, 1.0]], dimensions=1)


def test_a_vector_without_parts_is_refused() -> None:
    assert "without dimensions" in refusal([[]])


@pytest.mark.parametrize("bad", ["many", [1.0], 10**400])
def test_what_is_no_number_is_refused(bad: Any) -> None:
    assert "other than numbers" in refusal([[1.0, bad]])


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
