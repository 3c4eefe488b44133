"""Finding the memory that a draft repeats in nearly the same words, so that there are not two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from recollect.ingest.draft import Draft
from recollect.ingest.ids import made_id
from recollect.query.fts5 import any_of
from recollect.query.sameness import same_in_order, spoken
from recollect.query.terms import keywords
from recollect.store.base import COLUMNS, KeywordQuery, Store
from recollect.types import Filter, Memory

# The texts that are compared, each where both have it.
TEXTS = ("title", "text", "context", "why", "impact", "details")
# Fields that tell two memories apart: with different values, they are two.
VALIDITY = ("valid_from", "valid_until")
SAID = ("kind", *VALIDITY)
DISTINGUISHING = (*SAID, "path")
# A repetition shares nearly all its words with the memory, which is among the best matches then.
MOST_READ = 10
# Words of the query: enough to find it by; a thousand words would match half the vault.
MOST_ASKED = 24


def repeated(store: Store, draft: Draft) -> Memory | None:
    """The live memory of the same project and space that the draft repeats, if there is one."""
    fields = draft.fields
    if draft.id is not None:
        return None
    place = Filter(project=fields.get("project", ""), space=fields.get("space", ""))
    words = f"{fields.get('title', '')} {fields.get('text', '')}"
    ids = (made_id(fields), *sharing_words(store, words, place))  # the same words first
    stored = store.memories.get(ids)
    candidates = (stored[id] for id in ids if id in stored and _is_in_place(stored[id], fields))
    return next((memory for memory in candidates if repeats(memory, fields)), None)


def sharing_words(store: Store, text: str, place: Filter) -> list[str]:
    """The ids of the memories there that share the most words with a text, best first."""
    query = any_of(list(dict.fromkeys(keywords(text)))[:MOST_ASKED])
    weights = dict.fromkeys(COLUMNS["stemmed"], 1.0)
    found = store.keyword.match(KeywordQuery("stemmed", query, weights, MOST_READ, place))
    return [match.memory_id for match in found.matches]


def _is_in_place(memory: Memory, fields: dict[str, Any]) -> bool:
    """Whether the project and the space are the same; an edit may have moved the memory."""
    return all(getattr(memory, name) == fields.get(name, "") for name in ("project", "space"))


def repeats(memory: Memory, fields: dict[str, Any]) -> bool:
    """Whether the fields repeat the memory.

    Each text that both have must be nearly the same, in the same order. If only one of them has a
    title or a text, they are two memories.
    """
    both_places = _is_place(fields.get("path", "")) and _is_place(memory.path or ":0")
    if contradicts(memory, fields, SAID if both_places else DISTINGUISHING):
        return False
    if any(bool(getattr(memory, name)) != bool(fields.get(name)) for name in ("title", "text")):
        return False
    return all(
        same_in_order(getattr(memory, name), fields[name])
        for name in TEXTS
        if getattr(memory, name) and fields.get(name)
    )


def _is_place(path: str) -> bool:
    """Whether it is a line of a transcript: where something was said does not make it another
    fact."""
    return path.rpartition(":")[2].isdecimal()


def contradicts(memory: Memory, fields: dict[str, Any], names: Sequence[str]) -> bool:
    """Whether one of these fields has another value than the memory. A value that the memory lacks
    does not count: it can be added."""
    return any(
        name in fields and getattr(memory, name) not in (None, fields[name]) for name in names
    )


def merged(memory: Memory, fields: dict[str, Any]) -> dict[str, Any]:
    """The changes that a repetition makes to a memory: the longer of two texts, the tags of both,
    and for everything else the new value. `created_at` stays, and nothing is emptied."""
    new = {name: value for name, value in fields.items() if value != "" and name != "created_at"}
    longer = {
        name: max((getattr(memory, name), new[name]), key=lambda text: len(spoken(text)))
        for name in TEXTS
        if name in new
    }
    if "updated_at" in new:
        new["updated_at"] = max(memory.updated_at, new["updated_at"])
    tags = tuple(dict.fromkeys((*memory.tags, *fields.get("tags", ()))))
    return new | longer | {"tags": tags}
