"""Asking a reranker until a deadline."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from planned_search import OverAt

from recollect.errors import ProviderError
from recollect.stages.rerank import RerankRun

CANDIDATES = [(f"m{number}", f"text {number}") for number in range(5)]


class Reads:
    identity = "toy"

    def __init__(self, stops_at: int = 99, failure: str = "", unready: str = "") -> None:
        self.batches: list[list[str]] = []
        self.go_on = threading.Event()
        self.stopped = threading.Event()
        self.stops_at = stops_at
        self.failure = failure
        self.unready = unready

    def ready(self) -> None:
        if self.unready:
            raise ProviderError(self.unready, transient=False)

    def scores(self, query: str, documents: Sequence[str]) -> list[float]:
        if len(self.batches) == self.stops_at:
            if self.failure:
                raise ProviderError(self.failure, transient=True)
            self.stopped.set()
            self.go_on.wait()
        self.batches.append(list(documents))
        return [float(text.split()[1]) / 10 for text in documents]


def test_all_are_read_in_batches_best_first() -> None:
    reads = Reads()
    run = RerankRun(reads, "query", 2)
    assert run.by(60, CANDIDATES) == {"m0": 0.0, "m1": 0.1, "m2": 0.2, "m3": 0.3, "m4": 0.4}
    assert reads.batches == [["text 0", "text 1"], ["text 2", "text 3"], ["text 4"]]
    assert run.failure is None


def test_scores_after_the_deadline_do_not_count(over_at: OverAt) -> None:
    reads = Reads(stops_at=1)
    waited = over_at(reads.stopped)
    run = RerankRun(reads, "query", 2)
    scores = run.by(0.2, CANDIDATES)
    assert scores == {"m0": 0.0, "m1": 0.1}
    assert waited == [0.2]
    reads.go_on.set()
    assert scores == {"m0": 0.0, "m1": 0.1}
    assert run.failure is None


def test_a_failure_is_reported_and_earlier_scores_stay() -> None:
    run = RerankRun(Reads(stops_at=2, failure="It broke."), "query", 2)
    assert set(run.by(60, CANDIDATES)) == {"m0", "m1", "m2", "m3"}
    assert run.failure == "It broke."


def test_a_reranker_that_cannot_load_holds_up_nothing() -> None:
    run = RerankRun(Reads(unready="No such file."), "query", 2)
    assert run.by(60, CANDIDATES) == {}
    assert run.failure == "No such file."


def test_without_texts_there_are_no_scores() -> None:
    assert RerankRun(Reads(), "query", 2).by(60, []) == {}
