"""Import MemPalace (https://github.com/MemPalace/mempalace): its drawers and its knowledge graph.

Checked with mempalace 3.11.0. Drawers are in `chroma.sqlite3`, the database of ChromaDB (1.5), or
in `sqlite_exact.sqlite3` if that backend is configured; facts and entities are in
`knowledge_graph.sqlite3`. Closets are an index of the drawers without content.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

import apsw

from recollect import UserError
from recollect.plugin.importers import ImportedRecord, Importer, refuse_record
from recollect.plugins.importers.databases import (
    as_blobs,
    columns,
    database,
    decode_text,
    import_rows,
    pairs,
    require,
    rows,
)
from recollect.plugins.importers.files import json_object, require_path
from recollect.plugins.importers.records import Record, empty, end_of_day, plain

NAME = "mempalace"
# Possible places of the files below the given folder.
FOLDERS = ("", "palace")
# Other collections: an index, and pictures.
OTHERS = ("mempalace_closets", "mempalace_assets")
PARENTS = ("parent_drawer_id", "parent_entry_id")
# Names that mean "no person".
NO_PERSON = ("mcp", "mempalace")
# Keys about ids, files and splitting, not content of a drawer.
BOOKKEEPING = (
    "id_recipe", "normalize_version", "convo_chunker_version", "source_mtime", "source_dir_ino",
    "content_hash", "content_date_source", "chunk_index", "chunk_total", "date", *PARENTS,
)  # fmt: skip
# ChromaDB keeps values in a column for each type; the last one came later.
VALUES = ("string_value", "int_value", "float_value", "bool_value")
WRITTEN = ("authored_at", "timestamp", "content_date", "filed_at")


class Drawer(NamedTuple):
    where: str
    id: str
    text: object
    about: Mapping[str, object]


def read(path: Path) -> Iterator[ImportedRecord]:
    """Yield drawers first, then entities and facts."""
    if not require_path(path).is_dir():
        return _file(path)
    places = [path / folder / name for name in READERS for folder in FOLDERS]
    files = [file for file in places if file.is_file() and not file.is_symlink()]
    if not files:
        raise UserError(f"{path} holds no palace: none of {', '.join(READERS)}.")
    return (taken for file in files for taken in READERS[file.name](file))


def _file(path: Path) -> Iterator[ImportedRecord]:
    """Yield the records of one file; its tables tell its type."""
    with database(path, NAME) as connection:
        reader = next((TABLES[name] for name in TABLES if columns(connection, name)), None)
    if reader is not None:
        return reader(path)
    raise UserError(f"{path} has no MemPalace memories: none of the tables {', '.join(TABLES)}.")


# --- drawers ------------------------------------------------------------------------------------


def _chroma(file: Path) -> Iterator[ImportedRecord]:
    with database(file, NAME) as connection:
        require(
            connection, file, NAME,
            collections=("id", "name"), segments=("id", "collection"),
            embeddings=("id", "segment_id", "embedding_id"),
            embedding_metadata=("id", "key", "string_value", "int_value", "float_value"),
        )  # fmt: skip
        _check(connection, file)
        yield from _drawers(_chroma_drawers(connection))


def _check(connection: apsw.Connection, file: Path) -> None:
    """Refuse databases of other programs that use ChromaDB; the collection may have any name."""
    named = "SELECT 1 FROM collections WHERE name LIKE 'mempalace%'"
    filed = "SELECT 1 FROM embedding_metadata WHERE key = 'wing'"
    if not any(connection.execute(f"{sql} LIMIT 1").fetchall() for sql in (named, filed)):
        raise UserError(f"{file} is a database of ChromaDB, but not one of {NAME}.")


def _chroma_drawers(connection: apsw.Connection) -> Iterator[Drawer | ImportedRecord]:
    names = pairs(connection, "collections", "id", "name")
    segments = pairs(connection, "segments", "id", "collection")
    for row in rows(connection, "embeddings", "id", without=("seq_id",)):
        if row.values is None:
            yield refuse_record(row.where, row.reason)
        elif names.get(segments.get(row.values["segment_id"])) not in OTHERS:
            about = _metadata(connection, row.values["id"])
            text = about.pop("chroma:document", None)
            yield Drawer(row.where, str(row.values["embedding_id"]), text, about)


def _metadata(connection: apsw.Connection, id: object) -> dict[str, object]:
    """Return the metadata of one entry, by key; texts that are not UTF-8 stay bytes."""
    there = columns(connection, "embedding_metadata")
    asked = as_blobs(name for name in ("key", *VALUES) if name in there)
    rows = connection.execute(
        f"SELECT {asked} FROM embedding_metadata WHERE id IS ? ORDER BY rowid",
        (id if isinstance(id, int) else None,),
    )
    about: dict[str, object] = {}
    for key, *several in rows:
        value = next((value for value in several if value is not None), None)
        about[str(decode_text(key))] = decode_text(value)
    return about


def _exact(file: Path) -> Iterator[ImportedRecord]:
    with database(file, NAME) as connection:
        needed = ("collection_id", "id", "document", "metadata_json")
        require(connection, file, NAME, collections=("id", "name"), documents=needed)
        yield from _drawers(_exact_drawers(connection))


def _exact_drawers(connection: apsw.Connection) -> Iterator[Drawer | ImportedRecord]:
    names = pairs(connection, "collections", "id", "name")
    for row in rows(connection, "documents", "rowid", without=("embedding",)):
        if row.values is None:
            yield refuse_record(row.where, row.reason)
        elif names.get(row.values["collection_id"]) not in OTHERS:
            about = json_object(row.values["metadata_json"])
            yield Drawer(row.where, str(row.values["id"]), row.values["document"], about)


def _drawers(found: Iterator[Drawer | ImportedRecord]) -> Iterator[ImportedRecord]:
    """Yield a record for each drawer; the rows of a long one are joined, and come at the end."""
    parts: dict[str, list[Drawer]] = {}
    for drawer in found:
        if isinstance(drawer, ImportedRecord):
            yield drawer
        elif parent := _parent(drawer):
            parts.setdefault(parent, []).append(drawer)
        elif not _is_note(drawer):
            yield _drawer(drawer)
    for parent, several in parts.items():
        several.sort(key=_place)
        text = "".join(str(plain(part.text) or "") for part in several)
        yield _drawer(several[0]._replace(id=parent, text=text), whole=True)


def _parent(drawer: Drawer) -> str:
    return next((str(drawer.about[name]) for name in PARENTS if drawer.about.get(name)), "")


def _place(drawer: Drawer) -> float:
    number = drawer.about.get("chunk_index")
    return number if isinstance(number, int | float) else 0


def _is_note(drawer: Drawer) -> bool:
    """Return True for a row in which the miner notes what it has read."""
    about = drawer.about
    noted = about.get("room") == "_registry" or about.get("ingest_mode") == "registry"
    return noted or bool(about.get("is_sentinel"))


def _drawer(drawer: Drawer, *, whole: bool = False) -> ImportedRecord:
    record = Record(drawer.where, drawer.about, NAME, drawer.id)
    record.ignore(*BOOKKEEPING)
    record.put("text", drawer.text, "document")
    record.take(kind="type", project="wing", domain="room", path="source_file")
    _tags(record)
    for name in ("added_by", "agent"):
        if (value := record.use(name)) not in NO_PERSON:
            record.put("source", value, name)
    if not whole:
        _part(record, drawer.about)
    _times(record)
    return record.finish()


def _tags(record: Record) -> None:
    """Take tags from the drawer's entities, hall and topic, except `general`."""
    entities = record.use("entities")
    record.put("tags", entities.split(";") if isinstance(entities, str) else entities, "entities")
    for name in ("hall", "topic"):
        value = record.use(name)
        text = value.removeprefix("hall_") if isinstance(value, str) else value
        record.put("tags", [] if text == "general" or empty(text) else [text], name)


def _part(record: Record, about: Mapping[str, object]) -> None:
    """Add the drawer's place in its file."""
    number, total = about.get("chunk_index"), about.get("chunk_total")
    if isinstance(number, int) and isinstance(total, int) and total > 1:
        record.add("context", f"Part {number + 1} of {total}")
    first, last = record.use("line_start"), record.use("line_end")
    if isinstance(first, int) and isinstance(last, int):
        record.add("context", f"Lines {first} to {last}")


def _times(record: Record) -> None:
    """Set the time of writing, which may be long before it was filed."""
    times = [(name, record.use(name)) for name in WRITTEN]
    for name, value in times:
        if not record.has("created_at"):
            record.put("created_at", value, name)
    record.take(updated_at="last_modified")


# --- the knowledge graph ------------------------------------------------------------------------


def _graph(file: Path) -> Iterator[ImportedRecord]:
    with database(file, NAME) as connection:
        require(connection, file, NAME, triples=("id", "subject", "predicate", "object"))
        names: dict[object, object] = {}
        if "name" in columns(connection, "entities"):
            for row in rows(connection, "entities", "id"):
                if row.values is None:
                    yield refuse_record(row.where, row.reason)
                    continue
                names[row.values["id"]] = row.values["name"]
                yield from _entity(row.where, row.values)
        yield from import_rows(rows(connection, "triples", "rowid"), partial(_fact, names))


def _entity(where: str, raw: Mapping[str, object]) -> Iterator[ImportedRecord]:
    """Yield the record of an entity that has more than a name; the others are in the facts."""
    known = {} if raw.get("type") in ("unknown", None, "") else {"type": raw["type"]}
    known |= json_object(raw.get("properties"))
    if not known:
        return
    record = Record(where, raw, NAME, f"entity-{raw['id']}", kind="entity")
    record.ignore("id", "type", "properties")
    record.take("created_at", title="name")
    for name, value in known.items():
        if (text := plain(value)) is None:
            record.leave(f"properties.{name}")
        else:
            record.add("text", f"{name}: {text}")
    yield record.finish()


def _fact(names: Mapping[object, object], where: str, raw: Mapping[str, object]) -> ImportedRecord:
    record = Record(where, raw, NAME, str(raw["id"]), kind="relation")
    both = [record.use(name) for name in ("subject", "object")]
    ends = [plain(names.get(end, end)) or "" for end in both]
    relation = (plain(record.use("predicate")) or "").replace("_", " ")
    if not all((*ends, relation)):
        return refuse_record(where, "It lacks its subject, its predicate or its object.")
    record.put("text", f"{ends[0]} {relation} {ends[1]}", "")
    record.put("tags", ends, "")
    record.take("valid_from", path="source_file", created_at="extracted_at")
    record.put("valid_until", end_of_day(record.use("valid_to")), "valid_to")
    record.ignore("id")
    if raw.get("confidence") == 1:
        record.ignore("confidence")
    return record.finish()


READERS: dict[str, Callable[[Path], Iterator[ImportedRecord]]] = {
    "chroma.sqlite3": _chroma,
    "sqlite_exact.sqlite3": _exact,
    "knowledge_graph.sqlite3": _graph,
}
TABLES = {"embedding_metadata": _chroma, "documents": _exact, "triples": _graph}
IMPORTER = Importer(
    NAME,
    "the folder of MemPalace (~/.mempalace), of one palace, or one of their databases",
    "https://github.com/MemPalace/mempalace, mempalace/miner.py and mempalace/knowledge_graph.py",
    read,
)
