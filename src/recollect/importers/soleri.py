"""Soleri: the vault of an agent, or bundles of knowledge as JSON.

The format: `vault/vault-schema.ts`, `vault/vault-types.ts` and `intelligence/types.ts` below
`packages/core/src` of github.com/adrozdenko/soleri; version 1 of the vault, which `user_version`
tells.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path, PureWindowsPath

import apsw

from recollect.errors import UserError
from recollect.importers.base import Importer, Taken
from recollect.importers.databases import Row, database, require, rows
from recollect.importers.files import files_below, json_file, present
from recollect.importers.records import Piece, empty, foreign_id, listed, once, plain

TOOL = "soleri"
VAULT = "vault.db"
VERSION = 1
# What bundles call otherwise than the vault.
RENAMED = {
    "counterExample": "counter_example",
    "appliesTo": "applies_to",
    "validFrom": "valid_from",
    "validUntil": "valid_until",
}


def read(path: Path) -> Iterator[Taken]:
    return once(_read(path))


def _read(path: Path) -> Iterator[Taken]:
    if present(path).is_dir() and (path / VAULT).is_file():
        return _of_vault(path / VAULT)
    if path.is_dir() or path.suffix.lower() == ".json":
        return _of_bundles(path)
    return _of_vault(path)


# --- the vault ----------------------------------------------------------------------------------


def _of_vault(path: Path) -> Iterator[Taken]:
    with database(path, TOOL) as connection:
        require(connection, path, TOOL, entries=("id", "title", "description"))
        version = connection.pragma("user_version")
        if isinstance(version, int) and version > VERSION:
            raise UserError(
                f"{path} is a vault of version {version} of {TOOL}; known here are those up to "
                f"{VERSION}."
            )
        linked = _values(connection, "vault_links", "source_id")
        names = _projects(connection)
        for table in ("entries", "entries_archive"):
            for row in rows(connection, table, "id"):
                yield _entry(row, linked)
        for row in rows(connection, "memories", "id"):
            yield _memory(row, names)
        if next(rows(connection, "transcript_messages", "id"), None):
            reason = "Chats are not taken, only what was remembered of them."
            yield Taken("transcript_messages", None, reason)


def _values(connection: apsw.Connection, table: str, column: str) -> frozenset[object]:
    return frozenset(
        row.values.get(column) for row in rows(connection, table, column) if row.values is not None
    )


def _projects(connection: apsw.Connection) -> dict[object, object]:
    """The names of projects by their folders."""
    return {
        row.values.get("path"): row.values.get("name")
        for row in rows(connection, "projects", "path")
        if row.values is not None
    }


def _entry(row: Row, linked: frozenset[object]) -> Taken:
    piece = _begun(row)
    if isinstance(piece, Taken):
        return piece
    for field, called in (
        ("title", "title"), ("text", "description"), ("context", "context"), ("why", "why"),
        ("kind", "type"), ("domain", "domain"), ("severity", "severity"),
        ("created_at", "created_at"), ("updated_at", "updated_at"),
        ("valid_from", "valid_from"), ("valid_until", "valid_until"),
    ):  # fmt: skip
        piece.take(field, called)
    _told(piece, "Example", "example")
    _told(piece, "Counter-example", "counter_example")
    piece.take("tags", "tags")
    piece.add("details", listed("Applies to", piece.texts("applies_to")))
    piece.end("archived_at")
    if piece.use("id") in linked:
        piece.leave("links")
    return piece.taken()


def _memory(row: Row, names: Mapping[object, object]) -> Taken:
    piece = _begun(row)
    if isinstance(piece, Taken):
        return piece
    for field, called in (
        ("text", "summary"), ("context", "context"), ("why", "intent"), ("kind", "type"),
        ("created_at", "created_at"),
    ):  # fmt: skip
        piece.take(field, called)
    piece.take("tags", "topics")
    folder = piece.use("project_path")
    piece.put("project", names.get(folder) or _last_part(folder), "project_path")
    _told(piece, "Current state", "current_state")
    piece.add("details", listed("Decisions", piece.texts("decisions")))
    piece.add("details", listed("Next steps", piece.texts("next_steps")))
    files = piece.texts("files_modified")
    piece.put("path", files[0] if files else None, "files_modified")
    piece.add("details", listed("Files modified", files))
    piece.end("archived_at")
    return piece.taken()


def _begun(row: Row) -> Piece | Taken:
    """A piece with its id, or what is to be said where there is none."""
    if row.values is None:
        return Taken(row.where, None, row.reason)
    id = plain(row.values.get("id"))
    if not id or not id.strip():
        return Taken(row.where, None, "It has no id.")
    piece = Piece(row.where, row.values, foreign_id(TOOL, id), TOOL)
    piece.ignore("id", "content_hash")
    return piece


def _told(piece: Piece, heading: str, called: str) -> None:
    value = piece.use(called)
    text = plain(value)
    if text and text.strip():
        piece.add("details", f"{heading}:\n{text.strip()}")
    elif not empty(value):
        piece.leave(called)


def _last_part(folder: object) -> str | None:
    """`lamp` for `/home/ada/lamp`, and for `C:\\lamp`."""
    text = plain(folder)
    return (PureWindowsPath(text).name or text) if text else None


# --- bundles ------------------------------------------------------------------------------------


def _of_bundles(path: Path) -> Iterator[Taken]:
    folder = path if path.is_dir() else path.parent
    files = list(files_below(path, ".json")) if path.is_dir() else [path]
    found = False
    for file in files:
        where = file.relative_to(folder).as_posix()
        try:
            held = json_file(file)
        except UserError as error:
            yield Taken(where, None, str(error))
            continue
        entries = held.get("entries") if isinstance(held, dict) else None
        if isinstance(held, dict) and isinstance(entries, list):
            found = True
            yield from _of_bundle(where, held.get("domain"), entries)
    if not found:
        raise UserError(
            f"{path} is not of {TOOL}: it is neither a {VAULT} nor a bundle, a JSON file with "
            "`entries`."
        )


def _of_bundle(where: str, domain: object, entries: list[object]) -> Iterator[Taken]:
    for number, entry in enumerate(entries, start=1):
        place = f"{where}, entry {number}"
        if isinstance(entry, dict):
            raw = {RENAMED.get(str(name), str(name)): value for name, value in entry.items()}
            yield _entry(Row(place, {"domain": domain} | raw), frozenset())
        else:
            yield Taken(place, None, "It is not a JSON object.")


IMPORTER = Importer(
    TOOL,
    "an agent's vault.db, the folder that it is in, or bundles of knowledge (JSON)",
    "https://github.com/adrozdenko/soleri/tree/main/packages/core/src/vault",
    read,
)
