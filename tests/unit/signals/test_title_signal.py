"""`title`: whether the title holds everything asked for."""

from __future__ import annotations

import pytest

from recollect import Recollect
from recollect.settings import Embedding, Rerank, Settings
from recollect.signals.title import holds_all

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


def explained(query: str, tmp_path: object) -> dict[str, float]:
    with Recollect(f"{tmp_path}/vault.db", home=str(tmp_path), settings=OFF) as memory:
        memory.save(id="file", title="docs/v1.4-ROADMAP.md", text="What comes next.")
        memory.save(id="talk", title="A talk", text="About the roadmap of 1.4, at length.")
        found = {one.id: one.explain for one in memory.search(query)}
    return {part.name: part.value for part in found["file"].parts}


def test_the_file_whose_name_is_asked_for_gets_a_bonus(tmp_path: object) -> None:
    assert explained("roadmap 1.4", tmp_path)["title"] == 2.0


def test_one_word_is_not_enough(tmp_path: object) -> None:
    """A word of the title weighs more than one of the text anyway."""
    assert "title" not in explained("roadmap", tmp_path)
