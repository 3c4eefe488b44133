"""The last stages: repeats and chunks of a file become one result, the cut, and the confidence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import structs

from recollect.context import SearchContext
from recollect.maths import logistic
from recollect.query.sameness import ALIKE, Wording
from recollect.recipes.ranges import Count, Depth, Share
from recollect.stages.base import Stage
from recollect.types import FilePlace, Hit, Judgement, Ranking

if TYPE_CHECKING:
    from recollect.store.folders import ChunkPlace

DIGITS = 4  # of a confidence


class NearDuplicates(Stage, frozen=True, tag="near_duplicates"):
    """Shows memories of one project and space that say the same as one result: the best of them,
    which names the others. Looks at the best `top`, or at the number of results if that is more; 0
    turns it off. `alike` is the share of words that they must have in common."""

    alike: Share = ALIKE
    top: Count = 20
    name: str = "near_duplicates"

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        groups: list[list[Hit]] = []
        together: dict[tuple[str, str], list[tuple[Wording, list[Hit]]]] = {}
        top = max(self.top, context.limit) if self.top else 0
        for hit in ranking.hits[:top]:
            memory, wording = context.memory(hit.memory_id), context.text(hit.memory_id).wording
            others = together.setdefault((memory.project, memory.space), [])
            group = next((hits for known, hits in others if wording.says(known, self.alike)), None)
            if group is None:
                groups.append([hit])
                others.append((wording, groups[-1]))
            else:
                group.append(hit)
        hidden = {hit.memory_id for hits in groups for hit in hits[1:]}
        if not hidden:
            return ranking
        kept = [_merge_group(hits, hidden, context) for hits in groups]
        rest = (_without_hidden(hit, hidden) for hit in ranking.hits[top:])
        return ranking.keep((*kept, *rest), self.name)


def _merge_group(hits: Sequence[Hit], hidden: set[str], context: SearchContext) -> Hit:
    """Return the best of a group, which names the others."""
    best, *others = hits
    if others:
        best = best.with_findings(same=tuple(context.memory(hit.memory_id) for hit in others))
    return _without_hidden(best, hidden)


def _without_hidden(hit: Hit, hidden: set[str]) -> Hit:
    """Return the hit without beliefs about hidden hits."""
    older, newer = hit.findings.seems_to_replace, hit.findings.seems_replaced_by
    if newer and newer.id in hidden:
        hit = hit.with_findings(seems_replaced_by=None)
    if not any(memory.id in hidden for memory in older):
        return hit
    return hit.with_findings(
        seems_to_replace=tuple(each for each in older if each.id not in hidden)
    )


class Neighbours(Stage, frozen=True, tag="neighbours"):
    """Joins consecutive chunks of a file to the best of them, with its lines in the file. Reads
    more hits than will be returned (`depth`), since joined chunks make room for later ones. Other
    memories stay as they are."""

    depth: Depth = Depth(per_result=5, at_least=50)
    name: str = "neighbours"

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        looked_at = ranking.ids[: self.depth.at(context.limit)]
        order = {id: place for place, id in enumerate(looked_at)}
        ids = [id for id in looked_at if context.memory(id).path]
        places = context.store.folders.places(ids) if ids else {}
        if not places:
            return ranking
        hits = {hit.memory_id: hit for hit in ranking}
        for run in _runs([places[id] for id in ids if id in places]):
            best = min((place.chunk for place in run), key=lambda chunk: order[chunk.memory_id])
            others = [place.chunk.memory_id for place in run if place.chunk is not best]
            for id in others:
                del hits[id]
            id = best.memory_id
            file = FilePlace(context.memory(id).path, best.heading, best.first_line, best.last_line)
            hits[id] = hits[id].with_findings(file=file, joined=tuple(map(context.memory, others)))
        return ranking.keep(hits.values(), "neighbour")


def _runs(places: Sequence[ChunkPlace]) -> Iterator[list[ChunkPlace]]:
    """Yield groups of consecutive chunks of one file, in the order of the file."""
    run: list[ChunkPlace] = []
    for place in sorted(places, key=lambda place: (place.file, place.chunk.number)):
        if run and (place.file, place.chunk.number) != (run[-1].file, run[-1].chunk.number + 1):
            yield run
            run = []
        run.append(place)
    if run:
        yield run


class Cut(Stage, frozen=True, tag="cut"):
    """Keeps the best `limit`. With a guard: if `guard_channel` found fewer than `guard_below`
    memories and the limit is less than `guard_share` of them, nothing is cut. Source of the guard:
    the `vault` recipe, "Small corpus guard"."""

    gives = ("limit",)

    guard_channel: str = ""
    guard_below: Count = 0
    guard_share: Share = 0.5
    name: str = "cut"

    @property
    def channels(self) -> tuple[str, ...]:
        return (self.guard_channel,) if self.guard_channel else ()

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        found = len(context.channels.get(self.guard_channel, ()))
        if found < self.guard_below and context.limit < self.guard_share * found:
            context.note(
                f"Small corpus: all {len(ranking)} candidates are returned, not {context.limit}."
            )
            return ranking
        return ranking.best(context.limit, "limit")


class ConfidenceVerdict(Stage, frozen=True, tag="verdict"):
    """Judges the first result by `logistic(score)`: strong evidence from `strong` on, none under
    `weak`. Drops nothing. A list that the query asks for is strong. Needs a fusion whose scores are
    log odds."""

    needs = ("log_odds", "limit")

    strong: Share
    weak: Share
    name: str = "verdict"

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        return structs.replace(ranking, judgement=self._judge(ranking, context))

    def _judge(self, ranking: Ranking, context: SearchContext) -> Judgement:
        if not ranking:
            return Judgement(0.0, "none")
        if context.understanding.lists:
            return Judgement(1.0, "strong")
        confidence = round(logistic(ranking.hits[0].score), DIGITS)
        if confidence >= self.strong:
            return Judgement(confidence, "strong")
        return Judgement(confidence, "weak" if confidence >= self.weak else "none")
