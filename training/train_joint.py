"""Train one encoder for both: a text's vector and its token vectors (see late.py).

    python training/train_joint.py --mined mined.pt --logits logits.npz --maxsim maxsim.npz \
        --begin colbert.onnx embedder.onnx --tokenizer tokenizer.json --seconds 540 --out joint.pt

It begins as the mean of the weights of `--begin`, with the main directions of the token states as
the projection; that beginning is kept beside `--out` as `.begin.pt`, and a second run with another
seed should begin from it. Weights are rounded to 8 bits in the forward pass, in half of the blocks
the texts' token vectors to 2 bits.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from late import (
    DIMENSIONS,
    PUNCTUATION,
    STOP,
    WORD,
    Late,
    all_scores,
    counted,
    mixture,
    own_scores,
    row_with_own,
    token_kinds,
    two_bits,
    write_late,
)
from network import DEVICE, Batch, Row, batches, compiled, mixed_precision, through
from pairs import PREFIX, WIKI_LIKE, tokenizer
from schedule import Schedule, source_weights, steps
from teach import LIST, NEAR, QUERY_TOKENS, TEXT_TOKENS
from weights import read

BLOCK = 128
MOST_TOKENS = 64_000
# Of each query's mined texts a block has so many of the nearest and of the others.
NEAR_SHOWN, FAR_SHOWN = 5, 2
SHOWN = 1 + NEAR_SHOWN + FAR_SHOWN
# Cosines are divided by this before the softmax; MaxSim's scale is learned.
TEMPERATURE = 0.03
TEACHER_TEMPERATURE = 2.0
# MaxSim now and at the beginning are compared at this scale.
BEGUN_SCALE = 30.0
# A text so near to the answer, or so much better to the reranker, is not held to be wrong.
ALIKE, BETTER = 0.95, 2.0
# How often MaxSim looks at the first 64 numbers only.
SHORT, SHORT_SHARE = 64, 0.4
TWO_BITS_SHARE, NO_STOP_WORDS_SHARE = 0.5, 0.5
# Sources like an encyclopedia are drawn more often than their size says.
WIKI_FAVOURED = 1.5
# Put before some queries, which should mean the same with it.
FILLER = (
    "please tell me", "do you remember", "can you find", "i was wondering", "remind me",
    "i would like to know", "hey, quick question:", "search for", "could you look up",
    "ok so", "i need to know", "show me",
)  # fmt: skip
FILLER_SHARE = 0.15
AVERAGED_FROM = 0.88


class Block(NamedTuple):
    """Queries of one source in one form; of the texts first all answers, then all first others."""

    places: Tensor
    texts: Tensor
    old: bool
    asked: list[Batch]
    shown: list[Batch]
    asked_mask: Tensor
    shown_mask: Tensor
    stop: Tensor
    taught: Tensor
    begun: Tensor
    short: bool
    coarse: bool


class Maker:
    """Steps of several blocks."""

    def __init__(
        self,
        mined: dict[str, Any],
        logits: np.ndarray,
        begun: np.ndarray,
        lists: np.ndarray,
        form: np.ndarray,
        tokenizer_file: Path,
        blocks: int,
        seed: int,
    ) -> None:
        self._mined, self._logits, self._begun, self._lists = mined, logits, begun, lists
        self._blocks, self._seed = blocks, seed
        self._kinds = token_kinds(tokenizer_file)
        tokens = tokenizer(tokenizer_file)
        self._prefix = tokens([PREFIX.strip()])[0]
        self._filler = tokens(FILLER)
        pairs = mined["corpus"].pairs
        weights = np.array(source_weights(pairs))
        groups: dict[tuple[str, int], list[int]] = {}
        for place in np.flatnonzero(~np.isnan(logits[:, 0])):
            groups.setdefault((pairs[place].source, int(form[place])), []).append(int(place))
        self._keys = list(groups)
        self._groups = [np.array(one) for one in groups.values()]
        sums = np.array([
            weights[own].sum() * (WIKI_FAVOURED if source in WIKI_LIKE else 1.0)
            for (source, _), own in zip(self._keys, self._groups, strict=True)
        ])  # fmt: skip
        self._chances = sums / sums.sum()

    def __call__(self, number: int) -> list[Block]:
        chance = np.random.default_rng((self._seed, number))
        chosen = chance.choice(len(self._keys), self._blocks, p=self._chances)
        return [self._block(int(key), chance) for key in chosen]

    def _block(self, key: int, chance: np.random.Generator) -> Block:
        source, form = self._keys[key]
        own = self._groups[key]
        places = chance.choice(own, BLOCK, replace=len(own) < BLOCK)
        picks = np.stack([self._pick(chance) for _ in places])
        listed = np.take_along_axis(self._lists[places], picks, 1)
        texts = listed.T.reshape(-1)
        asked = [row_with_own(self._prefix, self._query(int(place), chance), QUERY_TOKENS)
                 for place in places]  # fmt: skip
        tokens = self._mined["forms"][form]
        shown = [row_with_own(self._prefix[:0], tokens[int(text)], TEXT_TOKENS) for text in texts]
        punctuation = self._kinds == PUNCTUATION
        no_stop_words = chance.random() < NO_STOP_WORDS_SHARE
        left_out = self._kinds != WORD if no_stop_words else punctuation
        asked_mask = masks(asked, punctuation)
        stop = np.zeros_like(asked_mask)
        for line, (row, _) in enumerate(asked):
            stop[line, : len(row.tokens)] = self._kinds[row.tokens] == STOP
        return Block(
            torch.from_numpy(places),
            torch.from_numpy(texts.astype(np.int64)),
            source in WIKI_LIKE,
            list(batches([row for row, _ in asked], MOST_TOKENS)),
            list(batches([row for row, _ in shown], MOST_TOKENS)),
            torch.from_numpy(asked_mask),
            torch.from_numpy(masks(shown, left_out)),
            torch.from_numpy(stop & asked_mask),
            torch.from_numpy(np.take_along_axis(self._logits[places], picks, 1)).float(),
            torch.from_numpy(np.take_along_axis(self._begun[places], picks, 1)).float(),
            bool(chance.random() < SHORT_SHARE),
            bool(chance.random() < TWO_BITS_SHARE),
        )

    def _pick(self, chance: np.random.Generator) -> np.ndarray:
        near = 1 + chance.choice(NEAR, NEAR_SHOWN, replace=False)
        far = 1 + NEAR + chance.choice(LIST - 1 - NEAR, FAR_SHOWN, replace=False)
        return np.concatenate([[0], near, far])

    def _query(self, place: int, chance: np.random.Generator) -> np.ndarray:
        query: np.ndarray = self._mined["queries"][place]
        if chance.random() < FILLER_SHARE:
            filler = self._filler[int(chance.integers(len(self._filler)))]
            query = np.concatenate([filler, query])
        return query


def masks(rows: list[tuple[Row, slice]], left_out: np.ndarray) -> np.ndarray:
    length = max(-(-len(row.tokens) // 8) * 8 for row, _ in rows)
    found = np.zeros((len(rows), length), bool)
    for line, (row, own) in enumerate(rows):
        found[line, : len(row.tokens)] = counted(row, own, left_out)
    return found


def encoded(network: Late, parts: list[Batch], length: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return text vectors, padded token vectors and token weights, in the order of the rows."""
    firsts, tokens, weights = [], [], []
    kind = torch.bfloat16 if DEVICE == "cuda" else torch.float32
    for part in parts:
        with mixed_precision():
            state = network.states(*part.inputs())
        first, token, weight = network.heads(state)
        room = length - token.shape[1]
        firsts.append(first)
        tokens.append(functional.pad(token.to(kind), (0, 0, 0, room)))
        weights.append(functional.pad(weight, (0, room)))
    order = torch.cat([part.places for part in parts]).argsort().to(DEVICE)
    return torch.cat(firsts)[order], torch.cat(tokens)[order], torch.cat(weights)[order]


def divergence(scores: Tensor, wanted: Tensor) -> Tensor:
    return functional.kl_div(
        functional.log_softmax(scores, 1), functional.softmax(wanted, 1), reduction="batchmean"
    )


class Loss:
    """The sum of parts. Of MaxSim: the answer first, the rerankers' opinion, the scores of the
    beginning. Of the vector: the answer first, the rerankers' opinion, the similarities and the
    vectors of the embedder that it comes from (for texts like an encyclopedia: of the first one).
    Of the token weights: stop words count little."""

    def __init__(self, mined: dict[str, Any], args: argparse.Namespace) -> None:
        self._first = [mined.pop(f"{kind}_before").to(DEVICE) for kind in ("queries", "texts")]
        self._second = [mined.pop(f"{kind}_second").to(DEVICE) for kind in ("queries", "texts")]
        self._args = args
        self.log: dict[str, Tensor] = {}

    def __call__(self, network: Late, block: Block) -> Tensor:
        args = self._args
        count = len(block.places)
        own = torch.arange(count, device=DEVICE)
        asked_mask, shown_mask = block.asked_mask.to(DEVICE), block.shown_mask.to(DEVICE)
        taught, begun = block.taught.to(DEVICE), block.begun.to(DEVICE)
        asked, asked_tokens, gate = encoded(network, block.asked, asked_mask.shape[1])
        shown, tokens, _ = encoded(network, block.shown, shown_mask.shape[1])
        places, texts = block.places.to(DEVICE), block.texts.to(DEVICE)
        unsure = self._first[1][texts[:count]].float() @ self._first[1][texts].float().T > ALIKE
        unsure[own, own] = False
        alike = unsure[:, :count]

        with torch.no_grad():
            network.sigma.lerp_(tokens[shown_mask].float().std(0), 0.02)
        if block.short:
            asked_tokens, tokens = (
                functional.normalize(one[..., :SHORT].float(), dim=-1).to(one.dtype)
                for one in (asked_tokens, tokens)
            )
        if block.coarse:
            exact = tokens.float()
            sigma = exact[shown_mask].detach().std(0) if block.short else network.sigma
            tokens = through(exact, two_bits(exact, sigma)).to(tokens.dtype)
        weights = gate * asked_mask
        weights = weights / weights.sum(1, keepdim=True)
        listed = tokens.view(SHOWN, count, *tokens.shape[1:]).transpose(0, 1)
        listed_mask = shown_mask.view(SHOWN, count, -1).transpose(0, 1)
        scale = network.log_scale.exp()
        plain = own_scores(asked_tokens, weights, listed, listed_mask)
        near = plain * scale
        across = all_scores(asked_tokens, weights, tokens[:count], shown_mask[:count]) * scale
        better = taught[:, 1:] > taught[:, :1] + BETTER
        scores = torch.cat([across.masked_fill(alike, -1e2), near[:, 1:].masked_fill(better, -1e2)],
                           1)  # fmt: skip

        first = self._first if block.old else self._second
        asked_before, before = first[0][places].float(), first[1][texts].float()
        cosines = (asked @ shown.T / TEMPERATURE).masked_fill(unsure, -1e4)
        earlier = (asked_before @ before.T / TEMPERATURE).masked_fill(unsure, -1e4)
        listed_cosines = torch.einsum("qd,tqd->qt", asked, shown.view(SHOWN, count, -1))
        moved = (1 - (asked * asked_before).sum(1)).mean() + (1 - (shown * before).sum(1)).mean()
        parts = {
            "answer": functional.cross_entropy(scores, own),
            "opinion": divergence(near, taught / TEACHER_TEMPERATURE),
            "begun": divergence(plain * BEGUN_SCALE, begun * BEGUN_SCALE),
            "stop": (weights * block.stop.to(DEVICE)).sum(1).mean(),
            "vector": functional.cross_entropy(cosines, own),
            "vector_opinion": divergence(
                listed_cosines / TEMPERATURE, taught / TEACHER_TEMPERATURE
            ),
            "kept": divergence(cosines, earlier),
            "moved": moved,
        }
        answer = args.answer * (0.5 if block.old else 1.0)
        shares = {
            "answer": answer,
            "opinion": args.opinion,
            "begun": args.begun * (2.0 if block.old else 1.0),
            "stop": args.stop,
            "vector": answer,
            "vector_opinion": args.opinion,
            "kept": args.keep * (2.0 if block.old else 1.0),
            "moved": args.hold * (2.0 if block.old else 1.0),
        }
        for name, one in parts.items():
            self.log[name] = self.log.get(name, torch.zeros((), device=DEVICE)) + one.detach()
        return sum((shares[name] * one for name, one in parts.items()), torch.zeros_like(moved))

    def told(self) -> str:
        """Describe the parts since the last time, as shares of the first."""
        said = ", ".join(f"{name} {float(one):.2f}" for name, one in self.log.items())
        self.log = {}
        return said


def beginning(files: list[Path], make: Maker) -> dict[str, Tensor]:
    """Return the mean of the files' weights, with the main directions of the token states as the
    projection, or the one file if it has a projection."""
    whole = [read(file) for file in files]
    if "project.weight" in whole[0]:
        return whole[0]
    begun = mixture(whole, [1 / len(whole)] * len(whole))
    network = Late("weights")
    network.fill(begun)
    states = []
    with torch.no_grad(), mixed_precision():
        for part in (part for block in make(10**6) for part in block.shown):
            state = network.states(*part.inputs())[part.real.to(DEVICE)]
            states.append(functional.normalize(state.float(), dim=-1)[::7].double())
        state = torch.cat(states)
        found, directions = torch.linalg.eigh(state.T @ state / len(state))
        energy = found.flip(0)[:DIMENSIONS].sum() / found.sum()
        print(f"the projection keeps {energy:.3f} of the energy", flush=True)
        network.project.weight.copy_(directions.flip(1)[:, :DIMENSIONS].T)
        network.sigma.copy_(
            functional.normalize(state @ network.project.weight.double().T, dim=-1).std(0)
        )
    return {name: one.detach().cpu() for name, one in network.named().items()}


def main() -> None:
    args = arguments()
    start = time.perf_counter()
    torch.manual_seed(args.seed)
    torch.backends.cuda.matmul.allow_tf32 = True
    mined = torch.load(args.mined, weights_only=False)
    for name in ("prefixed", "negatives"):
        mined.pop(name)
    loss_of = Loss(mined, args)
    logits, begun = np.load(args.logits), np.load(args.maxsim)
    make = Maker(mined, logits["scores"], begun["scores"], logits["lists"], logits["form"],
                 args.tokenizer, args.blocks, args.seed)  # fmt: skip
    weights = beginning(args.begin, make)
    torch.save(weights, args.out.with_suffix(".begin.pt"))
    network = Late("weights")
    network.fill(weights)
    compiled(network.train())
    work = steps(make, args.processes)
    for block in next(work):  # what is compiled is compiled before the time begins
        loss_of(network, block).backward()
    network.zero_grad(set_to_none=True)
    print(f"ready after {time.perf_counter() - start:.0f} s; {loss_of.told()}", flush=True)
    schedule = Schedule(network, args.rate, args.seconds, heads=network.head_parameters(),
                        head_rate=args.head_rate, averaged_from=AVERAGED_FROM)  # fmt: skip
    while schedule.share < 1:
        for block in next(work):
            (loss_of(network, block) / args.blocks).backward()
        schedule.update()
        if schedule.steps in (10, 30) or schedule.steps % 100 == 0:
            print(f"step {schedule.steps}, {schedule.share:.2f} of the time, scale "
                  f"{network.log_scale.exp():.1f}; {loss_of.told()}", flush=True)  # fmt: skip
    network.load_state_dict(schedule.average)
    weights = {name: one.detach().cpu() for name, one in network.named().items()}
    torch.save(weights, args.out)
    print(f"{schedule.steps} steps, {time.perf_counter() - start:.0f} s in all", flush=True)
    if args.onnx:
        write_late(weights, args.like, args.onnx)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("mined", "logits", "maxsim", "tokenizer", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--begin", type=Path, nargs="+", required=True)
    parser.add_argument("--onnx", type=Path, help="write the file of 8 bits as well")
    parser.add_argument("--like", type=Path, help="an ONNX file with the inputs and operators")
    parser.add_argument("--blocks", type=int, default=4, help=f"of {BLOCK} queries, in a step")
    parser.add_argument("--answer", type=float, default=1.0, help="weight of the answer first")
    parser.add_argument("--opinion", type=float, default=1.0, help="weight of the rerankers")
    parser.add_argument("--begun", type=float, default=0.5, help="weight of the first MaxSim")
    parser.add_argument("--stop", type=float, default=0.2, help="weight of stop words' share")
    parser.add_argument("--keep", type=float, default=1.0, help="weight of earlier similarities")
    parser.add_argument("--hold", type=float, default=0.5, help="weight of earlier vectors")
    parser.add_argument("--rate", type=float, default=5e-5)
    parser.add_argument("--head-rate", type=float, default=1e-3)
    parser.add_argument("--seconds", type=float, default=540)
    parser.add_argument("--processes", type=int, default=12)
    parser.add_argument("--seed", type=int, default=6)
    return parser.parse_args()


if __name__ == "__main__":
    main()
