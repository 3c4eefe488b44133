"""FTS5 match expressions, built from quoted strings only: no query text can become syntax.

`any_of` and `all_of` join words; `boolean` reads the operators a person typed (AND, OR, NOT, NEAR,
parentheses, "phrases", prefix*, column:) and writes them anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from recollect.query.expressions import ExpressionLimits, NotFts5, parse
from recollect.query.terms import quoted, words

# FTS5 merges the places of all terms row by row, so that its work grows with the square of their
# number: a pasted page would take minutes. Beyond this many, repeats go first, then the last ones.
MOST_TERMS = 100
# FTS5 refuses more than 99 symbols on its parser's stack and trees deeper than 256. Long before
# that a query is nobody's expression: it is searched as plain words.
DEEPEST = 60
MOST_NOTS = 90


def any_of(terms: Iterable[str]) -> str:
    """`"a" OR "b"`; empty when there is no term."""
    return " OR ".join(quoted(term) for term in bounded(terms))


def each_counted(terms: Iterable[str], counted: Callable[[str], Sequence[int]]) -> dict[str, int]:
    """What `counted` says of each term, asked for all in one expression; nothing where it counts
    nothing. Of too many terms, the first different ones."""
    asked = bounded(terms)
    found = counted(any_of(asked))
    return dict(zip(asked, found, strict=bool(asked and found)))


def any_prefix_of(terms: Iterable[str]) -> str:
    """`"auth"* OR "token"*`; a piece without a letter or digit matches nothing."""
    return " OR ".join(quoted(term) + "*" for term in bounded(terms))


def all_of(terms: Iterable[str]) -> str:
    """`"a" "b"`: FTS5's implicit AND, which passes over terms that hold no letter or digit."""
    return " ".join(quoted(term) for term in bounded(terms))


def any_phrase_of(phrases: Iterable[Sequence[str]]) -> str:
    """`"file sync" OR "filesync"`: any of the phrases, each once. MOST_TERMS counts the words in
    them; of too many, the first phrases that have room."""
    kept: list[str] = []
    room = MOST_TERMS
    for phrase in dict.fromkeys(map(tuple, phrases)):
        room -= len(phrase)
        if room < 0:
            break
        kept.append(" ".join(phrase))
    return any_of(kept)


def bounded(terms: Iterable[str]) -> list[str]:
    """The terms as they stand; of too many, the first different ones."""
    every = list(terms)
    return every if len(every) <= MOST_TERMS else list(dict.fromkeys(every))[:MOST_TERMS]


def within(columns: Iterable[str], expression: str) -> str:
    """The expression matched in these columns alone."""
    return f"{{{' '.join(columns)}}} : ({expression})" if expression else ""


def boolean(query: str, columns: Sequence[str]) -> str:
    """What a person wrote in FTS5's syntax, quoted anew; plain words where it is not valid.

    Source: the `router` recipe: terms stand side by side when all must match, and a query that is
    not valid FTS5 is searched as plain words, never an error.
    """
    try:
        return str(parse(query, columns, ExpressionLimits(MOST_TERMS, MOST_NOTS, DEEPEST)))
    except NotFts5:
        return all_of(words(query))
