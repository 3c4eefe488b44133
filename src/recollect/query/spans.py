"""What of a query's text stands outside some pieces of it."""

from __future__ import annotations

from collections.abc import Iterable

from recollect.types import Span


def outside(text: str, spans: Iterable[Span]) -> str:
    """The text less these pieces, with a space where each one was."""
    kept, place = [], 0
    for span in sorted(spans):
        kept.append(text[place : span.start])
        place = max(place, span.end)
    return " ".join((*kept, text[place:]))
