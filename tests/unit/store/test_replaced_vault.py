"""A vault whose files are replaced or deleted while a process has it open: what is acknowledged is
in the file at the vault's path, and nothing of the old files gets into the new ones."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from locked_work import NEW, OLD, key_of
from store_fixtures import OpenStore, one_sentence, problems
from suites.stores.helpers import matches, nearest, put, save
from suites.stores.samples import CHANGE, EVERYTHING, MODEL, axis, memory

from recollect.errors import StoreError
from recollect.store.sqlite import vault_files
from recollect.store.sqlite.migration import VERSION
from recollect.store.sqlite.replacement import change_key
from recollect.store.sqlite.store import SqliteStore

BEFORE, AFTER, POSTS = 51, 301, 6
OLDER = Path(__file__).parents[2] / "migrations" / "vault-v3.db"
Replace = Callable[[Path, Path], object]


def fill_vault(path: Path, name: str, count: int, *, closed: bool = True) -> SqliteStore:
    store = SqliteStore(path)
    save(store, *(memory(f"{name}{n}", text=f"word {name}", tags=(name,)) for n in range(count)))
    if closed:
        store.close()
    return store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "vault.db"


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    fill_vault(tmp_path / "backup.db", "new", AFTER)
    return tmp_path / "backup.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    """A process that stays, on the vault that is replaced; its log is full of writes."""
    store = fill_vault(path, "old", BEFORE, closed=False)
    yield store
    store.close()


def sound(path: Path) -> set[str]:
    """Return the ids in the vault; check that it is sound, and that closing it leaves no other
    files."""
    store = SqliteStore(path)
    assert problems(store) == []
    ids = set(store.memories.ids())
    store.close()
    assert [*path.parent.glob(f"{path.name}-*")] == []
    return ids


def ids_of(name: str, count: int) -> set[str]:
    return {f"{name}{n}" for n in range(count)}


def as_killed(path: Path, place: Path) -> Path:
    """The vault as a kill of its process would leave it, elsewhere."""
    place.mkdir()
    for file in path.parent.glob(f"{path.name}*"):
        shutil.copyfile(file, place / file.name)
    return place / path.name


@pytest.mark.parametrize("posts", [0, POSTS])
@pytest.mark.parametrize("replace", [os.replace, shutil.copyfile])
def test_what_is_saved_after_the_vault_was_replaced_is_in_the_new_file(
    store: SqliteStore, path: Path, backup: Path, replace: Replace, posts: int
) -> None:
    """A process that only stops does no harm to it."""
    replace(backup, path)
    for n in range(posts):
        save(store, memory(f"post{n}"))
    store.close()
    for kept in path.parent.glob("*-wal-replaced"):
        kept.unlink()
    assert sound(path) == ids_of("new", AFTER) | ids_of("post", posts)


def test_threads_that_had_the_old_file_open_save_into_the_new_one(
    store: SqliteStore, path: Path, backup: Path
) -> None:
    opened, replaced = threading.Barrier(4), threading.Event()

    def work(n: int) -> None:
        store.memories.get(["old1"])
        opened.wait(30)
        replaced.wait(30)
        save(store, memory(f"post{n}"))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    opened.wait(30)
    backup.replace(path)
    replaced.set()
    for thread in threads:
        thread.join()
    store.close()
    assert sound(path) == ids_of("new", AFTER) | ids_of("post", 3)


def test_reads_see_the_new_file_and_nothing_of_the_old(
    store: SqliteStore, path: Path, tmp_path: Path
) -> None:
    put(store, MODEL, {"old1": axis(1)})
    other = fill_vault(tmp_path / "other.db", "new", 3, closed=False)
    put(other, MODEL, {"new2": axis(1)})
    other.close()
    assert nearest(store, axis(1)) == ["old1"]
    assert store.vocabulary.frequencies(["old", "new"]) == {"old": BEFORE}
    changes = store.changes()
    (tmp_path / "other.db").replace(path)
    assert nearest(store, axis(1)) == ["new2"]
    assert store.vocabulary.frequencies(["old", "new"]) == {"new": 3}
    assert len(matches(store, "word")) == 3
    assert len(store.topics.carrying(["new"], 9, EVERYTHING)) == 3
    assert store.changes() != changes


def test_a_vault_that_was_moved_away_keeps_what_was_written_last(
    store: SqliteStore, path: Path, backup: Path, tmp_path: Path
) -> None:
    path.rename(tmp_path / "kept.db")
    backup.replace(path)
    save(store, memory("post0"))
    store.close()
    assert sound(tmp_path / "kept.db") == ids_of("old", BEFORE)
    assert sound(path) == ids_of("new", AFTER) | {"post0"}


def test_a_vault_replaced_during_a_write_refuses_the_write(
    store: SqliteStore, path: Path, backup: Path
) -> None:
    def replaced_meanwhile() -> None:
        with store.writing(CHANGE) as write:
            write.add(memory("post0"))
            backup.replace(path)

    with pytest.raises(StoreError, match="replaced or deleted during this write") as caught:
        replaced_meanwhile()
    one_sentence(caught.value, path)
    save(store, memory("post1"))
    store.close()
    assert sound(path) == ids_of("new", AFTER) | {"post1"}


def test_a_deleted_vault_is_neither_read_nor_written_until_it_is_back(
    store: SqliteStore, path: Path, tmp_path: Path
) -> None:
    path.rename(tmp_path / "away.db")
    for use in (lambda: save(store, memory("post0")), store.memories.ids):
        with pytest.raises(StoreError, match="moved or deleted while it was in use") as caught:
            use()
        one_sentence(caught.value, path)
    assert not path.exists()
    (tmp_path / "away.db").rename(path)
    save(store, memory("post1"))
    store.close()
    assert sound(path) == ids_of("old", BEFORE) | {"post1"}


def test_no_file_of_a_deleted_vault_is_left(store: SqliteStore, path: Path) -> None:
    path.unlink()
    store.close()
    assert not list(path.parent.iterdir())


def test_a_new_vault_in_place_of_a_deleted_one_has_nothing_of_it(
    store: SqliteStore, path: Path
) -> None:
    path.unlink()
    other = fill_vault(path, "new", 2, closed=False)
    save(store, memory("post0"))
    other.close()
    store.close()
    assert sound(path) == {"new0", "new1", "post0"}


@pytest.mark.parametrize("endings", [("-wal",), ("-shm",), ("-wal", "-shm")])
def test_a_deleted_log_loses_nothing(
    store: SqliteStore, path: Path, tmp_path: Path, endings: tuple[str, ...]
) -> None:
    for ending in endings:
        Path(f"{path}{ending}").unlink()
    save(store, memory("post0"))
    assert sound(as_killed(path, tmp_path / "killed")) == ids_of("old", BEFORE) | {"post0"}
    store.close()
    assert sound(path) == ids_of("old", BEFORE) | {"post0"}


def test_the_log_of_another_file_is_refused_and_left_alone(
    store: SqliteStore, path: Path, backup: Path, tmp_path: Path
) -> None:
    killed = as_killed(path, tmp_path / "killed")
    shutil.copyfile(backup, killed)
    for _ in range(2):
        with pytest.raises(StoreError, match="does not belong to the vault beside it") as caught:
            SqliteStore(killed)
        one_sentence(caught.value, killed)
    assert killed.read_bytes() == backup.read_bytes()
    for ending in ("-wal", "-shm"):
        Path(f"{killed}{ending}").unlink()
    assert sound(killed) == ids_of("new", AFTER)


def test_an_older_copy_of_the_same_vault_does_not_take_its_log(
    open_store: OpenStore, path: Path, tmp_path: Path
) -> None:
    fill_vault(path, "old", 3)
    shutil.copyfile(path, tmp_path / "older.db")
    store = open_store(path)
    save(store, memory("a"))
    store.database.rows("PRAGMA wal_checkpoint(TRUNCATE)")
    save(store, memory("b"))
    save(store, memory("c"))
    killed = as_killed(path, tmp_path / "killed")
    assert set(SqliteStore(killed).memories.ids()) == ids_of("old", 3) | {"a", "b", "c"}
    shutil.copyfile(tmp_path / "older.db", tmp_path / "killed" / "vault.db")
    with pytest.raises(StoreError, match="does not belong to the vault beside it"):
        SqliteStore(killed)


def test_a_marked_copy_does_not_take_the_log_of_its_original(path: Path, tmp_path: Path) -> None:
    store = fill_vault(path, "old", 3, closed=False)
    copy = as_killed(path, tmp_path / "copy")
    with closing(apsw.Connection(str(copy))) as connection:
        vault_files.mark_copy(connection)
    save(store, memory("a"))
    killed = as_killed(path, tmp_path / "killed")
    shutil.copyfile(copy, killed)
    store.close()
    with pytest.raises(StoreError, match="does not belong to the vault beside it"):
        SqliteStore(killed)


def test_the_log_of_a_killed_process_is_read_wherever_its_vault_is_copied(
    open_store: OpenStore, path: Path, tmp_path: Path
) -> None:
    """At whatever moment: before and after the log was copied into the vault, whole or in part."""
    store = open_store(path)
    for n in range(12):
        save(store, memory(f"m{n}"))
        if n % 3 == 2:
            store.database.rows(f"PRAGMA wal_checkpoint({('PASSIVE', 'TRUNCATE')[n % 2]})")
        assert sound(as_killed(path, tmp_path / f"copy{n}")) == ids_of("m", n + 1)


def test_a_locked_vault_is_replaced_by_one_with_another_key(
    open_store: OpenStore, path: Path, tmp_path: Path
) -> None:
    for place, name, sealed in ((path, "old", OLD), (tmp_path / "backup.db", "new", NEW)):
        fill_vault(place, name, 3)
        change_key(place, None, sealed)
    store = open_store(path, keys=key_of)
    save(store, memory("last"))
    killed = as_killed(path, tmp_path / "killed")
    shutil.copyfile(tmp_path / "backup.db", killed)
    with pytest.raises(StoreError, match="does not belong to the vault beside it"):
        SqliteStore(killed, keys=key_of)
    (tmp_path / "backup.db").replace(path)
    save(store, memory("post0"))
    store.close()
    store = open_store(path, keys=key_of)
    assert set(store.memories.ids()) == ids_of("new", 3) | {"post0"}


def test_a_link_that_leads_elsewhere_is_followed(path: Path, tmp_path: Path) -> None:
    fill_vault(tmp_path / "first.db", "old", 2)
    fill_vault(tmp_path / "second.db", "new", 2)
    path.symlink_to(tmp_path / "first.db")
    store = SqliteStore(path)
    save(store, memory("a"))
    path.unlink()
    path.symlink_to(tmp_path / "second.db")
    save(store, memory("b"))
    store.close()
    assert sound(tmp_path / "first.db") == {"old0", "old1", "a"}
    assert sound(tmp_path / "second.db") == {"new0", "new1", "b"}


def test_a_vault_that_a_newer_version_migrated_meanwhile_is_not_written(
    store: SqliteStore, path: Path
) -> None:
    with closing(apsw.Connection(str(path))) as newer:
        newer.execute(f"PRAGMA user_version = {VERSION + 1}")
    with pytest.raises(StoreError, match="install a newer Recollect") as caught:
        save(store, memory("post0"))
    one_sentence(caught.value, path)
    with closing(apsw.Connection(str(path))) as newer:
        newer.execute(f"PRAGMA user_version = {VERSION}")
    save(store, memory("post1"))
    assert set(store.memories.ids()) == ids_of("old", BEFORE) | {"post1"}


def test_a_vault_replaced_by_an_older_version_is_migrated(
    store: SqliteStore, path: Path, backup: Path
) -> None:
    shutil.copyfile(OLDER, backup)
    backup.replace(path)
    save(store, memory("post0"))
    with closing(apsw.Connection(str(path))) as connection:
        assert connection.pragma("user_version") == VERSION
    assert "post0" in store.memories.ids()


def test_a_vault_has_an_id_that_it_keeps(path: Path) -> None:
    def id_of(store: SqliteStore) -> str | None:
        known = vault_files.vault_id(store.database.connection())
        store.close()
        return known

    first = id_of(fill_vault(path, "old", 1, closed=False))
    assert first
    change_key(path, None, OLD)
    assert id_of(SqliteStore(path, keys=key_of)) == first
    change_key(path, OLD.key, None)
    assert id_of(SqliteStore(path)) == first
    assert id_of(SqliteStore(path.with_name("other.db"))) != first
