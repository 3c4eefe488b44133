"""Corpora and vaults that the benchmarks share."""

from __future__ import annotations

import argparse
import gzip
import json
import lzma
import random
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from recollect.store.history import Author, Change

SENTENCE = re.compile(r"(?<=[.!?])\s+")
# The change of a benchmark that writes to a store itself.
CHANGE = Change("save", Author("benchmark"), lambda: datetime(2026, 1, 1, tzinfo=UTC))
OPENERS = {".xz": lzma.open, ".gz": gzip.open}


def data_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--data",
        type=Path,
        default=Path("../shared/data"),
        help="folder that holds scale-wiki/ (default: %(default)s)",
    )


def passages(data: Path, count: int) -> list[dict[str, str]]:
    """The first `count` passages of scale-wiki as memories; synthetic ones where it is absent."""
    file = data / "scale-wiki" / "corpus.jsonl.xz"
    if not file.exists():
        raise SystemExit(f"{file} is not there; give the folder with --data.")
    return [
        {"id": row["_id"], "title": row["title"], "text": row["text"]}
        for row, _ in zip(_rows(file), range(count), strict=False)
    ]


def mixed_passages(data: Path, count: int) -> list[dict[str, str]]:
    """As many passages as asked for, mixed from the sentences of all passages of scale-wiki."""
    rows = passages(data, 100_000)
    sentences = [one for row in rows for one in SENTENCE.split(row["text"])]
    chance = random.Random(1)
    return [
        {
            "id": f"mixed-{number}",
            "title": chance.choice(rows)["title"],
            "text": " ".join(chance.choices(sentences, k=chance.randint(2, 6))),
        }
        for number in range(count)
    ]


def questions(data: Path, count: int) -> list[str]:
    """The first `count` queries of scale-wiki."""
    file = data / "scale-wiki" / "queries.jsonl"
    return [row["text"] for row, _ in zip(_rows(file), range(count), strict=False)]


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    opener = OPENERS.get(file.suffix, open)
    with opener(file, "rt", encoding="utf-8") as lines:  # type: ignore[operator]
        for line in lines:
            yield json.loads(line)


def median(times: list[float]) -> float:
    return sorted(times)[len(times) // 2]
