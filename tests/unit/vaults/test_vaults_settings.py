"""`[[vaults]]` in config.toml: what it means, and how each mistake is told."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from vault_homes import vault_file

from recollect.errors import UserError
from recollect.settings_reading import load_settings
from recollect.vaults.known import KnownVault, known_vaults


def read_vaults(
    home: Path, text: str, environment: dict[str, str] | None = None
) -> list[KnownVault]:
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(text, encoding="utf-8")
    return known_vaults(load_settings(home, environment or {}), home, home / "vault.db", None)


def test_without_any_there_is_the_homes_own_alone(tmp_path: Path) -> None:
    assert read_vaults(tmp_path, "") == [KnownVault("agent", "agent", 1.0, tmp_path / "vault.db")]


def test_each_tier_has_its_priority_and_the_order_is_by_it(tmp_path: Path) -> None:
    told = """
        [[vaults]]
        name = "far"
        tier = "dynamic"
        url = "https://recollect.example/under/"
        token_env = "FAR_TOKEN"
        [[vaults]]
        name = "platform"
        tier = "team"
        path = "/srv/platform.db"
        [[vaults]]
        name = "b-rules"
        tier = "team"
        path = "/srv/b.db"
        priority = 3
        [[vaults]]
        name = "harbor"
        tier = "project"
        path = "sub/harbor.db"
        [[vaults]]
        name = "a-equal"
        tier = "project"
        path = "/srv/a.db"
        priority = 1.0
    """
    found = read_vaults(tmp_path, told)
    assert [(one.name, one.tier, one.priority) for one in found] == [
        ("b-rules", "team", 3.0),
        ("agent", "agent", 1.0),
        ("a-equal", "project", 1.0),
        ("harbor", "project", 0.8),
        ("platform", "team", 0.6),
        ("far", "dynamic", 0.5),
    ]
    places = {one.name: one.path or (one.url, one.token_env) for one in found}
    assert places["harbor"] == tmp_path / "sub" / "harbor.db", "from the home, where it is written"
    assert places["far"] == ("https://recollect.example/under/", "FAR_TOKEN")


def test_a_path_may_begin_with_a_tilde(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "person"))
    told = '[[vaults]]\nname = "t"\ntier = "team"\npath = "~/t.db"\n'
    assert read_vaults(tmp_path, told)[1].path == tmp_path / "person" / "t.db"


def test_the_environment_goes_over_the_file_and_leaves_the_vaults(tmp_path: Path) -> None:
    told = (
        '[search]\nvault_deadline_ms = 50\n[[vaults]]\nname = "t"\ntier = "team"\npath = "t.db"\n'
    )
    (tmp_path / "config.toml").write_text(told)
    settings = load_settings(tmp_path, {"RECOLLECT_SEARCH__VAULT_DEADLINE_MS": "700"})
    assert settings.search.vault_deadline_ms == 700
    assert [one.name for one in settings.vaults] == ["t"]


GOOD = 'name = "t"\ntier = "team"\npath = "/srv/t.db"'
FAR = 'name = "t"\ntier = "dynamic"\nurl = "https://recollect.example"'


@pytest.mark.parametrize(
    ("table", "holding"),
    [
        (f"{GOOD}\ncolour = 1", ("colour is not a setting", "name, tier, path, url, token_env")),
        ('tier = "team"\npath = "/x"', ("needs a name",)),
        ('name = "t"\npath = "/x"', ("needs a tier",)),
        ('name = "t"\ntier = "team"', ("needs either a path or a url",)),
        (f'{GOOD}\nurl = "https://x.example"', ("needs either a path or a url",)),
        ('name = "t"\ntier = "team"\npath = ""', ("needs either a path or a url",)),
        (
            'name = "t"\ntier = "team"\nurl = "https://x.example"',
            ("a url is for the tier dynamic",),
        ),
        ('name = "t"\ntier = "dynamic"\npath = "/x"', ("a url is for the tier dynamic",)),
        ('name = "t"\ntier = "friends"\npath = "/x"', ("'friends'", "project, team, dynamic")),
        ('name = "t"\ntier = "agent"\npath = "/x"', ("'agent'", "project, team, dynamic")),
        ('name = "t"\ntier = 5\npath = "/x"', ("tier cannot be 5", "project, team, dynamic")),
        ('name = "t"\ntier = "team"\npath = 5', ("path cannot be 5", "a text")),
        (f"{GOOD}\npriority = 0", ("priority cannot be 0", "above 0 and at most 1000")),
        (f"{GOOD}\npriority = -1.5", ("priority cannot be -1.5", "above 0 and at most 1000")),
        (f"{GOOD}\npriority = 1001", ("priority cannot be 1001", "above 0 and at most 1000")),
        (f'{GOOD}\npriority = "high"', ("priority cannot be 'high'", "above 0")),
        (f"{GOOD}\npriority = true", ("priority cannot be True", "above 0")),
        (f"{GOOD}\npriority = nan", ("priority cannot be nan", "above 0")),
        (f"{GOOD}\npriority = inf", ("priority cannot be inf", "above 0")),
        (f"{GOOD}\npriority = []", ("priority cannot be []", "above 0")),
        (f"{GOOD}\ntoken_env = 5", ("token_env cannot be 5", "a text")),
        ('name = ""\ntier = "team"\npath = "/x"', ("name cannot be ''", "small letters")),
        ('name = "A"\ntier = "team"\npath = "/x"', ("name cannot be 'A'", "small letters")),
        ('name = "a b"\ntier = "team"\npath = "/x"', ("name cannot be 'a b'", "small letters")),
        ('name = "-a"\ntier = "team"\npath = "/x"', ("name cannot be '-a'", "small letters")),
        ('name = "a/b"\ntier = "team"\npath = "/x"', ("name cannot be 'a/b'", "small letters")),
        (f'name = "{"a" * 65}"\ntier = "team"\npath = "/x"', ("name cannot be", "up to 64")),
        ('name = 5\ntier = "team"\npath = "/x"', ("name cannot be 5", "small letters")),
        ('name = "agent"\ntier = "team"\npath = "/x"', ("'agent' is the name of the agent vault",)),
        ('name = "project"\ntier = "team"\npath = "/x"', ("'project' is the name of the project",)),
        ('name = "t"\ntier = "dynamic"\nurl = "recollect.example"', ("url must be an http:// or",)),
        ('name = "t"\ntier = "dynamic"\nurl = "ftp://x.example"', ("url must be an http:// or",)),
        ('name = "t"\ntier = "dynamic"\nurl = "https://"', ("url must be an http:// or",)),
        (
            'name = "t"\ntier = "dynamic"\nurl = "https://me:hunter2@x.example"',
            ("holds a password", "token_env"),
        ),
        ('name = "t"\ntier = "team"\npath = "~nobody-here/x.db"', ("a home folder that is not",)),
        ('name = "t"\ntier = "team"\npath = "a\\u0000b"', ("path", "is not valid UTF-8 text")),
        ('name = "t"\ntier = "team"\npath = "vault.db"', ("'agent' and 't' are the same file",)),
        ('name = "t"\ntier = "team"\npath = "./x/../vault.db"', ("are the same file",)),
    ],
)
def test_a_mistake_is_explained(tmp_path: Path, table: str, holding: tuple[str, ...]) -> None:
    """The second of two; the first is as it should be."""
    first = '[[vaults]]\nname = "first"\ntier = "team"\npath = "/srv/first.db"\n\n'
    (tmp_path / "x").mkdir()
    with pytest.raises(UserError) as told:
        read_vaults(tmp_path, f"{first}[[vaults]]\n{table}\n")
    sentence = str(told.value)
    for part in (f"{tmp_path / 'config.toml'}: [[vaults]] number 2", *holding):
        assert part in sentence, sentence
    assert "hunter2" not in sentence
    assert sentence.endswith(".")


@pytest.mark.parametrize(
    "text",
    ["vaults = 5", 'vaults = "t"', "[vaults]\nname = 't'", "vaults = [1, 2]", "vaults = ['t']"],
)
def test_what_is_no_list_of_tables_is_told(tmp_path: Path, text: str) -> None:
    with pytest.raises(UserError, match=r"config\.toml: vaults must be written as \[\[vaults\]\]"):
        read_vaults(tmp_path, text)


def test_a_vault_cannot_come_from_the_environment(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"the environment: vaults must be written as"):
        read_vaults(tmp_path, "", {"RECOLLECT_VAULTS__NAME": "t"})


def twice(one: str, other: str) -> str:
    return f"[[vaults]]\n{one}\n[[vaults]]\n{other}\n"


@pytest.mark.parametrize(
    ("one", "other", "says"),
    [
        (GOOD, GOOD.replace("/srv/t.db", "/srv/u.db"), "another vault is named 't'"),
        (
            FAR,
            FAR.replace('"t"', '"u"').replace("example", "example/"),
            "the vaults 't' and 'u' are at the same address",
        ),
    ],
    ids=["one name", "one address"],
)
def test_two_vaults_that_are_one_are_told(tmp_path: Path, one: str, other: str, says: str) -> None:
    with pytest.raises(UserError, match=f"number 2: {says}"):
        read_vaults(tmp_path, twice(one, other))


@pytest.mark.parametrize("link", [os.symlink, os.link])
@pytest.mark.parametrize(("name", "file"), [("a", "a.db"), ("agent", "vault.db")])
def test_one_file_under_two_names_is_told(
    tmp_path: Path, name: str, file: str, link: Callable[[Path, Path], None]
) -> None:
    link(vault_file(tmp_path / file, []), tmp_path / "b.db")
    told = [f'[[vaults]]\nname = "{one}"\ntier = "team"\npath = "{one}.db"\n' for one in "ab"]
    with pytest.raises(UserError, match=f"'{name}' and 'b' are the same file"):
        read_vaults(tmp_path, "".join(told if name == "a" else told[1:]))
