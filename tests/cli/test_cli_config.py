"""Settings from the file and the environment, and `recollect config`, which changes them."""

from __future__ import annotations

from pathlib import Path

import pytest
from commandline import Home, check_error

FILE = "# mine\n[search]  # the default\nrecipe = 'router'\n\n[trash]\nkeep = 30 # days\n"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path / "home")
    made.folder.mkdir()
    configure(made, FILE)
    return made


def configure(home: Home, text: str) -> str:
    """Write the settings; return their file."""
    home.config.write_text(text, encoding="utf-8")
    return str(home.config)


def test_every_value_is_listed_with_where_it_comes_from(home: Home) -> None:
    listed = home.json("config")
    assert listed["search.recipe"] == {"value": "router", "from": "file"}
    assert listed["embedding.provider"] == {"value": "none", "from": "environment"}
    assert listed["rerank.budget_ms"] == {"value": 300, "from": "default"}
    shown = home.call("config", "list").out
    assert "RECOLLECT_EMBEDDING__PROVIDER" in shown
    assert str(home.config) in shown
    assert home.call("config", "get", "search.recipe").out == "router\n"


def test_a_value_is_set_and_nothing_else_is_touched(home: Home) -> None:
    assert home.call("config", "set", "search.recipe", "vault").code == 0
    assert home.config.read_text(encoding="utf-8") == FILE.replace("'router'", '"vault"')
    home.call("config", "set", "rerank.budget_ms", "500")
    home.call("config", "set", "search.literal", "true")
    assert home.json("config", "get", "rerank.budget_ms") == {"rerank.budget_ms": 500}
    assert "# mine" in home.config.read_text(encoding="utf-8")
    assert "keep = 30 # days" in home.config.read_text(encoding="utf-8")
    assert home.search("x")["recipe"] == "vault"
    told = home.call("config", "set", "embedding.provider", "builtin")
    assert "RECOLLECT_EMBEDDING__PROVIDER is set in the environment" in told.err


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (
            ("set", "search.nosuch", "1"),
            ("There is no setting 'search.nosuch'. Did you mean search.recipe?",),
        ),
        (("get", "nosuch"), ("There is no setting 'nosuch'. `recollect config` lists them.",)),
        (("set", "rerank.provider", "magic"), ("rerank.provider", "builtin, onnx, http, none")),
        (("set", "rerank.budget_ms", "soon"), ("a whole number from 0 to 3600000",)),
        (("set", "search.recipe", "nosuch"), ("There is no recipe 'nosuch'", "blend, vault")),
        (("set", "context.recipe", "nosuch"), ("There is no recipe 'nosuch'", "blend, vault")),
    ],
)
def test_what_is_wrong_is_refused_and_nothing_written(
    home: Home, args: tuple[str, ...], said: tuple[str, ...]
) -> None:
    check_error(home.call("config", *args), *said)
    assert home.config.read_text(encoding="utf-8") == FILE


def test_a_recipe_that_cannot_be_read_is_named_and_hides_no_other(home: Home) -> None:
    folder = home.folder / "recipes"
    folder.mkdir()
    (folder / "bad.toml").write_text("extends = 'nosuch'\n", encoding="utf-8")
    (folder / "mine.toml").write_text("extends = 'vault'\n", encoding="utf-8")
    listed = home.call("recipes")
    assert "mine" in listed.out
    assert "bad.toml" in listed.err
    for command in (("config", "check"), ("doctor",)):
        checked = home.call(*command)
        assert checked.code == 1
        [line] = [line for line in checked.out.splitlines() if line.startswith("recipes")]
        assert "bad.toml" in line
        assert "--fix" not in checked.out, "The doctor cannot mend a recipe."


def test_the_default_recipe_and_the_models_are_loaded(home: Home) -> None:
    configure(home, '[search]\nrecipe = "nosuch"\n')
    using = {"RECOLLECT_EMBEDDING__PROVIDER": "onnx", "RECOLLECT_EMBEDDING__MODEL": "/nosuch"}
    checked = home.call("config", "check", "--json", using=using)
    assert checked.code == 1
    for part in ("search.recipe", "'nosuch'", "embedding", "/nosuch"):
        assert part in checked.out
    assert home.call("config", "set", "search.recipe", "vault").code == 0, "It can be mended."


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
