"""Chats of any service: what was asked and what was answered becomes one memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import NamedTuple

from recollect.importers.base import Taken
from recollect.importers.records import Piece, clean_text, empty, foreign_id


class Turn(NamedTuple):
    """One message, as far as a person sees it. `names` are those of files sent along; `homeless`
    what it held that has no place."""

    id: str
    asks: bool
    text: str
    at: object = None
    names: tuple[str, ...] = ()
    homeless: tuple[str, ...] = ()


class Chat(NamedTuple):
    """One conversation; `homeless` is what it holds beside its turns."""

    tool: str
    speaker: str
    id: str
    title: object
    turns: list[Turn]
    project: object = None
    homeless: tuple[str, ...] = ()


def exchanges(where: str, chat: Chat) -> Iterator[Taken]:
    """One piece for each time that the user spoke, with the answers that followed."""
    groups = _groups(chat.turns)
    told = [group for group in groups if _told(group)]
    if not told:
        yield Taken(where, None, "It has no message with a text.")
    # What was never shown stands before the first question, as a rule.
    beside = [turn for group in groups if not _told(group) for turn in group]
    rest = chain(chat.homeless, *(turn.homeless for turn in beside))
    ids: set[str] = set()
    for number, group in enumerate(told, start=1):
        piece = _exchange(f"{where}, exchange {number}", chat, _id(chat, group, number, ids), group)
        piece.add("context", f"Exchange {number} of the conversation")
        _attachments(piece, group)
        if number == 1:
            piece.leave(*(clean_text(name) for name in rest))
        yield piece.taken()


def _groups(turns: list[Turn]) -> list[list[Turn]]:
    """Several questions in a row are one; answers before the first question stand alone."""
    groups: list[list[Turn]] = []
    for turn in turns:
        if not groups or (turn.asks and not groups[-1][-1].asks):
            groups.append([])
        groups[-1].append(turn)
    return groups


def _told(group: list[Turn]) -> bool:
    return any(turn.text.strip() for turn in group)


def _exchange(where: str, chat: Chat, id: str, group: list[Turn]) -> Piece:
    piece = Piece(where, {}, id, chat.tool)
    piece.put("kind", "exchange", "")
    piece.put("title", chat.title, "title")
    piece.put("project", chat.project, "project")
    for turn in group:
        if turn.text.strip():
            piece.add("text", f"{'User' if turn.asks else chat.speaker}: {turn.text.strip()}")
        piece.leave(*(clean_text(name) for name in turn.homeless))
    times = [turn.at for turn in group if not empty(turn.at)]
    if times:
        piece.put("created_at", times[0], "time")
        piece.put("updated_at", times[-1], "time")
    return piece


def _attachments(piece: Piece, group: list[Turn]) -> None:
    names = dict.fromkeys(name for turn in group for name in turn.names)
    if names:
        piece.add("context", f"Attachments: {', '.join(names)}")


def _id(chat: Chat, group: list[Turn], number: int, ids: set[str]) -> str:
    """A conversation that goes on keeps the messages that it has, so these name the exchanges.
    One without an id has a number, and so has one whose id was there already."""
    name = next((turn.id for turn in group if turn.id and turn.text.strip()), str(number))
    if name in ids:
        name = f"{name}-{number}"
    ids.add(name)
    return foreign_id(chat.tool, f"{chat.id}-{name}")


def left(raw: Mapping[str, object], *known: str) -> tuple[str, ...]:
    """What else an object holds; what is false there says as little as what is empty."""
    return tuple(
        name
        for name, value in raw.items()
        if name not in known and value is not False and not empty(value)
    )


def text_of(value: object) -> str:
    return clean_text(value) if isinstance(value, str) else ""
