"""Times named by an event: `before the release of atlas 3.0`, `since the move`.

The date is that of the memory whose title holds all of these words.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime

from recollect.query.terms import keywords
from recollect.query.time.calendar import Period
from recollect.query.time.hints import LEADS
from recollect.types import Span

# Only these words are events: most words after `before` and `after` are not.
EVENTS = (
    "end|incident|launch|meeting|migration|move|outage|release|retro|retrospective|start|switch"
    "|upgrade"
)
ANCHOR = (
    rf"\b(?P<lead>before|after|since|until)\s+(?:the\s+|we\s+)?(?P<event>(?:{EVENTS})\b[^,;?!]*)"
)


def event_period(text: str, date_of: Callable[[list[str]], datetime | None]) -> Period | None:
    """Return the period that an event ends or begins; None if no memory has its date.

    date_of: returns the date of the memory that holds these words in its title.
    """
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
