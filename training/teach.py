"""Score lists of an answer and 15 mined texts for each pair: what the training imitates.

    python training/teach.py logits --mined mined.pt --models reranker.onnx ms-marco.onnx \
        --seconds 170 --out logits.npz
    python training/teach.py maxsim --mined mined.pt --models colbert.onnx embedder.onnx \
        --tokenizer tokenizer.json --out maxsim.npz

`logits`: the mean of the rerankers' standardised logits, on the first one's scale. When the time
is over, the other pairs keep NaN and are not trained on. `maxsim`: MaxSim over the token states of
the mean of the models' weights, without training.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

import mine
from late import PUNCTUATION, Late, counted, mixture, own_scores, row_with_own, token_kinds
from network import DEVICE, WIDTH, Batch, batches, compiled, loaded, mixed_precision, pair
from pairs import FORMS, PREFIX, SHARES, WINDOW, focused, tokenizer
from weights import depth, read

NEAR, LIST, CHUNK = 8, 16, 1024
QUERY_TOKENS, TEXT_TOKENS, PAIR_TOKENS = 48, 176, 160
MOST_TOKENS = 120_000


def lists(mined: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return each pair's answer, 8 nearest texts and 7 of the next 24, and its form."""
    chance = np.random.default_rng(17)
    count = len(mined["corpus"].pairs)
    form = chance.choice(len(SHARES), count, p=SHARES).astype(np.int8)
    found = np.zeros((count, LIST), np.int32)
    found[:, 0] = [one.text for one in mined["corpus"].pairs]
    found[:, 1 : 1 + NEAR] = mined["negatives"][:, :NEAR]
    far = np.argsort(chance.random((count, mine.KEPT - NEAR)), 1)[:, : LIST - 1 - NEAR] + NEAR
    found[:, 1 + NEAR :] = np.take_along_axis(mined["negatives"], far, 1)
    return found, form


class Chunks(Dataset[Any]):
    """Lists as batches of pairs for a reranker, some pairs at once."""

    def __init__(self, mined: dict[str, Any], listed: np.ndarray, form: np.ndarray) -> None:
        self._mined, self._listed, self._form = mined, listed, form
        self._order = np.random.default_rng(5).permutation(len(listed))

    def __len__(self) -> int:
        return -(-len(self._order) // CHUNK)

    def __getitem__(self, number: int) -> tuple[Tensor, list[Batch]]:
        places = self._order[number * CHUNK : (number + 1) * CHUNK]
        rows = []
        for place in places:
            query, form = self._mined["queries"][place], self._mined["forms"][self._form[place]]
            rows += [pair(query, focused(query, form[int(text)], WINDOW), PAIR_TOKENS)
                     for text in self._listed[place]]  # fmt: skip
        return torch.from_numpy(places), list(batches(rows, MOST_TOKENS))


@torch.no_grad()
def logits(args: argparse.Namespace, mined: dict[str, Any]) -> np.ndarray:
    start = time.perf_counter()
    listed, form = lists(mined)
    teachers = [compiled(loaded(file, depth(read(file)), scores=True, rounding="none"))
                for file in args.models]  # fmt: skip
    found = torch.full((len(teachers), len(listed), LIST), torch.nan, device=DEVICE)
    several = {"prefetch_factor": 3} if args.processes else {}
    chunks = DataLoader(Chunks(mined, listed, form), None, num_workers=args.processes, **several)
    for number, (places, parts) in enumerate(chunks, 1):
        flat = torch.zeros(len(teachers), len(places) * LIST, device=DEVICE)
        with mixed_precision():
            for part in parts:
                inputs = part.inputs()
                for line, teacher in enumerate(teachers):
                    flat[line, part.places.to(DEVICE)] = teacher(*inputs).float()
        found[:, places.to(DEVICE)] = flat.view(len(teachers), -1, LIST)
        if number % 20 == 0:
            print(f"{number} chunks, {time.perf_counter() - start:.0f} s", flush=True)
            if time.perf_counter() - start > args.seconds:
                break
    taught = found[:, ~found[0, :, 0].isnan()]
    mean, deviation = taught.mean((1, 2)), taught.std((1, 2))
    first = (taught.argmax(2) == 0).float().mean(1)
    print(f"{taught.shape[1]} pairs; answers first {first.tolist()}, "
          f"means {mean.tolist()}, deviations {deviation.tolist()}", flush=True)  # fmt: skip
    standard = (found - mean[:, None, None]) / deviation[:, None, None]
    return (standard.mean(0) * deviation[0] + mean[0]).cpu().numpy()


@torch.no_grad()
def maxsim(args: argparse.Namespace, mined: dict[str, Any]) -> np.ndarray:
    """Score all lists, one form after the other."""
    start = time.perf_counter()
    listed, form = lists(mined)
    whole = [read(file) for file in args.models]
    network = Late("none", WIDTH)
    network.fill(mixture(whole, [1 / len(whole)] * len(whole)))
    network.project.weight.copy_(torch.eye(WIDTH))
    compiled(network.eval())
    left_out = token_kinds(args.tokenizer) == PUNCTUATION
    prefix = tokenizer(args.tokenizer)([PREFIX.strip()])[0]
    found = np.zeros(listed.shape, np.float32)
    for one in range(FORMS):
        pairs = np.flatnonzero(form == one)
        places, at = np.unique(listed[pairs], return_inverse=True)
        texts, text_mask = token_vectors(
            network, [mined["forms"][one][int(place)] for place in places], prefix[:0],
            TEXT_TOKENS, left_out)  # fmt: skip
        asked, asked_mask = token_vectors(
            network, [mined["queries"][place] for place in pairs], prefix, QUERY_TOKENS, left_out
        )
        where = torch.from_numpy(at.reshape(len(pairs), LIST)).to(DEVICE)
        for first in range(0, len(pairs), 128):
            some = slice(first, first + 128)
            mask = asked_mask[some].float()
            chosen = where[some]
            found[pairs[some]] = own_scores(
                asked[some], mask / mask.sum(1, keepdim=True), texts[chosen], text_mask[chosen]
            ).cpu().numpy()  # fmt: skip
        print(f"form {one}, {time.perf_counter() - start:.0f} s", flush=True)
        del texts, text_mask, asked, asked_mask
    print(f"answers first {(found.argmax(1) == 0).mean():.3f}, "
          f"deviation in a list {found.std(1).mean():.4f}", flush=True)  # fmt: skip
    return found


def token_vectors(
    network: Late, texts: list[np.ndarray], before: np.ndarray, longest: int, left_out: np.ndarray
) -> tuple[Tensor, Tensor]:
    """Return padded token vectors and which of them count."""
    rows = [row_with_own(before, text, longest) for text in texts]
    mask = np.zeros((len(rows), longest), bool)
    for line, (row, own) in enumerate(rows):
        mask[line, : len(row.tokens)] = counted(row, own, left_out)
    kind = torch.bfloat16 if DEVICE == "cuda" else torch.float32
    found = torch.zeros(len(rows), longest, network.dimensions, dtype=kind, device=DEVICE)
    for batch in batches([row for row, _ in rows], MOST_TOKENS):
        with mixed_precision():
            state = network.states(*batch.inputs())
        found[batch.places.to(DEVICE), : state.shape[1]] = functional.normalize(
            state.float(), dim=-1
        ).to(kind)  # fmt: skip
    return found, torch.from_numpy(mask).to(DEVICE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["logits", "maxsim"])
    parser.add_argument("--mined", type=Path, required=True)
    parser.add_argument("--models", type=Path, nargs="+", required=True)
    parser.add_argument("--tokenizer", type=Path)
    parser.add_argument("--seconds", type=float, default=170)
    parser.add_argument("--processes", type=int, default=12)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = True
    mined = torch.load(args.mined, weights_only=False)
    scores = (logits if args.what == "logits" else maxsim)(args, mined)
    listed, form = lists(mined)
    np.savez(args.out, lists=listed, form=form, scores=scores)


if __name__ == "__main__":
    main()
