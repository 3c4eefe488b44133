"""The one query path: understand, recall, fuse, stage by stage, present."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from recollect.at import At, Models
from recollect.checks import LARGEST_LIMIT, bounded
from recollect.errors import UserError
from recollect.present.snippet import marked
from recollect.present.together import together
from recollect.present.views import VIEWS
from recollect.query.terms import keywords
from recollect.query.when import understood
from recollect.recall.vector import Vector
from recollect.recipes.base import Channel, Recipe, fused_channels
from recollect.signals.cut import Cut
from recollect.store.base import Store
from recollect.types import Filter, Hit, Query, Ranking, Response, Result, Term, View, combine

# A chip for each; nobody reads more of them.
MOST_FACETS = 12


def run(
    recipe: Recipe,
    query: Query,
    *,
    now: datetime,
    store: Store,
    models: Models,
    view: View | None = None,
    vault: str = "agent",
    mark: bool = False,
    facets: bool = False,
) -> Response:
    """Answer a query as the recipe declares; `mark` cuts marked snippets for every view, `facets`
    counts what everything that was found has in common."""
    start = time.perf_counter()
    declared = _variant(recipe, query)
    limit, note = _limit(declared, query)
    at = At(recipe=recipe.name, query=query, limit=limit, now=now, store=store, models=models)
    at.inlined = declared.limits.inlined
    if note:
        at.note(note)
    _recall(declared, at)
    ranking = at.fused = _fused(declared, at)
    pool = len(ranking)
    for stage in declared.stages:
        if isinstance(stage, Cut):
            with at.timed("together"):
                ranking = together(ranking, at)
        with at.timed("stages"), at.timed(f"stages.{stage.name}"):
            ranking = stage.apply(ranking, at)
    shown = view or declared.view
    with at.timed("present"):
        if mark or shown == "snippet":
            at.snippets = marked(at, [at.memory(id) for id in ranking.ids])
        results = _results(ranking, at, shown, vault)
        judged = declared.evidence.judged(ranking, at) if declared.evidence else None
    common = _facets(at) if facets else {}
    at.timings["total"] = (time.perf_counter() - start) * 1000
    return Response(
        query=query.text,
        recipe=recipe.name,
        view=shown,
        intent=at.intent,
        results=results,
        counts=_counts(ranking, at, pool),
        topics=topics(results),
        degraded=tuple(at.degraded),
        notes=tuple(at.notes),
        timings_ms={part: round(spent, 3) for part, spent in at.timings.items()},
        understood=tuple(map(understood, at.understood)),
        evidence=judged.evidence if judged else None,
        confidence=judged.confidence if judged else None,
        facets=common,
    )


def _variant(recipe: Recipe, query: Query) -> Recipe:
    """The recipe, or its deep search; refused where the query has too few keywords for it."""
    if query.deep and recipe.deep is None:
        raise UserError(f"Recipe {recipe.name} has no deep search; gnosis has one.")
    declared = recipe.deep if query.deep and recipe.deep is not None else recipe
    needed = declared.limits.least_keywords
    found = len(set(keywords(query.text)))
    if found < needed:
        raise UserError(
            f"{'Deep search' if query.deep else f'Recipe {recipe.name}'} needs at least {needed} "
            f"{'keyword' if needed == 1 else 'keywords'} and the query has {found}; "
            "add a word that carries meaning."
        )
    return declared


def _limit(declared: Recipe, query: Query) -> tuple[int, str]:
    """How many results at most, and a note where that is less than asked for."""
    asked = bounded(query.limit if query.limit is not None else declared.limits.default)
    most = declared.limits.most or LARGEST_LIMIT
    if query.limit is not None and asked > most < LARGEST_LIMIT:
        return most, f"Recipe {declared.name} returns at most {most} results."
    return min(asked, most), ""


def _recall(declared: Recipe, at: At) -> None:
    """Run each channel that the query wants; one that could not take part is left out."""
    if any(_embeds_anyway(channel, at) for channel in declared.recall[1:]):
        at.embed_ahead()
    for channel in declared.recall:
        if not channel.wanted(at):
            continue
        waited = at.waited_ms
        with at.timed(channel.name):
            found = channel.recall(at)
        # The model's time is its own, not the channel's that asked first.
        at.timings[channel.name] -= at.waited_ms - waited
        if found is not None:
            at.channels[channel.name] = found


def _embeds_anyway(channel: Channel, at: At) -> bool:
    """Whether the channel asks the model whatever the others find."""
    return isinstance(channel, Vector) and channel.when == "always" and channel.wanted(at)


def _fused(declared: Recipe, at: At) -> Ranking:
    """One ranking of all candidates, their memories read. A memory that another process forgot
    since the recall is no longer there. What fusion left out of its pool is not read."""
    with at.timed("fuse"):
        fused = declared.fuse.fuse(at)
    names = fused_channels(declared.fuse)
    taken = {hit.memory_id for name in names for hit in at.channels.get(name, ())}
    left_out = taken.difference(fused.ids)
    with at.timed("load"):
        at.load(fused.ids)
        at.load(id for channel in at.channels.values() for id in channel.ids if id not in left_out)
    for name, channel in at.channels.items():
        at.channels[name] = Ranking(
            tuple(hit for hit in channel if hit.memory_id in left_out or at.has(hit.memory_id)),
            channel.dropped,
        )
    return Ranking(tuple(hit for hit in fused if at.has(hit.memory_id)), fused.dropped)


def _facets(at: At) -> dict[str, dict[str, int]]:
    """Counted over what any channel found, not over the few that are returned."""
    with at.timed("facets"):
        found = {id for channel in at.channels.values() for id in channel.ids}
        return at.store.memories.facets(Filter(among=tuple(found)), MOST_FACETS, at.now)._asdict()


def topics(results: Sequence[Result]) -> dict[str, int]:
    """The results' tags, most common first."""
    return dict(Counter(tag for result in results for tag in result.memory.tags).most_common())


def _results(ranking: Ranking, at: At, view: View, vault: str) -> tuple[Result, ...]:
    return tuple(_result(hit, at, view, vault, place) for place, hit in enumerate(ranking, start=1))


def _result(hit: Hit, at: At, view: View, vault: str, place: int) -> Result:
    why = hit.why if hit.why.name == at.recipe else combine(at.recipe, "sum", _root_parts(hit))
    rooted = Hit(hit.memory_id, why)
    memory = at.memory(hit.memory_id)
    return Result(
        id=memory.id,
        score=rooted.score,
        vault=vault,
        memory=memory,
        explain=why,
        fields=VIEWS[view](rooted, memory, at, place),
        marked=at.snippets.get(memory.id, ""),
        same=at.twins.get(memory.id, ()),
        replaces=at.newer.get(memory.id, ()),
        file=at.files.get(memory.id),
        joined=at.joined.get(memory.id, ()),
    )


def _root_parts(hit: Hit) -> tuple[Term, ...]:
    """The root carries the recipe's name: a sum hands it its parts, anything else is its part."""
    return hit.why.parts if hit.why.formula == "sum" else (hit.why,)


def _counts(ranking: Ranking, at: At, pool: int) -> dict[str, object]:
    dropped: Counter[str] = Counter(ranking.dropped)
    for channel in at.channels.values():
        dropped.update(channel.dropped)
    return {
        **{name: len(channel) for name, channel in at.channels.items()},
        # What fusion left out was never in the pool; what a stage left out of it is not any more.
        "pool": pool - ranking.dropped.get("pool", 0) + at.fused.dropped.get("pool", 0),
        "reranked": len(at.verified),
        "returned": len(ranking),
        "dropped": dict(dropped),
    }
