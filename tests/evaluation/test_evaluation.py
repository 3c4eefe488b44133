"""The two passes over a data set: what is asked, of whom, within what, and what comes of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from unittest import mock

import pytest
from sets import DOCUMENTS, JUDGED, QUESTIONS, written

from model_server import Fault, ModelServer
from recollect.errors import ProviderError, UserError
from recollect.settings import Embedding, Rerank, SearchSettings, Settings
from recollect_evaluation import evaluation
from recollect_evaluation.cache import FILE, Cache
from recollect_evaluation.evaluation import WARM_UP, Evaluation, RecipeOutcome, open_evaluation
from recollect_evaluation.report import report, write_runs

OFF = Settings(
    embedding=Embedding(provider="none"),
    rerank=Rerank(provider="none"),
    search=SearchSettings("vault"),
)
MANY = [{"_id": f"d{n:03}", "title": f"Note {n}", "text": f"word{n} token"} for n in range(60)]
ASKED = [{"_id": f"q{n:03}", "text": f"token word{n}"} for n in range(60)]
ANSWERS = [f"q{n:03}\td{n:03}\t1" for n in range(60)]


def silent(what: str, total: int) -> AbstractContextManager[Callable[[int], None]]:
    return nullcontext(lambda step: None)


@contextmanager
def bench(
    folder: Path, settings: Settings = OFF, cache: Path | None = None
) -> Iterator[Evaluation]:
    held = Cache(cache)
    environment = {"RECOLLECT_HOME": str(folder.parent / "home")}
    with open_evaluation(folder, settings, environment, held) as made:
        yield made
    held.close()


def outcomes(made: Evaluation, *names: str, count: int | None = None) -> list[RecipeOutcome]:
    contestants, _ = made.contestants(names)
    asked = made.questions(count, 0)
    made.prepare(silent, vectors=any(one.uses_vectors for one in contestants))
    return [
        made.outcome(one, made.quality(one, asked, silent), made.latency(one, asked, 0, silent))
        for one in contestants
    ]


def asked_of(server: ModelServer, path: str) -> int:
    return sum(request.path == path for request in server.requests)


def remote_models(server: ModelServer, budget_ms: int = 10_000) -> Settings:
    return Settings(
        embedding=Embedding(provider="openai", model="toy", base_url=server.openai_url),
        rerank=Rerank(provider="http", model="toy", base_url=server.url, budget_ms=budget_ms),
        search=SearchSettings("vault"),
    )


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


def test_documents_are_saved_in_their_order_with_their_fields(tmp_path: Path) -> None:
    documents = [{"_id": id, "text": "x", "group": "g", "date": "2024-05-06"} for id in "cab"]
    with bench(written(tmp_path / "set", documents, QUESTIONS, ["q1\ta\t1"])) as made:
        made.prepare(silent, vectors=False)
        sql = "SELECT id FROM memories ORDER BY key"
        assert [id for (id,) in made.memory.store.database.rows(sql)] == ["c", "a", "b"]
        [held] = made.memory.show(["a"])
        assert held.space == "g"
        assert made.memory.now() == held.updated_at == datetime(2024, 5, 6, tzinfo=UTC)
        place = made.memory.path
    assert not place.exists()


def test_the_default_is_the_settings_recipe_and_the_baselines(tmp_path: Path) -> None:
    folder = written(tmp_path / "set")
    with bench(folder) as made:
        contestants, left_out = made.contestants(())
        assert [one.name for one in contestants] == ["vault", "grep", "bm25"]
        assert left_out == {"dense": 'embedding.provider is "none"'}
        with pytest.raises(UserError, match="dense needs an embedding model"):
            made.contestants(["dense"])
        with pytest.raises(UserError, match=r"no recipe 'x'.* baselines are: grep, bm25, dense"):
            made.contestants(["x"])
        named, left_out = made.contestants(["bm25", "gnosis", "bm25", "grep"])
        assert ([one.name for one in named], left_out) == (["bm25", "gnosis", "grep"], {})
    with bench(folder, Settings(search=SearchSettings("vault"))) as made:
        names = [one.name for one in made.contestants(())[0]]
        assert names == ["vault", "grep", "bm25", "dense"]


def test_a_recipe_of_ones_own_takes_part(tmp_path: Path) -> None:
    own = tmp_path / "home" / "recipes"
    own.mkdir(parents=True)
    (own / "mine.toml").write_text('extends = "vault"\nabout = "Mine."\n', encoding="utf-8")
    with bench(written(tmp_path / "set")) as made:
        mine, theirs = outcomes(made, "mine", "vault")
    assert mine.recipe == "mine"
    assert mine.fingerprint == theirs.fingerprint
    assert mine.answers == theirs.answers


def test_questions_without_an_answer_are_not_asked_and_samples_are_seeded(tmp_path: Path) -> None:
    with bench(written(tmp_path / "set")) as made:
        assert [one.id for one in made.questions(None, 0)] == ["q1", "q2"]
    with bench(written(tmp_path / "many", MANY, ASKED, ANSWERS)) as made:
        first = [one.id for one in made.questions(7, 1)]
        assert first == sorted(first) == [one.id for one in made.questions(7, 1)]
        assert len(first) == 7
        assert first != [one.id for one in made.questions(7, 2)]
        assert len(made.questions(1000, 1)) == 60


@pytest.mark.parametrize("name", ["grep", "bm25", "vault"])
def test_a_question_searches_its_group_and_its_candidates_only(tmp_path: Path, name: str) -> None:
    documents = [
        {"_id": f"{group}{n}", "text": "the same words", "group": group}
        for group in "ab"
        for n in range(3)
    ]
    questions = [
        {"_id": "q", "text": "the same words", "group": "a"},
        {"_id": "r", "text": "the same words"},
    ]
    folder = written(tmp_path / "set", documents, questions, ["q\ta1\t1", "r\tb0\t1"])
    with bench(folder) as made:
        [found] = outcomes(made, name)
        assert found.answers.returned["q"] == ["a0", "a1", "a2"]
        assert len(found.answers.returned["r"]) == 6
    (folder / "candidates.tsv").write_text("q\ta1\nq\tb2\nr\tb0\nr\ta2\n", encoding="utf-8")
    with bench(folder) as made:
        [found] = outcomes(made, name)
        assert found.answers.returned == {"q": ["a1"], "r": ["a2", "b0"]}


def test_a_question_is_asked_when_the_data_say_so(tmp_path: Path) -> None:
    """`vault` lets memories fade: what counts is the question's own time."""
    documents = [
        {"_id": "old", "text": "tea words", "date": "2020-01-01"},
        {"_id": "new", "text": "tea words", "date": "2024-01-01"},
    ]
    asked = {"_id": "q", "text": "tea words", "question_date": "2024/01/02 (Tue) 09:00"}
    with bench(written(tmp_path / "set", documents, [asked], ["q\tnew\t1"])) as made:
        run = made.memory.run_recipe
        with mock.patch.object(made.memory, "run_recipe", side_effect=run) as door:
            [found] = outcomes(made, "vault")
    assert found.answers.returned["q"] == ["new", "old"]
    moments = {call.kwargs["now"] for call in door.call_args_list}
    assert moments == {datetime(2024, 1, 2, 9, tzinfo=UTC)}


def test_a_refused_question_finds_nothing_and_is_told(tmp_path: Path) -> None:
    asked = [*QUESTIONS[:1], {"_id": "q2", "text": "who is it"}]
    with bench(written(tmp_path / "set", DOCUMENTS, asked, JUDGED[:2])) as made:
        [found] = outcomes(made, "gnosis")
    assert found.answers.returned["q2"] == []
    assert found.per_query["q2"] == {"ndcg@10": 0, "mrr@10": 0, "recall@10": 0}
    [refusal] = [reason for reason in found.answers.degraded if reason.startswith("refused: ")]
    assert "needs at least 1 keyword" in refusal
    assert found.answers.degraded[refusal] == 1
    assert found.timing.times_ms.keys() == {"q1", "q2"}


def test_quality_keeps_what_models_say_and_latency_does_not(
    tmp_path: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    timed = 8
    monkeypatch.setattr(evaluation, "TIMED", timed)
    folder = written(tmp_path / "set", MANY, ASKED[:12], ANSWERS[:12])
    embed, rerank = "/v1/embeddings", "/rerank"
    counts = []
    for _ in range(2):
        server.requests.clear()
        with bench(folder, remote_models(server), tmp_path / FILE) as made:
            contestants, _ = made.contestants(["gnosis"])
            asked = made.questions(None, 0)
            assert made.prepare(silent, vectors=True) == {}
            assert made.memory.waiting() == 0
            answers = made.quality(contestants[0], asked, silent)
            quality = asked_of(server, embed), asked_of(server, rerank)
            timing = made.latency(contestants[0], asked, 0, silent)
            counts.append((quality, answers))
            assert asked_of(server, embed) - quality[0] == timed + WARM_UP
            assert asked_of(server, rerank) - quality[1] >= timed + WARM_UP
            assert len(timing.times_ms) == timed
            assert timing.reached == 1.0
            assert {"embed", "rerank", "total"} <= timing.stages_ms.keys()
    (first, found), (again, repeated) = counts
    assert first[0] > len(asked)
    assert first[1] > len(asked)
    assert again == (0, 0), "Everything was known."
    assert found == repeated


def test_the_budget_holds_for_latency_not_for_quality(tmp_path: Path, server: ModelServer) -> None:
    folder = written(tmp_path / "set", MANY, ASKED[:2], ANSWERS[:2])
    with bench(folder, remote_models(server, budget_ms=0)) as made:
        [found] = outcomes(made, "gnosis")
    assert not any("deadline" in reason for reason in found.answers.degraded)
    assert found.timing.reached is not None
    assert found.timing.reached < 1


def test_a_model_that_does_not_deliver_ends_it(tmp_path: Path, server: ModelServer) -> None:
    server.fault = Fault.HANG_UP
    with (
        bench(written(tmp_path / "set"), remote_models(server)) as made,
        pytest.raises(ProviderError),
    ):
        made.prepare(silent, vectors=True)


def test_nothing_is_embedded_if_nobody_needs_vectors(tmp_path: Path, server: ModelServer) -> None:
    with bench(written(tmp_path / "set"), remote_models(server)) as made:
        outcomes(made, "grep", "bm25")
    assert server.requests == []


def test_the_report_compares_with_the_first_and_is_the_same_again(tmp_path: Path) -> None:
    folder = written(tmp_path / "set", MANY, ASKED, ANSWERS)
    with bench(folder) as made:
        found = outcomes(made, "bm25", "grep", "vault", count=20)
        told = report(made.dataset, found, problems={}, models=made.models(), left_out={})
        again = report(made.dataset, found, problems={}, models=made.models(), left_out={})
    assert told == again
    assert (told["documents"], told["queries"], told["not_scored"]) == (60, 20, 0)
    assert {(one["recipe"], one["against"]) for one in told["comparisons"]} == {
        ("grep", "bm25"), ("vault", "bm25"),
    }  # fmt: skip
    for one in told["comparisons"]:
        low, high = one["ci95"]
        assert low <= one["difference"] <= high
        assert 0 < one["p"] <= 1
    for one in told["recipes"].values():
        low, high = one["ci95"]["ndcg@10"]
        assert 0 <= low <= one["ndcg@10"] <= high <= 1
        assert 0 < one["p50_ms"] <= one["p95_ms"]


def test_run_files_are_trecs_and_lines_hold_the_measures(tmp_path: Path) -> None:
    questions = [{**QUESTIONS[0], "_id": "q one"}, QUESTIONS[1]]
    judged = ["q one\td1\t2", "q2\td2\t1"]
    with bench(written(tmp_path / "set", DOCUMENTS, questions, judged)) as made:
        found = outcomes(made, "bm25")
        write_runs(tmp_path / "a" / "runs", made.dataset, found)
    run = (tmp_path / "a" / "runs" / "set.bm25.run").read_text().splitlines()
    assert run[0] == "q_one Q0 d1 1 1.000000 bm25"
    assert all(len(line.split()) == 6 for line in run)
    lines = (tmp_path / "a" / "runs" / "set.bm25.jsonl").read_text().splitlines()
    first = json.loads(lines[0])
    assert first["query"] == "q one"
    assert first["text"] == questions[0]["text"]
    assert first["returned"][0] == "d1"
    assert first["judged"] == {"d1": 2}
    assert first["ndcg@10"] == 1.0
    assert first["latency_ms"] > 0
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="cannot be written"):
        write_runs(tmp_path / "file", made.dataset, found)
