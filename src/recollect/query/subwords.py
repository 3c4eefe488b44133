"""What a text holds beside its plain words: parts of identifiers, and characters in pairs.

The tokenizers of the word indexes see `FileSyncService` as one word, and a Japanese or Thai
sentence too. `subwords` gives the tokens that are missing for such texts, `subwords_query` the
FTS5 expression that finds them. Only ASCII capitals and digits mark the parts of an identifier.
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
# A word starts at each of these; the plural of initials and numbers such as 1990s are one.
INNER_WORD = (
    r"(?<![^\W_])[0-9]+(?:st|nd|rd|th|s)(?![^\W_])"
    rf"|[A-Z]{{2,}}s(?!{LOWER})|[A-Z]+(?=[A-Z]{LOWER})|[A-Z]?{LOWER}+|[A-Z]+"
    r"|[0-9]+(?:\.[0-9]+)*"
)
# A dot between two identifiers; the dots of a version are part of it.
DOT = r"(?<![0-9])\.|\.(?![0-9])"
# Something that may have parts, found by the signs that are rare in prose: a capital, a digit, an
# underscore, hyphen or dot inside a word. Whoever reads prose pays for a look at each character.
SIGN = (
    r"(?:\b(?<=\w[.\-])|(?<=\w[A-Z0-9_])(?:(?<=_)"
    rf"|(?<={LOWER}.)|(?<=[A-Z][0-9])|(?<=[0-9][A-Z])|(?<=[A-Z][A-Z])(?={LOWER}))"
    r"|(?<=[0-9])(?=[^\W0-9_]))"
)
# Nobody types a longer identifier; it is base64, or a table of numbers.
LONGEST = 200
# So many pieces of less than two characters each are a hash, not words.
FEW_PIECES = 3
# What stands between blanks comes again and again, unless it is long: as much of it as a large
# import uses often, in a few megabytes.
MOST_KNOWN = 16_384
LONGEST_KNOWN = 80
# A query of so many words may be a part of a name, and of so many a name; a longer one is a
# sentence.
FEW_WORDS = 2
MOST_NAMED = 6
# An identifier of more words is asked for as it is written.
MOST_JOINED = 4


class Name(NamedTuple):
    """An identifier by its parts, or a plain word, which is its only part."""

    parts: tuple[str, ...]
    in_one: bool  # written without a sign between the parts

    @property
    def joined(self) -> str:
        return "".join(self.parts)


def subwords(text: str) -> list[str]:
    """The extra tokens, in the order of the text; none for prose.

    An identifier gives the words in it and all of them as one: `FileSyncService` is file, sync,
    service, filesyncservice. What hyphens, underscores and dots join is split by every tokenizer,
    so only the joined form is missing; that of `1.4.2` keeps its dots. A run of Chinese, Japanese,
    Korean, Thai, Lao, Khmer or Burmese gives each two neighbouring characters, so that a phrase of
    pairs is a piece of the text.
    """
    found: list[str] = []
    for stretch in _stretches(_normal(text)):
        found += _known_tokens(stretch)
    return found


def subwords_by_piece(pieces: Sequence[str]) -> tuple[list[Sequence[str]], list[int]]:
    """The extra tokens of each of many pieces, which have no blank in them. And the numbers of
    those whose texts have to be read as a whole: of scripts that put no space between words."""
    plain = [piece for piece in pieces if piece.isascii()]
    # Accents alone change nothing, but other patterns read them.
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
    """The FTS5 expression that finds a query's words among `subwords`; empty when nothing can.

    Whole things come first, so that they stay when there is too much: an identifier as the phrase
    of its parts or joined, a run as the phrase of its pairs. Then neighbouring words joined, since
    someone may write `file sync service`. Then what may match alone: pairs of characters, and the
    words of a query of one or two; of a longer one, each two neighbouring words, since it is more
    likely a sentence, and a single word of it says little about a name.
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
    """The pieces of a text that are written without spaces between words."""
    return [] if text.isascii() else [run for run, _ in _pieces(_normal(text)) if run]


def inner_words(thing: str) -> tuple[str, ...]:
    """The words in an identifier, however it is written: `file-sync-service` and `FileSyncService`
    are file, sync and service."""
    names = _names(thing) if len(thing) <= LONGEST else []
    return names[-1].parts if names else ()


@lru_cache(MOST_KNOWN)
def joined(thing: str) -> str:
    """An identifier in one piece, however it is written: `file-sync-service` is filesyncservice.
    Empty for what has no parts."""
    parts = inner_words(thing)
    return "".join(parts) if len(parts) > 1 else ""


def pairs(run: str) -> list[str]:
    """Each character with its neighbour; a character that stands alone is as it is."""
    folded = run.casefold()
    return [folded[at : at + 2] for at in range(max(1, len(folded) - 1))]


# The patterns are compiled when first used: those of all scripts take milliseconds, so a text that
# cannot hold an unspaced script is read without them.


def _letters(text: str) -> Literal["ascii", "spaced", "all"]:
    """What there is to see in a text; `spaced` where nothing in it is of an unspaced script."""
    if text.isascii():
        return "ascii"
    if max(text) < UNSPACED[0]:  # as most, and quicker
        return "spaced"
    return "all" if any(map(_may_be_unspaced, set(text))) else "spaced"


def _may_be_unspaced(sign: str) -> bool:
    """Whether a character may be one of UNSPACED: not so letters, punctuation, arrows, emoji."""
    return UNSPACED[0] <= sign < "\u2000" or "\u2e80" <= sign < "\U0001b170" or sign >= "\U00020000"


@cache
def _hint(letters: str) -> re.Pattern[str]:
    """Where there is something to see."""
    if letters == "all":
        return re.compile(rf"[A-Z0-9_.\-{UNSPACED}](?:(?<![A-Z0-9_.\-])|{SIGN})")
    return re.compile(rf"[A-Z0-9_.\-]{SIGN}", re.ASCII if letters == "ascii" else 0)


@cache
def _piece(letters: str) -> re.Pattern[str]:
    """An unspaced run, which is group 1, or a word with what hyphens and dots join to it."""
    if letters == "all":
        return re.compile(rf"([{UNSPACED}]++)|(?:[^\W{UNSPACED}]++(?:[.\-](?=\w))?+)++")
    return re.compile(r"((?!))|\w++(?:[.\-]\w++)*+", re.ASCII if letters == "ascii" else 0)


@cache
def _blank() -> re.Pattern[str]:
    # The blank first: it is found quickly, and only there is a look at the characters around.
    return re.compile(f" (?<=[{UNSPACED}] )(?=[{UNSPACED}])")


@cache
def _inner_word() -> re.Pattern[str]:
    return re.compile(INNER_WORD)


@cache
def _dot() -> re.Pattern[str]:
    return re.compile(DOT)


def _normal(text: str) -> str:
    """Full-width letters as plain ones, marks with their letters; the space of no width, which
    some write between Thai or Khmer words and others do not, is left out. So is a blank between two
    characters of such scripts: a piece of a Korean text may begin in one word and end in the next.
    """
    if text.isascii():
        return text
    normal = unicodedata.normalize("NFKC", text.replace("\u200b", ""))
    return _blank().sub("", normal) if _letters(normal) == "all" else normal


def _is_accented(piece: str) -> bool:
    """Whether a piece is of letters that are read like ASCII, as they are."""
    normal = "\u200b" not in piece and unicodedata.is_normalized("NFKC", piece)
    return normal and _letters(piece) == "spaced"


def _stretches(text: str) -> list[str]:
    """What stands between blanks, where there is something to see in it."""
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
    """Unspaced runs, and what else is a word or an identifier: one of both is empty."""
    for found in _piece(_letters(text)).finditer(text):
        if found[1]:
            yield found[1], ""
        elif len(found[0]) <= LONGEST:
            yield "", found[0]


def _names(compound: str, signs: str = ".-_") -> list[Name]:
    """The names in `app.file-sync.startAll`, from the inside out: the last is all of it."""
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
    """`XMLHttpRequest2` is xml, http, request and 2; the v of a version says nothing."""
    if word.isalpha() and (word.islower() or word.istitle()):  # the same, quicker
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
    """The extra tokens of what stands between blanks."""
    found: list[str] = []
    for run, compound in _pieces(stretch):
        found += pairs(run) if run else _extra_tokens(compound)
    return (*found,)


def _extra_tokens(compound: str) -> tuple[str, ...]:
    if compound.islower() or compound.istitle():  # `well-known` and its like, quicker
        joined = compound.replace("-", "")
        if joined.isalpha():
            return (joined.casefold(),) if len(joined) > compound.count("-") + 1 > 1 else ()
    return tuple(chain.from_iterable(map(_tokens, _names(compound))))


def _tokens(name: Name) -> list[str]:
    """What the tokenizers do not make of the name themselves."""
    if len(name.parts) == 1:
        return [part for part in name.parts if "." in part]
    if not name.in_one:
        return [name.joined] if _is_identifier(name) else []
    # The O of OAuth2 is a letter of the word behind it as well.
    initials = [
        one + behind
        for one, behind in zip(name.parts, name.parts[1:], strict=False)
        if len(one) == 1 and one.isalpha() and behind.isalpha() and one + behind != name.joined
    ]
    return [*name.parts, *initials, name.joined]


def _is_identifier(name: Name) -> bool:
    """Rather than initials such as U.S., a score, or years from and to."""
    initials = len(name.joined) == len(name.parts)
    return not initials and not (len(name.parts) == 2 and name.joined.isdigit())


def _asked_whole(name: Name) -> list[Sequence[str]]:
    """The phrase of the parts, the joined form, and the version in `python3.11`."""
    versions = [[part] for part in name.parts if "." in part]
    return [name.parts, [name.joined], *versions] if len(name.parts) > 1 else [*versions]


def _asked_alone(name: Name) -> bool:
    return len(name.parts) == 1 and len(name.joined) > 1 and name.joined not in STOP_WORDS


def _joined_neighbours(words: Sequence[str]) -> Iterator[str]:
    """Two to four words as one; stop words alone make no name."""
    for count in range(2, MOST_JOINED + 1):
        for at in range(len(words) - count + 1):
            some = words[at : at + count]
            if not STOP_WORDS.issuperset(some):
                yield "".join(some)


def _neighbouring(words: Sequence[str]) -> Iterator[Sequence[str]]:
    """Each two words that follow each other; stop words alone are part of every sentence."""
    return (pair for pair in pairwise(words) if not STOP_WORDS.issuperset(pair))
