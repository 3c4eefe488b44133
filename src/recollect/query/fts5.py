"""FTS5 match expressions, built from quoted strings only: no query text can become syntax.

`any_of` and `all_of` join words. `boolean` reads the operators that a person typed (AND, OR, NOT,
NEAR, parentheses, "phrases", prefix*, column:) and writes them anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from recollect.query.expressions import ExpressionLimits, NotFts5, parse
from recollect.query.terms import quote, words

# FTS5 merges the positions of all terms row by row, so its work grows with the square of their
# number, and a pasted page would take minutes. Beyond this, repeats go first, then the last terms.
MOST_TERMS = 100
# FTS5 refuses more than 99 symbols on its parser's stack and trees deeper than 256. No person types
# an expression near that size: it is searched as plain words.
DEEPEST = 60
MOST_NOTS = 90


def any_of(terms: Iterable[str]) -> str:
    """Return `"a" OR "b"`; an empty string without terms."""
    return " OR ".join(quote(term) for term in limit_terms(terms))


def each_counted(terms: Iterable[str], counted: Callable[[str], Sequence[int]]) -> dict[str, int]:
    """Map each term to its count; call `counted` once, with all terms in one expression. Beyond
    MOST_TERMS, the first distinct ones count."""
    asked = limit_terms(terms)
    found = counted(any_of(asked))
    return dict(zip(asked, found, strict=bool(asked and found)))


def any_prefix_of(terms: Iterable[str]) -> str:
    """Return `"auth"* OR "token"*`. A piece without a letter or digit matches nothing."""
    return " OR ".join(quote(term) + "*" for term in limit_terms(terms))


def all_of(terms: Iterable[str]) -> str:
    """Return `"a" "b"`: FTS5's implicit AND, which skips terms without a letter or digit."""
    return " ".join(quote(term) for term in limit_terms(terms))


def any_phrase_of(phrases: Iterable[Sequence[str]]) -> str:
    """Return `"file sync" OR "filesync"`: any of the phrases, without repeats. Their words together
    count towards MOST_TERMS; phrases beyond it are dropped."""
    kept: list[str] = []
    room = MOST_TERMS
    for phrase in dict.fromkeys(map(tuple, phrases)):
        room -= len(phrase)
        if room < 0:
            break
        kept.append(" ".join(phrase))
    return any_of(kept)


def limit_terms(terms: Iterable[str]) -> list[str]:
    """Return the terms; of more than MOST_TERMS, the first distinct ones."""
    every = list(terms)
    return every if len(every) <= MOST_TERMS else list(dict.fromkeys(every))[:MOST_TERMS]


def within(columns: Iterable[str], expression: str) -> str:
    """Return the expression limited to these columns."""
    return f"{{{' '.join(columns)}}} : ({expression})" if expression else ""


def boolean(query: str, columns: Sequence[str]) -> str:
    """Rewrite a person's FTS5 query with every string quoted.

    Source: the `router` recipe: terms are joined by an implicit AND, and a query that is not valid
    FTS5 is searched as plain words, never an error.
    """
    try:
        return str(parse(query, columns, ExpressionLimits(MOST_TERMS, MOST_NOTS, DEEPEST)))
    except NotFts5:
        return all_of(words(query))
