"""`title`: whether the title holds everything asked for."""

from __future__ import annotations

import pytest

from recollect.settings import Embedding, Rerank, Settings
from recollect.signals.words import holds_all

OFF = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))


@pytest.mark.parametrize(
    ("title", "query", "held"),
    [
        ("docs/v1.4-ROADMAP.md", "roadmap 1.4", True),
        ("docs/v1.5-ROADMAP.md", "roadmap 1.4", False),
        ("Clock drift", "", False),
    ],
)
def test_every_word_may_be_within_a_word_of_the_title(title: str, query: str, held: bool) -> None:
    assert holds_all(title, query) is held
