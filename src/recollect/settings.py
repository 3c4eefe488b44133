"""Settings: `config.toml` in the home folder, each key also as an environment variable.

Environment over file over default. An unknown key or a bad value is an error that names the file
or the environment, the key, and the allowed values.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
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

import msgspec
from msgspec import Meta, Struct

from recollect.auth.capabilities import CAPABILITIES
from recollect.errors import UserError
from recollect.home import home_path
from recollect.types import CaptureForm

if TYPE_CHECKING:
    from ipaddress import IPv4Network, IPv6Network

EmbeddingProvider = Literal["builtin", "onnx", "openai", "ollama", "none"]
RerankProvider = Literal["builtin", "onnx", "http", "none"]
SemanticMode = Literal["auto", "always", "never"]
VaultTier = Literal["agent", "project", "team", "dynamic"]
OtherTier = Literal["project", "team", "dynamic"]

# The ranges of numbers; the description is what an error names as allowed.
Seconds = Annotated[float, Meta(gt=0, le=3600, description="a number above 0 and at most 3600")]
Staleness = Annotated[float, Meta(ge=0, le=86_400, description="a number from 0 to 86400")]
Dimensions = Annotated[
    int, Meta(ge=0, le=65536, description="a whole number from 0 (all of them) to 65536")
]
Milliseconds = Annotated[
    int, Meta(ge=0, le=3_600_000, description="a whole number from 0 to 3600000")
]
Days = Annotated[int, Meta(ge=0, le=36_500, description="a whole number from 0 (never) to 36500")]
Minutes = Annotated[float, Meta(ge=0, le=10_080, description="a number from 0 (never) to 10080")]

Tokens = Annotated[
    int, Meta(ge=0, le=100_000, description="a whole number from 0 (nothing) to 100000")
]
Turns = Annotated[int, Meta(ge=0, le=1000, description="a whole number from 0 (never) to 1000")]
Priority = Annotated[float, Meta(gt=0, le=1000, description="a number above 0 and at most 1000")]
VaultName = Annotated[
    str,
    Meta(
        pattern=r"^[a-z0-9][a-z0-9_-]{0,63}\Z",
        description="up to 64 small letters, digits, hyphens and underscores",
    ),
]

# The name stands in the text where the secret was.
PatternName = Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9 _-]{0,39}$")]
Patterns = Annotated[
    dict[PatternName, str],
    Meta(
        description="a table of names and regular expressions; a name has up to 40 small letters, "
        "digits, spaces, hyphens and underscores"
    ),
]

Kept = Annotated[
    str,
    Meta(
        pattern=r"^\s*\d{1,9}\s*(d|kB|MB|GB)?\s*$",
        description="days, as 90d; versions of each memory, as 20; or a size, as 512 MB",
    ),
]
# A span of time, as a policy has it.
AGE = r"(?P<count>[0-9]{1,5}) ?(?P<unit>d|days?|w|weeks?|months?|y|years?)"
PolicyAction = Literal["expire", "archive", "cap", "purge"]
Age = Annotated[
    str,
    Meta(
        pattern=rf"^(|{AGE})\Z",
        description="a number of days, weeks, months or years: 30d, 2w, 6 months, 1 year",
    ),
]
AtMost = Annotated[int, Meta(ge=0, le=10_000_000, description="a whole number from 0 to 10000000")]

_FORM = f"({'|'.join(get_args(CaptureForm))})"
Trusted = Annotated[
    str,
    Meta(
        pattern=rf"^(|all|{_FORM}( *, *{_FORM})*)\Z",
        description=f"all, or names with commas between them: {', '.join(get_args(CaptureForm))}",
    ),
]

# Addresses of proxies, read by `networks`; the header in which one names the user.
Proxies = Annotated[
    str,
    Meta(
        pattern=r"^[0-9A-Fa-f:./, ]*\Z",
        description="IP addresses or networks with commas between them: 10.0.0.5, 10.1.0.0/24",
    ),
]
HeaderName = Annotated[
    str, Meta(pattern=r"^[A-Za-z][A-Za-z0-9-]{0,63}\Z", description="the name of a header")
]
_ONE = f"({'|'.join(CAPABILITIES)})"
Granted = Annotated[
    str,
    Meta(
        pattern=rf"^(|{_ONE}( *, *{_ONE})*)\Z",
        description=f"some of these, with commas between them: {', '.join(CAPABILITIES)}",
    ),
]
Users = Annotated[
    dict[str, Granted],
    Meta(description=f"a table of names, each with some of {', '.join(CAPABILITIES)}"),
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
    providers: str = ""  # of onnxruntime, with commas between them; the CPU is always the last


class Rerank(Struct, frozen=True, forbid_unknown_fields=True):
    provider: RerankProvider = "builtin"
    model: str = ""
    base_url: str = ""
    api_key_env: str = ""
    timeout_s: Seconds = 10.0
    budget_ms: Milliseconds = 300


class SearchSettings(Struct, frozen=True, forbid_unknown_fields=True):
    recipe: str = "blend"
    literal: bool = False
    vault_deadline_ms: Milliseconds = 2000


class VaultSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """One `[[vaults]]`: a file, or the address of another Recollect server."""

    name: VaultName
    tier: OtherTier
    path: str = ""
    url: str = ""
    token_env: str = ""
    passphrase_env: str = ""
    priority: Priority | None = None


class CollectionSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """One `[[collections]]`: a shared vault, to which memories can be published."""

    name: VaultName
    path: str
    passphrase_env: str = ""


class ContextSettings(Struct, frozen=True, forbid_unknown_fields=True):
    semantic: SemanticMode = "auto"
    recipe: str = "echovault"
    topup_recent: bool = True


# An editor that opens links, and the form of these; "none": no link is offered.
Editor = Literal["vscode", "vscodium", "cursor", "windsurf", "zed", "idea", "pycharm", "none"]
EDITORS: dict[Editor, str] = {
    "vscode": "vscode://file{path}:{line}",
    "vscodium": "vscodium://file{path}:{line}",
    "cursor": "cursor://file{path}:{line}",
    "windsurf": "windsurf://file{path}:{line}",
    "zed": "zed://file{path}:{line}",
    "idea": "idea://open?file={path}&line={line}",
    "pycharm": "pycharm://open?file={path}&line={line}",
    "none": "",
}


class Serve(Struct, frozen=True, forbid_unknown_fields=True):
    """`recollect serve`; `commands`: it, and `recollect mcp`, answer the commands of this user;
    `editor`: what opens files from the page. `proxies`: whose `user_header` names the user, who
    may do what `users` says, or else `user_capabilities`."""

    token_env: str = "RECOLLECT_TOKEN"
    hosts: str = ""
    commands: bool = True
    editor: Editor = "vscode"
    proxies: Proxies = ""
    user_header: HeaderName = "X-Forwarded-User"
    users: Users = msgspec.field(default_factory=dict)
    user_capabilities: Granted = "search:use"


class LockSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`[vault]`: how a locked vault is opened, and when a server locks it again."""

    passphrase_env: str = "RECOLLECT_PASSPHRASE"
    passphrase_file: str = ""
    idle_minutes: Minutes = 15.0


class Mirror(Struct, frozen=True, forbid_unknown_fields=True):
    """The folder of Markdown files that `recollect mirror` keeps equal to the vault."""

    folder: str = ""


class Hooks(Struct, frozen=True, forbid_unknown_fields=True):
    """`recollect hook`: how much an agent is told at the start of a session, and after how many of
    its turns it is asked what is worth keeping."""

    start_tokens: Tokens = 1000
    ask_every: Turns = 8


class CaptureSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Whether hooks keep what a user says outright, and which forms of that need no review: names
    with commas between them, or `all`."""

    enabled: bool = True
    trust: Trusted = ""


class Secrets(Struct, frozen=True, forbid_unknown_fields=True):
    """Which secrets are replaced before a memory is written; `patterns` adds some, by name."""

    redact: bool = True
    patterns: Patterns = msgspec.field(default_factory=dict)


class HistorySettings(Struct, frozen=True, forbid_unknown_fields=True):
    """How much is kept of what memories were."""

    keep: Kept = "512 MB"


class PolicySettings(Struct, frozen=True, forbid_unknown_fields=True):
    """One `[policies.NAME]`: what becomes of captures as time passes. `expire` forgets and `purge`
    removes those not changed for so long, but with `unless_useful` not those that somebody opened
    or accepted; `archive` puts aside those not changed and not used for so long, `cap` all but the
    `most` changed or used last of each project. The fields of a filter say which."""

    what: PolicyAction
    after: Age = ""
    most: AtMost = 0
    unless_useful: bool = True
    project: str | None = None
    source: str | None = None
    domain: str | None = None
    kind: str | None = None
    space: str | None = None
    tags: tuple[str, ...] = ()


class ReviewSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Whether agents may decide what stands in the review, or only propose."""

    agents_decide: bool = False


class TrashSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """After how many days what was forgotten is purged; 0: never."""

    keep: Days = 0


class UsageSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Whether it is counted which memories are of use, in the vault."""

    keep: bool = True


Policies = dict[str, PolicySettings]


class StoreSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`[store]`: the database that holds the home's vault, and the vault's name there; without a
    `url` it is a file in the home. `retry_s`: how long a write or a search waits for a database
    that is away, as while its primary moves. `read_url`: replicas, which answer searches;
    `max_staleness_s`: how old what they tell may be while the primary cannot be asked."""

    url: str = ""
    vault: VaultName = "main"
    read_url: str = ""
    max_staleness_s: Staleness = 60.0
    retry_s: Seconds = 30.0


class Settings(Struct, frozen=True, forbid_unknown_fields=True):
    embedding: Embedding = Embedding()
    rerank: Rerank = Rerank()
    search: SearchSettings = SearchSettings()
    store: StoreSettings = StoreSettings()
    context: ContextSettings = ContextSettings()
    serve: Serve = Serve()
    vault: LockSettings = LockSettings()
    mirror: Mirror = Mirror()
    hooks: Hooks = Hooks()
    capture: CaptureSettings = CaptureSettings()
    secrets: Secrets = Secrets()
    history: HistorySettings = HistorySettings()
    trash: TrashSettings = TrashSettings()
    usage: UsageSettings = UsageSettings()
    review: ReviewSettings = ReviewSettings()
    policies: Policies = msgspec.field(default_factory=dict)
    vaults: tuple[VaultSettings, ...] = ()
    collections: tuple[CollectionSettings, ...] = ()


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


def _read(file: Path) -> dict[str, Any]:
    try:
        text = file.read_text(encoding="utf-8-sig")  # some editors begin a file with a BOM
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise UserError(f"{file} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{file} cannot be read as TOML: it is not valid UTF-8 text.") from error
    from recollect.toml_text import toml_values  # noqa: PLC0415  start-up time: few homes have one

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
    from recollect.regex_safety import problem_of  # noqa: PLC0415  start-up time: few have any

    for name, pattern in patterns.items():
        reason = problem_of(pattern)
        if reason:
            raise UserError(f"{where}: the pattern {name!r} cannot be used: {reason}.")


def networks(addresses: str) -> list[IPv4Network | IPv6Network]:
    """The addresses and networks of a list with commas; ValueError where one is none."""
    from ipaddress import ip_network  # noqa: PLC0415  start-up time: few have any

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
