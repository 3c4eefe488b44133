"""The cache of evaluations: vectors, passages and rerank scores in one file.

A lost, damaged or read-only file costs only time: what is not in it is computed again.
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import apsw
import msgspec
import numpy as np

from recollect.errors import ProviderError, UserError
from recollect.hashing import content_digest
from recollect.models.active import ActiveModels
from recollect.models.base import Embedder, Reranker, Windowed
from recollect.models.embedding_queue import passages
from recollect.models.folder import ModelFolder, builtin
from recollect.models.onnx import OnnxTokenwise
from recollect.models.vectors import QueryTokens
from recollect.settings import Rerank, Settings
from recollect.types import Span
from recollect.version import __version__

if TYPE_CHECKING:
    from recollect.models.base import Matrix

FILE = "eval.db"
# A day per question: as good as no deadline, and not too long for a thread to wait.
UNHURRIED_MS = 86_400_000
# Errors that cost only time: closed by an interrupt, damaged, locked, on a full disk.
LOST = (
    apsw.ConnectionClosedError,
    apsw.BusyError,
    apsw.CorruptError,
    apsw.FullError,
    apsw.IOError,
    apsw.NotADBError,
    apsw.ReadOnlyError,
)


def cache_folder(environment: Mapping[str, str]) -> Path:
    """`RECOLLECT_CACHE`, else the platform's user cache directory."""
    if folder := environment.get("RECOLLECT_CACHE"):
        return Path(folder).expanduser()
    from platformdirs import user_cache_path  # noqa: PLC0415  start-up time: rarely needed

    return Path(user_cache_path("recollect", appauthor=False))


class Cache:
    """Bytes by key; without a file, for this process only."""

    def __init__(self, file: Path | None) -> None:
        self._guard = threading.Lock()  # the reranker runs in another thread
        try:
            if file is not None:
                file.parent.mkdir(parents=True, exist_ok=True)
            self._connection = apsw.Connection(":memory:" if file is None else str(file))
            self._connection.set_busy_timeout(60_000)
            self._connection.execute(
                "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;"
                "CREATE TABLE IF NOT EXISTS kept (key BLOB PRIMARY KEY, value BLOB NOT NULL)"
            ).fetchall()
        except (OSError, apsw.Error) as error:
            raise UserError(
                f"The cache {file} cannot be used: {error}. Remove it, name another folder in "
                "RECOLLECT_CACHE, or use --no-cache."
            ) from error

    def get(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the cached value of each key."""
        values: list[bytes | None] = [None] * len(keys)
        with self._guard, suppress(*LOST):
            for place, key in enumerate(keys):
                sql = "SELECT value FROM kept WHERE key = ?"
                values[place] = self._connection.execute(sql, (key,)).get
        return values

    def put(self, rows: Iterable[tuple[bytes, bytes]]) -> None:
        with self._guard, suppress(*LOST), self._connection:
            self._connection.executemany("INSERT OR REPLACE INTO kept VALUES (?, ?)", rows)

    def through(
        self, keys: Sequence[bytes], texts: Sequence[str], make: Callable[[list[str]], list[bytes]]
    ) -> list[bytes]:
        """Return a value for each text: the cached one, or the result of `make`, which is then
        cached."""
        cached = dict(zip(keys, self.get(keys), strict=True))
        missing = {key: text for key, text in zip(keys, texts, strict=True) if cached[key] is None}
        made = dict(zip(missing, make(list(missing.values())), strict=True)) if missing else {}
        if made:
            self.put(made.items())
        return [made.get(key) or cached[key] or b"" for key in keys]

    def close(self) -> None:
        with self._guard:
            self._connection.close()


def vector_key(identity: str, role: str, text: str) -> bytes:
    """Return the key of a vector; `role` is "query" or "document"."""
    return content_digest(f"{identity}\0{role}\0{text}", 20)


def rerank_key(known_as: str, query: str, text: str) -> bytes:
    return content_digest(f"{known_as}\0rerank\0{query}\0{text}", 20)


class CachedEmbedder:
    """An embedder that embeds no text twice, and is not loaded if nothing is new."""

    def __init__(self, embedder: Embedder, cache: Cache) -> None:
        self._embedder = embedder
        self._cache = cache
        self.identity = embedder.identity
        self.local = embedder.local

    def warm(self) -> bool:
        return self._embedder.warm()

    def queries(self, texts: Sequence[str]) -> Matrix:
        return self._vectors("query", texts, self._embedder.queries)

    def documents(self, texts: Sequence[str]) -> Matrix:
        return self._vectors("document", texts, self._embedder.documents)

    def _vectors(
        self, role: str, texts: Sequence[str], embed: Callable[[Sequence[str]], Matrix]
    ) -> Matrix:
        if not texts:
            return embed(texts)
        keys = [vector_key(self.identity, role, text) for text in texts]
        blobs = self._cache.through(keys, texts, lambda new: [_blob(row) for row in embed(new)])
        if len({len(blob) for blob in blobs}) > 1:  # a remote model has other dimensions now
            blobs = [_blob(row) for row in embed(texts)]
            self._cache.put(zip(keys, blobs, strict=True))
        return np.stack([np.frombuffer(blob, "<f4") for blob in blobs]).astype(np.float32)


class CachedWindowed(CachedEmbedder):
    """A cached embedder that knows the model's window without loading the model."""

    def windows(self, text: str) -> list[Span]:
        # Another version of Recollect may cut differently.
        key = content_digest(f"{self.identity}\0windows {__version__}\0{text}", 20)
        [blob] = self._cache.through([key], [text], self._cut)
        numbers = struct.unpack(f"<{len(blob) // 8}q", blob)
        return [Span(*pair) for pair in zip(numbers[::2], numbers[1::2], strict=True)]

    def _cut(self, texts: list[str]) -> list[bytes]:
        flat = [[place for span in passages(self._embedder, text) for place in span]
                for text in texts]  # fmt: skip
        return [struct.pack(f"<{len(numbers)}q", *numbers) for numbers in flat]


class CachedTokenwise(CachedWindowed):
    """A cached embedder whose model gives token vectors."""

    _embedder: OnnxTokenwise

    def query(self, text: str) -> tuple[Matrix, QueryTokens]:
        key = content_digest(f"{self.identity}\0query tokens\0{text}", 20)
        [blob] = self._cache.through([key], [text], self._query_blobs)
        vector, spans, *tokens = msgspec.msgpack.decode(blob)
        vectors, weights = (np.frombuffer(part, "<f4") for part in tokens)
        return np.frombuffer(vector, "<f4"), QueryTokens(
            [Span(*span) for span in spans], vectors.reshape(len(weights), -1), weights
        )

    def _query_blobs(self, texts: Sequence[str]) -> list[bytes]:
        made = (self._embedder.query(text) for text in texts)
        return [
            msgspec.msgpack.encode(
                (_blob(vector), tokens.spans, _blob(tokens.vectors), _blob(tokens.weights))
            )
            for vector, tokens in made
        ]

    def tokenwise(self, texts: Sequence[str]) -> tuple[Matrix, list[bytes]]:
        keys = [vector_key(self.identity, "tokens", text) for text in texts]
        blobs = self._cache.through(keys, texts, self._text_blobs)
        pairs = [msgspec.msgpack.decode(blob, type=tuple[bytes, bytes]) for blob in blobs]
        rows = [np.frombuffer(vector, "<f4") for vector, _ in pairs]
        return np.stack(rows).astype(np.float32), [tokens for _, tokens in pairs]

    def _text_blobs(self, texts: Sequence[str]) -> list[bytes]:
        vectors, tokens = self._embedder.tokenwise(texts)
        return [
            msgspec.msgpack.encode((_blob(vector), packed))
            for vector, packed in zip(vectors, tokens, strict=True)
        ]

    def similarities(self, query: QueryTokens, packed: Sequence[bytes]) -> list[Matrix]:
        return self._embedder.similarities(query, packed)

    def spans(self, text: str) -> list[Span]:
        return self._embedder.spans(text)


class CachedReranker:
    """A reranker that scores no pair of question and text twice."""

    def __init__(self, reranker: Reranker, cache: Cache, known_as: str) -> None:
        self._reranker = reranker
        self._cache = cache
        self._known_as = known_as
        self.identity = reranker.identity

    def ready(self) -> None:
        """Do nothing: the model is loaded when something is new."""

    def scores(self, query: str, documents: Sequence[str]) -> list[float]:
        keys = [rerank_key(self._known_as, query, text) for text in documents]

        def score(new: list[str]) -> list[bytes]:
            return [struct.pack("<d", value) for value in self._reranker.scores(query, new)]

        blobs = self._cache.through(keys, documents, score)
        return [struct.unpack("<d", blob)[0] for blob in blobs]


class CachedModels(ActiveModels):
    """The settings' models without a deadline, used only for what is not cached."""

    def __init__(self, settings: Settings, environment: Mapping[str, str], cache: Cache) -> None:
        super().__init__(settings, environment)
        self.budget_ms = UNHURRIED_MS
        self._cache = cache
        self._kept_embedder: CachedEmbedder | None = None
        self._kept_reranker: CachedReranker | None = None

    def embedder(self) -> Embedder:
        if self._kept_embedder is None:
            live = super().embedder()
            windowed = CachedWindowed if isinstance(live, Windowed) else CachedEmbedder
            kind = CachedTokenwise if isinstance(live, OnnxTokenwise) else windowed
            self._kept_embedder = kind(live, self._cache)
        return self._kept_embedder

    def reranker(self) -> Reranker:
        if self._kept_reranker is None:
            live = super().reranker()
            self._kept_reranker = CachedReranker(live, self._cache, self.reranker_name())
        return self._kept_reranker

    def reranker_name(self) -> str:
        """Return the reranker's identity with a fingerprint, since others may have the same
        name."""
        return f"{super().reranker().identity} {_fingerprint(self._settings.rerank)}"


def _fingerprint(settings: Rerank) -> str:
    """Return a fingerprint of a reranker's files, or its address."""
    with suppress(ProviderError):
        if settings.provider == "builtin":
            return builtin("rerank", settings.model).fingerprint()
        if settings.provider == "onnx":
            return ModelFolder(Path(settings.model).expanduser(), "rerank").fingerprint()
    return settings.base_url


def _blob(row: Matrix) -> bytes:
    return row.astype("<f4").tobytes()
