"""What somebody may have meant who typed a command or an option that there is not."""

from __future__ import annotations

from recollect.query.spelling import within

TYPE_CHECKING = False  # what typing.TYPE_CHECKING is, without the time to import typing
if TYPE_CHECKING:
    from collections.abc import Iterable

TWO_ERRORS = 6  # letters from which a word with two errors is still that word


def near_misses(typed: str, known: Iterable[str]) -> list[str]:
    """Those of the known names that a typing error may have turned into this one; where there are
    none, those that two may have."""
    names = [*known]
    for errors in (1,) if len(typed) < TWO_ERRORS else (1, 2):
        if found := [name for name in names if within(typed.lower(), name, errors)]:
            return found
    return []


def did_you_mean(names: list[str]) -> str:
    """A question with the names, after a space; nothing where there are none."""
    return f" Did you mean {' or '.join(names)}?" if names else ""
