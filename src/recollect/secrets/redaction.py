"""Replacing secrets before anything is written, so that they never reach the disk.

Two things are replaced: text between redaction marks, and text that looks like a credential.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property, lru_cache
from itertools import chain
from types import MappingProxyType
from typing import Any, NamedTuple

from recollect.checks import clean_query, compile_pattern
from recollect.errors import UserError
from recollect.hashing import content_digest
from recollect.ingest.draft import CHOICES, Draft
from recollect.secrets.assignments import ASSIGNMENTS
from recollect.secrets.detectors import (
    LONG_WORD,
    PREFIXED,
    Detector,
    find_all,
    find_spans,
    group_span,
    has_long_word,
    long_pieces,
    to_lower_case,
)
from recollect.secrets.formats import BLOCKS, DECODED, TOKENS
from recollect.settings import Secrets
from recollect.types import PLACES, TEXTS, Memory, Span
from recollect.version import __version__

# Tried in this order: a credential's own format is a better sign than the name before it.
DETECTORS: tuple[Detector, ...] = (*BLOCKS, *TOKENS, *PREFIXED, *DECODED, *ASSIGNMENTS)
MARKED = "marked"
UNCLOSED = "unclosed mark"
NAMES = {MARKED: "marked text", UNCLOSED: "text after an unclosed mark"}  # for people
MARKS = re.compile(
    r"(?P<tag><redact>|</redact>)|(?P<bracket>\[\[redact\]\]|\[\[/redact\]\])", re.IGNORECASE
)
OPENING = ("<redact>", "[[redact]]")
# Replacing one secret may uncover another next to it. Our detectors need two rounds; a user's
# patterns might never end.
MOST_ROUNDS = 10
# Fields without free text: the id is checked separately, and the others allow only a few words.
NOT_TEXTS = frozenset({"id", "superseded_by", *CHOICES})
# The fields of a memory that are searched for secrets, besides its tags.
SEARCHED = (*TEXTS, *PLACES)


def replacement(name: str) -> str:
    return f"[redacted: {name}]"


class CustomPattern(NamedTuple):
    """A pattern of the settings. If it has a group `secret`, only that is replaced."""

    name: str
    pattern: str


class SecretPatterns:
    """The patterns to look for: our detectors, then those of the settings."""

    def __init__(self, custom: Mapping[str, str] = MappingProxyType({})) -> None:
        self.every: tuple[Detector | CustomPattern, ...] = (
            *DETECTORS,
            *(CustomPattern(name, pattern) for name, pattern in custom.items()),
        )
        self._custom = {*range(len(DETECTORS), len(self.every))}
        # Needle → positions of the detectors to try where a text, its long pieces or its lower case
        # contain it.
        self._needles, self._long = (
            _index_by_needle([each.needles if each.long is long else () for each in DETECTORS])
            for long in (False, True)
        )
        self._words = _index_by_needle([detector.words for detector in DETECTORS])
        self._suspect, self._suspect_long = SUSPECT, SUSPECT_LONG
        self._suspect_words = SUSPECT_WORDS
        self.narrowed_to = lru_cache(1)(self._narrowed_to)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(pattern.name for pattern in self.every)

    def is_suspect(self, text: str) -> bool:
        """Return whether a text may hold a secret. Ordinary memories cost no more than this."""
        if self._custom:
            return True  # custom patterns have no needles
        for sign, needles in self._suspect.items():
            if sign in text:
                for needle in needles:
                    if needle in text:
                        return True
        if self._suspect_long and (long := long_pieces(text)):
            for needle in self._suspect_long:
                if needle in long:
                    return True
        low = text.lower()
        for word in self._suspect_words:  # noqa: SIM110  `any` takes twice as long
            if word in low:
                return True
        return False

    def suspect_pieces(self, pieces: Sequence[str]) -> set[int]:
        """Return the numbers of the pieces, which have no blank in them, that make a text suspect.
        Texts share most of their pieces, so this is much faster than `is_suspect` for each text."""
        if self._custom:
            return {*range(len(pieces))}
        joined = " ".join(pieces)
        long = (at for at, piece in enumerate(pieces) if len(piece) >= len(LONG_WORD))
        long = (at for at in long if has_long_word(pieces[at]))
        return {
            *(at for at in long if any(needle in pieces[at] for needle in SUSPECT_LONG)),
            *_find_holding(joined, chain.from_iterable(SUSPECT.values())),
            *_find_holding(joined.lower(), SUSPECT_WORDS),
        }

    def _narrowed_to(self, text: str) -> SecretPatterns:
        """Return these patterns for searching parts of a text: only needles that the whole text
        contains are looked for."""
        found = copy(self)
        found._needles, found._long, found._words = (
            {needle: those for needle, those in needles.items() if needle in where}
            for needles, where in self._search_places(text)
        )
        found._suspect, found._suspect_long = {"": (*found._needles,)}, (*found._long,)
        found._suspect_words = (*found._words, *OPENING)
        return found

    def _search_places(self, text: str) -> Iterator[tuple[dict[str, set[int]], str]]:
        """Yield each table of needles with the text to search for them."""
        yield self._needles, text
        yield self._long, long_pieces(text) if self._long else ""
        yield self._words, text.lower() if self._words else ""

    def find_candidates(self, text: str) -> list[Detector | CustomPattern]:
        """Return the patterns that may match the text, in order."""
        places = {*self._custom}
        for needles, where in self._search_places(text):
            for needle, those in needles.items() if where else ():
                if needle in where:
                    places |= those
        return [self.every[place] for place in sorted(places)]

    @cached_property
    def replaced(self) -> re.Pattern[str]:
        """The expression of a replacement. Only existing names count: a secret must not pass for
        one."""
        names = dict.fromkeys([MARKED, UNCLOSED, *(pattern.name for pattern in self.every)])
        return re.compile(rf"(\[redacted: (?:{'|'.join(map(re.escape, names))})\])")


def _find_holding(pieces: str, needles: Iterable[str]) -> Iterator[int]:
    """Yield the numbers of the pieces, separated by blanks, that hold the first word of a
    needle."""
    raw = pieces.encode(errors="replace")
    starts = (needle.split()[0].encode() for needle in needles)
    at = number = 0
    for place in sorted(chain.from_iterable(find_all(raw, start) for start in starts)):
        number += raw.count(b" ", at, place)
        at = place
        yield number


def _index_by_needle(needles: Sequence[Sequence[str]]) -> dict[str, set[int]]:
    """Return for each needle its positions in the list."""
    found: dict[str, set[int]] = {}
    for place, those in enumerate(needles):
        for needle in those:
            found.setdefault(needle, set()).add(place)
    return found


def _drop_longer(words: set[str]) -> tuple[str, ...]:
    """Return the words that contain no other word of the set."""
    return tuple(
        sorted(word for word in words if not any(other in word for other in words - {word}))
    )


def _group_by_sign(needles: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Group the needles by a sign that each contains: a text without the sign has none of them.
    Needles without any of the signs are grouped under "", which every text contains."""
    found: dict[str, tuple[str, ...]] = {}
    for needle in needles:
        sign = next((sign for sign in SIGNS if sign in needle), "")
        found[sign] = (*found.get(sign, ()), needle)
    return found


# Signs of credentials that few texts contain, rarest first.
SIGNS = "_=JKz/x:9-"
# A text that contains none of these, as it is or in lower case, has no secret.
_needles, SUSPECT_LONG = (
    _drop_longer({needle for each in DETECTORS if each.long is long for needle in each.needles})
    for long in (False, True)
)
SUSPECT = _group_by_sign(_needles)
SUSPECT_WORDS = _drop_longer(
    {word for detector in DETECTORS for word in detector.words} | {*OPENING}
)

BUILT_IN = SecretPatterns()


def redact(
    text: str, patterns: SecretPatterns = BUILT_IN, *, keep_lines: bool = False
) -> tuple[str, Counter[str]]:
    """Replace the secrets in a text; return the text, and how many of each kind there were.

    Doing it again changes nothing. `keep_lines`: a secret of several lines leaves as many line
    ends, so that the lines after it keep their numbers.
    """
    counts: Counter[str] = Counter()
    text = _replace_marked(text, counts, keep_lines=keep_lines)
    for _ in range(MOST_ROUNDS):
        before = counts.total()
        for pattern in patterns.find_candidates(text):
            text = _replace_matches(text, pattern, patterns.replaced, counts, keep_lines=keep_lines)
        if counts.total() == before:
            break
    return text, counts


def redact_draft(
    draft: Draft, patterns: SecretPatterns = BUILT_IN, part_of: str | None = None
) -> tuple[Draft, dict[str, int]]:
    """Replace the secrets in a draft's texts and tags; return the draft, and how many of each kind
    there were. `part_of`: a text that contains every line of the draft's own.

    An id with a secret in it is refused: if it were changed, nobody could ask for it again.
    """
    fields = draft.fields
    narrow = {} if part_of is None else {"text": patterns.narrowed_to(part_of)}
    # Field by field: a suspect id is no reason to search the text.
    suspects = {
        name: value
        for name, value in fields.items()
        if isinstance(value, str) and narrow.get(name, patterns).is_suspect(value)
    }
    tags = fields.get("tags", ())
    if not suspects and not any(map(patterns.is_suspect, tags)):
        return draft, {}
    if "id" in suspects and redact(suspects["id"], patterns)[1]:
        raise UserError("The id holds what looks like a secret; give another one.")
    counts: Counter[str] = Counter()
    changed: dict[str, object] = {}
    for name, text in suspects.items():
        if name not in NOT_TEXTS:
            changed[name], found = redact(text, narrow.get(name, patterns))
            counts += found
    if tags:
        redacted_tags = [redact(tag, patterns) for tag in tags]
        changed["tags"] = tuple(dict.fromkeys(tag for tag, _ in redacted_tags))
        counts += sum((found for _, found in redacted_tags), Counter[str]())
    return (Draft(fields | changed, draft.supersedes), dict(counts)) if counts else (draft, {})


def describe_counts(counts: Mapping[str, int]) -> str:
    """Return `Redacted 2 secrets: github token, private key`, or "" for none."""
    number = sum(counts.values())
    if not number:
        return ""
    names = ", ".join(NAMES.get(name, name) for name in sorted(counts))
    return f"Redacted {number:,} {'secret' if number == 1 else 'secrets'}: {names}"


def _find_spans(pattern: Detector | CustomPattern, text: str) -> Iterator[Span]:
    if isinstance(pattern, Detector):
        return find_spans(pattern, text, to_lower_case(text))
    return _find_custom_spans(pattern, text)


def _find_custom_spans(custom: CustomPattern, text: str) -> Iterator[Span]:
    """Yield the matches of a user's pattern, line by line."""
    start = 0
    for line in text.splitlines(keepends=True):
        for found in compile_pattern(custom.pattern).finditer(line):
            span = Span(*(start + place for place in group_span(found)))
            if span.end > span.start:
                yield span
        start += len(line)


def _replace_matches(
    text: str,
    pattern: Detector | CustomPattern,
    replaced: re.Pattern[str],
    counts: Counter[str],
    *,
    keep_lines: bool,
) -> str:
    """Replace the matches of a pattern, but not inside earlier replacements."""
    parts: list[str] = []
    for place, part in enumerate(replaced.split(text)):
        if place % 2:  # a replacement
            parts.append(part)
            continue
        last = 0
        for span in _find_spans(pattern, part):
            secret = part[span.start : span.end] if keep_lines else ""
            parts += (part[last : span.start], _replacement_lines(pattern.name, secret))
            last = span.end
            counts[pattern.name] += 1
        parts.append(part[last:])
    return "".join(parts)


def _replacement_lines(name: str, secret: str) -> str:
    """Return the replacement of a secret, with as many line ends."""
    return replacement(name) + "\n" * secret.count("\n")


def _replace_marked(text: str, counts: Counter[str], *, keep_lines: bool) -> str:
    """Replace the marked parts of a text. A mark that is never closed hides the rest."""
    low = text.lower()
    if not any(needle in low for needle in OPENING):
        return text
    parts: list[str] = []
    last = 0
    for start, end, name in _find_marked(text):
        parts += (text[last:start], _replacement_lines(name, text[start:end] if keep_lines else ""))
        last = end
        counts[name] += 1
    return "".join([*parts, text[last:]])


def _find_marked(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the outermost pairs of marks, from left to right; ignore a closing mark alone."""
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


class Redaction:
    """Replaces secrets as the settings say."""

    def __init__(self, settings: Secrets) -> None:
        self._settings = settings

    def __reduce__(self) -> tuple[type[Redaction], tuple[Secrets]]:
        """Pickle without the patterns: another process compiles them itself."""
        return Redaction, (self._settings,)

    @cached_property
    def _patterns(self) -> SecretPatterns:
        custom = self._settings.patterns
        return SecretPatterns(custom) if custom else BUILT_IN

    def redact_draft(
        self, draft: Draft, part_of: str | None = None, *, redact: bool = True
    ) -> tuple[Draft, Mapping[str, int]]:
        """Replace the secrets in a draft; return it, and how many of each kind it had. Every save
        goes through here. `part_of`: a text that contains every line of the draft's own."""
        if not (redact and self._settings.redact):
            return draft, {}
        return redact_draft(draft, self._patterns, part_of)

    def suspect_pieces(self, pieces: Sequence[str]) -> Collection[int]:
        """Return the numbers of the pieces, which have no blank in them, that may belong to a
        secret. A draft that has none of them needs no `redact_draft`."""
        return self._patterns.suspect_pieces(pieces) if self._settings.redact else ()

    def redact_memory(self, memory: Memory) -> tuple[Mapping[str, Any], Mapping[str, int]]:
        """Return the memory's fields with secrets, redacted, and how many of each kind there
        are."""
        fields = {name: getattr(memory, name) for name in (*SEARCHED, "tags")}
        clean, found = self.redact_draft(Draft(fields))
        changed = {name: new for name, new in clean.fields.items() if new != fields[name]}
        return changed, found

    @cached_property
    def rules(self) -> str:
        """A hash that changes with the rules."""
        custom = sorted(self._settings.patterns.items())
        return content_digest(repr([__version__, self._patterns.names, custom]), 8).hex()

    def redact_query(self, query: str) -> str:
        """Return a query without secrets, as feedback stores it."""
        text = clean_query(query)
        if not self._settings.redact:
            return text
        return redact(text, self._patterns)[0]

    def redact_document(self, text: str) -> tuple[str, Mapping[str, int]]:
        """Replace the secrets in a file's text; its lines keep their numbers."""
        return redact(text, self._patterns.narrowed_to(text), keep_lines=True)
