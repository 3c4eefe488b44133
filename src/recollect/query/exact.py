"""Exact terms of a query: identifiers, versions, error codes, flags, paths, hashes, addresses,
dates and quoted phrases.

A model sees little in them and stemming blurs them, so they are also searched for as written.
`MemoryText` is a memory prepared for that search.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import cached_property

from recollect.query.sameness import Wording
from recollect.query.subwords import UNSPACED, join_identifier, subwords
from recollect.types import Memory

# Each costs a lookup; a query with more is a pasted log.
MOST_EXACT = 8
# A word in at most RARE memories, and at most this share of them, may be as good as a name.
RARE = 3
RARE_SHARE = 0.1
# In four collections, words such as "keep", "run" and "take" are in 0.3 to 20 % of the memories. A
# word below that share is rare. Above it (a vault of less than a thousand memories) chance may have
# kept a common word out, so the word must be rare in English too.
TELLING_SHARE = 0.003
QUOTED = re.compile(r"\"([^\"]+)\"|“([^”]+)”|«([^»]+)»|`([^`]+)`|(?<!\w)'([^']+)'(?!\w)")
# Punctuation around a word that is not part of it.
AROUND_START = "([{<\"'“«‘`,;:!?…*|"
AROUND_END = ")]}>\"'”»’`,;:!?…*|."
POSSESSIVE = re.compile(r"['’]s$", re.IGNORECASE)
# Signs that distinguish names and that no index holds: C++, C#, R&D, .NET.
SIGNED = r"\w&\w|[^\W\d_](?:\+\+|[+#]$)|^\.[^\W\d_]"
# Patterns of terms that are not plain words.
SIGNS = (
    SIGNED,
    r"[a-z][A-Z]|[A-Z]{2,}[a-z]{2}",  # getUserByID, HTTPServer; not the plural in PDFs
    r"\w_\w|^_\w|\w_$",  # snake_case
    r"[^\W\d_][0-9]|[0-9][^\W\d_]",  # v2, 0x1f, E1234, utf8
    r"[0-9][.,:/-][0-9]",  # 1.4, 2026-03-01, 10:30
    r"^[0-9]{3,}$",  # 404, 8080
    r"^--?[A-Za-z]",  # --no-cache, -v
    r"\w(?:::|[\\/@#=])\w|^[~./]*/\w|^[@#$]\w",  # a::b, src/app, me@host, /etc, $HOME
    r"[^\W\d_]\.[^\W\d_]{2}",  # config.toml, os.path; not e.g.
    r"\w-\w+-\w",  # kebab-case-name
)
ANY_SIGN = "|".join(f"(?:{sign})" for sign in SIGNS)
# Compiled on first use, which takes milliseconds.
UNSPACED_RUN = f"[{UNSPACED}](?: ?[{UNSPACED}])+"
UNSPACED_END = f"^[{UNSPACED}]|[{UNSPACED}]$"
# Not inside a longer number; a version may have a v before it.
NUMBER_STARTS = r"(?<![0-9]\.)(?:(?<!\w)|(?<=\bv))"
# Accents, after decomposition.
MARKS = re.compile("[\u0300-\u036f]+")
ORDINAL = re.compile(r"[0-9]+(?:st|nd|rd|th|s)", re.IGNORECASE)


def find_exact_terms(text: str) -> list[str]:
    """Return the exact terms in the order of the text, without repeats, at most MOST_EXACT.

    Quoted phrases come first, then runs of two characters or more in a script without spaces, then
    words that look like an identifier, a number or a path.
    """
    quoted = [next(filter(None, groups)) for groups in QUOTED.findall(text)]
    rest = QUOTED.sub(" ", text)
    runs = [] if text.isascii() else _runs(rest)
    words = [_strip_punctuation(word) for word in rest.split()]
    things = [*(one.strip() for one in quoted), *runs, *filter(_is_exact, words)]
    return list(dict.fromkeys(filter(None, things)))[:MOST_EXACT]


def is_signed(thing: str) -> bool:
    """Return True if an index reduces the name to its letters: `C++` to c."""
    return bool(re.search(SIGNED, thing))


def holds(folded_text: str, thing: str) -> bool:
    """Return True if the text, which is folded already, has the term as a whole: not `1.4` in
    `1.4.2`, nor `cache` in `cached`."""
    if not (plain := fold(thing)) or plain not in folded_text:
        return False
    if is_unspaced(thing):
        return True
    start, end = _borders(plain[0], plain[-1])
    at = folded_text.find(plain)
    while at >= 0:
        if start.match(folded_text, at) and end.match(folded_text, at + len(plain)):
            return True
        at = folded_text.find(plain, at + 1)
    return False


def fold(text: str) -> str:
    """Remove case and accents, which people leave out when they type."""
    if text.isascii():
        return text.lower()
    return MARKS.sub("", unicodedata.normalize("NFKD", text.casefold()))


def _strip_punctuation(word: str) -> str:
    return POSSESSIVE.sub("", word.lstrip(AROUND_START).rstrip(AROUND_END))


def _is_exact(word: str) -> bool:
    return bool(re.search(ANY_SIGN, word)) and not ORDINAL.fullmatch(word)


def is_unspaced(thing: str) -> bool:
    """Return True if the term begins or ends in a script without spaces between words."""
    return not thing.isascii() and bool(re.search(UNSPACED_END, thing))


def _runs(text: str) -> list[str]:
    """Return words of two characters or more. A single character counts only together with its
    neighbours, since a piece of a Korean text may begin in one word and end in the next."""
    found: list[str] = []
    for row in re.findall(UNSPACED_RUN, text):
        pieces = row.split(" ")
        found += [piece for piece in pieces if len(piece) > 1]
        if len(pieces) > 1 and any(len(piece) == 1 for piece in pieces):
            found.append(row)
    return found


def _borders(first: str, last: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return patterns for the places before and after a term: no letter or digit there, a number is
    not part of a longer number, a flag not part of another flag.

    A term that begins or ends with another sign needs no border on that side. The patterns depend
    only on the kinds of sign, so that `re` caches them all.
    """
    starts = NUMBER_STARTS if first.isdigit() else r"(?<![-\w])" if first == "-" else r"(?<!\w)"
    ends = r"(?!\w)(?!\.[0-9])" if last.isdigit() else r"(?!\w)"
    if first == "-":
        ends += r"(?!-\w)"
    return (
        re.compile(starts if _is_wordlike(first) or first in "-." else ""),
        re.compile(ends if _is_wordlike(last) else ""),
    )


def _is_wordlike(sign: str) -> bool:
    return sign.isalnum() or sign == "_"


class MemoryText:
    """A memory prepared for comparison: its stems, and its text without case and accents, each
    computed on first use.

    tokens: returns the stems of a text.
    has_subwords: read the parts of identifiers and unspaced scripts, which the query needs.
    details: the passage of the memory's details that answers the query.
    """

    def __init__(
        self,
        memory: Memory,
        tokens: Callable[[str], list[str]],
        *,
        has_subwords: bool,
        details: str = "",
    ) -> None:
        self._memory = memory
        self._tokens = tokens
        self._details = details
        self.subwords: Sequence[str] = subwords(self._text) if has_subwords else ()

    @cached_property
    def wording(self) -> Wording:
        """The stems of title, text and context."""
        memory = self._memory
        return Wording.of(
            self._tokens(memory.title), self._tokens(f"{memory.text}\n{memory.context}")
        )

    def holds(self, term: str) -> bool:
        """Return True if the memory has an exact term, or the identifier in another spelling.
        `--no-cache` and `R&D` have no other spelling."""
        if holds(self._folded, term):
            return True
        name = "" if term.startswith("-") or is_signed(term) else join_identifier(term)
        return bool(name) and name in self.subwords

    @cached_property
    def _folded(self) -> str:
        return fold(f"{self._text}\n{' '.join(self.subwords)}")

    @property
    def _text(self) -> str:
        memory = self._memory
        return "\n".join((memory.title, memory.text, memory.context, *memory.tags, self._details))
