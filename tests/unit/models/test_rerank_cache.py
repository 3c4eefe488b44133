"""A reranker that is asked once: the same scores, fewer questions."""

from __future__ import annotations

import random
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from model_server import ModelServer
from recollect.errors import ProviderError
from recollect.hashing import content_digest
from recollect.lifetime import Lifetime
from recollect.models.active import ActiveModels, RerankCache
from recollect.settings import Embedding, Rerank, Settings


class Counting:
    """Scores by a hash, and keeps what it was asked."""

    identity = "toy:counting"

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self.loaded = self.closed = 0
        self.failing = False

    def ready(self) -> None:
        self.loaded += 1

    def scores(self, query: str, documents: Sequence[str]) -> list[float]:
        self.asked += [(query, text) for text in documents]
        if self.failing:
            raise ProviderError("The reranker is tired.", transient=True)
        return [score(query, text) for text in documents]

    def close(self) -> None:
        self.closed += 1


def score(query: str, text: str) -> float:
    return content_digest(f"{query}\0{text}", 4)[0] / 255


def expected_scores(query: str, documents: Sequence[str]) -> list[float]:
    return [score(query, text) for text in documents]


TEXTS = [f"Note {number}" for number in range(20)]


def test_the_scores_are_the_model_s_in_any_order_and_batch() -> None:
    chance = random.Random(3)
    cache = RerankCache(Counting(), most=15)
    for _ in range(200):
        asked = chance.choices(TEXTS, k=chance.randrange(8))
        query = chance.choice(["a", "b", "1 a", ""])
        assert cache.scores(query, asked) == expected_scores(query, asked)


def test_only_what_was_not_read_before_is_asked() -> None:
    model = Counting()
    cache = RerankCache(model)
    cache.scores("a", TEXTS[:3])
    cache.scores("a", TEXTS[:5][::-1])
    cache.scores("a", TEXTS[:5])
    assert model.asked == [("a", text) for text in (*TEXTS[:3], TEXTS[4], TEXTS[3])]
    cache.scores("b", TEXTS[:1])
    assert model.asked[-1] == ("b", TEXTS[0]), "Another question is another pair."


def test_query_and_text_do_not_run_into_each_other() -> None:
    model = Counting()
    cache = RerankCache(model)
    for query, text in (("ab", "c"), ("a", "bc"), ("", "abc"), ("abc", ""), ("1 a", "bc")):
        assert cache.scores(query, [text]) == [score(query, text)]
    assert len(model.asked) == 5


def test_the_oldest_make_room_and_what_is_asked_again_stays() -> None:
    model = Counting()
    cache = RerankCache(model, most=3)
    for text in ("x", "y", "z", "x", "new"):
        cache.scores("q", [text])
    model.asked.clear()
    cache.scores("q", ["x", "z", "new"])
    assert model.asked == []
    cache.scores("q", ["y"])
    assert model.asked == [("q", "y")]
    assert len(cache._scores) == 3


def test_more_texts_at_once_than_are_remembered_are_all_scored() -> None:
    cache = RerankCache(Counting(), most=2)
    assert cache.scores("q", TEXTS) == expected_scores("q", TEXTS)
    assert len(cache._scores) == 2


def test_a_failure_is_passed_on_and_nothing_of_it_is_remembered() -> None:
    model = Counting()
    cache = RerankCache(model)
    cache.scores("q", ["known"])
    model.failing = True
    with pytest.raises(ProviderError, match="tired") as caught:
        cache.scores("q", ["known", "new"])
    assert caught.value.transient
    assert cache.scores("q", ["known"]) == [score("q", "known")], "That needs no model."
    model.failing = False
    model.asked.clear()
    assert cache.scores("q", ["new"]) == [score("q", "new")]
    assert model.asked == [("q", "new")]


def test_many_threads_get_the_model_s_scores() -> None:
    cache = RerankCache(Counting(), most=10)
    wrong: list[object] = []

    def ask(seed: int) -> None:
        chance = random.Random(seed)
        try:
            for _ in range(300):
                asked = chance.sample(TEXTS, k=5)
                if cache.scores("q", asked) != expected_scores("q", asked):
                    wrong.append(asked)
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len(cache._scores) <= 10


def test_it_is_the_model_in_everything_else() -> None:
    model = Counting()
    cache = RerankCache(model)
    assert cache.identity == model.identity
    cache.ready()
    cache.close()
    assert (model.loaded, model.closed) == (1, 1)

    class Plain:
        identity = "toy:plain"

        def ready(self) -> None:
            """It is."""

        def scores(self, query: str, documents: Sequence[str]) -> list[float]:
            return []

    RerankCache(Plain()).close()


def test_only_a_lasting_process_remembers(tmp_path: Path) -> None:
    with ModelServer() as server:
        told = Settings(Embedding("none"), Rerank("http", model="toy", base_url=server.url))
        for remember, requests in ((False, 2), (True, 1)):
            models = ActiveModels(told, {}, Lifetime.SERVER if remember else Lifetime.LIBRARY)
            server.requests.clear()
            first, second = (models.reranker().scores("q", ["a", "b"]) for _ in range(2))
            assert first == second
            assert len(server.requests) == requests
            assert isinstance(models.reranker(), RerankCache) is remember
            models.close()


def test_a_switched_off_model_is_still_switched_off() -> None:
    off = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))
    with pytest.raises(ProviderError, match="none"):
        ActiveModels(off, {}, Lifetime.SERVER).reranker()
