"""Find duplicates among 100,000 passages of scale-wiki, by words and by embeddings.

Each does what `recollect duplicates` does, without reading the vault. Also prints the share of the
pairs of vectors with a cosine of 0.9 or more that the buckets find, compared with all pairs of
20,000.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from data import data_argument, passages
from embeddings import cache_argument, embedded
from recollect.engine.comparison import CONTRADICTING, SAME_MEANING
from recollect.query import vector_pairs
from recollect.query.sameness import nearly_equal

JUDGED = 20_000
ALIKE = 0.8


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    data_argument(parser)
    cache_argument(parser)
    parser.add_argument("--passages", type=int, default=100_000)
    args = parser.parse_args()
    texts = [
        frozenset(f"{row['title']} {row['text']}".lower().split())
        for row in passages(args.data, args.passages)
    ]
    start = time.process_time()
    found = sum(1 for _ in nearly_equal(texts, ALIKE))
    print(f"words: {len(texts):,} texts, {found:,} pairs, {time.process_time() - start:.1f} s")
    vectors, _ = embedded(args.data, args.cache, args.passages)
    small = np.asarray(vectors, np.float16)
    start = time.process_time()
    pairs = vector_pairs.near_pairs(small, CONTRADICTING)  # type: ignore[arg-type]
    print(f"vectors: {len(small):,}, {len(pairs):,} pairs, {time.process_time() - start:.1f} s")
    judged = small[:JUDGED]
    by_buckets = _alike(judged)
    vector_pairs.FEW = JUDGED
    every = _alike(judged)
    share = len(by_buckets & every) / max(len(every), 1)
    print(f"of {len(every):,} pairs with a cosine of {SAME_MEANING} buckets find {share:.3f}")


def _alike(vectors: np.typing.NDArray[np.float16]) -> set[tuple[int, int]]:
    pairs = vector_pairs.near_pairs(vectors, SAME_MEANING)  # type: ignore[arg-type]
    return set(pairs)


if __name__ == "__main__":
    main()
