"""Backups: made while others write, verified, private; and a vault that is restored from one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import apsw
import pytest

from recollect.auth.capabilities import SEARCH, WRITE, Caller
from recollect.engine import Recollect, backups
from recollect.engine.backups import Backup, Restored, check_backup, restore_vault
from recollect.errors import Forbidden, Locked, RecollectError, StoreError, UserError
from recollect.files import replace_file
from recollect.settings import Embedding, Rerank, Settings
from recollect.store.sqlite import replacement, snapshot
from recollect.store.sqlite.replacement import change_key
from recollect.store.sqlite.vault_files import header_at
from recollect.vaults.keys import sealed_with

OFF = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))
PASSPHRASE = "correct horse battery"
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home whose vault holds two memories, one of them forgotten."""
    folder = tmp_path / "home"
    with open_vault(folder) as memory:
        memory.save(id="oak", title="The oak", text="It stands by the river.", tags=["tree"])
        memory.save(id="elm", title="The elm")
        memory.forget(["elm"])
    return folder


def open_vault(home: Path, **more: str) -> Recollect:
    return Recollect(home=home, settings=OFF, environment=more, clock=lambda: NOON)


def backed_up(home: Path, file: Path | None = None, keep: int | None = None) -> Backup:
    with open_vault(home) as memory:
        return memory.backup(file, keep=keep)


def ids(home: Path) -> list[str]:
    with open_vault(home) as memory:
        assert not [finding for finding in memory.doctor() if finding.problem]
        return sorted(each.id for each in memory.list())


def check(file: Path, **more: str) -> snapshot.VaultSummary:
    return check_backup(file, environment={"RECOLLECT_HOME": str(file.parent), **more})


def restore(home: Path, file: Path, **more: str) -> Restored:
    return restore_vault(file, environment={"RECOLLECT_HOME": str(home), **more})


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def damage(file: Path, word: bytes = b"It stands by the river.") -> Path:
    """The file with one bit of a memory's text flipped, as no checksum of SQLite notices."""
    content = file.read_bytes()
    place = content.index(word)
    file.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
    return file


# Making one


def test_a_backup_is_one_private_file_with_all_that_the_vault_holds(home: Path) -> None:
    made = backed_up(home)
    assert made.file == home / "backups" / made.file.name
    assert (made.holds.memories, made.holds.forgotten, made.holds.locked) == (1, 1, False)
    assert names(made.file.parent) == [made.file.name]
    assert (made.file.stat().st_mode & 0o777, made.file.parent.stat().st_mode & 0o777) == (
        0o600,
        0o700,
    )
    with Recollect(made.file, home=home, settings=OFF) as copy:
        assert copy.show(["oak"])[0].tags == ("tree",)
        copy.forget(["elm"], undo=True)
        assert not [finding for finding in copy.doctor() if finding.problem]


def test_a_backup_is_the_vault_at_one_moment_while_others_write(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "STEP", 1)
    steps: list[int] = []

    def meanwhile(copied: int) -> None:
        if not steps:
            with open_vault(home) as other:
                other.save(id="late", title="Late")
        steps.append(copied)

    with open_vault(home) as memory:
        made = memory.backup(progress=meanwhile)
        assert [each.id for each in memory.show(["late"])] == ["late"]
    assert len(steps) > 10
    assert sum(steps) == made.file.stat().st_size
    assert made.holds.memories == 1
    with Recollect(made.file, home=home, settings=OFF) as copy:
        assert [each.id for each in copy.list()] == ["oak"]


def test_a_copy_that_is_not_sound_is_not_called_a_backup(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = backed_up(home, tmp_path / "kept.db").file
    before = file.read_bytes()
    copy_pages = snapshot._copy_pages

    def badly(source: snapshot.VaultFile, beside: Path, progress: snapshot.Progress) -> None:
        copy_pages(source, beside, progress)
        damage(beside)

    monkeypatch.setattr(snapshot, "_copy_pages", badly)
    with pytest.raises(StoreError, match=r"damaged \(altered memories: oak\)"):
        backed_up(home, file)
    assert file.read_bytes() == before
    assert names(tmp_path) == ["home", "kept.db"]


def test_a_copy_with_a_row_too_few_is_not_called_a_backup(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy_pages = snapshot._copy_pages

    def badly(source: snapshot.VaultFile, beside: Path, progress: snapshot.Progress) -> None:
        copy_pages(source, beside, progress)
        apsw.Connection(str(beside)).execute("DELETE FROM meta")

    monkeypatch.setattr(snapshot, "_copy_pages", badly)
    with pytest.raises(StoreError, match="rows are missing"):
        backed_up(home, tmp_path / "new.db")
    assert names(tmp_path) == ["home"]


def test_a_backup_of_a_locked_vault_is_locked_with_the_same_passphrase(home: Path) -> None:
    plain = backed_up(home, home / "plain.db").file
    change_key(home / "vault.db", None, sealed_with(PASSPHRASE))
    with open_vault(home, RECOLLECT_PASSPHRASE=PASSPHRASE) as memory:
        made = memory.backup()
    assert made.holds.locked
    assert header_at(made.file) == header_at(home / "vault.db")
    assert b"river" not in made.file.read_bytes()
    with pytest.raises(Locked, match="is locked"):
        check(made.file)
    with pytest.raises(Locked, match=r"The passphrase of the vault .* is wrong"):
        check(made.file, RECOLLECT_PASSPHRASE="another one")
    assert check(made.file, RECOLLECT_PASSPHRASE=PASSPHRASE) == made.holds
    assert restore(home, plain).unlocked
    (home / "vault.db").unlink()
    assert restore(home, made.file, RECOLLECT_PASSPHRASE=PASSPHRASE).holds == made.holds
    with open_vault(home, RECOLLECT_PASSPHRASE=PASSPHRASE) as memory:
        assert [each.id for each in memory.list()] == ["oak"]


def test_only_an_administrator_makes_backups_and_the_log_says_who(home: Path) -> None:
    with open_vault(home) as memory:
        caller = Caller(name="agent", capabilities=frozenset({SEARCH, WRITE}))
        with pytest.raises(Forbidden):
            memory.acting_as(caller).backup()
        memory.backup()
    actions = (home / "audit.jsonl").read_text()
    assert actions.count('"action":"backup","outcome":"refused"') == 1
    assert actions.count('"action":"backup","outcome":"done"') == 1


# Where it goes


def test_neither_a_link_nor_the_vault_nor_another_file_is_replaced(
    home: Path, tmp_path: Path
) -> None:
    notes, link, nowhere = (tmp_path / name for name in ("notes.txt", "link", "nowhere"))
    notes.write_text("mine")
    link.symlink_to(notes)
    nowhere.symlink_to(tmp_path / "missing")
    shutil.copyfile(home / "vault.db", tmp_path / "in-use.db")
    before = names(tmp_path)
    for file, why in (
        (link, "is a link"),
        (nowhere, "is a link"),
        (home / "vault.db", "the vault itself"),
        (notes, "is not a backup"),
        (tmp_path / "in-use.db", "is not a backup"),
    ):
        with pytest.raises(UserError, match=why):
            backed_up(home, file)
    assert notes.read_text() == "mine"
    assert names(tmp_path) == before


def test_an_older_backup_under_that_name_is_replaced(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "kept.db"
    backed_up(home, file)
    with open_vault(home) as memory:
        memory.save(id="ash", title="The ash")
    assert backed_up(home, file).holds.memories == 2
    assert check(file).memories == 2


def test_keep_removes_the_oldest_of_its_own_and_nothing_else(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "backups"
    folder.mkdir()
    with Recollect(home=tmp_path / "other", settings=OFF, environment={}) as other:
        others = other.backup(folder).file.name
    strangers = ["vault-replaced-20260301T120000Z.db", "vault-20200101T000000Z.db", "notes.txt"]
    for name in strangers:
        (folder / name).touch()
    made = []
    for minute in range(4):
        moment = NOON + timedelta(minutes=minute)
        with Recollect(home=home, settings=OFF, clock=lambda at=moment: at) as memory:  # type: ignore[misc]
            made.append(memory.backup(folder, keep=2))
    assert [len(each.removed) for each in made] == [0, 0, 1, 1]
    kept = [each.file.name for each in made[2:]]
    assert names(folder) == sorted([*kept, *strangers, others])
    with pytest.raises(UserError, match="not a folder"):
        backed_up(home, tmp_path / "one.db", keep=2)


def test_what_a_killed_backup_left_is_removed_by_the_next(home: Path) -> None:
    folder = backed_up(home).file.parent
    with replace_file(folder / "x.db", "vault.db") as (beside, _):
        pass
    (folder / "x.db").unlink()
    for ending in ("", "-wal"):
        beside.with_name(beside.name + ending).touch()
    backed_up(home)
    assert [Path(name).suffix for name in names(folder)] == [".db", ".db"]


# Checking one


def test_a_check_writes_nothing_and_names_what_is_damaged(home: Path, tmp_path: Path) -> None:
    file = backed_up(home, tmp_path / "kept.db").file
    file.chmod(0o400)
    before = names(tmp_path)
    assert check(file).memories == 1
    assert names(tmp_path) == before
    file.chmod(0o600)
    damage(file)
    with pytest.raises(StoreError, match="altered memories: oak"):
        check(file)
    file.write_bytes(file.read_bytes()[: 20 * 4096])
    with pytest.raises(StoreError, match="is damaged"):
        check(file)
    file.write_bytes(b"")
    with pytest.raises(StoreError, match="is empty"):
        check(file)


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_a_backup_of_an_older_version_is_checked_and_restored(home: Path, version: int) -> None:
    file = older(home.parent / "old.db", version)
    assert check(file).version == version
    holds = restore(home, file).holds
    assert len(ids(home)) == holds.memories
    with closing(apsw.Connection(str(file))) as connection:
        [(text, *_), *_] = connection.execute("SELECT text FROM memories WHERE text <> ''")
    damage(file, text.encode())
    with pytest.raises(StoreError, match="altered memories"):
        check(file)


# Restoring


def test_the_vault_is_as_it_was_and_what_it_replaced_is_kept(home: Path) -> None:
    file = backed_up(home).file
    with open_vault(home) as memory:
        memory.save(id="ash", title="The ash")
        memory.forget(["oak"], purge=True)
    done = restore(home, file)
    assert ids(home) == ["oak"]
    assert done.replaced is not None
    assert done.replaced.stat().st_mode & 0o777 == 0o600
    with Recollect(done.replaced, home=home, settings=OFF) as old:
        assert [each.id for each in old.list()] == ["ash"]
    assert '"action":"restore","outcome":"done"' in (home / "audit.jsonl").read_text()
    again = restore(home, file)
    assert done.replaced.exists()
    assert again.replaced not in (None, done.replaced)
    assert file.exists()


def test_what_a_killed_process_left_in_its_log_is_kept_with_the_replaced_vault(home: Path) -> None:
    file = backed_up(home).file
    with open_vault(home) as memory:
        memory.save(id="ash", title="The ash")
        killed = home.parent / "killed"
        shutil.copytree(home, killed)  # as a kill leaves it: the memory is in the log alone
    done = restore(killed, file)
    assert ids(killed) == ["oak"]
    assert done.replaced is not None
    with Recollect(done.replaced, home=home, settings=OFF) as old:
        assert {each.id for each in old.list()} == {"ash", "oak"}


@pytest.mark.parametrize(
    "vault", [None, b"", b"no vault at all", b"\0" * 100_000, b"RCL\x01" * 5000]
)
def test_a_missing_or_damaged_vault_is_restored(home: Path, vault: bytes | None) -> None:
    file = backed_up(home).file
    (home / "vault.db").unlink()
    if vault is not None:
        (home / "vault.db").write_bytes(vault)
    for ending in ("-wal", "-shm", "-journal", "-usage", "-usage-taken"):
        (home / f"vault.db{ending}").write_bytes(b"of another time" * 1000)
    done = restore(home, file)
    assert (done.replaced is None) == (not vault)
    if done.replaced is not None:
        assert done.replaced.read_bytes() == vault
    assert ids(home) == ["oak"]
    assert (home / "vault.db").stat().st_mode & 0o777 == 0o600 if vault is None else True
    assert not [name for name in names(home) if name.startswith("vault.db-")]


def test_a_damaged_backup_changes_nothing(home: Path, tmp_path: Path) -> None:
    file = damage(backed_up(home, tmp_path / "kept.db").file)
    (home / "vault.db-journal").touch()
    before = {each.name: each.read_bytes() for each in home.iterdir() if each.is_file()}
    with pytest.raises(StoreError, match="altered memories: oak"):
        restore(home, file)
    with pytest.raises(UserError, match="There is no file"):
        restore(home, tmp_path / "missing.db")
    with pytest.raises(UserError, match="the vault itself"):
        restore(home, home / "vault.db")
    assert {each.name: each.read_bytes() for each in home.iterdir() if each.is_file()} == before


@contextmanager
def in_another_process(vault: Path) -> Iterator[None]:
    """The vault, open and idle in a process of its own."""
    code = (
        "import apsw, sys; c = apsw.Connection(sys.argv[1]);"
        "c.execute('SELECT count(*) FROM memories').get; print('open', flush=True);"
        "sys.stdin.read()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(vault)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"open\n"
        yield
    finally:
        process.communicate()


@pytest.mark.skipif(os.name != "posix", reason="elsewhere an open file cannot be moved")
def test_it_is_refused_while_another_process_has_the_vault_open(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replacement, "ALONE_SECONDS", 0.0)
    file = backed_up(home).file
    vault, away = home / "vault.db", home / "away.db"
    with in_another_process(vault):

        def still_refused() -> None:
            before = names(home)
            with pytest.raises(StoreError, match="Another process is using the vault"):
                restore(home, file)
            assert names(home) == before

        still_refused()
        vault.rename(away)  # the process goes on with the file and the log that it has
        still_refused()
        shutil.copyfile(file, vault)
        still_refused()
        away.replace(vault)
    assert restore(home, file).holds.memories == 1


def test_a_restored_vault_counts_as_open_from_its_first_opening_on(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replacement, "ALONE_SECONDS", 0.0)
    file = backed_up(home).file
    restore(home, file)
    with open_vault(home), pytest.raises(StoreError, match="Another process is using the vault"):
        restore(home, file)


def test_a_kill_in_between_is_finished_by_whoever_opens_the_vault(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = backed_up(home).file
    with open_vault(home) as memory:
        memory.save(id="ash", title="The ash")

    def kill(*of: object, **more: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(backups, "write_copy", kill)
        with pytest.raises(KeyboardInterrupt):
            restore(home, file)
    assert ids(home) == ["ash", "oak"]
    with monkeypatch.context() as patch:
        patch.setattr(replacement, "install", kill)
        with pytest.raises(KeyboardInterrupt):
            restore(home, file)
    assert ids(home) == ["oak"]


# Before a migration


def older(path: Path, version: int = 4) -> Path:
    source = Path(__file__).parents[1] / "migrations" / f"vault-v{version}.db"
    return Path(shutil.copyfile(source, path))


def test_a_vault_is_copied_before_it_is_migrated_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = older(tmp_path / "team.db")
    for _ in range(2):
        Recollect(path, home=tmp_path, settings=OFF).close()
    [file] = (tmp_path / "backups").iterdir()
    assert file.name.startswith("team-v4-")
    assert file.stat().st_mode & 0o777 == 0o600
    assert check(file).version == 4
    [line] = caplog.messages
    assert str(path) in line
    assert str(file) in line


def test_the_copy_of_a_locked_vault_is_locked(tmp_path: Path) -> None:
    path = older(tmp_path / "vault.db")
    seal = sealed_with(PASSPHRASE)
    change_key(path, None, seal)
    Recollect(path, home=tmp_path, settings=OFF, passphrase=PASSPHRASE).close()
    [file] = (tmp_path / "backups").iterdir()
    assert header_at(file) == seal.header
    assert check(file, RECOLLECT_PASSPHRASE=PASSPHRASE).version == 4


def test_no_vault_is_migrated_without_a_copy(tmp_path: Path) -> None:
    path = older(tmp_path / "vault.db")
    (tmp_path / "backups").write_text("in the way")
    with pytest.raises(RecollectError, match="backups"):
        Recollect(path, home=tmp_path, settings=OFF)
    assert check(path).version == 4


def test_a_new_vault_has_nothing_to_copy(tmp_path: Path) -> None:
    Recollect(tmp_path / "vault.db", home=tmp_path, settings=OFF).close()
    assert names(tmp_path) == ["vault.db"]
