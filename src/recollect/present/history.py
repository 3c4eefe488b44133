"""The versions of a memory for people and programs, with the differences between them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Any, NamedTuple

from msgspec import UNSET, Struct, UnsetType

from recollect.memory_json import memory_json
from recollect.present.sentences import counted
from recollect.store.history import Version
from recollect.times import iso, minute
from recollect.types import TEXTS, Memory

WORDS = re.compile(r"\w+|\s+|[^\w\s]")
MOST_COMPARED = 2_000  # words: a longer text is shown as removed and added as a whole
MOST_NAMED = 10  # ids in a sentence
AROUND = 40  # unchanged characters that are shown on each side of a change


class TextChange(NamedTuple):
    """A part of a text: `same`, `added` or `removed`."""

    what: str
    text: str


class FieldDifference(NamedTuple):
    """A changed field, with its unchanged, removed and added parts."""

    field: str
    parts: tuple[TextChange, ...]


class VersionJson(Struct):
    """A version of a memory, and the change that made it. `differences`: the changed fields, with
    removed text in [- -] and added text in {+ +}."""

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
    """Return the versions for programs, newest first."""
    return [version_json(version, found) for version, found in with_differences(versions, iso)]


def with_differences(
    versions: Sequence[Version], when: Callable[[datetime], str] = minute
) -> Iterator[tuple[Version, list[FieldDifference]]]:
    """Yield each version with its differences to the one before; newest first. `when`: formats
    times."""
    for after, before in pairwise(versions):
        yield after, list(_differences(before, after, when))
    if versions:
        yield versions[-1], []


def _differences(
    before: Version, after: Version, when: Callable[[datetime], str]
) -> Iterator[FieldDifference]:
    for name in after.changed:
        if name == "forgotten_at":
            continue  # the action shows it
        old, new = getattr(before.memory, name), getattr(after.memory, name)
        if name in TEXTS:
            yield FieldDifference(name, tuple(_words(old, new)))
        elif name == "tags":
            yield FieldDifference(name, tuple(_tags(old, new)))
        elif name != "updated_at":
            old, new = (when(each) if isinstance(each, datetime) else each for each in (old, new))
            yield FieldDifference(name, tuple(_removed_and_added(old or "", new or "")))


def _removed_and_added(old: str, new: str) -> Iterator[TextChange]:
    if old:
        yield TextChange("removed", old)
    if new:
        yield TextChange("added", new)


def _tags(old: Sequence[str], new: Sequence[str]) -> Iterator[TextChange]:
    removed = ", ".join(tag for tag in old if tag not in new)
    return _removed_and_added(removed, ", ".join(tag for tag in new if tag not in old))


def _words(old: str, new: str) -> Iterator[TextChange]:
    """Yield removed and added words, with some unchanged text around them."""
    a, b = WORDS.findall(old), WORDS.findall(new)
    if max(len(a), len(b)) > MOST_COMPARED:
        yield from _removed_and_added(old, new)
        return
    codes = SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
    for number, (what, a1, a2, b1, b2) in enumerate(codes):
        if what == "equal":
            text = "".join(a[a1:a2])
            if len(text) > 2 * AROUND:
                start = text[:AROUND] if number > 0 else ""
                end = text[-AROUND:] if number < len(codes) - 1 else ""
                text = f"{start}…{end}"
            yield TextChange("same", text)
        else:
            yield from _removed_and_added("".join(a[a1:a2]), "".join(b[b1:b2]))


def difference_text(difference: FieldDifference) -> str:
    """Return a difference in one line: [-removed-] and {+added+}."""
    marks = {"same": "{}", "removed": "[-{}-]", "added": "{{+{}+}}"}
    text = "".join(marks[part.what].format(part.text) for part in difference.parts)
    return f"{difference.field}: {' '.join(text.split())}"


def version_line(version: Version, when: str = "") -> str:
    """Return a version's change in one line: its time, action, author and reason. `when`: its time
    in words."""
    author = version.author
    who = " ".join(filter(None, (author.client, f"for {author.user}" if author.user else "")))
    by = ", ".join(filter(None, (author.interface, who, "automatic" if author.automatic else "")))
    why = " ".join(filter(None, (version.reason, f"→ {version.target}" if version.target else "")))
    action = {"begin": "as it was when history began"}.get(version.action, version.action)
    parts = (f"version {version.number}", when or minute(version.at), action, by, why)
    return " · ".join(part for part in parts if part)


def undone_text(action: str, at: datetime, changed: Sequence[str], forgotten: Sequence[str]) -> str:
    """Return one or two sentences about an undone change."""
    what = f"Undone: {action} of {minute(at)}, {counted(len(changed), 'memory')}."
    if forgotten:
        what += f" Moved to the trash: {', '.join(forgotten[:MOST_NAMED])}"
        what += "…" if len(forgotten) > MOST_NAMED else "."
    return what
