"""The one query path: understand, recall, fuse, stage by stage, present."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence, Set
from typing import TYPE_CHECKING

from msgspec import structs

from recollect.checks import LARGEST_LIMIT, bounded
from recollect.context import Models, SearchContext
from recollect.deadline import Deadline, DeadlineOver
from recollect.errors import UserError
from recollect.present import sentences
from recollect.present.snippet import marked, passages, place_of_match
from recollect.present.views import VIEWS
from recollect.query.fields import describe_exclusion, exclusions, without
from recollect.query.intent import asks_before, without_past
from recollect.query.terms import LONGEST_READ, keywords, words
from recollect.recipes.base import Recipe
from recollect.recipes.learned import with_learned_weights
from recollect.recipes.registry import with_deep_search
from recollect.stages.supersede import with_links
from recollect.times import validity
from recollect.types import Filter, Hit, Ranking, Response, Result, Search, Term, View, combine

if TYPE_CHECKING:
    from recollect.query.fields import Exclusion
    from recollect.query.likeness import Likeness
    from recollect.store.base import Store


def run(
    recipe: Recipe,
    search: Search,
    *,
    store: Store,
    models: Models,
    vault: str = "agent",
    deadline: Deadline | None = None,
    step: Callable[[str], None] = lambda what: None,
) -> Response:
    """Answer a search as the recipe declares, which is the one that the search names. Its deadline
    begins here, unless it has begun already. `step` is called with the name of what is done next;
    what it raises ends the search."""
    start = time.perf_counter()
    step("recall")
    declared, likeness = _taught(variant(recipe, search), store)
    context = recalled(
        declared,
        search,
        store=store,
        models=models,
        likeness=likeness,
        deadline=deadline,
    )
    ranking = context.fused = _fused(declared, context)
    pool = len(ranking)
    with context.timed("stages"):
        for stage in declared.stages:
            step(stage.name)
            with context.timed(f"stages.{stage.name}"):
                ranking = stage.apply(ranking, context)
    shown = search.view or declared.view
    with context.timed("present"):
        ranking = with_links(ranking, context)
        memories = [context.memory(id) for id in ranking.ids]
        if context.compared:
            from recollect.present.answering import answering  # noqa: PLC0415  start-up: numpy

            context.answering = answering(context, memories)
        if declared.reads:
            context.passages = passages(context, memories)
        if search.mark or shown == "snippet":
            context.snippets = marked(context, declared.recall, memories)
        results = _results(ranking, context, shown, vault)
    corrects = any(
        channel.corrects_typos and channel.name in context.channels for channel in declared.recall
    )
    common = _facets(context) if search.facets else {}
    context.timings["total"] = (time.perf_counter() - start) * 1000
    return Response(
        query=search.query,
        recipe=recipe.name,
        view=shown,
        intent=context.understanding.intent,
        results=results,
        counts=_counts(ranking, context, pool),
        topics=topics(results),
        degraded=tuple(context.degraded),
        notes=tuple(context.notes),
        timings_ms={part: round(spent, 3) for part, spent in context.timings.items()},
        understood=(*_understood(declared, context, ranking), *_left_out(context)),
        corrected={
            word: tuple(others)
            for word, others in context.understanding.corrections.items()
            if others
        }
        if corrects
        else {},
        evidence=ranking.judgement.evidence if ranking.judgement else None,
        confidence=ranking.judgement.confidence if ranking.judgement else None,
        facets=common,
        as_of=search.as_of,
    )


def recalled(
    declared: Recipe,
    search: Search,
    *,
    store: Store,
    models: Models,
    likeness: Likeness | None = None,
    deadline: Deadline | None = None,
) -> SearchContext:
    """What each channel of a recipe's variant finds, before it is fused."""
    now = search.now
    assert now is not None, "the caller's clock says it"
    query = search.query
    if declared.reads and len(words(query)) > LONGEST_READ:
        search = structs.replace(search, literal=True)
    reads = declared.reads and not search.literal
    before = reads and asks_before(search.query)
    excluded = _excluded(search) if reads else ()
    if excluded:
        search = _excluding(search, excluded)
    if before:
        search = structs.replace(search, query=without_past(search.query))
    limit, note = _limit(declared, search)
    context = SearchContext(
        recipe=declared.name,
        search=search,
        limit=limit,
        now=now,
        store=store,
        models=models,
        roles=declared.roles,
        inlined=declared.limits.inlined,
        before=before,
        languages=declared.languages,
        smooth=declared.smooth,
        excluded=excluded,
        asked=query,
        likeness=likeness,
        deadline=deadline or Deadline(search.deadline_ms),
    )
    if note:
        context.note(note)
    _recall(declared, context)
    return context


def variant(recipe: Recipe, search: Search) -> Recipe:
    """The recipe, or its deep search under the same name; refused where the query has too few
    keywords for it."""
    if search.deep and recipe.deep is None:
        others = with_deep_search()
        have = "has" if len(others) == 1 else "have"
        raise UserError(f"Recipe {recipe.name} has no deep search; {', '.join(others)} {have} one.")
    declared = recipe
    if search.deep and recipe.deep is not None:
        declared = structs.replace(recipe.deep, name=recipe.name)
    needed = declared.limits.least_keywords
    found = len(set(keywords(search.query)))
    if found < needed:
        raise UserError(
            f"{'Deep search' if search.deep else f'Recipe {recipe.name}'} needs at least {needed} "
            f"{'keyword' if needed == 1 else 'keywords'} and the query has {found}; "
            "add a word that carries meaning."
        )
    return declared


def _taught(declared: Recipe, store: Store) -> tuple[Recipe, Likeness | None]:
    """The recipe with the weights that feedback has taught it, and for which queries feedback
    counts; None where there is none. A search without feedback costs this one look."""
    if declared.feedback is None:
        return declared, None
    state = store.feedback.state()
    likeness = declared.feedback.likeness if state.given else None
    if not state.lesson:
        return declared, likeness

    return with_learned_weights(declared, state.lesson), likeness


def _limit(declared: Recipe, search: Search) -> tuple[int, str]:
    """How many results at most, and a note where that is less than asked for."""
    asked = bounded(search.limit if search.limit is not None else declared.limits.default)
    most = declared.limits.most or LARGEST_LIMIT
    if search.limit is not None and asked > most < LARGEST_LIMIT:
        return most, f"Recipe {declared.name} returns at most {most} results."
    return min(asked, most), ""


def _recall(declared: Recipe, context: SearchContext) -> None:
    """Run each channel that the query wants; one that could not take part is left out. Once the
    deadline is over none is begun, but for the first that asks no model: there is nearly always an
    answer. One that takes too long is stopped."""
    lists = declared.reads and context.understanding.lists
    asked = [channel for channel in declared.recall if channel.lists == lists]
    if any(channel.embeds(context) for channel in asked[1:]):
        context.embed_ahead()
    answered = False
    for channel in asked:
        if not channel.wanted(context):
            continue
        if answered and context.deadline.over:
            context.degrade(channel.name, context.deadline.reason)
            continue
        waited = context.waited_ms
        context.channel_deadline = context.deadline.for_channel(first=not answered)
        found = None
        with context.timed(channel.name):
            try:
                found = channel.recall(context)
            except DeadlineOver as over:
                context.degrade(channel.name, str(over))
        # The model's time is its own, not the channel's that asked first.
        context.timings[channel.name] -= context.waited_ms - waited
        if found is not None:
            context.channels[channel.name] = found
        answered = answered or channel.role != "vector"


def _fused(declared: Recipe, context: SearchContext) -> Ranking:
    """One ranking of all candidates, their memories read. A memory that another process forgot
    since the recall is no longer there. What fusion left out of its pool is not read."""
    with context.timed("fuse"):
        fused = declared.fuse.fuse(context)
    names = declared.fuse.channels
    taken = {hit.memory_id for name in names for hit in context.channels.get(name, ())}
    found = {id for channel in context.channels.values() for id in channel.ids}
    wanted = found.difference(taken).union(fused.ids)
    with context.timed("load"):
        context.load(wanted)
    gone = {id for id in wanted if not context.has(id)}
    if not gone:
        return fused
    for name, channel in context.channels.items():
        context.channels[name] = _without(channel, gone)
    return _without(fused, gone)


def _without(ranking: Ranking, gone: Set[str]) -> Ranking:
    live = tuple(hit for hit in ranking if hit.memory_id not in gone)
    return structs.replace(ranking, hits=live)


def _understood(declared: Recipe, context: SearchContext, ranking: Ranking) -> tuple[str, ...]:
    """The times that the query names and what else it asks for, as they were read, where the recipe
    counts them."""
    if not any(stage.reads_time for stage in declared.stages):
        return ()
    query = context.understanding
    found = ranking or context.fused or (declared.reads and query.lists)
    read = query.list_query.describe(query.lists) if declared.reads else ()
    if not (found and query.effective_periods):
        return (*read,)
    from recollect.query.time.periods import describe  # noqa: PLC0415  start-up time

    return (*map(describe, query.effective_periods), *read)


def _left_out(context: SearchContext) -> tuple[str, ...]:
    """What the query wants left out, in words."""
    if not context.excluded:
        return ()
    return tuple(map(describe_exclusion, context.excluded))


def _excluded(search: Search) -> tuple[Exclusion, ...]:
    """What the query wants left out, as far as that is not to be ignored."""
    found = exclusions(search.query)
    return tuple(each for each in found if describe_exclusion(each) not in search.ignored)


def _excluding(search: Search, excluded: Sequence[Exclusion]) -> Search:
    """Return the search for the rest of the query, with what it wants left out in its filter."""
    left = (*search.filter.without, *(each.words for each in excluded))
    kept = structs.replace(search.filter, without=left)
    return structs.replace(search, query=without(search.query, excluded), filter=kept)


def _facets(context: SearchContext) -> dict[str, dict[str, int]]:
    """Counted over what any channel found, not over the few that are returned."""
    with context.timed("facets"):
        found = {id for channel in context.channels.values() for id in channel.ids}
        return context.store.memories.facets(Filter(among=tuple(found)), context.now)._asdict()


def topics(results: Sequence[Result]) -> dict[str, int]:
    """The results' tags, most common first."""
    return dict(Counter(tag for result in results for tag in result.memory.tags).most_common())


def _results(
    ranking: Ranking, context: SearchContext, view: View, vault: str
) -> tuple[Result, ...]:
    return tuple(
        _result(hit, context, view, vault, place) for place, hit in enumerate(ranking, start=1)
    )


def _result(hit: Hit, context: SearchContext, view: View, vault: str, place: int) -> Result:
    why = (
        hit.why
        if hit.why.name == context.recipe
        else combine(context.recipe, "sum", _root_parts(hit))
    )
    if hit.memory_id in context.answering:
        why = context.answering[hit.memory_id].explained(why)
    if context.search.as_of is not None:
        why = structs.replace(why, how=sentences.as_of(context.search.as_of))
    rooted = hit.rescored(why)
    memory = context.memory(hit.memory_id)
    return Result(
        id=memory.id,
        score=rooted.score,
        vault=vault,
        memory=memory,
        explain=why,
        shown=VIEWS[view].of(rooted, memory, context, place),
        passage=context.passages.get(memory.id),
        marked=context.snippets.get(memory.id, ""),
        same=hit.findings.same,
        replaces=hit.findings.replaces,
        superseded_by=hit.findings.superseded_by,
        seems_to_replace=hit.findings.seems_to_replace,
        seems_replaced_by=hit.findings.seems_replaced_by,
        file=place_of_match(hit, memory, context),
        joined=hit.findings.joined,
        validity=validity(memory, context.now),
    )


def _root_parts(hit: Hit) -> tuple[Term, ...]:
    """The root carries the recipe's name: a sum hands it its parts, anything else is its part."""
    return hit.why.parts if hit.why.formula == "sum" else (hit.why,)


def _counts(ranking: Ranking, context: SearchContext, pool: int) -> dict[str, object]:
    dropped: Counter[str] = Counter(ranking.dropped)
    for channel in context.channels.values():
        dropped.update(channel.dropped)
    return {
        **{name: len(channel) for name, channel in context.channels.items()},
        # What fusion left out was never in the pool; what a stage left out of it is not any more.
        "pool": pool - ranking.dropped.get("pool", 0) + context.fused.dropped.get("pool", 0),
        "reranked": ranking.reranked,
        "returned": len(ranking),
        "dropped": dict(dropped),
    }
