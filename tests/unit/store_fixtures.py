"""Stores on the vault of a test, closed after it, and what they report."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest

from recollect.errors import StoreError
from recollect.store.sqlite.store import SqliteStore
from recollect.store.vault import Finding


class OpenStore(Protocol):
    """Open the vault of this test, or the one at `path`."""

    def __call__(self, path: Path | None = None, **options: Any) -> SqliteStore: ...


@pytest.fixture
def open_store(tmp_path: Path) -> Iterator[OpenStore]:
    opened: list[SqliteStore] = []

    def open_one(path: Path | None = None, **options: Any) -> SqliteStore:
        opened.append(SqliteStore(path or tmp_path / "vault.db", **options))
        return opened[-1]

    yield open_one
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store: OpenStore) -> SqliteStore:
    return open_store()


def problems(store: SqliteStore) -> list[Finding]:
    return [finding for finding in store.examine() if finding.problem]


def one_sentence(error: StoreError, path: Path) -> str:
    """Check that the error is one sentence that names the path; return it with PATH for it."""
    message = str(error)
    assert str(path) in message
    rest = message.replace(str(path), "PATH")
    assert re.fullmatch(r"[A-Z][^\n]*[^.]\.", rest), message
    assert ". " not in rest, message
    return rest
