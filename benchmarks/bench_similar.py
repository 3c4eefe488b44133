"""Measure what a save costs that reports similar memories, in a vault of 10,000 passages of
scale-wiki with their embeddings and a loaded model. A ratio, taken in turn in one process: the best
and the median of the rounds."""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import TypeVar

from bench_blend import fill
from data import data_argument, passages
from embeddings import cache_argument
from recollect import Recollect
from recollect.lifetime import Lifetime
from recollect.settings import Rerank, Settings

Answer = TypeVar("Answer")
WARM_UP = 3


def timed(work: Callable[[], Answer]) -> tuple[Answer, float]:
    start = time.perf_counter()
    answer = work()
    return answer, (time.perf_counter() - start) * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    data_argument(parser)
    cache_argument(parser)
    parser.add_argument("--passages", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=40)
    args = parser.parse_args()
    texts = passages(args.data, args.passages + args.rounds)[args.passages :]
    saves, looks, found = [], [], 0
    with tempfile.TemporaryDirectory() as home:
        fill(Path(home), args.data, args.cache, args.passages)
        settings = Settings(rerank=Rerank(provider="none"))
        with Recollect(home=home, settings=settings, lifetime=Lifetime.SERVER) as memory:
            memory.warm_up()
            for number, row in enumerate(texts):
                saved, save_ms = timed(partial(memory.save, title=row["title"], text=row["text"]))
                similar, look_ms = timed(partial(memory.similar, saved))
                if number >= WARM_UP:
                    saves.append(save_ms)
                    looks.append(look_ms)
                    found += bool(similar)
    for name, of in (("best", min), ("median", median)):
        save_ms, look_ms = of(saves), of(looks)
        print(
            f"{name}: a save {save_ms:.1f} ms, its similar ones {look_ms:.1f} ms: "
            f"{(save_ms + look_ms) / save_ms:.2f} times a save"
        )
    print(f"{found} of {len(looks)} saves are similar to something in {args.passages:,} memories")


if __name__ == "__main__":
    main()
