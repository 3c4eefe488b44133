"""The built-in models as they run: known cosines, windows, threads, and what they are given."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from model_folders import copy_model

from recollect.errors import ProviderError
from recollect.maths import logistic
from recollect.models import onnx
from recollect.models.base import Windowed
from recollect.models.folder import ModelFolder, builtin
from recollect.models.onnx import (
    CPU,
    MOST_THREADS,
    OnnxEmbedder,
    OnnxModel,
    OnnxReranker,
    usable_threads,
)
from recollect.settings import Embedding
from recollect.types import Span

TUNING, QUERIES, BREAD = (
    "database performance tuning",
    "optimizing slow queries",
    "banana bread recipe",
)
SENTENCE = "The connection pool was raised to twenty because the nightly import starved the API. "

pytestmark = pytest.mark.usefixtures("unshared_models")


@pytest.fixture(scope="module")
def embedder() -> OnnxEmbedder:
    return OnnxEmbedder(builtin("embed", ""), Embedding(), "builtin")


@pytest.fixture(scope="module")
def reranker() -> OnnxReranker:
    return OnnxReranker(builtin("rerank", ""), "builtin")


def tokens(embedder: OnnxEmbedder, text: str) -> int:
    """Return the number of tokens of a text, special ones included, before any cut."""
    return len(embedder._model.tokenizer.encode(text.encode("utf-8", "replace").decode()).ids)


# Vectors


def test_related_texts_are_far_nearer_than_unrelated_ones(embedder: OnnxEmbedder) -> None:
    tuning, queries, bread = embedder.documents([TUNING, QUERIES, BREAD])
    assert tuning @ queries == pytest.approx(0.854, abs=0.02)
    assert tuning @ bread == pytest.approx(0.418, abs=0.02)
    assert tuning @ queries > tuning @ bread + 0.3


def test_a_question_is_far_nearer_to_what_answers_it(embedder: OnnxEmbedder) -> None:
    [asked] = embedder.queries([TUNING])
    queries, bread = embedder.documents([QUERIES, BREAD])
    assert asked @ queries == pytest.approx(0.798, abs=0.02)
    assert asked @ bread == pytest.approx(0.378, abs=0.02)


def test_questions_carry_the_prefix_the_model_declares(embedder: OnnxEmbedder) -> None:
    declared = builtin("embed", "").declared
    assert declared.query_prefix.startswith("Represent this sentence")
    assert declared.document_prefix == ""
    [asked] = embedder.queries([TUNING])
    [spelt_out, bare] = embedder.documents([declared.query_prefix + TUNING, TUNING])
    assert np.array_equal(asked, spelt_out)
    assert not np.allclose(asked, bare, atol=0.01)


def test_prefixes_of_the_settings_stand_in_place_of_the_declared(embedder: OnnxEmbedder) -> None:
    settings = Embedding(query_prefix="query: ", document_prefix="passage: ")
    other = OnnxEmbedder(builtin("embed", ""), settings, "builtin")
    asked, kept = other.queries([TUNING])[0], other.documents([TUNING])[0]
    spelt_out = embedder.documents(["query: " + TUNING, "passage: " + TUNING])
    assert np.array_equal(np.stack([asked, kept]), spelt_out)
    assert other.identity != embedder.identity


def test_the_vector_is_the_first_tokens_output(embedder: OnnxEmbedder) -> None:
    assert builtin("embed", "").declared.pooling == "cls"
    [[output, *_]] = embedder._model.outputs(embedder._model.encode([(TUNING,)]))
    first, mean = output[0, 0], output[0].mean(axis=0)
    [made] = embedder.documents([TUNING])
    assert np.allclose(made, first / np.linalg.norm(first), atol=1e-6)
    assert not np.allclose(made, mean / np.linalg.norm(mean), atol=1e-2)


def test_a_folder_without_a_word_pools_by_the_mean(tmp_path: Path, embedder: OnnxEmbedder) -> None:
    folder = ModelFolder(copy_model(tmp_path, declared=False), "embed")
    assert folder.declared.pooling == "mean"
    [[output]] = embedder._model.outputs(embedder._model.encode([(TUNING,)]))
    mean = output[0].mean(axis=0)
    [made] = OnnxEmbedder(folder, Embedding(), "onnx").documents([TUNING])
    assert made @ (mean / np.linalg.norm(mean)) > 0.999


@pytest.mark.parametrize(
    ("named", "used"),
    [
        ("", [CPU]),
        ("CPUExecutionProvider", [CPU]),
        ("Here, CPUExecutionProvider,Absent", ["Here", CPU]),
    ],
)
def test_providers_that_are_installed_are_used_and_the_cpu_last(
    monkeypatch: pytest.MonkeyPatch, named: str, used: list[str]
) -> None:
    monkeypatch.setattr("onnxruntime.get_all_providers", lambda: ["Here", "Absent", CPU])
    monkeypatch.setattr("onnxruntime.get_available_providers", lambda: [CPU, "Here"])
    model = OnnxEmbedder(builtin("embed", ""), Embedding(providers=named), "builtin")._model
    given: list[list[str]] = []

    def made(content: bytes, options: object, providers: list[str]) -> None:
        given.append(providers)

    monkeypatch.setattr("onnxruntime.InferenceSession", made)
    assert model.session is None
    assert given == [used]


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"providers": "Gpu"}, r"embedding\.providers: onnxruntime has no Gpu; allow"),
        ({"dimensions": 385}, "384 dimensions"),
        ({"document_prefix": "word " * 600}, "no room"),
    ],
    ids=["an unknown provider", "too many dimensions", "a prefix that fills the window"],
)
def test_a_setting_the_model_cannot_follow_is_refused(settings: dict[str, Any], says: str) -> None:
    embedder = OnnxEmbedder(builtin("embed", ""), Embedding(**settings), "builtin")

    def embed() -> None:
        embedder.windows(SENTENCE)
        embedder.documents([SENTENCE])

    with pytest.raises(ProviderError, match=says):
        embed()


def test_a_texts_vector_does_not_depend_on_its_company(embedder: OnnxEmbedder) -> None:
    texts = [TUNING, SENTENCE * 20, "", BREAD, "日本語", QUERIES]
    together = embedder.documents(texts)
    for place, text in enumerate(texts):
        assert np.array_equal(embedder.documents([text])[0], together[place])


def test_fewer_dimensions_are_the_first_ones_made_unit_length(embedder: OnnxEmbedder) -> None:
    cut = OnnxEmbedder(builtin("embed", ""), Embedding(dimensions=128), "builtin")
    whole, short = embedder.documents([TUNING])[0], cut.documents([TUNING])[0]
    assert len(whole) == 384
    assert np.allclose(short, whole[:128] / np.linalg.norm(whole[:128]), atol=1e-6)
    assert cut.documents([]).shape == (0, 128)
    assert "dimensions=128" in cut.identity


def test_a_text_far_over_the_window_is_embedded_by_its_beginning(embedder: OnnxEmbedder) -> None:
    long, longer = embedder.documents([SENTENCE * 100, SENTENCE * 200])
    assert np.array_equal(long, longer)
    [cut] = embedder._model.encode([(SENTENCE * 100,)])
    assert len(cut.ids) == 512
    assert (cut.tokens[0], cut.tokens[-1]) == ("[CLS]", "[SEP]")


# Windows


def check_spans(embedder: OnnxEmbedder, text: str) -> list[Span]:
    """The passages of a text: in order, overlapping, the whole text, and each fits."""
    spans = embedder.windows(text)
    assert (spans[0].start, spans[-1].end) == (0, len(text))
    for one, following in pairwise(spans):
        assert one.start < following.start < one.end < following.end
    for span in spans:
        assert tokens(embedder, text[span.start : span.end]) <= 512
    return spans


@pytest.mark.parametrize("text", ["", " ", "\n\n", TUNING, "  " + SENTENCE * 10 + "  ", "\ud800"])
def test_a_text_that_fits_is_one_passage(embedder: OnnxEmbedder, text: str) -> None:
    assert isinstance(embedder, Windowed)
    assert embedder.windows(text) == [Span(0, len(text))]


def test_the_window_is_used_to_the_last_token(embedder: OnnxEmbedder) -> None:
    """510 tokens and the two special ones fit; one more does not."""
    assert embedder.windows("word " * 510) == [Span(0, 2550)]
    assert len(check_spans(embedder, "word " * 511)) == 2


def test_a_long_text_is_cut_into_passages_that_share_a_fifth(embedder: OnnxEmbedder) -> None:
    text = SENTENCE * 100
    spans = check_spans(embedder, text)
    assert len(spans) > 3
    for one, following in pairwise(spans):
        shared = (one.end - following.start) / (one.end - one.start)
        assert 0.15 < shared < 0.25


@pytest.mark.parametrize(
    "piece",
    [
        "internationalization of unhesitatingly optimizing queries ",
        "日本語のメモを検索する",
        "👩‍👩‍👧‍👦 🏳️‍🌈 waved ",
        "e\u0301\u0323 cafe\u0301 ñandú ",
        "İstanbul ﬁsh straße ﷽ ",
        "a lone \ud800 surrogate ",
        "path/to/file_name.py::test[x-1] ",
        "x" * 150 + " ",
        "\u202eright to left\u202c\x00\t",
    ],
)
def test_spans_are_characters_of_the_text_in_any_script(embedder: OnnxEmbedder, piece: str) -> None:
    text = "  " + piece * (3000 // len(piece) * 2) + "\n "
    check_spans(embedder, text + SENTENCE * 40)


def test_no_passage_begins_within_a_word(embedder: OnnxEmbedder) -> None:
    text = "uncharacteristically " * 400
    spans = check_spans(embedder, text)
    assert len(spans) > 1
    for span in spans:
        assert text[span.start :].startswith("uncharacteristically")


def test_the_prefix_of_documents_takes_its_room_in_every_passage(embedder: OnnxEmbedder) -> None:
    prefix = "a passage of a memory: "
    other = OnnxEmbedder(builtin("embed", ""), Embedding(document_prefix=prefix), "builtin")
    text = SENTENCE * 60
    spans = other.windows(text)
    assert len(spans) > 1
    for span in spans:
        assert tokens(embedder, prefix + text[span.start : span.end]) <= 512


def test_a_text_that_is_read_in_pieces_has_the_same_passages(
    embedder: OnnxEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = (SENTENCE * 100, "日本語の文章を検索する。" * 300, "tab\tand\nline " * 600)
    whole = [embedder.windows(text) for text in texts]
    read: list[int] = []
    pieces = onnx._pieces

    def watched(text: str) -> Iterator[Span]:
        for piece in pieces(text):
            read.append(piece.end - piece.start)
            yield piece

    monkeypatch.setattr(onnx, "PIECE", 501)
    monkeypatch.setattr(onnx, "_pieces", watched)
    assert [embedder.windows(text) for text in texts] == whole
    assert max(read) <= 501
    assert sum(read) == sum(map(len, texts))


# Whether a save may wait for it


def test_few_tokens_are_embedded_at_once_by_a_model_that_is_loaded() -> None:
    fresh = OnnxEmbedder(builtin("embed", ""), Embedding(), "builtin")
    assert not fresh.at_once(["word"]), "Loading it takes longer than a save may wait."
    fresh.documents(["word"])
    assert fresh.at_once(["word " * 126])
    assert not fresh.at_once(["word " * 127])
    assert not fresh.at_once(["word " * 60, "word " * 70]), "All texts count together."
    assert not fresh.at_once(["文" * 300])
    assert not fresh.at_once(["supercalifragilistic" * 1000])


def test_a_heavier_model_embeds_fewer_tokens_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    heavy = OnnxEmbedder(builtin("embed", ""), Embedding(), "builtin")
    monkeypatch.setattr(ModelFolder, "model_size", lambda folder: 4 * 34_000_000)
    heavy.documents(["word"])
    assert heavy.at_once(["word " * 30])
    assert not heavy.at_once(["word " * 31])


def test_a_closed_model_stops_and_can_be_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = OnnxEmbedder(builtin("embed", ""), Embedding(), "builtin")
    output = OnnxModel._output
    asked: list[object] = []

    def closing(model: OnnxModel, encoding: Any) -> Any:
        asked.append(encoding)
        fresh.close()
        return output(model, encoding)

    monkeypatch.setattr(OnnxModel, "_output", closing)
    with pytest.raises(ProviderError, match="closed meanwhile") as caught:
        fresh.documents([f"text {number}" for number in range(50)])
    assert caught.value.transient
    assert len(asked) < 50
    monkeypatch.setattr(OnnxModel, "_output", output)
    assert fresh.documents(["one", "two"]).shape == (2, 384)


# Loading


def count_calls(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The options of every session made from here on."""
    made: list[Any] = []
    session = onnxruntime.InferenceSession

    def make(model: bytes, options: Any, **rest: Any) -> Any:
        made.append(options)
        return session(model, options, **rest)

    monkeypatch.setattr(onnxruntime, "InferenceSession", make)
    return made


def test_nothing_is_loaded_before_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    made = count_calls(monkeypatch)
    fresh = OnnxEmbedder(builtin("embed", ""), Embedding(), "builtin")
    assert fresh.identity.startswith("builtin:bge-small-en-v1.5@")
    assert fresh.local
    assert fresh.documents([]).shape == (0, 384)
    OnnxReranker(builtin("rerank", ""), "builtin").scores("anything", [])
    assert made == []
    fresh.queries([TUNING])
    fresh.documents([TUNING])
    assert len(made) == 1


def test_threads_that_ask_at_once_share_one_session(monkeypatch: pytest.MonkeyPatch) -> None:
    made = count_calls(monkeypatch)
    fresh = OnnxEmbedder(builtin("embed", ""), Embedding(), "builtin")
    together = threading.Barrier(4)

    def ask(_: int) -> Any:
        together.wait()
        return fresh.documents([TUNING, BREAD])

    with ThreadPoolExecutor(4) as asking:
        answers = list(asking.map(ask, range(4)))
    assert len(made) == 1
    for answer in answers:
        assert np.array_equal(answer, answers[0])


def test_threads_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """One thread a text, and no more texts at a time than there are usable cores."""
    made = count_calls(monkeypatch)
    model = OnnxModel(builtin("embed", ""))
    encodings = model.encode([(f"note {number}",) for number in range(20)])
    before = {thread.name for thread in threading.enumerate()}
    model.outputs(encodings)
    new = {thread.name for thread in threading.enumerate()} - before
    workers = [name for name in new if name.startswith("recollect-onnx")]
    assert len(workers) <= usable_threads() <= MOST_THREADS
    assert [options.intra_op_num_threads for options in made] == [1]


def test_usable_threads_follow_the_cores_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    for cores, wanted in ((1, 1), (2, 2), (64, MOST_THREADS)):
        monkeypatch.setattr("os.sched_getaffinity", lambda _, cores=cores: set(range(cores)))
        assert usable_threads() == wanted
    monkeypatch.delattr("os.sched_getaffinity")
    monkeypatch.setattr("os.cpu_count", lambda: None)
    assert usable_threads() == 1


# Reranking


def test_an_answer_scores_far_above_what_is_off_the_subject(reranker: OnnxReranker) -> None:
    good, bad = reranker.scores(
        "how do I make queries faster",
        ["Add an index so that slow queries read fewer rows.", "Mash three ripe bananas."],
    )
    assert good > 0.5
    assert bad < 0.01


def test_scores_are_the_logistic_of_what_the_model_says(reranker: OnnxReranker) -> None:
    documents = [QUERIES, BREAD]
    said = reranker.logits(TUNING, documents)
    assert said[0] != said[1]
    assert reranker.scores(TUNING, documents) == [logistic(value) for value in said]


def test_a_long_document_is_cut_and_the_question_kept(reranker: OnnxReranker) -> None:
    asked = "how large is the connection pool"
    answer = "The connection pool is twenty large. "
    [cut] = reranker._model.encode([(asked, SENTENCE * 200)])
    whole = reranker._model.tokenizer.encode(asked, SENTENCE * 200)
    assert len(cut.ids) == 256
    assert cut.ids[:-1] == whole.ids[:255]
    assert cut.tokens[-1] == "[SEP]"
    [alone] = reranker._model.encode([(asked, "")])
    assert cut.type_ids[len(alone.ids) - 1 :] == [1] * (256 - len(alone.ids) + 1)
    long, off = reranker.scores(asked, [answer + SENTENCE * 200, BREAD * 400])
    assert long > 0.5 > off


def test_a_huge_question_leaves_room_for_the_document(reranker: OnnxReranker) -> None:
    asked = "how large is the connection pool " * 500
    [cut] = reranker._model.encode([(asked, SENTENCE * 200)])
    assert len(cut.ids) == 256
    assert sum(cut.type_ids) > 100, "Half of the window is the document's."
    good, bad = reranker.scores(asked, ["The connection pool is twenty large.", BREAD])
    assert good > bad


# Models that are something else


def test_a_model_of_the_other_kind_is_told_even_without_a_declaration(tmp_path: Path) -> None:
    scores = ModelFolder(copy_model(tmp_path, "rerank", declared=False), "embed")
    with pytest.raises(ProviderError, match="gives scores, not vectors"):
        OnnxEmbedder(scores, Embedding(), "onnx").documents([TUNING])
    vectors = ModelFolder(copy_model(tmp_path, "embed", declared=False), "rerank")
    with pytest.raises(ProviderError, match="gives vectors, not scores"):
        OnnxReranker(vectors, "onnx").scores(TUNING, [BREAD])


class Asking:
    """A session that wants these inputs, and fails where it is run."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def get_inputs(self) -> list[Any]:
        return [type("Input", (), {"name": name}) for name in self.names]

    def run(self, outputs: None, given: dict[str, Any]) -> Any:
        raise RuntimeError("Expected: 2 dimensions")


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("input_ids", "position_ids", "pixels"), "does not know: position_ids, pixels."),
        (("input_ids",), "failed on a text."),
    ],
)
def test_a_model_that_cannot_run_says_so_in_a_sentence(names: tuple[str, ...], said: str) -> None:
    embedder = OnnxEmbedder(builtin("embed", ""), Embedding(), "builtin")
    embedder._model.__dict__["session"] = Asking(*names)
    for texts in ([TUNING], [TUNING, BREAD]):
        with pytest.raises(ProviderError) as caught:
            embedder.documents(texts)
        assert str(caught.value).endswith(said)
        assert not caught.value.transient


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_score_that_is_no_number_is_refused(
    value: float, reranker: OnnxReranker, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = np.array([[value]], np.float32)
    monkeypatch.setattr(reranker._model, "outputs", lambda encodings: [output])
    with pytest.raises(ProviderError, match="not a number"):
        reranker.scores(TUNING, [BREAD])


def test_ctrl_c_waits_until_a_library_is_imported() -> None:
    done = []

    def imported() -> None:
        with onnx.defer_interrupts():
            signal.raise_signal(signal.SIGINT)
            done.append("imported")

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            imported()
    finally:
        signal.signal(signal.SIGINT, before)
    assert done == ["imported"]
