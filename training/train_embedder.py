"""Train the embedder: a query near its answer and far from what looks like one, as the reranker
sees it.

    python training/train_embedder.py --mined mined.pt --teacher reranker.onnx --begin bge.onnx \
        --judged judged.json.xz --tokenizer tokenizer.json --seconds 500 --out embedder.onnx

Texts that read like an encyclopedia keep the similarities that they had before: there it was good.
Weights are rounded to 8 bits in the forward pass, so that what is trained is what ships.
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

from judge import Judge
from network import (
    DEVICE,
    WIDTH,
    Batch,
    Network,
    batches,
    compiled,
    loaded,
    mixed_precision,
    pair,
    single,
)
from pairs import SHARES, WIKI_LIKE, WINDOW, focused
from schedule import Schedule, source_weights, steps
from train_reranker import scores
from weights import depth, read, write

BLOCK = 128
QUERY_TOKENS, TEXT_TOKENS, PAIR_TOKENS = 64, 176, 160
MOST_TOKENS = 64_000
# Cosines are divided by this before the softmax.
TEMPERATURE = 0.03
# The reranker's logits are divided by this: it is surer than a cosine can be.
TEACHER_TEMPERATURE = 2.0
# A text so near to the answer is not held to be wrong.
ALIKE = 0.95


class Step(NamedTuple):
    places: Tensor
    texts: Tensor
    old: Tensor
    asked: list[Batch]
    shown: list[Batch]
    taught: list[Batch]


class Maker:
    """Steps of several blocks, each of one source and one form: what is near is in the same
    batch."""

    def __init__(self, mined: dict[str, Any], blocks: int, others: int, seed: int) -> None:
        self._mined = mined
        self._blocks, self._others, self._seed = blocks, others, seed
        self._sources: dict[str, list[int]] = {}
        for place, one in enumerate(mined["corpus"].pairs):
            self._sources.setdefault(one.source, []).append(place)
        weights = source_weights(mined["corpus"].pairs)
        sums = np.array([sum(weights[place] for place in own) for own in self._sources.values()])
        self._chances = sums / sums.sum()

    def __call__(self, number: int) -> Step:
        chance = np.random.default_rng((self._seed, number))
        names = list(self._sources)
        places: list[int] = []
        asked, answers, others, taught, old = [], [], [], [], []
        for source in chance.choice(len(names), self._blocks, p=self._chances):
            own = self._sources[names[source]]
            form = self._mined["forms"][chance.choice(len(SHARES), p=SHARES)]
            for place in chance.choice(own, BLOCK, replace=len(own) < BLOCK):
                near = chance.choice(self._mined["negatives"][place], self._others, replace=False)
                listed = [self._mined["corpus"].pairs[place].text, *near.tolist()]
                query = self._mined["queries"][place]
                taught += [pair(query, focused(query, form[one], WINDOW), PAIR_TOKENS)
                           for one in listed]  # fmt: skip
                asked.append(single(self._mined["prefixed"][place], QUERY_TOKENS))
                rows = [(one, single(form[one], TEXT_TOKENS)) for one in listed]
                answers += rows[:1]
                others += rows[1:]
                places.append(int(place))
                old.append(names[source] in WIKI_LIKE)
        shown = answers + others
        return Step(
            torch.tensor(places),
            torch.tensor([text for text, _ in shown]),
            torch.tensor(old),
            list(batches(asked, MOST_TOKENS)),
            list(batches([row for _, row in shown], MOST_TOKENS)),
            list(batches(taught, MOST_TOKENS)),
        )


def vectors(network: Network, parts: list[Batch]) -> Tensor:
    with mixed_precision():
        made = [network(*part.inputs()) for part in parts]
    places = torch.cat([part.places for part in parts]).to(DEVICE)
    return torch.zeros(len(places), WIDTH, device=DEVICE).index_copy(0, places, torch.cat(made))


class Loss:
    """Three parts: the answer before all other texts of the step; the reranker's opinion of the
    query's own texts; and what the bundled embedder thought of them, for texts like an
    encyclopedia above all."""

    def __init__(self, mined: dict[str, Any], teacher: float, keep: float, hold: float) -> None:
        self._texts = mined["texts_before"].to(DEVICE).float()
        self._queries = mined["queries_before"].to(DEVICE).float()
        self._teacher, self._keep, self._hold = teacher, keep, hold

    def __call__(self, step: Step, asked: Tensor, shown: Tensor, taught: Tensor) -> Tensor:
        count = len(step.places)
        own = torch.arange(count, device=DEVICE)
        before = self._texts[step.texts.to(DEVICE)]
        asked_before = self._queries[step.places.to(DEVICE)]
        unsure = before[:count] @ before.T > ALIKE
        unsure[own, own] = False
        cosines = (asked @ shown.T / TEMPERATURE).masked_fill(unsure, -1e4)
        old = step.old.to(DEVICE)
        answer = functional.cross_entropy(cosines, own, reduction="none")
        earlier = (asked_before @ before.T / TEMPERATURE).masked_fill(unsure, -1e4)
        kept = functional.kl_div(
            functional.log_softmax(cosines, 1), functional.softmax(earlier, 1), reduction="none"
        ).sum(1)
        mixed = torch.where(old, 0.5 * answer + self._keep * kept, answer).mean()
        listed = torch.cat([shown[:count, None], shown[count:].view(count, -1, WIDTH)], 1)
        near = torch.einsum("qd,qtd->qt", asked, listed) / TEMPERATURE
        opinion = functional.kl_div(
            functional.log_softmax(near, 1),
            functional.softmax(taught / TEACHER_TEMPERATURE, 1),
            reduction="batchmean",
        )
        moved = (1 - (asked * asked_before).sum(1)).mean() + (1 - (shown * before).sum(1)).mean()
        return mixed + self._teacher * opinion + self._hold * moved


def main() -> None:
    args = arguments()
    torch.manual_seed(args.seed)
    torch.backends.cuda.matmul.allow_tf32 = True
    mined = torch.load(args.mined, weights_only=False)
    network = Network(12, scores=False, rounding="weights").fill(read(args.begin))
    toward = Network(12, scores=False, rounding="weights").fill(read(args.toward or args.begin))
    begun_as = toward.state_dict()
    teacher = compiled(
        loaded(args.teacher, depth(read(args.teacher)), scores=True, rounding="none")
    )
    make = Maker(mined, args.blocks, args.others, args.seed)
    loss_of = Loss(mined, args.opinion, args.keep, args.hold)
    schedule = Schedule(compiled(network).train(), args.rate, args.seconds)
    for step in steps(make, args.processes):
        with torch.no_grad():
            taught = scores(teacher, step.taught, len(step.places))
        asked, shown = vectors(network, step.asked), vectors(network, step.shown)
        loss = loss_of(step, asked, shown, taught)
        schedule.step(loss)
        if schedule.steps % 50 == 0 or schedule.steps == 10:
            done = f"{schedule.share:.2f} of the time"
            print(f"step {schedule.steps}, {done}, loss {loss.detach():.4f}", flush=True)
        if schedule.share >= 1:
            break
    chosen(args, network, schedule, begun_as)


def chosen(
    args: argparse.Namespace, network: Network, schedule: Schedule, begun_as: dict[str, Tensor]
) -> None:
    """Write the weights, of those between the beginning and the end, that are best for the half of
    the judged sets that choices are made on; as they will run."""
    judge = Judge(args.judged, args.tokenizer)
    figures = {}
    kept = (-1.0, 0.0)
    for share in (1.0, 0.8, 0.6):
        network.load_state_dict(schedule.between(begun_as, share))
        draft = args.out.with_suffix(f".{share}.onnx")
        write(network.named(), args.begin, draft, 12)
        _, figures[share] = judge.search(loaded(draft, 12, scores=False, rounding="inputs"))
        print(share, figures[share], flush=True)
        dev = figures[share]["alone"]["dev"] + figures[share]["fused"]["dev"]
        if dev > kept[0]:
            kept = (dev, share)
            draft.replace(args.out)
        else:
            draft.unlink()
    network.load_state_dict(schedule.between(begun_as, kept[1]))
    network.rounding = "none"
    _, unrounded = judge.search(network.eval())
    told = {"steps": schedule.steps, "share": kept[1], "figures": figures, "unrounded": unrounded}
    args.out.with_suffix(".json").write_text(json.dumps(told, indent=1))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("mined", "teacher", "begin", "judged", "tokenizer", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--toward", type=Path, help="mix with these weights, not with the first")
    parser.add_argument("--blocks", type=int, default=6, help=f"of {BLOCK} queries, in a step")
    parser.add_argument("--others", type=int, default=4, help="texts that are no answer, a query")
    parser.add_argument("--opinion", type=float, default=1.0, help="weight of the reranker's")
    parser.add_argument("--keep", type=float, default=1.0, help="weight of earlier similarities")
    parser.add_argument("--hold", type=float, default=0.5, help="weight of earlier vectors")
    parser.add_argument("--rate", type=float, default=3e-5)
    parser.add_argument("--seconds", type=float, default=500)
    parser.add_argument("--processes", type=int, default=6)
    parser.add_argument("--seed", type=int, default=6)
    return parser.parse_args()


if __name__ == "__main__":
    main()
