"""Weights learn from feedback, within bounds, and only where older feedback agrees."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from patience import until
from recollect import Recollect
from recollect.engine import feedback
from recollect.engine.searching import search_vault
from recollect.lifetime import Lifetime
from recollect.recipes.learned import fit_weights
from recollect.settings import Embedding, Rerank, Settings, UsageSettings

# Uses are not counted either: while they are written, a server leaves out what is to be learned.
OFF = Settings(
    embedding=Embedding(provider="none"),
    rerank=Rerank(provider="none"),
    usage=UsageSettings(keep=False),
)
LONG_S = 60  # far beyond what anything here needs
# Each in small letters only, so that none is an identifier.
NAMES = [f"{first}{second}ork" for first in "bdfgh" for second in "aeiou"]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Recollect]:
    """For each name two notes: `short`, which matches better, and `marked`, which is critical."""
    with Recollect(home=tmp_path, settings=OFF) as memory:
        for name in NAMES:
            memory.save(id=f"short-{name}", text=f"The {name} leaks.")
            text = f"The {name} was repaired at the harbor."
            memory.save(id=f"marked-{name}", text=text, severity="critical")
        yield memory


def accept(memory: Recollect, which: str, names: list[str]) -> None:
    for name in names:
        memory.feedback(f"the {name}", f"{which}-{name}", accept=True)


def test_weights_learn_and_are_used_and_shown_and_reset(memory: Recollect) -> None:
    accept(memory, "marked", NAMES[:19])
    assert memory.learned_weights("blend").lesson is None
    accept(memory, "marked", NAMES[19:20])
    learned = memory.learned_weights("blend")
    lesson = learned.lesson
    assert lesson is not None
    assert lesson.applied
    assert (lesson.fit.questions, lesson.held_out.questions) == (10, 10)
    assert (lesson.held_out.before, lesson.held_out.after) == (0.5, 1.0)
    assert (lesson.held_out.better, lesson.held_out.worse) == (10, 0)
    for declared, now in learned.weights.values():
        assert declared / 2 <= now <= declared * 2
    changed = {name for name, (declared, now) in learned.weights.items() if declared != now}
    assert changed == {"keyword", "bm25", "importance"}, "no question said anything of the others"
    assert learned.weights["keyword"][0] > learned.weights["keyword"][1]
    assert learned.weights["importance"][0] < learned.weights["importance"][1]
    [found, *_] = memory.search(f"the {NAMES[-1]}")
    assert found.id == f"marked-{NAMES[-1]}"
    [used] = [part.weight for part in found.explain.leaves() if part.name == "importance"]
    assert used == learned.weights["importance"][1]
    memory.unlearn()
    after = memory.learned_weights("blend")
    assert (after.lesson, after.events) == (None, 0)
    assert all(declared == now for declared, now in after.weights.values())
    assert memory.opinions() == (20, 0)


def test_weights_that_rank_older_feedback_worse_are_not_used(memory: Recollect) -> None:
    accept(memory, "short", NAMES[:10])
    accept(memory, "marked", NAMES[10:20])
    learned = memory.learned_weights("blend")
    lesson = learned.lesson
    assert lesson is not None
    assert lesson.held_out.after < lesson.held_out.before
    assert not lesson.applied
    assert all(declared == now for declared, now in learned.weights.values())


def test_weights_stay_within_bounds_and_follow_the_evidence() -> None:
    declared = {"keyword": 1.0, "title": 2.0, "exact": 2.0}
    questions = [[{"keyword": -3.0, "title": 2.0, "exact": 0.0}]] * 10
    found = fit_weights(declared, questions, span=2)
    assert 0.5 <= found["keyword"] < 1.0
    assert 2.0 < found["title"] <= 4.0
    assert found["exact"] == 2.0
    assert fit_weights(declared, questions, span=1) == fit_weights(declared, [], span=2) == declared


class Gate:
    """Searches again, once it is open."""

    def __init__(self) -> None:
        self.reached, self.open = threading.Event(), threading.Event()

    def search_vault(self, *asked: Any) -> Any:
        self.reached.set()
        assert self.open.wait(LONG_S)
        return search_vault(*asked)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Gate:
    gate = Gate()
    monkeypatch.setattr(feedback, "search_vault", gate.search_vault)
    return gate


def test_a_server_answers_before_it_has_learned(memory: Recollect, gate: Gate) -> None:
    with Recollect(home=memory.home, settings=OFF, lifetime=Lifetime.SERVER) as server:
        accept(server, "marked", NAMES[:20])
        assert gate.reached.wait(LONG_S)
        assert server.learned_weights("blend").lesson is None
        accept(server, "marked", NAMES[20:21])  # nobody waits, and nothing is learned twice
        gate.open.set()
        until(lambda: server.learned_weights("blend").lesson is not None)
    assert memory.learned_weights("blend").events == 21


def test_what_a_closing_server_leaves_is_learned_with_the_next_feedback(
    memory: Recollect, gate: Gate
) -> None:
    server = Recollect(home=memory.home, settings=OFF, lifetime=Lifetime.SERVER)
    accept(server, "marked", NAMES[:20])
    assert gate.reached.wait(LONG_S)
    ending = threading.Thread(target=server.close)
    ending.start()
    until(lambda: server.session.tasks.closing)
    gate.open.set()
    ending.join()
    assert memory.learned_weights("blend").lesson is None
    accept(memory, "marked", NAMES[20:21])
    lesson = memory.learned_weights("blend").lesson
    assert lesson is not None
    assert lesson.questions == 21
