"""The one query path: understand, recall, fuse, stage by stage, present."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence, Set
from typing import TYPE_CHECKING

from msgspec import structs

from recollect.checks import LARGEST_LIMIT, check_limit
from recollect.context import Models, SearchContext
from recollect.deadline import Deadline, DeadlineOver
from recollect.errors import UserError
from recollect.present import sentences
from recollect.present.response import VIEWS
from recollect.present.snippet import Answering, passages, place_of_match, snippets
from recollect.query.fields import describe_exclusion, exclusions, without
from recollect.query.intent import asks_before, without_past
from recollect.query.terms import LONGEST_READ, keywords, words
from recollect.recipes.base import Recipe
from recollect.recipes.learned import with_learned_weights
from recollect.recipes.registry import with_deep_search
from recollect.stages.supersede import with_links
from recollect.times import validity
from recollect.types import Filter, Hit, Ranking, Response, Result, Search, View, combine

if TYPE_CHECKING:
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
    """Answer a search with a recipe. `deadline`: by default it starts now; `step`: called with the
    name of each step; an error that it raises ends the search."""
    start = time.perf_counter()
    step("recall")
    declared, likeness = _with_learned_weights(variant(recipe, search), store)
    context = recall(
        declared, search, store=store, models=models, likeness=likeness, deadline=deadline
    )
    ranking = context.fused = _fuse(declared, context)
    pool = len(ranking)
    with context.timer("stages"):
        for stage in declared.stages:
            step(stage.name)
            with context.timer(f"stages.{stage.name}"):
                ranking = stage.apply(ranking, context)
    view = search.view or declared.view
    with context.timer("present"):
        ranking = with_links(ranking, context)
        memories = [context.memory(id) for id in ranking.ids]
        context.answering = {
            memory.id: Answering(context, memory, context.compared[memory.id])
            for memory in memories
            if memory.id in context.compared
        }
        if declared.reads:
            context.passages = passages(context, memories)
        if search.mark or view == "snippet":
            context.snippets = snippets(context, declared.recall, memories)
        results = tuple(
            _result(hit, context, view, vault, place) for place, hit in enumerate(ranking, start=1)
        )
    corrects = any(
        channel.corrects_typos and channel.name in context.channels for channel in declared.recall
    )
    facets = _facets(context) if search.facets else {}
    context.timings["total"] = (time.perf_counter() - start) * 1000
    return Response(
        query=search.query,
        recipe=recipe.name,
        view=view,
        intent=context.understanding.intent,
        results=results,
        counts=_counts(ranking, context, pool),
        topics=topics(results),
        degraded=tuple(context.degraded),
        notes=tuple(context.notes),
        timings_ms={part: round(spent, 3) for part, spent in context.timings.items()},
        understood=(
            *_understood(declared, context, ranking),
            *map(describe_exclusion, context.excluded),
        ),
        corrected={
            word: tuple(others)
            for word, others in context.understanding.corrections.items()
            if others
        }
        if corrects
        else {},
        evidence=ranking.judgement.evidence if ranking.judgement else None,
        confidence=ranking.judgement.confidence if ranking.judgement else None,
        facets=facets,
        as_of=search.as_of,
    )


def recall(
    declared: Recipe,
    search: Search,
    *,
    store: Store,
    models: Models,
    likeness: Likeness | None = None,
    deadline: Deadline | None = None,
) -> SearchContext:
    """Run the channels of a recipe's variant, and return the context with their results."""
    now, query = search.now, search.query
    assert now is not None, "set by the caller's clock"
    if declared.reads and len(words(query)) > LONGEST_READ:
        search = structs.replace(search, literal=True)
    reads = declared.reads and not search.literal
    before = reads and asks_before(search.query)
    found = exclusions(search.query) if reads else ()
    excluded = tuple(each for each in found if describe_exclusion(each) not in search.ignored)
    if excluded:
        words_left_out = (*search.filter.without, *(each.words for each in excluded))
        search = structs.replace(
            search,
            query=without(search.query, excluded),
            filter=structs.replace(search.filter, without=words_left_out),
        )
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
    _run_channels(declared, context)
    return context


def variant(recipe: Recipe, search: Search) -> Recipe:
    """Return the recipe, or its deep search under the same name; raise UserError if the query has
    too few keywords for it."""
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


def _with_learned_weights(declared: Recipe, store: Store) -> tuple[Recipe, Likeness | None]:
    """Return the recipe with its learned weights, and how feedback on similar queries counts; None
    without feedback."""
    if declared.feedback is None:
        return declared, None
    state = store.feedback.state()
    likeness = declared.feedback.likeness if state.given else None
    return with_learned_weights(declared, state.lesson) if state.lesson else declared, likeness


def _limit(declared: Recipe, search: Search) -> tuple[int, str]:
    """Return the number of results to return, and a note if the recipe allows fewer than asked
    for."""
    wanted = check_limit(search.limit if search.limit is not None else declared.limits.default)
    most = declared.limits.most or LARGEST_LIMIT
    if search.limit is not None and wanted > most < LARGEST_LIMIT:
        return most, f"Recipe {declared.name} returns at most {most} results."
    return min(wanted, most), ""


def _run_channels(declared: Recipe, context: SearchContext) -> None:
    """Run each channel that applies to the query. After the deadline no channel is started, except
    the first that needs no model, so that there is nearly always an answer. A channel that takes
    too long is stopped."""
    lists = declared.reads and context.understanding.lists
    channels = [channel for channel in declared.recall if channel.lists == lists]
    if any(channel.embeds(context) for channel in channels[1:]):
        context.embed_ahead()
    answered = False
    for channel in channels:
        if not channel.applies(context):
            continue
        if answered and context.deadline.over:
            context.degrade(channel.name, context.deadline.reason)
            continue
        waited = context.waited_ms
        context.channel_deadline = context.deadline.for_channel(first=not answered)
        found = None
        with context.timer(channel.name):
            try:
                found = channel.recall(context)
            except DeadlineOver as over:
                context.degrade(channel.name, str(over))
        # Waiting for the model is not the channel's own time.
        context.timings[channel.name] -= context.waited_ms - waited
        if found is not None:
            context.channels[channel.name] = found
        answered = answered or channel.role != "vector"


def _fuse(declared: Recipe, context: SearchContext) -> Ranking:
    """Fuse the channels' results into one ranking, and read its memories. Those that another
    process has forgotten meanwhile are removed. Results outside the fusion's pool are not read."""
    with context.timer("fuse"):
        fused = declared.fuse.fuse(context)
    names = declared.fuse.channels
    taken = {hit.memory_id for name in names for hit in context.channels.get(name, ())}
    wanted = _found_ids(context).difference(taken).union(fused.ids)
    with context.timer("load"):
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
    """Return in words what was read in the query, such as times and kinds, if the recipe uses
    it."""
    if not any(stage.reads_time for stage in declared.stages):
        return ()
    query = context.understanding
    found = ranking or context.fused or (declared.reads and query.lists)
    read = query.list_query.describe(query.lists) if declared.reads else ()
    if not (found and query.effective_periods):
        return (*read,)
    from recollect.query.time.periods import describe  # noqa: PLC0415  start-up time

    return (*map(describe, query.effective_periods), *read)


def _found_ids(context: SearchContext) -> set[str]:
    return {id for channel in context.channels.values() for id in channel.ids}


def _facets(context: SearchContext) -> dict[str, dict[str, int]]:
    """Count the facets of everything that the channels found, not only of the results."""
    with context.timer("facets"):
        found = Filter(among=tuple(_found_ids(context)))
        return context.store.memories.facets(found, context.now)._asdict()


def topics(results: Sequence[Result]) -> dict[str, int]:
    """Count the tags of the results, most common first."""
    return dict(Counter(tag for result in results for tag in result.memory.tags).most_common())


def _result(hit: Hit, context: SearchContext, view: View, vault: str, place: int) -> Result:
    why = hit.why
    if why.name != context.recipe:  # the root has the recipe's name: a sum gives it its parts
        parts = why.parts if why.formula == "sum" else (why,)
        why = combine(context.recipe, "sum", parts)
    if hit.memory_id in context.answering:
        why = context.answering[hit.memory_id].explain(why)
    if context.search.as_of is not None:
        why = structs.replace(why, how=sentences.as_of(context.search.as_of))
    rooted = hit.with_score(why)
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


def _counts(ranking: Ranking, context: SearchContext, pool: int) -> dict[str, object]:
    dropped: Counter[str] = Counter(ranking.dropped)
    for channel in context.channels.values():
        dropped.update(channel.dropped)
    return {
        **{name: len(channel) for name, channel in context.channels.items()},
        # Without what stages removed from the pool; what fusion dropped was never in it.
        "pool": pool - ranking.dropped.get("pool", 0) + context.fused.dropped.get("pool", 0),
        "reranked": ranking.reranked,
        "returned": len(ranking),
        "dropped": dict(dropped),
    }
