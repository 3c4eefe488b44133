"""Import a user's data export of Claude (Settings, Privacy), as zips or their files.

Anthropic documents no format. This follows public programs that read real exports:
lists or single objects in `conversations.json`, `projects.json` or `projects/*.json`,
`memories.json` or `memories/*.json`, and `design_chats/*.json`; since 2026 each of them comes in a
zip of its own. An entry is known by its fields, not by its file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from recollect import UserError
from recollect.plugin.importers import ImportedRecord, Importer, refuse_record
from recollect.plugins.importers.chats import (
    Chat,
    ChatMessage,
    ExportEntry,
    entries,
    exchanges,
    export_files,
    read_export,
    text_of,
    unmapped_names,
)
from recollect.plugins.importers.files import json_list, json_object
from recollect.plugins.importers.records import Record, empty, plain

NAME = "claude-export"
FILES = re.compile(
    r"(^|[/\\])((conversations|projects|memories)(-\d+)?"
    r"|(projects|memories|design_chats)[/\\][^/\\]+)\.json$",
    re.IGNORECASE,
)
PROJECTS = re.compile(r"(^|[/\\])projects((-\d+)?|[/\\][^/\\]+)\.json$", re.IGNORECASE)
# The type of an entry by its fields: the first that it has decides.
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


def read(path: Path) -> Iterator[ImportedRecord]:
    """Yield memories, projects and their documents, and a record for each exchange."""
    projects = _names(path)
    return read_export(
        path, NAME, FILES, _check, lambda name, entry: _records(name, entry, projects)
    )


def _check(name: str, first: list[object]) -> None:
    """Refuse other files; ChatGPT's export has files of the same name."""
    objects = [entry for entry in first if isinstance(entry, dict)]
    if any("mapping" in entry for entry in objects):
        raise UserError(f"{name} is an export of ChatGPT; use --from chatgpt-export.")
    if first and not any(_sort(entry) for entry in objects):
        raise UserError(
            f"{name} is not an export of Claude: it has no conversation, project or memory."
        )


def _sort(raw: Mapping[str, object]) -> str:
    return next((sort for field, sort in SORTS.items() if field in raw), "")


def _names(path: Path) -> dict[str, str]:
    """Return the names of the projects by id: memories have only the ids."""
    names: dict[str, str] = {}
    try:
        for file in export_files(path, NAME, PROJECTS):
            if file.raw is None or not PROJECTS.search(file.name):
                continue
            for entry in entries(file.raw, file.name):
                raw = json_object(entry.value)
                names[text_of(raw.get("uuid"))] = text_of(raw.get("name"))
    except UserError:
        # There is no file, or `read_export` reports what is wrong with it.
        return names
    return names


def _records(
    name: str, entry: ExportEntry, projects: Mapping[str, str]
) -> Iterator[ImportedRecord]:
    raw = entry.value
    sort = _sort(raw) if isinstance(raw, dict) else ""
    where = f"{name}, {sort or 'entry'} {entry.number}"
    if entry.reason or not isinstance(raw, dict):
        yield refuse_record(where, entry.reason or "It is not a JSON object.")
    elif sort == "memory":
        yield from _memories(where, raw, projects)
    elif sort == "project":
        yield from _project(where, raw)
    elif sort:
        yield from _conversation(where, raw, projects)
    else:
        yield refuse_record(where, "It is neither a conversation nor a project nor a memory.")


# --- conversations ------------------------------------------------------------------------------


def _conversation(
    where: str, raw: Mapping[str, object], projects: Mapping[str, str]
) -> Iterator[ImportedRecord]:
    id = plain(raw.get("uuid")) or plain(raw.get("created_at")) or ""
    title = raw.get("name") or raw.get("title")
    project = json_object(raw.get("project"))
    named = project.get("name") or projects.get(text_of(project.get("uuid")))
    if not empty(raw.get("summary")):
        yield _summary(where, raw, id, title, named)
    messages = json_list(raw.get("chat_messages", raw.get("messages"))) or []
    turns = [_turn(message) for message in messages]
    yield from exchanges(
        where, Chat(NAME, "Claude", id, title, turns, named, unmapped=unmapped_names(raw, *KNOWN))
    )


def _summary(
    where: str, raw: Mapping[str, object], id: str, title: object, project: object
) -> ImportedRecord:
    kept = {name: raw[name] for name in ("summary", "created_at", "updated_at") if name in raw}
    record = Record(f"{where}, summary", kept, NAME, f"{id}-summary", kind="summary")
    record.put("title", title, "name")
    record.put("project", project, "project")
    record.take("created_at", "updated_at", text="summary")
    return record.finish()


def _turn(raw: object) -> ChatMessage:
    """Read a message. Chats have `sender`, and blocks in `content`; design chats have `role`, and
    blocks inside of `content`."""
    if not isinstance(raw, dict):
        return ChatMessage("", False, "", unmapped=("a message that is no object",))
    inner = json_object(raw.get("content"))
    blocks = json_list(inner.get("contentBlocks", raw.get("content"))) or []
    texts, odd = _blocks(blocks)
    if not blocks:
        # Older exports have only this text; newer ones repeat the blocks in it, with remarks.
        texts = [text_of(raw.get("text")) or text_of(inner.get("content"))]
    names, more = _files(raw, inner)
    return ChatMessage(
        plain(raw.get("uuid")) or "",
        text_of(raw.get("sender") or raw.get("role")) in ("human", "user"),
        "\n\n".join(text.strip() for text in texts if text.strip()),
        raw.get("created_at") or inner.get("timestamp"),
        tuple(names),
        (*odd, *more),
    )


def _blocks(blocks: list[object]) -> tuple[list[str], list[str]]:
    """Return the texts of a message, and the types of its other blocks."""
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
    """Return the names of attached files, and `extracted_content` for each that has its content."""
    names, more = [], []
    listed = (raw.get("attachments"), raw.get("files"), inner.get("attachments"))
    for file in (json_object(value) for values in listed for value in json_list(values) or []):
        named = (text_of(file.get(name)) for name in ("file_name", "name", "file_uuid"))
        names.append(next(filter(None, named), "without a name"))
        if not empty(file.get("extracted_content")) or not empty(file.get("content")):
            more.append("extracted_content")
    return names, more


# --- memories and projects ----------------------------------------------------------------------


def _memories(
    where: str, raw: Mapping[str, object], projects: Mapping[str, str]
) -> Iterator[ImportedRecord]:
    account = plain(raw.get("account_uuid")) or ""
    known = ("account_uuid", "conversations_memory", "project_memories", "memory_files")
    if not empty(text := raw.get("conversations_memory")):
        yield _profile(where, account, text, "", unmapped_names(raw, *known))
    for uuid, text in json_object(raw.get("project_memories")).items():
        yield _profile(f"{where}, project {uuid}", uuid, text, projects.get(uuid) or uuid)
    for number, file in enumerate(json_list(raw.get("memory_files")) or [], start=1):
        values = json_object(file)
        names = ("memory", account, text_of(values.get("path")))
        record = Record(f"{where}, file {number}", values, NAME, *names, kind="note")
        record.take("path", "created_at", "updated_at", text="content")
        yield record.finish()


def _profile(
    where: str, id: str, text: object, project: str, unmapped: tuple[str, ...] = ()
) -> ImportedRecord:
    if not isinstance(text, str):
        return refuse_record(where, "It is not a text.")
    record = Record(where, {}, NAME, f"memory-{id}", kind="profile")
    record.put("title", f"What Claude remembers{project and ' of '}{project}", "")
    record.put("text", text, "")
    record.put("project", project, "project_memories")
    record.leave(*unmapped)
    return record.finish()


def _project(where: str, raw: Mapping[str, object]) -> Iterator[ImportedRecord]:
    uuid = plain(raw.get("uuid")) or plain(raw.get("name")) or ""
    if not (empty(raw.get("description")) and empty(raw.get("prompt_template"))):
        record = Record(where, raw, NAME, f"project-{uuid}", kind="project")
        record.take(title="name", project="name", text="description")
        if instructions := text_of(record.use("prompt_template")).strip():
            record.add("text", f"Instructions: {instructions}")
        record.take("created_at", "updated_at")
        record.ignore("uuid", "docs", *(name for name in raw if raw[name] is False))
        yield record.finish()
    for number, value in enumerate(json_list(raw.get("docs")) or [], start=1):
        yield _document(f"{where}, document {number}", json_object(value), raw, uuid)


def _document(
    where: str, raw: Mapping[str, object], project: Mapping[str, object], uuid: str
) -> ImportedRecord:
    name = plain(raw.get("uuid")) or plain(raw.get("filename")) or where.rpartition(" ")[2]
    record = Record(where, raw, NAME, f"document-{uuid}-{name}", kind="document")
    record.take("created_at", title="filename", path="filename", text="content")
    record.put("project", project.get("name"), "name")
    record.ignore("uuid")
    return record.finish()


IMPORTER = Importer(
    NAME,
    "the zip of the export, the folder of its zips or files, or one of its JSON files",
    "https://support.claude.com/en/articles/9450526-export-your-claude-data",
    read,
)
