"""Compare encoders on the judged sets: words, cosines and MaxSim over 2-bit token vectors.

    python training/judge_joint.py features --judged judged.json.xz --tokenizer tokenizer.json \
        --models bge=bge.onnx joint=joint.pt --out features.npz
    python training/judge_joint.py table --features features.npz

`features` computes, as onnxruntime would, what each model says of 100 candidates by cosine and 100
by words. `table` chooses the weights of the cosine and of MaxSim on the sets in DEV, for each
model, and prints nDCG@10.
"""

from __future__ import annotations

import argparse
import itertools
import json
import lzma
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from judge import FIRST, JudgedSet, standard
from late import PUNCTUATION, Late, counted, load_late, row_with_own, token_kinds, two_bits
from network import DEVICE, LONGEST, Batch, Network, Row, batches
from pairs import PREFIX, tokenizer
from weights import read

DEV = ("longmemeval-oracle-turns", "hotpotqa-1k", "qed-nq", "cranfield", "locomo")
ASKED = 300
MOST_TOKENS = 100_000
# Standardised features are kept as 16-bit numbers.
STEPS = 4096
VECTOR_WEIGHTS = (0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0)
MAXSIM_WEIGHTS = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0)


class Tokens:
    """Token vectors and weights of many texts, one after the other; text n from ends[n]."""

    def __init__(self, network: Network, rows: list[tuple[Row, slice]], left_out: np.ndarray):
        size = network.dimensions if isinstance(network, Late) else 1
        masks = [counted(row, own, left_out) for row, own in rows]
        self.ends = np.concatenate([[0], np.cumsum([int(mask.sum()) for mask in masks])])
        self.first = torch.zeros(len(rows), 384, device=DEVICE)
        self.vectors = torch.zeros(int(self.ends[-1]), size, dtype=torch.float16, device=DEVICE)
        self.weights = torch.ones(int(self.ends[-1]), device=DEVICE)
        for batch in batches([row for row, _ in rows], MOST_TOKENS):
            self._add(network, batch, masks)

    @torch.no_grad()
    def _add(self, network: Network, batch: Batch, masks: list[np.ndarray]) -> None:
        made = network(*batch.inputs())
        places = batch.places.to(DEVICE)
        if not isinstance(network, Late):
            self.first[places] = made
            return
        first, vectors, weights = made
        self.first[places] = first
        kept = np.zeros(vectors.shape[:2], bool)
        for line, place in enumerate(batch.places.tolist()):
            kept[line, : len(masks[place])] = masks[place]
        into = torch.from_numpy(np.concatenate([
            np.arange(self.ends[place], self.ends[place + 1]) for place in batch.places.tolist()
        ])).to(DEVICE)  # fmt: skip
        mask = torch.from_numpy(kept).to(DEVICE)
        self.vectors[into] = vectors[mask].half()
        self.weights[into] = weights[mask]

    def coarsen(self, sigma: Tensor) -> None:
        """Keep two bits of each number."""
        for some in self.vectors.split(1_000_000):
            stored = two_bits(some.float(), sigma)
            some.copy_(torch.nn.functional.normalize(stored, dim=-1))


class LateSet(JudgedSet):
    """A judged set whose candidates are scored by words, cosines and MaxSim."""

    def features(self, network: Network, left_out: np.ndarray, prefix: np.ndarray) -> Any:
        allowed = [self._allowed(one) for one in self.questions]
        wanted = np.zeros(len(self.groups), bool)
        for some in allowed:
            wanted[some] = True
        needed = np.flatnonzero(wanted[self.owners])
        owners = self.owners[needed]
        texts = Tokens(network, [row_with_own(prefix[:0], self.passages[int(place)], LONGEST)
                                 for place in needed], left_out)  # fmt: skip
        asked = Tokens(network, [row_with_own(prefix, self.queries[place], LONGEST)
                                 for place in range(len(self.queries))], left_out)  # fmt: skip
        if isinstance(network, Late):
            texts.coarsen(network.sigma)
        passages: dict[int, list[int]] = {}
        for place, owner in enumerate(owners.tolist()):
            passages.setdefault(owner, []).append(place)
        owner_numbers = torch.from_numpy(owners).to(DEVICE)
        found: dict[str, list[Any]] = {"sizes": [], "ideals": [], "grades": [], "scores": []}
        for number, question in enumerate(self.questions):
            cosines = torch.full((len(self.groups),), -1.0, device=DEVICE)
            cosines.scatter_reduce_(0, owner_numbers, texts.first @ asked.first[number], "amax")
            by_vector = cosines.cpu().numpy()
            near = allowed[number][np.argsort(-by_vector[allowed[number]])][:100]
            words = dict(map(tuple, question["words"]))
            both = np.array(list(dict.fromkeys([*near.tolist(), *words])))
            late = (
                maxsim(texts, asked, number, [passages[int(one)] for one in both])
                if isinstance(network, Late)
                else np.zeros(len(both), np.float32)
            )
            by_words = np.array([words.get(int(one), 0.0) for one in both], np.float32)
            scores = np.stack([standard(one) for one in (by_words, by_vector[both], late)])
            grades = {int(one): grade for one, grade in question["grades"].items()}
            found["scores"].append((scores * STEPS).round().clip(-32767, 32767).astype(np.int16))
            found["grades"].append([grades.get(int(one), 0) for one in both])
            found["sizes"].append(len(both))
            found["ideals"].append(ideal(list(grades.values())))
        return {
            "sizes": np.array(found["sizes"], np.int32),
            "ideals": np.array(found["ideals"], np.float32),
            "grades": np.concatenate(found["grades"]).astype(np.uint8),
            "scores": np.concatenate(found["scores"], 1),
        }

    def _allowed(self, question: dict[str, Any]) -> np.ndarray:
        if question["among"] is None:
            return np.flatnonzero(self.groups == question["group"])
        return np.array(question["among"])


@torch.no_grad()
def maxsim(texts: Tokens, asked: Tokens, number: int, passages: list[list[int]]) -> np.ndarray:
    """Score memories, given by their passages; the best passage of each counts."""
    own = slice(asked.ends[number], asked.ends[number + 1])
    weights = asked.weights[own]
    places = np.array([place for some in passages for place in some])
    owners = np.repeat(np.arange(len(passages)), [len(some) for some in passages])
    first, sizes = texts.ends[places], texts.ends[places + 1] - texts.ends[places]
    inside = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    at = torch.from_numpy(np.repeat(first, sizes) + inside).to(DEVICE)
    line = torch.from_numpy(np.repeat(np.arange(len(places)), sizes)).to(DEVICE)
    alike = asked.vectors[own].float() @ texts.vectors[at].float().T
    best = torch.full((len(weights), len(places)), -1.0, device=DEVICE)
    best.scatter_reduce_(1, line.expand(len(weights), -1), alike, "amax")
    scores = (best * weights[:, None]).sum(0) / weights.sum()
    found = torch.full((len(passages),), -2.0, device=DEVICE)
    found.scatter_reduce_(0, torch.from_numpy(owners).to(DEVICE), scores, "amax")
    return found.cpu().numpy()


def ideal(grades: list[int]) -> float:
    best = sorted(grades, reverse=True)[:FIRST]
    return float(sum(one / np.log2(2 + place) for place, one in enumerate(best)))


def features(args: argparse.Namespace) -> None:
    start = time.perf_counter()
    torch.backends.cuda.matmul.allow_tf32 = True
    tokens = tokenizer(args.tokenizer)
    left_out = token_kinds(args.tokenizer) == PUNCTUATION
    prefix = tokens([PREFIX.strip()])[0]
    packed = json.loads(lzma.decompress(args.judged.read_bytes()))
    sets = [LateSet(name, one, tokens, ASKED) for name, one in packed.items()
            if args.only is None or name in args.only]  # fmt: skip
    print(f"read after {time.perf_counter() - start:.0f} s", flush=True)
    found: dict[str, Any] = {}
    for model, _, file in (one.partition("=") for one in args.models):
        weights = read(Path(file))
        network: Network
        if "project.weight" in weights:
            network = load_late(Path(file), "inputs")
        else:
            network = Network(12, scores=False, rounding="inputs").fill(weights).eval()
        for one in sets:
            made = one.features(network, left_out, prefix)
            found |= {f"{model}/{one.name}/{name}": value for name, value in made.items()}
        print(f"{model} after {time.perf_counter() - start:.0f} s", flush=True)
        np.savez_compressed(args.out, **found)


def qualities(stored: Any, key: str, vector: float, late: float) -> np.ndarray:
    """Return nDCG@10 of each question."""
    words, cosines, scores = stored[f"{key}/scores"].astype(np.float32) / STEPS
    total = words + vector * cosines + late * scores
    grades, ends = stored[f"{key}/grades"], np.cumsum(stored[f"{key}/sizes"])
    discounts = 1 / np.log2(np.arange(2, FIRST + 2))
    found = []
    for end, size, best in zip(ends, stored[f"{key}/sizes"], stored[f"{key}/ideals"], strict=True):
        own = slice(end - size, end)
        order = np.argsort(-total[own], kind="stable")[:FIRST]
        found.append(float(grades[own][order] @ discounts[: len(order)] / best) if best else 0.0)
    return np.array(found)


def interval(differences: list[np.ndarray], times: int = 2000) -> tuple[float, float]:
    """Return the 95 % interval of the mean of the sets' means, over their questions."""
    chance = np.random.default_rng(0)
    means = np.mean([
        one[chance.integers(0, len(one), (times, len(one)))].mean(1) for one in differences
    ], 0)  # fmt: skip
    low, high = np.percentile(means, [2.5, 97.5])
    return float(low), float(high)


def table(args: argparse.Namespace) -> None:
    stored: dict[str, Any] = {}
    for file in args.features:
        stored |= dict(np.load(file))
    models = list(dict.fromkeys(key.split("/")[0] for key in stored))
    names = list(dict.fromkeys(key.split("/")[1] for key in stored))
    dev = [name for name in names if name in DEV]
    rows: dict[str, dict[str, np.ndarray]] = {}
    for model in models:
        late = bool(stored[f"{model}/{names[0]}/scores"][2].any())
        for label, weights in (("pool", (0.0,)), ("MaxSim", MAXSIM_WEIGHTS)):
            if label == "MaxSim" and not late:
                continue
            chosen = max(
                itertools.product(VECTOR_WEIGHTS, weights),
                key=lambda pair: np.mean([
                    qualities(stored, f"{model}/{name}", *pair).mean() for name in dev
                ]),
            )  # fmt: skip
            rows[f"{model} {label} v {chosen[0]} m {chosen[1]}"] = {
                name: qualities(stored, f"{model}/{name}", *chosen) for name in names
            }
    rest = [name for name in names if name not in DEV]
    order = dev + rest
    print(" " * 34 + " ".join(f"{name[:10]:>10}" for name in order) + "     dev   held    all")
    for row, found in rows.items():
        means = [found[name].mean() for name in order]
        sums = [np.mean([found[name].mean() for name in some]) for some in (dev, rest, order)]
        print(f"{row:34}" + " ".join(f"{one:10.4f}" for one in means)
              + "  " + " ".join(f"{one:.4f}" for one in sums))  # fmt: skip
    against = next((row for row in rows if row.startswith(f"{args.against} MaxSim")), None)
    for row in [] if against is None else rows:
        for label, some in (("dev", dev), ("held", rest), ("all", order)):
            if some:
                differences = [rows[row][name] - rows[against][name] for name in some]
                low, high = interval(differences)
                mean = np.mean([one.mean() for one in differences])
                print(f"{row} - {against}, {label}: {mean:+.4f} [{low:+.4f}, {high:+.4f}]")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["features", "table"])
    parser.add_argument("--judged", type=Path)
    parser.add_argument("--tokenizer", type=Path)
    parser.add_argument("--models", nargs="+", help="NAME=FILE")
    parser.add_argument("--only", nargs="+", help="names of judged sets")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--features", type=Path, nargs="+")
    parser.add_argument("--against", default="trial", help="the model that others are compared to")
    args = parser.parse_args()
    (features if args.what == "features" else table)(args)


if __name__ == "__main__":
    main()
