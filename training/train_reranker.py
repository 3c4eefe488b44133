"""Train a cross-encoder: lists of one answer and many texts that look like one.

    python training/train_reranker.py --mined mined.pt --teacher ms-marco.onnx \
        --begin ms-marco.onnx --layers 12 --judged judged.json.xz \
        --tokenizer tokenizer.json --embedder bge.onnx \
        --seconds 440 --out reranker.onnx

With fewer layers than the file that it begins as, it takes every other one and learns the teacher's
scores above all. Weights are rounded to 8 bits in the forward pass, so that what is trained is what
ships.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from judge import Judge, best
from network import (
    DEVICE,
    Batch,
    Network,
    batches,
    compiled,
    loaded,
    mixed_precision,
    pair,
)
from pairs import SHARES, WINDOW, focused
from schedule import Schedule, source_weights, steps
from weights import depth, read, write

TOKENS = 160
# How often a text is cut to the part where the query's words stand, as the product does.
FOCUSED = 0.7
MOST_TOKENS = 48_000
# The teacher is so sure that a text answers that it is not held to be wrong.
SURE = 4.0


class Lists(NamedTuple):
    """A step: pairs in batches, of each list the answer first; then those that the teacher reads,
    a batch each as well."""

    all: list[Batch]
    taught: list[Batch]


class Maker:
    def __init__(self, mined: dict[str, Any], lists: int, texts: int, taught: int, seed: int):
        self._mined = mined
        weights = np.array(source_weights(mined["corpus"].pairs))
        self._chances = np.cumsum(weights / weights.sum())
        self._lists, self._texts, self._taught, self._seed = lists, texts, taught, seed

    def __call__(self, number: int) -> Lists:
        chance = np.random.default_rng((self._seed, number))
        drawn = np.searchsorted(self._chances, chance.random(self._lists))
        every, taught = [], []
        for place in drawn.clip(max=len(self._chances) - 1):
            rows = self._list(int(place), chance)
            every += rows
            taught += rows[: self._taught]
        return Lists(list(batches(every, MOST_TOKENS)), list(batches(taught, MOST_TOKENS)))

    def _list(self, place: int, chance: np.random.Generator) -> list[Any]:
        query = self._mined["queries"][place]
        form = self._mined["forms"][chance.choice(len(SHARES), p=SHARES)]
        near = self._mined["negatives"][place]
        others = chance.choice(near, self._texts - 1, replace=False)
        texts = [form[one] for one in (self._mined["corpus"].pairs[place].text, *others)]
        if chance.random() < FOCUSED:
            texts = [focused(query, text, WINDOW) for text in texts]
        return [pair(query, text, TOKENS) for text in texts]


def scores(network: Network, parts: list[Batch], lists: int) -> Tensor:
    with mixed_precision():
        made = [network(*part.inputs()) for part in parts]
    places = torch.cat([part.places for part in parts]).to(DEVICE)
    return torch.zeros(len(places), device=DEVICE).index_copy(0, places, torch.cat(made)).view(
        lists, -1
    )  # fmt: skip


def loss_of(made: Tensor, taught: Tensor, share: float, margin: float) -> Tensor:
    """The answer before all others, and the teacher's opinion of some of them."""
    sure = torch.zeros_like(made)
    sure[:, 1 : taught.shape[1]] = torch.where(taught[:, 1:] > taught[:, :1] + SURE, -1e4, 0.0)
    first = torch.zeros(len(made), dtype=torch.long, device=DEVICE)
    own = functional.cross_entropy(made + sure, first)
    read = made[:, : taught.shape[1]]
    teacher = functional.kl_div(
        functional.log_softmax(read, 1), functional.softmax(taught, 1), reduction="batchmean"
    )
    return (1 - share) * own + share * teacher + margin * functional.mse_loss(read, taught)


def filled(weights: dict[str, Tensor], layers: int) -> Network:
    """A network of so many layers, evenly chosen from these weights."""
    every = depth(weights) // layers
    chosen = [every * (layer + 1) - 1 for layer in range(layers)]
    return Network(layers, scores=True, rounding="weights").fill(weights, chosen)


def main() -> None:
    args = arguments()
    torch.manual_seed(args.seed)
    torch.backends.cuda.matmul.allow_tf32 = True
    mined = torch.load(args.mined, weights_only=False)
    begin = read(args.begin)
    network = filled(begin, args.layers)
    begun_as = filled(read(args.toward), args.layers).state_dict() if args.toward else {
        name: one.clone() for name, one in network.state_dict().items()
    }  # fmt: skip
    teacher = compiled(
        loaded(args.teacher, depth(read(args.teacher)), scores=True, rounding="none")
    )
    make = Maker(mined, args.lists, args.texts, args.taught, args.seed)
    schedule = Schedule(compiled(network).train(), args.rate, args.seconds)
    total = torch.zeros((), device=DEVICE)
    for made in steps(make, args.processes):
        with torch.no_grad():
            taught = scores(teacher, made.taught, args.lists)
        loss = loss_of(scores(network, made.all, args.lists), taught, args.share, args.margin)
        schedule.step(loss)
        total += loss.detach() / 200
        if schedule.steps % 200 == 0 or schedule.steps == 20:
            done = f"{schedule.share:.2f} of the time"
            print(f"step {schedule.steps}, {done}, loss {total:.4f}", flush=True)
            total.zero_()
        if schedule.share >= 1:
            break
    chosen(args, network, schedule, begun_as)


def chosen(
    args: argparse.Namespace, network: Network, schedule: Schedule, begun_as: dict[str, Tensor]
) -> None:
    """Write the weights, of those between the beginning and the end, that are best for the half of
    the judged sets that choices are made on; as they will run."""
    judge = Judge(args.judged, args.tokenizer)
    found, _ = judge.search(loaded(args.embedder, 12, scores=False, rounding="none"))
    figures = {}
    kept = (-1.0, 0.0)
    for share in (1.0, 0.8, 0.6) if args.layers == 12 else (1.0,):
        network.load_state_dict(schedule.between(begun_as, share))
        draft = args.out.with_suffix(f".{share}.onnx")
        write(network.named(), args.begin, draft, args.layers)
        own = loaded(draft, args.layers, scores=True, rounding="inputs")
        weight, means = best(judge.rerank(own, found))
        figures[share] = {"weight": weight, **means}
        print(share, weight, means, flush=True)
        if means["dev"] > kept[0]:
            kept = (means["dev"], share)
            draft.replace(args.out)
        else:
            draft.unlink()
    network.load_state_dict(schedule.between(begun_as, kept[1]))
    network.rounding = "none"
    _, unrounded = best(judge.rerank(network.eval(), found))
    told = {"steps": schedule.steps, "share": kept[1], "figures": figures, "unrounded": unrounded}
    args.out.with_suffix(".json").write_text(json.dumps(told, indent=1))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("mined", "teacher", "begin", "judged", "tokenizer", "embedder", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--toward", type=Path, help="mix with these weights, not with the first")
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--lists", type=int, default=64, help="of a step")
    parser.add_argument("--texts", type=int, default=25, help="of a list")
    parser.add_argument("--taught", type=int, default=8, help="of them the teacher reads")
    parser.add_argument("--share", type=float, default=0.2, help="of the teacher in the loss")
    parser.add_argument("--margin", type=float, default=0.0, help="weight of the score's own error")
    parser.add_argument("--rate", type=float, default=4e-5)
    parser.add_argument("--seconds", type=float, default=440)
    parser.add_argument("--processes", type=int, default=10)
    parser.add_argument("--seed", type=int, default=5)
    return parser.parse_args()


if __name__ == "__main__":
    main()
