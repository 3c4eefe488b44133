"""The reranking stages: the texts that the reranker reads, its deadline, and the use of its
scores."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence

from msgspec import Struct, structs

from recollect.context import SearchContext, scores_of
from recollect.deadline import NO_DEADLINE, Deadline
from recollect.errors import ProviderError
from recollect.maths import logistic, logit
from recollect.models.base import Reranker
from recollect.models.english import readable_words
from recollect.query.passages import best_field, window
from recollect.query.terms import keywords, lower_words
from recollect.recipes.ranges import AtLeastOne, Count, Number, Share, Weight
from recollect.signals.base import add_parts
from recollect.stages.base import NEVER, Stage, cap_score
from recollect.types import Hit, Memory, Ranking, Reach, Term, combine, leaf, weighted

# Identifiers: camelCase, and words joined by underscores.
COMPOUND = re.compile(r"\b[A-Za-z]+(?:[a-z][A-Z]|_)\w*")
BORDER = re.compile(r"_+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
# The least bound for hits that were not reached, so that they keep their order below a score of 0.
LEAST = 1e-6


def whole_text(memory: Memory) -> str:
    """Return title and text; the model truncates them."""
    return f"{memory.title}\n{memory.text}".strip()


def focused_text(memory: Memory, query: str, size: int) -> str:
    """Return the title and about `size` characters around the query's words, from the details if
    these hold more of them than the text; else the beginning. Identifiers that the query has in
    plain words are split."""
    words = keywords(query)
    body = getattr(memory, best_field(memory, words, size, ("text", "details"))[0])
    return split_identifiers(f"{memory.title}\n{window(body, words, size)}".strip(), query)


def split_identifiers(text: str, query: str) -> str:
    """Write `FileSyncService` as `File Sync Service` if the query has these words. A model would
    see one unknown word otherwise."""
    asked = set(lower_words(query))

    def plain(found: re.Match[str]) -> str:
        parts = BORDER.sub(" ", found[0])
        return parts if asked.issuperset(parts.lower().split()) else found[0]

    return COMPOUND.sub(plain, text)


class RerankRun:
    """A reranker's scores, collected by a thread, so that a remote reranker that hangs blocks no
    search."""

    def __init__(
        self, reranker: Reranker, query: str, batch: int, deadline: Deadline = NO_DEADLINE
    ) -> None:
        self._reranker = reranker
        self._query = query
        self._batch = batch
        self._deadline = deadline
        self._scores: dict[str, float] = {}
        self._ready = threading.Event()
        self._late = threading.Event()
        self.failure: str | None = None

    def by(self, seconds: float, candidates: Sequence[tuple[str, str]]) -> dict[str, float]:
        """Return the scores that arrive within these seconds. Loading the model does not count,
        since it happens once, unless the search itself has a deadline.

        candidates: pairs of id and text, best first.
        """
        thread = threading.Thread(target=self._read, args=(candidates,), daemon=True)
        thread.start()
        self._ready.wait(self._deadline.within(None))
        thread.join(self._deadline.within(seconds))
        self._late.set()
        return dict(self._scores)

    def _read(self, candidates: Sequence[tuple[str, str]]) -> None:
        try:
            self._reranker.ready()
            self._ready.set()
            for first in range(0, len(candidates), self._batch):
                if self._late.is_set():
                    return
                ids, texts = zip(*candidates[first : first + self._batch], strict=True)
                scores = self._reranker.scores(self._query, texts)
                if not self._late.is_set():
                    self._scores |= zip(ids, scores, strict=True)
        except ProviderError as error:
            self.failure = str(error)
        finally:
            self._ready.set()


def rerank_scores(
    stage: str,
    ids: Sequence[str],
    text_of: Callable[[str], str],
    batch: int,
    context: SearchContext,
) -> dict[str, float]:
    """Return the reranker's scores of these memories by the search's deadline. Without any, the
    response names the stage and the reason.

    ids: best first.
    text_of: returns the text to read; not called without a reranker.
    """
    if context.deadline.over:
        context.degrade(stage, context.deadline.reason)
        return {}
    with context.timer(stage):
        try:
            reranker = context.models.reranker()
        except ProviderError as error:
            context.degrade(stage, str(error))
            return {}
        run = RerankRun(reranker, context.search.query, batch, context.deadline)
        candidates = [(id, text_of(id)) for id in ids]
        scores = run.by(context.models.budget_ms / 1000, candidates)
    if run.failure is not None:
        context.degrade(stage, run.failure)
    elif len(scores) < len(candidates):
        limit = context.deadline.milliseconds if context.deadline.over else None
        which = f" of {limit} ms" if limit else ""
        reason = f"reranked {len(scores)} of {len(candidates)} within the deadline{which}"
        context.degrade(stage, reason, Reach(len(scores), len(candidates), limit))
    return scores


class Skip(Struct, frozen=True, forbid_unknown_fields=True):
    """`base + span · logistic(steepness · (x − centre))`, at most `cap`. `x` is the RRF over the
    largest that the fusion can give, times the cosine of a memory that vectors found.

    Source: the `gnosis` recipe, "Skip", where the largest is 2/61; the RRF is the one before the
    kind boosts.
    """

    base: Share = 0.40
    span: Share = 0.30
    steepness: Weight = 10.0
    centre: Share = 0.4
    cap: Share = 0.70

    def score(self, rrf: float, cosine: float | None, *, largest: float) -> Term:
        x = rrf / largest * (1.0 if cosine is None else cosine)
        risen = self.span * logistic(self.steepness * (x - self.centre))
        how = f"{self.span:g} · logistic({self.steepness:g} · ({x:.4f} − {self.centre:g}))"
        parts = (leaf("base", self.base, "lowest unverified score"), leaf("fused", risen, how))
        total = combine("unverified", "sum", parts)
        return cap_score("unverified", total, self.cap)


class CrossEncoder(Stage, frozen=True, tag="cross_encoder"):
    """Replaces each score by the reranker's, 0…1.

    With fewer than `skip_below` candidates, or without a reranker, `skip` computes unverified
    scores from ranks and cosine. Candidates are read best first, `batch` at a time, until the
    deadline; the rest keep their fused order below the verified ones.
    """

    about = "the model that reads query and memory together"
    family = "reranking"
    needs = ("rrf",)
    gives = ("reranking",)

    skip_below: Count = 0
    skip: Skip = Skip()
    batch: AtLeastOne = 8
    name: str = "rerank"

    def deferral(self, query: str) -> dict[str, object]:
        return {"skip_below": NEVER}

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        if not ranking.hits or len(ranking) < self.skip_below:
            return self._score_unverified(ranking, context)
        scores = rerank_scores(
            self.name, ranking.ids, lambda id: whole_text(context.memory(id)), self.batch, context
        )
        if not scores:
            return self._score_unverified(ranking, context)
        lowest = max(LEAST, min(scores.values()))
        best = ranking.hits[0].score
        reranked = ranking.with_hits(self._hit(hit, scores, lowest, best) for hit in ranking)
        return structs.replace(reranked, reranked=len(scores))

    def _hit(self, hit: Hit, scores: dict[str, float], lowest: float, best: float) -> Hit:
        score = scores.get(hit.memory_id)
        if score is not None:
            return hit.with_score(leaf(self.name, score, "cross-encoder")).with_findings(
                verified=True
            )
        parts = (
            leaf("lowest_verified", lowest, "lowest score the reranker gave"),
            leaf("fused", hit.score / best, "fused score over the largest"),
        )
        return hit.with_score(combine("not_reached", "product", parts)).with_findings(
            unreached=True
        )

    def _score_unverified(self, ranking: Ranking, context: SearchContext) -> Ranking:
        # The fused RRF, before any stage changed it.
        fused, cosines = scores_of(context.fused), scores_of(context.by_vectors())
        largest = context.fused.largest
        return ranking.with_hits(
            hit.with_score(
                self.skip.score(fused[hit.memory_id], cosines.get(hit.memory_id), largest=largest)
            )
            for hit in ranking
        )


class RerankInterpolation(Stage, frozen=True, tag="rerank_interpolation"):
    """`score + weight · (clip(logit, floor, bound) − floor)` for the best `top` candidates. A logit
    of `floor` or less counts nothing, since a cross-encoder rejects every text that shares no word
    with the query, right answers in other words included.

    A cross-encoder alone is right about questions in whole sentences and often wrong about
    keywords, so it moves candidates but does not order them. It does not read queries of fewer than
    `least_words` words, nor, unless `always`, those compared word by word. Of a long text it reads
    `characters` around the query's words: half the time, and no worse. Candidates beyond the
    deadline or `top` count as the worst it read, so they keep their order.

    No logits can exchange two candidates that are further apart than `weight · (bound − floor)`. So
    it reads down to the first such gap; beyond the number of results only candidates that can still
    become the first, on which the verdict depends: half the reading, and no worse
    (benchmarks/reading.py).
    """

    about = "the model that reads query and memory together"
    family = "reranking"
    gives = ("reranking",)

    weight: Weight = 0.25
    bound: Weight = 10.0
    floor: Number = -10.0
    top: AtLeastOne = 20
    characters: AtLeastOne = 450
    least_words: Count = 3
    batch: AtLeastOne = 4
    always: bool = False
    name: str = "rerank"

    def deferral(self, query: str) -> dict[str, object]:
        return {"least_words": NEVER} if len(readable_words(query)) >= self.least_words else {}

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        text = context.search.query
        if not ranking or len(readable_words(text)) < self.least_words:
            return ranking
        if context.compared and not self.always:
            return ranking
        contested = self._count_contested([hit.score for hit in ranking], context.limit)
        scores = rerank_scores(
            self.name,
            ranking.ids[:contested],
            lambda id: focused_text(context.memory(id), text, self.characters),
            self.batch,
            context,
        )
        if not scores:
            return ranking
        logits = {id: self._bound_logit(score) for id, score in scores.items()}
        worst = min(logits.values())
        reranked = ranking.with_hits(self._hit(hit, logits, worst) for hit in ranking)
        return structs.replace(reranked, reranked=len(logits))

    def _count_contested(self, scores: Sequence[float], limit: int) -> int:
        """Return the number of best candidates that the reranker could exchange."""
        reach = self.weight * (self.bound - self.floor)
        for place in range(1, min(self.top, len(scores))):
            above = scores[place - 1] if place < limit else scores[0]
            if above - scores[place] > reach:
                return place
        return min(self.top, len(scores))

    def _bound_logit(self, score: float) -> float:
        return max(self.floor, min(self.bound, logit(score))) - self.floor

    def _hit(self, hit: Hit, logits: dict[str, float], worst: float) -> Hit:
        read = hit.memory_id in logits
        logit = logits.get(hit.memory_id, worst)
        if not read:
            how = "not read by the reranker: as the lowest it gave (logit of a cross-encoder)"
        else:
            rating = "an answer" if logit + self.floor > 0 else "possible" if logit else "unlikely"
            how = f"the reranker rates it as {rating} (logit of a cross-encoder)"
        term = weighted(self.name, self.weight, logit, how)
        moved = hit.with_score(add_parts(hit.why, term))
        return moved.with_findings(verified=True) if read else moved
