"""Pack the judged sets for a machine without the package: what the product embeds of each document,
the questions, the judgements, and the words' own candidates.

    python training/judged.py ../shared/data judged.json.xz

Nothing in the pack is trained on. `DEV` names the sets that choices are made on; the others
are looked at when everything is chosen.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import re
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from recollect.ingest.exchange import Line
from recollect.models.embedding_queue import Batches
from recollect.models.folder import builtin
from recollect.models.onnx import OnnxEmbedder
from recollect.settings import Embedding, Settings
from recollect.store.base import WaitingMemory
from recollect.types import Span
from recollect_evaluation.cache import Cache
from recollect_evaluation.evaluation import Evaluation, open_evaluation

if TYPE_CHECKING:
    from recollect.models.base import Matrix

# Of each kind one half: conversations, questions over passages, abstracts. The two sets of
# longmemeval have the same questions, so they stand together.
DEV = ("longmemeval-oracle-turns", "longmemeval-s-snippets", "hotpotqa-1k", "qed-nq", "cranfield")
HELD = ("locomo", "beam-100k", "chroma-chunking", "cacm", "xquad")
CANDIDATES = 100


class Windows:
    """An embedder that only cuts texts as the bundled one does."""

    identity = "windows"
    local = True

    def __init__(self) -> None:
        self._bundled = OnnxEmbedder(builtin("embed", ""), Embedding(), "builtin")

    def warm(self) -> bool:
        return True

    def windows(self, text: str) -> list[Span]:
        return self._bundled.windows(text)

    def documents(self, texts: Sequence[str]) -> Matrix:
        return np.eye(1, 8, dtype=np.float32).repeat(len(texts), axis=0)

    queries = documents


class Recording(Batches):
    """Keeps the texts that it was asked to embed, by the memory's key."""

    texts: dict[int, str]

    def embed_batch(self, batch: Sequence[WaitingMemory]) -> bool:
        self.texts |= {waiting.key: waiting.text for waiting in batch}
        return super().embed_batch(batch)


def packed(folder: Path) -> dict[str, Any]:
    with open_evaluation(folder, Settings(), os.environ, Cache(None)) as bench:
        texts = embedded_texts(bench)
        ids = [id for id in bench.dataset.documents if id in texts]
        place = {id: number for number, id in enumerate(ids)}
        groups = [bench.dataset.documents[id].fields.get("space") or "" for id in ids]
        passages = [(place[id], passage) for id in ids for passage in texts[id]]
        questions = [
            {
                "id": question.id,
                "text": question.text,
                "group": question.group or "" if bench.dataset.grouped else "",
                "among": among(bench, question.id, place),
                "grades": {
                    place[id]: grade
                    for id, grade in bench.dataset.grades[question.id].items()
                    if grade > 0 and id in place
                },
            }
            for question in bench.dataset.scored
        ]
    find = Words(passages, groups)
    for question in questions:
        question["words"] = find(question)
    return {
        "half": "dev" if folder.name in DEV else "held",
        "groups": groups,
        "owners": [owner for owner, _ in passages],
        "passages": [text for _, text in passages],
        "questions": questions,
    }


def embedded_texts(bench: Evaluation) -> dict[str, list[str]]:
    """What is embedded of each document, cut into the passages that the model can read."""
    memory, cutter = bench.memory, Windows()
    documents = bench.dataset.documents.values()
    memory.import_lines(Line(number, one, "", 1) for number, one in enumerate(documents, 1))
    batches = Recording(memory.store.vectors, cutter)
    batches.texts = {}
    while batches.embed():
        pass
    ids = dict(memory.store.database.rows("SELECT key, id FROM memories"))
    return {
        ids[key]: [text[span.start : span.end] for span in cutter.windows(text)]
        for key, text in batches.texts.items()
    }


def among(bench: Evaluation, question: str, place: dict[str, int]) -> list[int] | None:
    candidates = bench.dataset.candidates
    return None if candidates is None else [place[id] for id in candidates[question] if id in place]


class Words:
    """BM25 of SQLite over whole documents, the best of a question's own group or candidates."""

    def __init__(self, passages: Sequence[tuple[int, str]], groups: Sequence[str]) -> None:
        self._groups = groups
        whole: dict[int, str] = {}
        for owner, text in passages:
            whole[owner] = f"{whole.get(owner, '')} {text}"
        self._indexes = {group: sqlite3.connect(":memory:") for group in {*groups}}
        for group, index in self._indexes.items():
            index.execute("CREATE VIRTUAL TABLE t USING fts5(text, tokenize = 'porter unicode61')")
            rows = [(owner, text) for owner, text in whole.items() if groups[owner] == group]
            index.executemany("INSERT INTO t(rowid, text) VALUES (?, ?)", rows)

    def __call__(self, question: dict[str, Any]) -> list[tuple[int, float]]:
        words = dict.fromkeys(re.findall(r"\w+", question["text"].lower()))
        match = " OR ".join(f'"{word}"' for word in words)
        index = self._indexes[question["group"]]
        sql = "SELECT rowid, -bm25(t) FROM t WHERE t MATCH ? ORDER BY 2 DESC"
        allowed = None if question["among"] is None else {*question["among"]}
        found = (
            (owner, round(score, 4))
            for owner, score in index.execute(sql, (match,))
            if allowed is None or owner in allowed
        )
        return [pair for pair, _ in zip(found, range(CANDIDATES), strict=False)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="the folder of judged sets")
    parser.add_argument("out", type=Path)
    args = parser.parse_args()
    sets = {}
    for name in (*DEV, *HELD):
        sets[name] = packed(args.data / name)
        print(f"{name}: {len(sets[name]['passages'])} passages, "
              f"{len(sets[name]['questions'])} questions", flush=True)  # fmt: skip
    text = json.dumps(sets, ensure_ascii=False, separators=(",", ":"))
    args.out.write_bytes(lzma.compress(text.encode(), preset=6))
    print(f"{args.out}: {args.out.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
