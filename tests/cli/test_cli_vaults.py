"""`recollect vault list`, and searches that span them, as a person calls them."""

from __future__ import annotations

import os
import shutil
import stat
import tomllib
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest
from commandline import (
    SHOPPING,
    Home,
    check_error,
    check_usage_error,
    part_names,
    recompute_node,
)

# Settings written by hand: comments, an order and a style of their own.
BY_HAND = """\
# My settings.   Do not tidy.
[search]
recipe   = 'vault'   # I like it

# The platform team's notes
[[vaults]]
name = "platform"   # them
tier = "team"
path = "/srv/platform.db"

# Everything about waiting stands here
[rerank]
budget_ms=250
"""

BOTH = [("mine", "agent"), ("theirs", "platform")]  # what both vaults hold


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path / "home")
    made.folder.mkdir()
    return made


@pytest.fixture
def other(tmp_path: Path) -> Home:
    """Another person's home, whose vault is searched, too."""
    made = Home(tmp_path / "other")
    made.folder.mkdir()
    made.save("--id", "theirs", "--title", "Harbor token", "--text", "The team's note.")
    return made


def project(home: Home, folder: Path) -> Path:
    """A project folder with a vault of its own."""
    made = Home(folder / ".recollect")
    made.folder.mkdir(parents=True)
    made.save("--id", "in-project", "--title", "Harbor token", "--text", "The project's note.")
    return folder


def vaults_of(response: Any) -> list[tuple[str, str]]:
    return [(one["id"], one["vault"]) for one in response["results"]]


# List, add, remove


def test_at_first_there_is_the_own_vault(home: Home) -> None:
    assert home.json("vault", "list") == {
        "vaults": [{"name": "agent", "tier": "agent", "priority": 1, "path": str(home.vault)}],
        "untrusted": None,
    }
    listed = home.call("vault", "list")
    assert (listed.code, listed.err) == (0, "")
    assert listed.out.split() == ["agent", "your", "own", "1", str(home.vault)]


def test_a_vault_is_added_listed_searched_and_removed(home: Home, other: Home) -> None:
    home.save("--id", "mine", "--title", "Harbor token")
    added = home.call("vault", "add", "platform", str(other.vault))
    assert (added.code, added.err) == (0, "")
    assert added.out.startswith("Added: platform")
    assert [one["name"] for one in home.json("vault", "list")["vaults"]] == ["agent", "platform"]
    found = home.search("harbor token", "--explain")
    assert vaults_of(found) == BOTH
    for one in found["results"]:
        assert recompute_node(one["explain"]) == pytest.approx(one["score"])
        weighed = "priority" in part_names(one["explain"])
        assert weighed == (one["vault"] == "platform")
    printed = home.call("search", "harbor token").out
    assert "theirs · fact · just now · vault platform" in printed
    assert "vault agent" not in printed
    removed = home.call("vault", "remove", "platform")
    assert (removed.code, removed.out) == (0, "Removed: platform. Its memories are kept.\n")
    assert home.search_ids("harbor token") == ["mine"]
    assert other.search_ids("harbor token") == ["theirs"]


def test_every_action_speaks_json(home: Home, other: Home, tmp_path: Path) -> None:
    added = home.json("vault", "add", "platform", str(other.vault), "--priority", "0.7")
    facts = {"name": "platform", "tier": "team", "priority": 0.7, "path": str(other.vault)}
    assert added == {"added": facts}
    assert facts in home.json("vault", "list")["vaults"]
    assert home.json("vault", "remove", "platform") == {"removed": "platform"}
    folder = project(home, tmp_path / "harbor")
    vault = str(folder / ".recollect" / "vault.db")
    assert home.json("vault", "trust", str(folder)) == {"trusted": vault}
    assert home.json("vault", "trust", str(folder)) == {"trusted": vault}, "again is as good"
    for changed in (True, False):
        printed = home.json("vault", "untrust", str(folder))
        assert printed == {"untrusted": vault, "changed": changed}


def test_a_server_is_added_by_its_address(home: Home) -> None:
    args = ("vault", "add", "ops", "https://recollect.example", "--token-env", "OPS_TOKEN")
    assert home.json(*args)["added"] == {
        "name": "ops",
        "tier": "dynamic",
        "priority": 0.5,
        "url": "https://recollect.example",
    }
    [table] = tomllib.loads(home.config.read_text())["vaults"]
    assert table["token_env"] == "OPS_TOKEN", "the variable's name is kept, never the token"


def test_a_path_is_kept_whole_wherever_one_stands_later(home: Home, other: Home) -> None:
    with chdir(other.folder):
        added = home.json("vault", "add", "there", "vault.db")["added"]
    assert added["path"] == str(other.vault)


def test_what_was_written_by_hand_stays_as_it_was(home: Home, other: Home) -> None:
    home.config.write_text(BY_HAND)
    home.json("vault", "add", "more", str(other.vault))
    after = home.config.read_text()
    assert after.startswith(BY_HAND)
    home.json("vault", "remove", "more")
    assert home.config.read_text() == BY_HAND
    home.json("vault", "remove", "platform")
    left = home.config.read_text()
    assert tomllib.loads(left) == {"search": {"recipe": "vault"}, "rerank": {"budget_ms": 250}}
    for comment in ("# My settings.   Do not tidy.", "# I like it", "# The platform team's notes",
                    "# Everything about waiting stands here"):  # fmt: skip
        assert comment in left
    assert "platform.db" not in left


def test_line_ends_rights_and_links_stay(home: Home, other: Home, tmp_path: Path) -> None:
    """Settings kept in a repository of dotfiles, edited on Windows, readable for the group."""
    real = tmp_path / "dotfiles.toml"
    text = '\ufeff# mine\r\n[search]\r\nrecipe = "vault"\r\n'
    real.write_bytes(text.encode())
    real.chmod(0o640)
    home.config.symlink_to(real)
    home.json("vault", "add", "platform", str(other.vault))
    assert home.config.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    content = real.read_bytes().decode()
    assert content.startswith(text)
    assert content.count("\n") == content.count("\r\n")
    home.json("vault", "remove", "platform")
    assert real.read_bytes().decode() == text
    assert home.config.is_symlink()


def test_settings_that_a_command_makes_are_their_owners_alone(home: Home, other: Home) -> None:
    home.json("vault", "add", "platform", str(other.vault))
    assert stat.S_IMODE(home.config.stat().st_mode) == 0o600
    assert sorted(one.name for one in home.folder.iterdir()) == ["config.toml"], "nothing else"


@pytest.mark.parametrize(
    "content",
    [
        b"[search\n",
        b"[search]\nlimit = 5\n",
        b"\xff\xfe",
        b"[[vaults]]\nname = 'b'\n",
        b"x = 1\r\n",
    ],
)
@pytest.mark.parametrize("action", ["add", "remove"])
def test_a_file_that_is_wrong_already_stays_untouched(
    home: Home, other: Home, content: bytes, action: str
) -> None:
    home.config.write_bytes(content)
    args = ("add", "platform", str(other.vault)) if action == "add" else ("remove", "a")
    check_error(home.call("vault", *args), "config.toml")
    assert home.config.read_bytes() == content
    assert [one.name for one in home.folder.iterdir()] == ["config.toml"]


def test_a_vault_that_is_wrong_can_be_removed(home: Home) -> None:
    home.config.write_text("[[vaults]]\nname = 'a'\n")
    check_error(home.call("search", "harbor"), "[[vaults]] number 1 needs a tier")
    assert home.json("vault", "remove", "a") == {"removed": "a"}
    assert home.search("harbor")["results"] == []


@pytest.mark.parametrize(
    ("args", "holding"),
    [
        (("agent", "/srv/x.db"), "'agent' is the name of the agent vault"),
        (("project", "/srv/x.db"), "'project' is the name of the project vault"),
        (("Platform", "/srv/x.db"), "small letters"),
        (("", "/srv/x.db"), "small letters"),
        (("x", "/srv/x.db", "--tier", "friends"), "project, team, dynamic"),
        (("x", "/srv/x.db", "--tier", "agent"), "project, team, dynamic"),
        (("x", "/srv/x.db", "--tier", "dynamic"), "a url is for the tier dynamic"),
        (("x", "https://x.example", "--tier", "team"), "a url is for the tier dynamic"),
        (("x", "ftp://x.example"), "http:// or https://"),
        (("x", "https://me:hunter2@x.example"), "token_env"),
        (("x", "/srv/x.db", "--priority", "0"), "above 0 and at most 1000"),
        (("x", "/srv/x.db", "--priority", "nan"), "above 0 and at most 1000"),
        (("x", "/srv/x.db", "--priority", "inf"), "above 0 and at most 1000"),
        (("x", "/srv/nosuch.db"), "There is no file /srv/nosuch.db."),
        (("x", "/srv"), "There is no file /srv."),
    ],
)
def test_what_cannot_be_added_is_told_and_leaves_nothing_behind(
    home: Home, args: tuple[str, ...], holding: str
) -> None:
    sentence = check_error(home.call("vault", "add", *args), holding)
    assert "hunter2" not in sentence
    assert not home.config.exists()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"milk, bread\n", "not a SQLite database"),
        (b"", "is empty, not a vault"),
        (SHOPPING, "not a Recollect vault"),
    ],
    ids=["a text", "empty", "another database"],
)
def test_a_file_that_is_no_vault_is_refused_and_stays_as_it_is(
    home: Home, tmp_path: Path, content: bytes, said: str
) -> None:
    file = tmp_path / "other.db"
    file.write_bytes(content)
    check_error(home.call("vault", "add", "x", str(file)), said)
    assert file.read_bytes() == content
    assert not home.config.exists()


def test_a_name_or_a_file_is_there_once(home: Home, other: Home, tmp_path: Path) -> None:
    home.json("vault", "add", "platform", str(other.vault))
    before = home.config.read_bytes()
    (tmp_path / "link.db").symlink_to(other.vault)
    os.link(other.vault, tmp_path / "hard.db")
    check_error(home.call("vault", "add", "platform", "/srv/x.db"), "named 'platform'")
    for place in (other.vault, tmp_path / "link.db", tmp_path / "hard.db"):
        check_error(home.call("vault", "add", "again", str(place)), "are the same file")
    check_error(home.call("vault", "add", "myself", str(home.vault)), "'agent' and 'myself'")
    assert home.config.read_bytes() == before


def test_what_is_not_there_cannot_be_removed(home: Home) -> None:
    check_error(home.call("vault", "remove", "platform"), "no other vault 'platform'")
    check_error(home.call("vault", "remove", "agent"), "no other vault 'agent'")
    assert not home.config.exists()


@pytest.mark.parametrize(
    "text",
    [
        'vaults = [{name = "a", tier = "team", path = "/x"}]\n',
        '[["vaults"]]\nname = "a"\ntier = "team"\npath = "/x"\n',
    ],
)
def test_a_vault_in_a_style_of_its_own_is_left_to_its_writer(home: Home, text: str) -> None:
    home.config.write_text(text)
    assert [one["name"] for one in home.json("vault", "list")["vaults"]] == ["agent", "a"]
    check_error(home.call("vault", "remove", "a"), "by hand")
    assert home.config.read_text() == text


def test_a_text_that_looks_like_a_table_is_none(home: Home) -> None:
    text = (
        '[embedding]\nprovider = "none"\nquery_prefix = """\n[[vaults]]\nname = "a"\n"""\n'
        '[[vaults]]\nname = "a"\ntier = "team"\npath = "/x"\n'
    )
    home.config.write_text(text)
    done = home.call("vault", "remove", "a")
    left = tomllib.loads(home.config.read_text())
    assert left["embedding"]["query_prefix"] == '[[vaults]]\nname = "a"\n'
    if done.code:
        check_error(done, "by hand")
        assert home.config.read_text() == text


def test_wrong_usage_says_how_it_is_called(home: Home) -> None:
    for args in (("add",), ("add", "x"), ("add", "x", "y", "z"), ("remove",), ("list", "x"),
                 ("trust", "a", "b")):  # fmt: skip
        check_usage_error(home.call("vault", *args), f"recollect vault {args[0]}")
    check_usage_error(home.call("vault", "mount"), "'mount'", "status")
    check_usage_error(home.call("vault", "add", "x", "/y", "--priority", "high"), "--priority")


# Trust


def test_a_project_vault_is_used_once_it_is_trusted(home: Home, tmp_path: Path) -> None:
    folder = project(home, tmp_path / "harbor")
    (folder / "src").mkdir()
    home.save("--id", "mine", "--title", "Harbor token")
    with chdir(folder / "src"):
        vault = str(folder / ".recollect" / "vault.db")
        assert home.json("vault", "list")["untrusted"] == vault
        assert f"Not trusted, so not searched: {vault}" in home.call("vault", "list").out
        assert home.search_ids("harbor token") == ["mine"]
        assert "`recollect vault trust`" in home.call("search", "harbor token").out
        trusted = home.call("vault", "trust")
        assert trusted.out == f"Trusted: {vault}. Searches in this project now include it.\n"
        assert [one["name"] for one in home.json("vault", "list")["vaults"]] == ["agent", "project"]
        assert home.search_ids("harbor token") == ["mine", "in-project"]
        assert "vault trust" not in home.call("search", "harbor token").out
        assert home.call("vault", "untrust").out == f"No longer trusted: {vault}.\n"
        assert home.call("vault", "untrust").out == f"Was not trusted: {vault}.\n"
        assert home.search_ids("harbor token") == ["mine"]


def test_what_cannot_be_trusted_is_told(home: Home, other: Home, tmp_path: Path) -> None:
    check_error(home.call("vault", "trust", str(tmp_path)), "There is no .recollect/vault.db")
    hostile = tmp_path / "hostile" / ".recollect"
    hostile.mkdir(parents=True)
    (hostile / "vault.db").symlink_to(other.vault)
    check_error(home.call("vault", "trust", str(hostile.parent)), "leads out of its project")
    assert not (home.folder / "trusted.json").exists()
    own = Home(tmp_path / "person" / ".recollect")
    own.folder.mkdir(parents=True)
    own.save("--title", "x")
    check_error(own.call("vault", "trust", str(tmp_path / "person")), "is your own vault")


def test_a_working_directory_that_is_gone_is_no_hindrance(home: Home, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    before = Path.cwd()
    os.chdir(gone)
    try:
        gone.rmdir()
        assert [one["name"] for one in home.json("vault", "list")["vaults"]] == ["agent"]
        check_error(home.call("vault", "trust"), "The working directory no longer exists")
    finally:
        os.chdir(before)


# Searching


@pytest.fixture
def spanning(home: Home, other: Home, tmp_path: Path) -> Home:
    """A home that knows two vaults, one of which is not there."""
    home.save("--id", "mine", "--title", "Harbor token")
    home.json("vault", "add", "platform", str(other.vault))
    shutil.copyfile(other.vault, tmp_path / "gone.db")
    home.json("vault", "add", "gone", str(tmp_path / "gone.db"))
    (tmp_path / "gone.db").unlink()
    return home


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["agent"], [("mine", "agent")]),
        (["platform"], [("theirs", "platform")]),
        (["platform", "agent"], BOTH),
    ],
    ids=["own", "other", "both"],
)
def test_named_vaults_are_searched_alone(
    spanning: Home, names: list[str], found: list[tuple[str, str]]
) -> None:
    printed = spanning.search("harbor token", *(f"--vault={name}" for name in names))
    assert vaults_of(printed) == found
    assert [one for one in printed["degraded"] if one["channel"] == "gone"] == []


def test_a_vault_that_is_not_known_is_refused_with_those_that_are(home: Home, other: Home) -> None:
    home.save("--id", "mine", "--title", "Harbor token")
    assert vaults_of(home.search("harbor", "--vault", "agent")) == [("mine", "agent")]
    check_error(home.call("search", "harbor", "--vault", "nowhere"), "'nowhere'", "agent")
    home.json("vault", "add", "platform", str(other.vault))
    check_error(home.call("search", "harbor", "--vault", "nowhere"), "'nowhere'", "agent, platform")


def test_a_vault_that_is_away_is_told_below_the_results(spanning: Home, tmp_path: Path) -> None:
    done = spanning.call("search", "harbor token")
    assert done.code == 0
    assert "Without gone: The vault gone cannot be opened: there is no such file." in done.out
    assert vaults_of(spanning.search("harbor token")) == BOTH
    check_error(spanning.call("search", "harbor", "--vault", "gone"), "No vault could answer: gone")


def test_what_was_found_elsewhere_can_be_shown_and_not_changed(spanning: Home, other: Home) -> None:
    assert spanning.json("show", "theirs")[0]["text"] == "The team's note."
    check_error(spanning.call("show", "nowhere"), "There is no memory 'nowhere'")
    check_error(spanning.call("edit", "theirs", "--title", "Mine now"), "'theirs'")
    check_error(spanning.call("forget", "theirs"), "'theirs'")
    check_error(spanning.call("pin", "theirs"), "'theirs'")
    assert other.json("show", "theirs")[0]["title"] == "Harbor token"


def test_a_context_spans_the_vaults_too(spanning: Home) -> None:
    printed = spanning.json("context", "harbor token")
    assert {one["id"] for one in printed["memories"]} == {"mine", "theirs"}


@pytest.mark.installed
def test_the_installed_command_does_not_wait_for_a_server_that_hangs(home: Home) -> None:
    """Nothing listens to what it is asked; the deadline is short."""
    import socket

    home.save("--id", "mine", "--title", "Harbor token")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        home.json("vault", "add", "silent", url)
        printed = home.run(
            "search", "harbor", "--json", using={"RECOLLECT_SEARCH__VAULT_DEADLINE_MS": "200"}
        ).json()
    assert vaults_of(printed) == [("mine", "agent")]
    assert "silent" in {one["channel"] for one in printed["degraded"]}
