"""Cosines of another model, as the rules for the English one read them."""

from __future__ import annotations

import pytest

from recollect.models.folder import embedding_models
from recollect.query.likeness import SAME_SCALE, SCALES, scale_of


def test_unrelated_texts_of_the_other_model_are_unrelated_on_the_english_scale() -> None:
    scale = scale_of("builtin:multilingual@2ab123ed9ebd")
    assert 0.4 < scale.to_english(0.8) < 0.6
    assert scale.to_english(0.999) == 1.0
    assert scale.to_english(scale.to_own(0.67)) == pytest.approx(0.67)


def test_a_model_that_was_not_measured_keeps_its_cosines() -> None:
    for identity in ("builtin:bge-small-en-v1.5@x", "ollama:multilingual"):
        assert scale_of(identity) is SAME_SCALE
    assert {name.removeprefix("builtin:")[:-1] for name in SCALES} < {*embedding_models()}
