"""The details channel: memories whose long details hold the words of the query."""

from __future__ import annotations

from recollect.context import ChannelRole, SearchContext
from recollect.query import fts5
from recollect.query.passages import window
from recollect.query.subwords import subwords
from recollect.query.understanding import BM25_FACTOR, inverse_frequency
from recollect.recall.base import Channel
from recollect.recipes.ranges import AtLeastOne, Weight
from recollect.store.base import KeywordQuery
from recollect.types import Findings, Hit, Ranking, Term, ranked

# What they found may have it in its details.
OTHERS = ("subwords", "exact")


class Details(Channel, frozen=True, tag="details"):
    """Of the best `each` by BM25 in details, and of what the channels before it named `OTHERS`
    found: `weight` of the most that BM25 could give, `(k1 + 1) · Σ rarity` of the query's words in
    the passage of `characters` that holds the most of them. So a long log that has every word
    somewhere counts no more than a short note; and BM25 itself would give next to nothing to a
    word that is in the only details there are."""

    about = "holds the words in its details"
    family = "words"

    weight: Weight = 0.5
    each: AtLeastOne = 20
    characters: AtLeastOne = 600
    name: str = "details"

    @property
    def role(self) -> ChannelRole | None:
        return "details"

    def recall(self, context: SearchContext) -> Ranking:
        query = context.understanding
        words = query.searched
        matched = context.store.keyword.match(
            KeywordQuery(
                "details", fts5.any_of(words), {"details": 1.0}, self.each, context.search.filter
            )
        ).matches
        before = (context.channels.get(name, Ranking()).ids[: self.each] for name in OTHERS)
        ids = {match.memory_id for match in matched}.union(*before)
        context.load(ids)
        ids = {id for id in ids if context.has(id) and context.memory(id).details}
        if not ids:
            return Ranking()
        holding = context.store.keyword.holding("details", words)
        rarity = {
            word: inverse_frequency(
                query.documents, max(holding.get(word, 0), query.frequencies.get(word, 0))
            )
            for word in words
        }
        return ranked(self._hit(id, rarity, context) for id in ids)

    def _hit(self, id: str, rarity: dict[str, float], context: SearchContext) -> Hit:
        query = context.understanding
        passage = window(context.memory(id).details, query.sought, self.characters)
        stems = frozenset((*context.store.keyword.tokens(passage), *subwords(passage)))
        matched = [word for word in rarity if query.stems_of(word) <= stems]
        total = self.weight * BM25_FACTOR * sum(rarity[word] for word in matched)
        how = f"details hold {', '.join(matched)}" if matched else ""
        why = Term(self.name, total, f"{self.weight:.6g} × rarity of its words", how=how)
        return Hit(id, why, Findings(passage=passage))
