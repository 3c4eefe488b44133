"""Settings: `config.toml` in the home folder, each key also as an environment variable.

Environment over file over default. An unknown key or a bad value is an error that names the
place it stands in, the key, and what is allowed there.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta, Struct

from recollect.errors import UserError

EmbeddingProvider = Literal["builtin", "onnx", "openai", "ollama", "none"]
RerankProvider = Literal["builtin", "onnx", "http", "none"]
SemanticMode = Literal["auto", "always", "never"]
VaultTier = Literal["agent", "project", "team", "dynamic"]

# What a number may be; the text is what the error says is allowed.
Seconds = Annotated[float, Meta(gt=0, le=3600, description="a number above 0 and at most 3600")]
Dimensions = Annotated[
    int, Meta(ge=0, le=65536, description="a whole number from 0 (all of them) to 65536")
]
Milliseconds = Annotated[
    int, Meta(ge=0, le=3_600_000, description="a whole number from 0 to 3600000")
]

PREFIX = "RECOLLECT_"
RESERVED = {"RECOLLECT_HOME", "RECOLLECT_NOW"}


class Embedding(Struct, frozen=True, forbid_unknown_fields=True):
    provider: EmbeddingProvider = "builtin"
    model: str = ""
    base_url: str = ""
    api_key_env: str = "OPENAI_API_KEY"
    timeout_s: Seconds = 10.0
    query_prefix: str = ""
    document_prefix: str = ""
    dimensions: Dimensions = 0


class Rerank(Struct, frozen=True, forbid_unknown_fields=True):
    provider: RerankProvider = "builtin"
    model: str = ""
    base_url: str = ""
    api_key_env: str = ""
    timeout_s: Seconds = 10.0
    budget_ms: Milliseconds = 300


class Search(Struct, frozen=True, forbid_unknown_fields=True):
    recipe: str = "blend"
    read_time: bool = True


class Context(Struct, frozen=True, forbid_unknown_fields=True):
    semantic: SemanticMode = "auto"
    topup_recent: bool = True


class Serve(Struct, frozen=True, forbid_unknown_fields=True):
    token_env: str = "RECOLLECT_TOKEN"
    hosts: str = ""


class Settings(Struct, frozen=True, forbid_unknown_fields=True):
    embedding: Embedding = Embedding()
    rerank: Rerank = Rerank()
    search: Search = Search()
    context: Context = Context()
    serve: Serve = Serve()


def home_folder(environment: Mapping[str, str]) -> Path:
    """`RECOLLECT_HOME`, else the platform's user data directory."""
    if told := environment.get("RECOLLECT_HOME"):
        return Path(told).expanduser()
    from platformdirs import user_data_path  # noqa: PLC0415  start-up time: rarely needed

    return Path(user_data_path("recollect", appauthor=False))


def load_settings(home: Path, environment: Mapping[str, str] = os.environ) -> Settings:
    """Read `home/config.toml`, lay the environment over it, and check every key and value."""
    file = home / "config.toml"
    settings = Settings()
    for place, values in ((str(file), _read(file)), ("the environment", _from(environment))):
        settings = _laid_over(settings, values, place)
    return settings


def _read(file: Path) -> dict[str, Any]:
    try:
        text = file.read_text(encoding="utf-8-sig")  # some editors begin a file with a BOM
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise UserError(f"{file} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{file} cannot be read as TOML: it is not valid UTF-8 text.") from error
    import tomllib  # noqa: PLC0415  start-up time: most homes have no config file

    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UserError(f"{file} cannot be read as TOML: {error}.") from error


def _from(environment: Mapping[str, str]) -> dict[str, Any]:
    """`RECOLLECT_EMBEDDING__PROVIDER=none` as `{"embedding": {"provider": "none"}}`."""
    found: dict[str, Any] = {}
    for name, value in environment.items():
        if not name.startswith(PREFIX) or name in RESERVED or "__" not in name:
            continue
        section, _, key = name[len(PREFIX) :].lower().partition("__")
        found.setdefault(section, {})[key] = value
    return found


def _laid_over(settings: Settings, values: dict[str, Any], place: str) -> Settings:
    changed: dict[str, Any] = {}
    for section, keys in values.items():
        if section not in Settings.__struct_fields__:
            allowed = ", ".join(Settings.__struct_fields__)
            raise UserError(f"{place}: [{section}] is not a section; allowed are: {allowed}.")
        held = getattr(settings, section)
        if not isinstance(keys, dict):
            raise UserError(f"{place}: [{section}] must be a table of keys.")
        changed[section] = _section(held, section, keys, place)
    return msgspec.structs.replace(settings, **changed)


def _section(held: Struct, section: str, keys: dict[str, Any], place: str) -> Struct:
    types = get_type_hints(type(held), include_extras=True)
    checked: dict[str, Any] = {}
    for key, value in keys.items():
        where = f"{place}: {section}.{key}"
        if key not in types:
            raise UserError(f"{where} is not a setting; allowed are: {', '.join(types)}.")
        try:
            str(value).encode()  # a variable may hold any bytes
            # Not strict: the environment has only strings, "10" stands for a number there.
            checked[key] = msgspec.convert(value, types[key], strict=not isinstance(value, str))
        except (msgspec.ValidationError, UnicodeEncodeError) as error:
            allowed = _allowed(types[key])
            raise UserError(f"{where} cannot be {value!r}; allowed: {allowed}.") from error
    return msgspec.structs.replace(held, **checked)


def _allowed(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return ", ".join(get_args(kind))
    if get_origin(kind) is Annotated:
        return str(get_args(kind)[1].description)
    return {bool: "true, false", str: "a text in UTF-8"}[kind]
