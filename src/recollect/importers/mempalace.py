"""MemPalace (https://github.com/MemPalace/mempalace): a palace of drawers, and its knowledge graph.

Checked with mempalace 3.11.0. Drawers lie in `chroma.sqlite3`, the database of ChromaDB (1.5), or
in `sqlite_exact.sqlite3` where that backend is configured; facts and entities lie in
`knowledge_graph.sqlite3`. Closets are an index of the drawers and say nothing of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import apsw

from recollect.errors import UserError
from recollect.importers.base import Importer, Taken
from recollect.importers.databases import columns, database, require, rows
from recollect.importers.days import end_of_day
from recollect.importers.files import json_object, present
from recollect.importers.records import Piece, empty, foreign_id, plain

NAME = "mempalace"
# Where the files may be below the folder that was given.
FOLDERS = ("", "palace")
# Collections beside the drawers: an index, and pictures.
BESIDE = ("mempalace_closets", "mempalace_assets")
PARENTS = ("parent_drawer_id", "parent_entry_id")
# Who files what nobody claims.
NOBODY = ("mcp", "mempalace")
# Which rule made an id, where a file lay, which version cut it: nothing that a drawer says.
BOOKKEEPING = (
    "id_recipe", "normalize_version", "convo_chunker_version", "source_mtime", "source_dir_ino",
    "content_hash", "content_date_source", "chunk_index", "chunk_total", "date", *PARENTS,
)  # fmt: skip
# Where ChromaDB keeps values, each type in a column; the last one came later.
VALUES = ("string_value", "int_value", "float_value", "bool_value")
WRITTEN = ("authored_at", "timestamp", "content_date", "filed_at")


class Drawer(NamedTuple):
    where: str
    id: str
    text: object
    about: Mapping[str, object]


def read(path: Path) -> Iterator[Taken]:
    """Drawers first, then entities and facts."""
    if not present(path).is_dir():
        return _file(path)
    places = [path / folder / name for name in READERS for folder in FOLDERS]
    files = [file for file in places if file.is_file() and not file.is_symlink()]
    if not files:
        raise UserError(f"{path} holds no palace: none of {', '.join(READERS)}.")
    return (taken for file in files for taken in READERS[file.name](file))


def _file(path: Path) -> Iterator[Taken]:
    """Which of the files it is, its tables tell."""
    with database(path, NAME) as connection:
        reader = next((TABLES[name] for name in TABLES if columns(connection, name)), None)
    if reader is not None:
        return reader(path)
    raise UserError(f"{path} is not of {NAME}: it has none of the tables {', '.join(TABLES)}.")


# --- drawers ------------------------------------------------------------------------------------


def _chroma(file: Path) -> Iterator[Taken]:
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
    """Other programs use ChromaDB as well, and the collection may have any name."""
    named = "SELECT 1 FROM collections WHERE name LIKE 'mempalace%'"
    filed = "SELECT 1 FROM embedding_metadata WHERE key = 'wing'"
    if not any(connection.execute(f"{sql} LIMIT 1").fetchall() for sql in (named, filed)):
        raise UserError(f"{file} is a database of ChromaDB, but not one of {NAME}.")


def _chroma_drawers(connection: apsw.Connection) -> Iterator[Drawer | Taken]:
    names = {row.values["id"]: row.values["name"] for row in rows(connection, "collections", "id")
             if row.values}  # fmt: skip
    segments = {row.values["id"]: names.get(row.values["collection"])
                for row in rows(connection, "segments", "id") if row.values}  # fmt: skip
    for row in rows(connection, "embeddings", "id", without=("seq_id",)):
        if row.values is None:
            yield Taken(row.where, None, row.reason)
        elif segments.get(row.values["segment_id"]) not in BESIDE:
            about = _metadata(connection, row.values["id"])
            text = about.pop("chroma:document", None)
            yield Drawer(row.where, str(row.values["embedding_id"]), text, about)


def _metadata(connection: apsw.Connection, id: object) -> dict[str, object]:
    """What ChromaDB keeps of one entry, by key; texts that are not UTF-8 stay bytes."""
    there = columns(connection, "embedding_metadata")
    asked = ", ".join(
        f"CASE typeof({name}) WHEN 'text' THEN CAST({name} AS BLOB) ELSE {name} END"
        for name in ("key", *VALUES)
        if name in there
    )
    found = connection.execute(
        f"SELECT {asked} FROM embedding_metadata WHERE id IS ? ORDER BY rowid",
        (id if isinstance(id, int) else None,),
    )
    about: dict[str, object] = {}
    for key, *several in found:
        value = next((one for one in several if one is not None), None)
        about[str(_decoded(key))] = _decoded(value)
    return about


def _decoded(value: object) -> object:
    try:
        return value.decode() if isinstance(value, bytes) else value
    except UnicodeDecodeError:
        return value


def _exact(file: Path) -> Iterator[Taken]:
    with database(file, NAME) as connection:
        needed = ("collection_id", "id", "document", "metadata_json")
        require(connection, file, NAME, collections=("id", "name"), documents=needed)
        yield from _drawers(_exact_drawers(connection))


def _exact_drawers(connection: apsw.Connection) -> Iterator[Drawer | Taken]:
    names = {row.values["id"]: row.values["name"] for row in rows(connection, "collections", "id")
             if row.values}  # fmt: skip
    for row in rows(connection, "documents", "rowid", without=("embedding",)):
        if row.values is None:
            yield Taken(row.where, None, row.reason)
        elif names.get(row.values["collection_id"]) not in BESIDE:
            about = json_object(row.values["metadata_json"])
            yield Drawer(row.where, str(row.values["id"]), row.values["document"], about)


def _drawers(found: Iterator[Drawer | Taken]) -> Iterator[Taken]:
    """One piece a drawer. A long one was cut into several rows, which follow at the end."""
    parts: dict[str, list[Drawer]] = {}
    for one in found:
        if isinstance(one, Taken):
            yield one
        elif parent := _parent(one):
            parts.setdefault(parent, []).append(one)
        elif not _is_note(one):
            yield _drawer(one)
    for parent, several in parts.items():
        several.sort(key=_place)
        text = "".join(str(plain(one.text) or "") for one in several)
        yield _drawer(several[0]._replace(id=parent, text=text), cut=False)


def _parent(drawer: Drawer) -> str:
    return next((str(drawer.about[name]) for name in PARENTS if drawer.about.get(name)), "")


def _place(drawer: Drawer) -> float:
    number = drawer.about.get("chunk_index")
    return number if isinstance(number, int | float) else 0


def _is_note(drawer: Drawer) -> bool:
    """Rows by which the miner remembers what it has read."""
    about = drawer.about
    noted = about.get("room") == "_registry" or about.get("ingest_mode") == "registry"
    return noted or bool(about.get("is_sentinel"))


def _drawer(drawer: Drawer, *, cut: bool = True) -> Taken:
    piece = Piece(drawer.where, drawer.about, foreign_id(NAME, drawer.id), NAME)
    piece.ignore(*BOOKKEEPING)
    piece.put("text", drawer.text, "document")
    piece.take("kind", "type")
    piece.take("project", "wing")
    piece.take("domain", "room")
    piece.take("path", "source_file")
    _tags(piece)
    for name in ("added_by", "agent"):
        if (value := piece.use(name)) not in NOBODY:
            piece.put("source", value, name)
    if cut:
        _part(piece, drawer.about)
    _times(piece)
    return piece.taken()


def _tags(piece: Piece) -> None:
    """Whom it is about, and what it was filed under; `general` is what fits nowhere."""
    entities = piece.use("entities")
    piece.put("tags", entities.split(";") if isinstance(entities, str) else entities, "entities")
    for name in ("hall", "topic"):
        value = piece.use(name)
        text = value.removeprefix("hall_") if isinstance(value, str) else value
        piece.put("tags", [] if text == "general" or empty(text) else [text], name)


def _part(piece: Piece, about: Mapping[str, object]) -> None:
    """Which piece of its file a drawer is."""
    number, total = about.get("chunk_index"), about.get("chunk_total")
    if isinstance(number, int) and isinstance(total, int) and total > 1:
        piece.add("context", f"Part {number + 1} of {total}")
    first, last = piece.use("line_start"), piece.use("line_end")
    if isinstance(first, int) and isinstance(last, int):
        piece.add("context", f"Lines {first} to {last}")


def _times(piece: Piece) -> None:
    """When it was written, which may be long before it was filed."""
    times = [(name, piece.use(name)) for name in WRITTEN]
    for name, value in times:
        if not piece.has("created_at"):
            piece.put("created_at", value, name)
    piece.take("updated_at", "last_modified")


# --- the knowledge graph ------------------------------------------------------------------------


def _graph(file: Path) -> Iterator[Taken]:
    with database(file, NAME) as connection:
        require(connection, file, NAME, triples=("id", "subject", "predicate", "object"))
        names: dict[object, object] = {}
        if "name" in columns(connection, "entities"):
            for row in rows(connection, "entities", "id"):
                if row.values is None:
                    yield Taken(row.where, None, row.reason)
                    continue
                names[row.values["id"]] = row.values["name"]
                yield from _entity(row.where, row.values)
        for row in rows(connection, "triples", "rowid"):
            if row.values is None:
                yield Taken(row.where, None, row.reason)
            else:
                yield _fact(row.where, row.values, names)


def _entity(where: str, raw: Mapping[str, object]) -> Iterator[Taken]:
    """An entity of which more than its name is known; the others are in the facts."""
    known = {} if raw.get("type") in ("unknown", None, "") else {"type": raw["type"]}
    known |= json_object(raw.get("properties"))
    if not known:
        return
    piece = Piece(where, raw, foreign_id(NAME, f"entity-{raw['id']}"), NAME)
    piece.ignore("id", "type", "properties")
    piece.put("kind", "entity", "")
    piece.take("title", "name")
    for name, value in known.items():
        if (text := plain(value)) is None:
            piece.leave(f"properties.{name}")
        else:
            piece.add("text", f"{name}: {text}")
    piece.take("created_at", "created_at")
    yield piece.taken()


def _fact(where: str, raw: Mapping[str, object], names: Mapping[object, object]) -> Taken:
    piece = Piece(where, raw, foreign_id(NAME, str(raw["id"])), NAME)
    both = [piece.use(name) for name in ("subject", "object")]
    ends = [plain(names.get(end, end)) or "" for end in both]
    relation = (plain(piece.use("predicate")) or "").replace("_", " ")
    if not all((*ends, relation)):
        return Taken(where, None, "It lacks its subject, its predicate or its object.")
    piece.put("text", f"{ends[0]} {relation} {ends[1]}", "")
    piece.put("kind", "relation", "")
    piece.put("tags", ends, "")
    piece.take("path", "source_file")
    piece.take("created_at", "extracted_at")
    piece.take("valid_from", "valid_from")
    piece.put("valid_until", end_of_day(piece.use("valid_to")), "valid_to")
    piece.ignore("id")
    if raw.get("confidence") == 1:
        piece.ignore("confidence")
    return piece.taken()


READERS: dict[str, Callable[[Path], Iterator[Taken]]] = {
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
