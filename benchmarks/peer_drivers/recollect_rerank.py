"""Recollect with its defaults: `blend` with the model and the reranker."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from recollect_blend import Row, load, opened_words

from recollect.settings import Settings

__all__ = ["load", "opened"]


def opened(folder: Path) -> Callable[[Row], list[str]]:
    return opened_words(folder, Settings())
