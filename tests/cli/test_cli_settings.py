"""Settings as a person meets them: the file in the home, the environment, and both wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from commandline import Home, check_error


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path / "home")
    made.folder.mkdir()
    return made


def configure(home: Home, text: str) -> str:
    file = home.folder / "config.toml"
    file.write_text(text, encoding="utf-8")
    return str(file)


def test_the_default_recipe_comes_from_environment_then_file(home: Home) -> None:
    assert home.json("stats")["recipe"] == home.search("x")["recipe"]
    configure(home, '[search]\nrecipe = "router"\n')
    assert home.run("search", "x", "--json").json()["recipe"] == "router"
    assert (
        home.search("x", using={"RECOLLECT_SEARCH__RECIPE": "echovault"})["recipe"] == "echovault"
    )
    assert home.search("x", "--recipe", "vault")["recipe"] == "vault"
    [default] = [one["name"] for one in home.json("recipes") if one["default"]]
    assert default == "router"


@pytest.mark.parametrize(
    "args", [("list",), ("save", "--title", "x"), ("search", "x"), ("stats",), ("recipes",)]
)
def test_a_wrong_file_stops_every_command_that_needs_it(home: Home, args: tuple[str, ...]) -> None:
    file = configure(home, '[embedding]\nprovider = "magic"\n')
    check_error(home.call(*args), file, "embedding.provider", "'magic'", "openai, ollama, none")


@pytest.mark.installed
def test_a_wrong_file_is_one_line_of_the_installed_command(home: Home) -> None:
    file = configure(home, "[search\n")
    check_error(home.run("stats"), file, "TOML")
    assert not home.vault.exists()


def test_a_wrong_variable_is_named_as_such(home: Home) -> None:
    done = home.run("stats", using={"RECOLLECT_RERANK__PROVIDER": "magic"})
    check_error(done, "the environment", "rerank.provider", "'magic'", "builtin, onnx, http, none")


def test_a_default_recipe_that_is_not_there_is_named_with_its_key(home: Home) -> None:
    file = configure(home, '[search]\nrecipe = "mine"\n')
    check_error(home.call("search", "x"), file, "search.recipe", "'mine'", "vault", "echovault")
    assert home.search("x", "--recipe", "vault")["results"] == [], "Others still work."


@pytest.mark.parametrize(
    ("text", "holding"),
    [
        ('provider = "openai"', "embedding.model"),
        ('provider = "ollama"', "embedding.model"),
        ('provider = "openai"\nmodel = "m"\nbase_url = "nonsense"', "embedding.base_url"),
    ],
)
def test_a_provider_without_what_it_needs_names_the_setting(
    home: Home, text: str, holding: str
) -> None:
    configure(home, f"[embedding]\n{text}\n")
    del home.environment["RECOLLECT_EMBEDDING__PROVIDER"]
    check_error(home.call("save", "--title", "x"), holding)
    check_error(home.import_memories({"title": "x"}), holding)
    check_error(home.call("stats"), holding)
    assert home.list_ids() == [], "What is refused is not kept behind one's back."


def test_the_context_settings_hold(home: Home) -> None:
    home.save("--title", "A note")
    assert home.json("context")["topped_up"] == 1
    configure(home, "[context]\ntopup_recent = false\n")
    assert home.json("context")["topped_up"] == 0
