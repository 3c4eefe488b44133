"""Exact things in a query: what somebody copied or typed as it stands, and means literally.

Identifiers, versions, error codes, flags, paths, hashes, addresses, dates, quoted phrases. A model
sees little in them, and stemming would blur them, so they are also looked for as they are written.
`MemoryText` is a memory as the words that they are looked for in.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache, cached_property

from recollect.query.sameness import Wording
from recollect.query.subwords import UNSPACED, joined, subwords
from recollect.types import Memory

# More would be a pasted log; each costs a lookup.
MOST_THINGS = 8
# A word that at most so many memories hold, and so small a share of them, may be as good as a name.
RARE = 3
RARE_SHARE = 0.1
# Words such as "keep", "run" and "take" stand in 0.3 to 20 % of the memories of four collections.
# Under that share the vault itself shows that a word is rare. Above it, in a vault of less than a
# thousand memories, chance may have kept a common word out: there it must be rare in English too.
TELLING_SHARE = 0.003
QUOTED = re.compile(r"\"([^\"]+)\"|“([^”]+)”|«([^»]+)»|`([^`]+)`|(?<!\w)'([^']+)'(?!\w)")
# What stands around a word in a sentence, and does not belong to it.
AROUND_START = "([{<\"'“«‘`,;:!?…*|"
AROUND_END = ")]}>\"'”»’`,;:!?…*|."
POSSESSIVE = re.compile(r"['’]s$", re.IGNORECASE)
# Signs without which a name is other words: C++, C#, R&D, .NET. No index holds them.
SIGNED = r"\w&\w|[^\W\d_](?:\+\+|[+#]$)|^\.[^\W\d_]"
# The signs of something that is not a plain word.
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
# Not within a longer number; the v of a version may stand before it.
NUMBER_STARTS = r"(?<![0-9]\.)(?:(?<!\w)|(?<=\bv))"
# Accents, once parted from their letters.
MARKS = re.compile("[\u0300-\u036f]+")
ORDINAL = re.compile(r"[0-9]+(?:st|nd|rd|th|s)", re.IGNORECASE)


def exact_things(text: str) -> list[str]:
    """What is meant literally, in the order of the text, each once, and a bounded number of them:
    quoted phrases first, then runs of a script without spaces, of two characters or more, then
    words that bear the signs of an identifier, a number or a path."""
    quoted = [next(filter(None, groups)) for groups in QUOTED.findall(text)]
    rest = QUOTED.sub(" ", text)
    runs = [] if text.isascii() else _runs(rest)
    words = [_bare(word) for word in rest.split()]
    things = [*(one.strip() for one in quoted), *runs, *filter(_is_exact, words)]
    return list(dict.fromkeys(filter(None, things)))[:MOST_THINGS]


def is_signed(thing: str) -> bool:
    """Whether an index would take the name for its letters: `C++` for c."""
    return bool(re.search(SIGNED, thing))


def holds(folded_text: str, thing: str) -> bool:
    """Whether the thing stands in the text (`folded` already) as a whole: `1.4` is not in `1.4.2`,
    nor `cache` in `cached`."""
    if not (plain := folded(thing)) or plain not in folded_text:
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


def folded(text: str) -> str:
    """Case and accents aside, which people leave out when they type."""
    if text.isascii():
        return text.lower()
    return MARKS.sub("", unicodedata.normalize("NFKD", text.casefold()))


def _bare(word: str) -> str:
    return POSSESSIVE.sub("", word.lstrip(AROUND_START).rstrip(AROUND_END))


def _is_exact(word: str) -> bool:
    return bool(_signs().search(word)) and not ORDINAL.fullmatch(word)


def is_unspaced(thing: str) -> bool:
    """Whether it begins or ends in a script that puts no space between words."""
    return not thing.isascii() and bool(_unspaced_end().search(thing))


def _runs(text: str) -> list[str]:
    """Words of two characters or more; one that stands alone only with its neighbours, since a
    piece of a Korean text may begin in one word and end in the next."""
    found: list[str] = []
    for row in _unspaced().findall(text):
        pieces = row.split(" ")
        found += [piece for piece in pieces if len(piece) > 1]
        if len(pieces) > 1 and any(len(piece) == 1 for piece in pieces):
            found.append(row)
    return found


@cache
def _unspaced() -> re.Pattern[str]:
    return re.compile(f"[{UNSPACED}](?: ?[{UNSPACED}])+")


@cache
def _unspaced_end() -> re.Pattern[str]:
    return re.compile(f"^[{UNSPACED}]|[{UNSPACED}]$")


@cache
def _signs() -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{sign})" for sign in SIGNS))


def _borders(first: str, last: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """No letter or digit beside it; a number is not a piece of a longer one, nor a flag of another.
    What begins or ends with another sign needs no border there. The patterns are few, whatever
    stands between: compiling one for each term would take longer than looking for it."""
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
    """A memory's words: as stems, and as a text without case and accents, each read when it is
    first needed. `subwords`: what identifiers and unspaced scripts hold beside words, where the
    query asks for it."""

    def __init__(
        self,
        memory: Memory,
        tokens: Callable[[str], list[str]],
        *,
        has_subwords: bool,
        details: str = "",
    ) -> None:
        """`details`: the passage of the memory's details that the query asks for."""
        self._memory = memory
        self._tokens = tokens
        self._details = details
        self.subwords: Sequence[str] = subwords(self._text) if has_subwords else ()

    @cached_property
    def wording(self) -> Wording:
        """What a person reads of it: its title, its text and context."""
        memory = self._memory
        return Wording.of(
            self._tokens(memory.title), self._tokens(f"{memory.text}\n{memory.context}")
        )

    def holds(self, term: str) -> bool:
        """Whether an exact term stands in it, or an identifier in another spelling. `--no-cache`
        and `R&D` have no other."""
        if holds(self._folded, term):
            return True
        name = "" if term.startswith("-") or is_signed(term) else joined(term)
        return bool(name) and name in self.subwords

    @cached_property
    def _folded(self) -> str:
        return folded(f"{self._text}\n{' '.join(self.subwords)}")

    @property
    def _text(self) -> str:
        memory = self._memory
        return "\n".join((memory.title, memory.text, memory.context, *memory.tags, self._details))
