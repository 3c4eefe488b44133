"""The model `joint`: memories compared with a question word by word."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect.engine import Recollect
from recollect.models.embedding_queue import MOST_TOKENWISE
from recollect.settings import Embedding, Rerank, Settings
from recollect.store.sqlite.store import SqliteStore
from recollect.types import Result

JOINT = Settings(embedding=Embedding(model="joint"), rerank=Rerank(provider="none"))
QUESTION = "what did the kids draw"
PAINTED = "In the afternoon the children painted two boats and a lighthouse."


def opened(folder: Path, settings: Settings = JOINT) -> Recollect:
    return Recollect(folder / "vault.db", home=folder / "home", settings=settings)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Recollect]:
    with opened(tmp_path) as memory:
        memory.save(id="painted", title="Sunday", text=PAINTED)
        memory.save(id="oven", title="Kitchen", text="The oven heats slower than the label says.")
        memory.save(id="trains", title="Travel", text="Trains to the coast leave twice an hour.")
        memory.reindex()
    # Opened anew: nothing is embedded any more beside a test.
    with opened(tmp_path) as memory:
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
    passages = memory.store.vectors.stored(identity, ["huge"])["huge"]
    assert len(passages) > MOST_TOKENWISE
    assert [bool(one.tokens) for one in passages].count(True) == MOST_TOKENWISE


def test_a_vault_of_another_model_is_searched_by_its_vectors_until_reindexed(
    tmp_path: Path,
) -> None:
    english = Settings(rerank=Rerank(provider="none"))
    with opened(tmp_path, english) as memory:
        memory.save(id="painted", title="Sunday", text=PAINTED)
        memory.reindex()
    with opened(tmp_path) as memory:
        assert memory.search(QUESTION).results[0].id == "painted"
        memory.reindex()
        assert "kids → children" in maxsim_term(memory.search(QUESTION).results[0])


def test_damaged_tokens_are_ignored_told_and_repaired(memory: Recollect) -> None:
    assert isinstance(memory.store, SqliteStore)
    connection = memory.store.database.connection()
    connection.execute("UPDATE token_vectors SET packed = zeroblob(length(packed))")
    first = memory.search(QUESTION).results[0]
    assert first.id == "painted"
    assert maxsim_term(first) == "not compared word by word"
    [problem] = [one.problem for one in memory.store.examine() if one.problem]
    assert problem == "the token vectors of 3 passages are damaged"
    memory.reindex()
    assert not [one for one in memory.store.examine() if one.problem]
    assert "kids → children" in maxsim_term(memory.search(QUESTION).results[0])
