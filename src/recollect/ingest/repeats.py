"""A memory that someone saves again, in nearly the same words: one, not two."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from recollect.ingest.draft import Draft
from recollect.query.fts5 import any_of
from recollect.query.sameness import same_in_order
from recollect.query.terms import keywords
from recollect.store.base import COLUMNS, Store
from recollect.types import Filter, Memory

# Two memories are compared in each of these that both have.
SAYING = ("title", "text", "context", "why", "impact", "details")
# Where nothing else tells two memories apart, these do: given differently, they are two.
TELLING = ("kind", "path", "valid_from", "valid_until")
# A repetition shares nearly all its words with what it repeats, so it is among the best matches.
MOST_READ = 10
# Enough to find it by; a text of a thousand words would match half the vault.
MOST_ASKED = 24

Tokens = Callable[[str], list[str]]


def repeated(store: Store, given: Draft) -> Memory | None:
    """The live memory of the same project and space that the draft says again, if there is one."""
    fields = given.fields
    if given.id is not None:
        return None
    place = Filter(project=fields.get("project", ""), space=fields.get("space", ""))
    words = dict.fromkeys(keywords(f"{fields.get('title', '')} {fields.get('text', '')}"))
    asked = any_of(list(words)[:MOST_ASKED])
    weights = dict.fromkeys(COLUMNS["stemmed"], 1.0)
    found = store.keyword.match("stemmed", asked, weights, MOST_READ, place).found
    held = store.memories.get([one.memory_id for one in found])
    candidates = (held[one.memory_id] for one in found if one.memory_id in held)
    return next((one for one in candidates if repeats(one, fields, store.keyword.tokens)), None)


def repeats(memory: Memory, fields: dict[str, Any], tokens: Tokens) -> bool:
    """Whether the fields say of the same thing what the memory says already.

    Each text that both have must be the same in the same order; title and text that only one has
    make two memories of them.
    """
    if any(name in fields and fields[name] != getattr(memory, name) for name in TELLING):
        return False
    if any(bool(getattr(memory, name)) != bool(fields.get(name)) for name in ("title", "text")):
        return False
    return all(
        same_in_order(tokens(getattr(memory, name)), tokens(fields[name]))
        for name in SAYING
        if getattr(memory, name) and fields.get(name)
    )


def merged(memory: Memory, fields: dict[str, Any]) -> dict[str, Any]:
    """What an update of the memory by a repetition of it gives: of two texts the fuller one, the
    tags of both, and of everything else what was said last."""
    fuller = {
        name: max((getattr(memory, name), fields[name]), key=lambda text: len(text.split()))
        for name in SAYING
        if fields.get(name)
    }
    tags = tuple(dict.fromkeys((*memory.tags, *fields.get("tags", ()))))
    return fields | fuller | {"tags": tags}
