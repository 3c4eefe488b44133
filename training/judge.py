"""How good a trained network is on the judged sets, by a simple search: vectors and words
fused, and the first twenty reranked. It chooses between checkpoints; what ships is measured by
benchmarks/quality.py, in the product.

    python training/judge.py --judged judged.json.xz --tokenizer tokenizer.json \
        --embedders bge.onnx new.onnx --rerankers ms-marco.onnx new.onnx --out figures.json
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from network import LONGEST, Network, loaded, outputs, pair, single
from pairs import PREFIX, WINDOW, Tokens, focused, tokenizer
from weights import depth, read

TOP = 20
FIRST = 10
ASKED = 200
BOUND = 10.0
VECTOR_WEIGHT = 1.5
RERANK_WEIGHTS = (0.0, 0.1, 0.2, 0.3, 0.5)


class Found(NamedTuple):
    """A question's candidates, the best first, and their scores by words and vectors."""

    candidates: list[int]
    scores: np.ndarray


class JudgedSet:
    def __init__(self, name: str, packed: dict[str, Any], tokens: Any, asked: int | None) -> None:
        self.name, self.half = name, packed["half"]
        self.owners = np.array(packed["owners"])
        self.groups = np.array(packed["groups"])
        self.passages: Tokens = tokens(packed["passages"])
        self.questions = packed["questions"]
        if name == "xquad":  # the models read English
            self.questions = [one for one in self.questions if one["group"] == "en"]
        if asked is not None:
            random.Random(1).shuffle(self.questions)
            self.questions = self.questions[:asked]
        self.queries: Tokens = tokens([one["text"] for one in self.questions])
        self.prefixed: Tokens = tokens([PREFIX + one["text"] for one in self.questions])
        self.first_passage = {int(owner): place for place, owner in
                              reversed(list(enumerate(self.owners)))}  # fmt: skip

    def vectors(self, network: Network) -> tuple[Tensor, Tensor]:
        rows = [single(self.passages[place], LONGEST) for place in range(len(self.passages))]
        asked = [single(self.prefixed[place], LONGEST) for place in range(len(self.prefixed))]
        return outputs(network, rows), outputs(network, asked)

    def search(self, vectors: tuple[Tensor, Tensor]) -> tuple[list[Found], list[list[int]]]:
        """The fused candidates of each question, and the first by vectors alone."""
        passages, asked = vectors
        fused, alone = [], []
        for question, vector in zip(self.questions, asked, strict=True):
            cosines = np.full(len(self.groups), -1.0, np.float32)
            np.maximum.at(cosines, self.owners, (passages @ vector).float().cpu().numpy())
            allowed = (
                np.flatnonzero(self.groups == question["group"])
                if question["among"] is None
                else np.array(question["among"])
            )
            near = allowed[np.argsort(-cosines[allowed])][:100]
            words = dict(question["words"])
            both = np.array(list(dict.fromkeys([*near.tolist(), *words])))
            by_words = np.array([words.get(int(place), 0.0) for place in both])
            scores = standard(by_words) + VECTOR_WEIGHT * standard(cosines[both])
            order = np.argsort(-scores)[:TOP]
            fused.append(Found(both[order].tolist(), scores[order]))
            alone.append(near[:FIRST].tolist())
        return fused, alone

    def logits(self, network: Network, found: list[Found]) -> list[np.ndarray]:
        rows = [
            pair(query, focused(query, self.passages[self.first_passage[one]], WINDOW), 256)
            for place, each in enumerate(found)
            for query in [self.queries[place]]
            for one in each.candidates
        ]
        made = outputs(network, rows).cpu().numpy()
        return np.split(made, np.cumsum([len(each.candidates) for each in found])[:-1])

    def quality(self, orders: list[list[int]]) -> float:
        return float(np.mean([
            gain(order, {int(one): grade for one, grade in question["grades"].items()})
            for order, question in zip(orders, self.questions, strict=True)
        ]))  # fmt: skip


class Judge:
    def __init__(self, file: Path, tokenizer_file: Path, asked: int | None = ASKED) -> None:
        tokens = tokenizer(tokenizer_file)
        packed = json.loads(lzma.decompress(file.read_bytes()))
        self.sets = [JudgedSet(name, one, tokens, asked) for name, one in packed.items()]

    def search(self, network: Network) -> tuple[dict[str, list[Found]], dict[str, Any]]:
        found, figures = {}, {}
        for one in self.sets:
            found[one.name], alone = one.search(one.vectors(network))
            orders = [each.candidates for each in found[one.name]]
            figures[one.name] = {"alone": one.quality(alone), "fused": one.quality(orders)}
        return found, {how: self.means({name: each[how] for name, each in figures.items()})
                       for how in ("alone", "fused")}  # fmt: skip

    def rerank(self, network: Network, found: dict[str, list[Found]]) -> dict[float, Any]:
        """The figures by the weight of the reranker's logit."""
        figures: dict[float, dict[str, float]] = {weight: {} for weight in RERANK_WEIGHTS}
        for one in self.sets:
            logits = one.logits(network, found[one.name])
            for weight in RERANK_WEIGHTS:
                orders = [
                    [each.candidates[place] for place in np.argsort(
                        -(each.scores + weight * own.clip(-BOUND, BOUND)), kind="stable")]
                    for each, own in zip(found[one.name], logits, strict=True)
                ]  # fmt: skip
                figures[weight][one.name] = one.quality(orders)
        return {weight: self.means(each) for weight, each in figures.items()}

    def means(self, figures: dict[str, float]) -> dict[str, float]:
        halves = {
            half: float(np.mean([figures[one.name] for one in self.sets if one.half == half]))
            for half in ("dev", "held")
        }
        return {name: round(value, 4) for name, value in (halves | figures).items()}


def best(figures: dict[float, Any]) -> tuple[float, dict[str, float]]:
    """The weight that is best for the sets that choices are made on."""
    weight = max(figures, key=lambda weight: figures[weight]["dev"])
    return weight, figures[weight]


def standard(scores: np.ndarray) -> np.ndarray:
    return (scores - scores.mean()) / (scores.std() + 1e-9)


def gain(order: list[int], grades: dict[int, int]) -> float:
    """nDCG@10."""
    discounts = 1 / np.log2(np.arange(2, FIRST + 2))
    ideal = sorted(grades.values(), reverse=True)[:FIRST]
    reached = [grades.get(one, 0) for one in order[:FIRST]]
    return float(reached @ discounts[: len(reached)] / (ideal @ discounts[: len(ideal)]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("judged", "tokenizer", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--embedders", type=Path, nargs="+", required=True)
    parser.add_argument("--rerankers", type=Path, nargs="*", default=[])
    args = parser.parse_args()
    judge = Judge(args.judged, args.tokenizer)
    figures: dict[str, Any] = {}
    for file in args.embedders:
        with torch.no_grad():
            found, figures[file.stem] = judge.search(
                loaded(file, 12, scores=False, rounding="inputs")
            )
        print(file.stem, figures[file.stem], flush=True)
        for other in args.rerankers:
            network = loaded(other, depth(read(other)), scores=True, rounding="inputs")
            weight, means = best(judge.rerank(network, found))
            figures[f"{file.stem} {other.stem}"] = {"weight": weight, **means}
            print(file.stem, other.stem, weight, means, flush=True)
    args.out.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
