"""Ids that are short to type: their beginnings, `@1` for a result, `-` for standard input."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from commandline import Home, check_error

from recollect.interfaces.cli import output
from recollect.interfaces.cli.selection import FOLDER

IDS = ("auth-jwt-001", "auth-keys-002", "tides-003")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """Three memories, and a terminal."""
    monkeypatch.setattr(output, "_terminal_session", lambda terminal: 7)
    made = Home(tmp_path / "home")
    made.import_memories(*({"id": id, "title": f"Note {id}"} for id in IDS))
    return made


def list_pinned(home: Home) -> list[str]:
    return sorted(one["id"] for one in home.json("list") if one["tier"] == "core")


def test_an_unambiguous_beginning_is_an_id(home: Home) -> None:
    assert home.json("show", "tid", "auth-j")[1]["id"] == "auth-jwt-001"
    assert home.call("pin", "tides").code == 0
    assert list_pinned(home) == ["tides-003"]
    assert home.json("history", "ti")[0]["memory"]["id"] == "tides-003"
    assert home.call("edit", "auth-k", "--title", "Keys").out == "auth-keys-002\n"
    assert home.json("supersede", "auth-j", "auth-k")["superseded_by"] == "auth-keys-002"
    assert home.call("feedback", "keys", "auth-k", "--accept").code == 0


def test_the_end_of_an_id_is_enough(home: Home) -> None:
    assert home.json("show", "jwt-001", "003")[1]["id"] == "tides-003"
    assert home.call("timeline", "002").code == 0
    assert home.call("save", "newer keys", "--supersedes", "002").code == 0
    check_error(home.call("show", "01"), "There is no memory '01'")


def test_several_that_begin_so_are_named(home: Home) -> None:
    said = check_error(home.call("forget", "auth"))
    assert said == (
        "Several ids begin with 'auth': auth-jwt-001, auth-keys-002. Type more of the one."
    )
    assert len(home.list_ids()) == 3
    home.save("--id", "auth", "--title", "A whole id is no beginning")
    assert home.json("show", "auth")[0]["id"] == "auth"


def test_what_begins_no_id_is_unknown_as_before(home: Home) -> None:
    check_error(home.call("show", "nothing"), "There is no memory 'nothing'")
    check_error(home.call("show", ""), "There is no memory ''")


def test_the_trash_is_looked_in_by_what_brings_back(home: Home) -> None:
    home.call("forget", "auth-j")
    assert home.json("show", "auth")[0]["id"] == "auth-keys-002"
    assert home.json("forget", "--undo", "auth") == {"restored": ["auth-jwt-001"]}
    home.call("rm", "tid")
    assert home.json("restore", "t") == {"restored": ["tides-003"]}


def test_results_have_short_names_on_their_terminal(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_error(home.call("show", "@1"), "nothing was searched or listed on this terminal")
    assert home.search_ids("tides") == ["tides-003"]
    assert home.json("show", "@1")[0]["id"] == "tides-003"
    check_error(home.call("show", "@2"), "@2: the last search or list showed 1 memories")
    listed = home.list_ids()
    assert [one["id"] for one in home.json("show", "@3", "@1")] == [listed[2], listed[0]]
    assert home.json("timeline", "@1")["around"] == listed[0]
    home.call("pin", "@2", "@2")
    assert list_pinned(home) == [listed[1]]
    monkeypatch.setattr(output, "_terminal_session", lambda terminal: 8)
    check_error(home.call("show", "@1"), "on this terminal yet")


def test_without_a_terminal_nothing_is_kept(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "_terminal_session", lambda terminal: 0)
    home.call("list")
    home.call("search", "tides")
    assert not (home.folder / FOLDER).exists()


def test_of_a_locked_vault_no_word_is_kept(home: Home) -> None:
    secret = home.folder.parent / "passphrase"
    secret.write_text("correct horse battery staple\n")
    home.environment["RECOLLECT_VAULT__PASSPHRASE_FILE"] = str(secret)
    assert home.call("vault", "lock").code == 0
    assert home.search_ids("tides") == ["tides-003"]
    [kept] = (home.folder / FOLDER).iterdir()
    assert b"tides" not in kept.read_bytes()
    assert kept.stat().st_mode & 0o077 == 0
    assert home.json("show", "@1")[0]["id"] == "tides-003"


def test_one_command_takes_the_ids_of_another(home: Home) -> None:
    ids = home.call("search", "note", "--ids").out
    assert sorted(ids.split()) == sorted(IDS)
    assert home.call("list", "--ids").out.split() == home.list_ids()
    tagged = home.call("tag", "-", "--add", "wip", stdin=ids.encode())
    assert tagged.out == "3 memories tagged.\n"
    assert sorted(home.list_ids("--tag", "wip")) == sorted(IDS)
    none = home.call("search", "zebra", "--ids").out
    assert home.call("tag", "-", "--add", "x", stdin=none.encode()).out == "0 memories tagged.\n"
    assert home.call("show", "-", stdin=b" tides-003 \n\nauth-j\n").out.count("title ") == 2


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("JWT: why?", "jwt-why"),
        ("  Use   a pool -- of ten! ", "use-a-pool-of-ten"),
        ("Überraschung im Maß №5", "uberraschung-im-maß-no5"),
        ("snake_case and CamelCase", "snake-case-and-camelcase"),
        ("Ключи доступа", "ключи-доступа"),
        ("日本語のメモ", "日本語のメモ"),
        ("पासवर्ड की नीति", "पासवर्ड-की-नीति"),
        ("🔑 …", "memory"),
        ("a" * 300, "a" * 48),
        (
            "one two three four five six seven eight nine eleven twelve thirteen",
            "one-two-three-four-five-six-seven-eight-nine",
        ),
    ],
)
def test_titles_in_any_script_make_readable_ids(home: Home, title: str, slug: str) -> None:
    id = home.save("--title", title)
    assert re.fullmatch(f"{slug}-[a-z2-7]{{6}}", id)
    assert home.json("show", id[:-2])[0]["id"] == id
