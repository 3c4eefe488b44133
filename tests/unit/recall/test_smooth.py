"""The rarity of words in a small vault."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect import Recollect
from recollect.settings import Embedding, Rerank, Settings
from recollect.types import Result

BARE = Settings(embedding=Embedding("none"), rerank=Rerank("none"))
OFF = {"recall.keyword.smooth": False, "recall.subwords.smooth": False}


def keyword_share(result: Result) -> float:
    [term] = [leaf for leaf in result.explain.leaves() if leaf.name == "keyword"]
    assert term.raw is not None
    return term.raw


def test_what_words_count_and_the_most_they_can_count_are_of_one_scale(tmp_path: Path) -> None:
    """Half of the memories hold both words: only with some more memories do they tell anything."""
    with Recollect(home=tmp_path, settings=BARE) as memory:
        for number in range(4):
            memory.save(title="harbor pilots" if number < 2 else f"lantern {number}")
        [found, *_] = memory.search("harbor pilots").results
        [bare, *_] = memory.search("harbor pilots", changes=OFF).results
        [missing, *_] = memory.search("harbor pilots violin").results
        [lost, *_] = memory.search("harbor pilots violin", changes=OFF).results
    assert keyword_share(found) > 0.8
    assert keyword_share(bare) == pytest.approx(keyword_share(found))
    assert keyword_share(lost) < keyword_share(missing) < keyword_share(found)
