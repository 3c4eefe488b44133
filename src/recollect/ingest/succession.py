"""One memory in the place of another: a link from the old one to the new one, made in one write."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from msgspec.structs import replace

from recollect.checks import unknown_memory
from recollect.errors import UserError
from recollect.store.base import Writing
from recollect.types import Memory


def succeeded(write: Writing, old: Memory, new: str, now: datetime) -> Memory:
    """The old memory with a link to the one that takes its place: it is valid until now, or until
    it ended already."""
    _check_successor(write, old.id, new)
    ends = old.valid_until
    until = now if ends is None or ends > now else ends
    return replace(old, superseded_by=new, valid_until=until)


def _check_successor(write: Writing, id: str, successor: str) -> None:
    """UserError where that memory cannot take the place of the memory `id`: it is the same one, or
    `id` itself took, perhaps by way of others, its place. NotFound where there is none."""
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
    """Let these memories, whose successor is gone, lead to another one; '' for none."""
    stored = write.find([memory.id for memory in links])
    for each in stored.values():
        link = "" if each.memory.id == successor else successor
        write.replace(each, replace(each.memory, superseded_by=link))
