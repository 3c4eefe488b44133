"""One's own questions: feedback and the gold set, searched again within a second."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from recollect import Recollect
from recollect.engine.feedback import gold_folder
from recollect_evaluation import gold
from recollect_evaluation.own_questions import own_questions, own_scores


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def memory(home: Path) -> Iterator[Recollect]:
    none = {"RECOLLECT_EMBEDDING__PROVIDER": "none", "RECOLLECT_RERANK__PROVIDER": "none"}
    with Recollect(home=home, environment=none) as made:
        made.save(id="tides", title="Tides turn at noon")
        made.save(id="boats", title="Boats leave with the tide")
        yield made


def test_questions_are_those_with_an_accepted_result_and_those_of_the_gold_set(
    memory: Recollect, home: Path
) -> None:
    memory.feedback("when do tides turn", "tides", accept=True)
    memory.feedback("when do tides turn", "boats", accept=False)
    memory.feedback("anything else", "boats", accept=False)
    assert own_questions(memory) == {"when do tides turn": {"tides": 1, "boats": 0}}
    gold.create_gold(gold_folder(home))
    gold.add_judgements(memory, gold_folder(home), "when do boats leave", ["boats"], 2)
    assert own_questions(memory)["when do boats leave"] == {"boats": 2}


def test_a_recipe_is_scored_without_what_feedback_itself_adds(memory: Recollect) -> None:
    """The wrong memory was accepted: the recipe that counts it would be perfect."""
    assert own_scores(memory, [(memory.recipe("blend"),) * 2]).scores == []
    memory.feedback("when do tides turn at noon", "boats", accept=True)
    [plain] = own_scores(memory, [(memory.recipe("blend"),) * 2]).scores
    assert 0 < plain.ndcg < 1
    assert (plain.better, plain.worse) == (0, 0)
    assert plain.low <= plain.ndcg <= plain.high


def test_the_same_questions_are_asked_however_long_they_take(
    memory: Recollect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recollect_evaluation.own_questions.MOST_QUESTIONS", 2)
    for query in ("when do tides turn", "do tides turn at noon", "turning tides"):
        memory.feedback(query, "tides", accept=True)
    hours = count(step=3600.0).__next__
    monkeypatch.setattr("time.monotonic", hours)
    found = own_scores(memory, [(memory.recipe("blend"),) * 2])
    assert (found.known, found.asked) == (3, 2)
