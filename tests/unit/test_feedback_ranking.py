"""Accepted results rank above dismissed ones for the same question, and say so."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from recollect import Recollect
from recollect.errors import NotFound, UserError
from recollect.recipes.registry import BUILT_IN
from recollect.settings import Embedding, Rerank, Settings
from recollect.store.sqlite.connection import Database
from recollect.types import Response, recompute

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
MODEL = Settings(rerank=Rerank(provider="none"))
WORDS = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))
QUESTION = "how do we refresh tokens"
NOTES = {
    "rotate": "Refresh tokens are rotated every day by the auth service.",
    "app": "The app refreshes its tokens shortly before they expire.",
    "sign": "We sign tokens with RS256.",
    "garage": "Tokens for the parking garage are at the front desk.",
}


def open_vault(home: Path, settings: Settings) -> Recollect:
    memory = Recollect(home=home, settings=settings, clock=lambda: NOW)
    for id, text in NOTES.items():
        memory.save(id=id, title=text.split(".")[0], text=text)
    memory.embed_now()
    return memory


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Recollect]:
    with open_vault(tmp_path, MODEL) as memory:
        yield memory


@pytest.fixture
def wordy(tmp_path: Path) -> Iterator[Recollect]:
    """Without a model."""
    with open_vault(tmp_path, WORDS) as memory:
        yield memory


def scores(found: Response) -> dict[str, float]:
    return {result.id: result.score for result in found}


def ids(memory: Recollect, query: str) -> list[str]:
    return [result.id for result in memory.search(query)]


def swap(memory: Recollect, query: str = QUESTION) -> tuple[str, str]:
    """Dismiss the first result and accept the last."""
    first, *_, last = ids(memory, query)
    memory.feedback(query, first, accept=False)
    memory.feedback(query, last, accept=True)
    return last, first


@pytest.mark.parametrize(
    "asked", [QUESTION, "How do we REFRESH tokens?!", "how are tokens refreshed"]
)
def test_accepted_stands_above_dismissed_for_the_same_question(
    memory: Recollect, asked: str
) -> None:
    """By the same words however they are typed, and by the same meaning."""
    right, wrong = swap(memory)
    found = ids(memory, asked)
    assert found.index(right) < found.index(wrong)


def test_without_a_model_the_same_words_are_the_same_question(wordy: Recollect) -> None:
    right, wrong = swap(wordy)
    found = ids(wordy, "How do we refresh tokens?")
    assert found.index(right) < found.index(wrong)


@pytest.mark.parametrize("asked", ["where do I park", "how do we not refresh tokens", "RS256"])
def test_other_questions_rank_as_before(memory: Recollect, asked: str) -> None:
    """One that says `not` is another question, however alike the vectors are."""
    before = scores(memory.search(asked))
    swap(memory)
    assert scores(memory.search(asked)) == before


def test_the_effect_fades_with_distance(memory: Recollect) -> None:
    memory.feedback(QUESTION, "garage", accept=True)

    def effect(query: str) -> float:
        [garage] = [one for one in memory.search(query) if one.id == "garage"]
        return sum(part.value for part in garage.explain.leaves() if part.name == "feedback")

    same, near, far = map(effect, (QUESTION, "how do we revoke tokens", "token signatures"))
    assert same > near > far >= 0


def test_what_was_moved_says_so_and_its_parts_make_its_score(memory: Recollect) -> None:
    right, wrong = swap(memory)
    found = {result.id: result for result in memory.search("how are tokens refreshed")}
    for result in found.values():
        assert recompute(result.explain) == result.score
    for id, said in ((right, "accepted"), (wrong, "dismissed")):
        [how] = [part.how for part in found[id].explain.leaves() if part.name == "feedback"]
        assert how == f"you {said} this for “{QUESTION}”"


def test_what_was_dismissed_goes_below_whatever_else_answers(memory: Recollect) -> None:
    first, second, *_ = ids(memory, QUESTION)
    memory.feedback(QUESTION, first, accept=False)
    found = ids(memory, QUESTION)
    assert found[0] == second
    assert first in found


def test_the_same_click_counts_once_and_the_opposite_replaces_it(memory: Recollect) -> None:
    before = scores(memory.search(QUESTION))
    assert memory.feedback(QUESTION, "sign", accept=True) == (1, 0)
    once = scores(memory.search(QUESTION))
    assert memory.feedback("How do we refresh tokens?", "sign", accept=True) == (1, 0)
    assert scores(memory.search(QUESTION)) == once != before
    assert memory.feedback(QUESTION, "sign", accept=False) == (0, 1)
    assert scores(memory.search(QUESTION))["sign"] < before["sign"]
    assert memory.feedback(QUESTION, "sign", undo=True) == (0, 0)
    assert scores(memory.search(QUESTION)) == before


def test_the_same_click_in_two_processes_at_once_counts_once(tmp_path: Path) -> None:
    with open_vault(tmp_path, WORDS) as one, Recollect(home=tmp_path, settings=WORDS) as other:
        both = [
            threading.Thread(target=lambda m=m: m.feedback(QUESTION, "sign", accept=True))
            for m in (one, other)
        ]
        for thread in both:
            thread.start()
        for thread in both:
            thread.join()
        assert one.opinions() == other.opinions() == (1, 0)
        assert one.feedback_on(QUESTION, ["sign", "app"]) == {"sign": True}


def test_what_was_accepted_is_found_even_where_nothing_else_leads_to_it(wordy: Recollect) -> None:
    """Forty notes hold the word; the accepted one does not."""
    for number in range(40):
        wordy.save(id=f"n{number}", text=f"harbor number {number} has a crane")
    assert "garage" not in ids(wordy, "harbor crane")
    wordy.feedback("harbor crane", "garage", accept=True)
    assert "garage" in ids(wordy, "Harbor crane?")
    assert "garage" not in [one.id for one in wordy.search("harbor crane", project="elsewhere")]
    wordy.forget(["garage"])
    assert "garage" not in ids(wordy, "harbor crane")


def test_a_list_keeps_its_order_but_for_what_was_dismissed(wordy: Recollect) -> None:
    first, *others = ids(wordy, "latest notes")
    wordy.feedback("latest notes", first, accept=False)
    assert [id for id in ids(wordy, "latest notes") if id != first] == others
    wordy.feedback("latest notes", others[-1], accept=True)
    found = ids(wordy, "latest notes")
    assert found.index(others[-1]) < found.index(first)


@pytest.mark.parametrize("recipe", [name for name in BUILT_IN if name != "blend"])
def test_documented_recipes_rank_as_documented(wordy: Recollect, recipe: str) -> None:
    before = scores(wordy.search(QUESTION, recipe=recipe))
    swap(wordy)
    assert scores(wordy.search(QUESTION, recipe=recipe)) == before


def test_what_cannot_be_is_one_sentence(memory: Recollect) -> None:
    with pytest.raises(NotFound, match=r"There is no memory 'nobody'"):
        memory.feedback("tokens", "nobody", accept=True)
    with pytest.raises(UserError, match="in words"):
        memory.feedback("?!", "sign", accept=True)
    with pytest.raises(UserError, match="accept it, or dismiss it"):
        memory.feedback("tokens", "sign")
    with pytest.raises(NotFound, match="no acceptance of 'sign' for “tokens”"):
        memory.feedback("tokens", "sign", accept=True, undo=True)
    memory.feedback("tokens", "sign", accept=True)
    memory.forget(["sign"])
    with pytest.raises(NotFound, match="'sign' is forgotten"):
        memory.feedback("tokens", "sign", accept=False)
    assert memory.feedback("tokens", "sign", undo=True) == (0, 0)


# What it costs


class Reads:
    """The statements on feedback that the database was asked, and the rows that came back."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.rows: list[int] = []
        rows = Database.rows

        def count(database: Database, sql: str, *values: Any) -> list[tuple[Any, ...]]:
            found = rows(database, sql, *values)
            if "feedback" in sql:
                self.rows.append(len(found))
            return found

        patch.setattr(Database, "rows", count)


def test_a_search_without_feedback_takes_one_look(
    memory: Recollect, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = Reads(monkeypatch)
    memory.search(QUESTION)
    assert reads.rows == [1]


def test_ten_thousand_rows_of_feedback_are_not_read_for_each_search(
    memory: Recollect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The vectors of their queries are read once; a search reads the feedback on like queries."""
    vector = memory.models.embedder().queries(["something else entirely"])[0]
    identity = memory.models.embedder().identity
    with memory.store.database.writing() as connection:
        connection.executemany(
            "INSERT INTO feedback (query, memory_id, accepted, given_at, words) "
            "VALUES (?1, 'sign', 0, 0, ?1)",
            [(f"question {number}",) for number in range(10_000)],
        )
    memory.store.feedback.embed(
        identity, dict.fromkeys((f"question {number}" for number in range(10_000)), vector)
    )
    memory.feedback(QUESTION, "garage", accept=True)
    assert ids(memory, QUESTION)
    reads = Reads(monkeypatch)
    assert "garage" in ids(memory, "how are tokens refreshed")
    assert sum(reads.rows) <= 4


def test_what_was_said_of_a_merged_memory_holds_for_the_one_it_was_merged_into(
    wordy: Recollect,
) -> None:
    wordy.feedback(QUESTION, "garage", accept=True)
    before, ranked = wordy.opinions(), scores(wordy.search(QUESTION))
    wordy.merge(["sign", "garage"])
    assert wordy.feedback_on(QUESTION, ["sign"]) == {"sign": True}
    assert ids(wordy, QUESTION)[0] == "sign"
    assert wordy.opinions() == before
    wordy.undo()
    assert wordy.feedback_on(QUESTION, ["sign", "garage"]) == {"garage": True}
    assert scores(wordy.search(QUESTION)) == ranked


def test_of_two_merged_memories_what_was_said_last_counts_and_is_taken_back_as_one(
    wordy: Recollect,
) -> None:
    wordy.feedback(QUESTION, "sign", accept=True)
    wordy.feedback(QUESTION, "garage", accept=False)
    wordy.merge(["sign", "garage"])
    wordy.merge(["rotate", "sign"])
    assert wordy.feedback_on(QUESTION, ["rotate"]) == {"rotate": False}
    wordy.feedback(QUESTION, "rotate", undo=True)
    assert wordy.feedback_on(QUESTION, ["rotate", "sign", "garage"]) == {}
    assert wordy.opinions() == (0, 0)
