"""Tokens that a text has in addition to its plain words: parts of identifiers, and pairs of
characters.

The tokenizers of the word indexes take `FileSyncService` for one word, and a Japanese or Thai
sentence too. `subwords` returns the missing tokens, `subwords_query` the FTS5 expression that finds
them. Only ASCII capitals and digits mark the parts of an identifier.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import chain, pairwise
from typing import Literal, NamedTuple

from recollect.query.fts5 import MOST_TERMS, any_phrase_of
from recollect.query.terms import STOP_WORDS

# Scripts that put no space between words (and Hangul, whose words carry their endings), with the
# marks that belong to their letters and without their punctuation.
UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e50-\u0e59"  # Thai
    "\u0e81-\u0edf"  # Lao
    "\u1000-\u1049\u1050-\u109f\ua9e0-\ua9fe\uaa60-\uaa7f"  # Myanmar
    "\u1780-\u17d3\u17d7\u17dc\u17dd\u17e0-\u17e9"  # Khmer
    "\u1100-\u11ff\u3131-\u318e\ua960-\ua97c\uac00-\ud7fb\uffa0-\uffdc"  # Hangul
    "\u3041-\u3096\u3099\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"
    "\U0001aff0-\U0001b16f"  # Hiragana and Katakana
    "\u2e80-\u2fd5\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303c\u3105-\u312f\u31a0-\u31bf"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han and Bopomofo
)
LOWER = r"[^\W0-9_A-Z]"
# One inner word; the plural of initials and numbers such as 1990s are one word.
INNER_WORD = (
    r"(?<![^\W_])[0-9]+(?:st|nd|rd|th|s)(?![^\W_])"
    rf"|[A-Z]{{2,}}s(?!{LOWER})|[A-Z]+(?=[A-Z]{LOWER})|[A-Z]?{LOWER}+|[A-Z]+"
    r"|[0-9]+(?:\.[0-9]+)*"
)
# A dot between two identifiers; a version keeps its dots.
DOT = r"(?<![0-9])\.|\.(?![0-9])"
# Something that may have parts, found by signs that are rare in prose: a capital, a digit, an
# underscore, hyphen or dot inside a word. In prose this is all the work.
SIGN = (
    r"(?:\b(?<=\w[.\-])|(?<=\w[A-Z0-9_])(?:(?<=_)"
    rf"|(?<={LOWER}.)|(?<=[A-Z][0-9])|(?<=[0-9][A-Z])|(?<=[A-Z][A-Z])(?={LOWER}))"
    r"|(?<=[0-9])(?=[^\W0-9_]))"
)
# A longer identifier is base64, or a table of numbers.
LONGEST = 200
# More pieces of less than two characters on average are a hash, not words.
FEW_PIECES = 3
# The cache of tokens: short words repeat. It holds what a large import uses often, in a few
# megabytes.
MOST_KNOWN = 16_384
LONGEST_KNOWN = 80
# A query of up to FEW_WORDS may be a part of an identifier, up to MOST_NAMED an identifier; a
# longer one is a sentence.
FEW_WORDS = 2
MOST_NAMED = 6
# Identifiers of more words are not made from the words of a query.
MOST_JOINED = 4


class Name(NamedTuple):
    """The parts of an identifier, or a plain word as its only part."""

    parts: tuple[str, ...]
    in_one: bool  # written without a sign between the parts

    @property
    def joined(self) -> str:
        return "".join(self.parts)


def subwords(text: str) -> list[str]:
    """Return the extra tokens in the order of the text; none for prose.

    An identifier gives its words and all of them as one: `FileSyncService` is file, sync, service,
    filesyncservice. Every tokenizer splits at hyphens, underscores and dots, so there only the
    joined form is missing; that of `1.4.2` keeps its dots. A run of Chinese, Japanese, Korean,
    Thai, Lao, Khmer or Burmese gives all pairs of neighbouring characters, so that a phrase of
    pairs is a piece of the text.
    """
    found: list[str] = []
    for stretch in _stretches(_normal(text)):
        found += _known_tokens(stretch)
    return found


def subwords_by_piece(pieces: Sequence[str]) -> tuple[list[Sequence[str]], list[int]]:
    """Return the extra tokens of each piece, and the numbers of the pieces whose texts must be read
    as a whole, since their scripts put no space between words. Pieces have no blanks."""
    plain = [piece for piece in pieces if piece.isascii()]
    # Accents alone change nothing, but need other patterns.
    accented = [piece for piece in pieces if not piece.isascii() and _is_accented(piece)]
    telling = {*_stretches(" ".join(plain)), *_stretches(" ".join(accented))}
    joined = {*plain, *accented}
    found: list[Sequence[str]] = []
    unspaced: list[int] = []
    for number, piece in enumerate(pieces):
        if piece in joined:
            found.append(_known_tokens(piece) if piece in telling else ())
            continue
        found.append(subwords(piece))
        if found[-1] and unspaced_runs(piece):
            unspaced.append(number)
    return found, unspaced


def subwords_query(text: str) -> str:
    """Return the FTS5 expression that finds a query's words among `subwords`; empty if nothing can
    match.

    Whole things come first, so that they stay when there is too much: an identifier as the phrase
    of its parts or joined, a run as the phrase of its pairs. Then neighbouring words joined, for
    people who write `file sync service`. Last, single pairs of characters, and the words of a query
    of one or two. In a longer query, probably a sentence, a single word says little about a name,
    so each two neighbouring words are used instead.
    """
    whole: list[Sequence[str]] = []
    single: list[Sequence[str]] = []
    words: list[Sequence[str]] = []
    neighbours: list[list[str]] = [[]]  # words in rows that no unspaced run interrupts
    for run, compound in _pieces(_normal(text)):
        if run:
            found = pairs(run)
            whole.append(found[: MOST_TERMS // 2])
            single += [[pair] for pair in found]
            neighbours.append([])
        else:
            names = _names(compound)
            whole += chain.from_iterable(map(_asked_whole, names))
            words += [name.parts for name in names if _asked_alone(name)]
            neighbours[-1] += [name.joined for name in names[-1:]]
    joined: list[list[str]] = []
    if len(words) <= MOST_NAMED:
        joined = [[one] for row in neighbours for one in _joined_neighbours(row)]
    if len(words) > FEW_WORDS:
        words = [pair for row in neighbours for pair in _neighbouring(row)]
    return any_phrase_of([*whole, *joined, *single, *words])


def unspaced_runs(text: str) -> list[str]:
    """Return the pieces of a text that are written without spaces between words."""
    return [] if text.isascii() else [run for run, _ in _pieces(_normal(text)) if run]


def inner_words(thing: str) -> tuple[str, ...]:
    """Return the words in an identifier, however it is written: file, sync and service for
    `file-sync-service` and `FileSyncService`."""
    names = _names(thing) if len(thing) <= LONGEST else []
    return names[-1].parts if names else ()


@lru_cache(MOST_KNOWN)
def join_identifier(thing: str) -> str:
    """Return an identifier in one piece: filesyncservice for `file-sync-service`; empty if it has
    no parts."""
    parts = inner_words(thing)
    return "".join(parts) if len(parts) > 1 else ""


def pairs(run: str) -> list[str]:
    """Return each character with its neighbour; a single character as it is."""
    folded = run.casefold()
    return [folded[at : at + 2] for at in range(max(1, len(folded) - 1))]


# Patterns are compiled on first use. Those of all scripts take milliseconds, so a text without an
# unspaced script is read with simpler ones.


def _letters(text: str) -> Literal["ascii", "spaced", "all"]:
    """Return the kind of letters in a text; `spaced` if none is of an unspaced script."""
    if text.isascii():
        return "ascii"
    if max(text) < UNSPACED[0]:  # as most, and quicker
        return "spaced"
    return "all" if any(map(_may_be_unspaced, set(text))) else "spaced"


def _may_be_unspaced(sign: str) -> bool:
    """Return False for characters that are surely not in UNSPACED: letters, punctuation, arrows,
    emoji."""
    return UNSPACED[0] <= sign < "\u2000" or "\u2e80" <= sign < "\U0001b170" or sign >= "\U00020000"


@cache
def _hint(letters: str) -> re.Pattern[str]:
    """Return the pattern of places that may have subwords."""
    if letters == "all":
        return re.compile(rf"[A-Z0-9_.\-{UNSPACED}](?:(?<![A-Z0-9_.\-])|{SIGN})")
    return re.compile(rf"[A-Z0-9_.\-]{SIGN}", re.ASCII if letters == "ascii" else 0)


@cache
def _piece(letters: str) -> re.Pattern[str]:
    """Return the pattern of an unspaced run, which is group 1, or a word with what hyphens and dots
    join to it."""
    if letters == "all":
        return re.compile(rf"([{UNSPACED}]++)|(?:[^\W{UNSPACED}]++(?:[.\-](?=\w))?+)++")
    return re.compile(r"((?!))|\w++(?:[.\-]\w++)*+", re.ASCII if letters == "ascii" else 0)


@cache
def _blank() -> re.Pattern[str]:
    # The blank comes first: it is found quickly.
    return re.compile(f" (?<=[{UNSPACED}] )(?=[{UNSPACED}])")


@cache
def _inner_word() -> re.Pattern[str]:
    return re.compile(INNER_WORD)


@cache
def _dot() -> re.Pattern[str]:
    return re.compile(DOT)


def _normal(text: str) -> str:
    """Return full-width letters as plain ones and accents composed, without zero-width spaces,
    which only some writers put between Thai or Khmer words.

    A blank between two characters of unspaced scripts goes too: a piece of a Korean text may begin
    in one word and end in the next.
    """
    if text.isascii():
        return text
    normal = unicodedata.normalize("NFKC", text.replace("\u200b", ""))
    return _blank().sub("", normal) if _letters(normal) == "all" else normal


def _is_accented(piece: str) -> bool:
    """Return True if a piece can be read like ASCII."""
    normal = "\u200b" not in piece and unicodedata.is_normalized("NFKC", piece)
    return normal and _letters(piece) == "spaced"


def _stretches(text: str) -> list[str]:
    """Return the words, split at blanks, that may have subwords."""
    hint = _hint(_letters(text))
    stretches: list[str] = []
    at = 0
    while found := hint.search(text, at):
        start = max(at, text.rfind(" ", at, found.start()) + 1)
        end = text.find(" ", found.end())
        at = end if end >= 0 else len(text)
        stretches.append(text[start:at])
    return stretches


def _pieces(text: str) -> Iterator[tuple[str, str]]:
    """Yield pairs of an unspaced run and a word or identifier; one of both is empty."""
    for found in _piece(_letters(text)).finditer(text):
        if found[1]:
            yield found[1], ""
        elif len(found[0]) <= LONGEST:
            yield "", found[0]


def _names(compound: str, signs: str = ".-_") -> list[Name]:
    """Return the names in `app.file-sync.startAll`, inner ones first; the last is the whole."""
    sign = next((sign for sign in signs if sign in compound), "")
    if not sign:
        return [Name(_inner_words(compound), in_one=True)]
    split = _dot().split(compound) if sign == "." else compound.split(sign)
    rest = signs.partition(sign)[2]
    inner = [_names(piece, rest) for piece in split if piece]
    names = list(chain.from_iterable(inner))
    if len(inner) > 1:
        whole = chain.from_iterable(every[-1].parts for every in inner if every)
        names.append(Name(tuple(whole), in_one=False))
    return names


def _inner_words(word: str) -> tuple[str, ...]:
    """Split `XMLHttpRequest2` into xml, http, request and 2. The v of a version is dropped."""
    if word.isalpha() and (word.islower() or word.istitle()):  # a shortcut
        return (word.casefold(),)
    found = [one.casefold() for one in _inner_word().findall(word)]
    if len(found) > FEW_PIECES and len(word) < 2 * len(found):
        return (word.casefold(),)
    if len(found) > 1 and found[0] == "v" and "." in found[1]:
        del found[0]
    return tuple(found)


def _known_tokens(stretch: str) -> tuple[str, ...]:
    return (_tokens_of if len(stretch) <= LONGEST_KNOWN else _tokens_of.__wrapped__)(stretch)


@lru_cache(MOST_KNOWN)
def _tokens_of(stretch: str) -> tuple[str, ...]:
    """Return the extra tokens of a word between blanks."""
    found: list[str] = []
    for run, compound in _pieces(stretch):
        found += pairs(run) if run else _extra_tokens(compound)
    return (*found,)


def _extra_tokens(compound: str) -> tuple[str, ...]:
    if compound.islower() or compound.istitle():  # a shortcut for words such as `well-known`
        joined = compound.replace("-", "")
        if joined.isalpha():
            return (joined.casefold(),) if len(joined) > compound.count("-") + 1 > 1 else ()
    return tuple(chain.from_iterable(map(_tokens, _names(compound))))


def _tokens(name: Name) -> list[str]:
    """Return the tokens of a name that the tokenizers do not make."""
    if len(name.parts) == 1:
        return [part for part in name.parts if "." in part]
    if not name.in_one:
        return [name.joined] if _is_identifier(name) else []
    # The O of OAuth2 belongs to the next word as well.
    initials = [
        one + two
        for one, two in pairwise(name.parts)
        if len(one) == 1 and one.isalpha() and two.isalpha() and one + two != name.joined
    ]
    return [*name.parts, *initials, name.joined]


def _is_identifier(name: Name) -> bool:
    """Return False for initials such as U.S., a score, or a range of years."""
    initials = len(name.joined) == len(name.parts)
    return not initials and not (len(name.parts) == 2 and name.joined.isdigit())


def _asked_whole(name: Name) -> list[Sequence[str]]:
    """Return the phrase of the parts, the joined form, and the version in `python3.11`."""
    versions = [[part] for part in name.parts if "." in part]
    return [name.parts, [name.joined], *versions] if len(name.parts) > 1 else [*versions]


def _asked_alone(name: Name) -> bool:
    return len(name.parts) == 1 and len(name.joined) > 1 and name.joined not in STOP_WORDS


def _joined_neighbours(words: Sequence[str]) -> Iterator[str]:
    """Yield two to four words joined; stop words alone make no name."""
    for count in range(2, MOST_JOINED + 1):
        for at in range(len(words) - count + 1):
            some = words[at : at + count]
            if not STOP_WORDS.issuperset(some):
                yield "".join(some)


def _neighbouring(words: Sequence[str]) -> Iterator[Sequence[str]]:
    """Return pairs of consecutive words, except pairs of stop words."""
    return (pair for pair in pairwise(words) if not STOP_WORDS.issuperset(pair))
