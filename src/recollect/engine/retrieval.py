"""Whole memories by their ids, where some of them may not be there."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from difflib import get_close_matches
from typing import NamedTuple

from recollect.auth.capabilities import DELETE
from recollect.checks import is_text
from recollect.engine.searching import located
from recollect.engine.session import Session
from recollect.errors import NotFound
from recollect.present.visible import shown_id
from recollect.store.trash import Trashed
from recollect.times import day
from recollect.types import Filter
from recollect.vaults.known import HOME, FoundMemory

MOST_NEAREST = 3
MOST_READ = 100  # ids that begin alike, of which the nearest are named
SHORTEST = 3  # characters that ids have in common


class MissingMemory(NamedTuple):
    """An id that names no memory. `forgotten`: what it named; for callers who may bring it back.
    `nearest`: ids that are written almost so."""

    id: str
    forgotten: Trashed | None
    nearest: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """What became of it, or what may have been meant."""
        if (gone := self.forgotten) is not None:
            by = f" by {gone.by}" if gone.by else ""
            why = "" if gone.why == "forgotten" else f": {gone.why}"
            return f"The memory {self.id!r} was forgotten on {day(gone.at)}{by}{why}."
        nearest = f"; the nearest: {', '.join(map(shown_id, self.nearest))}" if self.nearest else ""
        return f"There is no memory {self.id!r}{nearest}."


class Retrieved(NamedTuple):
    """The memories that are there, and the ids that name none."""

    found: list[FoundMemory]
    missing: list[MissingMemory]


def retrieve(session: Session, ids: Sequence[str], *, as_of: datetime | None = None) -> Retrieved:
    try:
        return Retrieved(located(session, ids, as_of=as_of), [])
    except NotFound as error:
        refusal = error
    found, missing = [], []
    for id in ids:
        try:
            found += located(session, [id], as_of=as_of)
        except NotFound:
            missing.append(_missing(session, id))
    if found:
        return Retrieved(found, missing)
    sentences = [each.sentence for each in missing if each.forgotten or each.nearest]
    raise NotFound(" ".join(sentences)) if sentences else refusal


def _missing(session: Session, id: str) -> MissingMemory:
    if not session.caller.sees(HOME) or not is_text(id):
        return MissingMemory(id, None, ())
    if session.caller.may(DELETE):
        for gone in session.store.trash.listed(Filter(among=(id,), archived=True), 1):
            return MissingMemory(id, gone, ())
    return MissingMemory(id, None, _nearest(session, id))


def _nearest(session: Session, id: str) -> tuple[str, ...]:
    """Ids that begin alike, the most alike first: only those that begin with half of it, a
    quarter, or the first few characters are read."""
    for length in sorted({len(id) // 2, len(id) // 4, SHORTEST}, reverse=True):
        if length < SHORTEST:
            continue
        known = session.store.memories.beginning(id[:length], MOST_READ)
        if found := get_close_matches(id, known, MOST_NEAREST):
            return tuple(found)
    return ()
