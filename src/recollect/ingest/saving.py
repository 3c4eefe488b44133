"""Saving: add or update a memory for each draft in one write transaction, and find the memory that
a draft repeats in nearly the same words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from msgspec.structs import replace

from recollect.checks import unknown_memory
from recollect.errors import UserError
from recollect.ingest.draft import (
    CONTENT,
    FIELDS,
    LONG_SUFFIX,
    Draft,
    complete_draft,
    content_of,
    make_id,
)
from recollect.query.fts5 import any_of
from recollect.query.sameness import same_in_order, split_words
from recollect.query.terms import keywords
from recollect.store.base import COLUMNS, KeywordQuery, Store, Stored, WriteOutcome, Writing
from recollect.types import TEXTS, Filter, Memory

# With different values of these fields, two memories are not repetitions.
VALIDITY = ("valid_from", "valid_until")
SAID = ("kind", *VALIDITY)
DISTINGUISHING = (*SAID, "path")
# A repetition shares nearly all words with the memory, which is therefore among the best matches.
MOST_READ = 10
# Words of the query: enough to find it; a thousand words would match half the vault.
MOST_ASKED = 24
Sameness = Literal["same words", "nearly the same words", "same meaning", "same file"]
SimilarReason = Sameness | Literal["seems to replace", "about the same thing"]
REPLACES: SimilarReason = "seems to replace"
ABOUT: SimilarReason = "about the same thing"


def find_repeated(store: Store, draft: Draft) -> Memory | None:
    """Return the live memory of the same project and space that the draft repeats, or None."""
    fields = draft.fields
    if draft.id is not None:
        return None
    project, space = fields.get("project", ""), fields.get("space", "")
    words = f"{fields.get('title', '')} {fields.get('text', '')}"
    similar = find_sharing_words(store, words, Filter(project=project, space=space))
    ids = (make_id(fields), *similar)  # exact ones first
    stored = store.memories.get(ids)
    for memory in (stored[id] for id in ids if id in stored):
        moved = (memory.project, memory.space) != (project, space)  # by an edit
        if not moved and repeats(memory, fields):
            return memory
    return None


def find_sharing_words(store: Store, text: str, place: Filter) -> list[str]:
    """Return the ids of the memories in `place` that share the most words with a text."""
    query = any_of(list(dict.fromkeys(keywords(text)))[:MOST_ASKED])
    weights = dict.fromkeys(COLUMNS["stemmed"], 1.0)
    found = store.keyword.match(KeywordQuery("stemmed", query, weights, MOST_READ, place))
    return [match.memory_id for match in found.matches]


def repeats(memory: Memory, fields: dict[str, Any]) -> bool:
    """Return whether the fields repeat the memory.

    Each text that both have must be nearly the same, in the same order. If only one of them has a
    title or a text, they are different memories.
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
    """Return whether it is a line of a transcript, which does not make a statement different."""
    return path.rpartition(":")[2].isdecimal()


def contradicts(memory: Memory, fields: dict[str, Any], names: Sequence[str]) -> bool:
    """Return whether one of these fields differs from the memory's. A value that the memory lacks
    does not count: it can be added."""
    return any(
        name in fields and getattr(memory, name) not in (None, fields[name]) for name in names
    )


def merge_fields(memory: Memory, fields: dict[str, Any]) -> dict[str, Any]:
    """Return the changes that a repetition makes to a memory: the longer of two texts, the tags of
    both, else the new value. `created_at` stays, and nothing is emptied."""
    new = {name: value for name, value in fields.items() if value != "" and name != "created_at"}
    longer = {
        name: max((getattr(memory, name), new[name]), key=lambda text: len(split_words(text)))
        for name in TEXTS
        if name in new
    }
    if "updated_at" in new:
        new["updated_at"] = max(memory.updated_at, new["updated_at"])
    tags = tuple(dict.fromkeys((*memory.tags, *fields.get("tags", ()))))
    return new | longer | {"tags": tags}


class Saved(NamedTuple):
    """The outcome of saving a draft. `repeated`: the draft repeats a memory of its project, and
    that one was updated. `redacted`: how many secrets of each kind were replaced. `changed`: the
    updated fields. `superseded`: the ids of the memories it replaces."""

    memory: Memory
    outcome: WriteOutcome
    repeated: bool = False
    redacted: Mapping[str, int] = MappingProxyType({})
    changed: tuple[str, ...] = ()
    superseded: tuple[str, ...] = ()


class SimilarMemory(NamedTuple):
    """An earlier memory, and how a saved one is similar to it."""

    memory: Memory
    why: SimilarReason


def saved_json(saved: Saved, similar: Sequence[SimilarMemory] = ()) -> dict[str, object]:
    """Return the outcome for programs; `superseded`, `redacted` and `similar` only if not empty."""
    facts = {"id": saved.memory.id, "outcome": saved.outcome, "repeated": saved.repeated}
    others = [
        {"id": each.memory.id, "title": each.memory.title, "why": each.why} for each in similar
    ]
    rest = {
        "superseded": list(saved.superseded), "redacted": dict(saved.redacted), "similar": others
    }  # fmt: skip
    return facts | {name: value for name, value in rest.items() if value}


def save_drafts(
    write: Writing, drafts: Sequence[Draft], now: datetime, allow_restore: Callable[[], object]
) -> list[Saved]:
    """Add or update a memory for each draft, in order; the same id again updates. `allow_restore`
    is called before a forgotten memory is restored, and may raise."""
    ids = [draft.id or make_id(draft.fields) for draft in drafts]
    stored = write.find(set(ids))
    saved = []
    for id, draft in zip(ids, drafts, strict=True):
        before = stored.get(id)
        if before is not None and draft.id is None and not _is_same(before.memory, draft):
            id, before = _find_free_id(write, draft)
        if before is not None and before.forgotten:
            allow_restore()
        saved.append(_save(write, stored, id, before, draft, now))
    return saved


def save_forgotten(
    write: Writing, drafts: Sequence[tuple[Draft, datetime]], now: datetime
) -> list[Saved]:
    """Add or update a memory, forgotten at that time, for each draft, which must have an id."""
    stored = write.find({draft.fields["id"] for draft, _ in drafts})
    done = []
    for draft, at in drafts:
        id = draft.fields["id"]
        before = stored.get(id)
        memory = complete_draft(draft, id, before and before.memory, now)
        if before is not None and (memory, at) == (before.memory, before.forgotten_at):
            done.append(Saved(memory, "unchanged"))
            continue
        after = write.replace(before, memory) if before else write.add(memory)
        write.forget(after, at)
        stored[id] = after._replace(forgotten_at=at)
        done.append(Saved(memory, "updated" if before else "added"))
    return done


def save_again(write: Writing, draft: Draft, memory: Memory, now: datetime) -> Saved:
    """Update the memory that the draft repeats."""
    before = write.find([memory.id])[memory.id]
    update = Draft(merge_fields(before.memory, draft.fields))
    after = complete_draft(update, memory.id, before.memory, now)
    if after == before.memory:
        return Saved(after, "unchanged", repeated=True)
    write.replace(before, after)
    return Saved(after, "updated", repeated=True, changed=changed_fields(before.memory, after))


def changed_fields(before: Memory, after: Memory) -> tuple[str, ...]:
    """Return the fields that differ; `updated_at` only if it is the only one."""
    names = [name for name in FIELDS if getattr(before, name) != getattr(after, name)]
    return tuple(name for name in names if name != "updated_at" or len(names) == 1)


def _save(
    write: Writing,
    stored: dict[str, Stored],
    id: str,
    before: Stored | None,
    draft: Draft,
    now: datetime,
) -> Saved:
    if before is None:
        memory = complete_draft(draft, id, None, now)
        stored[id] = write.add(memory)
        return Saved(memory, "added")
    memory = complete_draft(draft, id, before.memory, now)
    if memory == before.memory and not before.forgotten:
        return Saved(memory, "unchanged")
    stored[id] = write.replace(before, memory)
    return Saved(memory, "updated", changed=changed_fields(before.memory, memory))


def _find_free_id(write: Writing, draft: Draft) -> tuple[str, Stored | None]:
    """Return a longer id for a draft whose short one is taken, by chance or by a memory that was
    edited since: the first that is free, or belongs to a memory with this content."""
    id = start = make_id(draft.fields, LONG_SUFFIX)
    number = 1
    while True:
        before = write.find([id]).get(id)
        if before is None or _is_same(before.memory, draft):
            return id, before
        number += 1
        id = f"{start}-{number}"


def _is_same(memory: Memory, draft: Draft) -> bool:
    """Return whether the memory has the draft's content and validity: a fact until March and the
    same fact until May are two memories."""
    fields = draft.fields
    if contradicts(memory, fields, VALIDITY):
        return False
    return content_of(fields) == content_of({name: getattr(memory, name) for name in CONTENT})


def with_successor(write: Writing, old: Memory, new: str, now: datetime) -> Memory:
    """Return the old memory linked to its successor and valid until now, or until its own end if
    that is earlier."""
    _check_successor(write, old.id, new)
    ends = old.valid_until
    until = now if ends is None or ends > now else ends
    return replace(old, superseded_by=new, valid_until=until)


def _check_successor(write: Writing, id: str, successor: str) -> None:
    """Raise UserError if the successor is the memory itself, or was replaced by it, directly or
    through others; NotFound if there is no such memory."""
    if id == successor:
        raise UserError(f"The memory {id!r} cannot replace itself.")
    found = write.find([successor]).get(successor)
    if found is None or found.forgotten:
        raise unknown_memory(successor)
    passed = {successor}
    while (link := found.memory.superseded_by) and link not in passed:
        if link == id:
            raise UserError(
                f"The memory {id!r} already replaces {successor!r}, itself or through others; "
                "memories cannot replace each other in a circle."
            )
        passed.add(link)
        found = write.find([link]).get(link)
        if found is None:
            return


def relink(write: Writing, links: Iterable[Memory], successor: str) -> None:
    """Link these memories, whose successor is gone, to another successor; "" for none."""
    stored = write.find([memory.id for memory in links])
    for each in stored.values():
        link = "" if each.memory.id == successor else successor
        write.replace(each, replace(each.memory, superseded_by=link))
