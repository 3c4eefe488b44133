"""Import mem0 (https://github.com/mem0ai/mem0): its local files, or its JSON.

Checked with mem0ai 2.2.1. Three things can be read: JSON from `Memory.get_all()` or the platform's
API, with every field; the local vector store (`collection/*/storage.sqlite`, written by the local
mode of qdrant-client), with every field as well; and `history.db`, which has the texts and times of
memories, but neither their users nor their metadata.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from recollect import UserError
from recollect.plugin.importers import ImportedRecord, Importer, refuse_record
from recollect.plugins.importers.databases import columns, database, is_database, rows
from recollect.plugins.importers.files import json_file, json_list, require_path
from recollect.plugins.importers.pickles import Made, NotData, read_pickle
from recollect.plugins.importers.records import Record, empty, end_of_day

NAME = "mem0"
HISTORY = "history.db"
POINTS = "storage.sqlite"
# Possible places of the vector store below the given folder.
STORES = (POINTS, f"collection/*/{POINTS}", f"qdrant/collection/*/{POINTS}")
# Other collections: names that occur in memories, and the tool's users.
OTHERS = ("_entities", "mem0migrations")
# Keys of the list of memories in a saved API response.
LISTS = ("results", "memories")
HOW = "JSON of get_all(), history.db, or the folder of the local vector store"


def read(path: Path) -> Iterator[ImportedRecord]:
    """Yield every memory that was not deleted."""
    if not require_path(path).is_dir():
        return _file(path)
    stores = [
        file for pattern in STORES for file in sorted(path.glob(pattern)) if _has_memories(file)
    ]
    if stores:
        return (taken for file in stores for taken in _points(file))
    if (path / HISTORY).is_file():
        return _history(path / HISTORY)
    raise UserError(f"{path} holds neither {HISTORY} nor a local vector store of {NAME}.")


def _has_memories(file: Path) -> bool:
    """Return True if the store has memories, and no link leads to it."""
    places = (file, file.parent)
    linked = any(place.is_symlink() for place in places)
    return not linked and not file.parent.name.endswith(OTHERS)


def _file(path: Path) -> Iterator[ImportedRecord]:
    if not path.is_file():
        raise UserError(f"{path} is not a file; {NAME} gives {HOW}.")
    if not is_database(path):
        return _json(path)
    with database(path, NAME) as connection:
        if "point" in columns(connection, "points"):
            return _points(path)
        if "memory_id" in columns(connection, "history"):
            return _history(path)
    raise UserError(
        f"{path} is not a database of {NAME}: it has neither a table 'history' nor 'points'."
    )


# --- JSON ---------------------------------------------------------------------------------------


def _json(path: Path) -> Iterator[ImportedRecord]:
    value = json_file(path)
    if isinstance(value, dict):
        value = next((value[name] for name in LISTS if name in value), value)
    if not isinstance(value, list):
        raise UserError(f"{path} holds no list of memories, such as get_all() of {NAME} gives.")
    return (_from_json(f"memory {number}", raw) for number, raw in enumerate(value, start=1))


def _from_json(where: str, raw: object) -> ImportedRecord:
    if not isinstance(raw, dict):
        return refuse_record(where, "It is not a JSON object.")
    flat = {name: value for name, value in raw.items() if name != "metadata"}
    more = raw.get("metadata")
    if isinstance(more, dict):
        flat = {f"metadata.{name}": value for name, value in more.items()} | flat
    elif not empty(more):
        flat["metadata"] = more
    return _memory(where, flat, "memory", "metadata.")


# --- the vector store ---------------------------------------------------------------------------


def _points(file: Path) -> Iterator[ImportedRecord]:
    with database(file, NAME) as connection:
        if "point" not in columns(connection, "points"):
            raise UserError(f"{file} is not a vector store of {NAME}: it has no table 'points'.")
        for row in rows(connection, "points", "rowid"):
            where = f"{file.parent.name}, {row.where.removeprefix('points, ')}"
            if row.values is None:
                yield refuse_record(where, row.reason)
            else:
                yield _point(where, row.values["point"])


def _point(where: str, raw: object) -> ImportedRecord:
    """Import a point. It is pickled, and a pickle is a program: it is read without running it."""
    try:
        whole = read_pickle(raw) if isinstance(raw, bytes) else None
    except NotData as error:
        return refuse_record(where, f"It cannot be read: {error}")
    state = whole.state if isinstance(whole, Made) else None
    point = state.get("__dict__") if isinstance(state, dict) else None
    payload = point.get("payload") if isinstance(point, dict) else None
    if not isinstance(point, dict) or not isinstance(payload, dict):
        return refuse_record(where, "It is not a point of qdrant.")
    named = {str(name): value for name, value in payload.items()}
    return _memory(where, named | {"id": point.get("id")}, "data", "")


# --- the history --------------------------------------------------------------------------------


def _history(file: Path) -> Iterator[ImportedRecord]:
    """Yield each memory after its last change, in the order of creation."""
    last: dict[str, tuple[str, Mapping[str, object]]] = {}
    with database(file, NAME) as connection:
        if "memory_id" not in columns(connection, "history"):
            raise UserError(f"{file} is not a database of {NAME}: it has no table 'history'.")
        for row in rows(connection, "history", "rowid"):
            if row.values is None:
                yield refuse_record(row.where, row.reason)
            elif isinstance(id := row.values.get("memory_id"), str) and id:
                last[id] = (row.where, row.values)
            else:
                yield refuse_record(row.where, "It has no memory_id.")
    for id, (where, values) in last.items():
        if values.get("event") != "DELETE" and not values.get("is_deleted"):
            rest = {name: values[name] for name in values if name not in ("id", "memory_id")}
            yield _memory(where, rest | {"id": id}, "new_memory", "")


# --- one memory ---------------------------------------------------------------------------------


def _memory(where: str, raw: Mapping[str, object], text: str, extra: str) -> ImportedRecord:
    """Import a memory. `text`: the key of its text; `extra`: the prefix of metadata's keys."""
    id = raw.get("id")
    if empty(id) or not isinstance(id, str | int):
        return refuse_record(where, "It has no id.")
    record = Record(where, raw, NAME, str(id))
    record.ignore("id", "hash", "text_lemmatized", "score", "event", "old_memory", "is_deleted")
    record.take(text=text, space="user_id", source="agent_id", project="app_id")
    for name in ("categories", f"{extra}categories", f"{extra}category", f"{extra}tags"):
        value = record.use(name)
        record.put("tags", json_list(value) or value, name)
    record.take("created_at", "updated_at")
    record.put("valid_until", end_of_day(record.use("expiration_date")), "expiration_date")
    return record.finish()


IMPORTER = Importer(
    NAME,
    HOW,
    "https://github.com/mem0ai/mem0, mem0/memory/main.py and mem0/memory/storage.py",
    read,
)
