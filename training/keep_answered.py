"""Keep the written questions that a reranker says their text answers, above all mined ones.

    python training/keep_answered.py --mined mined.pt --written written.jsonl --reranker l12.onnx

It takes the other ones out of what mine.py made, and gives those that stay a source of their own,
so that they can count more than questions made by rules.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import torch

from network import loaded, outputs, pair
from pairs import Corpus, Tokens
from weights import depth, read

OTHERS = 24
TOKENS = 128
LEAST = -1.0
OF_A_TEXT = 2
WRITTEN = "_written"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("mined", "written", "reranker"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    args = parser.parse_args()
    mined = torch.load(args.mined, weights_only=False)
    corpus = mined["corpus"]
    rows = map(json.loads, args.written.read_text(encoding="utf-8").splitlines())
    made = {(row["q"], row["d"]) for row in rows}
    places = [place for place, one in enumerate(corpus.pairs)
              if (one.query, corpus.texts[one.text].text) in made]  # fmt: skip
    kept = answered(args.reranker, mined, places)
    print(f"{len(places)} written, {len(kept)} kept")
    left_out = {*places} - kept
    chosen = [place for place in range(len(corpus.pairs)) if place not in left_out]
    pairs = [
        one._replace(source=one.source + WRITTEN * (place in kept))
        for place in chosen
        for one in [corpus.pairs[place]]
    ]
    mined |= {
        "corpus": Corpus(corpus.texts, pairs),
        "negatives": mined["negatives"][chosen],
        "queries_before": mined["queries_before"][chosen],
    }
    for name in ("queries", "prefixed"):
        mined[name] = Tokens([mined[name][place] for place in chosen])
    torch.save(mined, args.mined)


def answered(reranker: Path, mined: dict, places: list[int]) -> set[int]:  # type: ignore[type-arg]
    """The pairs whose text the reranker puts before the mined ones; the surest of each text."""
    network = loaded(reranker, depth(read(reranker)), scores=True, rounding="none")
    pairs, texts = mined["corpus"].pairs, mined["forms"][0]
    rows = [
        pair(mined["queries"][place], texts[text], TOKENS)
        for place in places
        for text in (pairs[place].text, *mined["negatives"][place][:OTHERS].tolist())
    ]
    scores = outputs(network, rows).cpu().numpy().reshape(len(places), OTHERS + 1)
    first = (scores[:, 1:] <= scores[:, :1]).all(1) & (scores[:, 0] > LEAST)
    counts: dict[int, int] = {}
    kept = set()
    for line in np.argsort(-scores[:, 0]):
        text = pairs[places[line]].text
        if first[line] and counts.get(text, 0) < OF_A_TEXT:
            counts[text] = counts.get(text, 0) + 1
            kept.add(places[line])
    return kept


if __name__ == "__main__":
    main()
