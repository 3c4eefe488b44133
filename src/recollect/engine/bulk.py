"""Which memories a change of many is about."""

from __future__ import annotations

from msgspec.structs import replace

from recollect.checks import LARGEST_LIMIT, clean_query
from recollect.engine.filters import read_filter
from recollect.engine.searching import EVERYTHING
from recollect.engine.session import Session
from recollect.errors import UserError
from recollect.query.terms import keywords
from recollect.types import Filter


def selected(session: Session, *, query: str = "", filter: Filter = EVERYTHING) -> list[str]:
    chosen = selection(session, query, filter)
    return [memory.id for memory in session.store.memories.browse(chosen, LARGEST_LIMIT)]


def selection(session: Session, query: str, filter: Filter) -> Filter:
    """The filter with the query's keywords. UserError where it would let everything pass: a change
    of all memories is hardly ever meant."""
    chosen = read_filter(session, filter)
    if clean_query(query).strip():
        words = tuple(keywords(query))
        if not words:
            raise UserError(f"The query {query!r} has no word to select by; add one.")
        chosen = replace(chosen, holding=words)
    if not chosen.narrows():
        raise UserError("Name memories by id, or give a filter or a query.")
    return chosen
