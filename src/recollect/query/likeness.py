"""The likeness of two queries, and one scale for the cosines of all models.

Thresholds between memories are cosines of the bundled English model: there, texts about different
things have 0.4 to 0.6; with the multilingual model they have 0.75 to 0.85. A CosineScale converts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from msgspec import Struct

from recollect.query.terms import keywords, lower_words
from recollect.recipes.ranges import Cosine

# Words that change a question's meaning. Vectors hardly notice them: "why do we pin dependencies"
# and "why do we not pin dependencies" have a cosine of 0.94. `t` is the one in "don't".
TURNING = frozenset("not no never t without except before after".split())


def normalise(query: str) -> str:
    """Return the words of a query in lower case, without punctuation."""
    return " ".join(lower_words(query))


def differ_in_meaning(one: str, other: str) -> bool:
    """Return True if two normalised queries differ in a number or in a word that changes the
    meaning."""
    return _marks(one) != _marks(other)


def _marks(query: str) -> list[str]:
    return sorted(word for word in query.split() if word in TURNING or word.isdigit())


def overlap(one: str, other: str) -> float:
    """Return the share of keywords that both queries have; 0 if neither has any."""
    first, second = frozenset(keywords(one)), frozenset(keywords(other))
    return len(first & second) / len(first | second) if first or second else 0.0


class Likeness(Struct, frozen=True, forbid_unknown_fields=True):
    """The weight of feedback on one query for another, 0…1.

    1 for the same words, and from the cosine `same` on. Below that the square of `(cosine −
    related) / (same − related)`; 0 from `related` down. Without a vector for one of the queries,
    the share of keywords that both have. 0 for queries that differ in a number, or in a word such
    as "not" or "before".

    `same` and `related` were measured with the models in `fitted_with`; with another model words
    are compared.
    """

    same: Cosine = 0.9
    related: Cosine = 0.75
    fitted_with: tuple[str, ...] = ()

    def knows(self, identity: str) -> bool:
        return any(name in identity for name in self.fitted_with)

    def between(self, one: str, other: str, cosine: float | None) -> float:
        """Compare two normalised queries. `cosine`: of their vectors, or None."""
        if one == other:
            return 1.0
        if differ_in_meaning(one, other):
            return 0.0
        if cosine is None:
            return overlap(one, other)
        if cosine >= self.same:
            return 1.0
        return max(0.0, (cosine - self.related) / (self.same - self.related)) ** 2


class CosineScale(NamedTuple):
    """`factor · cosine + offset`, at most 1."""

    factor: float = 1.0
    offset: float = 0.0

    def to_english(self, cosine: float) -> float:
        return min(1.0, self.factor * cosine + self.offset)

    def to_own(self, english: float) -> float:
        """Return the model's own cosine for a cosine of the English scale."""
        return (english - self.offset) / self.factor


SAME_SCALE = CosineScale()


# By the beginning of a model's identity. Fitted by benchmarks/duplicates.py: the mean and deviation
# of its `fitted` pairs and of unrelated pairs equal those of the English model.
SCALES = {
    "builtin:multilingual@": CosineScale(2.63, -1.61),
    "builtin:joint@": CosineScale(1.42, -0.44),
}


def scale_of(identity: str) -> CosineScale:
    """Return the scale of a model; SAME_SCALE for a model that was not measured."""
    return next((scale for name, scale in SCALES.items() if identity.startswith(name)), SAME_SCALE)


def on_english_scale(
    identity: str, cosines: Mapping[tuple[str, str], float]
) -> dict[tuple[str, str], float]:
    """Convert a model's cosines between pairs of memories to the English scale."""
    scale = scale_of(identity)
    return {pair: scale.to_english(cosine) for pair, cosine in cosines.items()}
