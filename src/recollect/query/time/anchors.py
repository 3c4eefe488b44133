"""Times that are named by what happened then: `before the release of atlas 3.0`, `since the move`.

The memory whose title holds all of these words tells the date.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime

from recollect.query.terms import keywords
from recollect.query.time.calendar import Period
from recollect.query.time.hints import LEADS
from recollect.types import Span

# Only after these: most that follows `before` and `after` is no event.
EVENTS = (
    "end|incident|launch|meeting|migration|move|outage|release|retro|retrospective|start|switch"
    "|upgrade"
)
ANCHOR = (
    rf"\b(?P<lead>before|after|since|until)\s+(?:the\s+|we\s+)?(?P<event>(?:{EVENTS})\b[^,;?!]*)"
)


def anchored(text: str, date_of: Callable[[list[str]], datetime | None]) -> Period | None:
    """The period that ends or begins when something happened; None where no memory tells when.
    `date_of` is asked for the date of the memory that holds these words in its title."""
    if not LEADS & set(text.lower().split()):
        return None  # most queries: the pattern is not even compiled
    match = re.search(ANCHOR, text, re.IGNORECASE)
    words = keywords(match["event"]) if match else []
    if not match or len(words) < 2:
        return None
    moment = date_of(words)
    if moment is None:
        return None
    ends = match["lead"].lower() in ("before", "until")
    start, end = (None, moment) if ends else (moment, None)
    return Period(match[0], Span(*match.span()), start, end, exact=True)
