"""Recollect with its model: `blend` without the reranker. Its time includes the question's
embedding, unlike any other peer's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from recollect_words import Row
from recollect_words import load as load_words
from recollect_words import opened as opened_words

from recollect import Recollect
from recollect.settings import Rerank, Settings

SETTINGS = Settings(rerank=Rerank(provider="none"))
BATCH = 5000


def load(folder: Path, rows: list[Row]) -> None:
    load_words(folder, rows)
    with Recollect(home=folder, settings=SETTINGS) as memory:
        identity = memory.models.embedder().identity
        keys = dict(memory.store.database.rows("SELECT id, key FROM memories"))
        for first in range(0, len(rows), BATCH):
            vectors = [
                (int(str(keys[row["id"]])), np.array(row["vector"], np.float32))
                for row in rows[first : first + BATCH]
            ]
            memory.store.vectors.put(identity, len(rows[0]["vector"]), vectors)


def opened(folder: Path) -> Callable[[Row], list[str]]:
    return opened_words(folder, SETTINGS)
