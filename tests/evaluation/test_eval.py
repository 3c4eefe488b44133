"""`recollect eval`: the contract, what it prints, gold sets, and what it refuses."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from commandline import (
    ESCAPE,
    NOW,
    RECOLLECT,
    Home,
    check_error,
    check_schema,
    check_usage_error,
)
from sets import DOCUMENTS, written

from model_server import ModelServer
from patience import until

MEASURES = {"ndcg@10", "mrr@10", "recall@10"}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(
        tmp_path / "home",
        RECOLLECT_NOW=NOW,
        RECOLLECT_CACHE=str(tmp_path / "cache"),
        RECOLLECT_SEARCH__RECIPE="vault",
    )


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    return written(tmp_path / "small", judged=("q1\td1\t2", "q2\td2\t1", "q2\tgone\t1"))


def test_the_json_is_the_contract(home: Home, dataset: Path) -> None:
    found = home.run("eval", str(dataset), "--json").json()
    assert (found["dataset"], found["documents"], found["queries"]) == ("small", 3, 2)
    assert found["not_scored"] == 1
    assert list(found["recipes"]) == ["vault", "grep", "bm25"]
    assert list(found["left_out"]) == ["dense"]
    for one in found["recipes"].values():
        assert one.keys() >= MEASURES | {"ci95", "p50_ms", "p95_ms", "stages_ms", "fingerprint"}
        assert one["ci95"].keys() == MEASURES
    assert found["recipes"]["bm25"]["mrr@10"] == 1.0
    assert found["recipes"]["bm25"]["recall@10"] == 0.75, "An answer that is not there counts."
    assert found["models"] == {"embedding": None, "rerank": None}
    [(reason, count)] = found["problems"].items()
    assert reason.startswith("judged documents that are not in the corpus")
    assert count == 1
    assert {one["recipe"] for one in found["comparisons"]} == {"grep", "bm25"}
    assert not home.vault.exists(), "A data set does not touch the vault."


def test_named_recipes_alone_take_part_in_order(home: Home, dataset: Path) -> None:
    args = ("--recipe", "bm25", "--recipe", "echovault", "--queries", "1", "--seed", "3")
    found = home.json("eval", str(dataset), *args)
    check_schema("eval", found)
    assert list(found["recipes"]) == ["bm25", "echovault"]
    assert found["queries"] == 1


def test_the_table_has_the_best_first_and_says_what_is_wrong(home: Home, dataset: Path) -> None:
    done = home.call("eval", str(dataset))
    assert (done.code, done.err) == (0, "")
    heading, *table = done.out.splitlines()[2:6]
    assert heading.split()[:2] == ["recipe", "nDCG@10"]
    assert "vs vault" in heading
    scores = [float(row.split()[1]) for row in table]
    assert scores == sorted(scores, reverse=True)
    assert "Not scored: 1 question without a judged answer." in done.out
    assert "! dense was not measured: " in done.out
    assert "! 1 × judged documents that are not in the corpus" in done.out
    assert '! vault, 2 questions: vector: embedding.provider is "none"' in done.out
    assert ESCAPE not in done.out


def test_a_terminal_sees_a_table_and_progress(home: Home, dataset: Path) -> None:
    done = home.on_terminal("eval", str(dataset))
    assert done.code == 0
    assert ESCAPE in done.out
    assert "vs vault" in done.out
    assert "Saving" in done.err
    assert "bm25, timed" in done.err


def test_run_files_are_written(home: Home, dataset: Path, tmp_path: Path) -> None:
    args = ("--recipe", "bm25", "--run-dir", str(tmp_path / "runs"))
    assert home.call("eval", str(dataset), *args).code == 0
    assert sorted(file.name for file in (tmp_path / "runs").iterdir()) == [
        "small.bm25.jsonl", "small.bm25.run",
    ]  # fmt: skip
    check_error(home.call("eval", str(dataset), "--run-dir", str(dataset / "qrels.tsv")), "written")


def test_models_are_asked_once_and_the_cache_can_be_ignored(home: Home, dataset: Path) -> None:
    with ModelServer() as server:
        using = {
            "RECOLLECT_EMBEDDING__PROVIDER": "openai",
            "RECOLLECT_EMBEDDING__MODEL": "toy",
            "RECOLLECT_EMBEDDING__BASE_URL": server.openai_url,
            "RECOLLECT_RERANK__PROVIDER": "http",
            "RECOLLECT_RERANK__BASE_URL": server.url,
        }
        asked: list[int] = []
        found: list[Any] = []
        for more in ((), (), ("--no-cache",), ("--no-rerank",)):
            server.requests.clear()
            args = ("eval", str(dataset), "--recipe", "dense", "--recipe", "gnosis", *more)
            found.append(home.json(*args, using=using))
            asked.append(sum("embeddings" in request.path for request in server.requests))
    quality = [{name: one["recipes"][name]["ndcg@10"] for name in one["recipes"]} for one in found]
    assert quality[0] == quality[1] == quality[2]
    assert asked[0] == asked[2] > asked[1]
    assert found[0]["models"] == {"embedding": "openai:toy", "rerank": "http:"}
    assert found[3]["models"]["rerank"] is None


def test_a_gold_set_is_made_grown_and_evaluated_against_the_vault(home: Home) -> None:
    home.import_memories(*({"id": one["_id"], "title": one["title"], "text": one["text"]}
                    for one in DOCUMENTS))  # fmt: skip
    gold = home.folder / "gold"
    assert home.call("eval", "init").out.startswith(f"Created the gold set {gold}")
    check_error(home.call("eval", str(gold)), "is empty; `recollect eval add")
    done = home.call("eval", "add", "when are tokens rotated", "d1", "d2", "--grade", "2")
    assert done.out == f"q1: 2 new judgements in {gold}.\n"
    added = home.json("eval", "add", "when are tokens rotated", "d1", "--grade", "3")
    assert added == {"query": "q1", "judgements": 1, "gold": str(gold)}
    check_error(home.call("eval", "add", "another", "d1", "nowhere"), "no memory 'nowhere'")
    before = home.run("export").out
    found = home.json("eval", str(gold))
    assert (found["dataset"], found["documents"], found["queries"]) == ("gold", 3, 1)
    assert found["recipes"]["bm25"]["mrr@10"] == 1.0
    assert home.run("export").out == before


def test_another_gold_folder_and_a_folder_that_is_called_like_an_action(
    home: Home, dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = home.save("--title", "Rotate tokens")
    mine = tmp_path / "mine"
    check_error(home.call("eval", "add", "q", saved, "--gold", str(mine)), "is not a gold set; ")
    assert home.call("eval", "init", str(mine)).code == 0
    check_error(home.call("eval", "init", str(mine)), "already")
    assert home.call("eval", "add", "tokens", saved, "--gold", str(mine)).code == 0
    assert home.json("eval", str(mine))["queries"] == 1
    dataset.rename(tmp_path / "init")
    monkeypatch.chdir(tmp_path)
    assert home.json("eval", "./init")["dataset"] == "init"


def test_wrong_calls(home: Home, dataset: Path) -> None:
    check_usage_error(home.call("eval"), "DATASET")
    check_usage_error(home.call("eval", str(dataset), "another"), "Usage: recollect eval DATASET")
    check_usage_error(home.call("eval", "init", "a", "b"), "Usage: recollect eval init [FOLDER]")
    check_usage_error(
        home.call("eval", "add", "only a question"), "Usage: recollect eval add QUERY ID"
    )
    for args in (
        ("eval", str(dataset), "--queries", "0"),
        ("eval", str(dataset), "--grade", "1"),
        ("eval", "init", "a", "--recipe", "vault"),
        ("eval", "add", "q", "id", "--no-rerank"),
    ):
        check_error(home.call(*args), code=2)
    check_usage_error(home.call("eval", str(dataset), "--queries", "many"), "--queries")


def test_what_is_no_data_set_is_refused_in_a_sentence(home: Home, dataset: Path) -> None:
    check_error(home.call("eval", "/nowhere"), "There is no folder /nowhere")
    check_error(home.call("eval", str(dataset / "qrels.tsv")), "is a file; a data set is a folder")
    check_error(
        home.call("eval", str(dataset), "--recipe", "x"), "no recipe 'x'", "grep, bm25, dense"
    )
    check_error(
        home.call("eval", str(dataset), "--recipe", "dense"), "dense needs an embedding model"
    )
    (dataset / "qrels.tsv").unlink()
    check_error(home.run("eval", str(dataset)), "has no qrels.tsv or qrels/test.tsv")


def test_an_interrupt_leaves_nothing_behind(home: Home, dataset: Path, tmp_path: Path) -> None:
    """While a model takes its time."""
    (tmp_path / "temporary").mkdir()
    with ModelServer() as server:
        server.delay_s = 30
        process = subprocess.Popen(
            [RECOLLECT, "eval", str(dataset), "--recipe", "dense"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=home.environment
            | {
                "TMPDIR": str(tmp_path / "temporary"),
                "RECOLLECT_EMBEDDING__PROVIDER": "openai",
                "RECOLLECT_EMBEDDING__MODEL": "toy",
                "RECOLLECT_EMBEDDING__BASE_URL": server.openai_url,
            },
        )
        until(lambda: bool(server.requests))
        time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, b"")
    assert err == b"recollect: Interrupted. Everything saved so far is kept.\n"
    assert list((tmp_path / "temporary").iterdir()) == []


def test_json_is_all_that_is_printed(home: Home, dataset: Path) -> None:
    done = home.on_terminal("eval", str(dataset), "--json", "--recipe", "grep")
    assert json.loads(done.out)["recipes"].keys() == {"grep"}


def test_installed_models_are_compared_on_ones_own_questions(home: Home, tmp_path: Path) -> None:
    built_in = {"RECOLLECT_EMBEDDING__PROVIDER": "builtin"}
    check_error(home.call("eval", "--own", "--models"), "no questions of your own yet")
    for id, title in (("a", "Die Heizung entlüften"), ("b", "Tide tables"), ("c", "Mooring")):
        home.save("--id", id, "--title", title)
    home.call("eval", "init")
    assert home.call("eval", "add", "bleed the radiator", "a").code == 0
    assert home.call("feedback", "when is high water", "b", "--accept").code == 0
    before = home.call("export").out
    found = home.json("eval", "--own", "--models", "--no-rerank", using=built_in)
    check_schema("eval", found)
    assert (found["queries"], found["documents"]) == (2, 3)
    assert list(found["recipes"]) == ["bge-small-en-v1.5", "joint", "multilingual"]
    assert found["advice"].startswith("The difference is within the interval; ")
    assert "1 of the 3 newest memories are in languages that" in found["advice"], "the radiator"
    assert "eval --own --models" in home.call("models", using=built_in).out, "nor does this decide"
    assert home.call("export").out == before
    assert home.json("stats")["vectors"] == 0, "The vault itself gets no vectors."
    told = home.call("eval", "--own", "--models", "--no-rerank", "--queries", "1", using=built_in)
    assert told.out.splitlines()[2].split()[:2] == ["model", "nDCG@10"]
    assert list(home.json("eval", "--own")["recipes"]) == ["vault", "grep", "bm25"]
    check_usage_error(home.call("eval", "--own", str(tmp_path)), "recollect eval --own")
    check_usage_error(
        home.call("eval", "--own", "--models", "--recipe", "bm25"), "leave --recipe out"
    )
