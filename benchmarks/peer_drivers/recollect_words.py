"""Recollect by words alone: `recollect import`, then `blend` without models."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from recollect import Recollect
from recollect.settings import Embedding, Rerank, Settings

Row = dict[str, Any]
NO_MODELS = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))


def load(folder: Path, rows: list[Row]) -> None:
    kept = ("id", "title", "text")
    lines = (json.dumps({name: row[name] for name in kept}) for row in rows)
    home = {"RECOLLECT_HOME": str(folder), "RECOLLECT_EMBEDDING__PROVIDER": "none"}
    with tempfile.TemporaryDirectory() as outside:  # nothing in the home may become a memory
        file = Path(outside) / "memories.jsonl"
        file.write_text("\n".join(lines), encoding="utf-8")
        command = [str(Path(sys.executable).with_name("recollect")), "import", str(file)]
        subprocess.run(command, env=os.environ | home, check=True, stdout=subprocess.DEVNULL)


def opened(folder: Path, settings: Settings = NO_MODELS) -> Callable[[Row], list[str]]:
    memory = Recollect(home=folder, settings=settings)

    def ask(question: Row) -> list[str]:
        return [result.memory.id for result in memory.search(question["text"]).results]

    return ask
