"""Put vectors and logits from training/compute.py into the evaluation's cache, so that evaluating
60,000 passages does not take hours on a small machine.

    python benchmarks/fill_cache.py vectors judged.json.xz vectors.npz
    python benchmarks/fill_cache.py logits asked.json.xz logits.npz

They must come from the same model files as those in the settings.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from recollect.maths import logistic
from recollect.settings_reading import home_folder, load_settings
from recollect_evaluation.cache import (
    FILE,
    Cache,
    CachedModels,
    cache_folder,
    rerank_key,
    vector_key,
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["vectors", "logits"])
    parser.add_argument("texts", type=Path)
    parser.add_argument("computed", type=Path)
    args = parser.parse_args()
    cache = Cache(cache_folder(os.environ) / FILE)
    models = CachedModels(load_settings(home_folder(os.environ)), os.environ, cache)
    packed = json.loads(lzma.decompress(args.texts.read_bytes()))
    computed = np.load(args.computed)
    if args.what == "vectors":
        rows = vectors(packed, computed, models.embedder().identity)
    else:
        rows = logits(packed, computed["logits"], models.reranker_name())
    cache.put(rows)
    cache.close()


def vectors(packed: Any, computed: Any, identity: str) -> Iterator[tuple[bytes, bytes]]:
    for name, one in packed.items():
        texts = {"document": ("passages", one["passages"]),
                 "query": ("questions", [each["text"] for each in one["questions"]])}  # fmt: skip
        for role, (kind, listed) in texts.items():
            for text, row in zip(listed, computed[f"{name} {kind}"], strict=True):
                unit = row.astype(np.float64) / np.linalg.norm(row.astype(np.float64))
                yield vector_key(identity, role, text), unit.astype("<f4").tobytes()


def logits(packed: Any, computed: Any, name: str) -> Iterator[tuple[bytes, bytes]]:
    pairs = ((one["text"], text) for one in packed for text in one["texts"])
    for (query, text), logit in zip(pairs, computed, strict=True):
        yield rerank_key(name, query, text), struct.pack("<d", logistic(float(logit)))


if __name__ == "__main__":
    main()
