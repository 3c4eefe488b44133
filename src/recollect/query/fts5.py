"""FTS5 match expressions, built from quoted strings only: no query text can become syntax.

`any_of` and `all_of` join words; `boolean` reads the operators a person typed (AND, OR, NOT, NEAR,
parentheses, "phrases", prefix*, column:) with a grammar of its own and writes them anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from recollect.query.terms import words

LEXEME = re.compile(r'\s*(?:"((?:[^"]|"")*)"|([():+*,^])|([\w\u0080-\U0010ffff]+))')
# Deeper nesting than this is refused by FTS5 itself (SQLITE_FTS5_MAX_EXPR_DEPTH is 256).
DEEPEST = 200


def quoted(text: str) -> str:
    """One FTS5 string; a quote inside is doubled, and NUL, which would end it, is a space."""
    return '"' + text.replace("\0", " ").replace('"', '""') + '"'


def any_of(terms: Iterable[str]) -> str:
    """`"a" OR "b"`; empty when there is no term."""
    return " OR ".join(quoted(term) for term in terms)


def any_prefix_of(terms: Iterable[str]) -> str:
    """`"auth"* OR "token"*`; a piece without a letter or digit cannot match and is left out."""
    return " OR ".join(quoted(term) + "*" for term in terms if has_token(term))


def all_of(terms: Iterable[str]) -> str:
    """`"a" AND "b"`; terms that hold no token are left out, as FTS5's implicit AND does."""
    return " AND ".join(quoted(term) for term in terms if has_token(term))


def within(columns: Iterable[str], expression: str) -> str:
    """The expression matched in these columns alone."""
    return f"{{{' '.join(columns)}}} : ({expression})" if expression else ""


def has_token(term: str) -> bool:
    """Whether unicode61 would find a token in it: an underscore alone is a separator there."""
    return any(character.isalnum() for character in term)


def boolean(query: str, columns: Sequence[str]) -> str:
    """What a person wrote in FTS5's syntax, quoted anew; plain words where it is not valid.

    Source: the `router` recipe: terms stand side by side when all must match, and a query that is
    not valid FTS5 is searched as plain words, never an error.
    """
    try:
        parser = _Parser(_lexemes(query), columns)
        return parser.whole()
    except _NotFts5:
        return all_of(words(query))


class _NotFts5(Exception):
    """The query does not follow FTS5's grammar."""


Lexeme = tuple[str, str]  # (kind, text), where kind is "string", "word" or the sign itself


def _lexemes(query: str) -> list[Lexeme]:
    found: list[Lexeme] = []
    at = 0
    text = query.replace("\0", " ").rstrip()
    while at < len(text):
        match = LEXEME.match(text, at)
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
    """Recursive descent over FTS5's grammar: NOT binds tightest, then AND, then OR."""

    def __init__(self, lexemes: list[Lexeme], columns: Sequence[str]) -> None:
        self.lexemes = lexemes
        self.columns = columns
        self.at = 0
        self.depth = 0

    def whole(self) -> str:
        if not self.lexemes:
            return ""
        expression = self.disjunction()
        if self.at < len(self.lexemes):
            raise _NotFts5
        return expression

    def disjunction(self) -> str:
        self.depth += 1
        if self.depth > DEEPEST:
            raise _NotFts5
        sides = [self.conjunction()]
        while self.take("word", "OR"):
            sides.append(self.conjunction())
        self.depth -= 1
        return _joined(sides, " OR ")

    def conjunction(self) -> str:
        sides = [self.exclusion()]
        while self.take("word", "AND"):
            sides.append(self.exclusion())
        return _joined(sides, " AND ")

    def exclusion(self) -> str:
        kept = self.side_by_side()
        while self.take("word", "NOT"):
            kept = f"({kept}) NOT ({self.side_by_side()})"
        return kept

    def side_by_side(self) -> str:
        """Terms that stand next to each other must all match; ones without a token do not count."""
        sides = [self.primary()]
        while not self.ends():
            sides.append(self.primary())
        told = [side for side in sides if side]
        return _joined(told, " AND ") if told else '""'

    def primary(self) -> str:
        if self.take("("):
            inner = self.disjunction()
            self.expect(")")
            return f"({inner})"
        if self.follows("word", "NEAR") and self.follows("(", "(", ahead=1):
            return self.near()
        if self.follows(":", ":", ahead=1):
            return self.column()
        return self.phrase()

    def column(self) -> str:
        name = self.word()
        self.expect(":")
        if name not in self.columns:
            raise _NotFts5
        return f"{name} : ({self.primary() or quoted('')})"

    def near(self) -> str:
        self.at += 2
        phrases = [self.phrase()]
        while not self.follows(")") and not self.follows(","):
            phrases.append(self.phrase())
        distance = "10"
        if self.take(","):
            distance = self.word()
            if not (distance.isascii() and distance.isdigit()) or len(distance) > 6:
                raise _NotFts5
        self.expect(")")
        told = [phrase for phrase in phrases if phrase]
        return f"NEAR({' '.join(told)}, {distance})" if told else ""

    def phrase(self) -> str:
        """A word or string, with `^` before it, `+` inside it, or `*` behind it."""
        start = "^ " if self.take("^") else ""
        texts = [self.string_or_word()]
        while self.take("+"):
            texts.append(self.string_or_word())
        star = " *" if self.take("*") else ""
        if not any(has_token(text) for text in texts):
            return ""
        return start + " + ".join(quoted(text) for text in texts) + star

    def string_or_word(self) -> str:
        if self.follows("string"):
            self.at += 1
            return self.lexemes[self.at - 1][1]
        return self.word()

    def word(self) -> str:
        if not self.follows("word") or self.operator():
            raise _NotFts5
        self.at += 1
        return self.lexemes[self.at - 1][1]

    def operator(self) -> bool:
        return any(self.follows("word", name) for name in ("AND", "OR", "NOT"))

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


def _joined(sides: list[str], operator: str) -> str:
    return sides[0] if len(sides) == 1 else operator.join(f"({side})" for side in sides)
