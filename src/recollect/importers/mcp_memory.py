"""Two tools that go by the name of MCP memory; the file tells which one wrote it.

The knowledge graph of the reference server, JSON Lines: `src/memory/index.ts` of
github.com/modelcontextprotocol/servers. The SQLite database of mcp-memory-service, schema up to 19:
`storage/mixins/migrations.py` and `storage/migrations` of github.com/doobidoo/mcp-memory-service.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw

from recollect.errors import UserError
from recollect.importers.base import Importer, Taken
from recollect.importers.databases import Row, database, require, rows
from recollect.importers.files import Line, json_lines, json_object, present
from recollect.importers.records import Piece, empty, foreign_id, listed, once, plain

TOOL = "mcp-memory"
SERVICE = "mcp-memory-service"
# In this order: the service's database is never beside a graph by accident.
FILES = ("sqlite_vec.db", "memory.jsonl", "memory.json")
SQLITE = b"SQLite format 3\0"
SCHEMA = 19
# What the service puts where nothing was given.
NO_TAG = "untagged"
UNSAID: dict[str, object] = {"version": 1, "confidence": 1.0, "store": "default"}
# Entries of the service's free metadata that mean the same as a field.
METADATA = ("title", "project", "source")


def read(path: Path) -> Iterator[Taken]:
    file = _file(present(path))
    return once(_of_service(file) if _is_database(file) else _of_graph(file))


def _file(path: Path) -> Path:
    if not path.is_dir():
        return path
    for name in FILES:
        if (path / name).is_file():
            return path / name
    raise UserError(f"{path} is not of {TOOL}: it has none of {', '.join(FILES)}.")


def _is_database(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            return stream.read(len(SQLITE)) == SQLITE
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}.") from error


# --- the knowledge graph ------------------------------------------------------------------------


def _of_graph(path: Path) -> Iterator[Taken]:
    """Each entity with the relations that begin at it; those that begin nowhere on their own."""
    names, relations = _surveyed(path)
    for line in json_lines(path):
        where = f"{path.name}, line {line.number}"
        kind = line.values and line.values.get("type")
        if line.values is None:
            yield Taken(where, None, line.reason)
        elif kind == "entity":
            yield _entity(where, line.values, relations)
        elif kind != "relation":
            yield Taken(where, None, "It is neither an entity nor a relation.")
        elif _said(line) is None:
            yield Taken(where, None, "It does not say what it relates.")
        elif line.values.get("from") not in names:
            yield _lone(where, line)


def _surveyed(path: Path) -> tuple[set[object], dict[object, list[str]]]:
    """The names of all entities, and what the relations say by where they begin: they stand last in
    the file."""
    names: set[object] = set()
    relations: dict[object, list[str]] = {}
    known = seen = False
    for line in json_lines(path):
        seen = True
        values = line.values or {}
        known = known or values.get("type") in ("entity", "relation")
        if values.get("type") == "entity":
            names.add(plain(values.get("name")))
        said = _said(line)
        if said is not None:
            relations.setdefault(values.get("from"), []).append(said)
    if seen and not known:
        raise UserError(
            f"{path} is not of {TOOL}: it is neither a knowledge graph (JSON Lines with entities "
            f"and relations) nor a SQLite database of {SERVICE}."
        )
    return names, relations


def _said(line: Line) -> str | None:
    """`works on lighthouse`, for a relation that is whole."""
    values = line.values or {}
    parts = [values.get(name) for name in ("from", "relationType", "to")]
    if values.get("type") != "relation" or not all(isinstance(p, str) and p.strip() for p in parts):
        return None
    return f"{parts[1]} {parts[2]}"


def _entity(where: str, raw: dict[str, object], relations: dict[object, list[str]]) -> Taken:
    name = plain(raw.get("name"))
    if not name or not name.strip():
        return Taken(where, None, "It has no name.")
    piece = Piece(where, raw, foreign_id(TOOL, name), TOOL)
    piece.ignore("type")
    piece.take("title", "name")
    piece.take("kind", "entityType")
    piece.put("text", "\n".join(piece.texts("observations")), "observations")
    piece.add("details", listed("Relations", relations.get(name, [])))
    return piece.taken()


def _lone(where: str, line: Line) -> Taken:
    """A relation whose beginning is not described anywhere."""
    raw = line.values or {}
    title = f"{raw['from']} {_said(line)}"
    piece = Piece(where, raw, foreign_id(TOOL, title), TOOL)
    piece.ignore("type", "from", "to", "relationType")
    piece.put("title", title, "from")
    piece.put("kind", "relation", "type")
    return piece.taken()


# --- the service --------------------------------------------------------------------------------


def _of_service(path: Path) -> Iterator[Taken]:
    with database(path, SERVICE) as connection:
        require(connection, path, SERVICE, memories=("content_hash", "content"))
        _check_schema(connection, path)
        linked = _linked(connection)
        for row in rows(connection, "memories", "id"):
            if row.values is None:
                yield Taken(row.where, None, row.reason)
            # A deleted memory stays as a mark for other machines.
            elif empty(row.values.get("deleted_at")):
                yield _memory(row.where, row.values, linked)
        for row in rows(connection, "beliefs", "id"):
            yield _belief(row)


def _check_schema(connection: apsw.Connection, path: Path) -> None:
    held = (row.values or {} for row in rows(connection, "metadata", "key"))
    versions = [values.get("value") for values in held if values.get("key") == "schema_version"]
    for version in versions:
        if isinstance(version, str) and version.isdecimal() and int(version[:9]) > SCHEMA:
            raise UserError(
                f"{path} has schema {version} of {SERVICE}; known here are those up to {SCHEMA}."
            )


def _linked(connection: apsw.Connection) -> frozenset[object]:
    """The hashes of memories that others are associated with."""
    held = (row.values or {} for row in rows(connection, "memory_graph", "source_hash"))
    return frozenset(values.get(end) for values in held for end in ("source_hash", "target_hash"))


def _memory(where: str, raw: dict[str, object], linked: frozenset[object]) -> Taken:
    hashed = plain(raw.get("content_hash"))
    if not hashed:
        return Taken(where, None, "It has no content_hash.")
    piece = Piece(where, raw, foreign_id(TOOL, hashed), TOOL)
    piece.ignore("id", "content_hash", "deleted_at", "embedding_pending")
    unsaid = [name for name, value in UNSAID.items() if raw.get(name) == value]
    piece.ignore(*unsaid)
    piece.put("space", None if "store" in unsaid else piece.use("store"), "store")
    piece.take("text", "content")
    piece.take("kind", "memory_type")
    tags = piece.use("tags")
    piece.put("tags", None if tags == NO_TAG else tags, "tags")
    for name in ("created_at", "updated_at"):
        exact, written = piece.use(name), piece.use(f"{name}_iso")
        piece.put(name, written if empty(exact) else exact, name)
    _metadata(piece, piece.use("metadata"))
    if not empty(raw.get("superseded_by")):
        # The service searches it no more; when that began is the last that it tells of it.
        piece.put("valid_until", raw.get("updated_at"), "updated_at")
    if hashed in linked:
        piece.leave("memory_graph")
    return piece.taken()


def _metadata(piece: Piece, told: object) -> None:
    held = json_object(told)
    if not held and not empty(told):
        piece.leave("metadata")
    for name, value in held.items():
        if name in METADATA:
            piece.put(name, value, f"metadata.{name}")
        elif not empty(value):
            piece.leave(f"metadata.{name}")


def _belief(row: Row) -> Taken:
    """What the service derived from several memories."""
    raw = row.values
    hashed = raw and plain(raw.get("belief_hash"))
    if raw is None or not hashed:
        return Taken(row.where, None, row.reason or "It has no belief_hash.")
    piece = Piece(row.where, raw, foreign_id(TOOL, f"belief-{hashed}"), TOOL)
    piece.ignore("id", "belief_hash")
    piece.take("text", "content")
    piece.put("kind", "belief", "kind")
    piece.take("created_at", "created_at")
    piece.take("updated_at", "updated_at")
    if raw.get("status") == "superseded":
        piece.put("valid_until", raw.get("updated_at"), "updated_at")
    _metadata(piece, piece.use("metadata"))
    return piece.taken()


IMPORTER = Importer(
    TOOL,
    "the reference server's memory.jsonl, the service's sqlite_vec.db, or the folder of either",
    "https://github.com/modelcontextprotocol/servers/tree/main/src/memory and "
    "https://github.com/doobidoo/mcp-memory-service",
    read,
)
