"""Import a user's data export of ChatGPT (Settings, Data controls), as a zip or its files.

OpenAI documents no format. This follows public descriptions of real exports
(https://github.com/mitkury/chatgpt-export-parser, docs/chatgpt-data-export-format.md): a file
`conversations.json`, or since 2026 several `conversations-000.json`, each a list of conversations;
a conversation is a tree of messages in `mapping`, of which `current_node` and its parents were on
the screen.
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
    exchanges,
    read_export,
    text_of,
    unmapped_names,
)
from recollect.plugins.importers.files import json_list, json_object
from recollect.plugins.importers.records import empty, plain

NAME = "chatgpt-export"
FILES = re.compile(r"(^|[/\\])conversations(-\d+)?\.json$", re.IGNORECASE)
# Types of visible messages; others are tool calls, reasoning and instructions.
READ = ("text", "multimodal_text", "code", "")
KNOWN = (
    "id", "conversation_id", "title", "create_time", "update_time", "mapping", "current_node",
)  # fmt: skip
# Marks of sources and of things with a card are between private characters; older ones are in
# lenticular brackets.
MARK = re.compile("\ue200([^\ue200\ue201]*)\ue201|【[^】]*†[^】]*】")
DIVIDER = "\ue202"


def read(path: Path) -> Iterator[ImportedRecord]:
    """Yield a record for each exchange of each conversation."""
    return read_export(path, NAME, FILES, _check, _records)


def _check(name: str, first: list[object]) -> None:
    """Refuse other files; Claude's export has files of the same name."""
    objects = [entry for entry in first if isinstance(entry, dict)]
    if any("chat_messages" in entry for entry in objects):
        raise UserError(f"{name} is an export of Claude; use --from claude-export.")
    if first and not any("mapping" in entry for entry in objects):
        raise UserError(f"{name} is not an export of ChatGPT: it holds no conversations.")


def _records(name: str, entry: ExportEntry) -> Iterator[ImportedRecord]:
    where = f"{name}, conversation {entry.number}"
    raw = entry.value
    if entry.reason:
        yield refuse_record(where, entry.reason)
    elif not isinstance(raw, dict) or not isinstance(raw.get("mapping"), dict):
        yield refuse_record(where, "It is not a conversation: it has no `mapping`.")
    else:
        yield from exchanges(where, _chat(raw))


def _chat(raw: Mapping[str, object]) -> Chat:
    mapping = json_object(raw["mapping"])
    path = _path(mapping, raw.get("current_node"))
    others = (name for name, node in mapping.items() if name not in path and _has_text(node))
    branches = ("mapping: other branches",) if next(others, None) else ()
    names = ("conversation_id", "id", "create_time", "title")
    id = next((raw[name] for name in names if not empty(raw.get(name))), None)
    return Chat(
        NAME, "ChatGPT", plain(id) or "", raw.get("title"),
        [turn for name in path if (turn := _turn(mapping[name]))],
        unmapped=branches + unmapped_names(raw, *KNOWN),
    )  # fmt: skip


def _path(mapping: dict[str, object], last: object) -> list[str]:
    """Return the messages from the first to the last visible one; a cycle is read once."""
    if not isinstance(last, str) or last not in mapping:
        last = _newest(mapping)
    path: dict[str, None] = {}
    while isinstance(last, str) and last in mapping and last not in path:
        path[last] = None
        last = json_object(mapping[last]).get("parent")
    return list(reversed(path))


def _newest(mapping: dict[str, object]) -> str | None:
    """Return the latest message: old exports do not say which was visible."""
    times: dict[str, float] = {}
    for name, node in mapping.items():
        time = _message(node).get("create_time")
        if isinstance(time, int | float):
            times[name] = time
    return max(times, key=lambda name: times[name], default=next(reversed(mapping), None))


def _message(node: object) -> Mapping[str, object]:
    return json_object(json_object(node).get("message"))


def _has_text(node: object) -> bool:
    turn = _turn(node)
    return turn is not None and bool(turn.text.strip())


def _turn(node: object) -> ChatMessage | None:
    """Return the message as it was shown; a hidden one has no text, and its type is unmapped."""
    message = _message(node)
    if not message:
        return None
    content, about = json_object(message.get("content")), json_object(message.get("metadata"))
    role = text_of(json_object(message.get("author")).get("role"))
    sort = text_of(content.get("content_type"))
    text, names, odd = _parts(content)
    if not _is_shown(message, about, role, sort):
        rest = unmapped_names(content, "content_type", "parts", "language")
        has_content = text.strip() or names or odd or rest
        hidden = (_hidden_type(message, role, sort),) if has_content else ()
        return ChatMessage("", False, "", unmapped=hidden)
    return ChatMessage(
        text_of(message.get("id")), role == "user", text, message.get("create_time"),
        _attachment_names(about) or names, odd + _extras(about),
    )  # fmt: skip


def _is_shown(
    message: Mapping[str, object], about: Mapping[str, object], role: str, sort: str
) -> bool:
    return (
        role in ("user", "assistant")
        and sort in READ
        and not about.get("is_visually_hidden_from_conversation")
        and message.get("recipient") in (None, "", "all")
        and message.get("channel") != "analysis"
    )


def _hidden_type(message: Mapping[str, object], role: str, sort: str) -> str:
    """Return a name for the type of a hidden message."""
    if sort not in READ:
        return sort
    if role not in ("user", "assistant"):
        return role or "author"
    if message.get("recipient") not in (None, "", "all"):
        return "tool call"
    return "hidden message"


def _parts(content: Mapping[str, object]) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Return the text of a message, the names of its pictures, and the types of other parts."""
    texts, names, odd = [], [], []
    parts = json_list(content.get("parts"))
    for part in [content.get("text")] if parts is None else parts:
        if isinstance(part, str):
            texts.append(_readable(part))
        elif isinstance(part, dict):
            sort = text_of(part.get("content_type"))
            if sort == "image_asset_pointer":
                names.append(text_of(part.get("asset_pointer")))
            elif sort in ("audio_transcription", "") and isinstance(part.get("text"), str):
                texts.append(_readable(text_of(part["text"])))
            else:
                odd.append(sort or "parts")
        elif not empty(part):
            odd.append("parts")
    texts = [text for text in texts if text.strip()]
    return "\n\n".join(texts), tuple(name for name in names if name), tuple(odd)


def _attachment_names(about: Mapping[str, object]) -> tuple[str, ...]:
    """Return the names of attached files; a picture has a name here and a pointer in the
    message."""
    files = json_list(about.get("attachments")) or []
    names = (text_of(json_object(file).get("name")) for file in files)
    return tuple(name for name in names if name)


def _extras(about: Mapping[str, object]) -> tuple[str, ...]:
    """Return the names of values about the origin of a message."""
    kept = ("model_slug", "citations", "content_references", "voice_mode_message")
    return tuple(name for name in kept if not empty(about.get(name)) and about[name] is not False)


def _readable(text: str) -> str:
    """Return the text without marks; a thing with a card keeps its name."""
    if "\ue200" not in text and "†" not in text:
        return text
    return MARK.sub(lambda mark: _card_name(mark[1] or ""), text)


def _card_name(mark: str) -> str:
    kind, _, rest = mark.partition(DIVIDER)
    values = json_list(rest) if kind == "entity" else None
    return plain(values[1]) or "" if values and len(values) > 1 else ""


IMPORTER = Importer(
    NAME,
    "the zip of the export, its folder, or conversations.json",
    "https://help.openai.com/en/articles/7260999-how-do-i-export-my-chatgpt-history-and-data",
    read,
)
