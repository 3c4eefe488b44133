"""Outputs of models are cached by model, role and text, and no model is loaded for cached ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from recollect.errors import UserError
from recollect.models.base import Windowed
from recollect.models.onnx import OnnxModel
from recollect.settings import Embedding, Settings
from recollect.types import Span
from recollect_evaluation.cache import (
    FILE,
    Cache,
    CachedEmbedder,
    CachedModels,
    CachedReranker,
    CachedWindowed,
    cache_folder,
)

if TYPE_CHECKING:
    from recollect.models.base import Matrix


class Toy:
    """An embedder that notes what it was asked."""

    local = True

    def __init__(self, identity: str = "toy", width: int = 3) -> None:
        self.identity = identity
        self.width = width
        self.asked: list[str] = []

    def warm(self) -> bool:
        return True

    def queries(self, texts: Sequence[str]) -> Matrix:
        return self.documents([f"?{text}" for text in texts])

    def documents(self, texts: Sequence[str]) -> Matrix:
        self.asked += texts
        rows = [[len(text), *range(self.width - 1)] for text in texts]
        return np.array(rows, np.float32).reshape(-1, self.width)


class ToyWindowed(Toy):
    def windows(self, text: str) -> list[Span]:
        self.asked.append(f"windows {text}")
        return [Span(0, 4), Span(2, len(text))]


class ToyReranker:
    identity = "toy"

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def ready(self) -> None:
        raise AssertionError("Nobody waits for it here.")

    def scores(self, query: str, documents: Sequence[str]) -> list[float]:
        self.asked += [(query, text) for text in documents]
        return [len(text) / 7 for text in documents]


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Cache]:
    made = Cache(tmp_path / FILE)
    yield made
    made.close()


def test_a_text_is_embedded_once_for_each_model_and_role(cache: Cache) -> None:
    live = Toy()
    kept = CachedEmbedder(live, cache)
    first = kept.documents(["a", "bb", "a"])
    assert first.dtype == np.float32
    assert first.tolist() == Toy().documents(["a", "bb", "a"]).tolist()
    assert live.asked == ["a", "bb"]
    assert kept.documents(["ccc", "bb"]).tolist() == Toy().documents(["ccc", "bb"]).tolist()
    assert kept.queries(["a"]).tolist() == Toy().queries(["a"]).tolist()
    assert live.asked == ["a", "bb", "ccc", "?a"]
    other = Toy("another")
    CachedEmbedder(other, cache).documents(["a"])
    assert other.asked == ["a"]
    assert kept.documents([]).shape == (0, 3)


def test_what_was_kept_is_there_for_the_next_process(tmp_path: Path) -> None:
    for expected in (["a", "windows long text"], []):
        held = Cache(tmp_path / "folder" / FILE)
        live = ToyWindowed()
        kept = CachedWindowed(live, held)
        assert kept.documents(["a"]).tolist() == [[1, 0, 1]]
        assert kept.windows("long text") == [Span(0, 4), Span(2, 9)]
        assert live.asked == expected
        held.close()


def test_without_a_file_it_is_kept_for_this_process_alone() -> None:
    live = Toy()
    for _ in range(2):
        kept = CachedEmbedder(live, Cache(None))
        kept.documents(["a"])
        kept.documents(["a"])
    assert live.asked == ["a", "a"]


def test_vectors_of_a_model_that_grew_are_made_anew(cache: Cache) -> None:
    CachedEmbedder(Toy(), cache).documents(["a"])
    wider = Toy(width=4)
    kept = CachedEmbedder(wider, cache)
    assert kept.documents(["a", "bb"]).shape == (2, 4)
    assert kept.documents(["a"]).shape == (1, 4)


def test_a_score_is_kept_for_question_and_text_and_nothing_is_made_ready(cache: Cache) -> None:
    live = ToyReranker()
    kept = CachedReranker(live, cache, "toy")
    kept.ready()
    assert kept.scores("q", ["a", "bb"]) == [1 / 7, 2 / 7]
    assert kept.scores("q", ["bb", "ccc"]) == [2 / 7, 3 / 7]
    assert kept.scores("r", ["a"]) == [1 / 7]
    assert live.asked == [("q", "a"), ("q", "bb"), ("q", "ccc"), ("r", "a")]
    CachedReranker(live, cache, "toy, other files").scores("q", ["a"])
    assert live.asked[-1] == ("q", "a")


def test_known_text_loads_no_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = "a long text about tokens " * 200
    said = []
    for _ in range(2):
        held = Cache(tmp_path / FILE)
        models = CachedModels(Settings(), {}, held)
        embedder = models.embedder()
        assert isinstance(embedder, Windowed)
        assert len(embedder.windows(long)) > 1
        vectors = embedder.documents(["short", long[:500]]).tolist()
        said.append((vectors, models.reranker().scores("tokens", ["about tokens", "tea"])))
        held.close()
        monkeypatch.setattr(OnnxModel, "session", property(lambda self: pytest.fail("loaded")))
    assert said[0] == said[1]


def test_a_model_without_windows_has_none_here_either(cache: Cache) -> None:
    off = Settings(embedding=Embedding(provider="ollama", model="toy"))
    assert not isinstance(CachedModels(off, {}, cache).embedder(), Windowed)


def test_a_closed_or_full_cache_only_costs_time(tmp_path: Path) -> None:
    held = Cache(tmp_path / FILE)
    live = Toy()
    kept = CachedEmbedder(live, held)
    held.close()
    assert kept.documents(["a"]).tolist() == kept.documents(["a"]).tolist() == [[1, 0, 1]]
    assert live.asked == ["a", "a"]


def test_a_file_that_is_no_cache_is_an_error_that_says_what_helps(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("not a database, and long enough to be read as one\n" * 100)
    (tmp_path / "file").write_text("")
    for file in (tmp_path / FILE, tmp_path / "file" / FILE):
        with pytest.raises(UserError, match="RECOLLECT_CACHE, or use --no-cache"):
            Cache(file)


def test_the_folder_is_the_platforms_unless_told() -> None:
    assert cache_folder({"RECOLLECT_CACHE": "/tmp/x"}) == Path("/tmp/x")
    assert cache_folder({}).name == "recollect"
