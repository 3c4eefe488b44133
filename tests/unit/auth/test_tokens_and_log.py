"""The log of writes and refusals, and tokens: what they hold, and what ends them."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from recollect import Recollect
from recollect.auth import access as access_files
from recollect.auth.access import HomeAccess
from recollect.auth.audit import MOST_MARKS, Audit
from recollect.auth.capabilities import (
    DELETE,
    NOBODY,
    OWNER,
    SEARCH,
    WRITE,
    Caller,
)
from recollect.auth.token_store import TokenStore, is_well_formed
from recollect.errors import Forbidden, NotFound, StoreError, UserError
from recollect.ingest.draft import make_draft
from recollect.ingest.exchange import raw_lines

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "config.toml").write_text(
        '[embedding]\nprovider = "none"\n[rerank]\nprovider = "none"\n', encoding="utf-8"
    )
    return tmp_path


@pytest.fixture
def engine(home: Path) -> Iterator[Recollect]:
    with Recollect(home=home, environment={}) as opened:
        opened.save(id="kept", title="Tides")
        yield opened


def caller(*capabilities: str, **more: Any) -> Caller:
    return Caller(name="somebody", capabilities=frozenset(capabilities), **more)


# The log


def lines(engine: Recollect) -> list[dict[str, Any]]:
    return [*engine.audit.entries()]


def test_writes_and_refusals_are_noted_and_nothing_that_they_say(engine: Recollect) -> None:
    writer = engine.acting_as(caller(WRITE, DELETE, token="0a1b2c3d"))
    writer.save(id="anchor-chain", title="Anchor", text="Anchors hold")
    writer.save(id="anchor-chain", title="Anchor", text="Anchors hold")  # changes nothing
    writer.import_lines(raw_lines([b'{"title": "One"}\n', b'{"title": "Two"}\n', b"{\n"]))
    writer.feedback("a secret question", "anchor-chain", accept=True)
    writer.forget(["anchor-chain"])
    writer.forget(["anchor-chain"], undo=True)
    writer.forget(["anchor-chain"], purge=True)
    with pytest.raises(Forbidden):
        writer.search("a secret question")
    told = lines(engine)[1:]
    actions = ["save", "import", "feedback", "forget", "restore", "purge", "search"]
    assert [line["action"] for line in told] == actions
    assert [line["outcome"] for line in told] == ["done"] * 6 + ["refused"]
    assert [line.get("count", 1) for line in told] == [1, 2, 1, 1, 1, 1, 1]
    assert {line["caller"] for line in told} == {"somebody"}
    assert {line["token"] for line in told} == {"0a1b2c3d"}
    assert {line["vault"] for line in told} == {"agent"}
    mark = engine.mark("anchor-chain")
    assert [line["ids"] for line in told if "ids" in line] == [[mark]] * 5
    text = json.dumps(told).lower()
    for word in ("anchor", "hold", "secret", "question", "one", "two"):
        assert word not in text.replace('"outcome": "done"', "")


def test_the_hash_of_an_id_is_the_vaults_own(home: Path, tmp_path: Path) -> None:
    with Recollect(home=home, environment={}) as one:
        with Recollect(tmp_path / "other.db", home=home, environment={}) as other:
            assert one.mark("kept") != other.mark("kept")
        assert one.mark("kept") != one.mark("Kept")
        assert one.mark("kept") == one.mark("kept")


def test_many_ids_are_a_number(engine: Recollect) -> None:
    engine.save_all([make_draft({"title": f"Note {n}"}) for n in range(MOST_MARKS + 1)])
    last = lines(engine)[-1]
    assert (last["count"], last.get("ids")) == (MOST_MARKS + 1, None)


def test_a_vault_of_its_own_file_is_not_the_homes_news(home: Path, tmp_path: Path) -> None:
    with Recollect(tmp_path / "notes.db", home=home, environment={}) as memory:
        memory.save(title="Note")
    assert not (home / "audit.jsonl").exists()


def test_the_log_is_private_and_its_older_part_is_kept_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert access_files.LARGEST == 10_000_000
    monkeypatch.setattr(access_files, "LARGEST", 1000)
    file = tmp_path / "audit.jsonl"
    log = Audit(HomeAccess(tmp_path))
    log.log_write(OWNER, "save", "agent", 1)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    for action in ("first", "second", "third"):
        file.write_bytes(b'{"action": "filler"}\n' + b"\n" * 1000)
        log.log_write(OWNER, action, "agent", 1)
    assert [entry["action"] for entry in log.entries()] == ["filler", "third"]
    assert access_files.older_log(file).stat().st_size > 1000
    assert sorted(one.name for one in tmp_path.iterdir()) == ["audit.jsonl", "audit.jsonl.1"]


def test_a_broken_line_is_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    log = Audit(HomeAccess(tmp_path))
    log.log_write(OWNER, "save", "agent", 1)
    with file.open("ab") as stream:
        stream.write(b'{"action": "cut o\n[]\n')
    log.log_write(OWNER, "pin", "agent", 1)
    assert [entry["action"] for entry in log.entries()] == ["save", "pin"]


def test_a_refusal_that_repeats_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A refused caller cannot push other lines out of the log."""
    now = 100.0
    monkeypatch.setattr("recollect.auth.audit.time.monotonic", lambda: now)
    log = Audit(HomeAccess(tmp_path))
    for _ in range(500):
        log.log_refusal(NOBODY, "search", "agent", "because")
    log.log_refusal(NOBODY, "show", "agent", "because")
    now += 60
    log.log_refusal(NOBODY, "search", "agent", "because")
    told = [(one["action"], one.get("count", 1)) for one in Audit(HomeAccess(tmp_path)).entries()]
    assert told == [("search", 1), ("show", 1), ("search", 500)]


def test_what_cannot_be_noted_is_done_all_the_same(
    engine: Recollect, caplog: pytest.LogCaptureFixture
) -> None:
    engine.audit.access = HomeAccess(engine.home / "missing")
    engine.save(id="more", title="More")
    assert engine.show(["more"])
    assert "cannot be written" in caplog.text


# Tokens


@pytest.fixture
def access(tmp_path: Path) -> TokenStore:
    return TokenStore(HomeAccess(tmp_path), lambda: NOW)


def test_every_token_is_another(access: TokenStore) -> None:
    made = {access.create([SEARCH])[0] for _ in range(20)}
    assert len(made) == 20
    assert all(is_well_formed(secret) and len(secret) == 47 for secret in made)


def test_a_token_says_who_calls(access: TokenStore) -> None:
    secret, token = access.create(
        [WRITE, SEARCH], name="agent", vaults=["agent", "team"], collections=["shared"]
    )
    found = access.find(secret)
    assert found is not None
    assert found[1] == "live"
    assert found[0].caller() == Caller(
        name="agent",
        capabilities=frozenset({SEARCH, WRITE}),
        vaults=frozenset({"agent", "team"}),
        collections=frozenset({"shared"}),
        token=token.id,
    )
    assert access.find(secret[:-1] + ("A" if secret[-1] != "A" else "B")) is None


@pytest.mark.parametrize("secret", ["", "rcl_", "rcl_" + "é" * 43, "x" * 47, "rcl_" + "A" * 44])
def test_what_is_no_token_is_not_looked_up(access: TokenStore, secret: str) -> None:
    access.create([SEARCH])
    assert access.find(secret) is None


def test_a_token_ends_when_it_expires_or_is_revoked(tmp_path: Path) -> None:
    now = NOW
    access = TokenStore(HomeAccess(tmp_path), lambda: now)
    secret, token = access.create([SEARCH], expires_at=NOW + timedelta(days=1))
    lasting, other = access.create([SEARCH])

    def state(one: str) -> str:
        found = access.find(one)
        assert found is not None
        return found[1]

    assert (state(secret), access.has_live()) == ("live", True)
    now += timedelta(days=1)
    assert state(secret) == "expired"
    access.revoke(other.id)
    assert (state(lasting), access.has_live()) == ("revoked", False)
    first = access.revoke(other.id).revoked_at
    now += timedelta(days=1)
    assert access.revoke(other.id).revoked_at == first == NOW + timedelta(days=1)
    assert access.revoke(token.id).state(now) == "revoked"
    with pytest.raises(NotFound):
        access.revoke("nobody")


def test_a_file_that_was_deleted_lets_nobody_in(tmp_path: Path) -> None:
    access = TokenStore(HomeAccess(tmp_path))
    secret, _ = access.create([SEARCH])
    assert access.find(secret) is not None
    for file in tmp_path.iterdir():
        file.unlink()
    assert access.find(secret) is None
    other, _ = TokenStore(HomeAccess(tmp_path)).create([SEARCH])
    assert access.find(secret) is None
    assert access.find(other) is not None


def test_tokens_that_cannot_be_read_are_an_error_and_not_an_open_door(tmp_path: Path) -> None:
    (tmp_path / "access.db").write_bytes(b"not a database" * 100)
    with pytest.raises(StoreError, match="cannot be read"):
        TokenStore(HomeAccess(tmp_path)).find("rcl_" + "A" * 43)


def test_a_token_that_makes_no_sense_is_not_made(access: TokenStore) -> None:
    for told in ([], ["fly"], [SEARCH, "fly"]):
        with pytest.raises(UserError, match="capability"):
            access.create(told)
    with pytest.raises(UserError, match="name"):
        access.create([SEARCH], name="two\nlines")
    with pytest.raises(UserError, match="in the past"):
        access.create([SEARCH], expires_at=NOW)
    assert access.list_all() == []
