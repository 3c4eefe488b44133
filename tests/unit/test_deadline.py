"""A search with a deadline: what is late is left out and named, and there is always an answer."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from planned_search import IDENTITY, NOW, OverAt, PlannedEmbedder, PlannedModels, PlannedReranker

from recollect import Recollect, Response, UserError
from recollect.deadline import Deadline
from recollect.ingest.exchange import RawLine
from recollect.interfaces.cli import results as terminal
from recollect.interfaces.mcp import texts
from recollect.models.embedding_queue import embed_waiting
from recollect.pipeline import run
from recollect.present.sentences import degraded
from recollect.recipes.base import Recipe
from recollect.recipes.registry import BUILT_IN
from recollect.settings import Embedding, Rerank, Settings
from recollect.stages.rerank import RerankInterpolation
from recollect.store.sqlite.segments import buffer
from recollect.store.sqlite.segments.merging import Merger
from recollect.types import Search
from recollect_evaluation.evaluation import BASELINES

NO_MODELS = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))
QUERY = "who feeds the otter at night"
DENSE = BASELINES["dense"]
LATE = "not ready within the deadline of 50 ms"


class Clock:
    """Stands still, unless something that takes time is called."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds

    def slow(self, monkeypatch: pytest.MonkeyPatch, owner: object, name: str, ms: int) -> None:
        """From now on each call takes so long."""
        called: Callable[..., Any] = getattr(owner, name)

        def timed(*args: Any, **options: Any) -> Any:
            self.seconds += ms / 1000
            return called(*args, **options)

        monkeypatch.setattr(owner, name, timed)


class Hanging:
    """An embedder, or a reranker, that answers nobody before the test is over."""

    identity = IDENTITY
    local = True

    def __init__(self) -> None:
        self.go_on = threading.Event()

    def warm(self) -> bool:
        return True

    def ready(self) -> None:
        self.go_on.wait(60)

    def queries(self, texts: Sequence[str]) -> Any:
        self.go_on.wait(60)
        return np.ones((len(texts), 2), np.float32)

    def scores(self, query: str, documents: Sequence[str]) -> list[float]:
        self.go_on.wait(60)
        return [0.5] * len(documents)


@pytest.fixture
def hanging() -> Iterator[Hanging]:
    model = Hanging()
    yield model
    model.go_on.set()


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Recollect]:
    """Three memories about otters with vectors, and no model of the vault's own."""
    with Recollect(home=tmp_path, settings=NO_MODELS, clock=lambda: NOW) as held:
        for number in range(3):
            held.save(id=f"otter-{number}", text=f"Who feeds the otter at night? {number}.")
        embed_waiting(held.store.vectors, PlannedEmbedder([0.6, 0.8]))
        yield held


def search_late(
    memory: Recollect,
    clock: Clock,
    recipe: Recipe = BUILT_IN["blend"],
    *,
    passed_s: float = 0.0,
    embedder: Any = None,
    reranker: Any = None,
) -> Response:
    """What a search with 50 ms answers, of which `passed_s` are over when it begins."""
    models = PlannedModels([0.6, 0.8], reranker or PlannedReranker({}), budget_ms=60_000)
    if embedder is not None:
        models.embedder = lambda: embedder  # type: ignore[method-assign]
    deadline = Deadline(50, clock)
    clock.seconds += passed_s
    search = Search(query=QUERY, now=NOW, deadline_ms=50)
    return run(recipe, search, store=memory.store, models=models, deadline=deadline)


def late(response: Response) -> list[tuple[str, str]]:
    return [(part.channel, part.reason) for part in response.degraded]


def test_a_search_in_time_leaves_nothing_out(memory: Recollect) -> None:
    response = search_late(memory, Clock())
    assert late(response) == []
    assert response.counts["vector"] == 3
    assert response.counts["reranked"] == 3


def test_channels_that_could_only_begin_late_are_left_out_and_named(
    memory: Recollect, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    clock.slow(monkeypatch, memory.store.keyword, "match", 60)
    response = search_late(memory, clock)
    assert response.counts["keyword"] == len(response) == 3
    assert "vector" not in response.counts
    assert ("vector", LATE) in late(response)
    assert ("rerank", LATE) in late(response)
    assert "No search by meaning: " + LATE in [degraded(p, response) for p in response.degraded]


@pytest.mark.parametrize("name", ["blend", "covalence", "vault", "router", "echovault"])
def test_the_words_are_searched_for_however_short_the_deadline_is(
    memory: Recollect, name: str, hanging: Hanging
) -> None:
    response = search_late(memory, Clock(), BUILT_IN[name], passed_s=9.0, embedder=hanging)
    assert response.counts["keyword"] == len(response) == 3
    assert "vector" not in response.counts


def test_vectors_alone_without_time_find_nothing_and_say_so(
    memory: Recollect, hanging: Hanging
) -> None:
    response = search_late(memory, Clock(), DENSE, passed_s=9.0, embedder=hanging)
    assert len(response) == 0
    assert late(response) == [("vector", LATE)]


def test_an_embedding_model_that_hangs_holds_up_no_search_with_a_deadline(
    memory: Recollect, hanging: Hanging
) -> None:
    response = search_late(memory, Clock(), embedder=hanging)
    assert len(response) == 3
    assert ("vector", LATE) in late(response)


def test_a_reranker_that_hangs_while_it_is_loaded_holds_up_no_search_with_a_deadline(
    memory: Recollect, hanging: Hanging
) -> None:
    response = search_late(memory, Clock(), reranker=hanging)
    assert len(response) == 3
    assert late(response) == [("rerank", "reranked 0 of 3 within the deadline")]


def test_what_the_reranker_did_not_reach_by_the_deadline_of_a_search_is_told(
    memory: Recollect, over_at: OverAt
) -> None:
    clock, stopped = Clock(), threading.Event()

    class Slow(PlannedReranker):
        def scores(self, query: str, documents: Sequence[str]) -> list[float]:
            clock.seconds += 0.03
            if clock.seconds > 0.05:
                stopped.set()
                go_on.wait(60)
            return super().scores(query, documents)

    go_on = threading.Event()
    waits = over_at(stopped)
    one_by_one = replace(BUILT_IN["blend"], stages=(RerankInterpolation(batch=1),))
    response = search_late(memory, clock, one_by_one, reranker=Slow({}))
    go_on.set()
    [part] = response.degraded
    assert (part.channel, part.reason) == ("rerank", "reranked 1 of 3 within the deadline of 50 ms")
    assert "read 1 of 3 results in time" in degraded(part, response)
    assert waits[0] is not None
    assert waits[0] <= 0.05


class Ticking(Clock):
    """Each look at the clock takes some milliseconds."""

    def __call__(self) -> float:
        self.seconds += 0.05
        return self.seconds


@pytest.mark.own_segments
@pytest.mark.parametrize("segments", [False, True])
def test_a_single_expression_is_stopped_at_the_deadline_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, segments: bool
) -> None:
    monkeypatch.setattr("recollect.deadline.LEAST_S", 0.3)
    if segments:
        monkeypatch.setattr(buffer, "FIRST", 1)
        monkeypatch.setattr(buffer, "MOST", 1)
    words = "NEAR({})".format(" ".join(f"{letter}*" for letter in "abcdefghijkl"))
    search = Search(query=words, now=NOW, deadline_ms=50)
    with Recollect(home=tmp_path, settings=NO_MODELS, clock=lambda: NOW) as held:
        line = b'{"text": "%d %s"}'
        text = b"a b c d e f g h i j k l " * 3
        held.import_lines([RawLine(number, line % (number, text)) for number in range(1, 601)])
        if segments:
            Merger(held.store.database).run()
        models = PlannedModels([0.6, 0.8], PlannedReranker({}), budget_ms=60_000)
        clock = Ticking()
        deadline = Deadline(50, clock)
        router = BUILT_IN["router"]
        response = run(router, search, store=held.store, models=models, deadline=deadline)
        assert late(response) == [("keyword", LATE)]
        assert clock.seconds < 0.6
        for said in (terminal.response_text(response, NOW), texts.response_text(response)):
            assert said.startswith("Nothing was found within the time limit.\n")
        assert len(held.search(words, recipe="router", deadline_ms=60_000)) == 10


@pytest.mark.parametrize("wrong", [0, -1, 0.5, "50", True])
def test_a_deadline_that_is_none_is_refused(memory: Recollect, wrong: Any) -> None:
    with pytest.raises(UserError, match="deadline_ms must be a whole number of milliseconds from"):
        memory.search("otter", deadline_ms=wrong)


def test_any_long_deadline_is_none(memory: Recollect) -> None:
    assert len(memory.search("otter", deadline_ms=2**70)) == 3
