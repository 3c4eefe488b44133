"""The work of one search by words, counted: nothing is computed twice or in vain."""

from __future__ import annotations

import gc
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from recollect import Recollect
from recollect.context import SearchContext
from recollect.query import exact, passages
from recollect.settings import Embedding, Rerank, Settings
from recollect.stages import rerank

NO_MODELS = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))
QUERY = "who rotates the signing key kestrel_12 yearly"


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recollect]:
    """Forty memories that all hold words of the query, one of them an exact term of it."""
    home: Path = tmp_path_factory.mktemp("home")
    with Recollect(home=home, settings=NO_MODELS) as held:
        for number in range(40):
            text = f"The signing key number {number} is rotated yearly by the team. " * 4
            held.save(id=f"m{number}", title=f"Key {number}", text=text + f"kestrel_{number}")
        yield held


@pytest.fixture
def counts(memory: Recollect, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Counts the calls of each part of a search, by their texts."""
    counted: Counter[str] = Counter()

    def count(owner: Any, name: str, label: Callable[..., str]) -> None:
        called = getattr(owner, name)

        def counting(*args: Any, **options: Any) -> Any:
            counted[label(*args)] += 1
            return called(*args, **options)

        monkeypatch.setattr(owner, name, counting)

    count(memory.store.memories, "get", lambda ids: "read")
    count(memory.store.keyword, "tokens", lambda text: f"tokens {text}")
    count(rerank, "focused_text", lambda *_: "text for a reranker")
    count(exact, "holds", lambda folded, term: f"holds {term} {folded}")
    count(passages, "densest", lambda text, *_: f"passage {text}")
    return counted


def test_where_there_is_no_reranker_no_text_is_made_for_it(
    memory: Recollect, counts: Counter[str]
) -> None:
    found = memory.search("who rotates the signing key yearly")  # no name that stands out
    assert [part.channel for part in found.degraded] == ["vector", "rerank"]
    assert counts["text for a reranker"] == 0


def test_the_candidates_of_all_channels_are_read_in_two_statements_at_most(
    memory: Recollect, counts: Counter[str]
) -> None:
    """The details channel looks at what others found before there is a pool."""
    assert len(memory.search(QUERY)) == 10
    assert counts["read"] <= 2


def test_each_text_is_taken_apart_once(memory: Recollect, counts: Counter[str]) -> None:
    assert len(memory.search(QUERY)) == 10
    long = {name: count for name, count in counts.items() if "signing key number" in name}
    assert any(name.startswith("tokens") for name in long)
    assert len({name for name in long if name.startswith("holds kestrel_12")}) >= 30
    assert len({name for name in long if name.startswith("passage")}) == 10
    assert set(long.values()) == {1}


def test_no_pattern_is_compiled_for_the_words_of_a_query(
    memory: Recollect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That takes longer than looking through the texts of all results."""
    memory.search(QUERY)  # what is compiled once for all queries is compiled now
    monkeypatch.setattr(re, "compile", lambda pattern, *_: pytest.fail(f"compiled {pattern}"))
    assert len(memory.search("which team has rotated what was signed")) == 10


def test_a_search_leaves_nothing_for_the_garbage_collector(memory: Recollect) -> None:
    memory.search(QUERY)
    gc.collect()
    gc.disable()
    try:
        memory.search(QUERY)
        assert not [one for one in gc.get_objects() if isinstance(one, SearchContext)]
    finally:
        gc.enable()
