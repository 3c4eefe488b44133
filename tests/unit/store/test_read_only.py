"""A vault that may be read but not written: all of it can be read, and a write says why not.

Run as root, who may write everything, these tests take on another user's rights for a while.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace
from own_disk import own_disk
from store_fixtures import problems
from suites.stores.helpers import matches, nearest, put, save
from suites.stores.samples import EVERYTHING, MODEL, NOON, axis, full_memory, memory

from recollect.errors import StoreError
from recollect.store.sqlite import vector_index
from recollect.store.sqlite.store import SqliteStore

assert vector_index  # imported before switching to another user, who may not read our code

FULL = replace(full_memory("full"), archived_at=None)

if sys.platform == "win32":
    pytest.skip("rights work otherwise on Windows", allow_module_level=True)

NOBODY = 65534


@contextmanager
def without_privileges() -> Iterator[None]:
    """Without root's right to write everything; root gets it back."""
    if os.geteuid() != 0:
        yield
        return
    os.setresuid(NOBODY, NOBODY, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that other users may look into; pytest's own are private."""
    with tempfile.TemporaryDirectory() as name:
        made = Path(name)
        made.chmod(0o755)
        with without_privileges():
            if not os.access(made, os.X_OK):
                pytest.skip("the temporary folder is closed to other users")
        yield made
        made.chmod(0o755)


@pytest.fixture
def path(folder: Path) -> Path:
    """A closed vault."""
    return fill_vault(folder / "vault.db")


def fill_vault(path: Path) -> Path:
    store = SqliteStore(path)
    save(store, FULL, memory("anchor", text="drop the anchor", tags=("deep",)))
    put(store, MODEL, {"full": axis(0), "anchor": axis(1)})
    store.close()
    return path


def check_readable(store: SqliteStore) -> None:
    assert store.memories.get(["full"]) == {"full": FULL}
    assert [one.id for one in store.memories.browse(EVERYTHING, 9)] == ["full", "anchor"]
    assert matches(store, "anchor") == matches(store, "anchor", "plain") == ["anchor"]
    assert [one.memory_id for one in store.topics.carrying(["deep"], 9, EVERYTHING)] == ["anchor"]
    assert nearest(store, axis(1)) == ["anchor", "full"]
    assert store.vocabulary.frequencies(["anchor"]) == {"anchor": 1}
    assert problems(store) == []


def check_not_writable(store: SqliteStore) -> None:
    expected = f"The vault {store.database.path} is read-only, so nothing can be written."
    for write in (
        lambda: save(store, memory("new")),
        lambda: store.feedback.add("q", "full", True, NOON),
        lambda: store.vectors.adopt("other"),
        store.rebuild,
    ):
        with pytest.raises(StoreError) as caught:
            write()
        assert str(caught.value) == expected


@pytest.mark.parametrize("folder_mode", [0o555, 0o777])
def test_a_read_only_file_is_read_again_and_again(path: Path, folder_mode: int) -> None:
    path.chmod(0o444)
    path.parent.chmod(folder_mode)
    for _ in range(3):
        with without_privileges():
            store = SqliteStore(path)
            check_readable(store)
            check_not_writable(store)
            store.close()
    assert folder_mode == 0o777 or [one.name for one in path.parent.iterdir()] == ["vault.db"]


def test_a_vault_that_its_owner_writes_is_read_as_it_is_now(path: Path) -> None:
    """The owner's last writes may still be in the log, and more will come."""
    path.chmod(0o644)
    owner = SqliteStore(path)
    save(owner, memory("first", text="lighthouse"))
    with without_privileges():
        store = SqliteStore(path)
        assert matches(store, "lighthouse") == ["first"]
        check_not_writable(store)
    save(owner, memory("second", text="lighthouse"))
    with without_privileges():
        assert matches(store, "lighthouse") == ["first", "second"]
        assert set(store.memories.get(["second"])) == {"second"}
        store.close()
    owner.close()


def test_an_empty_read_only_file_is_no_vault(folder: Path) -> None:
    path = folder / "empty.db"
    path.touch(0o444)
    with without_privileges(), pytest.raises(StoreError) as caught:
        SqliteStore(path)
    assert str(caught.value).startswith(f"The vault {path} must be brought to version ")
    assert str(caught.value).endswith("it is read-only; open it once where it can be written.")


def test_a_vault_cannot_be_made_in_a_read_only_folder(folder: Path) -> None:
    folder.chmod(0o555)
    with (
        without_privileges(),
        pytest.raises(StoreError, match="check that its folder exists and is"),
    ):
        SqliteStore(folder / "vault.db")


@pytest.mark.parametrize("what", ["file", "folder"])
def test_what_may_not_be_read_is_refused(path: Path, what: str) -> None:
    path.chmod(0o000) if what == "file" else path.parent.chmod(0o600)
    with without_privileges(), pytest.raises(StoreError, match="cannot be opened"):
        SqliteStore(path)


def test_a_vault_on_a_read_only_medium_is_read(folder: Path) -> None:
    with own_disk(folder, 8) as disk:
        fill_vault(disk / "vault.db")
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        store = SqliteStore(disk / "vault.db")
        check_readable(store)
        check_not_writable(store)
        store.close()
