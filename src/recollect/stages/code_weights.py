"""What a part of a score counts for in source code, when the query is a question in words."""

from __future__ import annotations

from recollect.context import SearchContext
from recollect.recipes.ranges import Count, Factor, Share, Span
from recollect.stages.base import Stage
from recollect.types import Hit, Memory, Ranking, Term, combine, weighted

# The kind of a chunk of a source file.
CODE = "code"
# Signs that every language is full of and that prose has hardly any of; so is a parenthesis that
# follows what it belongs to.
SIGNS = "{}[]<>=;_"
BLANKS = " \t\n"
# Source code begins as source code; a message with code in it begins with a sentence.
OPENING = 200


def sign_share(text: str) -> float:
    """The share of a text's characters, blanks aside, that are signs of source code; 0 where there
    are none."""
    written = len(text) - sum(map(text.count, BLANKS))
    calls = text.count("(") - text.count(" (")
    return (sum(map(text.count, SIGNS)) + 2 * calls) / written if written else 0.0


class CodeWeights(Stage, frozen=True, tag="code_weights"):
    """A part that `factors` names counts that many times as much in source code.

    Source code repeats the words of its comments and its boilerplate without being about them: a
    question in words is answered by meaning first. Such a question has at least `least_words`
    keywords, and names no identifier, number or quoted phrase. A text is prose where its beginning
    has a share of signs up to `prose`, source code where it has `ramp` more than that, and between
    them the factor grows evenly; a chunk of a source file is source code whatever it looks like.
    Without vectors only words can tell, and everything counts as ever.
    """

    factors: dict[str, Factor]
    least_words: Count = 3
    prose: Share = 0.03
    ramp: Span = 0.02
    name: str = "code_weights"

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        query = context.understanding
        in_words = not query.names and len(query.keywords) >= self.least_words
        if not in_words or not context.vectors_answered:
            return ranking
        likeness = {id: self.likeness(context.memory(id)) for id in ranking.ids}
        if not any(likeness.values()):
            return ranking
        return ranking.resorted(self._hit(hit, likeness[hit.memory_id]) for hit in ranking)

    def likeness(self, memory: Memory) -> float:
        """From 0, prose, to 1, source code."""
        if memory.kind == CODE:
            return 1.0
        above = sign_share(memory.text[:OPENING]) - self.prose
        return max(0.0, min(1.0, above / self.ramp))

    def _hit(self, hit: Hit, likeness: float) -> Hit:
        if not likeness or hit.why.formula != "sum":
            return hit
        parts = [self._part(part, likeness) for part in hit.why.parts]
        return hit.rescored(combine(hit.why.name, "sum", parts))

    def _part(self, part: Term, likeness: float) -> Term:
        if part.name not in self.factors or part.weight is None or part.raw is None:
            return part
        factor = 1 + (self.factors[part.name] - 1) * likeness
        how = f"{part.how} (source code: weight {part.weight:g} × {factor:.3g})"
        return weighted(part.name, part.weight * factor, part.raw, how)
