"""Chats of any service: a question and its answers become one memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import NamedTuple

from recollect.plugin.importers import ImportedRecord, refused
from recollect.plugins.importers.records import Record, clean_text, empty, foreign_id


class ChatMessage(NamedTuple):
    """One message as a person sees it. `names`: those of attached files; `unmapped`: names of
    values that no field of a memory holds."""

    id: str
    asks: bool
    text: str
    at: object = None
    names: tuple[str, ...] = ()
    unmapped: tuple[str, ...] = ()


class Chat(NamedTuple):
    """One conversation; `unmapped`: names of its values beside the turns."""

    tool: str
    speaker: str
    id: str
    title: object
    turns: list[ChatMessage]
    project: object = None
    unmapped: tuple[str, ...] = ()


def exchanges(where: str, chat: Chat) -> Iterator[ImportedRecord]:
    """One record for each question of the user, with the answers that followed."""
    groups = _groups(chat.turns)
    with_text = [group for group in groups if _has_text(group)]
    if not with_text:
        yield refused(where, "It has no message with a text.")
    # Turns that were never shown are usually before the first question.
    beside = [turn for group in groups if not _has_text(group) for turn in group]
    rest = chain(chat.unmapped, *(turn.unmapped for turn in beside))
    ids: set[str] = set()
    for number, group in enumerate(with_text, start=1):
        record = _exchange(
            f"{where}, exchange {number}", chat, _id(chat, group, number, ids), group
        )
        record.add("context", f"Exchange {number} of the conversation")
        _attachments(record, group)
        if number == 1:
            record.leave(*(clean_text(name) for name in rest))
        yield record.imported()


def _groups(turns: list[ChatMessage]) -> list[list[ChatMessage]]:
    """The turns in groups, each a question and its answers. Several questions in a row are one;
    answers before the first question are a group of their own."""
    groups: list[list[ChatMessage]] = []
    for turn in turns:
        if not groups or (turn.asks and not groups[-1][-1].asks):
            groups.append([])
        groups[-1].append(turn)
    return groups


def _has_text(group: list[ChatMessage]) -> bool:
    return any(turn.text.strip() for turn in group)


def _exchange(where: str, chat: Chat, id: str, group: list[ChatMessage]) -> Record:
    record = Record(where, {}, id, chat.tool)
    record.put("kind", "exchange", "")
    record.put("title", chat.title, "title")
    record.put("project", chat.project, "project")
    for turn in group:
        if turn.text.strip():
            record.add("text", f"{'User' if turn.asks else chat.speaker}: {turn.text.strip()}")
        record.leave(*(clean_text(name) for name in turn.unmapped))
    times = [turn.at for turn in group if not empty(turn.at)]
    if times:
        record.put("created_at", times[0], "time")
        record.put("updated_at", times[-1], "time")
    return record


def _attachments(record: Record, group: list[ChatMessage]) -> None:
    names = dict.fromkeys(name for turn in group for name in turn.names)
    if names:
        record.add("context", f"Attachments: {', '.join(names)}")


def _id(chat: Chat, group: list[ChatMessage], number: int, ids: set[str]) -> str:
    """An id from the first message with a text: a conversation that goes on keeps its messages. The
    number stands in for a missing id, and tells apart two that are the same."""
    name = next((turn.id for turn in group if turn.id and turn.text.strip()), str(number))
    if name in ids:
        name = f"{name}-{number}"
    ids.add(name)
    return foreign_id(chat.tool, f"{chat.id}-{name}")


def left(raw: Mapping[str, object], *known: str) -> tuple[str, ...]:
    """The names of the other values of an object, without those that are false or empty."""
    return tuple(
        name
        for name, value in raw.items()
        if name not in known and value is not False and not empty(value)
    )


def text_of(value: object) -> str:
    return clean_text(value) if isinstance(value, str) else ""
