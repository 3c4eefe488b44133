"""A locked vault: nothing of it can be read without its key, everything with it, at any moment."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import apsw
import pytest
from locked_work import MODEL, NEW, OFF, OLD, PASSPHRASE, VECTOR, WORDS, fields, key_of
from store_fixtures import problems
from suites.stores.helpers import put, save
from suites.stores.samples import CHANGE, NOON, axis, memory

from recollect.engine import Recollect
from recollect.errors import Locked, StoreError, UserError
from recollect.memory_json import revision
from recollect.present.response import as_json
from recollect.recipes.registry import BUILT_IN
from recollect.store.sqlite import replacement
from recollect.store.sqlite.opening import Opener
from recollect.store.sqlite.replacement import change_key, new_header
from recollect.store.sqlite.store import SqliteStore
from recollect.store.sqlite.vault_files import MAGIC, NEXT, Sealed, give_key, header_at, header_of
from recollect.vaults.keys import lock_vault, rekey_vault, sealed_with, unlock_vault

PROJECT = Path(__file__).parents[3]
WORK = Path(__file__).with_name("locked_work.py")
MIGRATIONS = Path(__file__).parents[2] / "migrations"

if sys.platform == "win32":
    pytest.skip("kill -9 is a matter of POSIX", allow_module_level=True)


def make_locked(path: Path, *ids: str) -> Path:
    """A vault with these memories, locked with OLD."""
    store = SqliteStore(path)
    save(store, *(memory(id) for id in ids))
    store.close()
    change_key(path, None, OLD)
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A locked vault with one memory."""
    return make_locked(tmp_path / "vault.db", "a")


def open_store(path: Path) -> SqliteStore:
    return SqliteStore(path, keys=key_of)


def worker(*told: object, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(WORK), *map(str, told)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | environment,
        cwd=environment.get("TMPDIR"),
    )


# What can be read without the key


class Watch(threading.Thread):
    """Looks into every file that a process writes or holds open, again and again: what is removed
    is kept by a second link, and what never had a name is found among the process's open files."""

    def __init__(self, folder: Path, kept: Path, pid: int, needles: dict[str, bytes]) -> None:
        super().__init__(daemon=True)
        self.folder, self.kept, self.pid, self.needles = folder, kept, pid, needles
        self.over = threading.Event()
        self.found: set[tuple[str, str]] = set()
        self.seen: set[str] = set()
        self._inodes: set[int] = set()
        self._keeper = threading.Thread(target=self._keep, daemon=True)
        kept.mkdir()

    def run(self) -> None:
        self._keeper.start()
        while not self.over.is_set():
            self.look()

    def _keep(self) -> None:
        """Give every file that comes a second name, however short its life."""
        while not self.over.wait(0.0005):
            for file in os.scandir(self.folder):
                if file.inode() not in self._inodes:
                    with suppress(OSError):  # it is gone already
                        os.link(file.path, self.kept / f"{file.inode()}-{file.name}")
                        self._inodes.add(file.inode())
                        self.seen.add(file.name)

    def look(self) -> None:
        for file in [*self.folder.rglob("*"), *Path(f"/proc/{self.pid}/fd").glob("*")]:
            try:
                if file.is_file():
                    self._look_into(file)
            except OSError:  # it is gone meanwhile
                continue

    def _look_into(self, file: Path) -> None:
        real = str(file.readlink()) if file.is_symlink() else str(file)
        temporary = (tempfile.gettempdir(), "/tmp", "/var/tmp")
        if not real.startswith((str(self.folder), *temporary)) or "/kept/" in real:
            return  # code and models
        if real.startswith(str(PROJECT)):
            return  # code and models of a clone in a temporary folder
        self._search(file.name if not file.is_symlink() else Path(real).name, file.read_bytes())

    def finish(self) -> None:
        """Stop, and look once more, also into what was removed."""
        self.over.set()
        self.join()
        self._keeper.join()
        self.look()
        for file in self.kept.iterdir():
            self._search(file.name.partition("-")[2], file.read_bytes())

    def _search(self, name: str, content: bytes) -> None:
        self.seen.add(name)
        self.found |= {(name, told) for told, bytes in self.needles.items() if bytes in content}


def needles() -> dict[str, bytes]:
    """Return words of every field in every form that a file may have, and a vector."""
    told: dict[str, bytes] = {"vector": VECTOR.astype("<f4").tobytes()}  # as the vault keeps it
    for field, word in WORDS.items():
        for one in (word, word.lower()):
            told[f"{field} {one}"] = one.encode()
            told[f"{field} {one} in UTF-16"] = one.encode("utf-16-le")
    return told


def watched_work(tmp_path: Path, *, lock: bool) -> Watch:
    """Every kind of work on a vault, up to a kill, with all files watched."""
    home, path = tmp_path / "home", tmp_path / "home" / "vault.db"
    home.mkdir()
    SqliteStore(path).close()
    if lock:
        change_key(path, None, sealed_with(PASSPHRASE))
    process = worker(
        "work", path, RECOLLECT_PASSPHRASE=PASSPHRASE, TMPDIR=str(home), SQLITE_TMPDIR=str(home)
    )
    watch = Watch(home, tmp_path / "kept", process.pid, needles())
    watch.start()
    said, errors = process.communicate(timeout=300)
    watch.finish()
    assert (said, errors, process.returncode) == ("killing\n", "", -9)
    return watch


def test_no_word_of_a_memory_is_ever_in_a_file_of_a_locked_vault(tmp_path: Path) -> None:
    watch = watched_work(tmp_path, lock=True)
    assert watch.found == set()
    assert {"vault.db", "vault.db-wal", "vault.db-shm", "vault.db-rekeying"} <= watch.seen
    with Recollect(
        tmp_path / "home" / "vault.db", home=tmp_path, settings=OFF, passphrase=PASSPHRASE
    ) as vault:
        assert vault.search(WORDS["title"]).results
        assert not [one for one in vault.doctor() if one.problem]


def test_the_same_search_finds_them_all_in_an_open_vault(tmp_path: Path) -> None:
    """Else the test above would prove nothing."""
    watch = watched_work(tmp_path, lock=False)
    found = {told for _, told in watch.found}
    assert {f"{field} {word}" for field, word in WORDS.items()} <= found
    assert "vector" in found
    assert {"vault.db", "vault.db-wal"} <= {name for name, _ in watch.found}


def test_locking_leaves_no_word_in_the_files_of_the_vault(tmp_path: Path) -> None:
    path = tmp_path / "vault.db"
    with Recollect(path, home=tmp_path, settings=OFF) as vault:
        for number in range(200):
            vault.save(**fields(number))
    held = os.open(path, os.O_RDONLY)  # the vault stays the same file, so its old pages are gone
    lock_vault(path, key_of, lambda: sealed_with(PASSPHRASE))
    contents = [os.pread(held, 1 << 26, 0), *(file.read_bytes() for file in tmp_path.iterdir())]
    os.close(held)
    assert not [told for told, one in needles().items() if any(one in held for held in contents)]


def test_in_clear_are_the_kind_the_salt_and_the_size_of_a_page_whatever_is_written(
    path: Path,
) -> None:
    begin = path.read_bytes()[:32]
    assert begin[:16] == header_at(path) == OLD.header
    assert int.from_bytes(begin[16:18], "big") == 4096
    store = open_store(path)
    save(store, *(memory(f"n{number}") for number in range(500)))
    store.database.rows("PRAGMA wal_checkpoint(TRUNCATE)")
    store.database.rows("VACUUM")
    store.close()
    assert header_at(path) == OLD.header


# The key


def test_without_a_key_or_with_another_it_does_not_open(path: Path) -> None:
    before = path.read_bytes()
    with pytest.raises(Locked, match="is locked, and there is no key for it here"):
        SqliteStore(path)
    with pytest.raises(Locked, match="The passphrase of the vault"):
        SqliteStore(path, keys=lambda path, header: b"x" * 32)
    assert path.read_bytes() == before


def test_the_wrong_key_does_no_harm_to_a_log_that_a_killed_process_left(
    path: Path, tmp_path: Path
) -> None:
    store = open_store(path)
    save(store, memory("b"))
    copy = tmp_path / "copy" / "vault.db"
    copy.parent.mkdir()
    for ending in ("", "-wal"):
        shutil.copyfile(f"{path}{ending}", f"{copy}{ending}")
    store.close()
    with pytest.raises(Locked):
        SqliteStore(copy, keys=lambda path, header: b"x" * 32)
    with pytest.raises(Locked):
        SqliteStore(copy)
    again = open_store(copy)
    assert set(again.memories.get(["a", "b"])) == {"a", "b"}
    again.close()


def test_a_passphrase_makes_another_key_in_every_vault_and_is_not_short() -> None:
    one, other = sealed_with(PASSPHRASE), sealed_with(PASSPHRASE)
    assert one.header != other.header
    assert one.key != other.key
    with pytest.raises(UserError, match="too short; use 8 characters or more"):
        sealed_with("horse")


@pytest.mark.usefixtures("costly_keys")
def test_a_passphrase_is_the_same_however_its_signs_are_composed(tmp_path: Path) -> None:
    path = tmp_path / "vault.db"
    lock_vault(path, key_of, lambda: sealed_with("gr\u00fc\u00dfe an alle"))
    Recollect(path, home=tmp_path, settings=OFF, passphrase="gru\u0308\u00dfe an alle").close()


def test_a_byte_that_was_changed_is_damage_and_not_another_memory(tmp_path: Path) -> None:
    path = make_locked(tmp_path / "vault.db", *(f"n{number}" for number in range(200)))
    content = bytearray(path.read_bytes())
    for page in range(1, len(content) // 4096):
        content[page * 4096 + 100] ^= 1
    path.write_bytes(content)
    with pytest.raises(StoreError, match="is damaged"):
        open_store(path).memories.get(["n1"])


# With the key it is a vault like any other


def test_every_recipe_ranks_as_in_the_open_vault(tmp_path: Path) -> None:
    """Ids, scores and explanations, whatever the clock says of how long it took."""
    plain, kept = tmp_path / "plain.db", tmp_path / "locked.db"
    with Recollect(plain, home=tmp_path, settings=OFF, clock=_noon) as vault:
        for number in range(120):
            vault.save(
                id=f"m{number}", **fields(number) | {"text": f"{TEXTS[number % 7]} {number}"}
            )
        vault.feedback("signing keys", "m1", accept=True)
    shutil.copyfile(plain, kept)
    change_key(kept, None, sealed_with(PASSPHRASE))
    answers = []
    for path, key in ((plain, None), (kept, PASSPHRASE)):
        with Recollect(path, home=tmp_path, settings=OFF, passphrase=key, clock=_noon) as vault:
            answers.append(
                {
                    (recipe, query): _ask(vault, query, recipe)
                    for recipe in BUILT_IN
                    for query in ("signing keys", "backup failed tag7", '"nightly" AND 35', "m12")
                }
            )
            answers[-1]["", ""] = [revision(one) for one in vault.export()]
    assert answers[0] == answers[1]
    assert any(answers[0].values())


TEXTS = (
    "Rotate the signing keys", "The nightly backup failed", "Keys are kept in the vault",
    "A cache that is never cleared", "Backups are kept for a week", "Sign the release", "Nightly",
)  # fmt: skip


def _noon() -> datetime:
    return NOON


def _ask(vault: Recollect, query: str, recipe: str) -> object:
    told = as_json(vault.search(query, recipe=recipe, limit=20), True)
    return {name: value for name, value in told.items() if name != "timings_ms"}


@pytest.mark.parametrize("version", [1, 2])
def test_an_older_vault_that_is_locked_is_migrated(tmp_path: Path, version: int) -> None:
    path = tmp_path / "vault.db"
    shutil.copyfile(MIGRATIONS / f"vault-v{version}.db", path)
    change_key(path, None, OLD)  # as it is: opening it first would migrate it
    assert header_at(path) == OLD.header
    store = open_store(path)
    assert problems(store) == []
    assert store.vocabulary.documents() > 0
    store.close()
    assert header_at(path) == OLD.header


def test_a_locked_vault_on_a_read_only_medium_can_be_searched(tmp_path: Path) -> None:
    path = make_locked(tmp_path / "vault.db", "a", "b")
    uri = f"{path.as_uri()}?immutable=1"
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    connection = apsw.Connection(uri, flags)
    assert header_of(connection) == OLD.header
    give_key(connection, OLD.key)
    assert connection.execute("SELECT count(*) FROM memories").get == 2
    connection.close()


# Changing the key


def test_lock_rekey_and_unlock_keep_everything(tmp_path: Path) -> None:
    path = tmp_path / "vault.db"
    with Recollect(path, home=tmp_path, settings=OFF) as vault:
        for number in range(50):
            vault.save(id=f"m{number}", **fields(number))
        before = [revision(one) for one in vault.export()]
    lock_vault(path, key_of, lambda: OLD)
    rekey_vault(path, key_of, lambda: NEW)
    assert header_at(path) == NEW.header
    with pytest.raises(Locked):
        SqliteStore(path, keys=lambda path, header: OLD.key)
    unlock_vault(path, key_of)
    with Recollect(path, home=tmp_path, settings=OFF) as vault:
        assert [revision(one) for one in vault.export()] == before
        assert not [one for one in vault.doctor() if one.problem]
        assert vault.store.database.rows("PRAGMA journal_mode") == [("wal",)]
    assert path.stat().st_mode & 0o777 == 0o600
    assert sorted(file.name for file in tmp_path.glob("vault.db*")) == ["vault.db"]


def test_what_cannot_be_done_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "vault.db"
    SqliteStore(path).close()
    with pytest.raises(UserError, match="is not locked"):
        rekey_vault(path, key_of, lambda: NEW)
    with pytest.raises(UserError, match="is not locked"):
        unlock_vault(path, key_of)
    lock_vault(path, key_of, lambda: OLD)
    with pytest.raises(UserError, match="is locked already"):
        lock_vault(path, key_of, lambda: NEW)


def test_a_kill_at_any_moment_leaves_a_vault_that_opens_with_the_old_or_the_new_key(
    tmp_path: Path,
) -> None:
    path = tmp_path / "vault.db"
    store = SqliteStore(path)
    save(store, *(memory(f"n{number}", text="word " * 200) for number in range(50)))
    store.close()
    said, errors = worker("kill_everywhere", path, 3).communicate(timeout=300)
    assert errors == ""
    every = json.loads(said).values()
    assert min(told["moments"] for told in every) > 50
    assert sum(told["before"] for told in every) > 20
    assert sum(told["after"] for told in every) > 20


def test_a_vault_in_use_is_not_changed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replacement, "ALONE_SECONDS", 0.2)
    store = open_store(path)
    thread = threading.Thread(target=store.memories.get, args=(["a"],))
    thread.start()  # a second connection of the process must not give up its lock
    thread.join()
    with pytest.raises(StoreError, match="Another process is using the vault"):
        change_key(path, OLD.key, NEW)
    process = worker("rekey_often", path, 1)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(1.5)
    save(store, memory("b"))
    store.close()
    said, errors = process.communicate(timeout=60)
    assert (said, errors) == ("done\n", "")
    again = open_store(path)
    assert set(again.memories.get(["a", "b"])) == {"a", "b"}
    again.close()


def test_a_vault_whose_key_is_changed_while_it_is_opened_is_opened_with_the_new_one(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    others: list[SqliteStore] = []
    give_key = Opener._give_key

    def change_first(self: Opener, connection: apsw.Connection, header: bytes | None) -> None:
        monkeypatch.setattr(Opener, "_give_key", give_key)
        change_key(path, OLD.key, NEW)
        others.append(open_store(path))
        save(others[0], memory("b"))  # into a log that the old key cannot read
        give_key(self, connection, header)

    monkeypatch.setattr(Opener, "_give_key", change_first)
    store = open_store(path)
    assert set(store.memories.get(["a", "b"])) == {"a", "b"}
    for one in (store, *others):
        one.close()


def test_savers_lose_nothing_while_the_key_is_changed(path: Path) -> None:
    savers = [worker("save_some", path, number, 40) for number in range(3)]
    changer = worker("rekey_often", path, 6)
    said = {"a"}
    for process in (*savers, changer):
        out, errors = process.communicate(timeout=120)
        assert (errors, process.returncode) == ("", 0)
        said |= set(out.split()) - {"done"}
    store = open_store(path)
    assert len(said) == 121
    assert set(store.memories.get(list(said))) == said
    assert problems(store) == []
    store.close()


def test_of_two_changes_at_once_one_is_refused(path: Path, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="has just changed the key of the vault"):
        change_key(path, NEW.key, NEW)  # as if the key had been another a moment ago
    shutil.copyfile(path, left := tmp_path / f"vault.db{NEXT}")
    with pytest.raises(StoreError, match="has just changed the key of the vault"):
        change_key(path, OLD.key, NEW)
    with left.open("ab") as stream:
        stream.write(replacement.NOTE + OLD.header.hex().encode())
    open_store(path).close()
    assert header_at(path) == OLD.header
    assert sorted(file.name for file in tmp_path.iterdir()) == ["vault.db"]


def test_a_change_that_fails_leaves_the_vault_as_it_was(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    def full(*told: object) -> None:
        raise apsw.FullError("disk full")

    with monkeypatch.context() as patched:
        patched.setattr(replacement, "_check", full)
        with pytest.raises(StoreError, match="is full"):
            rekey_vault(path, key_of, lambda: NEW)
    store = open_store(path)
    assert store.database.rows("PRAGMA journal_mode") == [("wal",)]
    store.close()
    assert header_at(path) == OLD.header
    assert sorted(file.name for file in tmp_path.iterdir()) == ["vault.db"]


def refused_and_unharmed(path: Path) -> None:
    """The file that is there as if a change had left it does the vault no harm."""
    before = path.read_bytes()
    with pytest.raises(StoreError, match="does not belong to the vault"):
        open_store(path)
    assert path.read_bytes() == before
    Path(f"{path}{NEXT}").unlink()
    store = open_store(path)
    assert set(store.memories.get(["a"])) == {"a"}
    store.close()


@pytest.mark.parametrize("content", [b"", b"notes", b"SQLite format 3\x00" + bytes(8000)])
def test_a_file_of_that_name_that_is_no_vault_does_no_harm(path: Path, content: bytes) -> None:
    Path(f"{path}{NEXT}").write_bytes(content)
    refused_and_unharmed(path)


@pytest.mark.parametrize("sealed", [None, OLD])
def test_what_a_change_of_another_vaults_key_left_does_no_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sealed: Sealed | None
) -> None:
    """An open vault is known by its id, a locked one by its header."""
    (tmp_path / "other").mkdir()
    path, other = tmp_path / "vault.db", tmp_path / "other" / "vault.db"
    for place in (path, other):
        store = SqliteStore(place)
        save(store, memory("a"))
        store.close()
    header = MAGIC + bytes([1]) + b"other" + bytes(7)
    change_key(other, None, Sealed(OLD.key, header)) if sealed else None
    change_key(path, None, sealed) if sealed else None
    with monkeypatch.context() as patched:
        patched.setattr(replacement, "finish", lambda real: None)
        change_key(other, OLD.key if sealed else None, NEW)
    left = Path(f"{other}{NEXT}")
    shutil.copyfile(left, f"{path}{NEXT}")
    refused_and_unharmed(path)
    assert set(open_store(other).memories.get(["a"])) == {"a"}, "Its own change is finished."
    assert header_at(other) == NEW.header
    assert not left.exists()


# Letting go


@pytest.fixture
def held(tmp_path: Path) -> Iterator[SqliteStore]:
    store = open_store(make_locked(tmp_path / "vault.db", "a"))
    yield store
    store.close()


def test_a_sealed_store_holds_neither_key_nor_connection(held: SqliteStore) -> None:
    put(held, MODEL, {"a": axis(0)})
    assert not held.seal(60)
    assert held.seal(0)
    assert not held.database.locked
    assert "_key" not in held.topics.__dict__
    change_key(held.database.path, OLD.key, NEW)  # no process has it open
    assert set(held.memories.get(["a"])) == {"a"}
    assert held.database.locked


def test_a_store_that_is_being_used_is_not_sealed(held: SqliteStore) -> None:
    with held.writing(CHANGE):
        sealed: list[bool] = []
        thread = threading.Thread(target=lambda: sealed.append(held.seal(0)))
        thread.start()
        thread.join()
        assert sealed == [False]


def test_words_counted_before_are_counted_anew_after(held: SqliteStore) -> None:
    assert held.vocabulary.frequencies(["about"]) == {"about": 1}
    held.seal(0)
    other = open_store(held.database.path)
    save(other, memory("b"))
    other.close()
    assert held.vocabulary.frequencies(["about"]) == {"about": 2}


def test_an_open_vault_is_not_sealed(store: SqliteStore) -> None:
    assert not store.seal(0)


def test_keys_are_asked_for_once_for_all_threads(tmp_path: Path) -> None:
    asked = []

    def keys(path: Path, header: bytes) -> bytes:
        asked.append(header)
        return key_of(path, header)

    store = SqliteStore(make_locked(tmp_path / "vault.db", "a"), keys=keys)
    threads = [threading.Thread(target=store.memories.get, args=(["a"],)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store.close()
    assert asked == [OLD.header]


def test_a_header_of_a_kind_not_known_yet_asks_for_a_newer_version(tmp_path: Path) -> None:
    path = tmp_path / "vault.db"
    SqliteStore(path).close()
    change_key(path, None, Sealed(b"k" * 32, new_header(7)))
    with pytest.raises(StoreError, match="was locked by a newer Recollect"):
        Recollect(path, home=tmp_path, settings=OFF, passphrase=PASSPHRASE)
