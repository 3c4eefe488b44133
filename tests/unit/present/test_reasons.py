"""A score that begins below 0, in words and in pictures."""

from __future__ import annotations

import pytest

from recollect.interfaces.web.charts import scale_of, waterfall
from recollect.present.explain import in_words
from recollect.types import Term, combine, leaf, weighted


def score(share: float) -> Term:
    """`−3 + 5 · share`."""
    return combine("blend", "sum", (leaf("base", -3.0, "start"), weighted("keyword", 5.0, share)))


def test_what_every_memory_begins_with_is_no_reason() -> None:
    [(share, reason)] = in_words(score(0.2), lambda name: name)
    assert (share, reason) == (1.0, "keyword")


def test_bars_begin_at_the_base_and_end_at_the_score() -> None:
    picture = waterfall(score(0.8), scale_of([score(0.8), score(0.2)]))
    base, words = picture.bars
    assert (base.x, base.width) == (0.0, 75.0)  # from 0 down to −3, on a scale from −3 to 1
    assert (words.x, words.width) == (0.0, 100.0)
    assert picture.total.value == pytest.approx(1.0)
