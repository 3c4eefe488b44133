"""Corpora and vaults that the benchmarks share."""

from __future__ import annotations

import argparse
import gzip
import json
import lzma
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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
