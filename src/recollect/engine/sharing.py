"""Copies of memories in collections, where whoever belongs to one finds them."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.checks import named_ids, unknown_memory
from recollect.engine.session import Session
from recollect.engine.writing import live
from recollect.errors import NotFound
from recollect.store.sqlite.store import SqliteStore
from recollect.types import Memory


def publish(session: Session, ids: Sequence[str], to: str) -> list[Memory]:
    memories = session.store.memories.get(named_ids(ids))
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


def unpublish(session: Session, ids: Sequence[str], collection: str) -> None:
    store = _collection(session, collection)
    with session.writing("unpublish", store=store) as write:
        found = write.find(named_ids(ids))
        for id in dict.fromkeys(ids):
            write.forget(live(found, id), session.clock())
    session.wrote("unpublish", ids)


def _collection(session: Session, name: str, *, make: bool = False) -> SqliteStore:
    collections = session.others.collections
    if collections is None or not session.caller.shares(name):
        raise NotFound(f"There is no collection {name!r} here.")
    return collections.store(name, make=make)
