"""A match expression with its texts tokenised, by FTS5's own rules (fts5_expr.c)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import NamedTuple

from msgspec import Struct

from recollect.query.fts5 import Expression, Group, Near, Text, Within

DISTANCE = 10  # the default of NEAR
FARTHEST = 1 << 30  # more than the length of any column

Tokenize = Callable[[str], Sequence[str]]


class PhraseToken(NamedTuple):
    text: str
    prefix: bool = False


class Phrase(NamedTuple):
    """Consecutive tokens; `first`: they begin their column. Without tokens it matches nothing.
    `texts` are the texts that they were cut from."""

    tokens: tuple[PhraseToken, ...]
    first: bool
    texts: tuple[Text, ...]

    @property
    def written(self) -> str:
        """The phrase in FTS5's syntax."""
        return str(Near((self.texts,), first=self.first))

    @property
    def single(self) -> bool:
        """True for one word at any position: its frequency is enough to count it."""
        return len(self.tokens) == 1 and not self.first


class Leaf(Struct):
    """Phrases near each other, mostly a single one. `columns`: those that count; None for all."""

    phrases: list[Phrase]
    distance: int = DISTANCE
    columns: frozenset[int] | None = None

    @property
    def single(self) -> bool:
        """True for one word at any position."""
        return len(self.phrases) == 1 and self.phrases[0].single

    @property
    def nothing(self) -> bool:
        """True if it can match no row."""
        return not self.phrases[0].tokens or self.columns == frozenset()


class Branch(Struct):
    """`AND`, `OR` or `NOT`; the last has two sides."""

    operator: str
    sides: list[Node]


Node = Leaf | Branch


def resolve(expression: Expression, columns: Sequence[str], tokenize: Tokenize) -> Node:
    """Return the expression over an index with these columns; `tokenize` splits its texts."""
    if isinstance(expression, Group):
        return resolve(expression.inner, columns, tokenize)
    if isinstance(expression, Near):
        every = [_read_phrase(texts, expression.first, tokenize) for texts in expression.phrases]
        phrases = [phrase for phrase in every if phrase.tokens] or every[:1]
        distance = DISTANCE if expression.distance is None else int(expression.distance)
        return Leaf(phrases, min(distance, FARTHEST))
    if isinstance(expression, Within):
        inner = resolve(expression.inner, columns, tokenize)
        named = {columns.index(name) for name in expression.columns}
        numbers = frozenset(range(len(columns))) - named if expression.others else named
        for leaf in leaves(inner):  # a column filter inside another counts in both
            leaf.columns = frozenset(numbers if leaf.columns is None else leaf.columns & numbers)
        return inner
    sides = [resolve(side, columns, tokenize) for side in expression.sides]
    if expression.operator == "NOT":
        return reduce(lambda left, right: Branch("NOT", [left, right]), sides)
    if expression.operator == "":  # side by side: sides without a word are skipped
        sides = [side for side in sides if not _empty(side)] or sides[:1]
    return _branch(expression.operator or "AND", sides)


def leaves(node: Node) -> list[Leaf]:
    """Return the leaves from left to right: their phrases are FTS5's phrases, in its order."""
    if isinstance(node, Leaf):
        return [node]
    return [leaf for side in node.sides for leaf in leaves(side)]


def is_miscounted(node: Node, matches: Callable[[Node], bool], *, beside: bool = False) -> bool:
    """Return True if FTS5 counts phrases in rows that do not match, or misses some (fts5_expr.c).
    This happens in three cases, all of them next to OR or NOT.

    NEAR of phrases, or in some columns, stops at the first phrase that a row does not have: the
    ones before it count, and those after it count as in an earlier row. An AND that fails, with OR
    or NOT in it, also empties the phrases that are at a later row. The right side of a NOT whose
    left side matches no row stays at its first row, and counts there.

    matches: whether a part of the expression matches any row.
    beside: the node is a part of an OR or NOT.
    """
    if isinstance(node, Leaf):
        phrases = node.columns is not None or any(len(one.tokens) > 1 for one in node.phrases)
        return beside and len(node.phrases) > 1 and phrases
    both = node.operator == "AND"
    if both and beside and not all(isinstance(side, Leaf) for side in node.sides):
        return any(leaf.columns is not None or not leaf.single for leaf in leaves(node))
    if node.operator == "NOT" and beside and not matches(node.sides[0]):
        return True
    return any(is_miscounted(side, matches, beside=beside or not both) for side in node.sides)


def asked_tokens(node: Node) -> tuple[set[str], set[str]]:
    """Return the tokens to look up: those that count at any position, and those whose positions
    count. Prefixes are in neither set."""
    alone, placed = set[str](), set[str]()
    for leaf in leaves(node):
        for phrase in leaf.phrases:
            words = alone if leaf.single else placed
            words.update(token.text for token in phrase.tokens if not token.prefix)
    return alone - placed, placed


def _read_phrase(texts: Sequence[Text], first: bool, tokenize: Tokenize) -> Phrase:
    tokens: list[PhraseToken] = []
    for text in texts:
        tokens += (PhraseToken(token) for token in tokenize(text.text))
        if tokens:
            tokens[-1] = PhraseToken(tokens[-1].text, text.prefix)
    return Phrase(tuple(tokens), first, tuple(texts))


def _empty(node: Node) -> bool:
    return isinstance(node, Leaf) and not node.phrases[0].tokens


def _branch(operator: str, sides: Sequence[Node]) -> Node:
    """Join the sides; sides joined by the same operator become part of the result."""
    if len(sides) == 1:
        return sides[0]
    joined: list[Node] = []
    for side in sides:
        same = isinstance(side, Branch) and side.operator == operator
        joined += side.sides if same and isinstance(side, Branch) else [side]
    return Branch(operator, joined)
