"""Claude: the export of one's data (Settings, Privacy), as zips or what was in them.

Anthropic documents no format. What is read here follows public programs that read real exports:
lists or single objects in `conversations.json`, `projects.json` or `projects/*.json`,
`memories.json` or `memories/*.json`, and `design_chats/*.json`; since 2026 each of them comes in a
zip of its own. An entry is known by its fields, not by its file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from recollect.errors import UserError
from recollect.importers.base import Importer, Taken
from recollect.importers.chats import Chat, Turn, exchanges, left, text_of
from recollect.importers.exports import Entry, entries, export_files, read_export
from recollect.importers.files import json_list, json_object
from recollect.importers.records import Piece, empty, foreign_id, plain

NAME = "claude-export"
FILES = re.compile(
    r"(^|[/\\])((conversations|projects|memories)(-\d+)?"
    r"|(projects|memories|design_chats)[/\\][^/\\]+)\.json$",
    re.IGNORECASE,
)
PROJECTS = re.compile(r"(^|[/\\])projects((-\d+)?|[/\\][^/\\]+)\.json$", re.IGNORECASE)
# By which fields an entry is known: the first that it has.
SORTS = {
    "chat_messages": "conversation",
    "messages": "design chat",
    "conversations_memory": "memory",
    "project_memories": "memory",
    "memory_files": "memory",
    "docs": "project",
    "prompt_template": "project",
}
KNOWN = (
    "uuid", "name", "title", "summary", "created_at", "updated_at", "account", "project",
    "chat_messages", "messages",
)  # fmt: skip


def read(path: Path) -> Iterator[Taken]:
    """Memories, projects and their documents, and one piece for each exchange."""
    projects = _names(path)
    return read_export(
        path, NAME, FILES, _check, lambda name, entry: _pieces(name, entry, projects)
    )


def _check(name: str, first: list[object]) -> None:
    """ChatGPT's export has files of the same name."""
    objects = [one for one in first if isinstance(one, dict)]
    if any("mapping" in one for one in objects):
        raise UserError(f"{name} is an export of ChatGPT; use --from chatgpt-export.")
    if first and not any(_sort(one) for one in objects):
        raise UserError(f"{name} is not an export of Claude: it holds nothing that is known.")


def _sort(raw: Mapping[str, object]) -> str:
    return next((sort for field, sort in SORTS.items() if field in raw), "")


def _names(path: Path) -> dict[str, str]:
    """The names of the projects by their ids, which is all that memories say of them."""
    names: dict[str, str] = {}
    try:
        for found in export_files(path, NAME, PROJECTS):
            if found.raw is None or not PROJECTS.search(found.name):
                continue
            for entry in entries(found.raw, found.name):
                raw = json_object(entry.value)
                names[text_of(raw.get("uuid"))] = text_of(raw.get("name"))
    except UserError:
        # There are none, or whoever reads the file for itself says what is wrong with it.
        return names
    return names


def _pieces(name: str, entry: Entry, projects: Mapping[str, str]) -> Iterator[Taken]:
    raw = entry.value
    sort = _sort(raw) if isinstance(raw, dict) else ""
    where = f"{name}, {sort or 'entry'} {entry.number}"
    if entry.reason or not isinstance(raw, dict):
        yield Taken(where, None, entry.reason or "It is not a JSON object.")
    elif sort == "memory":
        yield from _memories(where, raw, projects)
    elif sort == "project":
        yield from _project(where, raw)
    elif sort:
        yield from _conversation(where, raw, projects)
    else:
        yield Taken(where, None, "It is neither a conversation nor a project nor a memory.")


# --- conversations ------------------------------------------------------------------------------


def _conversation(
    where: str, raw: Mapping[str, object], projects: Mapping[str, str]
) -> Iterator[Taken]:
    id = plain(raw.get("uuid")) or plain(raw.get("created_at")) or ""
    title = raw.get("name") or raw.get("title")
    project = json_object(raw.get("project"))
    named = project.get("name") or projects.get(text_of(project.get("uuid")))
    if not empty(raw.get("summary")):
        yield _summary(where, raw, id, title, named)
    messages = json_list(raw.get("chat_messages", raw.get("messages"))) or []
    turns = [_turn(message) for message in messages]
    yield from exchanges(
        where, Chat(NAME, "Claude", id, title, turns, named, homeless=left(raw, *KNOWN))
    )


def _summary(
    where: str, raw: Mapping[str, object], id: str, title: object, project: object
) -> Taken:
    piece = Piece(f"{where}, summary", {}, foreign_id(NAME, f"{id}-summary"), NAME)
    piece.put("kind", "summary", "")
    piece.put("title", title, "name")
    piece.put("text", raw.get("summary"), "summary")
    piece.put("project", project, "project")
    piece.put("created_at", raw.get("created_at"), "created_at")
    piece.put("updated_at", raw.get("updated_at"), "updated_at")
    return piece.taken()


def _turn(raw: object) -> Turn:
    """Chats have `sender` and blocks in `content`; designs have `role` and blocks inside of it."""
    if not isinstance(raw, dict):
        return Turn("", False, "", homeless=("a message that is no object",))
    inner = json_object(raw.get("content"))
    blocks = json_list(inner.get("contentBlocks", raw.get("content"))) or []
    texts, odd = _blocks(blocks)
    if not blocks:
        # Older exports have only this; beside blocks it repeats them, with remarks for tools.
        texts = [text_of(raw.get("text")) or text_of(inner.get("content"))]
    names, more = _files(raw, inner)
    return Turn(
        plain(raw.get("uuid")) or "",
        text_of(raw.get("sender") or raw.get("role")) in ("human", "user"),
        "\n\n".join(text.strip() for text in texts if text.strip()),
        raw.get("created_at") or inner.get("timestamp"),
        tuple(names),
        (*odd, *more),
    )


def _blocks(blocks: list[object]) -> tuple[list[str], list[str]]:
    """The texts of a message, and the types of what else it holds."""
    texts, odd = [], []
    for block in map(json_object, blocks):
        sort = text_of(block.get("type"))
        if sort == "text":
            texts.append(text_of(block.get("text")))
            if not empty(block.get("citations")):
                odd.append("citations")
        else:
            odd.append(sort or "content")
    return texts, odd


def _files(raw: Mapping[str, object], inner: Mapping[str, object]) -> tuple[list[str], list[str]]:
    """The names of what was sent along, and what these files hold."""
    names, more = [], []
    listed = (raw.get("attachments"), raw.get("files"), inner.get("attachments"))
    for one in (json_object(one) for values in listed for one in json_list(values) or []):
        called = (text_of(one.get(name)) for name in ("file_name", "name", "file_uuid"))
        names.append(next(filter(None, called), "without a name"))
        if not empty(one.get("extracted_content")) or not empty(one.get("content")):
            more.append("extracted_content")
    return names, more


# --- memories and projects ----------------------------------------------------------------------


def _memories(
    where: str, raw: Mapping[str, object], projects: Mapping[str, str]
) -> Iterator[Taken]:
    account = plain(raw.get("account_uuid")) or ""
    known = ("account_uuid", "conversations_memory", "project_memories", "memory_files")
    if not empty(text := raw.get("conversations_memory")):
        yield _profile(where, account, text, "", left(raw, *known))
    for uuid, text in json_object(raw.get("project_memories")).items():
        yield _profile(f"{where}, project {uuid}", uuid, text, projects.get(uuid) or uuid)
    for number, file in enumerate(json_list(raw.get("memory_files")) or [], start=1):
        yield _memory_file(f"{where}, file {number}", json_object(file), account)


def _profile(
    where: str, id: str, text: object, project: str, homeless: tuple[str, ...] = ()
) -> Taken:
    if not isinstance(text, str):
        return Taken(where, None, "It is not a text.")
    piece = Piece(where, {}, foreign_id(NAME, f"memory-{id}"), NAME)
    piece.put("kind", "profile", "")
    piece.put("title", f"What Claude remembers{project and ' of '}{project}", "")
    piece.put("text", text, "")
    piece.put("project", project, "project_memories")
    piece.leave(*homeless)
    return piece.taken()


def _memory_file(where: str, raw: Mapping[str, object], account: str) -> Taken:
    path = text_of(raw.get("path"))
    piece = Piece(where, raw, foreign_id(NAME, "memory", account, path), NAME)
    piece.put("kind", "note", "")
    piece.take("text", "content")
    piece.take("path", "path")
    piece.take("created_at", "created_at")
    piece.take("updated_at", "updated_at")
    return piece.taken()


def _project(where: str, raw: Mapping[str, object]) -> Iterator[Taken]:
    uuid = plain(raw.get("uuid")) or plain(raw.get("name")) or ""
    if not (empty(raw.get("description")) and empty(raw.get("prompt_template"))):
        piece = Piece(where, raw, foreign_id(NAME, f"project-{uuid}"), NAME)
        piece.put("kind", "project", "")
        piece.take("title", "name")
        piece.take("project", "name")
        piece.take("text", "description")
        if instructions := text_of(piece.use("prompt_template")).strip():
            piece.add("text", f"Instructions: {instructions}")
        piece.take("created_at", "created_at")
        piece.take("updated_at", "updated_at")
        piece.ignore("uuid", "docs", *(name for name in raw if raw[name] is False))
        yield piece.taken()
    for number, value in enumerate(json_list(raw.get("docs")) or [], start=1):
        yield _document(f"{where}, document {number}", json_object(value), raw, uuid)


def _document(
    where: str, raw: Mapping[str, object], project: Mapping[str, object], uuid: str
) -> Taken:
    name = plain(raw.get("uuid")) or plain(raw.get("filename")) or where.rpartition(" ")[2]
    piece = Piece(where, raw, foreign_id(NAME, f"document-{uuid}-{name}"), NAME)
    piece.put("kind", "document", "")
    piece.take("title", "filename")
    piece.take("path", "filename")
    piece.take("text", "content")
    piece.put("project", project.get("name"), "name")
    piece.take("created_at", "created_at")
    piece.ignore("uuid")
    return piece.taken()


IMPORTER = Importer(
    NAME,
    "the zip of the export, the folder of its zips or files, or one of its JSON files",
    "https://support.claude.com/en/articles/9450526-export-your-claude-data",
    read,
)
