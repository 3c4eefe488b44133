"""`recollect access`: tokens are shown once, and what was done and refused is noted."""

from __future__ import annotations

import stat
from typing import Any

from commandline import Home, check_error, check_usage_error

from recollect.auth.access import HomeAccess
from recollect.auth.capabilities import CAPABILITIES
from recollect.auth.token_store import TokenStore, is_well_formed


def create_token(home: Home, *args: str) -> Any:
    return home.json("access", "token", "create", *args)


def test_a_new_token_is_printed_once_and_nowhere_else(home: Home) -> None:
    done = home.run("access", "token", "create", "--can", "search:use", "--name", "reader")
    secret = done.out.strip()
    assert done.code == 0
    assert is_well_formed(secret)
    assert "not shown again" in done.err
    listed = home.call("access", "token", "list")
    assert "reader: search:use" in listed.out
    for file in home.folder.iterdir():
        assert secret.encode() not in file.read_bytes()
    for printed in (
        listed.out,
        home.call("access", "token", "list", "--json").out,
        home.call("access", "audit").out,
    ):
        assert secret not in printed
        assert secret[4:] not in printed


def test_a_token_says_what_it_allows_where_and_until_when(home: Home) -> None:
    made = create_token(
        home, "--can", "memory:write", "--can", "search:use", "--vault", "team", "--vault", "agent",
        "--collection", "platform", "--expires", "2099-12-31", "--name", "ci",
    )  # fmt: skip
    secret = made.pop("token")
    assert made["capabilities"] == ["search:use", "memory:write"]
    assert (made["vaults"], made["collections"]) == (["agent", "team"], ["platform"])
    assert (made["state"], made["expires_at"]) == ("live", "2099-12-31T00:00:00Z")
    assert home.json("access", "token", "list") == [made]
    found = TokenStore(HomeAccess(home.folder)).find(secret)
    assert found is not None
    assert found[0].id == made["id"]
    line = home.call("access", "token", "list").out
    assert "search:use, memory:write in agent, team, platform" in line
    assert "expires 2099-12-31" in line


def test_a_revoked_token_is_refused_at_once(home: Home) -> None:
    made = create_token(home, "--can", "admin")
    done = home.call("access", "token", "revoke", made["id"])
    assert (done.code, done.out) == (0, f"Revoked: {made['id']} ({made['name']}).\n")
    [listed] = home.json("access", "token", "list")
    assert listed["state"] == "revoked"
    assert home.json("access", "token", "revoke", made["id"]) == {"revoked": [made["id"]]}


def test_every_capability_is_in_the_help(home: Home) -> None:
    text = " ".join(home.call("access", "token", "--help").out.split())
    for name in CAPABILITIES:
        assert name in text


def test_a_locked_or_missing_vault_does_not_matter(home: Home) -> None:
    home.folder.mkdir()
    home.vault.write_bytes(b"not a vault")
    assert create_token(home, "--can", "search:use")["state"] == "live"
    assert home.vault.read_bytes() == b"not a vault"


def test_what_is_called_wrongly_is_said(home: Home) -> None:
    check_usage_error(home.call("access", "token"))
    check_usage_error(home.call("access", "token", "make"), "create, list, revoke")
    check_usage_error(home.call("access", "token", "create"), "--can")
    check_usage_error(home.call("access", "token", "create", "--can", "fly"), "search:use")
    check_usage_error(home.call("access", "token", "create", "x", "--can", "admin"), "token create")
    check_usage_error(home.call("access", "token", "revoke"), "revoke ID")
    check_usage_error(home.call("access", "token", "list", "x"), "token list")
    check_usage_error(home.call("access", "token", "list", "--can", "admin"), "token list")
    assert not home.folder.exists()
    check_error(home.call("access", "token", "revoke", "nobody"), "token list")
    for expires in ("soon", "2020-01-01", "0d", "-1d", "d"):
        check_error(
            home.call("access", "token", "create", "--can", "admin", f"--expires={expires}")
        )
    check_error(home.call("access", "token", "create", "--can", "admin", "--name", "a\nb"), "name")
    assert home.json("access", "token", "list") == []


def test_tokens_are_private(home: Home) -> None:
    create_token(home, "--can", "search:use")
    assert {stat.S_IMODE(file.stat().st_mode) for file in home.folder.iterdir()} == {0o600}
    assert stat.S_IMODE(home.folder.stat().st_mode) == 0o700


# The log


def test_what_the_command_line_writes_is_noted_and_not_what_it_says(home: Home) -> None:
    id = home.save("--title", "Wombats dig", "--text", "At night")
    home.call("pin", id)
    home.call("search", "wombats")
    home.import_memories({"title": "Echidnas"}, {"title": "Emus"})
    home.call("forget", id)
    made = create_token(home, "--can", "search:use")
    home.call("access", "token", "revoke", made["id"])
    printed = home.json("access", "audit")
    assert [(one["action"], one.get("count", 1)) for one in printed] == [
        ("save", 1), ("pin", 1), ("import", 2), ("forget", 1),
        (f"create token {made['id']}", 1), (f"revoke token {made['id']}", 1),
    ]  # fmt: skip
    assert {one["caller"] for one in printed} == {"owner"}
    assert printed[0]["ids"] == printed[1]["ids"] == printed[3]["ids"]
    text = (home.folder / "audit.jsonl").read_text(encoding="utf-8").lower()
    for word in ("wombat", "dig", "night", "echidna", "emu", made["token"].lower()):
        assert word not in text


def test_the_log_can_be_narrowed(home: Home) -> None:
    for number in range(4):
        home.save("--id", f"n{number}", "--title", f"Note {number}")
    assert len(home.json("access", "audit", "--limit", "3")) == 3
    assert len(home.json("access", "audit", "--since", "1h")) == 4
    assert home.json("access", "audit", "--since", "2099-01-01") == []
    assert home.json("access", "audit", "--refused") == []
    check_error(home.call("access", "audit", "--limit", "0"))
    check_error(home.call("access", "audit", "--since", "yesterday-ish"))
    shown = home.call("access", "audit").out.splitlines()
    assert len(shown) == 4
    assert all("owner" in line and "save" in line for line in shown)


def test_a_new_home_has_an_empty_log_and_no_token_and_says_how_to_create_one(home: Home) -> None:
    assert home.json("access", "audit") == home.json("access", "token", "list") == []
    assert home.call("access", "audit").out == ""
    listed = home.call("access", "token", "list").out
    assert "To create one: recollect access token create" in listed


def test_the_log_names_the_memories_that_the_vault_still_has(home: Home) -> None:
    home.save("--id", "wombats", "--title", "Wombats dig")
    home.save("--id", "emus", "--title", "Emus run")
    home.call("pin", "wombats", "emus")
    home.call("forget", "wombats")
    home.call("forget", "--purge", "emus")
    shown = home.call("access", "audit").out.splitlines()
    assert [line.split()[5:] for line in shown] == [
        ["wombats"], [], ["×", "2", "wombats"], ["wombats"], [],
    ]  # fmt: skip
    assert home.json("access", "audit")[2]["memories"] == ["wombats"]
    home.vault.unlink()
    assert home.call("access", "audit").out.splitlines()[0].split()[4:] == ["save"]
    assert not home.vault.exists()
