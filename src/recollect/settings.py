"""The settings: a struct for each section, and types for ranges. `settings_reading` reads them."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

import msgspec
from msgspec import Meta, Struct

from recollect.auth.capabilities import CAPABILITIES
from recollect.times import DURATION
from recollect.types import CaptureForm

EmbeddingProvider = Literal["builtin", "onnx", "openai", "ollama", "none"]
RerankProvider = Literal["builtin", "onnx", "http", "none"]
SemanticMode = Literal["auto", "always", "never"]
VaultTier = Literal["agent", "project", "team", "dynamic"]
OtherTier = Literal["project", "team", "dynamic"]

# Ranges of numbers; error messages show the description.
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

# The name replaces the secret in the text.
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
PolicyAction = Literal["expire", "archive", "cap", "purge"]
Age = Annotated[
    str,
    Meta(
        pattern=rf"^(|{DURATION})\Z",
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

# Addresses of proxies, read by `networks`, and the header with the name of the user.
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


# Editors that open files by links, and the format of these; "none": no links.
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
    """`recollect serve`. `editor`: opens files from the page; `proxies`: trusted to name the user
    in `user_header`; `users`: capabilities by user, instead of `user_capabilities`."""

    token_env: str = "RECOLLECT_TOKEN"
    hosts: str = ""
    editor: Editor = "vscode"
    proxies: Proxies = ""
    user_header: HeaderName = "X-Forwarded-User"
    users: Users = msgspec.field(default_factory=dict)
    user_capabilities: Granted = "search:use"


class LockSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`[vault]`: the passphrase of a locked vault, and when a server locks it again."""

    passphrase_env: str = "RECOLLECT_PASSPHRASE"
    passphrase_file: str = ""
    idle_minutes: Minutes = 15.0


class Mirror(Struct, frozen=True, forbid_unknown_fields=True):
    """The folder of Markdown files that `recollect mirror` keeps equal to the vault."""

    folder: str = ""


class Hooks(Struct, frozen=True, forbid_unknown_fields=True):
    """`recollect hook`: the tokens an agent gets at the start of a session, and the number of its
    turns after which it is asked what to keep."""

    start_tokens: Tokens = 1000
    ask_every: Turns = 8


class CaptureSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Capture by hooks. `trust`: the forms of sentences that need no review, separated by commas,
    or `all`."""

    enabled: bool = True
    trust: Trusted = ""


class Secrets(Struct, frozen=True, forbid_unknown_fields=True):
    """The redaction of secrets before a memory is saved; `patterns`: additional ones by name."""

    redact: bool = True
    patterns: Patterns = msgspec.field(default_factory=dict)


class HistorySettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The history. `keep`: its age, its versions for each memory, or its size."""

    keep: Kept = "512 MB"


class PolicySettings(Struct, frozen=True, forbid_unknown_fields=True):
    """One `[policies.NAME]` for captures that get old. `expire` forgets and `purge` deletes those
    not changed for the time `after`, but with `unless_useful` none that was opened or accepted;
    `archive` archives those neither changed nor used for that time, `cap` all but the `most` of
    each project that were changed or used last. The other fields are a filter."""

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
    """The review. `agents_decide`: agents may decide, instead of only propose."""

    agents_decide: bool = False


class TrashSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The trash. `keep`: days after which forgotten memories are purged; 0: never."""

    keep: Days = 0


class UsageSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The counts of how memories are used, kept in the vault."""

    keep: bool = True


Policies = dict[str, PolicySettings]


class StoreSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """`[store]`: the database of the home's vault, and the vault's name there; without a `url` it
    is a file in the home. `retry_s`: how long to retry while the database is away, as during a
    fail-over; `read_url`: replicas that answer searches; `max_staleness_s`: how old their data may
    be while the primary is away."""

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
