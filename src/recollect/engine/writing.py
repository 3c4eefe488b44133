"""Saving, changing and forgetting memories; copies of them in collections."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

from msgspec.structs import replace

from recollect.auth.capabilities import DELETE, SEARCH, WRITE
from recollect.checks import as_tuple, check_ids, is_text, unknown_memory
from recollect.engine.filters import in_known_projects
from recollect.engine.operations import operation
from recollect.engine.session import Session
from recollect.errors import Changed, NotFound, UserError
from recollect.ingest.draft import Draft, complete_draft, make_draft
from recollect.ingest.saving import (
    Saved,
    changed_fields,
    find_repeated,
    save_again,
    save_drafts,
    with_successor,
)
from recollect.memory_json import revision
from recollect.store.base import Stored, WriteOutcome, Writing
from recollect.store.sqlite.store import SqliteStore
from recollect.types import Memory, about

Changes = Callable[[Memory], dict[str, object]]


@operation(WRITE, retry=True)
def save(session: Session, /, **fields: object) -> Memory:
    """Save one memory, or update the one that it repeats. It is durable when this returns.
    `supersedes`: the ids of memories that it replaces."""
    supersedes: Any = fields.pop("supersedes", ())
    [saved] = save_all(session, [make_draft(fields, supersedes=supersedes, now=session.clock())])
    return saved.memory


@operation(WRITE, retry=True)
def save_all(session: Session, drafts: Sequence[Draft], *, redact: bool = True) -> list[Saved]:
    """Save these memories, all or none, and embed them, at once or in the background.

    A draft without an id that repeats a memory of its project updates that memory. A project that
    differs from a known one only in case or spaces gets the known spelling. With `redact`, what
    looks like a secret is redacted first.
    """
    session.models.embeds()  # raises an error for wrong settings before anything is saved
    drafts = [*in_known_projects(session, drafts)]
    redaction = session.redaction
    clean = [redaction.redact_draft(each, redact=redact) for each in drafts]
    replaced = [id for each in drafts for id in each.supersedes]
    with write_memories(session, "save", replaced) as write:
        every = [_save(session, write, each)._replace(redacted=found) for each, found in clean]
    changed = [saved.memory for saved in every if saved.outcome != "unchanged"]
    session.wrote("save", [memory.id for memory in changed])
    session.embed_soon(changed)
    # A new memory is the caller's own text; of an older one, `visible` may hide most.
    return [
        saved if saved.outcome == "added" else saved._replace(memory=session.visible(saved.memory))
        for saved in every
    ]


def _save(session: Session, write: Writing, draft: Draft) -> Saved:
    # A memory that supersedes others is a new one, even if it repeats one of them.
    before = None if draft.supersedes else find_repeated(session.store, draft)
    if before is not None:
        return save_again(write, draft, before, session.clock())
    [saved] = save_drafts(write, [draft], session.clock(), session.require_restore)
    if saved.memory.superseded_by and saved.outcome != "unchanged":
        with_successor(write, saved.memory, saved.memory.superseded_by, session.clock())
    stored = write.find(check_ids(draft.supersedes))
    for old in [require_live(session, stored, id) for id in draft.supersedes]:
        write.replace(old, with_successor(write, old.memory, saved.memory.id, session.clock()))
    return saved._replace(superseded=draft.supersedes)


@operation(WRITE, retry=True)
def edit_all(
    session: Session,
    ids: Sequence[str],
    /,
    *,
    add_tags: Sequence[str] = (),
    remove_tags: Sequence[str] = (),
    append: str | None = None,
    section: str | None = None,
    if_revision: str | None = None,
    redact: bool = True,
    keep_age: bool = False,
    **changes: object,
) -> list[Saved]:
    """Change fields of memories, of all or none; None resets a field to its default.

    append: a paragraph to add to the text.
    section: a heading; `text` replaces what is below it.
    if_revision: raise Changed unless the memories have this `memory_json.revision`.
    redact: redact secrets first.
    keep_age: leave `updated_at` as it is.
    """
    added, removed = as_tuple(add_tags, "add_tags"), as_tuple(remove_tags, "remove_tags")
    if "id" in changes:
        raise UserError("An id cannot be changed; save a new memory and forget this one.")
    if (added or removed) and "tags" in changes:
        raise UserError("Give either tags, or add_tags and remove_tags.")
    part = _part_of_text(append, section, changes)
    return _edit(
        session,
        "edit",
        ids,
        lambda memory: changes | part(memory) | _change_tags(memory, added, removed),
        if_revision=if_revision,
        redact=redact,
        keep_age=keep_age,
    )


def _part_of_text(append: str | None, section: str | None, changes: dict[str, object]) -> Changes:
    """Return the change that `append`, or `section` with the new text, makes to a memory."""
    if append is None and section is None:
        return lambda memory: {}
    from recollect.documents import markdown  # noqa: PLC0415  start-up time

    if section is None:
        if not isinstance(append, str) or not append.strip() or "text" in changes:
            raise UserError("append needs a text to add, and no other text.")
        return lambda memory: markdown.append_text(memory, append)
    text = changes.pop("text", None)
    if not isinstance(section, str) or not isinstance(text, str) or append is not None:
        raise UserError("section needs its new text as text, and nothing to append.")
    return lambda memory: markdown.replace_section(memory, section, text)


@operation(WRITE, retry=True)
def pin(session: Session, ids: Sequence[str]) -> list[Memory]:
    """Make memories core, the most trusted tier. Their age stays as it is."""
    return _move(session, "pin", ids, lambda memory: {"tier": "core"})


@operation(WRITE, retry=True)
def unpin(session: Session, ids: Sequence[str]) -> list[Memory]:
    """Return core memories to their former tier: file, or capture. Their age stays as it is."""
    files = session.store.folders.places(check_ids(ids))

    def tier(memory: Memory) -> dict[str, object]:
        if memory.tier != "core":
            return {}
        return {"tier": "file" if memory.id in files else "capture"}

    return _move(session, "unpin", ids, tier)


@operation(WRITE, retry=True)
def tag(
    session: Session, ids: Sequence[str], *, add: Sequence[str] = (), remove: Sequence[str] = ()
) -> list[Memory]:
    """Add tags to memories, and remove others. Their age stays as it is."""
    added, removed = as_tuple(add, "add"), as_tuple(remove, "remove")
    if not (added or removed):
        raise UserError("Name a tag to add or to remove.")
    return _move(session, "tag", ids, lambda memory: _change_tags(memory, added, removed))


@operation(WRITE, retry=True)
def move(
    session: Session, ids: Sequence[str], *, project: str | None = None, space: str | None = None
) -> list[Memory]:
    """Move memories to a project or a space, or with '' out of it. Their age stays as it is."""
    places = {"project": project, "space": space}
    named: dict[str, object] = {name: place for name, place in places.items() if place is not None}
    if not named:
        raise UserError("Name the project or the space to move them to.")
    return _move(session, "move", ids, lambda memory: named)


def supersede_all(session: Session, olds: Sequence[str], new: str) -> list[Memory]:
    """Replace several memories with `new`, in one write; return the replaced ones."""
    return _move(session, "supersede", olds, lambda memory: {"superseded_by": new}, target=new)


def _move(
    session: Session, action: str, ids: Sequence[str], changes: Changes, target: str = ""
) -> list[Memory]:
    """Change where memories belong; they say the same, so their age stays."""
    done = _edit(session, action, ids, changes, keep_age=True, target=target)
    return [saved.memory for saved in done]


def _edit(
    session: Session,
    action: str,
    ids: Sequence[str],
    changes: Changes,
    *,
    if_revision: str | None = None,
    redact: bool = True,
    keep_age: bool,
    target: str = "",
) -> list[Saved]:
    """Change the fields that `changes` returns for each memory, in one transaction. `target`: the
    memory that replaces them."""
    session.models.embeds()  # as in `save_all`
    every, now, redaction = list[Saved](), session.clock(), session.redaction
    with write_memories(session, action, [*ids, *filter(None, [target])], target=target) as write:
        found = write.find(check_ids(ids))
        for before in [require_live(session, found, id) for id in dict.fromkeys(ids)]:
            _check_revision(before.memory, if_revision)
            fields = changes(before.memory)
            named = make_draft(fields, change=True, now=now)
            change, secrets = redaction.redact_draft(named, redact=redact)
            after = complete_draft(change, before.memory.id, before.memory, now)
            # A link alone does not change what the memory says.
            if keep_age or {"superseded_by"} <= fields.keys() <= {"superseded_by", "valid_until"}:
                after = replace(after, updated_at=before.memory.updated_at)
            if not (after.title or after.text):
                raise UserError("A memory needs a title or a text.")
            link = after.superseded_by
            if link and link != before.memory.superseded_by:
                after = with_successor(write, after, link, now)
            outcome: WriteOutcome = "unchanged" if after == before.memory else "updated"
            if outcome == "updated":
                write.replace(before, after)
            changed = changed_fields(before.memory, after)
            every.append(Saved(after, outcome, redacted=secrets, changed=changed))
    updated = [saved.memory for saved in every if saved.outcome == "updated"]
    session.wrote(action, [memory.id for memory in updated])
    session.embed_soon(updated)
    return [saved._replace(memory=session.visible(saved.memory)) for saved in every]


def _change_tags(
    memory: Memory, added: tuple[str, ...], removed: tuple[str, ...]
) -> dict[str, object]:
    """Return the new tags of a memory as a change; empty if no tags are added or removed."""
    if not (added or removed):
        return {}
    return {"tags": [*(tag for tag in memory.tags if tag not in removed), *added]}


@operation(DELETE, retry=True)
def forget(
    session: Session,
    ids: Sequence[str],
    *,
    undo: bool = False,
    purge: bool = False,
    if_revision: str | None = None,
) -> None:
    """Move memories to the trash; `undo` brings them back, `purge` deletes them permanently.
    `if_revision`: raise Changed unless they have this `memory_json.revision`."""
    action = "purge" if purge else "restore" if undo else "forget"
    with write_memories(session, action, ids) as write:
        found = write.find(check_ids(ids))
        for id in dict.fromkeys(ids):
            if id in found:
                _check_revision(found[id].memory, if_revision)
            if purge and id in found:
                write.purge(found[id])
            elif undo:
                if id not in found or not found[id].forgotten:
                    message = f"{id!r} is not in the trash. `recollect trash` lists what is."
                    raise NotFound(message, id, forgotten=True)
                write.restore(found[id])
            else:
                write.forget(require_live(session, found, id), session.clock())
    session.wrote(action, ids)
    if undo:
        session.embed_soon([stored.memory for stored in found.values()])
    if purge:
        session.store.scrub()


@contextmanager
def write_memories(
    session: Session, action: str, ids: Sequence[str], *, target: str = ""
) -> Iterator[Writing]:
    """Begin a write to these memories. If one belongs to another, read-only vault, the error names
    that vault; it is looked up after the write, so that no writer waits for it."""
    try:
        with session.writing(action, target=target) as write:
            yield write
    except NotFound as error:
        for id in filter(is_text, ids) if session.caller.may(SEARCH) else ():
            if (other := _other_vault(session, id)) is not None:
                message = f"The memory {id!r} is not yours but in {other!r}; change it there."
                raise NotFound(message) from error
        raise


def _other_vault(session: Session, id: str) -> str | None:
    """Return the vault or collection that holds a memory; None for the home's own, or if no vault
    has it."""
    if id in session.store.memories.get([id]):
        return None
    shared = session.with_collections(session.store)
    if shared is not None and id in shared.memories.get([id]):
        return id.partition(":")[0]
    found = session.find_elsewhere(id)
    return None if found is None else found.vault


def _check_revision(memory: Memory, expected: str | None) -> None:
    if expected is not None and revision(memory) != expected:
        raise Changed(f"The memory {memory.id!r} has changed meanwhile; look at it again first.")


def require_live(session: Session, found: Mapping[str, Stored], id: str) -> Stored:
    """Return the memory with this id; raise NotFound if it is unknown or forgotten. Only callers
    who may restore it learn that it is in the trash."""
    if id not in found or found[id].forgotten:
        raise unknown_memory(id, in_trash=id in found and session.caller.may(DELETE))
    return found[id]


@operation(WRITE, SEARCH)
def publish(session: Session, ids: Sequence[str], to: str) -> list[Memory]:
    """Copy memories of your own vault into a collection, or update the copies."""
    memories = session.store.memories.get(check_ids(ids))
    for id in ids:
        if id not in memories:
            raise unknown_memory(id)
    store = _collection(session, to, make=True)
    with session.writing("publish", store=store) as write:
        stored = write.find(ids)
        if any(copy.forgotten for copy in stored.values()):
            session.require_restore()
        for id in dict.fromkeys(ids):
            if id not in stored:
                write.add(memories[id])
            elif stored[id].forgotten or stored[id].memory != memories[id]:
                write.replace(stored[id], memories[id])
    session.wrote("publish", ids)
    session.embed_soon([*memories.values()], store)
    return [memories[id] for id in ids]


@operation(DELETE)
def unpublish(session: Session, ids: Sequence[str], collection: str) -> None:
    """Remove memories from a collection; your own copies stay."""
    store = _collection(session, collection)
    with session.writing("unpublish", store=store) as write:
        found = write.find(check_ids(ids))
        for id in dict.fromkeys(ids):
            write.forget(require_live(session, found, id), session.clock())
    session.wrote("unpublish", ids)


def _collection(session: Session, name: str, *, make: bool = False) -> SqliteStore:
    collections = session.others.collections
    if collections is None or not session.caller.shares(name):
        raise NotFound(
            f"There is no collection {name!r}. "
            f"`recollect vault collections add {name} FILE` creates it."
        )
    return collections.store(name, make=make)


@operation(WRITE, retry=True)
def edit(session: Session, id: str, /, **changes: Any) -> Memory:
    """Change fields of one memory as `edit_all` does, and return it."""
    [saved] = edit_all(session, [id], **changes)
    return saved.memory


@operation(WRITE, retry=True, route="POST /supersede/{id}")
def supersede(
    session: Session,
    id: Annotated[str, about("the memory that no longer holds")],
    by: Annotated[str, about("the memory that takes its place", "auth-jwt-002")],
) -> Memory:
    """Mark a memory as replaced by a newer one. It gets a link to that one and is valid until now;
    searches answer with the newer one first. Both stay, and keep their age. Memories cannot
    replace each other in a circle. Returns the old one."""
    [after] = supersede_all(session, [id], by)
    return after


@operation(DELETE, retry=True)
def restore(session: Session, ids: Sequence[str]) -> list[Memory]:
    """Bring forgotten memories back, all or none."""
    forget(session, ids, undo=True)
    found = session.store.memories.get(ids)
    return [session.visible(found[id]) for id in dict.fromkeys(ids) if id in found]
