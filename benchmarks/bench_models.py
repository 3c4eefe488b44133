"""Measure what Recollect adds to the bare onnxruntime session, with the built-in models.

One-shot search against a bare script that loads the model and embeds one query; embedding rate
against the bare session; reranking 20 candidates against the bare session; saving with the model
against saving without; and the memory of a process that serves 100,000 memories with both models.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from data import data_argument, median, passages
from embeddings import cache_argument, embedded, embedder
from recollect import Recollect
from recollect.ingest.draft import make_draft
from recollect.lifetime import Lifetime
from recollect.models.folder import builtin
from recollect.models.onnx import OnnxReranker, usable_threads
from recollect.stages.rerank import RerankRun

if TYPE_CHECKING:
    from numpy.typing import NDArray

QUERY = "who was the first woman to win the long-distance race"
BARE = """
import numpy, onnxruntime, tokenizers
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
session = onnxruntime.InferenceSession({model!r}, options, providers=["CPUExecutionProvider"])
tokens = tokenizers.Tokenizer.from_file({tokenizer!r}).encode({query!r})
inputs = dict(input_ids=tokens.ids, attention_mask=tokens.attention_mask,
             token_type_ids=tokens.type_ids)
session.run(None, {{name: numpy.array([value], numpy.int64) for name, value in inputs.items()}})
"""
SERVING = """
import resource, sys
from recollect import Recollect
with Recollect(home={home!r}) as memory:
    for recipe in ("vault", "gnosis", "covalence"):
        memory.search({query!r}, recipe=recipe)
    for line in open("/proc/self/status"):
        if line.startswith(("VmRSS", "VmHWM")):
            print(line.split()[0], int(line.split()[1]) // 1024, "MB")
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    data_argument(parser)
    cache_argument(parser)
    parser.add_argument("--memories", type=int, default=10_000, help="for the one-shot search")
    parser.add_argument("--serving", type=int, default=100_000, help="for the memory of a server")
    parser.add_argument("--runs", type=int, default=15)
    parts = {part.__name__: part for part in (one_shot, embedding_rate, reranking, saving, serving)}
    parser.add_argument("--only", choices=parts, help="measure this part alone")
    args = parser.parse_args()
    for name, part in parts.items():
        if args.only in (None, name):
            part(args)


def one_shot(args: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as home:
        fill(home, args, args.memories)
        folder = builtin("embed", "")
        bare = BARE.format(model=str(folder.model), tokenizer=str(folder.tokenizer), query=QUERY)
        command = [str(Path(sys.executable).with_name("recollect")), "search", QUERY, "--json"]
        times = interleaved(
            {
                "bare": lambda: run([sys.executable, "-c", bare], home),
                "recollect": lambda: run(command, home),
            },
            args.runs,
        )
    tell("one-shot: bare load and one query", times["bare"])
    tell(f"one-shot: search of {args.memories:,}", times["recollect"])
    ratio("one-shot, ours / bare", times["recollect"], times["bare"], "at most 3")


def embedding_rate(args: argparse.Namespace) -> None:
    """Embed 100 passages by turns: saved and embedded, and through the bare session."""
    rows = passages(args.data, 900)
    spent = {"ours": 0.0, "bare": 0.0}
    # A one-shot process makes no vectors in the background, which would slow the bare session.
    with (
        tempfile.TemporaryDirectory() as home,
        Recollect(home=home, lifetime=Lifetime.ONCE) as memory,
    ):
        model: Any = memory.models.embedder()
        texts = [f"{row['title']}\n{row['text']}" for row in rows]
        encodings = model._model.encode([(text,) for text in texts])
        model._model.ready()
        bare_outputs(model._model.session, encodings[:100])  # warm
        for first in range(100, len(rows), 100):
            batch = slice(first, first + 100)
            turns: dict[str, Callable[[], object]] = {
                "ours": partial(saved_and_embedded, memory, rows[batch]),
                "bare": partial(bare_outputs, model._model.session, encodings[batch]),
            }
            # The first one pays for text lengths new to onnxruntime, so the order alternates.
            for name in sorted(turns, reverse=first % 200 == 0):
                start = time.perf_counter()
                turns[name]()
                spent[name] += time.perf_counter() - start
    count = len(rows) - 100
    print(f"{'import with embedding':<38}{count / spent['ours']:>9.1f} a second")
    print(f"{'bare session, same batches':<38}{count / spent['bare']:>9.1f} a second")
    print(f"{'rate, ours / bare':<38}{spent['bare'] / spent['ours']:>9.2f}  (at least 0.9)")


def saved_and_embedded(memory: Recollect, rows: Sequence[dict[str, str]]) -> None:
    memory.save_all([make_draft(row) for row in rows])
    memory.embed_now()


def saving(args: argparse.Namespace) -> None:
    """Save by turns with the loaded model, and without. A single line gets its vector before the
    save returns; everything else is left to the background."""
    rows = passages(args.data, 700)
    book = " ".join(row["text"] for row in rows)[:300_000]
    off = os.environ | {"RECOLLECT_EMBEDDING__PROVIDER": "none"}
    with (
        tempfile.TemporaryDirectory() as home,
        Recollect(home=Path(home) / "with") as with_model,
        Recollect(home=Path(home) / "without", environment=off) as without,
    ):
        with_model.warm_up()
        numbers = iter(range(10_000))

        def measured(what: str, text: Callable[[], str], runs: int) -> None:
            def save(memory: Recollect) -> None:
                memory.save(title=f"{next(numbers)}", text=text())

            times = interleaved(
                {"with": partial(save, with_model), "without": partial(save, without)}, runs
            )
            tell(f"save {what}, with the model", times["with"])
            tell(f"save {what}, without", times["without"])

        texts = iter([row["text"] for row in rows] * 2)
        measured("a line", lambda: next(texts)[:200], 3 * args.runs)
        measured("a passage", lambda: next(texts), args.runs)
        measured("300 kB", lambda: f"{next(numbers)} {book}", 3)
        measured("a line behind that", lambda: next(texts)[:200], args.runs)
        print(f"{'vectors that wait then':<38}{with_model.waiting():>9}")


def reranking(args: argparse.Namespace) -> None:
    reranker = OnnxReranker(builtin("rerank", ""), "builtin")
    words = " ".join(row["text"] for row in passages(args.data, 60)).split()
    texts = [" ".join(words[75 * place : 75 * place + 75]) for place in range(20)]
    candidates = [(str(place), text) for place, text in enumerate(texts)]
    reranker.ready()
    encodings = reranker._model.encode([(QUERY, text) for text in texts])
    lengths = [len(one.ids) for one in encodings]
    times = interleaved(
        {
            "bare": lambda: bare_outputs(reranker._model.session, encodings),
            "ours": lambda: RerankRun(reranker, QUERY, 8).by(60, candidates),
        },
        args.runs,
    )
    tell(f"rerank 20 of {sum(lengths) // 20} tokens: bare", times["bare"])
    tell("rerank 20: through the stage", times["ours"])
    ratio("rerank, ours / bare", times["ours"], times["bare"], "at most 1.1")


def serving(args: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as home:
        fill(home, args, args.serving)
        script = SERVING.format(home=home, query=QUERY)
        print(f"serving {args.serving:,} memories, both models (under 700 MB):")
        subprocess.run([sys.executable, "-c", script], check=True)


def fill(home: str, args: argparse.Namespace, count: int) -> None:
    """Make a vault of passages, with the vectors of `embeddings.py`."""
    vectors, _ = embedded(args.data, args.cache, count)
    settings_off = os.environ | {"RECOLLECT_EMBEDDING__PROVIDER": "none"}
    with Recollect(home=home, environment=settings_off) as memory:
        rows = passages(args.data, count)
        for first in range(0, len(rows), 5000):
            memory.save_all([make_draft(row) for row in rows[first : first + 5000]])
        named = memory.store.database.rows("SELECT id, key FROM memories")
        keys: dict[str, int] = {str(id): key for id, key in named}
        made = [(keys[row["id"]], vector) for row, vector in zip(rows, vectors, strict=True)]
        memory.store.vectors.put(embedder().identity, vectors.shape[1], made)


def bare_outputs(session: Any, encodings: Sequence[Any]) -> list[NDArray[np.float32]]:
    """Run the bare session the obvious way: one text a thread, one thread per core."""
    names = [one.name for one in session.get_inputs()]

    def output(one: Any) -> NDArray[np.float32]:
        values = {
            "input_ids": one.ids,
            "attention_mask": one.attention_mask,
            "token_type_ids": one.type_ids,
        }
        result: NDArray[np.float32] = session.run(
            None, {name: np.array([values[name]], np.int64) for name in names}
        )[0]
        return result

    with ThreadPoolExecutor(usable_threads()) as pool:
        return list(pool.map(output, encodings))


def run(command: list[str], home: str) -> None:
    environment = os.environ | {"RECOLLECT_HOME": home}
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)


def interleaved(calls: dict[str, Callable[[], object]], runs: int) -> dict[str, list[float]]:
    """Run each call this many times, by turns, so that a busy machine slows all of them alike."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(runs):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - start)
    return times


def tell(name: str, times: list[float]) -> None:
    print(f"{name:<38}{median(times) * 1000:>9.1f} ms")


def ratio(name: str, ours: list[float], bare: list[float], wanted: str) -> None:
    print(f"{name:<38}{median(ours) / median(bare):>9.2f}  ({wanted})")


if __name__ == "__main__":
    main()
