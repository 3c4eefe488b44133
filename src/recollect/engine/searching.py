"""Searching this vault and others, an agent's context, and related memories."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Annotated, Any, NamedTuple

from msgspec import Meta
from msgspec.structs import replace

from recollect.auth.capabilities import SEARCH
from recollect.checks import check_limit, check_search, clean_query, one_of
from recollect.deadline import Deadline
from recollect.engine.filters import (
    EVERYTHING,
    join_filters,
    read_filter,
    read_values,
    unknown_values,
    with_own_spelling,
)
from recollect.engine.operations import operation
from recollect.engine.reading import show
from recollect.engine.session import Session
from recollect.errors import NotFound, ProviderError
from recollect.pipeline import run, topics
from recollect.present.agent_context import FORMS, Form, context_json, fit_tokens
from recollect.present.response import as_json
from recollect.query.fields import QueryFields, read_exclusions, read_fields
from recollect.query.likeness import on_english_scale
from recollect.query.replacement import Statement, is_statement, replaced_by
from recollect.query.terms import keywords
from recollect.recipes.base import Recipe
from recollect.recipes.registry import BUILT_IN, with_deep_search
from recollect.recipes.related import RELATED
from recollect.settings import SemanticMode
from recollect.times import validity
from recollect.types import (
    SESSION,
    Context,
    Filter,
    Memory,
    Origin,
    Response,
    Search,
    about,
)
from recollect.vaults.known import HOME

FORMER_MODEL = "The former embedding model serves until `recollect reindex` has made new vectors."
RELATED_READS = 1000  # characters: the topic of a memory shows in its beginning
CONTEXT_LIMIT = 10
BROWSING = "covalence"  # the recipe that answers a query without words by browsing
MATCHED_SHARE = 3  # one place in this many is for matches, however much is pinned


class PreparedSearch(NamedTuple):
    """A checked search, and the session at its `as_of`. The fields of its query have moved to its
    filter; `typed` is the original query, and `readings` are the fields in words."""

    session: Session
    search: Search
    typed: str
    readings: tuple[str, ...]

    @property
    def browses(self) -> bool:
        """Whether the query has fields and no words."""
        return bool(self.readings) and not self.search.query

    def with_recipe(self, recipe: Recipe) -> tuple[Recipe, Search]:
        """Return the recipe to use and the search for it: without words, the one that browses,
        with the limit and view of this recipe."""
        if not self.browses:
            return recipe, self.search
        limit = recipe.limits.default if self.search.limit is None else self.search.limit
        view = self.search.view or recipe.view
        return BUILT_IN[BROWSING], replace(self.search, view=view, limit=limit, deep=False)

    def with_exclusions(self) -> PreparedSearch:
        """Move the exclusions of the query to the filter."""
        if self.search.literal:
            return self
        read = read_exclusions(self.search.query, frozenset(self.search.ignored))
        if not read.readings:
            return self
        filter = join_filters(self.search.filter, read.filter)
        search = replace(self.search, query=read.text, filter=filter)
        return self._replace(search=search, readings=(*self.readings, *read.readings))

    def annotate(self, found: Response) -> Response:
        """Return the response with the query as typed, and its fields in words."""
        if not self.readings:
            return found
        read = tuple(dict.fromkeys((*self.readings, *found.understood)))
        return replace(found, query=self.typed, understood=read)


@operation(SEARCH, anywhere=True, retry=True)
def search(session: Session, search: Search | str, /, **fields: Any) -> Response:
    """Search. `fields` are those of `Search` and of `Filter` by name: `limit=5`,
    `project="harbor"`, `tags=("a",)`."""
    prepared = prepare_search(session, search, **fields)
    session, wanted = prepared.session, prepared.search
    recipe = session.recipe(wanted.recipe, wanted.changes)
    if wanted.deep and wanted.recipe is None and recipe.deep is None:
        recipe = session.recipe(with_deep_search()[0], wanted.changes)
    if recipe.reads and (alone := prepared.with_exclusions()).browses:
        prepared = alone  # `-docker`: there is no word to search for
    found = prepared.annotate(search_vaults(session, *prepared.with_recipe(recipe)))
    if not found.results and session.others.federation is None:
        found = replace(found, notes=(*found.notes, *unknown_values(session, wanted.filter)))
    session.count_use("returned", [each.id for each in found if each.vault == HOME], "search")
    if wanted.sort == "newest":
        newest = sorted(found, key=lambda result: result.memory.updated_at, reverse=True)
        found = replace(found, results=tuple(newest))
    return found


@operation(SEARCH, retry=True)
def run_recipe(
    session: Session, recipe: Recipe, search: Search | str, /, **fields: Any
) -> Response:
    """Search this vault alone, with an unnamed recipe."""
    prepared = prepare_search(session, search, **fields)
    return prepared.annotate(search_vault(prepared.session, *prepared.with_recipe(recipe)))


def prepare_search(session: Session, search: Search | str, /, **fields: Any) -> PreparedSearch:
    """Check a search, read the fields of its query, and fill in defaults from the settings and the
    clock."""
    search = check_search(search, **read_values(fields, session.clock()))
    session = session.at(search.as_of)
    literal = session.settings.search.literal if search.literal is None else search.literal
    now, filter = search.now or session.clock(), with_own_spelling(session, search.filter)
    typed, read = search.query, QueryFields(search.query)
    if not literal:
        read = read_fields(typed, frozenset(search.ignored))
    if read.readings:
        filter = join_filters(filter, with_own_spelling(session, read.filter))
    search = replace(search, query=read.text, literal=literal, now=now, filter=filter)
    return PreparedSearch(session, search, typed, read.readings)


def search_vaults(session: Session, recipe: Recipe, search: Search) -> Response:
    """Search the home's own vault and the others that the search asks for."""
    for name in search.vaults:
        session.enter(name)
    federation = session.others.federation if search.federate or search.vaults else None
    if federation is None:
        session.enter(HOME)
        if set(search.vaults) - {HOME}:
            raise NotFound(
                f"There is no vault {search.vaults[0]!r}; there is only your own, {HOME!r}."
            )
        return search_vault(session, recipe, search)
    chosen = federation.choose(search.vaults, session.caller.sees)
    names = [vault.name for vault in chosen]
    if HOME not in names:  # its history does not matter
        session = replace(session, as_of=None)
    if names == [HOME]:
        found = search_vault(session, recipe, search)
    else:
        own = partial(search_vault, session, recipe, search)
        found = federation.search(recipe, search, chosen, own)
    # Callers with a token may be remote, and learn no paths of this machine.
    project = None if session.caller.token else session.others.untrusted_project()
    if project is None:
        return found
    note = f"The project vault {project} is not used; `recollect vault trust` allows it."
    return replace(found, notes=(*found.notes, note))


def search_vault(session: Session, recipe: Recipe, search: Search) -> Response:
    """Search this vault and its collections."""
    deadline = Deadline(search.deadline_ms)
    session.background.settle(deadline)
    with session.store.searching() as degraded:
        store = session.vault_store(deadline)
        fanned = session.with_collections(store)
        found = run(
            recipe,
            search,
            store=fanned or store,
            models=session.models,
            deadline=deadline,
            step=session.step,
        )
    if session.models.serves_former:
        found = replace(found, notes=(*found.notes, FORMER_MODEL))
    if fanned is not None:
        found = fanned.label_results(found)
    return replace(found, degraded=(*found.degraded, *degraded)) if degraded else found


@operation(SEARCH, retry=True, route="GET /related/{id}", as_json=as_json, answer="ResponseJson")
def related(
    session: Session,
    id: Annotated[str, about("the memory")],
    limit: Annotated[int | None, about("how many", short="n"), Meta(ge=1, le=100)] = None,
) -> Response:
    """Return other memories about what this one is about, best first."""
    [memory] = show(session, [id], opened=False)
    text = f"{memory.title} {memory.text}"[:RELATED_READS]
    limit = check_limit(RELATED.limits.default if limit is None else limit)
    prepared = prepare_search(session, text, limit=limit + 1, literal=True)
    found = search_vault(prepared.session, RELATED, prepared.search)
    others = tuple(result for result in found if result.id != id)[:limit]
    return replace(
        found,
        results=others,
        counts=found.counts | {"returned": len(others)},
        topics=topics(others),
    )


@operation(SEARCH, retry=True, route="GET /context", as_json=context_json, answer="ContextJson")
def context(
    session: Session,
    query: Annotated[str, about("what the work is about")] = "",
    *,
    limit: Annotated[
        int, about("maximum number of memories", short="n"), Meta(ge=1, le=1000)
    ] = CONTEXT_LIMIT,
    max_tokens: Annotated[
        int | None,
        about("maximum length of the whole answer, in tokens of four characters"),
        Meta(ge=1, le=1_000_000_000),
    ] = None,
    filter: Filter = EVERYTHING,
    semantic: Annotated[
        SemanticMode | None,
        about("search by meaning: auto, always or never (default: setting context.semantic)"),
    ] = None,
    topup_recent: Annotated[
        bool | None, about("fill up with the newest memories (default: setting)")
    ] = None,
    forms: Sequence[Form] = FORMS,
    as_of: Annotated[datetime | None, about("what it should have known then")] = None,
) -> Context:
    """Return what an agent should know when it starts: what is pinned, then what the question
    finds, then the newest that are not files. Sessions are in it only where the filter asks for
    that kind. `max_tokens` bounds the whole answer in each of `forms`. Source: the `echovault`
    recipe, "Context"."""
    session = session.at(as_of)
    limit, filter, prepared = check_limit(limit), read_filter(session, filter), None
    if clean_query(query).strip():
        prepared = prepare_search(session, query, limit=limit, filter=filter, as_of=session.as_of)
        prepared = prepared.with_exclusions()
        session, query, filter = prepared.session, prepared.search.query, prepared.search.filter
    if filter.kind is None:
        filter = replace(filter, without_kinds=(*filter.without_kinds, SESSION))
    semantic = semantic or session.settings.context.semantic
    mode: SemanticMode = one_of(SemanticMode, semantic, "semantic")
    response, recipe = None, session.recipe(section="context")
    if prepared is not None and not prepared.browses:
        recipe = _with_semantic_mode(session, recipe, mode)
        wanted = replace(prepared.search, filter=filter)
        response = prepared.annotate(search_vaults(session, recipe, wanted))
    results = [result for result in response or () if result.holds]
    found: dict[str, tuple[Memory, Origin]] = {}
    pinned = _read_pinned(session, filter, limit)
    others = [result for result in results if result.memory not in pinned]
    for memory in pinned[: limit - min(len(others), round(limit / MATCHED_SHARE))]:
        found.setdefault(memory.id, (memory, "pinned"))
    for memory in _valid_results(session, response, filter):
        found.setdefault(memory.id, (memory, "matched"))
    topup = session.settings.context.topup_recent if topup_recent is None else topup_recent
    if topup and len(found) < limit:
        for memory in _read_newest(session, replace(filter, tier="capture"), limit):
            found.setdefault(memory.id, (memory, "newest"))
    replaced = _find_replaced(session, [memory for memory, _ in found.values()])
    kept = dict(islice(((id, each) for id, each in found.items() if id not in replaced), limit))
    everything = Context(
        tuple(memory for memory, _ in kept.values()),
        response,
        {id: origin for id, (_, origin) in kept.items()},
        {r.id: r.passage.text for r in results if r.passage and r.passage.field == "details"},
        note="" if kept else " ".join(unknown_values(session, filter)),
        as_of=session.as_of,
    )
    shown = fit_tokens(everything, max_tokens, keywords(query), forms)
    session.count_use("returned", [memory.id for memory in shown.memories], "recall")
    return shown


def _valid_results(session: Session, response: Response | None, filter: Filter) -> Iterator[Memory]:
    """Yield the valid results; a replaced memory is returned as its successor."""
    now = session.clock()
    newer = [result.superseded_by for result in response or () if result.superseded_by]
    among = replace(filter, among=tuple(memory.id for memory in newer))
    store = session.readable_store()
    passing = {each.id for each in store.memories.browse(among, len(newer))} if newer else set()
    for result in response or ():
        successor = result.superseded_by
        if result.holds:
            yield result.memory
        elif successor and successor.id in passing and not validity(successor, now):
            yield successor


def _read_pinned(session: Session, filter: Filter, limit: int) -> list[Memory]:
    """Return the core memories of the project, then those without a project. If the filter has no
    project, return those without a project first, then the others."""
    core = replace(filter, tier="core")
    own, general = (
        _read_newest(session, core, limit),
        _read_newest(session, replace(core, project=""), limit),
    )
    return own + general if filter.project else [*general, *(m for m in own if m not in general)]


def _read_newest(session: Session, filter: Filter, limit: int) -> list[Memory]:
    valid = replace(filter, valid_at=session.clock())
    return session.vault_store().memories.newest(valid, limit)


def _find_replaced(session: Session, memories: Sequence[Memory]) -> Set[str]:
    """Return the ids of memories that another of them seems to replace; empty without vectors."""
    store = session.readable_store()
    statements = [memory for memory in memories if is_statement(memory)]
    try:
        identity = session.models.embedder().identity
        found = store.vectors.between(identity, [memory.id for memory in statements])
    except ProviderError:
        return frozenset()
    cosines = on_english_scale(identity, found)
    read = [Statement(memory, store.keyword.tokens) for memory in statements]
    return replaced_by(read, cosines, session.clock()).keys()


def _with_semantic_mode(session: Session, recipe: Recipe, semantic: SemanticMode) -> Recipe:
    """Return the recipe for a mode. `never`: keywords only; `always`: vectors whenever a model is
    configured; `auto`: as the recipe declares, but only if the model is loaded."""
    models = session.models
    if semantic == "never" or not models.embeds():
        return recipe.with_vectors("never")
    if semantic == "always":
        return recipe.with_vectors("always")
    return recipe if models.embedder().warm() else recipe.with_vectors("never")


@operation(SEARCH, anywhere=True, retry=True)
def deferral(session: Session, query: str, recipe: str | None = None) -> dict[str, object]:
    """Return the changes of a recipe with which this query does not wait for a reranker; empty if
    it would not anyway."""
    if session.settings.rerank.provider == "none":
        return {}
    return session.recipe(recipe).deferral(query)


@operation(SEARCH, anywhere=True)
def recipe(session: Session, name: str | None = None) -> Recipe:
    """Return the named recipe, or the default one."""
    return session.recipe(name)
