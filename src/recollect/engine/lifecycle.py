"""What becomes of memories: several become one; what was forgotten, and the way back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from recollect.checks import LARGEST_LIMIT, bounded, clean_query, named_ids, several
from recollect.engine.bulk import selection
from recollect.engine.filters import read_filter
from recollect.engine.searching import EVERYTHING, prepare_search
from recollect.engine.session import Session
from recollect.engine.writing import changing, live
from recollect.errors import UserError
from recollect.ingest.draft import complete, draft
from recollect.ingest.merging import union
from recollect.ingest.succession import relink
from recollect.pipeline import run
from recollect.store.base import Store
from recollect.store.trash import Trashed, TrashPlace
from recollect.times import moved
from recollect.types import Filter, Memory

# A search copies what was forgotten into memory, some thousand a second: the last ones.
MOST_SEARCHED = 20_000
PURGED_AT_ONCE = 1000  # so that no other writer waits long
LAST = datetime.max.replace(tzinfo=UTC)


def merge(session: Session, ids: Sequence[str], *, into: str | None = None) -> Memory:
    names = list(dict.fromkeys([*([into] if into is not None else ()), *several(ids, "ids")]))
    if len(names) < 2:
        raise UserError("A memory cannot be merged with itself; name two or more.")
    kept, *others = names
    session.models.embeds()  # as for `save_all`
    now = session.clock()
    with changing(session, "merge", names, target=kept) as write:
        found = write.find(named_ids(names))
        first, *rest = [live(found, id) for id in names]
        fields = union(first.memory, [each.memory for each in rest], names)
        after = complete(draft(fields, change=True), kept, first.memory, now)
        if after != first.memory:
            write.replace(first, after)
        for each in rest:
            write.forget(each, now)
        links = session.store.memories.replaced(others)
        relink(write, [each for each in links if each.id not in names], kept)
    session.wrote("merge", names)
    session.embed_soon([after])
    return session.shown(after)


def trash(
    session: Session,
    query: str = "",
    filter: Filter = EVERYTHING,
    limit: int = 20,
    after: TrashPlace | None = None,
) -> list[Trashed]:
    chosen, limit = read_filter(session, filter), bounded(limit)
    if not clean_query(query).strip():
        return session.store.trash.listed(chosen, limit, after)
    recipe = session.recipe().asking_vectors("never")
    _, search = prepare_search(session, query, filter=replace(chosen, archived=True), limit=limit)
    with _searchable(session) as (store, found):
        answer = run(
            recipe, replace(search, include_expired=True), store=store, models=session.models
        )
        return [found[result.id] for result in answer]


def selected_in_trash(
    session: Session, *, query: str = "", filter: Filter = EVERYTHING
) -> list[str]:
    chosen = selection(session, query, filter)
    if not chosen.holding:
        listed = session.store.trash.listed(chosen, LARGEST_LIMIT)
        return [each.memory.id for each in listed]
    with _searchable(session) as (store, _):
        found = store.memories.browse(replace(chosen, archived=True), LARGEST_LIMIT)
        return [memory.id for memory in found]


@contextmanager
def _searchable(session: Session) -> Iterator[tuple[Store, dict[str, Trashed]]]:
    """A vault in memory that holds what was forgotten last, to search in."""
    from recollect.store.sqlite.store import UNKEPT, ScratchStore  # noqa: PLC0415  start-up time

    listed = session.store.trash.listed(EVERYTHING, MOST_SEARCHED)
    store = ScratchStore()
    try:
        with store.writing(UNKEPT) as write:
            for each in listed:
                write.add(each.memory)
        yield store, {each.memory.id: each for each in listed}
    finally:
        store.close()


def empty_trash(
    session: Session, *, before: datetime | None = None, automatic: bool = False
) -> int:
    purged = 0
    while True:
        listed = session.store.trash.listed(
            EVERYTHING, PURGED_AT_ONCE, TrashPlace(before or LAST, "")
        )
        if not listed:
            break
        ids = [each.memory.id for each in listed]
        with session.writing(
            "purge", reason="The trash was emptied.", automatic=automatic
        ) as write:
            for stored in write.find(ids).values():
                if stored.forgotten:
                    write.purge(stored)
        session.wrote("purge", ids)
        purged += len(ids)
    if purged:
        session.store.scrub()
    return purged


def empty_old_trash(session: Session, *, automatic: bool = False) -> int:
    """Purge what has been in the trash for longer than the setting `trash.keep` says."""
    days = session.settings.trash.keep
    if not days:
        return 0
    before = moved(session.clock(), -timedelta(days=days))
    return empty_trash(session, before=before, automatic=automatic)
