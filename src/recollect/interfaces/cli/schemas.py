"""The types of each command's `--json`. `recollect schema` prints them, `--fields` is checked
against them, and a test checks the output of every command. Existing types, or some of their
fields, are reused; the rest is declared here."""

from __future__ import annotations

import argparse
from functools import cache
from typing import Any, Literal, cast, get_args, get_origin, get_type_hints

from msgspec import UNSET, Struct, UnsetType, defstruct, json

from recollect.auth.audit import AuditEntry
from recollect.auth.credentials import BrowserSession
from recollect.auth.token_store import Token
from recollect.engine.browsing import TimelineEntry
from recollect.engine.comparison import DuplicateGroup
from recollect.engine.lifecycle import PolicyOutcome
from recollect.engine.review import Review
from recollect.errors import NotFound
from recollect.folders.mirroring import MirrorStep
from recollect.interfaces.cli.commands import command, resolve
from recollect.interfaces.cli.output import print_json
from recollect.interfaces.http.schemas import Decided, SaveOutcome, TrashedJson
from recollect.interfaces.operations import list_operations
from recollect.interfaces.setup.clients import Client
from recollect.interfaces.setup.registration import FileChange
from recollect.interfaces.signatures import json_type
from recollect.models.folder import Declared
from recollect.present.history import VersionJson
from recollect.present.response import Count, Time
from recollect.present.schema import (
    ContextJson,
    ErrorJson,
    PurgedCount,
    RedoneJson,
    ResponseJson,
    ResultJson,
    UndoneJson,
)
from recollect.recipes.learned import LearnedJson
from recollect.recipes.registry import RecipeFacts
from recollect.settings import CollectionSettings, PolicySettings
from recollect.store.folders import Folder
from recollect.store.sqlite.snapshot import VaultSummary
from recollect.store.vault import Finding
from recollect.types import Memory
from recollect.vaults.known import KnownVault

Counts = dict[str, Count]
MaybeText = str | UnsetType
Ids = list[str]
List, Map = cast(Any, list), cast(Any, dict)  # to subscript with types that are made here


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Struct)


def _object(name: str, source: Any = None, names: str = "", /, **fields: Any) -> Any:
    """Return the type of an object with these fields and those of a source: all, or `names`. Fields
    that may be UNSET may be missing."""
    whole = _is_struct(source) and not names
    own = get_type_hints(source, include_extras=True) if source and not whole else {}
    kinds = {each: own[each] for each in names.split() or own} | fields
    listed = [
        (key, kind, *([UNSET] if UnsetType in get_args(kind) else []))
        for key, kind in kinds.items()
    ]
    return defstruct(name, listed, bases=(source,) if whole else None, kw_only=True)


ShownMemory = _object("ShownMemory", Memory, asked=MaybeText, replaces=Ids | UnsetType)
Synced = {
    "files": Counts, "memories": Counts, "left_out": Counts, "redacted": Counts | UnsetType,
    "named": List[_object("NamedFile", path=str, reason=str)],
}  # fmt: skip
Checks = List[_object("Check", Finding, note=MaybeText)]
TokenJson = _object("TokenJson", Token, state=str)
VaultJson = _object("VaultJson", KnownVault, "name tier priority", path=MaybeText, url=MaybeText)
VaultState = _object("VaultState", vault=str, locked=bool, key=str | None, unfinished=bool)
ModelNames = dict[str, str | None]
CollectionJson = _object("CollectionJson", CollectionSettings, "name path")
Event = _object(
    "Event", TimelineEntry, "at what", id=str, title=str, kind=str, project=str,
    expired=bool | UnsetType, superseded_by=MaybeText,
)  # fmt: skip
Recipe = _object("Recipe", RecipeFacts, "name about source view fingerprint")


def _ids(*done: str) -> Any:
    """Return the type of an object with one field of ids, named after what was done."""
    kind = Ids if len(done) == 1 else Ids | UnsetType
    return _object("Changed", **dict.fromkeys(done, kind))


def _rows(name: str, source: Any = None, names: str = "", /, **fields: Any) -> Any:
    return List[_object(name, source, names, **fields)]


# Command, or command and action → its type; a tuple if it prints one of several.
SCHEMAS: dict[str, Any] = {
    "memory": Memory,
    "result": ResultJson,
    "error": ErrorJson,
    "search": ResponseJson,
    "related": ResponseJson,
    "show": List[ShownMemory],
    "list": List[Memory],
    "context": ContextJson,
    "history": List[VersionJson],
    "timeline": _object(
        "Timeline", at=Time, around=str | None, before=List[Event], after=List[Event]
    ),
    "trash": (List[TrashedJson], PurgedCount),
    "save": SaveOutcome,
    "edit": (Memory, _ids("changed")),
    "pin": _ids("pinned", "unpinned"),
    "tag": (_ids("tagged"), Counts),
    "tag list": Counts,
    "tag rename": _ids("changed"),
    "tag merge": _ids("changed"),
    "move": _ids("moved"),
    "forget": _ids("forgotten", "restored", "purged"),
    "trash restore": (
        _ids("restored"), _object("Restored", VaultSummary, vault=str, replaced=str | None),
    ),
    "undo": UndoneJson,
    "redo": RedoneJson,
    "supersede": _object("Superseded", superseded=str, superseded_by=str),
    "merge": _object("Merged", merged=Ids, into=str),
    "duplicates": List[json_type(DuplicateGroup)],
    "review": (json_type(Review), Decided),
    "tidy": (
        _rows(
            "Tidied", PolicyOutcome, "asks done", policy=str, what=str, outcome=str, memories=Ids
        ),
        dict[str, PolicySettings],
    ),
    "feedback": _object("Feedback", accepted=Count, dismissed=Count),
    "import": (
        _object(
            "Imported", added=Count, updated=Count, unchanged=Count, waiting=Count,
            bad=_rows("BadLine", reason=str, line=int | UnsetType, where=MaybeText),
            redacted=Counts | UnsetType, feedback=Count | UnsetType,
            not_imported=Counts | UnsetType,
        ),
        _object("ImportedFiles", **Synced, followed=Ids | UnsetType, waiting=Count | UnsetType),
    ),
    "add": _object("Added", **Synced, waiting=Count),
    "add list": _object(
        "Folders",
        folders=_rows("FolderJson", Folder, "path followed files", project=str | None,
                      client=MaybeText),
    ),
    "add sync": _object(
        "SyncedFolders", folders=_rows("SyncedFolder", path=str, **Synced), waiting=Count
    ),
    "add remove": (
        _object("RemovedFolder", removed=str, forgotten=Count),
        _object("FolderToRemove", would_forget=Count),
    ),
    "mirror": _object(
        "Mirror", folder=str, dry_run=bool, steps=_rows("Step", MirrorStep), unchanged=Count,
        problems=Synced["named"], redacted=Counts | UnsetType,
    ),
    "backup": _object("Backup", VaultSummary, file=str, removed=Ids | UnsetType),
    "vault publish": _object(
        "Published", collection=str, published=Ids | UnsetType, unpublished=Ids | UnsetType
    ),
    "projects": Counts,
    "stats": _object(
        "Stats", vault=str, memories=Count, archived=Count, forgotten=Count, kinds=Counts,
        tiers=Counts, projects=Counts, tags=Count, feedback=Counts, bytes=Count, embedding=str,
        vectors=Count, waiting=Count, recipe=str, used=Counts | UnsetType,
    ),
    "config": Map[str, _object("Setting", value=Any, **{"from": str})],
    "config get": dict[str, Any],
    "config set": dict[str, Any],
    "config check": Checks,
    "doctor": Checks,
    "reindex": _object("Reindexed", vectors=Count, waiting=Count),
    "store copy": _object(
        "Copied", target=str, memories=Count, forgotten=Count, versions=Count, feedback=Count,
        vectors=Count, queries=Count,
    ),
    "store migrate": _object("Migrated", applied=Count),
    "models": _object(
        "Models", active=ModelNames, notes=list[str], measured_ms=dict[str, float],
        installed=_rows(
            "ModelJson", Declared, "name dimensions licence origin about", kind=str, active=bool,
            max_tokens=Count, megabytes=float, languages=str, problem=str | None,
        ),
    ),
    "models use": _object("Switched", model=str, identity=str, vectors=Count, bytes=Count),
    "recipes": List[RecipeFacts],
    "recipes show": _object("RecipeJson", Recipe, declared=dict[str, Any]),
    "recipes check": _object("CheckedRecipe", Recipe, ok=bool),
    "recipes diff": list[dict[str, Any]],
    "recipes learned": List[LearnedJson],
    "eval": _object(
        "Evaluation", dataset=str, documents=Count, queries=Count, not_scored=Count,
        recipes=dict[str, dict[str, Any]], left_out=dict[str, str], problems=Counts, version=str,
        models=ModelNames, advice=MaybeText,
        comparisons=_rows(
            "Comparison", recipe=str, against=str, measure=str, difference=float,
            ci95=tuple[float, float], p=float,
        ),
    ),
    "eval add": _object("Judged", query=str, judgements=Count, gold=str),
    "eval suite": _object(
        "SuiteReport", models=ModelNames,
        queries=_rows(
            "SuiteQueryJson", kind=str, text=str, rule=Literal["place", "newest", "topic"],
            outdated=Ids, about=str, expected=Ids, filter=dict[str, Any],
        ),
        recipes=Map[str, _object(
            "SuitePoints", points=Count, of=Count,
            queries=Map[str, _object("Points", points=int, rank=int | None, why=str)], degraded=Any,
        )],
    ),
    "vault": VaultState,
    "vault list": _object("Vaults", vaults=List[VaultJson], untrusted=str | None),
    "vault add": _object("AddedVault", added=VaultJson),
    "vault remove": _object("RemovedVault", removed=str),
    "vault trust": _object("TrustedVault", trusted=str),
    "vault untrust": _object("UntrustedVault", untrusted=str, changed=bool),
    "vault collections": List[CollectionJson],
    "vault collections add": _object("AddedCollection", added=CollectionJson),
    "vault collections remove": _object("RemovedCollection", removed=str),
    "setup": (
        _rows("ClientJson", Client, "title", client=str, file=str, installed=bool, registered=str),
        _object("Registered", FileChange, "action", client=str, file=str, changed=bool, diff=str),
    ),
    "hook": _rows("Replayed", event=str, seen=str, printed=Any, captured=Ids),
    "open": _object("Link", link=str),
    "access token": List[TokenJson],
    "access token create": _object("NewToken", TokenJson, token=str),
    "access token revoke": _object("RevokedTokens", revoked=Ids),
    "access sessions": _rows(
        "SessionJson", BrowserSession, "id browser created_at expires_at used_at", token=str,
        name=str,
    ),
    "access sessions end": _object("EndedSessions", ended=Ids),
    "access audit": _rows("AuditJson", AuditEntry, memories=Ids | UnsetType),
    "version": _object("Version", version=str, vault_version=int, python=str),
}  # fmt: skip


@cache
def all_schemas() -> dict[str, Any]:
    """Return `SCHEMAS`, and the result types of operations that declare a command."""
    declared = list_operations("command")
    return SCHEMAS | {each.declared.command.split()[0]: json_type(each.answer) for each in declared}


def command_types(command: str, action: str | None = None) -> tuple[Any, ...]:
    """Return the types that a command prints, with this action if it has actions."""
    schemas = all_schemas()
    found = schemas.get(f"{command} {action}", schemas.get(command, ()))
    return found if isinstance(found, tuple) else (found,)


def row_field_names(command: str, action: str | None = None) -> list[str] | None:
    """Return the names for `--fields`; None if the command prints no rows."""
    for kind in command_types(command, action):
        for each in get_type_hints(kind).values() if _is_struct(kind) else [kind]:
            row: Any = next(iter(get_args(each)), None)
            if get_origin(each) is list and _is_struct(row):
                return list(row.__struct_fields__)
    return None


def make_schema(name: str) -> dict[str, Any]:
    """Return the JSON schema of that name."""
    kinds = command_types(name)
    schemas, components = json.schema_components(kinds, ref_template="#/$defs/{name}")
    root = schemas[0] if len(schemas) == 1 else {"anyOf": list(schemas)}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **root, "$defs": components}


def _add_name(parser: argparse.ArgumentParser) -> None:  # `arguments` imports this module
    about = "a command, with its action if it has one, or memory, result, error (default: list all)"
    parser.add_argument("name", metavar="NAME", nargs="*", help=about)


@command(
    "  recollect schema\n  recollect schema search\n  recollect schema tag rename",
    _add_name,
)
def schema(args: argparse.Namespace) -> None:
    if not args.name:
        print("\n".join(all_schemas()))
        return
    command, action = resolve(args.name)
    name = " ".join([command, *(word for word in action if word[0] != "-")])
    name = name if name in all_schemas() else name.removesuffix(" list")
    if name not in all_schemas():
        raise NotFound(f"There is no schema {name!r}; `recollect schema` lists them.")
    print_json(make_schema(name))
