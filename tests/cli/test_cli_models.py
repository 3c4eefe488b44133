"""`recollect models`: the bundled models, whether their files are whole, how quick they are."""

from __future__ import annotations

from pathlib import Path

import pytest
from commandline import Home, check_error, check_schema

from recollect.models import folder as box
from recollect.models.base import WEIGHTS

EMBEDDER, RERANKER = "bge-small-en-v1.5", "memory-reranker"
BUILT_IN = {
    "RECOLLECT_EMBEDDING__PROVIDER": "builtin",
    "RECOLLECT_RERANK__PROVIDER": "builtin",
}

pytestmark = pytest.mark.usefixtures("unshared_models")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home", **BUILT_IN)


@pytest.fixture
def weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the box to damage; the large files are links."""
    copy = tmp_path / "weights"
    for folder in (file.parent for file in WEIGHTS.glob("*/model.json")):
        (copy / folder.name).mkdir(parents=True)
        for file in folder.iterdir():
            (copy / folder.name / file.name).symlink_to(file)
    monkeypatch.setattr(box, "WEIGHTS", copy)
    return copy


def test_models_are_told_with_size_licence_origin_and_state(home: Home) -> None:
    done = home.run("models")
    assert (done.code, done.err) == (0, "")
    for line in (
        f"embedding  builtin:{EMBEDDER}@",
        f"rerank     builtin:{RERANKER}",
        f"{EMBEDDER}  (active)  embedding, 34.5 MB  files OK",
        f"{RERANKER}  (active)  rerank, 34.7 MB  files OK",
        "MIT · BAAI/bge-small-en-v1.5",
        "Apache-2.0 · cross-encoder/ms-marco-MiniLM-L-12-v2",
    ):
        assert line in done.out, done.out
    assert " ms" not in done.out


def test_models_as_json(home: Home) -> None:
    printed = home.json("models")
    check_schema("models", printed)
    assert (printed["notes"], printed["measured_ms"]) == ([], {})
    assert printed["active"]["embed"].startswith(f"builtin:{EMBEDDER}@")
    embedder, reranker, _, other = printed["installed"]
    assert (embedder["name"], embedder["kind"]) == (EMBEDDER, "embedding")
    assert (embedder["dimensions"], embedder["languages"]) == (384, "English")
    assert (reranker["name"], reranker["kind"], reranker["max_tokens"]) == (RERANKER, "rerank", 256)
    for one in (embedder, reranker):
        assert (one["active"], one["problem"]) == (True, None)
    assert (other["name"], other["active"]) == ("multilingual", False)
    assert other["languages"] == "some fifty languages"
    assert not home.vault.exists(), "Looking makes no vault."


def test_models_that_are_switched_off_are_not_active(home: Home) -> None:
    off = dict.fromkeys(BUILT_IN, "none")
    printed = home.json("models", using=off)
    assert printed["active"] == {
        "embed": 'none (embedding.provider is "none")',
        "rerank": 'none (rerank.provider is "none")',
    }
    assert [one["active"] for one in printed["installed"]] == [False] * 4
    assert "(active)" not in home.call("models", using=off).out
    assert home.json("models", "--measure", using=off)["measured_ms"] == {}


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_a_damaged_file_is_named_and_the_exit_code_says_so(
    home: Home, weights: Path, name: str
) -> None:
    file = weights / EMBEDDER / name
    content = file.read_bytes()
    file.unlink()
    file.write_bytes(content[:-1])
    done = home.call("models")
    assert done.code == 1
    assert f"! {file} is damaged" in done.out
    assert done.out.count("files OK") == 3, "The other models are whole."
    result = home.call("models", "--json")
    assert result.code == 1
    assert "is damaged" in result.out


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_a_missing_file_is_named_beside_the_model_that_is_whole(
    home: Home, weights: Path, name: str
) -> None:
    (weights / RERANKER / name).unlink()
    done = home.call("models", "--measure")
    assert done.code == 1
    assert f"has no {name}" in done.out
    assert f"{EMBEDDER}  (active)" in done.out
    assert "embed one query" in done.out
    assert "rerank 20" not in done.out


def test_a_broken_declaration_is_one_sentence(home: Home, weights: Path) -> None:
    file = weights / EMBEDDER / "model.json"
    file.unlink()
    file.write_text("{")
    check_error(home.call("models"), f"{file} cannot be read")


def test_an_unknown_built_in_model_is_refused_with_the_names(home: Home) -> None:
    refused = check_error(home.call("models", using={"RECOLLECT_EMBEDDING__MODEL": "huge"}))
    assert refused == f"embedding.model cannot be 'huge'; allowed: {EMBEDDER}, joint, multilingual."


def test_measuring_tells_what_loading_and_using_costs(home: Home) -> None:
    spent = home.json("models", "--measure")["measured_ms"]
    assert list(spent) == [
        "load and embed one query",
        "embed one query",
        "embed 20 memories",
        "load and rerank one",
        "rerank 20 memories",
    ]
    assert all(value > 0 for value in spent.values())
    assert spent["embed one query"] < spent["load and embed one query"]
    printed = home.call("models", "--measure").out.splitlines()
    measured = [line[:26].strip() for line in printed if line.endswith(" ms")]
    assert measured == list(spent)


def test_another_model_is_used_when_its_vectors_are_made(home: Home) -> None:
    home.environment.pop("RECOLLECT_EMBEDDING__PROVIDER")
    home.import_memories(
        {"id": "a", "title": "Die Heizung entlüften"}, {"id": "b", "title": "Tide"}
    )
    [note] = home.json("models")["notes"]
    assert "recollect models use multilingual" in note
    assert home.call("models", "use", "multilingual").out.splitlines() == [
        "Until all are computed, the vault holds vectors of both models.",
        "multilingual is the embedding model now; 2 vectors computed.",
    ]
    assert home.json("config", "get", "embedding.model") == {"embedding.model": "multilingual"}
    assert home.json("stats")["embedding"].startswith("builtin:multilingual@")
    assert home.json("models")["notes"] == []
    assert home.search("bleed the radiator")["degraded"] == []
    home.call("config", "set", "embedding.model", EMBEDDER)
    _, note = home.json("models")["notes"]
    assert note.startswith("The vault's vectors are of builtin:multilingual@")
    back = home.json("models", "use", EMBEDDER)
    check_schema("models use", back)
    assert (back["model"], back["vectors"]) == (EMBEDDER, 2)


def test_a_folder_is_used_like_a_name_and_what_is_no_model_is_refused(
    home: Home, weights: Path
) -> None:
    home.environment.pop("RECOLLECT_EMBEDDING__PROVIDER")
    folder = weights / EMBEDDER
    assert home.json("models", "use", str(folder))["identity"].startswith(f"onnx:{EMBEDDER}@")
    listed = home.json("models")["installed"]
    assert [(one["name"], one["active"]) for one in listed[4:]] == [(str(folder), True)]
    sentence = check_error(home.call("models", "use", "huge"))
    assert f"installed are: {EMBEDDER}, joint, multilingual, {folder}" in sentence
    check_error(home.call("models", "use", str(weights)), "has no model.onnx")
    wins = {"RECOLLECT_EMBEDDING__MODEL": ""}
    check_error(home.call("models", "use", EMBEDDER, using=wins), "RECOLLECT_EMBEDDING__MODEL")
