"""A caller reaches the vaults that its token names and no others; passphrases of vaults."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from vault_homes import SECRET, away, found, home, team, vault_file

from recollect import Recollect
from recollect.auth.capabilities import CAPABILITIES, SEARCH, Caller
from recollect.errors import Forbidden, NotFound, UserError
from recollect.settings import CollectionSettings, Settings, VaultSettings
from recollect.vaults.keys import lock_vault, other_keys, sealed_with

OWN = [{"id": "mine", "title": "Harbor token", "text": "The vermilion lighthouse."}]
TEAM = [{"id": "ours", "title": "Harbor token", "text": "What the team knows."}]
OPS = [{"id": "theirs", "title": "Harbor token", "text": "What the operators know."}]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Recollect]:
    """A home with its own vault and two others."""
    vaults = [
        team("team", vault_file(tmp_path / "team.db", TEAM)),
        team("ops", vault_file(tmp_path / "ops.db", OPS)),
    ]
    with home(tmp_path / "home", OWN, *vaults) as made:
        yield made


def limited_caller(*vaults: str) -> Caller:
    return Caller(
        name="agent of the team", capabilities=frozenset(CAPABILITIES), vaults=frozenset(vaults),
        token="abc",
    )  # fmt: skip


def test_a_caller_of_one_vault_finds_what_is_there_and_nothing_else(memory: Recollect) -> None:
    caller = memory.acting_as(limited_caller("team"))
    assert found(caller.search("harbor token")) == [("ours", "team")]
    assert [one.id for one in caller.show(["ours"])] == ["ours"]
    assert found(caller.search("vermilion lighthouse")) == []
    for id in ("mine", "theirs"):
        with pytest.raises(NotFound, match="There is no memory"):
            caller.show([id])


def test_a_caller_of_two_vaults_is_answered_from_both(memory: Recollect) -> None:
    caller = memory.acting_as(limited_caller("agent", "ops"))
    assert found(caller.search("harbor token")) == [("mine", "agent"), ("theirs", "ops")]
    assert [one.id for one in caller.show(["mine", "theirs"])] == ["mine", "theirs"]
    with pytest.raises(NotFound):
        caller.show(["ours"])


@pytest.mark.parametrize("name", ["agent", "ops", "nowhere"])
def test_another_vault_is_refused_whether_it_is_there_or_not(memory: Recollect, name: str) -> None:
    caller = memory.acting_as(limited_caller("team"))
    with pytest.raises(Forbidden, match=f"may not use the vault '{name}'"):
        caller.search("harbor token", vaults=[name])


def test_whoever_does_not_reach_the_home_cannot_ask_it_alone(memory: Recollect) -> None:
    with pytest.raises(Forbidden, match="may not use the vault 'agent'"):
        memory.acting_as(limited_caller("team")).search("harbor token", federate=False)
    with pytest.raises(NotFound):
        memory.acting_as(limited_caller("team")).show(["mine"], federate=False)


@pytest.mark.parametrize(
    "call",
    [
        lambda one: one.save(title="Mine now"),
        lambda one: one.edit("ours", title="Changed"),
        lambda one: one.forget(["ours"]),
        lambda one: one.pin(["mine"]),
        lambda one: one.list(),
        lambda one: [*one.export()],
        lambda one: one.context("harbor"),
        lambda one: one.related("ours"),
        lambda one: one.facets(),
        lambda one: one.stats(),
        lambda one: one.feedback("harbor", "ours", accept=True),
        lambda one: one.doctor(),
    ],
)
def test_everything_else_is_the_home_s_own(memory: Recollect, call: Any) -> None:
    with pytest.raises(Forbidden, match="may not use the vault 'agent'"):
        call(memory.acting_as(limited_caller("team")))


def test_a_name_that_is_no_vault_here_lets_nobody_in(memory: Recollect) -> None:
    caller = memory.acting_as(limited_caller("elsewhere"))
    with pytest.raises(Forbidden):
        caller.search("harbor token")
    with pytest.raises(Forbidden):
        caller.show(["ours"])


def test_a_caller_is_not_told_which_other_vaults_there_are(memory: Recollect) -> None:
    caller = memory.acting_as(limited_caller("team", "gone"))
    with pytest.raises(NotFound) as told:
        caller.search("harbor token", vaults=["gone"])
    assert str(told.value) == "There is no vault 'gone'; there are: team."


def test_where_a_vault_is_on_this_machine_is_not_told(tmp_path: Path) -> None:
    with home(tmp_path / "home", OWN, team("team", tmp_path / "secret-place.db")) as memory:
        [reason] = away(memory.search("harbor token")).values()
    assert "secret-place" not in reason
    assert reason.startswith("The vault team cannot be opened: there is no such file")


# Changing what another vault holds


@pytest.mark.parametrize(
    "change",
    [
        lambda one: one.edit("ours", title="Changed"),
        lambda one: one.forget(["mine", "ours"]),
        lambda one: one.pin(["ours"]),
    ],
)
def test_a_change_elsewhere_says_where_the_memory_is(memory: Recollect, change: Any) -> None:
    with pytest.raises(NotFound) as told:
        change(memory)
    assert str(told.value) == "The memory 'ours' is not yours but in 'team'; change it there."
    assert [one.id for one in memory.show(["mine"])] == ["mine"]


def test_who_may_not_read_is_not_told_where_it_is(memory: Recollect) -> None:
    writer = Caller(name="writer", capabilities=frozenset(CAPABILITIES) - {SEARCH})
    with pytest.raises(NotFound, match="There is no memory 'ours'"):
        memory.acting_as(writer).forget(["ours"])


# Other vaults that are locked


@pytest.fixture
def locked(tmp_path: Path) -> Path:
    path = vault_file(tmp_path / "team.db", TEAM)
    locking(path)
    return path


def locking(path: Path) -> None:
    lock_vault(path, other_keys("", {}), lambda: sealed_with(SECRET))


def spanning(path: Path, variable: str = "") -> VaultSettings:
    return VaultSettings(name="team", tier="team", path=str(path), passphrase_env=variable)


def test_a_locked_vault_is_opened_by_its_own_passphrase(tmp_path: Path, locked: Path) -> None:
    told = {"TEAM_PASSPHRASE": SECRET}
    vault = spanning(locked, "TEAM_PASSPHRASE")
    with home(tmp_path / "home", OWN, vault, environment=told) as memory:
        assert found(memory.search("harbor token")) == [("mine", "agent"), ("ours", "team")]


@pytest.mark.parametrize(
    ("variable", "held", "reason"),
    [
        ("", {}, "passphrase_env in the settings names the variable"),
        ("TEAM_PASSPHRASE", {}, "put its passphrase into TEAM_PASSPHRASE"),
        (
            "TEAM_PASSPHRASE",
            {"TEAM_PASSPHRASE": "a wrong one"},
            "passphrase of the vault team is wrong",
        ),
    ],
)
def test_a_locked_vault_is_named_and_the_rest_answers(
    tmp_path: Path, locked: Path, variable: str, held: dict[str, str], reason: str
) -> None:
    vault = spanning(locked, variable)
    # The passphrase of one's own vault is not tried on others.
    own = {"RECOLLECT_PASSPHRASE": SECRET}
    with home(tmp_path / "home", OWN, vault, environment=own | held, locking=locking) as memory:
        response = memory.search("harbor token")
    assert found(response) == [("mine", "agent")]
    assert reason in away(response)["team"]
    assert SECRET not in away(response)["team"]


# Names


@pytest.mark.parametrize(
    ("name", "says"),
    [("guild", "a collection is named 'guild', too"), ("agent", "'agent' is the name of a vault")],
)
def test_a_vault_and_a_collection_of_one_name_are_refused(
    tmp_path: Path, name: str, says: str
) -> None:
    told = Settings(
        vaults=(team("guild", tmp_path / "a.db"),), collections=(CollectionSettings(name, "b.db"),)
    )
    with (
        Recollect(home=tmp_path, settings=told, environment={}) as memory,
        pytest.raises(UserError, match=says),
    ):
        memory.search("harbor")


OFF = {"RECOLLECT_EMBEDDING__PROVIDER": "none", "RECOLLECT_RERANK__PROVIDER": "none"}
GIVEN: dict[str, dict[str, Any]] = {
    "argument": {"passphrase": "correct horse battery"},
    "variable": {"environment": OFF | {"RECOLLECT_PASSPHRASE": "correct horse battery"}},
    "file": {"environment": OFF | {"RECOLLECT_VAULT__PASSPHRASE_FILE": "passphrase"}},
}


@pytest.mark.parametrize("given", GIVEN)
def test_a_passphrase_for_an_open_vault_is_refused(tmp_path: Path, given: str) -> None:
    with Recollect(home=tmp_path, environment=OFF) as memory:
        memory.save(id="a", title="A")
    with pytest.raises(UserError, match="is not locked, so a passphrase does not protect it"):
        Recollect(home=tmp_path, **{"environment": OFF} | GIVEN[given])
    assert [file.name for file in tmp_path.iterdir() if "vault" in file.name] == ["vault.db"]


@pytest.mark.parametrize("given", GIVEN)
def test_no_open_vault_is_made_where_a_passphrase_is_given(tmp_path: Path, given: str) -> None:
    with pytest.raises(UserError, match="recollect vault lock"):
        Recollect(home=tmp_path, **{"environment": OFF} | GIVEN[given])
    assert not (tmp_path / "vault.db").exists()


def test_the_homes_passphrase_is_not_meant_for_another_file(tmp_path: Path) -> None:
    with Recollect(tmp_path / "other.db", home=tmp_path, **GIVEN["variable"]) as memory:
        memory.save(id="a", title="A")
