"""Import `claude-mem.db`, the database of claude-mem (https://github.com/thedotmack/claude-mem).

The tables are those of `SessionStore` in claude-mem 13.25.3 (schema 52); older files with fewer
columns are read as well. Observations, summaries of sessions and the user's prompts become
memories; sessions only give a title and a project.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import apsw

from recollect import UserError
from recollect.plugin.importers import ImportedRecord, Importer
from recollect.plugins.importers.databases import columns, database, import_rows, require, rows
from recollect.plugins.importers.files import json_list, require_path
from recollect.plugins.importers.records import Record, bullet_list, empty, plain

NAME = "claude-mem"
FILE = "claude-mem.db"
NEWEST = 52
TABLES = {"observations": "observation", "session_summaries": "summary", "user_prompts": "prompt"}
NEEDED = ("id", "type", "title", "narrative", "created_at_epoch")
# Numbers that mean "none" where they are zero.
COUNTS = ("discovery_tokens", "relevance_count")
# State of synchronization, not content.
BOOKKEEPING = ("id", "content_hash", "synced_at", "sync_rev", "origin_device_id", "origin_local_id")

Sessions = Mapping[object, Mapping[str, object]]


def read(path: Path) -> Iterator[ImportedRecord]:
    """Yield every observation, summary and prompt, in the order in which they were written."""
    file = require_path(path) / FILE if path.is_dir() else path
    with database(file, NAME) as connection:
        _check(connection, file)
        sessions = _sessions(connection)
        for table, sort in TABLES.items():
            yield from import_rows(rows(connection, table, "id"), partial(_record, sessions, sort))


def _check(connection: apsw.Connection, file: Path) -> None:
    """Refuse a database that lacks a needed column; a newer schema that only adds some is fine."""
    try:
        require(connection, file, NAME, observations=NEEDED)
    except UserError as error:
        version = _version(connection)
        if version is None or version <= NEWEST:
            raise
        raise UserError(
            f"{file} is of a newer {NAME}: its schema is {version}, and those up to {NEWEST} are "
            "supported."
        ) from error


def _version(connection: apsw.Connection) -> int | None:
    if "version" not in columns(connection, "schema_versions"):
        return None
    newest = connection.execute(
        "SELECT max(version) FROM schema_versions WHERE typeof(version) = 'integer'"
    ).get
    return newest if isinstance(newest, int) else None


def _sessions(connection: apsw.Connection) -> Sessions:
    """Return the sessions by each of their ids, since rows may refer to any of them."""
    sessions: dict[object, Mapping[str, object]] = {}
    if "id" not in columns(connection, "sdk_sessions"):
        return sessions
    for row in rows(connection, "sdk_sessions", "id", without=("user_prompt",)):
        values = row.values or {}
        names = ("id", "memory_session_id", "content_session_id", "sdk_session_id")
        for name in (*names, "claude_session_id"):
            # A number is the id of a row, a text is one of the other ids.
            if not empty(values.get(name)):
                sessions.setdefault(values[name], values)
    return sessions


def _record(
    sessions: Sessions, sort: str, where: str, values: Mapping[str, object]
) -> ImportedRecord:
    record = Record(where, values, NAME, _id(values, sort))
    record.ignore(*BOOKKEEPING, "created_at")
    record.ignore(*(name for name in COUNTS if values.get(name) == 0))
    session = _session(values, sessions)
    {"observation": _observation, "summary": _summary, "prompt": _prompt}[sort](record, session)
    if not empty(session.get("platform_source")):
        record.leave("platform_source")
    record.take(created_at="created_at_epoch")
    if not record.has("created_at"):
        record.put("created_at", values.get("created_at"), "created_at")
    return record.finish()


def _id(values: Mapping[str, object], sort: str) -> str:
    """Return an id from the row's number and time: two machines may use the same number. A
    synchronized row has the number of the machine that made it."""
    number = values.get("origin_local_id") or values.get("id")
    made = values.get("created_at_epoch") or values.get("created_at")
    return f"{sort}-{number}-{made}"


def _session(values: Mapping[str, object], sessions: Sessions) -> Mapping[str, object]:
    for name in ("session_db_id", "memory_session_id", "content_session_id", "sdk_session_id"):
        if (key := values.get(name)) is not None and key in sessions:
            return sessions[key]
    return {}


def _observation(record: Record, session: Mapping[str, object]) -> None:
    record.take("title", kind="type", context="subtitle", text="narrative")
    # Older versions had one text instead of the narrative; a row may have both.
    record.put("details" if record.has("text") else "text", record.use("text"), "text")
    record.add("text", bullet_list("", record.texts("facts")))
    concepts = record.use("concepts")
    record.put("tags", json_list(concepts) or concepts, "concepts")
    record.add("context", bullet_list("Files modified", record.texts("files_modified")))
    record.add("details", bullet_list("Files read", record.texts("files_read")))
    _project(record)


def _summary(record: Record, session: Mapping[str, object]) -> None:
    record.put("kind", "summary", "")
    record.take(title="request", text="learned", context="investigated", impact="next_steps")
    record.add_headed("text", "Completed: ", "completed")
    record.add_headed("text", "Notes: ", "notes")
    record.add("context", bullet_list("Files modified", record.texts("files_edited")))
    record.add("details", bullet_list("Files read", record.texts("files_read")))
    _project(record)


def _prompt(record: Record, session: Mapping[str, object]) -> None:
    record.put("kind", "prompt", "")
    record.take(text="prompt_text")
    number, title = plain(record.use("prompt_number")), session.get("custom_title")
    if number:
        named = f" {title!r}" if isinstance(title, str) and title.strip() else ""
        record.add("context", f"Prompt {number} of the session{named}")
    record.put("project", session.get("project"), "project")


def _project(record: Record) -> None:
    """Set the project; the observations of a worktree belong to the project it came from."""
    record.take("project")
    before, merged = record.use("project"), record.use("merged_into_project")
    record.put("project", merged, "merged_into_project")
    if not empty(merged) and before != merged:
        record.leave("project")


IMPORTER = Importer(
    NAME,
    "claude-mem.db, or the folder that holds it (~/.claude-mem)",
    "https://github.com/thedotmack/claude-mem, src/services/sqlite/SessionStore.ts",
    read,
)
