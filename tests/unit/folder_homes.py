"""A vault and a folder of files, for tests of how one follows the other. No model takes part."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from recollect import Recollect, Result
from recollect.settings import Embedding, Rerank, Settings

OFF = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))
# Long ago: a file that was changed just now is read again, since its time may not tell.
LONG_AGO = 1_700_000_000


def vault(home: Path) -> Recollect:
    home.mkdir(exist_ok=True)
    return Recollect(home=home, settings=OFF, environment={})


def write(folder: Path, files: Mapping[str, str | bytes], *, at: float = LONG_AGO) -> None:
    """Files by their paths, as if they were written then."""
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        os.utime(file, (at, at))


def found(memory: Recollect, query: str, limit: int = 10) -> list[str]:
    """The files that a search finds, best first."""
    return [one.memory.title for one in memory.search(query, limit=limit)]


def first(memory: Recollect, query: str) -> Result:
    return memory.search(query, limit=5).results[0]


def ids(memory: Recollect) -> dict[str, list[str]]:
    """The memories of each file."""
    held: dict[str, list[str]] = {}
    for one in memory.export():
        held.setdefault(one.title, []).append(one.id)
    return {title: sorted(those) for title, those in held.items()}


def long_note(*sections: str) -> str:
    """A Markdown file with a section for each word, long enough to be a cut of its own."""
    return "# Notes\n\n" + "\n".join(
        f"## About {word}\n\n" + f"What is known of {word} stands here, in a sentence. " * 25 + "\n"
        for word in sections
    )
