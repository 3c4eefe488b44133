"""The vector channel: the nearest memories by cosine."""

from __future__ import annotations

from typing import Literal

from msgspec import structs

from recollect.context import ChannelRole, SearchContext
from recollect.errors import Interrupted, RecollectError
from recollect.recall import Channel
from recollect.recipes.ranges import Cosine, Count, Depth
from recollect.store.base import VectorMatch
from recollect.types import NO_FINDINGS, Findings, Hit, Ranking, Term

When = Literal["always", "sparse", "semantic", "never"]


class Vector(Channel, frozen=True, tag="vector"):
    """The nearest memories by cosine.

    when: `always`; `sparse`, only if the channel `sparse_after` found fewer than `sparse_below`;
        `semantic`, only for queries of semantic intent; `never`.
    least_cosine: drop memories below it.
    dimensions: above 0, cut the vectors to this length (Matryoshka).
    """

    about = "near in meaning"
    family = "meaning"

    depth: Depth
    name: str = "vector"
    when: When = "always"
    sparse_after: str = "keyword"
    sparse_below: Count = 3
    least_cosine: Cosine = -1.0
    dimensions: Count = 0
    without_kinds: tuple[str, ...] = ()

    @property
    def role(self) -> ChannelRole:
        return "vector"

    @property
    def channels(self) -> tuple[str, ...]:
        return (self.sparse_after,) if self.when == "sparse" else ()

    def with_vectors(self, when: str) -> Vector:
        return structs.replace(self, when=when)

    def embeds(self, context: SearchContext) -> bool:
        return self.when == "always" and self.applies(context)

    def applies(self, context: SearchContext) -> bool:
        if not context.search.query.strip():
            return False
        match self.when:
            case "sparse":
                return len(context.channels.get(self.sparse_after, ())) < self.sparse_below
            case "semantic":
                return context.understanding.intent == "semantic"
        return self.when == "always"

    def recall(self, context: SearchContext) -> Ranking | None:
        vector, narrowed = context.query_vector, context.filter(without_kinds=self.without_kinds)
        if vector is None:
            return None
        if narrowed is None:
            return Ranking()
        identity = context.embedder.identity
        self._note_missing(context, identity)
        try:
            found = context.store.vectors.nearest(
                identity, vector, self.depth.at(context.limit), narrowed, self.dimensions
            )
        except Interrupted:  # later reads would fail as well
            raise
        except RecollectError as error:
            context.lose_vectors(str(error))
            return None
        near = [match for match in found if match.score >= self.least_cosine]
        dropped = {"least_cosine": len(found) - len(near)} if len(near) < len(found) else {}
        return Ranking(tuple(self._hit(match) for match in near), dropped)

    def _hit(self, found: VectorMatch) -> Hit:
        """Return a hit; its explanation names the nearest passage of a memory with several."""
        how = ""
        if found.passage:
            start, end = found.span
            how = f"(passage {found.passage}: characters {start}–{end} of title, text and context)"
        findings = Findings(span=found.span) if found.passage else NO_FINDINGS
        return Hit(found.memory_id, Term(self.name, found.score, "cosine", how=how), findings)

    def _note_missing(self, context: SearchContext, identity: str) -> None:
        embedded, memories = context.store.vectors.coverage(identity)
        if embedded < memories:
            advice = "a running server makes them, or `recollect reindex`"
            if context.search.as_of is not None:
                advice = "the same search again makes more, of wordings that have changed since"
            context.degrade(
                self.name,
                f"{memories - embedded} of {memories} memories have no vector yet; {advice}",
            )
