"""Model folders that are damaged or something else: one sentence, and searches go on without."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from model_folders import copy_model, replace

from recollect.engine import Recollect
from recollect.errors import ProviderError
from recollect.models.folder import USUAL_LENGTH, ModelFolder
from recollect.models.onnx import OnnxEmbedder, OnnxReranker
from recollect.settings import Embedding, Rerank, Settings

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def truncate_model(folder: Path) -> None:
    whole = (folder / "model.onnx").read_bytes()
    replace(folder / "model.onnx", whole[: len(whole) // 2])


def truncated_and_undeclared(folder: Path) -> None:
    truncate_model(folder)
    (folder / "model.json").unlink()


def no_onnx(folder: Path) -> None:
    (folder / "model.json").unlink()
    replace(folder / "model.onnx", b"GIF89a, not a model at all")


def empty(folder: Path) -> None:
    (folder / "model.json").unlink()
    replace(folder / "model.onnx", b"")


def wrong_hash(folder: Path) -> None:
    declare(folder, sha256={"model.onnx": "0" * 64})


def changed_tokenizer(folder: Path) -> None:
    replace(folder / "tokenizer.json", (folder / "tokenizer.json").read_bytes() + b" ")


def broken_tokenizer(folder: Path) -> None:
    (folder / "model.json").unlink()
    replace(folder / "tokenizer.json", b'{"version": "1.0", "model": {"type": "none such"}}')


def tokenizer_of_bytes(folder: Path) -> None:
    (folder / "model.json").unlink()
    replace(folder / "tokenizer.json", b"\xff\xfe\x00")


def declare(folder: Path, **changes: Any) -> None:
    """Write other values into the folder's declaration."""
    file = folder / "model.json"
    file.write_text(json.dumps(json.loads(file.read_bytes()) | changes))


# Each damage that shows when the model is loaded, and a part of what is then said.
LATE: list[tuple[Callable[[Path], None], str]] = [
    (truncate_model, "model.onnx is damaged"),
    (truncated_and_undeclared, "model.onnx is not a usable ONNX model"),
    (no_onnx, "model.onnx is not a usable ONNX model"),
    (empty, "model.onnx is not a usable ONNX model"),
    (wrong_hash, "model.onnx is damaged"),
    (changed_tokenizer, "tokenizer.json is damaged"),
    (broken_tokenizer, "tokenizer.json is not a usable tokenizer"),
    (tokenizer_of_bytes, "tokenizer.json is not a usable tokenizer"),
]


def check_sentence(error: ProviderError, said: str) -> None:
    """One sentence that holds what is said, and no other try would help."""
    text = str(error)
    assert said in text
    assert text.endswith(".")
    assert "\n" not in text
    assert not error.transient


@pytest.mark.parametrize(("damage", "said"), LATE)
def test_a_damaged_file_is_refused_by_both_models(
    tmp_path: Path, damage: Callable[[Path], None], said: str
) -> None:
    for_vectors, for_scores = copy_model(tmp_path, "embed"), copy_model(tmp_path, "rerank")
    damage(for_vectors)
    damage(for_scores)
    embedder = OnnxEmbedder(ModelFolder(for_vectors, "embed"), Embedding(), "onnx")
    reranker = OnnxReranker(ModelFolder(for_scores, "rerank"), "onnx")
    for call in (
        lambda: embedder.queries(["a question"]),
        lambda: embedder.documents(["a text", "another"]),
        lambda: embedder.windows("a text"),
        lambda: reranker.scores("a question", ["a text"]),
    ):
        with pytest.raises(ProviderError) as caught:
            call()
        check_sentence(caught.value, said)


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    folder = copy_model(tmp_path)
    (folder / name).unlink()
    with pytest.raises(ProviderError) as caught:
        ModelFolder(folder, "embed")
    check_sentence(caught.value, f"has no {name}")


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    for path in (tmp_path / "nowhere", tmp_path / "file"):
        with pytest.raises(ProviderError) as caught:
            ModelFolder(path, "embed")
        check_sentence(caught.value, f"There is no model folder {path}")


@pytest.mark.parametrize("content", [b"{", b"[]", b"\xff", b"null", b""])
def test_a_declaration_that_is_no_json_object_is_named(tmp_path: Path, content: bytes) -> None:
    folder = copy_model(tmp_path)
    (folder / "model.json").write_bytes(content)
    with pytest.raises(ProviderError) as caught:
        ModelFolder(folder, "embed")
    check_sentence(caught.value, "model.json cannot be read as JSON")


@pytest.mark.parametrize(
    "wrong",
    [
        {"pooling": "max"},
        {"kind": "chat"},
        {"max_length": 0},
        {"max_length": -1},
        {"max_length": "512"},
        {"query_prefix": None},
        {"sha256": ["abc"]},
    ],
)
def test_a_declaration_with_a_wrong_value_is_refused(tmp_path: Path, wrong: dict[str, Any]) -> None:
    folder = copy_model(tmp_path)
    declare(folder, **wrong)
    with pytest.raises(ProviderError) as caught:
        ModelFolder(folder, "embed")
    check_sentence(caught.value, next(iter(wrong)))


def test_a_reranker_is_no_embedder_nor_the_other_way_round(tmp_path: Path) -> None:
    with pytest.raises(ProviderError) as caught:
        ModelFolder(copy_model(tmp_path, "rerank"), "embed")
    check_sentence(caught.value, "holds a reranker, not an embedding model")
    with pytest.raises(ProviderError) as caught:
        ModelFolder(copy_model(tmp_path, "embed"), "rerank")
    check_sentence(caught.value, "holds an embedding model, not a reranker")


def test_verify_says_what_is_wrong_or_nothing(tmp_path: Path) -> None:
    folder = copy_model(tmp_path)
    assert ModelFolder(folder, "embed").verify() is None
    truncate_model(folder)
    problem = ModelFolder(folder, "embed").verify()
    assert problem is not None
    assert "model.onnx is damaged" in problem


# Folders without a declaration


def plain(folder: Path) -> Path:
    """A folder that holds a model as far as anybody looks."""
    folder.mkdir(parents=True)
    for name in ("model.onnx", "tokenizer.json"):
        (folder / name).touch()
    return folder


def test_a_folder_that_says_nothing_is_used_in_the_usual_way(tmp_path: Path) -> None:
    declared = ModelFolder(plain(tmp_path / "mine"), "embed").declared
    assert (declared.name, declared.pooling, declared.max_length) == ("mine", "mean", USUAL_LENGTH)
    assert (declared.query_prefix, declared.document_prefix) == ("", "")


@pytest.mark.parametrize(
    ("files", "pooling", "length"),
    [
        ({"1_Pooling/config.json": {"pooling_mode_cls_token": True}}, "cls", 512),
        ({"1_Pooling/config.json": {"pooling_mode_mean_tokens": True}}, "mean", 512),
        ({"sentence_bert_config.json": {"max_seq_length": 256}}, "mean", 256),
        ({"config.json": {"max_position_embeddings": 128}}, "mean", 128),
        (
            {
                "sentence_bert_config.json": {"max_seq_length": None},
                "config.json": {"max_position_embeddings": 1024},
            },
            "mean",
            1024,
        ),
    ],
)
def test_what_sentence_transformers_wrote_is_followed(
    tmp_path: Path, files: dict[str, Any], pooling: str, length: int
) -> None:
    folder = plain(tmp_path / "mine")
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(content))
    declared = ModelFolder(folder, "embed").declared
    assert (declared.pooling, declared.max_length) == (pooling, length)


def test_a_declaration_goes_before_what_sentence_transformers_wrote(tmp_path: Path) -> None:
    folder = plain(tmp_path / "mine")
    (folder / "model.json").write_text('{"pooling": "mean", "name": "named"}')
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}')
    declared = ModelFolder(folder, "embed").declared
    assert (declared.name, declared.pooling) == ("named", "mean")


@pytest.mark.parametrize("name", ["onnx/model.onnx", "model_quantized.onnx"])
def test_the_model_is_found_under_its_usual_names(tmp_path: Path, name: str) -> None:
    folder = plain(tmp_path / "mine")
    (folder / "model.onnx").unlink()
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).touch()
    assert ModelFolder(folder, "embed").model == folder / name


# From end to end


def open_memory(folder: Path, model: Path) -> Recollect:
    settings = Settings(
        embedding=Embedding(provider="onnx", model=str(model)), rerank=Rerank(provider="none")
    )
    return Recollect(
        folder / "vault.db", home=folder, settings=settings, environment={}, clock=lambda: NOW
    )


@pytest.mark.parametrize(("damage", "said"), LATE)
def test_a_search_goes_on_by_keywords_and_says_why(
    tmp_path: Path, damage: Callable[[Path], None], said: str
) -> None:
    model = copy_model(tmp_path / "models")
    damage(model)
    with open_memory(tmp_path, model) as memory:
        memory.save(id="pool", title="Connection pool", text="The pool is twenty large.")
        answer = memory.search("connection pool", recipe="vault")
        assert [result.id for result in answer] == ["pool"]
        [told] = [one for one in answer.degraded if one.channel == "vector"]
        assert said in told.reason
        assert memory.waiting() == 1, "Nothing was stored in place of a vector."
        assert said in (memory.embed_now() or "")
        with pytest.raises(ProviderError, match=r"\.json|\.onnx"):
            memory.reindex()
        assert not any(finding.problem for finding in memory.doctor())


def test_a_model_that_is_put_right_makes_up_for_what_waited(tmp_path: Path) -> None:
    model = copy_model(tmp_path / "models")
    whole = (model / "model.onnx").readlink()
    truncate_model(model)
    with open_memory(tmp_path, model) as memory:
        memory.save(id="pool", title="Connection pool")
        assert memory.waiting() == 1
        (model / "model.onnx").unlink()
        (model / "model.onnx").symlink_to(whole)
        memory.reindex()
        assert memory.waiting() == 0
        assert memory.search("connection pool").degraded == ()
