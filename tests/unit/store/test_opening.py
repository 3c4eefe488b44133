"""Opening what is no vault, a newer vault, or a damaged one: a sentence, and nothing is touched."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from store_fixtures import OpenStore, one_sentence
from suites.stores.helpers import matches, nearest, put, save
from suites.stores.samples import EVERYTHING, MODEL, NOON, WIDTH, axis, full_memory, memory

from examples import examples
from recollect.errors import StoreError
from recollect.store.sqlite import migration
from recollect.store.sqlite.store import SqliteStore


def open_error(path: Path) -> str:
    """Return the error for opening this path: one sentence that names it."""
    with pytest.raises(StoreError) as caught:
        SqliteStore(path)
    return one_sentence(caught.value, path)


def folder_state(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def sqlite_file(path: Path, *statements: str) -> Path:
    connection = apsw.Connection(str(path))
    for statement in statements:
        connection.execute(statement)
    connection.close()
    return path


def vault(path: Path) -> Path:
    """A closed vault with memories, tags, vectors and feedback."""
    store = SqliteStore(path)
    save(store, full_memory("full"), *(memory(f"m{n}", text="anchor " * n) for n in range(40)))
    put(store, MODEL, {f"m{n}": axis(n % 20) for n in range(40)})
    store.feedback.add("anchor", "m1", True, NOON)
    store.close()
    return path


def test_a_new_vault_is_made_where_there_is_none(tmp_path: Path) -> None:
    SqliteStore(tmp_path / "vault.db").close()
    assert list(folder_state(tmp_path)) == ["vault.db"], "Closing leaves one file."


def test_an_empty_file_becomes_a_vault(open_store: OpenStore, tmp_path: Path) -> None:
    path = tmp_path / "vault.db"
    path.touch()
    store = open_store(path)
    save(store, memory("a"))
    store.close()
    store = open_store(path)
    assert set(store.memories.get(["a"])) == {"a"}


def test_a_folder_is_no_vault(tmp_path: Path) -> None:
    assert open_error(tmp_path) == "PATH is a folder, not a vault file."


@pytest.mark.parametrize(
    "content",
    [b"hi", b"hello\n" * 1000, b"\0" * 4096, b"SQLite format 3\0", b"PK\3\4" + b"x" * 600],
)
def test_a_file_that_is_not_a_database_is_refused_and_left_alone(
    tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    assert "is not a Recollect vault: it is not a SQLite database" in open_error(path)
    assert folder_state(tmp_path) == {"notes.txt": content}


@pytest.mark.parametrize(
    "statements",
    [
        ("CREATE TABLE notes (text)", "INSERT INTO notes VALUES ('mine')"),
        ("PRAGMA user_version = 1", "CREATE TABLE notes (text)", "DROP TABLE notes"),
        ("PRAGMA application_id = 77", "CREATE TABLE memories (id)"),
        ("PRAGMA journal_mode = WAL", "CREATE TABLE memories (id)"),
    ],
)
def test_another_programs_database_is_refused_and_left_alone(
    tmp_path: Path, statements: tuple[str, ...]
) -> None:
    path = sqlite_file(tmp_path / "other.db", *statements)
    before = folder_state(tmp_path)
    assert open_error(path) == "PATH is a SQLite database, but not a Recollect vault."
    assert folder_state(tmp_path) == before


def test_a_newer_vault_is_refused_by_version_and_left_alone(tmp_path: Path) -> None:
    path = vault(tmp_path / "vault.db")
    sqlite_file(path, f"PRAGMA user_version = {migration.VERSION + 1}")
    before = folder_state(tmp_path)
    message = open_error(path)
    assert f"version {migration.VERSION + 1}" in message
    assert f"up to {migration.VERSION}" in message
    assert "install a newer Recollect" in message
    assert folder_state(tmp_path) == before


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        pytest.param("nowhere/vault.db", "check that its folder exists", id="no such folder"),
        pytest.param("file/vault.db", "cannot be opened", id="below a file"),
        pytest.param("v" * 300, "cannot be opened", id="too long a name"),
    ],
)
def test_a_path_that_cannot_be_opened_is_named(tmp_path: Path, name: str, reason: str) -> None:
    (tmp_path / "file").touch()
    assert reason in open_error(tmp_path / name)
    assert not (tmp_path / "nowhere").exists()


def test_a_vault_made_by_another_at_the_same_moment_is_no_stranger(tmp_path: Path) -> None:
    """Between any two statements of the check, another process may make the vault whole."""
    for nth in range(6):
        path = tmp_path / f"{nth}.db"
        connection = apsw.Connection(str(path))
        count = 0

        def make_it(
            cursor: apsw.Cursor,
            sql: str,
            values: apsw.Bindings | None,
            *,
            path: Path = path,
            nth: int = nth,
        ) -> bool:
            nonlocal count
            if count == nth:
                SqliteStore(path).close()
            count += 1
            return True

        connection.exec_trace = make_it
        assert migration.checked_version(connection, path) in (0, migration.VERSION)
        connection.exec_trace = None
        connection.close()


# Every way of using a vault, each of which may meet a damaged page.
USES: tuple[Callable[[SqliteStore], object], ...] = (
    lambda store: store.memories.get(["full", "m1", "m39"]),
    lambda store: store.memories.browse(EVERYTHING, 100),
    lambda store: store.memories.newest(EVERYTHING, 100),
    lambda store: matches(store, "anchor"),
    lambda store: matches(store, "anchor", "plain"),
    lambda store: store.topics.carrying(["ops", "keys"], 5, EVERYTHING),
    lambda store: nearest(store, axis(3)),
    lambda store: store.vectors.similarities(MODEL, axis(3), ["m1", "m2"]),
    lambda store: store.vectors.waiting(MODEL, 5),
    lambda store: store.vectors.coverage(MODEL),
    lambda store: store.vocabulary.frequencies(["anchor"]),
    lambda store: store.vocabulary.documents(),
    lambda store: store.feedback.counts(),
    lambda store: save(store, memory("new", text="a new one", tags=("ops", "new"))),
    lambda store: store.feedback.add("q", "m1", True, NOON),
    lambda store: store.vectors.put(MODEL, WIDTH, [(1, axis(1))]),
    lambda store: list(store.examine()),
    lambda store: store.rebuild(),
)


def use(path: Path) -> list[str]:
    """Use a damaged vault in every way; what it says, all of it StoreError in one sentence."""
    said: list[str] = []
    store = None
    try:
        store = SqliteStore(path)
        for ask in USES:
            try:
                ask(store)
            except StoreError as error:
                said.append(one_sentence(error, path))
    except StoreError as error:
        said.append(one_sentence(error, path))
    finally:
        if store is not None:
            store.close()
    return said


def test_a_truncated_vault_is_a_sentence_wherever_it_is_cut(tmp_path: Path) -> None:
    whole = vault(tmp_path / "vault.db").read_bytes()
    for number, share in enumerate((0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.999)):
        path = tmp_path / f"cut-{number}.db"
        path.write_bytes(whole[: int(len(whole) * share)])
        said = use(path)
        assert said, f"Cut to {share}, nothing was noticed."
        assert any("damaged" in message for message in said), said


def test_overwritten_bytes_are_a_sentence_or_harmless(tmp_path: Path) -> None:
    whole = vault(tmp_path / "vault.db").read_bytes()
    noticed = 0
    for seed in range(examples(300)):
        chance = random.Random(seed)
        spoiled = bytearray(whole)
        for _ in range(chance.choice((1, 5, 20))):
            start = chance.randrange(100, len(whole) - 300)
            length = chance.choice((1, 16, 300))
            spoiled[start : start + length] = chance.randbytes(length)
        path = tmp_path / f"spoiled-{seed}.db"
        path.write_bytes(spoiled)
        noticed += bool(use(path))
    assert noticed > 5
