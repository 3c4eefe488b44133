"""Import Soleri: the vault of an agent, or bundles of knowledge as JSON.

The format: `vault/vault-schema.ts`, `vault/vault-types.ts` and `intelligence/types.ts` below
`packages/core/src` of github.com/adrozdenko/soleri; version 1 of the vault, by its `user_version`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path, PureWindowsPath

from recollect import UserError
from recollect.plugin.importers import ImportedRecord, Importer, refuse_record
from recollect.plugins.importers.databases import (
    SourceRow,
    database,
    import_rows,
    pairs,
    require,
    rows,
)
from recollect.plugins.importers.files import files_below, json_file, json_object, require_path
from recollect.plugins.importers.records import Record, bullet_list, plain, without_repeats

TOOL = "soleri"
VAULT = "vault.db"
VERSION = 1
# Names in bundles that the vault spells differently.
RENAMED = {
    "counterExample": "counter_example",
    "appliesTo": "applies_to",
    "validFrom": "valid_from",
    "validUntil": "valid_until",
}


def read(path: Path) -> Iterator[ImportedRecord]:
    return without_repeats(_read(path))


def _read(path: Path) -> Iterator[ImportedRecord]:
    if require_path(path).is_dir() and (path / VAULT).is_file():
        return _of_vault(path / VAULT)
    if path.is_dir() or path.suffix.lower() == ".json":
        return _of_bundles(path)
    return _of_vault(path)


# --- the vault ----------------------------------------------------------------------------------


def _of_vault(path: Path) -> Iterator[ImportedRecord]:
    with database(path, TOOL) as connection:
        require(connection, path, TOOL, entries=("id", "title", "description"))
        version = connection.pragma("user_version")
        if isinstance(version, int) and version > VERSION:
            raise UserError(
                f"{path} is a vault of version {version} of {TOOL}; those up to {VERSION} are "
                "supported."
            )
        linked = frozenset(pairs(connection, "vault_links", "source_id", "source_id"))
        names = pairs(connection, "projects", "path", "name")
        for table in ("entries", "entries_archive"):
            yield from import_rows(rows(connection, table, "id"), partial(_entry, linked))
        yield from import_rows(rows(connection, "memories", "id"), partial(_memory, names))
        if next(rows(connection, "transcript_messages", "id"), None):
            reason = "Chats are not imported, only what was remembered of them."
            yield refuse_record("transcript_messages", reason)


def _entry(linked: frozenset[object], where: str, raw: Mapping[str, object]) -> ImportedRecord:
    record = _with_id(where, raw)
    record.take(
        "title", "context", "why", "domain", "severity", "created_at", "updated_at", "valid_from",
        "valid_until", text="description", kind="type",
    )  # fmt: skip
    record.add_headed("details", "Example:\n", "example")
    record.add_headed("details", "Counter-example:\n", "counter_example")
    record.take("tags")
    record.add("details", bullet_list("Applies to", record.texts("applies_to")))
    record.end("archived_at")
    if record.use("id") in linked:
        record.leave("links")
    return record.finish()


def _memory(
    names: Mapping[object, object], where: str, raw: Mapping[str, object]
) -> ImportedRecord:
    record = _with_id(where, raw)
    record.take("context", "created_at", text="summary", why="intent", kind="type", tags="topics")
    folder = record.use("project_path")
    record.put("project", names.get(folder) or _last_part(folder), "project_path")
    record.add_headed("details", "Current state:\n", "current_state")
    record.add("details", bullet_list("Decisions", record.texts("decisions")))
    record.add("details", bullet_list("Next steps", record.texts("next_steps")))
    files = record.texts("files_modified")
    record.put("path", files[0] if files else None, "files_modified")
    record.add("details", bullet_list("Files modified", files))
    record.end("archived_at")
    return record.finish()


def _with_id(where: str, raw: Mapping[str, object]) -> Record:
    """Return a record with its id; UserError if it has none."""
    id = plain(raw.get("id"))
    if not id or not id.strip():
        raise UserError("It has no id.")
    record = Record(where, raw, TOOL, id)
    record.ignore("id", "content_hash")
    return record


def _last_part(folder: object) -> str | None:
    """Return `lamp` for `/home/ada/lamp` and `C:\\lamp`."""
    text = plain(folder)
    return (PureWindowsPath(text).name or text) if text else None


# --- bundles ------------------------------------------------------------------------------------


def _of_bundles(path: Path) -> Iterator[ImportedRecord]:
    folder = path if path.is_dir() else path.parent
    files = list(files_below(path, ".json")) if path.is_dir() else [path]
    any_bundle = False
    for file in files:
        where = file.relative_to(folder).as_posix()
        try:
            bundle = json_file(file)
        except UserError as error:
            yield refuse_record(where, str(error))
            continue
        entries = bundle.get("entries") if isinstance(bundle, dict) else None
        if isinstance(bundle, dict) and isinstance(entries, list):
            any_bundle = True
            yield from _of_bundle(where, bundle.get("domain"), entries)
    if not any_bundle:
        raise UserError(
            f"{path} has no Soleri memories: neither a {VAULT} nor a bundle (a JSON file with "
            "`entries`)."
        )


def _of_bundle(where: str, domain: object, entries: list[object]) -> Iterator[ImportedRecord]:
    for number, entry in enumerate(entries, start=1):
        raw = json_object(entry)
        values = {"domain": domain} | {RENAMED.get(name, name): raw[name] for name in raw}
        row = SourceRow(
            f"{where}, entry {number}",
            values if isinstance(entry, dict) else None,
            "It is not a JSON object.",
        )
        yield from import_rows([row], partial(_entry, frozenset()))


IMPORTER = Importer(
    TOOL,
    "an agent's vault.db, the folder that it is in, or bundles of knowledge (JSON)",
    "https://github.com/adrozdenko/soleri/tree/main/packages/core/src/vault",
    read,
)
