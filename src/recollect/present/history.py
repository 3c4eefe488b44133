"""A memory's versions for people and programs: what each change added and removed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Any, NamedTuple

from msgspec import UNSET, Struct, UnsetType

from recollect.memory_json import memory_json
from recollect.present.words import counted
from recollect.store.history import Version
from recollect.times import iso, minute
from recollect.types import TEXTS, Memory

WORDS = re.compile(r"\w+|\s+|[^\w\s]")
MOST_COMPARED = 2_000  # words: more than that are shown as removed and added as a whole
MOST_NAMED = 10  # ids in a sentence
BESIDE = 40  # characters that are shown of what is the same, on each side


class Piece(NamedTuple):
    """A part of a text: `same`, `added` or `removed`."""

    what: str
    text: str


class FieldDifference(NamedTuple):
    """A field that a change has changed, in pieces."""

    field: str
    pieces: tuple[Piece, ...]


class VersionJson(Struct):
    """A version of a memory: what changed it, and the memory after that. `differences`: of each
    field that changed what was removed in [- -] and what was added in {+ +}."""

    version: int
    at: str
    action: str
    interface: str
    client: str
    user: str
    automatic: bool
    changed: list[str]
    differences: list[str]
    memory: Memory
    reason: str | UnsetType = UNSET
    target: str | UnsetType = UNSET
    forgotten: bool | UnsetType = UNSET


def version_json(version: Version, differences: Sequence[FieldDifference]) -> dict[str, Any]:
    author = version.author
    set_only = {"reason": version.reason, "target": version.target}
    return {
        "version": version.number,
        "at": iso(version.at),
        "action": version.action,
        "interface": author.interface,
        "client": author.client,
        "user": author.user,
        "automatic": author.automatic,
        "changed": list(version.changed),
        "differences": [difference_text(each) for each in differences],
        "memory": memory_json(version.memory),
        **{name: value for name, value in set_only.items() if value},
        **({"forgotten": True} if version.forgotten_at else {}),
    }


def history_json(versions: Sequence[Version]) -> list[dict[str, Any]]:
    """Newest first, as the library returns them."""
    return [version_json(version, found) for version, found in compared(versions, iso)]


def compared(
    versions: Sequence[Version], when: Callable[[datetime], str] = minute
) -> Iterator[tuple[Version, list[FieldDifference]]]:
    """Each version with what its change did; newest first. `when`: how a time is written."""
    for after, before in pairwise(versions):
        yield after, list(_differences(before, after, when))
    if versions:
        yield versions[-1], []


def _differences(
    before: Version, after: Version, when: Callable[[datetime], str]
) -> Iterator[FieldDifference]:
    for name in after.changed:
        if name == "forgotten_at":
            continue  # the action says so
        old, new = getattr(before.memory, name), getattr(after.memory, name)
        if name in TEXTS:
            yield FieldDifference(name, tuple(_words(old, new)))
        elif name == "tags":
            yield FieldDifference(name, tuple(_tags(old, new)))
        elif name != "updated_at":
            old, new = (when(each) if isinstance(each, datetime) else each for each in (old, new))
            both = [Piece("removed", old or ""), Piece("added", new or "")]
            yield FieldDifference(name, tuple([piece for piece in both if piece.text]))


def _tags(old: Sequence[str], new: Sequence[str]) -> Iterator[Piece]:
    for what, some, others in (("removed", old, new), ("added", new, old)):
        if gone := [tag for tag in some if tag not in others]:
            yield Piece(what, ", ".join(gone))


def _words(old: str, new: str) -> Iterator[Piece]:
    """The words that went and came, with some of what is the same around them."""
    a, b = WORDS.findall(old), WORDS.findall(new)
    if max(len(a), len(b)) > MOST_COMPARED:
        pieces = [Piece("removed", old), Piece("added", new)]
        yield from (piece for piece in pieces if piece.text)
        return
    codes = SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
    for number, (what, a1, a2, b1, b2) in enumerate(codes):
        if what == "equal":
            text = "".join(a[a1:a2])
            yield Piece("same", _shortened(text, number > 0, number < len(codes) - 1))
            continue
        if a1 < a2:
            yield Piece("removed", "".join(a[a1:a2]))
        if b1 < b2:
            yield Piece("added", "".join(b[b1:b2]))


def _shortened(text: str, behind: bool, ahead: bool) -> str:
    """What is the same, near to what is not: the end of a change is before it, or one ahead."""
    if len(text) <= 2 * BESIDE:
        return text
    start = text[:BESIDE] if behind else ""
    end = text[-BESIDE:] if ahead else ""
    return f"{start}…{end}"


def difference_text(difference: FieldDifference) -> str:
    """A field's difference in one line: [-what went-] and {+what came+}."""
    marks = {"same": "{}", "removed": "[-{}-]", "added": "{{+{}+}}"}
    text = "".join(marks[piece.what].format(piece.text) for piece in difference.pieces)
    return f"{difference.field}: {' '.join(text.split())}"


def version_line(version: Version, when: str = "") -> str:
    """What the change was, when, through what and by whom, in one line; `when`: its time in other
    words than those of a clock."""
    author = version.author
    who = " ".join(filter(None, (author.client, f"for {author.user}" if author.user else "")))
    by = ", ".join(filter(None, (author.interface, who, "automatic" if author.automatic else "")))
    why = " ".join(filter(None, (version.reason, f"→ {version.target}" if version.target else "")))
    action = {"begin": "as it was when history began"}.get(version.action, version.action)
    parts = (f"version {version.number}", when or minute(version.at), action, by, why)
    return " · ".join(part for part in parts if part)


def undone_text(action: str, at: datetime, changed: Sequence[str], forgotten: Sequence[str]) -> str:
    """What was taken back, in a sentence or two."""
    what = f"Undone: {action} of {minute(at)}, {counted(len(changed), 'memory')}."
    if forgotten:
        what += f" Moved to the trash: {', '.join(forgotten[:MOST_NAMED])}"
        what += "…" if len(forgotten) > MOST_NAMED else "."
    return what
