"""Make real embeddings of scale-wiki once with the built-in model, and keep them in a folder.

A hundred thousand take about half an hour on two cores; an interrupted run continues.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from data import data_argument, passages, questions
from recollect.models.folder import builtin
from recollect.models.onnx import OnnxEmbedder
from recollect.settings import Embedding

if TYPE_CHECKING:
    from numpy.typing import NDArray

CHUNK = 1000
BATCH = 20_000
NOISE = 0.6  # a copy's cosine with its original is about 0.86


def embedder() -> OnnxEmbedder:
    return OnnxEmbedder(builtin("embed", ""), Embedding(), "builtin")


def cache_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--cache",
        type=Path,
        default=Path.home() / ".cache" / "recollect-bench",
        help="where the embeddings are kept (default: %(default)s)",
    )


def missing(cache: Path, count: int) -> int:
    """Return how many of the first `count` passages have no embedding in the cache."""
    kept = [(_folder(cache) / f"{first:08}.npy").exists() for first in range(0, count, CHUNK)]
    return min(count, CHUNK * kept.count(False))


def _folder(cache: Path) -> Path:
    return cache / embedder().identity.replace(":", "-").replace("@", "-")


def embedded(
    data: Path, cache: Path, count: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the vectors of the first `count` passages, and of 500 queries."""
    model = embedder()
    folder = _folder(cache)
    folder.mkdir(parents=True, exist_ok=True)
    rows = passages(data, count)
    parts = []
    for first in range(0, len(rows), CHUNK):
        file = folder / f"{first:08}.npy"
        texts = [f"{row['title']}\n{row['text']}" for row in rows[first : first + CHUNK]]
        if not file.exists() or len(np.load(file)) < len(texts):
            start = time.perf_counter()
            np.save(file, model.documents(texts))
            rate = len(texts) / (time.perf_counter() - start)
            print(
                f"embedded {first + len(texts):,} of {len(rows):,}, {rate:.0f} a second", flush=True
            )
        parts.append(np.load(file))
    return np.concatenate(parts)[:count], model.queries(questions(data, 500))


def copied(real: NDArray[np.float32], count: int) -> NDArray[np.float32]:
    """Return `count` vectors: the real ones, then copies of them with noise, all of length 1."""
    vectors = np.empty((count, real.shape[1]), np.float32)
    vectors[: len(real)] = real
    random = np.random.default_rng(1)
    for first in range(len(real), count, BATCH):
        rows = vectors[first : first + BATCH]
        rows[:] = random.standard_normal(rows.shape, np.float32) * NOISE / real.shape[1] ** 0.5
        rows += real[random.integers(0, len(real), len(rows))]
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return vectors


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    data_argument(parser)
    cache_argument(parser)
    parser.add_argument("--passages", type=int, default=100_000)
    args = parser.parse_args()
    vectors, queries = embedded(args.data, args.cache, args.passages)
    print(
        f"{vectors.shape[0]:,} passages and {len(queries)} queries, {vectors.shape[1]} dimensions"
    )


if __name__ == "__main__":
    main()
