"""FTS5 match expressions, built from quoted strings only: no query text can become syntax.

`any_of` and `all_of` join words; `boolean` reads the operators a person typed (AND, OR, NOT, NEAR,
parentheses, "phrases", prefix*, column:) with FTS5's grammar and writes them anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from recollect.query.terms import words

# FTS5's own tokens: white space is ASCII's, and every character beyond ASCII belongs to a word.
# Compiled when first used, since that takes milliseconds and most recipes never parse a query.
LEXEME = r'[ \t\r\n]*(?:"((?:[^"]|"")*)"|([-(){}:+*,^])|([A-Za-z0-9_\x1a\u0080-\U0010ffff]+))'
# FTS5 merges the places of all terms row by row, so that its work grows with the square of their
# number: a pasted page would take minutes. Beyond this many, repeats go first, then the last ones.
MOST_TERMS = 100
OPERATORS = ("OR", "AND", "NOT")  # the last binds tightest
# FTS5 refuses more than 99 symbols on its parser's stack and trees deeper than 256. Long before
# that a query is nobody's expression: it is searched as plain words.
DEEPEST = 60
MOST_NOTS = 90


def quoted(text: str) -> str:
    """One FTS5 string; a quote inside is doubled, and NUL, which would end it, is a space."""
    return '"' + text.replace("\0", " ").replace('"', '""') + '"'


def any_of(terms: Iterable[str]) -> str:
    """`"a" OR "b"`; empty when there is no term."""
    return " OR ".join(quoted(term) for term in bounded(terms))


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
        return _Parser(_lexemes(query), columns).whole()
    except _NotFts5:
        return all_of(words(query))


class _NotFts5(Exception):
    """The query does not follow FTS5's grammar."""


Lexeme = tuple[str, str]  # (kind, text), where kind is "string", "word" or the sign itself


def _lexemes(query: str) -> list[Lexeme]:
    lexeme = re.compile(LEXEME)
    found: list[Lexeme] = []
    at = 0
    text = query.replace("\0", " ").rstrip(" \t\r\n")
    while at < len(text):
        match = lexeme.match(text, at)
        if match is None:
            raise _NotFts5
        string, sign, word = match.groups()
        if string is not None:
            found.append(("string", string.replace('""', '"')))
        else:
            found.append((sign, sign) if sign else ("word", word))
        at = match.end()
    return found


class _Parser:
    """Recursive descent over the grammar of FTS5 (fts5parse.y), one method a rule."""

    def __init__(self, lexemes: list[Lexeme], columns: Sequence[str]) -> None:
        self.lexemes = lexemes
        self.columns = columns
        self.at = 0
        self.pending = 0  # what FTS5's parser would hold on its stack here

    def whole(self) -> str:
        terms = sum(kind in ("word", "string") for kind, _ in self.lexemes)
        if terms > MOST_TERMS or self.lexemes.count(("word", "NOT")) > MOST_NOTS:
            raise _NotFts5
        expression = self.expression()
        if self.at < len(self.lexemes):
            raise _NotFts5
        return expression

    def expression(self, level: int = 0) -> str:
        """Operands joined by the operator of this level, or of one that binds tighter."""
        if level == len(OPERATORS):
            return self.operand()
        sides = [self.expression(level + 1)]
        while self.take("word", OPERATORS[level]):
            self.pending += 2
            sides.append(self.expression(level + 1))
            self.pending -= 2
        return f" {OPERATORS[level]} ".join(sides)

    def operand(self) -> str:
        """Parentheses, or terms side by side: FTS5 allows no mixture of both without AND."""
        if self.take("("):
            return self.rest_of_parentheses(1)
        terms: list[str] = []
        while not terms or not self.ends():
            columns = self.column_filter()
            if columns and not terms and self.take("("):
                return columns + self.rest_of_parentheses(3)
            terms.append(columns + self.near_or_phrase())
        return " ".join(terms)

    def rest_of_parentheses(self, symbols: int) -> str:
        """What follows `(`, which stands as the last of so many symbols."""
        self.pending += symbols
        if self.pending > DEEPEST:
            raise _NotFts5
        inner = self.expression()
        self.expect(")")
        self.pending -= symbols
        return f"({inner})"

    def column_filter(self) -> str:
        """`title :`, `{title tags} :`, either with `-` before it for every other column."""
        start = self.at
        minus = "- " if self.take("-") else ""
        if self.take("{"):
            names = [self.string_or_word()]
            while not self.take("}"):
                names.append(self.string_or_word())
        elif minus or (self.follows(":", ahead=1) and not self.operator()):
            names = [self.string_or_word()]
        if self.at == start:
            return ""
        self.expect(":")
        return f"{minus}{{{' '.join(self.column(name) for name in names)}}} : "

    def column(self, name: str) -> str:
        for column in self.columns:
            if name.lower() == column:
                return column
        raise _NotFts5

    def near_or_phrase(self) -> str:
        if self.take("^"):
            return "^ " + self.phrase()
        if not self.follows("(", ahead=1):
            return self.phrase()
        if not (self.take("word", "NEAR") and self.take("(")):
            raise _NotFts5
        phrases = [self.phrase()]
        while not self.follows(")") and not self.follows(","):
            phrases.append(self.phrase())
        distance = f", {self.whole_number()}" if self.take(",") else ""
        self.expect(")")
        return f"NEAR({' '.join(phrases)}{distance})"

    def whole_number(self) -> str:
        number = self.string_or_word() if self.follows("word") else ""
        if not (number.isascii() and number.isdigit()):
            raise _NotFts5
        return number

    def phrase(self) -> str:
        """Words and strings joined by `+`, each with or without `*` behind it."""
        texts = [self.text()]
        while self.take("+"):
            texts.append(self.text())
        return " + ".join(texts)

    def text(self) -> str:
        return quoted(self.string_or_word()) + (" *" if self.take("*") else "")

    def string_or_word(self) -> str:
        if not (self.follows("string") or self.follows("word")) or self.operator():
            raise _NotFts5
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
            raise _NotFts5
