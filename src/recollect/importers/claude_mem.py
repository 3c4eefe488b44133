"""claude-mem (https://github.com/thedotmack/claude-mem): its database `claude-mem.db`.

The tables are those that `SessionStore` of claude-mem 13.25.3 makes (schema 52); older files with
fewer columns are read as well. Observations, summaries of sessions and the prompts of the user
become memories; of the sessions themselves only a title and a project are wanted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import apsw

from recollect.errors import UserError
from recollect.importers.base import Importer, Taken
from recollect.importers.databases import Row, columns, database, require, rows
from recollect.importers.files import json_list, present
from recollect.importers.records import Piece, empty, foreign_id, plain

NAME = "claude-mem"
FILE = "claude-mem.db"
NEWEST = 52
NEEDED = ("id", "type", "title", "narrative", "created_at_epoch")
# Numbers that mean "none" where they are zero.
COUNTS = ("discovery_tokens", "relevance_count")
# How a synchronized row is told from its copies, and whether it was sent: nothing that it says.
BOOKKEEPING = ("id", "content_hash", "synced_at", "sync_rev", "origin_device_id", "origin_local_id")

Sessions = Mapping[object, Mapping[str, object]]


def read(path: Path) -> Iterator[Taken]:
    """Every observation, summary and prompt, in the order in which they were written."""
    file = present(path) / FILE if path.is_dir() else path
    with database(file, NAME) as connection:
        _check(connection, file)
        sessions = _sessions(connection)
        for row in rows(connection, "observations", "id"):
            yield _taken(row, sessions, "observation")
        for row in rows(connection, "session_summaries", "id"):
            yield _taken(row, sessions, "summary")
        for row in rows(connection, "user_prompts", "id"):
            yield _taken(row, sessions, "prompt")


def _check(connection: apsw.Connection, file: Path) -> None:
    """A newer schema is read as long as it still has what is read here: most only add columns."""
    try:
        require(connection, file, NAME, observations=NEEDED)
    except UserError as error:
        version = _version(connection)
        if version is None or version <= NEWEST:
            raise
        raise UserError(
            f"{file} is of a newer {NAME}: its schema is {version}, and {NEWEST} is the newest "
            "that is known here."
        ) from error


def _version(connection: apsw.Connection) -> int | None:
    if "version" not in columns(connection, "schema_versions"):
        return None
    newest = connection.execute(
        "SELECT max(version) FROM schema_versions WHERE typeof(version) = 'integer'"
    ).get
    return newest if isinstance(newest, int) else None


def _sessions(connection: apsw.Connection) -> Sessions:
    """The sessions by every id under which a row may name them."""
    found: dict[object, Mapping[str, object]] = {}
    if "id" not in columns(connection, "sdk_sessions"):
        return found
    for row in rows(connection, "sdk_sessions", "id", without=("user_prompt",)):
        values = row.values or {}
        names = ("id", "memory_session_id", "content_session_id", "sdk_session_id")
        for name in (*names, "claude_session_id"):
            # A number is the id of a row, a text is one of the others.
            if not empty(values.get(name)):
                found.setdefault(values[name], values)
    return found


def _taken(row: Row, sessions: Sessions, sort: str) -> Taken:
    if row.values is None:
        return Taken(row.where, None, row.reason)
    piece = Piece(row.where, row.values, _id(row.values, sort), NAME)
    piece.ignore(*BOOKKEEPING, "created_at")
    piece.ignore(*(name for name in COUNTS if row.values.get(name) == 0))
    session = _session(row.values, sessions)
    {"observation": _observation, "summary": _summary, "prompt": _prompt}[sort](piece, session)
    if not empty(session.get("platform_source")):
        piece.leave("platform_source")
    _times(piece, row.values)
    return piece.taken()


def _id(values: Mapping[str, object], sort: str) -> str:
    """The row's number and its time: databases of two machines count alike. A row that was
    synchronized keeps the number that it had where it was made."""
    number = values.get("origin_local_id") or values.get("id")
    made = values.get("created_at_epoch") or values.get("created_at")
    return foreign_id(NAME, f"{sort}-{number}-{made}")


def _session(values: Mapping[str, object], sessions: Sessions) -> Mapping[str, object]:
    for name in ("session_db_id", "memory_session_id", "content_session_id", "sdk_session_id"):
        if (key := values.get(name)) is not None and key in sessions:
            return sessions[key]
    return {}


def _times(piece: Piece, values: Mapping[str, object]) -> None:
    piece.take("created_at", "created_at_epoch")
    if not piece.has("created_at"):
        piece.put("created_at", values.get("created_at"), "created_at")


def _observation(piece: Piece, session: Mapping[str, object]) -> None:
    piece.take("kind", "type")
    piece.take("title", "title")
    piece.take("context", "subtitle")
    piece.take("text", "narrative")
    # Versions before the narrative had one text; a row may hold both.
    piece.take("details" if piece.has("text") else "text", "text")
    _listed(piece, "text", "facts", "")
    concepts = piece.use("concepts")
    piece.put("tags", json_list(concepts) or concepts, "concepts")
    _listed(piece, "context", "files_modified", "Files modified")
    _listed(piece, "details", "files_read", "Files read")
    _project(piece)


def _summary(piece: Piece, session: Mapping[str, object]) -> None:
    piece.put("kind", "summary", "")
    piece.take("title", "request")
    piece.take("text", "learned")
    piece.take("context", "investigated")
    piece.take("impact", "next_steps")
    for name, heading in (("completed", "Completed"), ("notes", "Notes")):
        _headed(piece, name, heading)
    _listed(piece, "context", "files_edited", "Files modified")
    _listed(piece, "details", "files_read", "Files read")
    _project(piece)


def _prompt(piece: Piece, session: Mapping[str, object]) -> None:
    piece.put("kind", "prompt", "")
    piece.take("text", "prompt_text")
    number, title = plain(piece.use("prompt_number")), session.get("custom_title")
    if number:
        named = f" {title!r}" if isinstance(title, str) and title.strip() else ""
        piece.add("context", f"Prompt {number} of the session{named}")
    piece.put("project", session.get("project"), "project")


def _project(piece: Piece) -> None:
    """Where it is found now; a worktree's observations move to the project that it came from."""
    piece.take("project", "project")
    before, merged = piece.use("project"), piece.use("merged_into_project")
    piece.put("project", merged, "merged_into_project")
    if not empty(merged) and before != merged:
        piece.leave("project")


def _headed(piece: Piece, name: str, heading: str) -> None:
    value = piece.use(name)
    if text := plain(value):
        piece.add("text", f"{heading}: {text}" if text.strip() else "")
    elif not empty(value):
        piece.leave(name)


def _listed(piece: Piece, field: str, name: str, heading: str) -> None:
    """A JSON list as lines, under a heading where there is one."""
    value = piece.use(name)
    items = json_list(value)
    if items is None:
        items = [] if empty(value) else [value]
    texts = [plain(item) for item in items]
    if any(text is None for text in texts):
        piece.leave(name)
    lines = [f"- {text}" for text in texts if text and text.strip()]
    if lines:
        piece.add(field, "\n".join([f"{heading}:", *lines] if heading else lines))


IMPORTER = Importer(
    NAME,
    "claude-mem.db, or the folder that holds it (~/.claude-mem)",
    "https://github.com/thedotmack/claude-mem, src/services/sqlite/SessionStore.ts",
    read,
)
