"""FTS5 match expressions: joined from words, or parsed by FTS5's grammar (fts5parse.y).

`any_of` and `all_of` join words. `boolean` reads the operators that a person typed (AND, OR, NOT,
NEAR, parentheses, "phrases", prefix*, column:) and writes them anew. Every string is quoted, so no
query text can become syntax.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from recollect.query.terms import quote, words

# FTS5 merges the positions of all terms row by row, so its work grows with the square of their
# number, and a pasted page would take minutes. Beyond this, repeats go first, then the last terms.
MOST_TERMS = 100
# FTS5 refuses more than 99 symbols on its parser's stack and trees deeper than 256. No person types
# an expression near that size: it is searched as plain words.
DEEPEST = 60
MOST_NOTS = 90
# FTS5's tokens: white space is ASCII only, and every character beyond ASCII belongs to a word.
# Compiled on first use: it takes milliseconds, and most recipes never parse a query.
LEXEME = r'[ \t\r\n]*(?:"((?:[^"]|"")*)"|([-(){}:+*,^])|([A-Za-z0-9_\x1a\u0080-\U0010ffff]+))'
OPERATORS = ("OR", "AND", "NOT")  # the last binds tightest
STRING = r'"((?:[^"]|"")*)"( ?\*)?'
ANY_OF = rf"(?:{{([a-z ]+)}} : \()?({STRING}(?: OR {STRING})+)(?(1)\))"
Lexeme = tuple[str, str]  # (kind, text), where kind is "string", "word" or the sign itself


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


class NotFts5(Exception):
    """The text does not follow FTS5's grammar."""


class Text(NamedTuple):
    """A string that the index tokenizes. `prefix`: its last token is a prefix."""

    text: str
    prefix: bool = False

    def __str__(self) -> str:
        return quote(self.text) + (" *" if self.prefix else "")


class Near(NamedTuple):
    """Phrases near each other; a single phrase has no distance. `first`: it begins its column."""

    phrases: tuple[tuple[Text, ...], ...]
    distance: str | None = None
    first: bool = False
    alone: bool = True

    def __str__(self) -> str:
        phrases = " ".join(" + ".join(map(str, phrase)) for phrase in self.phrases)
        if self.alone:
            return ("^ " if self.first else "") + phrases
        return f"NEAR({phrases}{'' if self.distance is None else f', {self.distance}'})"


class Within(NamedTuple):
    """An expression limited to these columns, or (`others`) to all other columns."""

    columns: tuple[str, ...]
    others: bool
    inner: Expression

    def __str__(self) -> str:
        return f"{'- ' if self.others else ''}{{{' '.join(self.columns)}}} : {self.inner}"


class Joined(NamedTuple):
    """Expressions joined by an operator. The operator is empty for an implicit AND, which skips
    strings without a word."""

    operator: str
    sides: tuple[Expression, ...]

    def __str__(self) -> str:
        return (f" {self.operator} " if self.operator else " ").join(map(str, self.sides))


class Group(NamedTuple):
    """Parentheses."""

    inner: Expression

    def __str__(self) -> str:
        return f"({self.inner})"


Expression = Near | Within | Joined | Group


class ExpressionLimits(NamedTuple):
    """The most terms and NOTs in an expression, and its deepest nesting."""

    terms: int
    nots: int
    depth: int


def parse(text: str, columns: Sequence[str], limits: ExpressionLimits | None = None) -> Expression:
    """Parse a match expression; raise NotFts5 for a syntax error or one beyond the limits.

    columns: the columns of the index.
    """
    simple = None if limits else re.fullmatch(ANY_OF, text)
    if simple is not None:
        return _any_of(simple[1], simple[2], columns)
    lexemes = _lexemes(text)
    terms = sum(kind in ("word", "string") for kind, _ in lexemes)
    nots = lexemes.count(("word", "NOT"))
    if limits is not None and (terms > limits.terms or nots > limits.nots):
        raise NotFts5
    return _Parser(lexemes, columns, limits).whole()


def _any_of(within: str | None, strings: str, columns: Sequence[str]) -> Expression:
    """Parse what `any_of` and `any_prefix_of` write. Most expressions are that, and this takes a
    tenth of the time."""
    found = re.findall(STRING, strings)
    texts = (Text(text.replace('""', '"'), bool(star)) for text, star in found)
    joined = Joined("OR", tuple(Near(((text,),)) for text in texts))
    if within is None:
        return joined
    names = tuple(within.split())
    if not set(names) <= set(columns):
        raise NotFts5
    return Within(names, False, Group(joined))


def _lexemes(query: str) -> list[Lexeme]:
    lexeme = re.compile(LEXEME)
    found: list[Lexeme] = []
    at = 0
    text = query.replace("\0", " ").rstrip(" \t\r\n")
    while at < len(text):
        match = lexeme.match(text, at)
        if match is None:
            raise NotFts5
        string, sign, word = match.groups()
        if string is not None:
            found.append(("string", string.replace('""', '"')))
        else:
            found.append((sign, sign) if sign else ("word", word))
        at = match.end()
    return found


class _Parser:
    """A recursive-descent parser with one method for each rule of the grammar."""

    def __init__(
        self, lexemes: list[Lexeme], columns: Sequence[str], limits: ExpressionLimits | None
    ) -> None:
        self.lexemes = lexemes
        self.columns = columns
        self.limits = limits
        self.at = 0
        self.pending = 0  # the depth of FTS5's parser stack at this point

    def whole(self) -> Expression:
        expression = self.expression()
        if self.at < len(self.lexemes):
            raise NotFts5
        return expression

    def expression(self, level: int = 0) -> Expression:
        """Parse operands joined by the operator of this level, or by one that binds tighter."""
        if level == len(OPERATORS):
            return self.operand()
        sides = [self.expression(level + 1)]
        while self.take("word", OPERATORS[level]):
            self.pending += 2
            sides.append(self.expression(level + 1))
            self.pending -= 2
        return sides[0] if len(sides) == 1 else Joined(OPERATORS[level], tuple(sides))

    def operand(self) -> Expression:
        """Parse parentheses or adjacent terms: FTS5 does not allow a mixture without AND."""
        if self.take("("):
            return self.rest_of_parentheses(1)
        terms: list[Expression] = []
        while not terms or not self.ends():
            columns = self.column_filter()
            if columns and not terms and self.take("("):
                return Within(*columns, self.rest_of_parentheses(3))
            term = self.near_or_phrase()
            terms.append(Within(*columns, term) if columns else term)
        return terms[0] if len(terms) == 1 else Joined("", tuple(terms))

    def rest_of_parentheses(self, symbols: int) -> Expression:
        """Parse what follows `(`. FTS5's stack has grown by `symbols` there."""
        self.pending += symbols
        if self.limits is not None and self.pending > self.limits.depth:
            raise NotFts5
        inner = self.expression()
        self.expect(")")
        self.pending -= symbols
        return Group(inner)

    def column_filter(self) -> tuple[tuple[str, ...], bool] | None:
        """Parse `title :` or `{title tags} :`, with `-` before it for all other columns."""
        start = self.at
        others = self.take("-")
        if self.take("{"):
            names = [self.string_or_word()]
            while not self.take("}"):
                names.append(self.string_or_word())
        elif others or (self.follows(":", ahead=1) and not self.operator()):
            names = [self.string_or_word()]
        if self.at == start:
            return None
        self.expect(":")
        return tuple(self.column(name) for name in names), others

    def column(self, name: str) -> str:
        for column in self.columns:
            if name.lower() == column:
                return column
        raise NotFts5

    def near_or_phrase(self) -> Near:
        if self.take("^"):
            return Near((self.phrase(),), first=True)
        if not self.follows("(", ahead=1):
            return Near((self.phrase(),))
        if not (self.take("word", "NEAR") and self.take("(")):
            raise NotFts5
        phrases = [self.phrase()]
        while not self.follows(")") and not self.follows(","):
            phrases.append(self.phrase())
        distance = self.whole_number() if self.take(",") else None
        self.expect(")")
        return Near(tuple(phrases), distance, alone=False)

    def whole_number(self) -> str:
        number = self.string_or_word() if self.follows("word") else ""
        if not (number.isascii() and number.isdigit()):
            raise NotFts5
        return number

    def phrase(self) -> tuple[Text, ...]:
        """Parse words and strings joined by `+`, each optionally followed by `*`."""
        texts = [self.text()]
        while self.take("+"):
            texts.append(self.text())
        return tuple(texts)

    def text(self) -> Text:
        return Text(self.string_or_word(), self.take("*"))

    def string_or_word(self) -> str:
        if not (self.follows("string") or self.follows("word")) or self.operator():
            raise NotFts5
        self.at += 1
        return self.lexemes[self.at - 1][1]

    def operator(self) -> bool:
        return any(self.follows("word", name) for name in OPERATORS)

    def ends(self) -> bool:
        return self.at >= len(self.lexemes) or self.follows(")") or self.operator()

    def follows(self, kind: str, text: str | None = None, ahead: int = 0) -> bool:
        place = self.at + ahead
        if place >= len(self.lexemes):
            return False
        found_kind, found_text = self.lexemes[place]
        return found_kind == kind and (text is None or found_text == text)

    def take(self, kind: str, text: str | None = None) -> bool:
        if self.follows(kind, text):
            self.at += 1
            return True
        return False

    def expect(self, kind: str) -> None:
        if not self.take(kind):
            raise NotFts5
