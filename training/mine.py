"""Texts that a query is easily confused with: what words and the bundled embedder find near it.

    python training/mine.py --pairs train.jsonl.xz --tokenizer tokenizer.json --embedder bge.onnx \
        --out mined.pt

The candidates come from the pair's own source; in conversations most of them from the same one, as
a memory search meets them. Texts that say nearly the same as the answer are left out.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from network import DEVICE, loaded, outputs, single
from pairs import CONVERSATIONS, FORMS, PREFIX, Corpus, Tokens, read_pairs, shown, tokenizer

# So many of each pair are kept, and training draws from them.
KEPT = 32
DEEP = 40
# A text so near to the answer may answer, too.
ALIKE = 0.95
K1, B = 1.2, 0.75


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("pairs", "tokenizer", "embedder", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--second", type=Path, help="keep this embedder's vectors as well")
    args = parser.parse_args()
    start = time.perf_counter()
    corpus = read_pairs(args.pairs)
    tokens = tokenizer(args.tokenizer)
    forms = [tokens(shown(corpus, form)) for form in range(FORMS)]
    queries = tokens([pair.query for pair in corpus.pairs])
    prefixed = tokens([PREFIX + pair.query for pair in corpus.pairs])
    print(f"{len(corpus.pairs)} pairs, {len(corpus.texts)} texts; tokens after "
          f"{time.perf_counter() - start:.0f} s", flush=True)  # fmt: skip
    rows = [single(forms[0][place], 192) for place in range(len(corpus.texts))]
    query_rows = [single(prefixed[place], 96) for place in range(len(corpus.pairs))]
    model = loaded(args.embedder, 12, scores=False, rounding="none")
    texts, asked = outputs(model, rows), outputs(model, query_rows)
    second = {}
    if args.second:
        model = loaded(args.second, 12, scores=False, rounding="none")
        second = {
            "texts_second": outputs(model, rows).half().cpu(),
            "queries_second": outputs(model, query_rows).half().cpu(),
        }
    print(f"embedded after {time.perf_counter() - start:.0f} s", flush=True)
    kept = np.zeros((len(corpus.pairs), KEPT), np.int32)
    for source in dict.fromkeys(pair.source for pair in corpus.pairs):
        places, found = mined(corpus, source, forms[0], queries, texts, asked)
        kept[places] = found
    print(f"mined after {time.perf_counter() - start:.0f} s", flush=True)
    torch.save(
        {
            "corpus": corpus,
            "forms": forms,
            "queries": queries,
            "prefixed": prefixed,
            "negatives": kept,
            "texts_before": texts.half().cpu(),
            "queries_before": asked.half().cpu(),
        }
        | second,
        args.out,
    )
    print(f"saved after {time.perf_counter() - start:.0f} s", flush=True)


def mined(
    corpus: Corpus, source: str, tokens: Tokens, queries: Tokens, texts: Tensor, asked: Tensor
) -> tuple[np.ndarray, np.ndarray]:
    """The pairs of a source, and of each the texts that are not its answer, the nearest first."""
    chance = np.random.default_rng(3)
    own = np.array([place for place, text in enumerate(corpus.texts) if text.source == source])
    pairs = np.array([place for place, pair in enumerate(corpus.pairs) if pair.source == source])
    by_words = own[words_best([tokens[place] for place in own], [queries[p] for p in pairs])]
    by_meaning = own[meaning_best(texts[torch.from_numpy(own).to(DEVICE)], asked, pairs)]
    candidates = np.stack([by_words, by_meaning], 2).reshape(len(pairs), -1)
    if source in CONVERSATIONS:
        candidates = np.concatenate([same_talk(corpus, own, pairs, texts, asked), candidates], 1)
    answers: dict[str, set[int]] = defaultdict(set)
    for pair in corpus.pairs:
        answers[pair.query.lower()].add(pair.text)
    alike = near(texts, candidates, np.array([corpus.pairs[pair].text for pair in pairs]))
    found = np.zeros((len(pairs), KEPT), np.int32)
    for line, place in enumerate(pairs):
        pair = corpus.pairs[place]
        wrong = answers[pair.query.lower()]
        said = corpus.texts[pair.text].text
        listed = [
            int(one)
            for one, same in zip(candidates[line], alike[line], strict=True)
            if one >= 0 and not same and one not in wrong and corpus.texts[one].text != said
        ]
        listed = list(dict.fromkeys(listed))[:KEPT]
        while len(listed) < KEPT:
            one = int(chance.choice(own))
            if one not in wrong:
                listed.append(one)
        found[line] = listed
    return pairs, found


def words_best(texts: Sequence[np.ndarray], queries: Sequence[np.ndarray]) -> np.ndarray:
    """The places of the best texts of each query by BM25 over their tokens."""
    lengths = np.array([len(text) for text in texts], np.float32)
    line = np.repeat(np.arange(len(texts)), lengths.astype(int))
    words = 1 + max(int(text.max(initial=0)) for text in (*texts, *queries))
    keys, counts = np.unique(line * words + np.concatenate(texts), return_counts=True)
    lines, columns = keys // words, keys % words
    having = np.bincount(columns, minlength=words)
    rarity = np.log1p((len(texts) - having + 0.5) / (having + 0.5))
    longer = (1 - B + B * lengths / lengths.mean())[lines]
    weights = rarity[columns] * counts * (K1 + 1) / (counts + K1 * longer)
    table = torch.sparse_coo_tensor(
        torch.from_numpy(np.stack([lines, columns])),
        torch.from_numpy(weights.astype(np.float32)),
        (len(texts), words),
    ).to(DEVICE).coalesce().to_sparse_csr()  # fmt: skip
    best = []
    for first in range(0, len(queries), 512):
        some = queries[first : first + 512]
        asked = torch.zeros(words, len(some), device=DEVICE)
        column = np.repeat(np.arange(len(some)), [len(query) for query in some])
        asked[torch.from_numpy(np.concatenate(some)), torch.from_numpy(column)] = 1.0
        scores = torch.sparse.mm(table, asked).T
        best.append(scores.topk(min(DEEP, len(texts))).indices.cpu())
    return torch.cat(best).numpy()


def meaning_best(texts: Tensor, asked: Tensor, pairs: np.ndarray) -> np.ndarray:
    best = [
        (asked[torch.from_numpy(some).to(DEVICE)] @ texts.T).topk(min(DEEP, len(texts))).indices
        for some in parts(pairs, 1024)
    ]
    return torch.cat(best).cpu().numpy()


def same_talk(
    corpus: Corpus, own: np.ndarray, pairs: np.ndarray, texts: Tensor, asked: Tensor
) -> np.ndarray:
    """What else was said in the same conversation, the nearest first; −1 where there is no more."""
    talks: dict[str, list[int]] = defaultdict(list)
    for place in own:
        talks[corpus.texts[place].group].append(int(place))
    found = np.full((len(pairs), KEPT * 2 // 3), -1)
    by_talk: dict[str, list[int]] = defaultdict(list)
    for line, pair in enumerate(pairs):
        by_talk[corpus.texts[corpus.pairs[pair].text].group].append(line)
    for talk, lines in by_talk.items():
        members = np.array(talks[talk])
        scores = asked[torch.from_numpy(pairs[lines]).to(DEVICE)] @ texts[
            torch.from_numpy(members).to(DEVICE)
        ].T  # fmt: skip
        order = scores.argsort(1, descending=True).cpu().numpy()[:, : found.shape[1]]
        found[lines, : order.shape[1]] = members[order]
    return found


def near(texts: Tensor, candidates: np.ndarray, answers: np.ndarray) -> np.ndarray:
    """Which candidates say nearly the same as the answer."""
    found = []
    for some in parts(np.arange(len(answers)), 2048):
        listed = torch.from_numpy(candidates[some].clip(min=0)).to(DEVICE)
        answer = texts[torch.from_numpy(answers[some]).to(DEVICE)]
        found.append(torch.einsum("pcd,pd->pc", texts[listed], answer) > ALIKE)
    return torch.cat(found).cpu().numpy()


def parts(places: np.ndarray, size: int) -> Iterator[np.ndarray]:
    for first in range(0, len(places), size):
        yield places[first : first + size]


if __name__ == "__main__":
    main()
