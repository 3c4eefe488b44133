"""Models in this process: ONNX files with their tokenizers, run by onnxruntime.

Each is loaded once, on first use.
"""

from __future__ import annotations

import os
import re
import signal
import threading
from array import array
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from recollect.errors import ProviderError
from recollect.maths import logistic
from recollect.models.base import model_error
from recollect.models.folder import ModelFolder
from recollect.models.vectors import QueryTokens, finish_vectors, pack_tokens, token_cosines
from recollect.settings import Embedding
from recollect.types import Span

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from onnxruntime import InferenceSession
    from tokenizers import Encoding, Tokenizer

    from recollect.models.base import Matrix

# Share of tokens that neighbouring passages have in common, so that one has each sentence whole.
OVERLAP = 0.2
# Characters of a long text that are tokenized at a time: a megabyte at once takes 500 MB.
PIECE = 100_000
# More threads than this do not pay for models this small.
MOST_THREADS = 4
# A score is one number, or one for each of a few classes; a vector has more.
FEWEST_NUMBERS = 8
# The most that a save waits for: 128 tokens took the built-in model, with weights of 34 MB, 45 ms
# on one core of a busy machine. A model with more weights takes longer for each token.
AT_ONCE_TOKENS = 128
AT_ONCE_WEIGHTS = 34_000_000
# A longer text has more tokens with any tokenizer.
AT_ONCE_CHARACTERS = 10 * AT_ONCE_TOKENS
CPU = "CPUExecutionProvider"
INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def usable_threads() -> int:
    """Return the number of cores this process may use, at most MOST_THREADS."""
    return min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity")
               else os.cpu_count() or 1, MOST_THREADS)  # fmt: skip


@contextmanager
def defer_interrupts() -> Iterator[None]:
    """Delay Ctrl-C: during the import of a native library it is an ImportError, or a crash."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread is interrupted
        return
    met: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: met.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if met:
        signal.raise_signal(signal.SIGINT)


class OnnxModel:
    """An onnxruntime session and its tokenizer, loaded on first use."""

    def __init__(self, folder: ModelFolder, providers: str = "") -> None:
        """`providers`: names of onnxruntime's providers, separated by commas, best first."""
        self.folder = folder
        self._providers = [name.strip() for name in providers.split(",") if name.strip()]
        self.declared = folder.declared
        self._threads = usable_threads()
        self._guard = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        self.loaded = False

    @cached_property
    def session(self) -> InferenceSession:
        with defer_interrupts():
            import onnxruntime  # noqa: PLC0415  start-up time: a tenth of a second

        options = onnxruntime.SessionOptions()
        # One thread per text, and one text per core: see `outputs`.
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        if self.declared.optimised:
            off = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
            options.graph_optimization_level = off
        options.log_severity_level = 4  # errors are raised, and reported in our own words
        try:
            return onnxruntime.InferenceSession(
                self.folder.checked_model(), options, providers=self._usable_providers()
            )
        except ProviderError:
            raise
        except Exception as error:  # onnxruntime has no common class for its errors
            raise model_error(f"{self.folder.model} is not a usable ONNX model.") from error

    def _usable_providers(self) -> list[str]:
        """Return the installed ones of the settings' providers, and the CPU."""
        with defer_interrupts():
            import onnxruntime  # noqa: PLC0415  start-up time

        known = onnxruntime.get_all_providers()
        if unknown := [name for name in self._providers if name not in known]:
            raise model_error(
                f"embedding.providers: onnxruntime has no {unknown[0]}; allowed are: "
                f"{', '.join(known)}."
            )
        installed = onnxruntime.get_available_providers()
        usable = [name for name in self._providers if name in installed and name != CPU]
        return [*usable, CPU]

    @cached_property
    def tokenizer(self) -> Tokenizer:
        from tokenizers import Tokenizer  # noqa: PLC0415  start-up time

        text = self.folder.read(self.folder.tokenizer)
        try:
            tokenizer = Tokenizer.from_buffer(text)
        except Exception as error:  # tokenizers raises plain Exception
            raise model_error(f"{self.folder.tokenizer} is not a usable tokenizer.") from error
        # A file may come with padding and truncation baked in; ours depend on the batch.
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return tokenizer

    def ready(self) -> None:
        """Load both, once for all threads."""
        with self._guard:
            self.session, self.tokenizer  # noqa: B018
            self.loaded = True

    def close(self) -> None:
        """Cancel running work; a later call starts a new thread pool."""
        with self._guard:
            if self._pool is not None:
                self._pool.shutdown(wait=False, cancel_futures=True)
                self._pool = None

    def encode(self, inputs: Sequence[tuple[str, ...]]) -> list[Encoding]:
        """Tokenize each input, a text or a pair, to fit the model. A text that is too long loses
        its end, a pair mostly the end of its second text; the special tokens stay."""
        longest = self.declared.max_length
        valid = [tuple(map(_valid, texts)) for texts in inputs]
        whole = self.tokenizer.encode_batch(
            [texts if len(texts) > 1 else texts[0] for texts in valid]
        )
        return [
            encoding if len(encoding.ids) <= longest else self._shorten(texts, len(encoding.ids))
            for texts, encoding in zip(valid, whole, strict=True)
        ]

    def _shorten(self, texts: tuple[str, ...], tokens: int) -> Encoding:
        bare = [self.tokenizer.encode(text, add_special_tokens=False) for text in texts]
        special = tokens - sum(len(encoding.ids) for encoding in bare)
        room = self.declared.max_length - special
        for encoding in bare[:-1]:
            encoding.truncate(min(len(encoding.ids), room // 2))
            room -= len(encoding.ids)
        bare[-1].truncate(room)
        return self.tokenizer.post_process(bare[0], bare[1] if len(bare) > 1 else None)

    def outputs(self, encodings: Sequence[Encoding]) -> list[list[NDArray[np.float32]]]:
        """Return the model's outputs for each input, one input at a time.

        Batches are slower on a CPU, since their numbers leave its cache, and with weights of 8 bits
        they make a text's vector depend on its neighbours.
        """
        if len(encodings) == 1:
            return [self._output(encodings[0])]
        # The longest first, so that the threads end together.
        order = sorted(range(len(encodings)), key=lambda place: -len(encodings[place].ids))
        with self._guard:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self._threads, "recollect-onnx")
            made = self._pool.map(self._output, [encodings[place] for place in order])
        try:
            outputs = dict(zip(order, made, strict=True))
        except CancelledError as error:
            message = f"The model {self.declared.name} was closed meanwhile."
            raise ProviderError(message, transient=True) from error
        return [outputs[place] for place in range(len(encodings))]

    def _output(self, encoding: Encoding) -> list[NDArray[np.float32]]:
        numbers = (encoding.ids, encoding.attention_mask, encoding.type_ids)
        values = dict(zip(INPUTS, numbers, strict=True))
        inputs = {name: np.array([values[name]], np.int64) for name in self._inputs}
        try:
            output: list[NDArray[np.float32]] = self.session.run(None, inputs)
        except Exception as error:  # onnxruntime has no common class for its errors
            raise model_error(f"The model {self.declared.name} failed on a text.") from error
        return output

    @cached_property
    def _inputs(self) -> list[str]:
        names = [node.name for node in self.session.get_inputs()]
        if unknown := [name for name in names if name not in INPUTS]:
            raise model_error(
                f"The model {self.declared.name} asks for inputs that Recollect does not know: "
                f"{', '.join(unknown)}."
            )
        return names


class OnnxEmbedder:
    """Text to vectors in this process."""

    local = True

    def __init__(self, folder: ModelFolder, settings: Embedding, provider: str) -> None:
        self._model = OnnxModel(folder, settings.providers)
        self._declared = folder.declared
        self._dimensions = settings.dimensions
        self._query_prefix = settings.query_prefix or self._declared.query_prefix
        self._document_prefix = settings.document_prefix or self._declared.document_prefix
        self._identity = _identity(provider, folder, settings)

    @property
    def identity(self) -> str:
        return self._identity

    def warm(self) -> bool:
        return True

    def queries(self, texts: Sequence[str]) -> Matrix:
        return self._embed(texts, self._query_prefix)

    def documents(self, texts: Sequence[str]) -> Matrix:
        return self._embed(texts, self._document_prefix)

    def at_once(self, texts: Sequence[str]) -> bool:
        if not self._model.loaded or sum(map(len, texts)) > AT_ONCE_CHARACTERS:
            return False
        tokens = sum(len(encoding.ids) for encoding in self._model.encode([(t,) for t in texts]))
        weights = max(self._model.folder.model_size(), AT_ONCE_WEIGHTS)
        return tokens * weights <= AT_ONCE_TOKENS * AT_ONCE_WEIGHTS

    def close(self) -> None:
        self._model.close()

    def windows(self, text: str) -> list[Span]:
        self._model.ready()
        starts, ends, words = self._tokens(text)
        room = self._declared.max_length - self._special(self._document_prefix)
        if len(starts) <= room:
            return [Span(0, len(text))]
        if room < 1:
            raise model_error(
                f"The document prefix leaves {self._declared.name} no room for a text."
            )
        spans, first = [], 0
        while first + room < len(starts):
            spans.append(Span(starts[first], ends[first + room - 1]))
            first = _word_start(words, first, first + max(1, int(room * (1 - OVERLAP))))
        return [Span(0, spans[0].end), *spans[1:], Span(starts[first], len(text))]

    def _tokens(self, text: str) -> tuple[array[int], array[int], array[int]]:
        """Return the start and end of each token in the text, and the number of its word."""
        starts, ends, words = array("q"), array("q"), array("q")
        for piece in _pieces(text):
            part = _valid(text[piece.start : piece.end])
            encoding = self._model.tokenizer.encode(part, add_special_tokens=False)
            before = len(starts)
            starts.extend(piece.start + start for start, _ in encoding.offsets)
            ends.extend(piece.start + end for _, end in encoding.offsets)
            words.extend(-1 if word is None else before + word for word in encoding.word_ids)
        return starts, ends, words

    def _special(self, prefix: str) -> int:
        """Return the number of tokens added to every passage: special ones and the prefix."""
        return len(self._model.tokenizer.encode(prefix).ids)

    def _embed(self, texts: Sequence[str], prefix: str) -> Matrix:
        return self._outputs(texts, prefix)[0]

    def _outputs(
        self, texts: Sequence[str], prefix: str
    ) -> tuple[Matrix, list[Encoding], list[list[NDArray[np.float32]]]]:
        """Return the vectors of the texts, their tokens, and the model's outputs."""
        if not texts:
            none = np.zeros((0, self._dimensions or self._declared.dimensions), np.float32)
            return none, [], []
        self._model.ready()
        encodings = self._model.encode([(prefix + text,) for text in texts])
        outputs = self._model.outputs(encodings)
        rows = np.stack([self._pool_rows(output[0]) for output in outputs])
        who = f"The model {self._declared.name}"
        vectors = finish_vectors(
            rows, expected_rows=len(texts), dimensions=self._dimensions, who=who
        )
        return vectors, encodings, outputs

    def _pool_rows(self, output: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the text's row, by the model's own pooling."""
        if output.ndim == 2:  # the model pools by itself
            pooled: NDArray[np.float32] = output[0]
        else:
            pooled = output[0, 0] if self._declared.pooling == "cls" else output[0].mean(axis=0)
        if pooled.size < FEWEST_NUMBERS:
            raise model_error(f"The model {self._declared.name} gives scores, not vectors.")
        return pooled


class OnnxTokenwise(OnnxEmbedder):
    """Text to a vector of the text and one of each token that has a letter or a digit."""

    def __init__(self, folder: ModelFolder, settings: Embedding, provider: str) -> None:
        super().__init__(folder, settings, provider)
        self._scales = np.array(self._declared.token_scales, np.float32)

    def query(self, text: str) -> tuple[Matrix, QueryTokens]:
        vectors, [encoding], [output] = self._outputs([text], self._query_prefix)
        kept = self._counted_tokens(encoding, len(self._query_prefix))
        before, offsets = len(self._query_prefix), encoding.offsets  # each access computes them
        own = [Span(*(end - before for end in offsets[place])) for place in kept]
        weights = output[2][0][kept]
        return vectors[0], QueryTokens(own, output[1][0][kept], weights / weights.sum())

    def tokenwise(self, texts: Sequence[str]) -> tuple[Matrix, list[bytes]]:
        vectors, encodings, outputs = self._outputs(texts, self._document_prefix)
        packed = [
            pack_tokens(output[1][0][self._counted_tokens(encoding)], self._scales)
            for encoding, output in zip(encodings, outputs, strict=True)
        ]
        return vectors, packed

    def similarities(self, query: QueryTokens, packed: Sequence[bytes]) -> list[Matrix]:
        return token_cosines(query, packed, self._scales)

    def spans(self, text: str) -> list[Span]:
        self._model.ready()
        [encoding] = self._model.encode([(self._document_prefix + text,)])
        offsets = encoding.offsets
        return [Span(*offsets[place]) for place in self._counted_tokens(encoding)]

    def _counted_tokens(self, encoding: Encoding, after: int = 0) -> list[int]:
        """Return the places of the tokens with a letter or a digit that begin at the character
        `after` or later; all but the special ones if there are no such tokens."""
        special, offsets = encoding.special_tokens_mask, encoding.offsets
        own = [
            place
            for place, (start, _) in enumerate(offsets)
            if not special[place] and start >= after
        ]
        ids = encoding.ids
        return [place for place in own if ids[place] in self._words] or own or [0]

    @cached_property
    def _words(self) -> frozenset[int]:
        vocabulary = self._model.tokenizer.get_vocab().items()
        return frozenset(id for token, id in vocabulary if re.search(r"\w", token))


def embedder_of(folder: ModelFolder, settings: Embedding, provider: str) -> OnnxEmbedder:
    """Return the embedder of a folder, with token vectors if its model gives any."""
    kind = OnnxTokenwise if folder.declared.token_scales else OnnxEmbedder
    return kind(folder, settings, provider)


class OnnxReranker:
    """A cross-encoder in this process; its logits go through the logistic function."""

    def __init__(self, folder: ModelFolder, provider: str) -> None:
        self._model = OnnxModel(folder)
        self._declared = folder.declared
        self._identity = f"{provider}:{folder.declared.name}"

    @property
    def identity(self) -> str:
        return self._identity

    def ready(self) -> None:
        self._model.ready()

    def scores(self, query: str, documents: Sequence[str]) -> list[float]:
        return [logistic(value) for value in self.logits(query, documents)]

    def logits(self, query: str, documents: Sequence[str]) -> list[float]:
        """Return the raw scores, before the logistic function."""
        if not documents:
            return []
        self._model.ready()
        encodings = self._model.encode([(query, document) for document in documents])
        outputs = self._model.outputs(encodings)
        if any(output[0].size >= FEWEST_NUMBERS for output in outputs):
            raise model_error(f"The model {self._declared.name} gives vectors, not scores.")
        logits = [float(output[0].ravel()[-1]) for output in outputs]
        if not np.isfinite(logits).all():
            raise model_error(f"The model {self._declared.name} gave a score that is not a number.")
        return logits


def _identity(provider: str, folder: ModelFolder, settings: Embedding) -> str:
    """Return the model's name, a fingerprint of its files, its dimensions and prefixes."""
    declared = folder.declared
    known = next(iter(declared.sha256.values()), "") or folder.fingerprint()
    parts = [f"{provider}:{declared.name}@{known[:12]}"]
    if settings.dimensions:
        parts.append(f"dimensions={settings.dimensions}")
    for name in ("query_prefix", "document_prefix"):
        if prefix := getattr(settings, name):
            parts.append(f"{name}={prefix!r}")
    return " ".join(parts)


def _pieces(text: str) -> Iterator[Span]:
    """Yield pieces of a text of at most PIECE characters, cut at a blank if there is one."""
    start = 0
    while len(text) - start > PIECE:
        blank = max(text.rfind(sign, start, start + PIECE) for sign in " \n")
        end = blank if blank > start else start + PIECE
        yield Span(start, end)
        start = end
    yield Span(start, len(text))


def _word_start(words: Sequence[int], after: int, token: int) -> int:
    """Return the first token of the word of `token`: half a word may have other, and more, tokens.
    A word that begins at `after` or before is cut nevertheless."""
    begin = token
    while begin > after and words[begin - 1] == words[begin]:
        begin -= 1
    return begin if begin > after else token


def _valid(text: str) -> str:
    """Replace each lone surrogate, which has no UTF-8 form, by a question mark."""
    return text.encode("utf-8", "replace").decode()
