"""Reading settings: `config.toml` in the home folder, each key also as an environment variable.

Environment over file over default. An unknown key or a bad value is an error that names the file
or the environment, the key, and the allowed values.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from ipaddress import ip_network
from pathlib import Path
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)
from urllib.parse import SplitResult, urlsplit

import msgspec
from msgspec import Struct

from recollect.errors import UserError
from recollect.home import home_path
from recollect.settings import (
    CollectionSettings,
    Patterns,
    PolicySettings,
    Proxies,
    Settings,
    Users,
    VaultSettings,
)
from recollect.user_patterns import compile_pattern

if TYPE_CHECKING:
    from ipaddress import IPv4Network, IPv6Network

# Settings for a thousand vaults; tomllib takes a second for as much.
MOST_CHARACTERS = 200_000
# Recipes need six; deeper tables would exhaust the stack of whoever walks through them.
DEEPEST = 20
# tomllib takes the square of a dotted key's length.
LONG_KEY = r"(?<![\w-])(?:[\w-]++[\"']?[ \t]*+\.[ \t]*+[\"']?){50}"
TOO_DEEP = f"it is nested deeper than {DEEPEST} levels"
PREFIX = "RECOLLECT_"
RESERVED = {"RECOLLECT_HOME", "RECOLLECT_NOW"}


def home_folder(environment: Mapping[str, str]) -> Path:
    return Path(home_path(environment))


def has_vault(home: Path, settings: Settings) -> bool:
    """Whether the home has a vault already, as far as that can be said without opening it."""
    return bool(settings.store.url) or (home / "vault.db").exists()


def load_settings(home: Path, environment: Mapping[str, str] = os.environ) -> Settings:
    """Read `home/config.toml`, lay the environment over it, and check every key and value."""
    file = home / "config.toml"
    settings = Settings()
    for place, values in ((str(file), _read(file)), ("the environment", _from(environment))):
        settings = _laid_over(settings, values, place)
    return settings


def setting_keys() -> list[str]:
    """`embedding.provider` and the like, in order, but for lists of tables."""
    return [
        f"{section.name}.{key}"
        for section in msgspec.structs.fields(Settings)
        if isinstance(section.default, Struct)
        for key in type(section.default).__struct_fields__
    ]


def variable_of(key: str) -> str:
    """The environment variable of a key: `RECOLLECT_EMBEDDING__PROVIDER`."""
    return PREFIX + key.upper().replace(".", "__")


def sources(home: Path, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Where the value of each key comes from: `environment`, `file` or `default`."""
    written = _read(home / "config.toml")
    places = (("environment", _from(environment)), ("file", written))
    found = {}
    for key in setting_keys():
        section, name = key.split(".")
        having = (place for place, values in places if name in values.get(section, {}))
        found[key] = next(having, "default")
    return found


def check_key(key: str) -> None:
    """UserError, with those that there are, where there is no such key."""
    known = setting_keys()
    if key not in known:
        section = key.partition(".")[0]
        like = [each for each in known if each.startswith(f"{section}.")] or known
        raise UserError(f"{key!r} is not a setting; allowed are: {', '.join(like)}.")


def checked_value(key: str, text: str) -> object:
    """The value that a text is for this key; UserError where it may not have this value, with those
    that are allowed."""
    check_key(key)
    section, name = key.split(".")
    checked = _section(getattr(Settings(), section), section, {name: text}, "Not set")
    return getattr(checked, name)


def toml_values(text: str) -> dict[str, Any]:
    """The values of the text. ValueError says why it cannot be read."""
    if len(text) > MOST_CHARACTERS:
        raise ValueError(f"it has {len(text):,} characters; at most {MOST_CHARACTERS:,} are read")
    if re.search(LONG_KEY, text):
        raise ValueError(TOO_DEEP)
    import tomllib  # noqa: PLC0415  start-up time: few homes have a file of settings

    try:
        values = tomllib.loads(text)
    except RecursionError:
        raise ValueError(TOO_DEEP) from None
    level: list[Any] = [values]
    for _ in range(DEEPEST):
        level = [inner for value in level for inner in _members(value)]
        if not level:
            return values
    raise ValueError(TOO_DEEP)


def _members(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _read(file: Path) -> dict[str, Any]:
    try:
        text = file.read_text(encoding="utf-8-sig")  # some editors begin a file with a BOM
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise UserError(f"{file} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{file} cannot be read as TOML: it is not valid UTF-8 text.") from error
    try:
        return toml_values(text)
    except ValueError as error:
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
        if section == "policies":
            changed[section] = _policies(keys, place)
            continue
        if section in TABLES:
            changed[section] = _tables(section, keys, place)
            continue
        if section not in Settings.__struct_fields__:
            allowed = ", ".join(Settings.__struct_fields__)
            raise UserError(f"{place}: [{section}] is not a section; allowed are: {allowed}.")
        if not isinstance(keys, dict):
            raise UserError(f"{place}: [{section}] must be a table of keys.")
        changed[section] = _section(getattr(settings, section), section, keys, place)
    return msgspec.structs.replace(settings, **changed)


# Sections that are lists: `[[vaults]]`.
TABLES: dict[str, type[Struct]] = {"vaults": VaultSettings, "collections": CollectionSettings}


def _policies(tables: object, place: str) -> dict[str, PolicySettings]:
    if not isinstance(tables, dict) or not all(isinstance(each, dict) for each in tables.values()):
        raise UserError(f"{place}: policies must be written as [policies.NAME], one for each.")
    made = {}
    for name, table in tables.items():
        where = f"{place}: [policies.{name}]"
        policy = _table(PolicySettings, table, where)
        assert isinstance(policy, PolicySettings)
        needed, other = ("most", "after") if policy.what == "cap" else ("after", "most")
        if not getattr(policy, needed):
            raise UserError(f"{where} needs {needed}: it says {policy.what}.")
        if getattr(policy, other):
            raise UserError(f"{where}: {other} is not for {policy.what}.")
        made[name] = policy
    return made


def _tables(section: str, tables: object, place: str) -> tuple[Struct, ...]:
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise UserError(f"{place}: {section} must be written as [[{section}]], one for each.")
    made = tuple(
        _table(TABLES[section], table, f"{place}: [[{section}]] number {number}")
        for number, table in enumerate(tables, start=1)
    )
    for number, table in enumerate(made, start=1):
        if isinstance(table, VaultSettings):
            _check_place(table, f"{place}: [[vaults]] number {number}")
    return made


def _check_place(vault: VaultSettings, place: str) -> None:
    if bool(vault.path) == bool(vault.url):
        raise UserError(f"{place} needs either a path or a url.")
    if bool(vault.url) != (vault.tier == "dynamic"):
        raise UserError(f"{place}: a url is for the tier dynamic, a path for the others.")


def _table(kind: type[Struct], table: dict[str, Any], place: str) -> Struct:
    types = get_type_hints(kind, include_extras=True)
    for key in table:
        if key not in types:
            raise UserError(f"{place}: {key} is not a setting; allowed are: {', '.join(types)}.")
    for field in msgspec.structs.fields(kind):
        if field.required and field.name not in table:
            raise UserError(f"{place} needs a {field.name}.")
    for key, value in table.items():
        try:
            msgspec.convert(value, types[key])
        except msgspec.ValidationError as error:
            raise UserError(
                f"{place}: {key} cannot be {value!r}; allowed: {_allowed(types[key])}."
            ) from error
    return msgspec.convert(table, kind)


def _section(before: Struct, section: str, keys: dict[str, Any], place: str) -> Struct:
    types = get_type_hints(type(before), include_extras=True)
    checked: dict[str, Any] = {}
    for key, value in keys.items():
        where = f"{place}: {section}.{key}"
        if key not in types:
            raise UserError(f"{where} is not a setting; allowed are: {', '.join(types)}.")
        try:
            str(value).encode()  # a variable may hold any bytes
            # Not strict: the environment has only strings, "10" stands for a number there.
            checked[key] = _converted(value, types[key], strict=not isinstance(value, str))
        except (msgspec.DecodeError, UnicodeEncodeError) as error:
            allowed = _allowed(types[key])
            raise UserError(f"{where} cannot be {value!r}; allowed: {allowed}.") from error
        if types[key] is Patterns:
            _check_patterns(checked[key], where)
        if types[key] is Proxies:
            _check_proxies(checked[key], where)
    return msgspec.structs.replace(before, **checked)


def _converted(value: object, kind: Any, *, strict: bool) -> object:
    """The value as its type; in the environment, a table is written as JSON."""
    if isinstance(value, str) and kind in (Patterns, Users):
        return msgspec.json.decode(value, type=kind)
    return msgspec.convert(value, kind, strict=strict)


def _check_patterns(patterns: Mapping[str, str], where: str) -> None:
    for name, pattern in patterns.items():
        try:
            compile_pattern(pattern)
        except UserError as reason:
            raise UserError(f"{where}: the pattern {name!r} cannot be used: {reason}.") from reason


def networks(addresses: str) -> list[IPv4Network | IPv6Network]:
    """The addresses and networks of a list with commas; ValueError where one is none."""

    return [ip_network(each.strip()) for each in addresses.split(",") if each.strip()]


def _check_proxies(addresses: str, where: str) -> None:
    try:
        networks(addresses)
    except ValueError as error:
        raise UserError(f"{where} cannot be used: {error}.") from error


def _allowed(kind: Any) -> str:
    if get_origin(kind) in (Union, UnionType):
        return _allowed(get_args(kind)[0])
    if get_origin(kind) is Literal:
        return ", ".join(get_args(kind))
    if get_origin(kind) is Annotated:
        return str(get_args(kind)[1].description)
    return {bool: "true, false", str: "a text in UTF-8"}[kind]


def checked_url(url: str, setting: str) -> SplitResult:
    """Return the parts of an http(s) URL; else UserError names the setting, not its value."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:  # an impossible port, a bracket left open
        usable = False
    if not usable:
        raise UserError(
            f"{setting} must be an http:// or https:// address, such as http://127.0.0.1:8080."
        )
    return parts
