"""The bundled models: whole, declared, licensed, and not too large; and their list of words."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from recollect.errors import ProviderError, UserError
from recollect.models import folder as box
from recollect.models.active import open_embedder, open_reranker
from recollect.models.base import WEIGHTS
from recollect.models.english import is_common, is_word
from recollect.models.folder import Declared, builtin, declarations, folder_of
from recollect.settings import Embedding, Rerank

NOTICE = Path(__file__).parents[3] / "NOTICE"
MOST_BYTES = 110_000_000
DECLARED = list(declarations())


def title_of(declared: Declared) -> str:
    return declared.name


def test_there_is_one_default_of_each_kind() -> None:
    assert [one.kind for one in DECLARED if one.default] == ["embed", "rerank"]


@pytest.mark.parametrize("declared", DECLARED, ids=title_of)
def test_every_file_is_the_one_that_was_declared(declared: Declared) -> None:
    assert set(declared.sha256) == {"model.onnx", "tokenizer.json"}
    for name, wanted in declared.sha256.items():
        content = (folder_of(declared).path / name).read_bytes()
        assert hashlib.sha256(content).hexdigest() == wanted, name
    assert folder_of(declared).verify() is None


@pytest.mark.parametrize("declared", DECLARED, ids=title_of)
def test_origin_licence_and_hashes_are_declared_and_in_the_notice(declared: Declared) -> None:
    notice = NOTICE.read_text()
    origin = declared.origin.partition(",")[0]
    assert f"Origin:   {origin}" in notice
    section = notice[notice.index(f"Origin:   {origin}") :].split("\n\n")[0]
    full = {"MIT": "MIT", "Apache-2.0": "Apache License 2.0"}[declared.licence]
    assert f"Licence:  {full}" in section
    for wanted in declared.sha256.values():
        assert wanted in section
    licence = (folder_of(declared).path / "LICENSE").read_text()
    assert {"MIT": "MIT License", "Apache-2.0": "Apache License"}[declared.licence] in licence


@pytest.mark.parametrize("declared", DECLARED, ids=title_of)
def test_each_says_what_it_is(declared: Declared) -> None:
    assert declared.about.endswith(".")
    assert declared.max_length >= 256
    assert (declared.dimensions > 0) == (declared.kind == "embed")


def test_together_the_weights_stay_small() -> None:
    assert sum(file.stat().st_size for file in WEIGHTS.rglob("*") if file.is_file()) < MOST_BYTES
    assert all(folder_of(declared).size() < MOST_BYTES for declared in DECLARED)


def test_without_a_name_the_default_is_opened() -> None:
    assert builtin("embed", "").declared.name == "bge-small-en-v1.5"
    assert builtin("embed", "bge-small-en-v1.5").declared.default
    assert builtin("rerank", "").declared.name == "memory-reranker"


def test_an_unknown_name_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(UserError) as caught:
        open_embedder(Embedding(model="memory-reranker"), {})
    assert "embedding.model cannot be 'memory-reranker'" in str(caught.value)
    assert str(caught.value).endswith("allowed: bge-small-en-v1.5, joint, multilingual.")
    with pytest.raises(UserError) as caught:
        open_reranker(Rerank(model="../bge-small-en-v1.5"), {})
    assert str(caught.value).endswith("allowed: memory-reranker.")


def test_missing_weights_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(box, "WEIGHTS", tmp_path)
    monkeypatch.setattr(box, "find_spec", lambda name: None)
    for name in ("", "bge-small-en-v1.5"):
        with pytest.raises(ProviderError, match="has no built-in model"):
            builtin("embed", name)


def test_a_broken_declaration_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(box, "WEIGHTS", tmp_path)
    (tmp_path / "mine").mkdir()
    for content in ("{", '{"kind": "embed"}'):
        (tmp_path / "mine" / "model.json").write_text(content)
        with pytest.raises(ProviderError, match=r"model\.json cannot be read: .*\.$"):
            builtin("embed", "")


def test_multilingual_says_how_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(box, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"pip install 'recollect-memory\[multilingual\]'"):
        open_embedder(Embedding(model="multilingual"), {})
    assert [declared.name for declared in declarations()] == [
        declared.name for declared in DECLARED if declared.name != "multilingual"
    ]


@pytest.mark.parametrize(
    ("words", "word", "common"),
    [
        ("keep run take mind tests content type id", True, True),
        ("kamal laptop embroidery", True, False),
        ("webhok zzyzx vocab größße a\nb", False, False),
    ],
)
def test_the_bundled_list_knows_common_and_rare_words(words: str, word: bool, common: bool) -> None:
    for each in words.split(" "):
        assert (is_word(each), is_common(each)) == (word, common), each
