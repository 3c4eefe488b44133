"""The contracts, held by the bundled models, and by the same files brought as a folder."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest
from suites.embedders import SENTENCES, EmbedderContract
from suites.rerankers import RerankerContract

from recollect.models.active import Absent, open_embedder, open_reranker
from recollect.models.base import Embedder, Reranker
from recollect.models.folder import builtin
from recollect.settings import Embedding, Rerank


@cache
def embedder(model: str = "") -> Embedder:
    """The built-in embedder, or that of a folder; loaded once for all tests."""
    settings = Embedding(provider="onnx" if model else "builtin", model=model)
    opened = open_embedder(settings, {})
    assert not isinstance(opened, Absent)
    return opened


@cache
def multilingual() -> Embedder:
    opened = open_embedder(Embedding(model="multilingual"), {})
    assert not isinstance(opened, Absent)
    return opened


@cache
def reranker(model: str = "") -> Reranker:
    settings = Rerank(provider="onnx" if model else "builtin", model=model)
    opened = open_reranker(settings, {})
    assert not isinstance(opened, Absent)
    return opened


@pytest.fixture(scope="module")
def brought(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both models as sentence-transformers would leave them: no `model.json`."""
    folder = tmp_path_factory.mktemp("models")
    for name, files in (("bge", builtin("embed", "").path), ("marco", builtin("rerank", "").path)):
        (folder / name / "onnx").mkdir(parents=True)
        (folder / name / "onnx" / "model.onnx").symlink_to(files / "model.onnx")
        (folder / name / "tokenizer.json").symlink_to(files / "tokenizer.json")
        config = {"max_position_embeddings": 512, "hidden_size": 384}
        (folder / name / "config.json").write_text(json.dumps(config))
    pooling = folder / "bge" / "1_Pooling" / "config.json"
    pooling.parent.mkdir()
    pooling.write_text('{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false}')
    (folder / "bge" / "sentence_bert_config.json").write_text('{"max_seq_length": 512}')
    return folder


class TestBuiltinEmbedder(EmbedderContract):
    tolerance = 1e-6  # one text at a time: its company changes nothing

    def embedder(self) -> Embedder:
        return embedder()


class TestMultilingualEmbedder(EmbedderContract):
    tolerance = 1e-6

    def embedder(self) -> Embedder:
        return multilingual()

    def test_a_question_in_another_language_finds_its_answer(self) -> None:
        answers = [
            "The database is backed up every night at two.",
            "The office is closed on public holidays.",
            "New employees get a laptop on their first day.",
        ]
        asked = [
            "Wie oft wird die Datenbank gesichert?",
            "¿Con qué frecuencia se hace una copia de seguridad de la base de datos?",
            "À quelle fréquence la base de données est-elle sauvegardée ?",
            "Как часто делается резервная копия базы данных?",
            "データベースのバックアップはどのくらいの頻度で行われますか",
            "كم مرة يتم النسخ الاحتياطي لقاعدة البيانات؟",
        ]
        cosines = multilingual().queries(asked) @ multilingual().documents(answers).T
        assert list(cosines.argmax(axis=1)) == [0] * len(asked)


class TestOnnxFolderEmbedder(EmbedderContract):
    tolerance = 1e-6

    @pytest.fixture(autouse=True)
    def _folder(self, brought: Path) -> None:
        self.folder = str(brought / "bge")

    def embedder(self) -> Embedder:
        return embedder(self.folder)

    def test_its_documents_are_those_of_the_built_in_model(self) -> None:
        """Neither declares a prefix for documents, and both pool by the first token."""
        same = (self.embedder().documents(SENTENCES) * embedder().documents(SENTENCES)).sum(axis=1)
        assert same.min() > 0.999

    def test_its_identity_is_another(self) -> None:
        assert self.embedder().identity.startswith("onnx:bge")
        assert self.embedder().identity != embedder().identity


class TestBuiltinReranker(RerankerContract):
    tolerance = 1e-6

    def reranker(self) -> Reranker:
        return reranker()


class TestOnnxFolderReranker(RerankerContract):
    tolerance = 1e-6

    @pytest.fixture(autouse=True)
    def _folder(self, brought: Path) -> None:
        self.folder = str(brought / "marco")

    def reranker(self) -> Reranker:
        return reranker(self.folder)
