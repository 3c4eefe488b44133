"""Token vectors in two bits a number, and MaxSim."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from recollect.hashing import is_intact
from recollect.models.vectors import QueryTokens, maxsim, pack_tokens, token_cosines
from recollect.types import Span

if TYPE_CHECKING:
    from recollect.models.base import Matrix

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
