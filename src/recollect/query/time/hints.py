"""A quick check for times in a query. Most name none, and then the grammar is not imported."""

from __future__ import annotations

import re

from recollect.query.time.translation import translate

HINT = re.compile(
    r"\b(?:(?:19|20|21)[0-9][0-9]|q[1-4]|today|tonight|tomorrow|yesterday|recently|lately|these|this|last"
    r"|past|previous|current|next|ago|quarter|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
    r"|mon|tue|wed|thu|fri|sat|sun|spring|summer|autumn|fall|winter)",
    re.IGNORECASE | re.ASCII,
)
# Words before an event, such as `before the release`.
LEADS = frozenset(("before", "after", "since", "until"))


def may_name_a_time(text: str, *, languages: bool) -> bool:
    """Return False if neither the grammar nor an event can match. languages: include those other
    than English."""
    return bool(
        HINT.search(text)
        or LEADS.intersection(text.lower().split())
        or (languages and translate(text))
    )
