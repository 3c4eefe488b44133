"""A memory that someone saves again, in nearly the same words: one, not two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from recollect.ingest.draft import Draft
from recollect.ingest.ids import made_id
from recollect.query.fts5 import any_of
from recollect.query.sameness import same_in_order, spoken
from recollect.query.terms import keywords
from recollect.store.base import COLUMNS, Store
from recollect.types import Filter, Memory

# Two memories are compared in each of these that both have.
SAYING = ("title", "text", "context", "why", "impact", "details")
# Where nothing else tells two memories apart, these do: given differently, they are two.
VALIDITY = ("valid_from", "valid_until")
TELLING = ("kind", "path", *VALIDITY)
# A repetition shares nearly all its words with what it repeats, so it is among the best matches.
MOST_READ = 10
# Enough to find it by; a text of a thousand words would match half the vault.
MOST_ASKED = 24


def repeated(store: Store, given: Draft) -> Memory | None:
    """The live memory of the same project and space that the draft says again, if there is one."""
    fields = given.fields
    if given.id is not None:
        return None
    place = Filter(project=fields.get("project", ""), space=fields.get("space", ""))
    words = dict.fromkeys(keywords(f"{fields.get('title', '')} {fields.get('text', '')}"))
    asked = any_of(list(words)[:MOST_ASKED])
    weights = dict.fromkeys(COLUMNS["stemmed"], 1.0)
    found = store.keyword.match("stemmed", asked, weights, MOST_READ, place).matches
    ids = (made_id(fields), *(one.memory_id for one in found))  # the same words first
    held = store.memories.get(ids)
    candidates = (held[id] for id in ids if id in held and _stands_in(held[id], fields))
    return next((one for one in candidates if repeats(one, fields)), None)


def _stands_in(memory: Memory, fields: dict[str, Any]) -> bool:
    """Whether they are of one project and space: an edit may have moved what had the made id."""
    return all(getattr(memory, name) == fields.get(name, "") for name in ("project", "space"))


def repeats(memory: Memory, fields: dict[str, Any]) -> bool:
    """Whether the fields say of the same thing what the memory says already.

    Each text that both have must be the same in the same order; title and text that only one has
    make two memories of them.
    """
    if told_apart(memory, fields, TELLING):
        return False
    if any(bool(getattr(memory, name)) != bool(fields.get(name)) for name in ("title", "text")):
        return False
    return all(
        same_in_order(getattr(memory, name), fields[name])
        for name in SAYING
        if getattr(memory, name) and fields.get(name)
    )


def told_apart(memory: Memory, fields: dict[str, Any], names: Sequence[str]) -> bool:
    """Whether one of these fields is given otherwise than the memory has it. What it does not have
    at all can be added to it."""
    return any(
        name in fields and getattr(memory, name) not in (None, fields[name]) for name in names
    )


def merged(memory: Memory, fields: dict[str, Any]) -> dict[str, Any]:
    """What an update of the memory by a repetition of it gives: of two texts the fuller one, the
    tags of both, and of everything else what was said last. It stays as old as it is, and
    nothing is emptied."""
    told = {name: value for name, value in fields.items() if value != "" and name != "created_at"}
    fuller = {
        name: max((getattr(memory, name), told[name]), key=lambda text: len(spoken(text)))
        for name in SAYING
        if name in told
    }
    if "updated_at" in told:
        told["updated_at"] = max(memory.updated_at, told["updated_at"])
    tags = tuple(dict.fromkeys((*memory.tags, *fields.get("tags", ()))))
    return told | fuller | {"tags": tags}
