"""Compute vectors or logits of many texts as onnxruntime would with a file, on a GPU.

    python training/compute.py vectors --model embedder.onnx --texts judged.json.xz \
        --tokenizer tokenizer.json --out vectors.npz
    python training/compute.py logits --model reranker.onnx --texts asked.json.xz \
        --tokenizer tokenizer.json --out logits.npz

Of the judged sets it takes every passage and every question; of `asked` a list of questions, each
with its texts. benchmarks/fill_cache.py puts them into the evaluation's cache.
"""

from __future__ import annotations

import argparse
import json
import lzma
from pathlib import Path
from typing import Any

import numpy as np
import torch

from network import LONGEST, loaded, outputs, pair, single
from pairs import PREFIX, tokenizer
from weights import depth, read

PAIR_TOKENS = 256


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["vectors", "logits"])
    for name in ("model", "texts", "tokenizer", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    args = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = True  # near enough to 32 bits, and twice as fast
    scores = args.what == "logits"
    network = loaded(args.model, depth(read(args.model)), scores=scores, rounding="inputs")
    tokens = tokenizer(args.tokenizer)
    packed = json.loads(lzma.decompress(args.texts.read_bytes()))

    def vectors(texts: list[str]) -> np.ndarray:
        made = tokens(texts)
        rows = [single(made[place], LONGEST) for place in range(len(made))]
        return outputs(network, rows).cpu().numpy().astype(np.float16)

    found: dict[str, Any] = {}
    if scores:
        asked = tokens([one["text"] for one in packed])
        texts = tokens([text for one in packed for text in one["texts"]])
        owners = [place for place, one in enumerate(packed) for _ in one["texts"]]
        rows = [pair(asked[owner], texts[place], PAIR_TOKENS) for place, owner in enumerate(owners)]
        found["logits"] = outputs(network, rows).cpu().numpy()
    else:
        for name, one in packed.items():
            found[f"{name} passages"] = vectors(one["passages"])
            found[f"{name} questions"] = vectors([PREFIX + one["text"] for one in one["questions"]])
    np.savez(args.out, **found)


if __name__ == "__main__":
    main()
