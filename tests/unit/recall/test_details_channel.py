"""`details` is searched: at a lower weight, by the passage that holds most of the query's words."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect import Recollect
from recollect.present.response import as_json
from recollect.recipes.registry import BUILT_IN
from recollect.settings import Embedding, Rerank, Settings
from recollect.types import recompute

NO_MODELS = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))
PLAN = "EXPLAIN showed an external merge sort of 310 MB on disk. The planner ignored the index."


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Recollect]:
    with Recollect(tmp_path / "vault.db", home=tmp_path, settings=NO_MODELS) as opened:
        opened.save(id="slow", title="The list took 9 seconds", text="A column.", details=PLAN)
        opened.save(id="full", title="The disk was full", text="A slot kept the log.")
        opened.save(id="log", title="A long log", details="nothing here. " * 400 + "sort " * 3)
        for number in range(6):
            opened.save(id=f"n{number}", title=f"Note {number}", text="Plain words and no more.")
        yield opened


def first(memory: Recollect, query: str) -> str:
    return next((result.id for result in memory.search(query)), "")


def test_words_in_details_are_found(memory: Recollect) -> None:
    assert first(memory, "external merge sort on disk") == "slow"
    assert first(memory, "what did the planner ignore") == "slow"


def test_a_title_counts_more_than_details(memory: Recollect) -> None:
    memory.save(id="titled", title="The planner", text="Who plans the week.")
    assert first(memory, "planner") == "titled"


def test_an_identifier_in_details_is_found_among_better_matches(memory: Recollect) -> None:
    memory.save(id="trace", title="Crash", details="at retryCheckout (cart.ts:41): E_CONN_4411")
    for number in range(40):
        memory.save(
            id=f"c{number}", title=f"Crash {number}", details="a crash of the checkout " * 9
        )
    found = memory.search("crash of the checkout E_CONN_4411", limit=5)
    assert "trace" in [result.id for result in found]
    assert first(memory, "retry checkout") == "trace"


@pytest.mark.parametrize("wish", ["-planner", "NOT planner", "without a planner"])
def test_excluded_words_may_be_in_details(memory: Recollect, wish: str) -> None:
    assert "slow" in [result.id for result in memory.search("seconds column")]
    assert "slow" not in [result.id for result in memory.search(f"seconds column {wish}")]


def test_excluded_words_may_be_in_several_fields(memory: Recollect) -> None:
    for wish, stays in (('-"list planner"', False), ('-"list webhook"', True)):
        found = memory.search(f"seconds column {wish}")
        assert ("slow" in [result.id for result in found]) is stays


def test_scripts_without_spaces_are_found_in_details(memory: Recollect) -> None:
    memory.save(
        id="ja", title="Connection", details="データベースの接続が夜中に切れる。原因は不明。"
    )
    found = memory.search("夜中に接続が切れる")
    assert found.results[0].id == "ja"
    assert found.results[0].passage is not None
    assert found.results[0].passage.field == "details"


def test_the_score_is_the_sum_of_its_parts_and_says_what_details_hold(memory: Recollect) -> None:
    result = memory.search("external merge sort").results[0]
    assert recompute(result.explain) == pytest.approx(result.score)
    assert "details hold external, merge, sort" in str(as_json(memory.search("external merge sort"),
                                                               explain=True))  # fmt: skip


def test_a_word_that_is_only_in_details_is_not_taken_for_a_typing_error(memory: Recollect) -> None:
    memory.save(id="plane", title="Planter", text="A planter on the balcony.")
    assert memory.search("planner").notes == ()


def test_the_documented_recipes_search_no_details(memory: Recollect) -> None:
    for recipe in set(BUILT_IN) - {"blend"}:
        assert not memory.search("external merge sort", recipe=recipe).results, recipe


def test_changed_details_are_found_and_the_old_ones_are_not(memory: Recollect) -> None:
    memory.edit("slow", details="Nested loop.")
    assert first(memory, "nested loop") == "slow"
    assert first(memory, "external merge") == ""
    memory.forget(["slow"])
    assert first(memory, "nested loop") == ""
    assert [finding for finding in memory.store.examine() if finding.problem] == []
