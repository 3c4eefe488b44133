"""Vaults of earlier versions, committed as they were made, with what they held."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from recollect.engine import Recollect
from recollect.ingest.exchange import as_line
from recollect.settings import Embedding, Rerank, Settings
from recollect.store.sqlite.migration import VERSION

HERE = Path(__file__).parent
OFF = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))


@contextmanager
def open_vault(version: int, folder: Path) -> Iterator[Recollect]:
    """A copy of the vault of that version, opened by today's code."""
    shutil.copyfile(HERE / f"vault-v{version}.db", folder / "vault.db")
    with Recollect(folder / "vault.db", home=folder / "home", settings=OFF) as memory:
        yield memory


def check_nothing_is_lost(memory: Recollect, version: int) -> None:
    held: dict[str, Any] = json.loads((HERE / f"vault-v{version}.json").read_text(encoding="utf-8"))
    live = {one["id"]: one for one in held["memories"] if one["id"] not in held["forgotten"]}
    exported = {one.id: json.loads(as_line(one)) for one in memory.export()}
    assert {id: {name: one[name] for name in live[id]} for id, one in exported.items()} == live
    assert memory.store.vectors.coverage(held["model"]) == (held["vectors"], len(live))
    assert memory.store.feedback.counts() == tuple(held["feedback"])
    assert memory.store.database.connection().pragma("user_version") == VERSION
    assert [finding for finding in memory.store.examine() if finding.problem] == []
