"""Saving, changing and forgetting memories."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from msgspec.structs import replace

from recollect.auth.capabilities import SEARCH
from recollect.checks import is_text, named_ids, several, unknown_memory
from recollect.engine.session import Session
from recollect.errors import Changed, NotFound, UserError
from recollect.ingest.draft import Draft, complete, draft
from recollect.ingest.repeats import repeated
from recollect.ingest.saving import Saved, save_again, save_drafts
from recollect.memory_json import revision
from recollect.store.base import Stored, WriteOutcome, Writing
from recollect.types import Memory


def save(session: Session, /, **fields: object) -> Memory:
    """Save one memory, or update the one that it repeats. It is on the disk when this returns."""
    [saved] = save_all(session, [draft(fields)])
    return saved.memory


def save_all(session: Session, drafts: Sequence[Draft], *, redact: bool = True) -> list[Saved]:
    """Save these memories, all or none, and embed them, at once or in the background.

    A draft without an id that repeats a memory of its project updates that memory. What looks like
    a secret is replaced first; without `redact` it is kept.
    """
    session.models.embeds()  # settings that name no model are refused before anything is kept
    clean = [session.redaction.of_draft(each, redact=redact) for each in drafts]
    with session.store.writing() as write:
        every = [_saved(session, write, each)._replace(redacted=found) for each, found in clean]
    changed = [saved.memory for saved in every if saved.outcome != "unchanged"]
    session.wrote("save", [memory.id for memory in changed])
    session.embed_soon(changed)
    # What is new was said by the caller; what was there before is for those who may read.
    return [
        saved if saved.outcome == "added" else saved._replace(memory=session.shown(saved.memory))
        for saved in every
    ]


def _saved(session: Session, write: Writing, draft: Draft) -> Saved:
    before = repeated(session.store, draft)
    if before is not None:
        return save_again(write, draft, before, session.clock())
    [saved] = save_drafts(write, [draft], session.clock(), session.require_restore)
    return saved


def edit(session: Session, id: str, /, **changes: Any) -> Memory:
    """The same as `edited`, for those who want no more than the memory."""
    return edited(session, id, **changes).memory


def edited(
    session: Session,
    id: str,
    /,
    *,
    add_tags: Sequence[str] = (),
    remove_tags: Sequence[str] = (),
    if_revision: str | None = None,
    redact: bool = True,
    **changes: object,
) -> Saved:
    """Change fields of a memory; None puts a field back to its default. With `if_revision` (see
    `memory_json.revision`) only if it is still as it was then. `redact` as for `save_all`."""
    if "id" in changes:
        raise UserError("An id cannot be changed; save a new memory and forget this one.")
    session.models.embeds()  # as for `save_all`
    added, removed = several(add_tags, "add_tags"), several(remove_tags, "remove_tags")
    with _changing(session, [id]) as write:
        before = live(write.find(named_ids([id])), id)
        _check_revision(before.memory, if_revision)
        if added or removed:
            if "tags" in changes:
                raise UserError("Give either tags, or add_tags and remove_tags.")
            kept = [tag for tag in before.memory.tags if tag not in removed]
            changes["tags"] = [*kept, *added]
        change, found = session.redaction.of_draft(draft(changes, change=True), redact=redact)
        after = complete(change, id, before.memory, session.clock())
        if not (after.title or after.text):
            raise UserError("A memory needs a title or a text.")
        if after != before.memory:
            write.replace(before, after)
    same = after == before.memory
    session.wrote("edit", [] if same else [id])
    session.embed_soon([] if same else [after])
    outcome: WriteOutcome = "unchanged" if same else "updated"
    return Saved(session.shown(after), outcome, redacted=found)


def pin(session: Session, ids: Sequence[str]) -> list[Memory]:
    """Make memories core, the most trusted tier. Their age stays as it is."""
    with _changing(session, ids) as write:
        found = write.find(named_ids(ids))
        pinned, changed = [], []
        for before in [live(found, id) for id in ids]:
            after = replace(before.memory, tier="core")
            if after != before.memory:
                write.replace(before, after)
                changed.append(after.id)
            pinned.append(after)
    session.wrote("pin", changed)
    return [session.shown(memory) for memory in pinned]


def forget(
    session: Session,
    ids: Sequence[str],
    *,
    undo: bool = False,
    purge: bool = False,
    if_revision: str | None = None,
) -> None:
    """Take memories out of every answer; `undo` brings them back, `purge` is for good. With
    `if_revision` only if they are still as they were then."""
    with _changing(session, ids) as write:
        found = write.find(named_ids(ids))
        for id in dict.fromkeys(ids):
            if id in found:
                _check_revision(found[id].memory, if_revision)
            if purge and id in found:
                write.purge(found[id])
            elif undo:
                write.restore(_forgotten(found, id))
            else:
                write.forget(live(found, id), session.clock())
    session.wrote("purge" if purge else "restore" if undo else "forget", ids)
    if undo:
        session.embed_soon([stored.memory for stored in found.values()])
    if purge:
        session.store.scrub()


@contextmanager
def _changing(session: Session, ids: Sequence[str]) -> Iterator[Writing]:
    """A write to these memories. For one that another vault holds, the error names that vault: the
    others are only read. They are asked when the write is over, so that no writer waits for
    them."""
    try:
        with session.store.writing() as write:
            yield write
    except NotFound as error:
        for id in filter(is_text, ids) if session.caller.may(SEARCH) else ():
            if (other := _other_vault(session, id)) is not None:
                message = f"The memory {id!r} is not yours but in {other!r}; change it there."
                raise NotFound(message) from error
        raise


def _other_vault(session: Session, id: str) -> str | None:
    """The vault or collection that holds a memory; None if it is in the home's own, or nowhere."""
    if id in session.store.memories.get([id]):
        return None
    fanned = session.fanned()
    if fanned is not None and id in fanned.memories.get([id]):
        return id.partition(":")[0]
    found = session.elsewhere(id)
    return None if found is None else found.vault


def _check_revision(memory: Memory, expected: str | None) -> None:
    if expected is not None and revision(memory) != expected:
        raise Changed(f"The memory {memory.id!r} has changed meanwhile; look at it again first.")


def live(found: Mapping[str, Stored], id: str) -> Stored:
    """The memory of that id; NotFound where there is none, or it is forgotten."""
    if id not in found or found[id].forgotten:
        raise unknown_memory(id)
    return found[id]


def _forgotten(found: Mapping[str, Stored], id: str) -> Stored:
    if id not in found or not found[id].forgotten:
        raise NotFound(f"The memory {id!r} is not among the forgotten ones.")
    return found[id]
