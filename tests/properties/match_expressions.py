"""Random FTS5 match expressions, as many kinds as its grammar has."""

from __future__ import annotations

import random
from collections.abc import Sequence


class Expressions:
    """Expressions over these words and columns, each time another one."""

    def __init__(self, words: Sequence[str], columns: Sequence[str], seed: int) -> None:
        self._words = words
        self._columns = columns
        self._chance = random.Random(seed)

    def expression(self, depth: int = 3) -> str:
        chance = self._chance
        if not depth or chance.random() < 0.3:
            return " ".join(self._term() for _ in range(chance.choice((1, 1, 2, 3))))
        if chance.random() < 0.25:
            return f"{self._filter()}({self.expression(depth - 1)})"
        operator = chance.choice(("AND", "OR", "OR", "NOT"))
        left, right = (self.expression(depth - 1) for _ in range(2))
        return f"({left}) {operator} ({right})"

    def any_of(self) -> str:
        """Words joined by OR, each of them perhaps a prefix: what most recipes ask."""
        star = self._chance.choice(("", "", "*"))
        return " OR ".join(self._string(1) + star for _ in range(self._chance.randint(1, 6)))

    def _term(self) -> str:
        kind = self._chance.choice(("phrase", "phrase", "phrase", "first", "near"))
        if kind == "near":
            return self._filter() + self._near()
        return self._filter() + ("^ " if kind == "first" else "") + self._phrase()

    def _filter(self) -> str:
        chance = self._chance
        some = " ".join(chance.sample(self._columns, chance.randint(1, min(2, len(self._columns)))))
        return chance.choice(("", "", "", f"{{{some}}} : ", f"- {{{some}}} : "))

    def _phrase(self) -> str:
        texts = (self._text(self._chance.choice((0, 1, 1, 1, 2, 3))) for _ in range(2))
        return next(texts) if self._chance.random() < 0.8 else " + ".join(texts)

    def _near(self) -> str:
        chance = self._chance
        phrases = " ".join(self._text(chance.randint(1, 2)) for _ in range(chance.randint(1, 3)))
        return f"NEAR({phrases}{chance.choice(('', ', 0', ', 2', ', 99999999999'))})"

    def _text(self, words: int) -> str:
        return self._string(words) + self._chance.choice(("", "", "", " *"))

    def _string(self, words: int) -> str:
        return f'"{" ".join(self._chance.choices(self._words, k=words))}"'
