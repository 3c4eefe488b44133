"""Recollect by words alone: `recollect import`, then `blend` without models."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from recollect import Recollect
from recollect.settings import Embedding, Rerank, Settings

Row = dict[str, Any]
NO_MODELS = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))


def load(folder: Path, rows: list[Row]) -> None:
    file = folder / "memories.jsonl"
    kept = ("id", "title", "text")
    lines = (json.dumps({name: row[name] for name in kept}) for row in rows)
    file.write_text("\n".join(lines), encoding="utf-8")
    command = [str(Path(sys.executable).with_name("recollect")), "import", str(file)]
    home = {"RECOLLECT_HOME": str(folder), "RECOLLECT_EMBEDDING__PROVIDER": "none"}
    subprocess.run(command, env=os.environ | home, check=True, stdout=subprocess.DEVNULL)
    file.unlink()


def opened(folder: Path, settings: Settings = NO_MODELS) -> Callable[[Row], list[str]]:
    memory = Recollect(home=folder, settings=settings)

    def ask(question: Row) -> list[str]:
        return [result.memory.id for result in memory.search(question["text"]).results]

    return ask
