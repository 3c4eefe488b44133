"""Secrets never reach the disk: they are replaced before anything is written.

Two things are replaced: what stands between redaction marks, and what looks like a credential.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple

from recollect.errors import UserError
from recollect.ingest.draft import CHOICES, Draft
from recollect.secrets.assignments import ASSIGNMENTS
from recollect.secrets.detectors import (
    BLOCKS,
    READ,
    TOKENS,
    Detector,
    compiled,
    lowered,
    of_group,
    spans,
)
from recollect.types import Span

# In this order: what says by itself what it is comes before what only its place gives away.
DETECTORS: tuple[Detector, ...] = (*BLOCKS, *TOKENS, *READ, *ASSIGNMENTS)
MARKED = "marked"
UNCLOSED = "unclosed mark"
MARKS = re.compile(
    r"(?P<tag><redact>|</redact>)|(?P<bracket>\[\[redact\]\]|\[\[/redact\]\])", re.IGNORECASE
)
OPENING = ("<redact>", "[[redact]]")
# Replacing one secret may uncover another beside it. Ours are done after two rounds; patterns of
# one's own might go on for ever.
MOST_ROUNDS = 10
# A pattern of one's own sees so many characters of a line at a time: longer than any line that a
# person writes. Secrets of the settings' patterns are hardly longer than where pieces overlap.
LONGEST_PIECE = 2000
OVERLAP = 500
# Not texts: one is checked otherwise, the others allow only a few words.
NOT_TEXTS = frozenset({"id", *CHOICES})


def replacement(name: str) -> str:
    return f"[redacted: {name}]"


class Own(NamedTuple):
    """A pattern of the settings. Where it has a group `secret`, only that is replaced."""

    name: str
    pattern: str


class SecretPatterns:
    """What to look for: our detectors, then patterns of one's own, a name and a pattern each."""

    def __init__(self, own: Mapping[str, str] = MappingProxyType({})) -> None:
        self.every: tuple[Detector | Own, ...] = (
            *DETECTORS,
            *(Own(name, pattern) for name, pattern in own.items()),
        )
        self._own = {*range(len(DETECTORS), len(self.every))}
        # How a text must look, as it is and in small letters, for each to be worth trying.
        self._needles = _places_by([one.needles for one in DETECTORS])
        self._words = _places_by([one.words for one in DETECTORS])

    def suspect(self, text: str) -> bool:
        """Whether a text deserves a closer look. This is all that ordinary memories cost."""
        if self._own:
            return True  # nobody has said what they begin with
        for sign, needles in SUSPECT.items():
            if sign in text:
                for needle in needles:
                    if needle in text:
                        return True
        low = text.lower()
        for word in SUSPECT_WORDS:  # noqa: SIM110  `any` takes twice as long
            if word in low:
                return True
        return False

    def wanted(self, text: str) -> list[Detector | Own]:
        """Those worth trying, in order."""
        low = text.lower()
        places = {*self._own}
        for needle, those in self._needles.items():
            if needle in text:
                places |= those
        for word, those in self._words.items():
            if word in low:
                places |= those
        return [self.every[place] for place in sorted(places)]

    @cached_property
    def replaced(self) -> re.Pattern[str]:
        """What a replacement looks like. Only names that there are, else a secret could hide in
        one."""
        names = dict.fromkeys([MARKED, UNCLOSED, *(one.name for one in self.every)])
        return re.compile(rf"(\[redacted: (?:{'|'.join(map(re.escape, names))})\])")


def _places_by(needles: Sequence[Sequence[str]]) -> dict[str, set[int]]:
    """Where in the list each of the needles stands."""
    found: dict[str, set[int]] = {}
    for place, those in enumerate(needles):
        for needle in those:
            found.setdefault(needle, set()).add(place)
    return found


def _shortest(words: set[str]) -> tuple[str, ...]:
    """Without those that hold another one: where they are, that one is."""
    return tuple(
        sorted(word for word in words if not any(one in word for one in words if one != word))
    )


def _by_sign(needles: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """By a sign that each of them holds: where the sign is not, none of them is. Those without
    one of the signs are under the empty text, which is everywhere."""
    found: dict[str, tuple[str, ...]] = {}
    for needle in needles:
        sign = next((one for one in SIGNS if one in needle), "")
        found[sign] = (*found.get(sign, ()), needle)
    return found


# What a text must hold, as it is or in small letters, to be worth a closer look at all.
SIGNS = "_=JKz/x:9-"  # of what is in credentials that which is in the fewest texts, rarest first
SUSPECT = _by_sign(_shortest({needle for one in DETECTORS for needle in one.needles}))
SUSPECT_WORDS = _shortest({word for one in DETECTORS for word in one.words} | {*OPENING})

BUILT_IN = SecretPatterns()


def redacted(
    text: str, patterns: SecretPatterns = BUILT_IN, *, keep_lines: bool = False
) -> tuple[str, Counter[str]]:
    """The text without its secrets, and how many of each kind there were.

    A text without any is returned as it is. Doing it again changes nothing. `keep_lines`: a secret
    of several lines leaves as many behind, so that those after it keep their numbers.
    """
    counts: Counter[str] = Counter()
    text = _without_marked(text, counts, keep_lines=keep_lines)
    for _ in range(MOST_ROUNDS):
        before = counts.total()
        for one in patterns.wanted(text):
            text = _without(text, one, patterns.replaced, counts, keep_lines=keep_lines)
        if counts.total() == before:
            break
    return text, counts


def redact_draft(draft: Draft, patterns: SecretPatterns = BUILT_IN) -> tuple[Draft, dict[str, int]]:
    """The draft with every text of it redacted, tags too, and how many secrets there were.

    An id with a secret in it is refused: whoever gave it means to ask for it again.
    """
    fields = draft.fields
    texts = {name: held for name, held in fields.items() if isinstance(held, str)}
    everything = "\n".join([*texts.values(), *fields.get("tags", ())])
    if not patterns.suspect(everything):
        return draft, {}
    if draft.id is not None and redacted(draft.id, patterns)[1]:
        raise UserError("The id holds what looks like a secret; give another one.")
    counts: Counter[str] = Counter()
    changed: dict[str, object] = {}
    for name, text in texts.items():
        if name not in NOT_TEXTS and patterns.suspect(text):
            changed[name], found = redacted(text, patterns)
            counts += found
    if tags := fields.get("tags"):
        told = [redacted(tag, patterns) for tag in tags]
        changed["tags"] = tuple(dict.fromkeys(tag for tag, _ in told))
        counts += sum((found for _, found in told), Counter[str]())
    return (Draft(fields | changed), dict(counts)) if counts else (draft, {})


def told(counts: Mapping[str, int]) -> str:
    """`2 secrets were replaced: github token, private key`, for people; empty without any."""
    number = sum(counts.values())
    if not number:
        return ""
    were = "secret was" if number == 1 else "secrets were"
    return f"{number:,} {were} replaced: {', '.join(sorted(counts))}"


def _found(one: Detector | Own, text: str) -> Iterator[Span]:
    return spans(one, text, lowered(text)) if isinstance(one, Detector) else _own_spans(one, text)


def _own_spans(own: Own, text: str) -> Iterator[Span]:
    """Line by line, and long lines in pieces that overlap: a careless pattern must not take the
    square of the whole text. Python has no way to stop one that is at work."""
    held: Span | None = None
    start = 0
    for line in text.splitlines(keepends=True):
        for piece in _pieces(len(line)):
            for found in compiled(own.pattern).finditer(line, *piece):
                span = Span(*(start + place for place in of_group(found)))
                if held is not None and span.start < held.end:  # found in two pieces
                    held = Span(held.start, max(held.end, span.end))
                elif span.end > span.start:
                    if held is not None:
                        yield held
                    held = span
        start += len(line)
    if held is not None:
        yield held


def _pieces(length: int) -> Iterator[Span]:
    for start in range(0, max(1, length - OVERLAP), LONGEST_PIECE - OVERLAP):
        yield Span(start, min(length, start + LONGEST_PIECE))


def _without(
    text: str,
    one: Detector | Own,
    replaced: re.Pattern[str],
    counts: Counter[str],
    *,
    keep_lines: bool,
) -> str:
    """The text without what this one finds between the replacements that are there."""
    pieces: list[str] = []
    for place, piece in enumerate(replaced.split(text)):
        if place % 2:  # a replacement
            pieces.append(piece)
            continue
        last = 0
        for span in _found(one, piece):
            gone = piece[span.start : span.end] if keep_lines else ""
            pieces += (piece[last : span.start], _instead(one.name, gone))
            last = span.end
            counts[one.name] += 1
        pieces.append(piece[last:])
    return "".join(pieces)


def _instead(name: str, gone: str) -> str:
    """What stands in place of a secret, with the ends of its lines."""
    return replacement(name) + "\n" * gone.count("\n")


def _without_marked(text: str, counts: Counter[str], *, keep_lines: bool) -> str:
    """The text without what is marked. A mark that is never closed hides everything behind it."""
    low = text.lower()
    if not any(needle in low for needle in OPENING):
        return text
    pieces: list[str] = []
    last = 0
    for start, end, name in _marked(text):
        pieces += (text[last:start], _instead(name, text[start:end] if keep_lines else ""))
        last = end
        counts[name] += 1
    return "".join([*pieces, text[last:]])


def _marked(text: str) -> Iterator[tuple[int, int, str]]:
    """Outermost pairs of marks of one kind, from left to right; a closing one alone is nothing."""
    kind, depth, start = "", 0, 0
    for found in MARKS.finditer(text):
        closing = "/" in found[0]
        if not depth:
            if not closing:
                kind, depth, start = str(found.lastgroup), 1, found.start()
        elif found.lastgroup == kind:
            depth += -1 if closing else 1
            if not depth:
                yield start, found.end(), MARKED
    if depth:
        yield start, len(text), UNCLOSED
