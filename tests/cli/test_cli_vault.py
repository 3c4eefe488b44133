"""`recollect vault`: locking and passphrases, copies of what is locked, and collections."""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any

import pytest
from commandline import Home, check_error

from recollect.store.sqlite.vault_files import header_at
from recollect.vaults import keys

PASSPHRASE = "correct horse battery"
WITH = {"RECOLLECT_PASSPHRASE": PASSPHRASE}
DUMB = {"TERM": "dumb"}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    folder = tmp_path / "home"
    folder.mkdir()
    return Home(folder)


@pytest.fixture
def locked(home: Home) -> Home:
    home.save("--id", "jwt", "--title", "Switched to JWT")
    assert home.call("vault", "lock", using=WITH).code == 0
    return home


def passphrase_file(home: Home, text: str = "another one entirely") -> str:
    file = home.folder.parent / "passphrase"
    file.write_text(text + "\nsecond line")
    return str(file)


def test_the_state_is_told_without_a_passphrase(home: Home) -> None:
    done = home.call("vault")
    assert (done.code, done.err) == (1, f"recollect: There is no vault at {home.vault} yet.\n")
    home.save("--title", "One")
    assert "is not locked: anyone who can read the file" in home.call("vault", "status").out
    home.call("vault", "lock", using=WITH)
    printed = home.json("vault", "status")
    assert printed["locked"]
    assert not printed["unfinished"]
    assert printed["key"] == "a passphrase (Argon2id, 64 MiB, 3 passes, 4 lanes)"


def test_the_passphrase_comes_from_a_variable_or_a_file(locked: Home) -> None:
    assert locked.search("jwt", using=WITH)["results"]
    named = {"RECOLLECT_VAULT__PASSPHRASE_ENV": "MY_SECRET", "MY_SECRET": PASSPHRASE}
    assert locked.search("jwt", using=named)["results"]
    file = passphrase_file(locked, PASSPHRASE)
    assert locked.call("--passphrase-file", file, "search", "jwt").code == 0
    named = {"RECOLLECT_VAULT__PASSPHRASE_FILE": file, "RECOLLECT_PASSPHRASE": "it wins over this"}
    assert locked.search("jwt", using=named)["results"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot be read: No such file or directory."),
        (b"\n", "is empty."),
        (b"\xff", "is not valid UTF-8 text."),
    ],
)
def test_a_passphrase_file_that_holds_none(locked: Home, content: bytes | None, said: str) -> None:
    file = locked.folder.parent / "passphrase"
    if content is not None:
        file.write_bytes(content)
    refused = check_error(locked.call("--passphrase-file", str(file), "stats"))
    assert refused == f"The passphrase file {file} {said}"


def test_without_a_passphrase_one_sentence_says_how_to_give_it(locked: Home) -> None:
    assert check_error(locked.run("search", "jwt")) == (
        f"The vault {locked.vault} is locked; give its passphrase in the variable "
        "RECOLLECT_PASSPHRASE, in a file (`recollect --passphrase-file FILE …`), or on a terminal."
    )


@pytest.mark.parametrize("args", [("search", "jwt"), ("save", "--title", "x"), ("doctor",)])
def test_a_wrong_passphrase_is_one_sentence(locked: Home, args: tuple[str, ...]) -> None:
    before = locked.vault.read_bytes()
    said = check_error(locked.call(*args, using={"RECOLLECT_PASSPHRASE": "wrong horse"}))
    assert said == f"The passphrase of the vault {locked.vault} is wrong; check it and try again."
    assert locked.vault.read_bytes() == before


def test_every_command_works_on_a_locked_vault(locked: Home) -> None:
    for args in (
        ("save", "--title", "Two"), ("show", "jwt"), ("list",), ("pin", "jwt"), ("export",),
        ("edit", "jwt", "--text", "more"), ("context",), ("reindex",), ("doctor",), ("stats",),
        ("feedback", "--query", "jwt", "--accept", "jwt"), ("forget", "jwt"),
    ):  # fmt: skip
        done = locked.call(*args, using=WITH)
        assert done.code in (0, 2), (args, done.err)
    assert header_at(locked.vault) is not None


def test_rekey_takes_the_new_passphrase_from_a_file(locked: Home) -> None:
    file = passphrase_file(locked)
    done = locked.call("vault", "rekey", using=WITH)
    assert done.err == (
        "recollect: The new passphrase is missing. Use --new-passphrase-file FILE.\n"
    )
    assert locked.call("vault", "rekey", "--new-passphrase-file", file, using=WITH).code == 0
    assert locked.call("search", "jwt", using=WITH).code == 1
    assert locked.call("--passphrase-file", file, "search", "jwt").code == 0


def test_unlock_wants_to_be_meant(locked: Home) -> None:
    done = locked.call("vault", "unlock", using=WITH)
    assert (done.code, header_at(locked.vault) is None) == (1, False)
    assert "Add --yes" in done.err
    done = locked.call("vault", "unlock", "--yes", using=WITH)
    assert (done.code, header_at(locked.vault)) == (0, None)
    assert locked.search_ids("jwt") == ["jwt"]


def test_what_makes_no_sense_is_refused(locked: Home) -> None:
    both = "--keyring and --new-passphrase-file need lock or rekey."
    check_error(locked.call("vault", "unlock", "--keyring", using=WITH), both, code=2)
    again = "The vault is locked already; `recollect vault rekey` changes its key."
    check_error(locked.call("vault", "lock", using=WITH), again)


def test_a_short_passphrase_is_refused_and_nothing_is_locked(home: Home) -> None:
    done = home.call("vault", "lock", using={"RECOLLECT_PASSPHRASE": "horse"})
    assert "too short" in done.err
    assert header_at(home.vault) is None


def test_a_terminal_is_asked_and_shows_no_passphrase(home: Home) -> None:
    home.save("--id", "jwt", "--title", "Switched to JWT")
    code, shown, _ = home.in_window("vault", "lock", typed=(PASSPHRASE, PASSPHRASE), using=DUMB)
    assert code == 0, shown
    assert "There is no recovery if you lose it" in shown
    assert PASSPHRASE not in shown
    code, shown, _ = home.in_window("search", "jwt", typed=(PASSPHRASE,), using=DUMB)
    assert (code, "1 result" in shown) == (0, True), shown
    code, shown, _ = home.in_window("vault", "unlock", typed=("no",), using=DUMB)
    assert (code, "Nothing was changed." in shown) == (1, True), shown


def test_two_passphrases_that_differ_change_nothing(home: Home) -> None:
    home.save("--title", "One")
    typed = (PASSPHRASE, "something else")
    code, shown, _ = home.in_window("vault", "lock", typed=typed, using=DUMB)
    assert (code, "differ. Nothing was changed" in shown) == (1, True), shown
    assert header_at(home.vault) is None


class FakeKeyring(types.ModuleType):
    """A keyring in memory, instead of the system's."""

    class errors:  # noqa: N801  its name in the library
        class KeyringError(Exception):
            pass

    def __init__(self) -> None:
        super().__init__("keyring")
        self.kept: dict[tuple[str, str], str] = {}

    def set_password(self, service: str, name: str, value: str) -> None:
        self.kept[service, name] = value

    def get_password(self, service: str, name: str) -> str | None:
        return self.kept.get((service, name))

    def delete_password(self, service: str, name: str) -> None:
        del self.kept[service, name]


def test_the_key_may_be_kept_in_the_keyring(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    fake: Any = FakeKeyring()
    monkeypatch.setattr(keys, "_keyring", lambda path: fake)
    home.save("--id", "jwt", "--title", "Switched to JWT")
    done = home.call("vault", "lock", "--keyring")
    assert "a random key in the system's keyring" in done.out
    assert home.search_ids("jwt") == ["jwt"]
    assert len(fake.kept) == 1
    assert home.call("vault", "rekey", "--keyring").code == 0
    assert home.search_ids("jwt") == ["jwt"]
    assert len(fake.kept) == 1, "The old key is of no use any more."
    fake.kept.clear()
    assert "its key is not in the system's keyring" in home.call("list").err


def test_without_the_extra_the_keyring_says_what_to_install(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    done = home.call("vault", "lock", "--keyring")
    assert (done.code, "install recollect-memory[keyring]" in done.err) == (1, True)
    assert header_at(home.vault) is None


# Plain copies of what is locked


def modes(folder: Path) -> set[int]:
    return {file.stat().st_mode & 0o777 for file in folder.rglob("*") if file.is_file()}


@pytest.mark.parametrize(
    ("told", "where"),
    [
        (["export"], "this output"),
        (["export", "{copy}/vault.jsonl"], "{copy}/vault.jsonl"),
        (["export", "--format", "markdown", "{copy}/notes"], "{copy}/notes"),
        (["mirror", "{copy}"], "the mirror"),
    ],
)
def test_a_copy_of_a_locked_vault_is_private_and_said_to_be_plain(
    locked: Home, told: list[str], where: str
) -> None:
    copy = locked.folder.parent / "copy"
    copy.mkdir()
    done = locked.call(*(word.format(copy=copy) for word in told), using=WITH)
    assert done.code == 0
    where = where.format(copy=copy)
    sentence = f"The vault is locked, but {where} is plain text: anyone who can read it can read"
    assert done.err.startswith(f"recollect: {sentence} the memories.\n")
    assert modes(copy) <= {0o600}


def test_a_file_that_a_mirror_of_a_locked_vault_writes_again_becomes_private(locked: Home) -> None:
    copy = locked.folder.parent / "copy"
    copy.mkdir()
    note = copy / "note.md"
    note.write_text("By hand.\n")
    note.chmod(0o644)
    assert locked.call("mirror", str(copy), "--adopt", using=WITH).code == 0
    assert "By hand." in note.read_text()
    assert modes(copy) == {0o600}


def test_what_a_killed_mirror_left_is_gone_after_the_next_run(locked: Home) -> None:
    copy = locked.folder.parent / "copy"
    (copy / "inner").mkdir(parents=True)
    left = [copy / inner / f".recollect-0badcafe-{'0' * 16}.part" for inner in ("", "inner")]
    for file in left:
        file.write_text("half a memory")
    assert locked.call("mirror", str(copy), "--dry-run", using=WITH).code == 0
    assert all(file.exists() for file in left)
    assert locked.call("mirror", str(copy), using=WITH).code == 0
    assert not any(file.exists() for file in left)


def test_a_copy_of_an_open_vault_is_private_and_needs_no_warning(home: Home) -> None:
    home.save("--id", "jwt", "--title", "Switched to JWT")
    copy = home.folder.parent / "copy"
    done = home.call("export", "--format", "markdown", str(copy))
    assert done.err == f"1 memory written to {copy}.\n"
    assert modes(copy) == {0o600}


# Collections


def test_a_memory_is_published_found_and_taken_back(home: Home, tmp_path: Path) -> None:
    shared = tmp_path / "platform.db"
    home.save("--title", "Signing keys rotate", "--id", "keys")
    assert "Added: platform" in home.run("vault", "collections", "add", "platform", str(shared)).out
    assert home.json("vault", "collections") == [{"name": "platform", "path": str(shared)}]
    printed = home.json("vault", "publish", "keys", "--to", "platform")
    assert printed == {"published": ["keys"], "collection": "platform"}
    assert [one["id"] for one in home.json("search", "signing keys")["results"]] == ["keys"]
    home.run("forget", "keys")
    [found] = home.json("search", "signing keys")["results"]
    assert (found["id"], found["vault"]) == ("platform:keys", "platform")
    assert "vault platform" in home.run("search", "signing keys").out
    printed = home.json("vault", "publish", "keys", "--to", "platform", "--undo")
    assert printed == {"unpublished": ["keys"], "collection": "platform"}
    assert home.json("search", "signing keys")["results"] == []


def test_removing_a_collection_keeps_its_file_and_every_other_setting(
    home: Home, tmp_path: Path
) -> None:
    home.folder.mkdir(exist_ok=True)
    home.config.write_text("# mine\n[search]\nliteral = true\n")
    shared = tmp_path / "platform.db"
    home.save("--title", "Signing keys rotate", "--id", "keys")
    added = home.json("vault", "collections", "add", "platform", str(shared))
    assert added == {"added": {"name": "platform", "path": str(shared)}}
    home.run("vault", "publish", "keys", "--to", "platform")
    assert "are kept" in home.run("vault", "collections", "remove", "platform").out
    assert home.config.read_text() == "# mine\n[search]\nliteral = true\n"
    assert shared.exists()
    home.run("vault", "collections", "add", "guild", str(shared))
    assert home.json("vault", "collections", "remove", "guild") == {"removed": "guild"}


def test_a_name_that_is_taken_is_refused_and_nothing_is_written(home: Home, tmp_path: Path) -> None:
    home.run("vault", "collections", "add", "guild", str(tmp_path / "guild.db"))
    team = Home(tmp_path / "team")
    team.save("--title", "Keys rotate")
    home.run("vault", "add", "team", str(team.vault))
    before = home.config.read_text()
    for name, why in (("guild", "Two collections"), ("agent", "a vault"), ("team", "'team', too")):
        done = home.call("vault", "collections", "add", name, str(tmp_path / "other.db"))
        assert (done.code, done.out) == (1, ""), name
        assert why in done.err
    assert home.config.read_text() == before
    assert home.call("search", "anything").code == 0


def test_what_makes_no_sense_is_refused_in_one_line(home: Home) -> None:
    home.save("--title", "Signing keys rotate", "--id", "keys")
    for args, code, holding in (
        (("vault", "publish", "keys", "--to", "guild"), 1, "'guild'"),
        (("vault", "publish", "keys"), 2, "--to"),
        (("vault", "collections", "remove", "guild"), 1, "'guild'"),
        (("vault", "collections", "add", "guild"), 2, "add NAME FILE"),
        (("vault", "collections", "rename"), 2, "list, add, remove"),
        (("vault", "collections", "add", "Guild!", "x.db"), 1, "small letters"),
    ):
        done = home.call(*args)
        assert (done.code, done.out) == (code, ""), args
        assert holding in done.err, args
