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


def declare(folder: Path, **changes: Any) -> None:
    """Write other values into the folder's declaration."""
    file = folder / "model.json"
    file.write_text(json.dumps(json.loads(file.read_bytes()) | changes))


# Each damage that shows when the model is loaded, and a part of what is then said.
def truncated_and_undeclared(folder: Path) -> None:
    truncate_model(folder)
    (folder / "model.json").unlink()


def undeclared(name: str, content: bytes) -> Callable[[Path], None]:
    """Remove the declaration, and replace a file."""

    def damage(folder: Path) -> None:
        (folder / "model.json").unlink()
        replace(folder / name, content)

    return damage


LATE: dict[str, tuple[Callable[[Path], None], str]] = {
    "cut off": (truncate_model, "model.onnx is damaged"),
    "cut off and undeclared": (
        truncated_and_undeclared,
        "model.onnx is not a usable ONNX model",
    ),
    "a picture": (
        undeclared("model.onnx", b"GIF89a, not a model at all"),
        "model.onnx is not a usable ONNX model",
    ),
    "empty": (undeclared("model.onnx", b""), "model.onnx is not a usable ONNX model"),
    "another hash": (
        lambda folder: declare(folder, sha256={"model.onnx": "0" * 64}),
        "model.onnx is damaged",
    ),
    "a changed tokenizer": (
        lambda folder: replace(
            folder / "tokenizer.json", (folder / "tokenizer.json").read_bytes() + b" "
        ),
        "tokenizer.json is damaged",
    ),
    "an unknown tokenizer": (
        undeclared("tokenizer.json", b'{"version": "1.0", "model": {"type": "none such"}}'),
        "tokenizer.json is not a usable tokenizer",
    ),
    "a tokenizer of bytes": (
        undeclared("tokenizer.json", b"\xff\xfe\x00"),
        "tokenizer.json is not a usable tokenizer",
    ),
}


def refusal(call: Callable[[], object]) -> str:
    """One sentence, and no other try would help."""
    with pytest.raises(ProviderError) as caught:
        call()
    assert not caught.value.transient
    text = str(caught.value)
    assert text.endswith(".")
    assert "\n" not in text
    return text


@pytest.mark.parametrize(("damage", "said"), LATE.values(), ids=LATE)
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
        assert said in refusal(call)


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    folder = copy_model(tmp_path)
    (folder / name).unlink()
    assert f"has no {name}" in refusal(lambda: ModelFolder(folder, "embed"))


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    for path in (tmp_path / "nowhere", tmp_path / "file"):
        said = refusal(lambda path=path: ModelFolder(path, "embed"))  # type: ignore[misc]
        assert f"There is no model folder {path}" in said


@pytest.mark.parametrize("content", [b"{", b"[]", b"\xff", b"null", b""])
def test_a_declaration_that_is_no_json_object_is_named(tmp_path: Path, content: bytes) -> None:
    folder = copy_model(tmp_path)
    (folder / "model.json").write_bytes(content)
    said = refusal(lambda: ModelFolder(folder, "embed"))
    assert "model.json cannot be read as JSON" in said


@pytest.mark.parametrize(
    ("field", "value"),
    [("pooling", "max"), ("kind", "chat"), ("max_length", 0), ("max_length", -1),
     ("max_length", "512"), ("query_prefix", None), ("sha256", ["abc"])],
)  # fmt: skip
def test_a_wrong_declared_value_is_refused(tmp_path: Path, field: str, value: object) -> None:
    folder = copy_model(tmp_path)
    declare(folder, **{field: value})
    assert field in refusal(lambda: ModelFolder(folder, "embed"))


@pytest.mark.parametrize(
    ("kind", "wanted", "said"),
    [
        ("rerank", "embed", "holds a reranker, not an embedding model"),
        ("embed", "rerank", "holds an embedding model, not a reranker"),
    ],
)
def test_a_model_of_the_other_kind_is_refused(
    tmp_path: Path, kind: Any, wanted: Any, said: str
) -> None:
    folder = copy_model(tmp_path, kind)
    assert said in refusal(lambda: ModelFolder(folder, wanted))


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


@pytest.mark.parametrize(("damage", "said"), LATE.values(), ids=LATE)
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
