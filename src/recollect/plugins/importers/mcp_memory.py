"""Import two tools called MCP memory; the file shows which one wrote it.

The knowledge graph of the reference server, JSON Lines: `src/memory/index.ts` of
github.com/modelcontextprotocol/servers. The SQLite database of mcp-memory-service, schema up to 19:
`storage/mixins/migrations.py` and `storage/migrations` of github.com/doobidoo/mcp-memory-service.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import apsw

from recollect import UserError
from recollect.plugin.importers import ImportedRecord, Importer, refuse_record
from recollect.plugins.importers.databases import database, import_rows, is_database, require, rows
from recollect.plugins.importers.files import JsonLine, json_lines, json_object, require_path
from recollect.plugins.importers.records import Record, bullet_list, empty, plain, without_repeats

TOOL = "mcp-memory"
SERVICE = "mcp-memory-service"
# In this order: a folder with the service's database is the service's.
FILES = ("sqlite_vec.db", "memory.jsonl", "memory.json")
SCHEMA = 19
# Defaults of the service.
NO_TAG = "untagged"
UNSAID: dict[str, object] = {"version": 1, "confidence": 1.0, "store": "default"}
# Entries of the service's metadata with the meaning of the field of the same name.
METADATA = ("title", "project", "source")


def read(path: Path) -> Iterator[ImportedRecord]:
    file = _file(require_path(path))
    return without_repeats(_of_service(file) if is_database(file) else _of_graph(file))


def _file(path: Path) -> Path:
    if not path.is_dir():
        return path
    for name in FILES:
        if (path / name).is_file():
            return path / name
    raise UserError(f"{path} has no {TOOL} file: none of {', '.join(FILES)}.")


# --- the knowledge graph ------------------------------------------------------------------------


def _of_graph(path: Path) -> Iterator[ImportedRecord]:
    """Yield each entity with the relations that begin at it, and relations without an entity."""
    names, relations = _survey(path)
    for line in json_lines(path):
        where = f"{path.name}, line {line.number}"
        kind = line.values and line.values.get("type")
        if line.values is None:
            yield refuse_record(where, line.reason)
        elif kind == "entity":
            yield _entity(where, line.values, relations)
        elif kind != "relation":
            yield refuse_record(where, "It is neither an entity nor a relation.")
        elif _relation(line) is None:
            yield refuse_record(where, "It does not say what it relates.")
        elif line.values.get("from") not in names:
            yield _lone_relation(where, line)


def _survey(path: Path) -> tuple[set[object], dict[object, list[str]]]:
    """Return the names of all entities, and the relations by their beginning. This is a first pass
    over the file, since relations come last in it."""
    names: set[object] = set()
    relations: dict[object, list[str]] = {}
    known = seen = False
    for line in json_lines(path):
        seen = True
        values = line.values or {}
        known = known or values.get("type") in ("entity", "relation")
        if values.get("type") == "entity":
            names.add(plain(values.get("name")))
        relation = _relation(line)
        if relation is not None:
            relations.setdefault(values.get("from"), []).append(relation)
    if seen and not known:
        raise UserError(
            f"{path} is neither a knowledge graph of {TOOL} (JSON Lines with entities and "
            f"relations) nor a SQLite database of {SERVICE}."
        )
    return names, relations


def _relation(line: JsonLine) -> str | None:
    """Return a complete relation as `works on lighthouse`; else None."""
    values = line.values or {}
    parts = [values.get(name) for name in ("from", "relationType", "to")]
    if values.get("type") != "relation" or not all(isinstance(p, str) and p.strip() for p in parts):
        return None
    return f"{parts[1]} {parts[2]}"


def _entity(
    where: str, raw: dict[str, object], relations: dict[object, list[str]]
) -> ImportedRecord:
    name = plain(raw.get("name"))
    if not name or not name.strip():
        return refuse_record(where, "It has no name.")
    record = Record(where, raw, TOOL, name)
    record.ignore("type")
    record.take(title="name", kind="entityType")
    record.put("text", "\n".join(record.texts("observations")), "observations")
    record.add("details", bullet_list("Relations", relations.get(name, [])))
    return record.finish()


def _lone_relation(where: str, line: JsonLine) -> ImportedRecord:
    """Import a relation that begins at no known entity."""
    raw = line.values or {}
    title = f"{raw['from']} {_relation(line)}"
    record = Record(where, raw, TOOL, title, kind="relation")
    record.ignore("type", "from", "to", "relationType")
    record.put("title", title, "from")
    return record.finish()


# --- the service --------------------------------------------------------------------------------


def _of_service(path: Path) -> Iterator[ImportedRecord]:
    with database(path, SERVICE) as connection:
        require(connection, path, SERVICE, memories=("content_hash", "content"))
        _check_schema(connection, path)
        linked = _linked_hashes(connection)
        # Deleted memories stay in the table for other machines.
        kept = (
            row
            for row in rows(connection, "memories", "id")
            if row.values is None or empty(row.values.get("deleted_at"))
        )
        yield from import_rows(kept, partial(_memory, linked))
        yield from import_rows(rows(connection, "beliefs", "id"), _belief)


def _check_schema(connection: apsw.Connection, path: Path) -> None:
    entries = (row.values or {} for row in rows(connection, "metadata", "key"))
    versions = [values.get("value") for values in entries if values.get("key") == "schema_version"]
    for version in versions:
        if isinstance(version, str) and version.isdecimal() and int(version[:9]) > SCHEMA:
            raise UserError(
                f"{path} has schema {version} of {SERVICE}; those up to {SCHEMA} are supported."
            )


def _linked_hashes(connection: apsw.Connection) -> frozenset[object]:
    """Return the hashes of memories with associations."""
    edges = (row.values or {} for row in rows(connection, "memory_graph", "source_hash"))
    return frozenset(values.get(end) for values in edges for end in ("source_hash", "target_hash"))


def _memory(linked: frozenset[object], where: str, raw: dict[str, object]) -> ImportedRecord:
    hashed = plain(raw.get("content_hash"))
    if not hashed:
        return refuse_record(where, "It has no content_hash.")
    record = Record(where, raw, TOOL, hashed)
    record.ignore("id", "content_hash", "deleted_at", "embedding_pending")
    unsaid = [name for name, value in UNSAID.items() if raw.get(name) == value]
    record.ignore(*unsaid)
    record.put("space", None if "store" in unsaid else record.use("store"), "store")
    record.take(text="content", kind="memory_type")
    tags = record.use("tags")
    record.put("tags", None if tags == NO_TAG else tags, "tags")
    for name in ("created_at", "updated_at"):
        exact, written = record.use(name), record.use(f"{name}_iso")
        record.put(name, written if empty(exact) else exact, name)
    _metadata(record, record.use("metadata"))
    if not empty(raw.get("superseded_by")):
        # The service has not searched it since its last update.
        record.put("valid_until", raw.get("updated_at"), "updated_at")
    if hashed in linked:
        record.leave("memory_graph")
    return record.finish()


def _metadata(record: Record, metadata: object) -> None:
    values = json_object(metadata)
    if not values and not empty(metadata):
        record.leave("metadata")
    for name, value in values.items():
        if name in METADATA:
            record.put(name, value, f"metadata.{name}")
        elif not empty(value):
            record.leave(f"metadata.{name}")


def _belief(where: str, raw: dict[str, object]) -> ImportedRecord:
    """Import a statement that the service derived from several memories."""
    hashed = plain(raw.get("belief_hash"))
    if not hashed:
        return refuse_record(where, "It has no belief_hash.")
    record = Record(where, raw, TOOL, f"belief-{hashed}", kind="belief")
    record.ignore("id", "belief_hash")
    record.take("created_at", "updated_at", text="content")
    if raw.get("status") == "superseded":
        record.put("valid_until", raw.get("updated_at"), "updated_at")
    _metadata(record, record.use("metadata"))
    return record.finish()


IMPORTER = Importer(
    TOOL,
    "the reference server's memory.jsonl, the service's sqlite_vec.db, or the folder of either",
    "https://github.com/modelcontextprotocol/servers/tree/main/src/memory and "
    "https://github.com/doobidoo/mcp-memory-service",
    read,
)
