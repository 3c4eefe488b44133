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

from recollect.checks import compile_pattern
from recollect.errors import UserError
from recollect.home import home_path
from recollect.settings import (
    CollectionSettings,
    Patterns,
    PolicySettings,
    Settings,
    Users,
    VaultSettings,
)

if TYPE_CHECKING:
    from ipaddress import IPv4Network, IPv6Network

MOST_CHARACTERS = 200_000  # settings for a thousand vaults, parsed in a second
DEEPEST = 20  # levels of tables, to protect the stack; recipes need six
# tomllib's time grows with the square of a dotted key's length.
LONG_KEY = r"(?<![\w-])(?:[\w-]++[\"']?[ \t]*+\.[ \t]*+[\"']?){50}"
TOO_DEEP = f"it is nested deeper than {DEEPEST} levels"
PREFIX = "RECOLLECT_"
RESERVED = {"RECOLLECT_HOME", "RECOLLECT_NOW"}


def home_folder(environment: Mapping[str, str]) -> Path:
    return Path(home_path(environment))


def has_vault(home: Path, settings: Settings) -> bool:
    """Return whether the home seems to have a vault, without opening it."""
    return bool(settings.store.url) or (home / "vault.db").exists()


def load_settings(home: Path, environment: Mapping[str, str] = os.environ) -> Settings:
    """Read `home/config.toml`, lay the environment over it, and check every key and value."""
    file = home / "config.toml"
    settings = Settings()
    for place, values in ((str(file), _read(file)), ("the environment", _from(environment))):
        settings = _override(settings, values, place)
    return settings


def setting_keys() -> list[str]:
    """Return all keys, such as `embedding.provider`, except those in lists of tables."""
    return [
        f"{section.name}.{key}"
        for section in msgspec.structs.fields(Settings)
        if isinstance(section.default, Struct)
        for key in type(section.default).__struct_fields__
    ]


def variable_of(key: str) -> str:
    """Return the environment variable of a key: `RECOLLECT_EMBEDDING__PROVIDER`."""
    return PREFIX + key.upper().replace(".", "__")


def sources(home: Path, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the source of each key's value: `environment`, `file` or `default`."""
    written = _read(home / "config.toml")
    places = (("environment", _from(environment)), ("file", written))
    found = {}
    for key in setting_keys():
        section, name = key.split(".")
        having = (place for place, values in places if name in values.get(section, {}))
        found[key] = next(having, "default")
    return found


def check_key(key: str) -> None:
    """Raise UserError with the nearest key if there is no such key."""
    known = setting_keys()
    if key not in known:
        from difflib import get_close_matches  # noqa: PLC0415  start-up time: only for errors

        near = "".join(f" Did you mean {name}?" for name in get_close_matches(key, known, 1))
        raise UserError(f"There is no setting {key!r}.{near} `recollect config` lists them.")


def parse_value(key: str, text: str) -> object:
    """Return the value of a text for this key; raise UserError with the allowed ones otherwise."""
    check_key(key)
    section, name = key.split(".")
    checked = _section(getattr(Settings(), section), section, {name: text}, "Not set")
    return getattr(checked, name)


def toml_values(text: str) -> dict[str, Any]:
    """Parse TOML; raise ValueError with the reason if it cannot be read."""
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
        tables = [[*each.values()] if isinstance(each, dict) else each for each in level]
        level = [inner for each in tables if isinstance(each, list) for inner in each]
        if not level:
            return values
    raise ValueError(TOO_DEEP)


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
    """Return `RECOLLECT_EMBEDDING__PROVIDER=none` as `{"embedding": {"provider": "none"}}`."""
    found: dict[str, Any] = {}
    for name, value in environment.items():
        if not name.startswith(PREFIX) or name in RESERVED or "__" not in name:
            continue
        section, _, key = name[len(PREFIX) :].lower().partition("__")
        found.setdefault(section, {})[key] = value
    return found


def _override(settings: Settings, values: dict[str, Any], place: str) -> Settings:
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
    made = []
    for number, table in enumerate(tables, start=1):
        where = f"{place}: [[{section}]] number {number}"
        made.append(one := _table(TABLES[section], table, where))
        if isinstance(one, VaultSettings):
            if bool(one.path) == bool(one.url):
                raise UserError(f"{where} needs either a path or a url.")
            if bool(one.url) != (one.tier == "dynamic"):
                raise UserError(f"{where}: a url is for the tier dynamic, a path for the others.")
    return tuple(made)


def _table(kind: type[Struct], table: dict[str, Any], place: str) -> Struct:
    """Return the struct of a table, whose values have the types of TOML."""
    converted = _convert(kind, table, f"{place}: ", strict=True)
    for field in msgspec.structs.fields(kind):
        if field.required and field.name not in table:
            raise UserError(f"{place} needs a {field.name}.")
    return kind(**converted)


def _section(before: Struct, section: str, keys: dict[str, Any], place: str) -> Struct:
    """Return the section with other values, which may be strings from the environment."""
    where = f"{place}: {section}."
    converted = _convert(type(before), keys, where, strict=False)
    for name, pattern in converted.get("patterns", {}).items():
        try:
            compile_pattern(pattern)
        except UserError as reason:
            which = f"{where}patterns: the pattern {name!r}"
            raise UserError(f"{which} cannot be used: {reason}.") from reason
    if "proxies" in converted:
        try:
            networks(converted["proxies"])
        except ValueError as error:
            raise UserError(f"{where}proxies cannot be used: {error}.") from error
    return msgspec.structs.replace(before, **converted)


def _convert(
    kind: type[Struct], values: Mapping[str, Any], where: str, *, strict: bool
) -> dict[str, Any]:
    """Convert values to the types of a struct's fields; raise UserError for unknown and wrong ones.
    Unless `strict`, strings may also hold numbers, and tables as JSON."""
    types = get_type_hints(kind, include_extras=True)
    converted = {}
    for key, value in values.items():
        if key not in types:
            raise UserError(f"{where}{key} is not a setting; allowed are: {', '.join(types)}.")
        try:
            str(value).encode()  # a variable may hold any bytes
            loose = not strict and isinstance(value, str)
            if loose and types[key] in (Patterns, Users):
                converted[key] = msgspec.json.decode(value, type=types[key])
            else:
                converted[key] = msgspec.convert(value, types[key], strict=not loose)
        except (msgspec.DecodeError, UnicodeEncodeError) as error:
            allowed = _describe(types[key])
            raise UserError(f"{where}{key} cannot be {value!r}; allowed: {allowed}.") from error
    return converted


def networks(addresses: str) -> list[IPv4Network | IPv6Network]:
    """Parse addresses and networks separated by commas; raise ValueError for a wrong one."""
    return [ip_network(each.strip()) for each in addresses.split(",") if each.strip()]


def _describe(kind: Any) -> str:
    """Return the allowed values of a type, in words."""
    if get_origin(kind) in (Union, UnionType):
        return _describe(get_args(kind)[0])
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
