"""Settings: environment over file over default, and errors that say where, which and what."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from platformdirs import user_data_dir

from recollect.errors import UserError
from recollect.home import home_path
from recollect.settings import Settings
from recollect.settings_reading import home_folder, load_settings, networks


def load(folder: Path, config: str = "", **environment: str) -> Settings:
    if config:
        (folder / "config.toml").write_text(config, encoding="utf-8")
    return load_settings(folder, environment)


def refusal(folder: Path, config: str = "", **environment: str) -> str:
    with pytest.raises(UserError) as caught:
        load(folder, config, **environment)
    message = str(caught.value)
    assert "\n" not in message
    assert message.endswith(".")
    return message


def test_the_documented_defaults(tmp_path: Path) -> None:
    settings = load(tmp_path)
    embedding, rerank = settings.embedding, settings.rerank
    assert (embedding.provider, embedding.model, embedding.base_url) == ("builtin", "", "")
    assert embedding.api_key_env == "OPENAI_API_KEY"
    assert (embedding.timeout_s, embedding.dimensions) == (10.0, 0)
    assert (embedding.query_prefix, embedding.document_prefix) == ("", "")
    assert (rerank.provider, rerank.model, rerank.base_url) == ("builtin", "", "")
    assert rerank.budget_ms == 300
    assert (settings.context.semantic, settings.context.topup_recent) == ("auto", True)


def test_every_documented_key_can_stand_in_the_file(tmp_path: Path) -> None:
    settings = load(
        tmp_path,
        """
        [embedding]
        provider = "openai"
        model = "m"
        base_url = "https://example.org/v1"
        api_key_env = "MY_KEY"
        timeout_s = 2
        query_prefix = "search_query: "
        document_prefix = "search_document: "
        dimensions = 256
        [rerank]
        provider = "http"
        model = "r"
        base_url = "https://example.org"
        budget_ms = 50
        [search]
        recipe = "router"
        [context]
        semantic = "never"
        topup_recent = false
        """,
    )
    assert settings.embedding.provider == "openai"
    assert settings.embedding.timeout_s == 2.0
    assert settings.embedding.query_prefix == "search_query: "
    assert settings.embedding.dimensions == 256
    assert (settings.rerank.model, settings.rerank.budget_ms) == ("r", 50)
    assert settings.search.recipe == "router"
    assert (settings.context.semantic, settings.context.topup_recent) == ("never", False)


def test_environment_over_file_over_default_key_by_key(tmp_path: Path) -> None:
    settings = load(
        tmp_path,
        '[embedding]\nprovider = "ollama"\nmodel = "from the file"\ntimeout_s = 3.0\n',
        RECOLLECT_EMBEDDING__PROVIDER="none",
        RECOLLECT_EMBEDDING__DIMENSIONS="128",
        RECOLLECT_CONTEXT__TOPUP_RECENT="false",
        RECOLLECT_RERANK__TIMEOUT_S="0.5",
    )
    assert settings.embedding.provider == "none"
    assert settings.embedding.model == "from the file"
    assert (settings.embedding.timeout_s, settings.embedding.dimensions) == (3.0, 128)
    assert settings.context.topup_recent is False
    assert settings.rerank.timeout_s == 0.5


def test_other_variables_are_left_alone(tmp_path: Path) -> None:
    told = {"RECOLLECT_HOME": "x", "RECOLLECT_NOW": "y", "RECOLLECT_TOKEN": "z", "EMBEDDING__X": ""}
    assert load(tmp_path, **told) == Settings()


@pytest.mark.parametrize("begin", ["", "\ufeff"])
def test_a_file_may_be_empty_or_begin_with_a_mark(tmp_path: Path, begin: str) -> None:
    assert load(tmp_path, begin + "# nothing\n") == Settings()
    assert load(tmp_path, begin + '[search]\nrecipe = "x"').search.recipe == "x"


WRONG: list[tuple[str, str, list[str]]] = [
    ("embedding", 'providor = "none"', ["embedding.providor", "provider, model, base_url"]),
    ("embedding", 'provider = "nope"', ["embedding.provider", "'nope'", "openai, ollama, none"]),
    ("embedding", "provider = 3", ["embedding.provider", "3", "builtin"]),
    ("embedding", 'provider = ["none"]', ["embedding.provider", "builtin"]),
    ("embedding", "model = 3", ["embedding.model", "3", "a text"]),
    ("embedding", 'timeout_s = "soon"', ["embedding.timeout_s", "'soon'", "a number above 0"]),
    ("embedding", "timeout_s = 0", ["embedding.timeout_s", "0", "a number above 0"]),
    ("embedding", "timeout_s = -1.5", ["embedding.timeout_s", "-1.5"]),
    ("embedding", "timeout_s = nan", ["embedding.timeout_s", "nan"]),
    ("embedding", "timeout_s = inf", ["embedding.timeout_s", "inf", "3600"]),
    ("embedding", "timeout_s = true", ["embedding.timeout_s", "True"]),
    ("embedding", "dimensions = -1", ["embedding.dimensions", "-1", "a whole number from 0"]),
    ("embedding", "dimensions = 1.5", ["embedding.dimensions", "1.5", "a whole number"]),
    ("embedding", "dimensions = 99999999999999999999", ["embedding.dimensions"]),
    ("rerank", "budget_ms = -5", ["rerank.budget_ms", "-5", "a whole number from 0"]),
    ("rerank", 'provider = "openai"', ["rerank.provider", "'openai'", "builtin, onnx, http, none"]),
    ("search", "recipe = 5", ["search.recipe", "5", "a text"]),
    ("search", 'limit = "5"', ["search.limit", "recipe"]),
    ("context", 'semantic = "often"', ["context.semantic", "'often'", "auto, always, never"]),
    ("context", 'topup_recent = "maybe"', ["context.topup_recent", "'maybe'", "true, false"]),
]


@pytest.mark.parametrize(("section", "line", "holding"), WRONG, ids=[line for _, line, _ in WRONG])
def test_a_wrong_line_is_named_with_its_file_key_and_choices(
    tmp_path: Path, section: str, line: str, holding: list[str]
) -> None:
    message = refusal(tmp_path, f"[{section}]\n{line}\n")
    for part in (str(tmp_path / "config.toml"), *holding):
        assert part in message


@pytest.mark.parametrize(
    ("name", "value", "holding"),
    [
        ("EMBEDDING__PROVIDER", "nope", ["embedding.provider", "'nope'", "builtin, onnx, openai"]),
        ("EMBEDDING__PROVIDER", "", ["embedding.provider", "''"]),
        ("EMBEDDING__WHAT", "x", ["embedding.what", "provider, model"]),
        ("EMBEDDING__TIMEOUT_S", "soon", ["embedding.timeout_s", "a number above 0"]),
        ("EMBEDDING__DIMENSIONS", "1.5", ["embedding.dimensions", "a whole number"]),
        ("EMBEDDING__MODEL", "\udcff", ["embedding.model", "UTF-8"]),
        ("CONTEXT__TOPUP_RECENT", "perhaps", ["context.topup_recent", "true, false"]),
        ("EMBEDING__PROVIDER", "none", ["[embeding]", "embedding, rerank, search, store, context"]),
        ("__X", "1", ["allowed"]),
        ("EMBEDDING__", "1", ["allowed"]),
    ],
)
def test_a_wrong_variable_is_named_with_its_place_key_and_choices(
    tmp_path: Path, name: str, value: str, holding: list[str]
) -> None:
    message = refusal(tmp_path, **{f"RECOLLECT_{name}": value})
    for part in ("the environment", *holding):
        assert part in message


@pytest.mark.parametrize(
    ("config", "holding"),
    [
        ("[embedding", "TOML"),
        ("provider = none", "TOML"),
        ("[embedding]\n[embedding]", "TOML"),
        ("x = " + "[" * 10_000, "nested deeper than 20 levels"),
        ("x = " + "{a = " * 30 + "1" + "}" * 30, "nested deeper than 20 levels"),
        (".".join("a" * 30) + " = 1", "nested deeper than 20 levels"),
        (".".join("a" * 90_000) + " = 1", "nested deeper than 20 levels"),
        ("#" * 200_001, "at most 200,000"),
        ('[embeding]\nprovider = "none"', "[embeding] is not a section"),
        ("embedding = 3", "[embedding] must be a table"),
        ('search = "vault"', "[search] must be a table"),
    ],
)
def test_a_file_that_makes_no_sense_is_named(tmp_path: Path, config: str, holding: str) -> None:
    message = refusal(tmp_path, config)
    assert str(tmp_path / "config.toml") in message
    assert holding in message


def test_a_file_that_is_not_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_bytes(b"\xff\xfe")
    assert str(tmp_path / "config.toml") in refusal(tmp_path)


def test_a_folder_in_the_file_s_place_is_named(tmp_path: Path) -> None:
    (tmp_path / "config.toml").mkdir()
    message = refusal(tmp_path)
    assert str(tmp_path / "config.toml") in message
    assert "Errno" not in message


def test_no_home_means_no_file(tmp_path: Path) -> None:
    assert load(tmp_path / "nowhere") == Settings()
    (tmp_path / "file").touch()
    assert load(tmp_path / "file") == Settings()


def test_settings_never_change(tmp_path: Path) -> None:
    settings: Any = load(tmp_path)
    with pytest.raises(AttributeError):
        settings.embedding.provider = "none"


def test_the_home_is_the_variable_or_the_platform_s_folder() -> None:
    assert home_folder({"RECOLLECT_HOME": "/some/where"}) == Path("/some/where")
    assert home_folder({"RECOLLECT_HOME": "~/mine"}) == Path.home() / "mine"
    assert home_folder({}).name == "recollect"
    assert home_folder({"RECOLLECT_HOME": ""}) == home_folder({})


def test_serving_is_set_by_two_keys(tmp_path: Path) -> None:
    serve = load(tmp_path).serve
    assert (serve.token_env, serve.hosts) == ("RECOLLECT_TOKEN", "")
    serve = load(tmp_path, '[serve]\ntoken_env = "MY_TOKEN"\nhosts = "pi.local, pi"\n').serve
    assert (serve.token_env, serve.hosts) == ("MY_TOKEN", "pi.local, pi")
    assert load(tmp_path, RECOLLECT_SERVE__HOSTS="pi").serve.hosts == "pi"
    told = refusal(tmp_path, '[serve]\ntoken = "secret"\n')
    assert "serve.token is not a setting; allowed are: token_env, hosts" in told
    assert "secret" not in told


def test_proxies_and_their_users_are_checked_when_settings_are_read(tmp_path: Path) -> None:
    serve = load(
        tmp_path,
        '[serve]\nproxies = "10.0.0.5, fd00::/8"\n[serve.users]\n"a@b" = "search:use,admin"\n',
    ).serve
    assert (serve.users, len(networks(serve.proxies))) == ({"a@b": "search:use,admin"}, 2)
    for key, value, reason in (
        ("proxies", "10.0.0.5/24", "has host bits set"),
        ("proxies", "10.0.0.400", "does not appear to be"),
        ("proxies", "proxy.lan", "IP addresses or networks with commas"),
        ("user_header", "Remote User", "the name of a header"),
        ("user_capabilities", "search", "some of these, with commas between them: search:use"),
    ):
        assert reason in refusal(tmp_path, f'[serve]\n{key} = "{value}"\n')
    assert "a table of names" in refusal(tmp_path, '[serve.users]\nada = "all"\n')


def test_the_token_itself_is_no_setting(tmp_path: Path) -> None:
    """`RECOLLECT_TOKEN` looks like one, and is the secret."""
    assert load(tmp_path, RECOLLECT_TOKEN="secret") == Settings()


@pytest.mark.parametrize(
    "environment",
    [
        {"HOME": "/home/ada"},
        {"HOME": "/home/ada", "XDG_DATA_HOME": ""},
        {"HOME": "/home/ada", "XDG_DATA_HOME": "/srv/data"},
        {"HOME": "/home/ada", "XDG_DATA_HOME": "relative"},
        {"XDG_DATA_HOME": "/srv/data/"},
        {"HOME": "relative"},
        {},
    ],
    ids=repr,
)
def test_without_a_setting_it_is_the_users_data_folder(environment: dict[str, str]) -> None:
    with mock.patch.dict(os.environ, environment, clear=True):
        wanted = Path(user_data_dir("recollect", appauthor=False))
        assert Path(home_path(os.environ)) == home_folder(os.environ) == wanted


def test_the_setting_names_it_and_may_begin_with_a_tilde() -> None:
    with mock.patch.dict(os.environ, {"HOME": "/home/ada", "XDG_DATA_HOME": "/srv"}, clear=True):
        assert home_path({"RECOLLECT_HOME": "/srv/memories"}) == "/srv/memories"
        assert home_path({"RECOLLECT_HOME": "~/memories"}) == "/home/ada/memories"
