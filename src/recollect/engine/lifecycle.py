"""What becomes of memories: one takes the place of another, several become one."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.checks import named_ids, several
from recollect.engine.session import Session
from recollect.engine.writing import changing, live
from recollect.errors import UserError
from recollect.ingest.draft import complete, draft
from recollect.ingest.merging import union
from recollect.ingest.succession import relink
from recollect.types import Memory


def merge(session: Session, ids: Sequence[str], *, into: str | None = None) -> Memory:
    """Make one memory of several: the first, or `into`, gets what the others say beside it, and the
    others are forgotten. `show` answers their ids with it. Returns the merged memory."""
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
