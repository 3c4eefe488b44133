"""Compare embedding models and cross-encoders: retrieval quality on judged sets, and speed.

A model is a folder as `recollect.models.folder` reads it: ``model.onnx``, ``tokenizer.json`` and
``model.json``, which says how to use it. A data set is a folder in BEIR's layout
(``corpus.jsonl.gz``, ``queries.jsonl``, ``qrels.tsv``); where rows have a ``group``, a query
searches its own group only. A document is its title, a line break, and its text.

What ``quality`` measures, all as nDCG@10 with linear gain, over the queries that have judgements:

    bm25    SQLite FTS5, ``porter unicode61``, stop words removed, OR of the terms, title weighted
    dense   cosine, exact
    fused   z(bm25) + z(cosine) over the union of both top 100; a document that BM25 did not
            return counts as 0 for BM25; the cosine is always the true one
    blend   the fused top 20, reordered by minmax(fused) + 0.05 * clip(logit, -10, 10)
    rerank  the fused top 20, reordered by the cross-encoder's logit alone

Examples::

    compare_models.py quality --data DATA --embed models/granite --rerank models/minilm-l12
    compare_models.py speed --data DATA --embed models/granite
    compare_models.py pairs --embed models/granite
"""

from __future__ import annotations

import argparse
import gzip
import json
import lzma
import random
import sqlite3
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from recollect.models.folder import ModelFolder
from recollect.models.onnx import OnnxEmbedder, OnnxReranker
from recollect.settings import Embedding

Array = npt.NDArray[Any]

SETS = (
    "locomo", "longmemeval-oracle-turns", "beam-100k", "hotpotqa-1k",
    "qed-nq", "chroma-chunking", "cranfield", "cacm",
)  # fmt: skip
DEPTH = 100  # how many documents each channel hands to the fusion
RERANK_DEPTH = 20
LOGIT_WEIGHT = 0.05
LOGIT_CLIP = 10.0
TITLE_WEIGHT = 5.0
STOP_WORDS = frozenset(
    "a about after all also am an and any are as at be because been before being both but by "
    "can could did do does doing down during each few for from further had has have having he "
    "her here hers him his how i if in into is it its just me more most my no nor not now of "
    "off on once only or other our ours out over own s same she should so some such t than "
    "that the their theirs them then there these they this those through to too under until "
    "up very was we were what when where which while who whom why will with would you your "
    "yours".split()
)

# Fixed sentences: a converted or requantised model must keep these cosines.
PAIRS = (
    ("database performance tuning", "optimizing slow queries"),
    ("database performance tuning", "banana bread recipe"),
    ("optimizing slow queries", "banana bread recipe"),
    ("How do I reset my password?", "Steps to recover account access"),
    ("How do I reset my password?", "The cat slept on the warm windowsill"),
    ("We moved the nightly backup to 02:30 UTC", "when does the backup job run"),
)


# --- data -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Document:
    id: str
    title: str
    text: str
    group: str

    @property
    def whole(self) -> str:
        return f"{self.title}\n{self.text}"


@dataclass(frozen=True)
class Question:
    id: str
    text: str
    group: str


@dataclass(frozen=True)
class DataSet:
    name: str
    documents: list[Document]
    questions: list[Question]
    judgements: dict[str, dict[str, float]]


def read_lines(folder: Path, stem: str) -> Iterator[dict[str, Any]]:
    """Rows of ``stem.jsonl``, ``stem.jsonl.gz`` or ``stem.jsonl.xz``, whichever is there."""
    for suffix, opener in (("", open), (".gz", gzip.open), (".xz", lzma.open)):
        path = folder / f"{stem}.jsonl{suffix}"
        if path.exists():
            with opener(path, "rt", encoding="utf-8") as lines:
                yield from map(json.loads, lines)
            return
    raise SystemExit(f"There is no {stem}.jsonl in {folder}.")


def load_set(root: Path, name: str, limit: int, seed: int) -> DataSet:
    """A set with at most ``limit`` of its judged questions, the same ones for the same seed."""
    folder = root / name
    documents = [
        Document(row["_id"], row.get("title") or "", row.get("text") or "", row.get("group") or "")
        for row in read_lines(folder, "corpus")
    ]
    judgements: dict[str, dict[str, float]] = defaultdict(dict)
    for line in (folder / "qrels.tsv").read_text("utf-8").splitlines()[1:]:
        query, document, score = line.split("\t")
        if float(score) > 0:
            judgements[query][document] = float(score)
    questions = [
        Question(row["_id"], row["text"], row.get("group") or "")
        for row in read_lines(folder, "queries")
        if row["_id"] in judgements
    ]
    if len(questions) > limit:
        questions = random.Random(seed).sample(questions, limit)
    return DataSet(name, documents, questions, dict(judgements))


# --- models -----------------------------------------------------------------------------------


def model_folder(
    folder: Path, kind: Literal["embed", "rerank"], max_length: int | None
) -> ModelFolder:
    """Return the folder as Recollect reads it, optionally with a shorter window."""
    model = ModelFolder(folder, kind)
    shortest = min(max_length or model.declared.max_length, model.declared.max_length)
    model.declared = msgspec.structs.replace(model.declared, max_length=shortest)
    return model


class Embedder(OnnxEmbedder):
    """Recollect's own embedder, with the name and the window for the tables."""

    def __init__(self, folder: Path, max_length: int | None = None) -> None:
        model = model_folder(folder, "embed", max_length)
        super().__init__(model, Embedding(), "onnx")
        self.name, self.max_length = folder.name, model.declared.max_length


class CrossEncoder(OnnxReranker):
    """Recollect's own reranker, with the name and the window for the tables."""

    def __init__(self, folder: Path, max_length: int | None = None) -> None:
        model = model_folder(folder, "rerank", max_length)
        super().__init__(model, "onnx")
        self.name, self.max_length = folder.name, model.declared.max_length


# --- rankings ---------------------------------------------------------------------------------


class Keywords:
    """BM25 by SQLite FTS5 over one data set, in memory."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self.db = sqlite3.connect(":memory:")
        self.db.execute(
            "CREATE VIRTUAL TABLE d USING fts5(title, text, grp UNINDEXED, "
            "tokenize='porter unicode61')"
        )
        rows = ((n, d.title, d.text, d.group) for n, d in enumerate(documents))
        self.db.executemany("INSERT INTO d(rowid, title, text, grp) VALUES (?, ?, ?, ?)", rows)

    def match(self, question: Question) -> dict[int, float]:
        """The best documents' numbers and scores; higher is better."""
        words = "".join(c if c.isalnum() else " " for c in question.text.lower()).split()
        terms = dict.fromkeys(w for w in words if w not in STOP_WORDS) or dict.fromkeys(words)
        if not terms:
            return {}
        found = self.db.execute(
            "SELECT rowid, -bm25(d, ?, 1.0) AS score FROM d WHERE d MATCH ? AND grp = ? "
            "ORDER BY score DESC, rowid LIMIT ?",
            (TITLE_WEIGHT, " OR ".join(f'"{t}"' for t in terms), question.group, DEPTH),
        )
        return dict(found.fetchall())


def best(scores: dict[int, float], count: int) -> list[int]:
    return sorted(scores, key=lambda n: (-scores[n], n))[:count]


def standardised(values: Array) -> Array:
    spread = values.std()
    return (values - values.mean()) / spread if spread > 0 else np.zeros_like(values)


def fuse(bm25: dict[int, float], cosine: dict[int, float]) -> dict[int, float]:
    union = sorted(set(bm25) | set(best(cosine, DEPTH)))
    if not union:
        return {}
    keyword = standardised(np.array([bm25.get(n, 0.0) for n in union]))
    vector = standardised(np.array([cosine[n] for n in union]))
    return dict(zip(union, (keyword + vector).tolist(), strict=True))


def blend(fused: Sequence[float], logits: Array) -> Array:
    values = np.array(fused)
    spread = values.max() - values.min()
    scaled = (values - values.min()) / spread if spread > 0 else np.zeros_like(values)
    return scaled + LOGIT_WEIGHT * np.clip(logits, -LOGIT_CLIP, LOGIT_CLIP)


def ndcg(ranked: Sequence[str], relevant: dict[str, float], k: int = 10) -> float:
    discounts = [1.0 / np.log2(rank + 2) for rank in range(k)]
    gained = sum(relevant.get(d, 0.0) * w for d, w in zip(ranked, discounts, strict=False))
    ideal = sorted(relevant.values(), reverse=True)
    return float(gained / sum(g * w for g, w in zip(ideal, discounts, strict=False)))


# --- quality ----------------------------------------------------------------------------------


def vectors_for(embedder: Embedder, data: DataSet, cache: Path | None) -> tuple[Array, Array]:
    """Return the vectors of the documents and the questions, cached if possible."""
    path = (
        cache
        and cache / f"{embedder.name}-{embedder.max_length}-{data.name}-{len(data.questions)}.npz"
    )
    if path and path.exists():
        stored = np.load(path)
        return stored["documents"], stored["questions"]
    documents = embedder.documents([d.whole for d in data.documents])
    questions = embedder.queries([q.text for q in data.questions])
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(path, documents=documents, questions=questions)
    return documents, questions


def evaluate(
    data: DataSet,
    embedder: Embedder | None,
    rerankers: Sequence[CrossEncoder],
    rerank_limit: int,
    cache: Path | None,
) -> dict[str, dict[str, float]]:
    """nDCG@10 per ranking and question."""
    keywords = Keywords(data.documents)
    members: dict[str, list[int]] = defaultdict(list)
    for n, document in enumerate(data.documents):
        members[document.group].append(n)
    if embedder:
        documents, questions = vectors_for(embedder, data, cache)
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for row, question in enumerate(data.questions):
        relevant = data.judgements[question.id]

        def note(ranking: str, order: Sequence[int]) -> None:
            ids = [data.documents[n].id for n in order[:10]]
            found[ranking][question.id] = ndcg(ids, relevant)  # noqa: B023

        bm25 = keywords.match(question)
        note("bm25", best(bm25, 10))
        if not embedder:
            continue
        inside = members[question.group]
        cosine = dict(zip(inside, (documents[inside] @ questions[row]).tolist(), strict=True))
        fused = fuse(bm25, cosine)
        note("dense", best(cosine, 10))
        note("fused", best(fused, 10))
        if row >= rerank_limit:
            continue
        top = best(fused, RERANK_DEPTH)
        for reranker in rerankers:
            label = f"{reranker.name}@{reranker.max_length}"
            texts = [data.documents[n].whole for n in top]
            logits = np.array(reranker.logits(question.text, texts))
            blended = blend([fused[n] for n in top], logits)
            note(f"blend {label}", best(dict(zip(top, blended.tolist(), strict=True)), 10))
            note(f"rerank {label}", best(dict(zip(top, logits.tolist(), strict=True)), 10))
            found["fused, reranked questions"][question.id] = found["fused"][question.id]
    return dict(found)


def quality(args: argparse.Namespace) -> None:
    embedders = [Embedder(folder, args.max_length) for folder in args.embed]
    rerankers = [
        CrossEncoder(folder, length) for folder in args.rerank for length in args.rerank_max_length
    ]
    report: dict[str, dict[str, dict[str, dict[str, float]]]] = defaultdict(dict)
    for name in args.sets:
        data = load_set(args.data, name, args.questions, args.seed)
        candidates: list[Embedder | None] = [*embedders] or [None]
        for embedder in candidates:
            started = time.perf_counter()
            scores = evaluate(data, embedder, rerankers, args.rerank_questions, args.cache)
            label = f"{embedder.name}@{embedder.max_length}" if embedder else "bm25"
            report[label][name] = scores
            means = "  ".join(f"{k} {statistics.fmean(v.values()):.4f}" for k, v in scores.items())
            print(
                f"{label:28} {name:26} {means}  ({time.perf_counter() - started:.0f} s)", flush=True
            )
            if args.out:
                args.out.write_text(json.dumps(report))
    print_table(report, args.sets)


def print_table(
    report: dict[str, dict[str, dict[str, dict[str, float]]]], sets: Sequence[str]
) -> None:
    print("\n| model | ranking | " + " | ".join(sets) + " | mean |")
    print("|" + "---|" * (len(sets) + 3))
    for label, by_set in report.items():
        for ranking in dict.fromkeys(r for scores in by_set.values() for r in scores):
            means = [statistics.fmean(by_set[s][ranking].values()) for s in sets]
            cells = " | ".join(f"{m:.3f}" for m in [*means, statistics.fmean(means)])
            print(f"| {label} | {ranking} | {cells} |")


# --- speed ------------------------------------------------------------------------------------


def median_ms(work: Callable[[], object], repeats: int) -> float:
    """Median of ``repeats`` timed calls, after two that are not timed."""
    times = []
    for n in range(repeats + 2):
        started = time.perf_counter()
        work()
        if n >= 2:
            times.append((time.perf_counter() - started) * 1000)
    return statistics.median(times)


def speed(args: argparse.Namespace) -> None:
    """Load time, a short query, and documents a second on all cores."""
    rows = zip(read_lines(args.data / args.speed_set, "corpus"), range(args.passages), strict=False)
    passages = [f"{row.get('title') or ''}\n{row['text']}" for row, _ in rows]
    short = "how do I make slow database queries faster?"
    for folder in args.embed:
        started = time.perf_counter()
        model = Embedder(folder)
        model.queries([short])
        load = (time.perf_counter() - started) * 1000
        query = median_ms(partial(model.queries, [short]), 100)
        started = time.perf_counter()
        model.documents(passages)
        rate = len(passages) / (time.perf_counter() - started)
        print(f"{model.name:32} load {load:.0f} ms, query {query:.2f} ms, {rate:.0f} documents/s")


def pairs(args: argparse.Namespace) -> None:
    for folder in args.embed:
        model = Embedder(folder)
        for left, right in PAIRS:
            a, b = model.documents([left, right])
            print(f"{model.name:20} {float(a @ b):.4f}  {left!r} / {right!r}")


# --- command line -----------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(required=True)

    q = commands.add_parser("quality", help="nDCG@10 on judged sets")
    q.add_argument("--data", type=Path, required=True, help="folder that holds the data sets")
    q.add_argument("--embed", type=Path, nargs="*", default=[], help="folders of embedding models")
    q.add_argument("--rerank", type=Path, nargs="*", default=[], help="folders of cross-encoders")
    q.add_argument("--sets", nargs="+", default=list(SETS))
    q.add_argument("--questions", type=int, default=1000, help="at most this many of each set")
    q.add_argument(
        "--rerank-questions", type=int, default=300, help="at most this many are reranked"
    )
    q.add_argument(
        "--max-length",
        type=int,
        help="tokens of a document that are embedded (the model's own limit)",
    )
    q.add_argument(
        "--rerank-max-length", type=int, nargs="+", default=[512], help="tokens of a pair"
    )
    q.add_argument("--seed", type=int, default=7)
    q.add_argument("--cache", type=Path, help="folder for vectors, to embed each set once")
    q.add_argument("--out", type=Path, help="JSON file for every question's score")
    q.set_defaults(run=quality)

    s = commands.add_parser("speed", help="load time, latency, throughput")
    s.add_argument("--data", type=Path, required=True)
    s.add_argument("--embed", type=Path, nargs="+", required=True)
    s.add_argument("--speed-set", default="scale-wiki")
    s.add_argument("--passages", type=int, default=400)
    s.set_defaults(run=speed)

    p = commands.add_parser("pairs", help="cosines of fixed sentence pairs")
    p.add_argument("--embed", type=Path, nargs="+", required=True)
    p.set_defaults(run=pairs)

    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
