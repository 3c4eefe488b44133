"""Saving: drafts become memories inside one write transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple

from recollect.ingest.draft import Draft, complete
from recollect.ingest.ids import LONG_SUFFIX, SAID, made_id, said
from recollect.ingest.repeats import VALIDITY, merged, told_apart
from recollect.store.base import Stored, WriteOutcome, Writing
from recollect.types import Memory


class Saved(NamedTuple):
    """What became of one draft; `repeated`: it said again, in nearly the same words, what a memory
    of its project says, and that one was updated. `redacted`: how many secrets of each kind were
    replaced first."""

    memory: Memory
    outcome: WriteOutcome
    repeated: bool = False
    redacted: Mapping[str, int] = MappingProxyType({})


def saved_json(saved: Saved) -> dict[str, object]:
    """What to tell a program; of secrets only where there were any."""
    told = {"id": saved.memory.id, "outcome": saved.outcome, "repeated": saved.repeated}
    return told | ({"redacted": dict(saved.redacted)} if saved.redacted else {})


def save_drafts(write: Writing, drafts: Sequence[Draft], now: datetime) -> list[Saved]:
    """Add, update, or leave alone, in order; the same id again updates."""
    wanted = [given.id or made_id(given.fields) for given in drafts]
    stored = write.find(set(wanted))
    return [_save(write, stored, id, given, now) for id, given in zip(wanted, drafts, strict=True)]


def save_again(write: Writing, given: Draft, memory: Memory, now: datetime) -> Saved:
    """Update the memory that the draft repeats."""
    before = write.find([memory.id])[memory.id]
    told = Draft(merged(before.memory, given.fields))
    after = complete(told, memory.id, before.memory, now)
    if after == before.memory:
        return Saved(after, "unchanged", repeated=True)
    write.replace(before, after)
    return Saved(after, "updated", repeated=True)


def _save(write: Writing, stored: dict[str, Stored], id: str, given: Draft, now: datetime) -> Saved:
    before = stored.get(id)
    if before is not None and given.id is None and not _says_the_same(before.memory, given):
        id, before = _another_place(write, given)
    if before is None:
        memory = complete(given, id, None, now)
        stored[id] = write.add(memory)
        return Saved(memory, "added")
    memory = complete(given, id, before.memory, now)
    if memory == before.memory and not before.forgotten:
        return Saved(memory, "unchanged")
    stored[id] = write.replace(before, memory)
    return Saved(memory, "updated")


def _another_place(write: Writing, given: Draft) -> tuple[str, Stored | None]:
    """A longer id, for a memory whose short one is taken: by chance, or by what it once said and
    was edited since. The first that is free or already says the same."""
    id = start = made_id(given.fields, LONG_SUFFIX)
    number = 1
    while True:
        before = write.find([id]).get(id)
        if before is None or _says_the_same(before.memory, given):
            return id, before
        number += 1
        id = f"{start}-{number}"


def _says_the_same(memory: Memory, given: Draft) -> bool:
    """Whether a made id points at the memory it was made from, of the same time: what holds until
    March and what holds until May are two."""
    fields = given.fields
    if told_apart(memory, fields, VALIDITY):
        return False
    return said(fields) == said({name: getattr(memory, name) for name in SAID})
