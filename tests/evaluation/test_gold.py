"""Questions of one's own: a gold set, made, grown and read against the vault, and feedback."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from recollect.engine import Recollect
from recollect.engine.feedback import gold_folder
from recollect.errors import UserError
from recollect.settings import Embedding, Rerank, Settings
from recollect_evaluation.datasets import load
from recollect_evaluation.gold import add_judgements, create_gold, is_gold, load_gold
from recollect_evaluation.own_questions import own_questions, own_scores

OFF = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Recollect]:
    with Recollect(tmp_path / "vault.db", home=tmp_path, settings=OFF, environment={}) as held:
        held.save(id="a", title="Rotate tokens", space="team")
        held.save(id="b", text="Deploy on Mondays")
        yield held


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    create_gold(tmp_path / "some" / "gold")
    return tmp_path / "some" / "gold"


def read_gold(folder: Path) -> tuple[str, str]:
    return (folder / "queries.jsonl").read_text(), (folder / "qrels.tsv").read_text()


def test_a_new_gold_set_explains_itself_and_is_empty(gold: Path, memory: Recollect) -> None:
    assert is_gold(gold)
    assert "recollect eval add" in (gold / "README.md").read_text()
    assert read_gold(gold) == ("", "query-id\tcorpus-id\tscore\n")
    with pytest.raises(UserError, match=r"is empty; `recollect eval add QUERY ID --gold .*gold`"):
        load_gold(gold, memory)


def test_nothing_is_overwritten(gold: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"already has a gold\.toml"):
        create_gold(gold)
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="cannot be made a gold set"):
        create_gold(tmp_path / "file")


def test_it_grows_by_question_and_memory(gold: Path, memory: Recollect) -> None:
    assert add_judgements(memory, gold, "when do we rotate", ["a", "b"]) == ("q1", 2)
    assert add_judgements(memory, gold, " when do  we rotate ", ["a"], 3) == ("q1", 1)
    assert add_judgements(memory, gold, "when do we rotate", ["a"], 3) == ("q1", 0)
    assert add_judgements(memory, gold, "when do we deploy", ["b"]) == ("q2", 1)
    questions, judged = read_gold(gold)
    assert questions.splitlines() == [
        '{"_id":"q1","text":"when do we rotate"}',
        '{"_id":"q2","text":"when do we deploy"}',
    ]
    assert judged == "query-id\tcorpus-id\tscore\nq1\ta\t3\nq1\tb\t1\nq2\tb\t1\n"
    assert sorted(file.name for file in gold.iterdir()) == [
        "README.md", "gold.toml", "qrels.tsv", "queries.jsonl",
    ]  # fmt: skip
    dataset = load_gold(gold, memory)
    assert dataset.in_vault
    assert not dataset.grouped
    assert dataset.documents.keys() == {"a", "b"}
    assert dataset.grades == {"q1": {"a": 3, "b": 1}, "q2": {"b": 1}}


def test_what_a_person_wrote_stays(gold: Path, memory: Recollect) -> None:
    (gold / "queries.jsonl").write_text('{"_id": "q2", "text": "mine", "note": "keep"}')
    (gold / "qrels.tsv").write_text("q2\ta\t1")
    add_judgements(memory, gold, "another", ["b"])
    questions, judged = read_gold(gold)
    assert questions == '{"_id": "q2", "text": "mine", "note": "keep"}\n' + (
        '{"_id":"q3","text":"another"}\n'
    )
    assert judged.splitlines()[1:] == ["q2\ta\t1", "q3\tb\t1"]


@pytest.mark.parametrize(
    ("query", "ids", "grade", "said"),
    [
        ("q", ["a", "nowhere"], 1, "There is no memory 'nowhere'"),
        ("  ", ["a"], 1, "needs the question"),
        ("q", ["a"], -1, "The grade must be from 0"),
        ("q", ["a"], 10**9, "The grade must be from 0"),
    ],
)
def test_what_cannot_be_judged_changes_nothing(
    gold: Path, memory: Recollect, query: str, ids: list[str], grade: int, said: str
) -> None:
    add_judgements(memory, gold, "before", ["a"])
    before = read_gold(gold)
    with pytest.raises(UserError, match=said):
        add_judgements(memory, gold, query, ids, grade)
    assert read_gold(gold) == before


def test_only_a_marked_folder_without_a_corpus_is_one(gold: Path, memory: Recollect) -> None:
    (gold / "gold.toml").rename(gold / "elsewhere.toml")
    with pytest.raises(UserError, match="is not a gold set; `recollect eval init"):
        add_judgements(memory, gold, "q", ["a"])
    with pytest.raises(UserError, match=r"has no corpus\.jsonl"):
        load(gold)


def test_a_judged_but_forgotten_memory_counts_as_not_found(gold: Path, memory: Recollect) -> None:
    add_judgements(memory, gold, "q", ["a", "b"])
    memory.forget(["b"])
    dataset = load_gold(gold, memory)
    assert dataset.grades["q1"] == {"a": 1, "b": 1}
    reason = "judged documents that are not in the vault: they count as not found"
    assert dataset.problems == {f"{reason} (first: q1 b)": 1}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def tides(home: Path) -> Iterator[Recollect]:
    none = {"RECOLLECT_EMBEDDING__PROVIDER": "none", "RECOLLECT_RERANK__PROVIDER": "none"}
    with Recollect(home=home, environment=none) as made:
        made.save(id="tides", title="Tides turn at noon")
        made.save(id="boats", title="Boats leave with the tide")
        yield made


def test_questions_come_from_feedback_and_from_the_gold_set(tides: Recollect, home: Path) -> None:
    tides.feedback("when do tides turn", "tides", accept=True)
    tides.feedback("when do tides turn", "boats", accept=False)
    tides.feedback("anything else", "boats", accept=False)
    assert own_questions(tides) == {"when do tides turn": {"tides": 1, "boats": 0}}
    create_gold(gold_folder(home))
    add_judgements(tides, gold_folder(home), "when do boats leave", ["boats"], 2)
    assert own_questions(tides)["when do boats leave"] == {"boats": 2}


def test_a_recipe_is_scored_without_what_feedback_itself_adds(tides: Recollect) -> None:
    """The wrong memory was accepted: the recipe that counts it would be perfect."""
    assert own_scores(tides, [(tides.recipe("blend"),) * 2]).scores == []
    tides.feedback("when do tides turn at noon", "boats", accept=True)
    [plain] = own_scores(tides, [(tides.recipe("blend"),) * 2]).scores
    assert 0 < plain.ndcg < 1
    assert (plain.better, plain.worse) == (0, 0)
    assert plain.low <= plain.ndcg <= plain.high


def test_slow_questions_are_asked_too(tides: Recollect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect_evaluation.own_questions.MOST_QUESTIONS", 2)
    for query in ("when do tides turn", "do tides turn at noon", "turning tides"):
        tides.feedback(query, "tides", accept=True)
    hours = count(step=3600.0).__next__
    monkeypatch.setattr("time.monotonic", hours)
    found = own_scores(tides, [(tides.recipe("blend"),) * 2])
    assert (found.known, found.asked) == (3, 2)
