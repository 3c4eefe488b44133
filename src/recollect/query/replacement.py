"""Statements that seem to be replaced by a later statement about the same thing.

The belief comes from words, dates and vectors and is never written into the vault. The stage
`supersede` ranks a newer statement above an older similar one. `seems_to_replace` asks for more
before people are told so, and is measured by `benchmarks/replacements.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import cached_property

from recollect.query.terms import is_function_word, phrases
from recollect.times import validity
from recollect.types import Memory

# Cosines of the bundled embedding model. Texts about different things have 0.4 to 0.6.
CLAIMED_CHANGE = 0.72
ALIKE = 0.75
VERY_ALIKE = 0.8
# The least number of words that both statements have.
SHARED = 2
# A longer text is a page or a story, and states more than one thing.
LONGEST = 300
# A time of day, or a date: the title of what was said then.
MOMENT = r"\d:\d\d|\b(?:19|20)\d\d\b"

# Labels, which state nothing: a number before a colon (`Incident 244: …`), and a title with a date
# or a time, such as the speaker and the time of a message.
NUMBERED = r"^[^:]*\d[^:]*:\s"
DATED = (
    r"\d:\d\d|\b\d{4}-\d\d-\d\d\b"
    r"|\b\d{1,2} [^\W\d]+,? \d{4}\b|\b[^\W\d]+ \d{1,2},? \d{4}\b"
)

Tokens = Callable[[str], list[str]]


class Statement:
    """A memory as the rules below read it."""

    def __init__(self, memory: Memory, tokens: Tokens) -> None:
        self.memory = memory
        self._tokens = tokens

    @cached_property
    def text(self) -> str:
        return f"{self.memory.title}. {self.memory.text}" if self.memory.title else self.memory.text

    @cached_property
    def words(self) -> list[str]:
        """The stems of the content words, in order, without labels."""
        title = re.sub(NUMBERED, "", self.memory.title)
        title = "" if re.search(DATED, title) else title
        words = re.findall(r"\w+", f"{title} {self.memory.text}".lower())
        telling = [word for word in words if not is_function_word(word)]
        return self._tokens(" ".join(telling))

    @cached_property
    def says_change(self) -> bool:
        """True if it says that something has changed."""
        return bool(phrases("says that something changed").search(self.text))

    @cached_property
    def adds(self) -> bool:
        """True if it adds to an earlier statement, such as with "also"."""
        return bool(phrases("adds to what was said").search(self.text))

    def shared_words(self, other: Statement) -> float:
        """Return the share of the shorter statement's words that the longer one has."""
        own, others = {*self.words}, {*other.words}
        return len(own & others) / max(1, min(len(own), len(others)))


def is_statement(memory: Memory) -> bool:
    """Return True if the memory states one thing: it is short, from no file, neither a question nor
    an exclamation, and no message of a conversation, whose title has a time."""
    if len(memory.text) > LONGEST or memory.tier == "file":
        return False
    return not (re.search(r"[?!]", memory.text) or re.search(MOMENT, memory.title))


def comparable(older: Memory, newer: Memory) -> bool:
    """Return True if both are of one project and space, and the second is newer."""
    together = (older.project, older.space) == (newer.project, newer.space)
    return together and older.updated_at < newer.updated_at


def seems_to_replace(older: Statement, newer: Statement, cosine: float) -> bool:
    """Return True if the newer statement surely states now what the older one stated before: it
    says that something changed, or only one value differs."""
    if newer.adds or len({*newer.words} & {*older.words}) < SHARED:
        return False
    if newer.says_change and cosine >= CLAIMED_CHANGE:
        return True
    return cosine >= ALIKE and _one_value_differs(older, newer)


def _one_value_differs(older: Statement, newer: Statement) -> bool:
    """Return True if the sentences differ in one number, or in the last word: a sentence begins
    with its subject and ends with what it says of it."""
    if len(older.words) != len(newer.words):
        return False
    pairs = list(zip(older.words, newer.words, strict=True))
    differing = [place for place, pair in enumerate(pairs) if len({*pair}) > 1]
    if len(differing) != 1:
        return False
    [place] = differing
    return place == len(pairs) - 1 or all(word.isdigit() for word in pairs[place])


def replaced_by(
    statements: Iterable[Statement],
    cosines: Mapping[tuple[str, str], float],
    now: datetime,
) -> dict[str, str]:
    """Map the id of each memory that seems to be replaced to its final successor. A memory that
    does not hold at `now`, or is newer than `now`, replaces nothing."""
    read = sorted(
        (one for one in statements if one.memory.updated_at <= now and is_statement(one.memory)),
        key=lambda one: (one.memory.updated_at, one.memory.id),
    )
    replaced: dict[str, str] = {}
    for place in reversed(range(len(read))):
        newer = read[place]
        if validity(newer.memory, now):
            continue
        for older in read[:place]:
            ids = (older.memory.id, newer.memory.id)
            if ids[0] in replaced or not comparable(older.memory, newer.memory):
                continue
            cosine = cosines.get(ids, cosines.get((ids[1], ids[0]), 0.0))
            if seems_to_replace(older, newer, cosine):
                replaced[ids[0]] = replaced.get(ids[1], ids[1])
    return replaced
