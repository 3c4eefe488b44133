"""The model `joint`: memories compared with a question word by word."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect.engine import Recollect
from recollect.present.response import SnippetView
from recollect.settings import Embedding, Rerank, Settings
from recollect.store.base import MOST_TOKENWISE
from recollect.store.sqlite.store import SqliteStore
from recollect.types import Filter, Result

JOINT = Settings(embedding=Embedding(model="joint"), rerank=Rerank(provider="none"))
QUESTION = "what did the kids draw"
PAINTED = "In the afternoon the children painted two boats and a lighthouse."


def open_vault(folder: Path, settings: Settings = JOINT) -> Recollect:
    return Recollect(folder / "vault.db", home=folder / "home", settings=settings)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Recollect]:
    with open_vault(tmp_path) as memory:
        memory.save(id="painted", title="Sunday", text=PAINTED)
        memory.save(id="oven", title="Kitchen", text="The oven heats slower than the label says.")
        memory.save(id="trains", title="Travel", text="Trains to the coast leave twice an hour.")
        memory.reindex()
    # Opened anew: nothing is embedded any more beside a test.
    with open_vault(tmp_path) as memory:
        yield memory


def maxsim_term(result: Result) -> str:
    [term] = [leaf for leaf in result.explain.leaves() if leaf.name == "maxsim"]
    return str(term.how)


def test_an_answer_without_a_shared_word_says_which_words_answered(memory: Recollect) -> None:
    found = memory.search(QUESTION).results
    assert found[0].id == "painted"
    how = maxsim_term(found[0])
    assert how.startswith("word by word: ")
    assert "kids → children" in how
    assert "draw → painted" in how


def test_the_snippet_of_a_long_memory_is_where_its_words_answer(memory: Recollect) -> None:
    filler = "The meeting went through the list of open points and closed none of them. " * 12
    memory.save(id="long", title="Minutes", text=f"{filler}{PAINTED} {filler}")
    memory.forget(["painted"])
    memory.reindex()
    [first, *_] = memory.search(QUESTION).results
    assert first.id == "long"
    assert first.passage is not None
    assert "painted two boats" in first.passage.text


def test_a_question_in_another_script_is_answered_without_an_exception(memory: Recollect) -> None:
    assert memory.search("что рисовали дети").evidence == "none"


def test_of_a_long_text_the_first_passages_alone_have_tokens(memory: Recollect) -> None:
    words = " ".join(f"word{number}" for number in range(20_000))
    memory.save(id="huge", title="Dump", text=words)
    memory.reindex()
    identity = memory.models.embedder().identity
    passages = memory.store.vectors.read_vectors(identity, ["huge"])["huge"]
    assert len(passages) > MOST_TOKENWISE
    assert [bool(one.tokens) for one in passages].count(True) == MOST_TOKENWISE


def test_a_vault_of_another_model_is_searched_by_its_vectors_until_reindexed(
    tmp_path: Path,
) -> None:
    english = Settings(rerank=Rerank(provider="none"))
    with open_vault(tmp_path, english) as memory:
        memory.save(id="painted", title="Sunday", text=PAINTED)
        memory.reindex()
    with open_vault(tmp_path) as memory:
        assert memory.search(QUESTION).results[0].id == "painted"
        memory.reindex()
        assert "kids → children" in maxsim_term(memory.search(QUESTION).results[0])


DAMAGED = "UPDATE token_vectors SET packed = zeroblob(length(packed))"
LOST = "DELETE FROM token_vectors"


def problems(memory: Recollect, *, fix: bool = False) -> list[str]:
    return [one.problem for one in memory.doctor(fix=fix) if one.problem]


@pytest.mark.parametrize("harm", [DAMAGED, LOST])
@pytest.mark.parametrize("fixed", [True, False])
def test_damaged_and_lost_tokens_are_told_and_repaired_without_a_gap(
    memory: Recollect, harm: str, *, fixed: bool
) -> None:
    assert isinstance(memory.store, SqliteStore)
    memory.store.database.connection().execute(harm)
    first = memory.search(QUESTION).results[0]
    assert first.id == "painted"
    assert maxsim_term(first) == "not compared word by word"
    missing = "their token vectors are missing or damaged; `recollect reindex` makes them"
    assert problems(memory) == [f"3 memories: {missing}"]
    assert memory.waiting() == 0
    if fixed:
        assert problems(memory, fix=True) == []
    else:
        assert memory.reindex() == 3
    assert problems(memory) == []
    assert "kids → children" in maxsim_term(memory.search(QUESTION).results[0])


def test_a_long_text_is_compared_by_the_nearest_passage_that_has_tokens(memory: Recollect) -> None:
    words = " ".join(f"word{number}" for number in range(20_000))
    memory.save(id="huge", title="Dump", text=f"{words} {PAINTED}", project="dump")
    memory.reindex()
    [found] = memory.search(QUESTION, filter=Filter(project=("dump",))).results
    assert found.id == "huge"
    assert maxsim_term(found).startswith("word by word")
    assert isinstance(memory.store, SqliteStore)
    memory.store.database.connection().execute(LOST)
    [found] = memory.search(QUESTION, filter=Filter(project=("dump",))).results
    assert maxsim_term(found) == "not compared word by word"


def test_reindexing_everything_leaves_no_memory_without_a_vector(memory: Recollect) -> None:
    left: list[int] = []
    assert memory.reindex(everything=True, progress=lambda done: left.append(memory.waiting())) == 3
    assert left
    assert not any(left)


def test_words_that_answer_are_marked_and_told_with_their_shares(memory: Recollect) -> None:
    first = memory.search(QUESTION, view="snippet").results[0]
    assert isinstance(first.shown, SnippetView)
    assert "<mark>children</mark> <mark>painted</mark>" in first.shown.snippet
    assert re.search(r"kids → children \d+%", maxsim_term(first))
    assert " and" not in maxsim_term(first)  # of a question, "did" needs no answer


def test_the_reranker_is_asked_too_only_where_a_recipe_says_always(tmp_path: Path) -> None:
    with open_vault(tmp_path, Settings(embedding=Embedding(model="joint"))) as memory:
        memory.save(id="painted", title="Sunday", text=PAINTED)
        memory.save(id="oven", title="Kitchen", text="The oven heats slower than the label says.")
        memory.reindex()
        assert memory.search(QUESTION).counts["reranked"] == 0
        found = memory.search(QUESTION, changes={"stages.rerank.always": True})
        assert found.counts["reranked"] == 2
