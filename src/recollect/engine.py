"""The one door: every interface saves, searches and changes memories through `Recollect`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import msgspec

from recollect.checks import (
    bounded,
    checked_filter,
    clean_query,
    named_ids,
    narrowed,
    sayable_path,
    several,
    unknown_memory,
    zoned,
)
from recollect.codec import revision
from recollect.errors import Changed, NotFound, ProviderError, RecollectError, UserError
from recollect.ingest.draft import Draft, complete, draft
from recollect.ingest.jsonl import Line
from recollect.ingest.repeats import repeated
from recollect.ingest.saving import Saved, save_again, save_drafts
from recollect.models.active import ActiveModels
from recollect.models.embedding import Background, TextsRefused, embed_waiting
from recollect.pipeline import MOST_FACETS, run, topics
from recollect.present.views import checked_view, token_estimate
from recollect.recipes import Recipes
from recollect.recipes.base import Recipe
from recollect.recipes.related import RELATED
from recollect.settings import Settings, home_folder, load_settings
from recollect.signals.weigh import WeightedSum
from recollect.store.base import Coverage, Dates, Facets, Stored, Writing
from recollect.store.sqlite.store import SqliteStore
from recollect.store.sqlite.upkeep import Finding
from recollect.times import parse_time
from recollect.types import Context, Filter, Memory, Place, Query, Response, View, place_of

IMPORT_BATCH = 2000  # long enough to be quick, short enough that other writers wait little
EXPORT_BATCH = 1000
CONTEXT_RECIPE = "echovault"
CONTEXT_LIMIT = 10
WARMING_WORDS = "warming up"
RELATED_READS = 1000  # characters: what a memory is about stands at its beginning
# A remote model gets this long to take in what a command saved before the command ends.
PATIENCE_S = 3.0
EVERYTHING = Filter()


class Imported(NamedTuple):
    """What an import did."""

    added: int
    updated: int
    unchanged: int
    bad: list[tuple[int, str]]


class Recollect:
    """A vault, its settings and its models.

    With no arguments it is the vault in the home folder; with a path, that file. Use it as a
    context manager, or call `close()`.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        home: str | os.PathLike[str] | None = None,
        settings: Settings | None = None,
        environment: Mapping[str, str] = os.environ,
        clock: Callable[[], datetime] | None = None,
        brief: bool = False,
        lasting: bool = False,
    ) -> None:
        """`brief` says that this process asks but once or twice: what pays off only for later
        questions is not made. `lasting` says that it stays and is asked the same again."""
        self.home = Path(home) if home is not None else home_folder(environment)
        self.settings = settings or load_settings(self.home, environment)
        self.recipes = Recipes(self.home / "recipes")
        self.models = ActiveModels(self.settings, environment, remember=lasting)
        self.path = sayable_path(Path(path) if path is not None else self.home / "vault.db")
        if path is None:
            _make_home(self.home)
        self._clock = clock or _clock(environment)
        self.store = SqliteStore(self.path, brief=brief)
        self._background = Background(self.store.vectors, self.models.embedder)

    def __enter__(self) -> Recollect:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the vault. Everything acknowledged is on the disk already."""
        self._background.close(PATIENCE_S)
        self.models.close()
        self.store.close()

    def now(self) -> datetime:
        return self._clock()

    # Writing

    def save(self, **fields: object) -> Memory:
        """Keep one memory; what it says again is updated. Durable when this returns."""
        [saved] = self.save_all([draft(fields)])
        return saved.memory

    def save_all(self, drafts: Sequence[Draft]) -> list[Saved]:
        """Keep these memories, all or none; then embed them, or let them be embedded.

        One without an id that repeats a memory of its project updates that one.
        """
        self.models.embeds()  # settings that name no model are refused before anything is kept
        with self.store.writing() as write:
            saved = [self._saved(write, given) for given in drafts]
        self._embed_soon()
        return saved

    def _saved(self, write: Writing, given: Draft) -> Saved:
        before = repeated(self.store, given)
        if before is not None:
            return save_again(write, given, before, self.now())
        [saved] = save_drafts(write, [given], self.now())
        return saved

    def import_lines(
        self,
        lines: Iterable[Line],
        *,
        strict: bool = False,
        progress: Callable[[int], None] = lambda size: None,
    ) -> Imported:
        """Save what the lines hold; bad lines are reported, the rest goes in.

        `strict`: one bad line, and nothing goes in.
        """
        self.models.embeds()  # as for `save_all`
        if strict:
            held = list(lines)
            bad = [(line.number, line.reason) for line in held if line.draft is None]
            if bad:
                return Imported(0, 0, 0, bad)
            counts = self._save_lines(held, progress)
        else:
            counts = Imported(0, 0, 0, [])
            for batch in _batches(lines, IMPORT_BATCH):
                done = self._save_lines(batch, progress)
                counts = Imported(*(a + b for a, b in zip(counts, done, strict=True)))  # type: ignore[operator]
        return counts

    def _save_lines(self, lines: Sequence[Line], progress: Callable[[int], None]) -> Imported:
        drafts = [line.draft for line in lines if line.draft is not None]
        with self.store.writing() as write:
            outcomes = [saved.outcome for saved in save_drafts(write, drafts, self.now())]
        progress(sum(line.size for line in lines))
        return Imported(
            outcomes.count("added"),
            outcomes.count("updated"),
            outcomes.count("unchanged"),
            [(line.number, line.reason) for line in lines if line.draft is None],
        )

    def edit(
        self,
        id: str,
        /,
        *,
        add_tags: Sequence[str] = (),
        remove_tags: Sequence[str] = (),
        if_revision: str | None = None,
        **changes: object,
    ) -> Memory:
        """Change fields of a memory; None puts a field back to its default. With `if_revision`
        (see `codec.revision`) only if it is still as it was then."""
        if "id" in changes:
            raise UserError("An id cannot be changed; save a new memory and forget this one.")
        self.models.embeds()  # as for `save_all`
        added, removed = several(add_tags, "add_tags"), several(remove_tags, "remove_tags")
        with self.store.writing() as write:
            before = _live(write.find(named_ids([id])), id)
            _check_revision(before.memory, if_revision)
            if added or removed:
                if "tags" in changes:
                    raise UserError("Give either tags, or add_tags and remove_tags.")
                kept = [tag for tag in before.memory.tags if tag not in removed]
                changes["tags"] = [*kept, *added]
            after = complete(draft(changes, change=True), id, before.memory, self.now())
            if not (after.title or after.text):
                raise UserError("A memory needs a title or a text.")
            if after != before.memory:
                write.replace(before, after)
        self._embed_soon()
        return after

    def pin(self, ids: Sequence[str]) -> list[Memory]:
        """Make memories core, the most trusted tier. Their age stays as it is."""
        with self.store.writing() as write:
            found = write.find(named_ids(ids))
            pinned = []
            for before in [_live(found, id) for id in ids]:
                after = msgspec.structs.replace(before.memory, tier="core")
                if after != before.memory:
                    write.replace(before, after)
                pinned.append(after)
        return pinned

    def forget(
        self,
        ids: Sequence[str],
        *,
        undo: bool = False,
        purge: bool = False,
        if_revision: str | None = None,
    ) -> None:
        """Take memories out of every answer; `undo` brings them back, `purge` is for good. With
        `if_revision` only if they are still as they were then."""
        with self.store.writing() as write:
            found = write.find(named_ids(ids))
            for id in dict.fromkeys(ids):
                if id in found:
                    _check_revision(found[id].memory, if_revision)
                if purge and id in found:
                    write.purge(found[id])
                elif undo:
                    write.restore(_forgotten(found, id))
                else:
                    write.forget(_live(found, id), self.now())
        if undo:
            self._embed_soon()
        if purge:
            self.store.scrub()

    def feedback(self, query: str, id: str, *, accept: bool) -> tuple[int, int]:
        """Say whether a result was right; returns how many were accepted and dismissed so far."""
        if not query.strip():
            raise UserError("Feedback needs the query that the result answered.")
        self.show([id])
        self.store.feedback.add(clean_query(query), id, accept, self.now())
        return self.opinions()

    def judged(self, query: str, ids: Sequence[str]) -> dict[str, bool]:
        """What was said last of these memories as answers to this query: whether accepted."""
        said = self.store.feedback.about(named_ids(ids))
        return {id: accepted for id, asked, accepted in said if asked == clean_query(query)}

    # Reading

    def search(
        self,
        text: str,
        *,
        recipe: str | None = None,
        view: str | None = None,
        limit: int | None = None,
        deep: bool = False,
        filter: Filter = EVERYTHING,
        prefer_tags: Sequence[str] = (),
        prefer_domain: str | None = None,
        read_time: bool | None = None,
        now: datetime | None = None,
        mark: bool = False,
        facets: bool = False,
        changes: Mapping[str, object] | None = None,
        **narrow: object,
    ) -> Response:
        """Search. `narrow` takes the filter's fields by name: `project="harbor"`, `tags=("a",)`.

        `mark` cuts a snippet with the match marked for every result, whatever the view.
        `read_time=False` takes "last week" and the like as mere words. `facets` counts what all
        that was found has in common. `changes` sets constants of the recipe otherwise, for this
        search alone: `{"fuse.weights.vector": 2.0}`.
        """
        if narrow:
            filter = narrowed(filter, narrow)
        query = Query(
            text=clean_query(text),
            limit=limit,
            filter=checked_filter(filter),
            prefer_tags=several(prefer_tags, "prefer_tags"),
            prefer_domain=prefer_domain,
            deep=deep,
            read_time=self.settings.search.read_time if read_time is None else read_time,
        )
        shown = None if view is None else checked_view(view)
        declared = self.recipe(recipe)
        if changes:
            declared = self.recipes.changed(declared.name, changes)
        return self._run(declared, query, shown, now, mark=mark, facets=facets)

    def run_recipe(
        self,
        recipe: Recipe,
        text: str,
        *,
        limit: int | None = None,
        filter: Filter = EVERYTHING,
        now: datetime | None = None,
    ) -> Response:
        """The same door as `search`, for a recipe that has no name to be found by."""
        query = Query(
            text=clean_query(text),
            limit=limit,
            filter=checked_filter(filter),
            read_time=self.settings.search.read_time,
        )
        return self._run(recipe, query, now=now)

    def recipe(self, name: str | None = None) -> Recipe:
        """The named recipe, or the one the settings make the default."""
        if name is not None:
            return self.recipes.get(name)
        try:
            return self.recipes.get(self.settings.search.recipe)
        except UserError as error:
            place = f"search.recipe, in {self.home / 'config.toml'} or the environment"
            raise UserError(f"{place}: {error}") from error

    def _run(
        self,
        recipe: Recipe,
        query: Query,
        view: View | None = None,
        now: datetime | None = None,
        *,
        mark: bool = False,
        facets: bool = False,
    ) -> Response:
        return run(
            recipe,
            query,
            now=zoned(now) if now else self.now(),
            store=self.store,
            models=self.models,
            view=view,
            mark=mark,
            facets=facets,
        )

    def related(self, id: str, limit: int | None = None) -> Response:
        """Other memories about what this one is about, best first."""
        [memory] = self.show([id])
        told = f"{memory.title} {memory.text}"[:RELATED_READS]
        limit = bounded(RELATED.limits.default if limit is None else limit)
        query = Query(text=clean_query(told), limit=limit + 1, read_time=False)
        found = self._run(RELATED, query)
        others = tuple(result for result in found if result.id != id)[:limit]
        return msgspec.structs.replace(
            found,
            results=others,
            counts=found.counts | {"returned": len(others)},
            topics=topics(others),
        )

    def show(self, ids: Sequence[str]) -> list[Memory]:
        """Whole memories, in the order asked for."""
        found = self.store.memories.get(named_ids(ids))
        for id in ids:
            if id not in found:
                raise unknown_memory(id)
        return [found[id] for id in ids]

    def list(
        self,
        filter: Filter = EVERYTHING,
        limit: int = 20,
        after: str | Place | None = None,
    ) -> list[Memory]:
        """Browse: core, then capture, then file; newest first in each; behind a memory, or behind
        the place where one stood."""
        if isinstance(after, str):
            [memory] = self.show([after])
            after = place_of(memory)
        return self.store.memories.browse(checked_filter(filter), bounded(limit), after)

    def facets(self, filter: Filter = EVERYTHING) -> Facets:
        """How many memories have each project, kind, source and tag, most first, and each age."""
        return self.store.memories.facets(checked_filter(filter), MOST_FACETS, self.now())

    def dates(self, filter: Filter = EVERYTHING) -> Dates:
        """On which days memories were made, and on which they expire."""
        return self.store.memories.dates(checked_filter(filter))

    def expiring(
        self, filter: Filter = EVERYTHING, limit: int = 20, *, within: timedelta
    ) -> Sequence[Memory]:
        """What expires within that time from now, soonest first."""
        now = self.now()
        return self.store.memories.expiring(
            checked_filter(filter), bounded(limit), since=now, until=now + within
        )

    def expired(self, filter: Filter = EVERYTHING, limit: int = 20) -> Sequence[Memory]:
        """What has expired, latest first."""
        return self.store.memories.expiring(
            checked_filter(filter), bounded(limit), until=self.now()
        )

    def opinions(self) -> tuple[int, int]:
        """How many results were accepted and dismissed so far."""
        return self.store.feedback.counts()

    def learned(self, recipe: str | None = None) -> dict[str, tuple[float, float]]:
        """What feedback made of the recipe's weights: declared, and as they are now; empty for a
        recipe whose weights do not learn."""
        counts = self.opinions()
        for stage in self.recipe(recipe).stages:
            if isinstance(stage, WeightedSum) and stage.adaptive is not None:
                declared = stage.declared(vectors=self.models.embeds())
                now = stage.adaptive.adapted(declared, *counts)
                return {name: (declared[name], now[name]) for name in declared}
        return {}

    def save_recipe(
        self, name: str, *, extends: str, changes: Mapping[str, object], replace: bool = False
    ) -> Recipe:
        """Keep constants set otherwise as a recipe of one's own, under `recipes/NAME.toml`."""
        self.recipes.save(name, extends, changes, replace=replace)
        return self.recipes.get(name)

    def export(self) -> Iterator[Memory]:
        """Every memory that is live when this begins, in browsing order, as it is when its turn
        comes; one that is forgotten meanwhile is left out."""
        ids = self.store.memories.ids()
        for first in range(0, len(ids), EXPORT_BATCH):
            batch = ids[first : first + EXPORT_BATCH]
            found = self.store.memories.get(batch)
            yield from (found[id] for id in batch if id in found)

    def context(
        self,
        query: str = "",
        *,
        limit: int = CONTEXT_LIMIT,
        max_tokens: int | None = None,
        filter: Filter = EVERYTHING,
        semantic: str | None = None,
        topup_recent: bool | None = None,
    ) -> Context:
        """What an agent should know when it starts. Source: the `echovault` recipe, "Context"."""
        limit, filter = bounded(limit), checked_filter(filter)
        response = None
        memories: list[Memory] = []
        if query.strip():
            recipe = self._context_recipe(semantic or self.settings.context.semantic)
            asked = Query(text=clean_query(query), limit=limit, filter=filter)
            response = self._run(recipe, asked)
            memories = [result.memory for result in response]
        found = {memory.id for memory in memories}
        topup = self.settings.context.topup_recent if topup_recent is None else topup_recent
        if topup and len(found) < limit:
            newest = self.store.memories.newest(filter, limit)
            fresh = [memory for memory in newest if memory.id not in found]
            memories += fresh[: limit - len(found)]
        kept = _within(memories, max_tokens)
        matched = sum(memory.id in found for memory in kept)
        left_out = len(memories) - len(kept)
        return Context(tuple(kept), response, matched, len(kept) - matched, left_out)

    def _context_recipe(self, semantic: str) -> Recipe:
        """`never`: keywords alone. `always`: vectors whenever a model is configured. `auto`: as the
        recipe declares, but only when the model would answer at once."""
        modes = ("auto", "always", "never")
        if semantic not in modes:
            raise UserError(f"semantic cannot be {semantic!r}; allowed are: {', '.join(modes)}.")
        when = {"never": "never", "always": "always"}.get(semantic)
        if semantic == "auto" and not (self.models.embeds() and self.models.embedder().warm()):
            when = "never"
        if semantic == "always" and not self.models.embeds():
            when = "never"
        recipe = self.recipes.get(CONTEXT_RECIPE)
        if when is None:
            return recipe
        from recollect.recipes.overrides import overridden  # noqa: PLC0415  start-up time

        return overridden(recipe, {"recall": {"vector": {"when": when}}}, "context")

    # Upkeep

    def reindex(
        self, *, everything: bool = False, progress: Callable[[int], None] = lambda done: None
    ) -> int:
        """Rebuild the keyword indexes, then make every missing vector of the active model.

        Interrupted, it goes on where it stopped. `everything` makes the vectors anew.
        """
        self.store.rebuild()
        if not self.models.embeds():
            return 0
        embedder = self.models.embedder()
        made = embedder.documents(["dimension"])
        if everything:
            self.store.vectors.remove(embedder.identity)
        self.store.vectors.adopt(embedder.identity, made.shape[1])
        try:
            done = embed_waiting(self.store.vectors, embedder, progress=progress)
        except TextsRefused:
            self.store.vectors.keep_only(embedder.identity)
            raise
        self.store.vectors.keep_only(embedder.identity)
        return done

    def doctor(self, *, fix: bool = False) -> Sequence[Finding]:
        """Check everything that is derived; `fix` rebuilds it first where something is wrong."""
        findings = [*self.store.examine()]
        if fix and any(finding.problem and finding.mendable for finding in findings):
            self.store.rebuild()
            findings = [*self.store.examine()]
        return findings

    def warm_up(self) -> None:
        """Load the models and the vectors, so that the next search waits for neither. What cannot
        be loaded says so when it is asked for. A remote model is not asked: it is not ours to wake,
        and each question may cost something."""
        with suppress(RecollectError):
            if self.models.embeds() and self.models.embedder().local:
                self._run(RELATED, Query(text=WARMING_WORDS, limit=1))
        with suppress(RecollectError):
            if self.settings.rerank.provider != "http":
                self.models.reranker().ready()

    @property
    def read_only(self) -> bool:
        """Whether the vault can be searched but not written."""
        return self.store.database.frozen

    def coverage(self) -> Coverage:
        """How many memories have a vector of the active model, of how many; none without one."""
        if not self.models.embeds():
            return Coverage(0, self.store.vocabulary.documents())
        return self.store.vectors.coverage(self.models.embedder().identity)

    def stats(self) -> dict[str, Any]:
        """What the vault holds, which models are active, and how many vectors wait."""
        model = self.models.embedder().identity if self.models.embeds() else None
        return {
            "vault": str(self.path),
            **self.store.counts(),
            "embedding": model or "none",
            "vectors": self.coverage().embedded,
            "waiting": self.waiting(),
            "recipe": self.settings.search.recipe,
        }

    def waiting(self) -> int:
        """How many live memories have no vector of the active model; 0 without a model."""
        embedded, memories = self.coverage()
        return memories - embedded if self.models.embeds() else 0

    def embed_now(self, progress: Callable[[int], None] = lambda done: None) -> str | None:
        """Embed what waits, now; the reason when the model did not deliver, else None."""
        if not self.models.embeds():
            return None
        try:
            embed_waiting(self.store.vectors, self.models.embedder(), progress=progress)
        except ProviderError as error:
            return str(error)
        return None

    def _embed_soon(self) -> None:
        """A local model embeds at once; a remote one in the background, so that no save waits."""
        if not self.models.embeds():
            return
        if self.models.embedder().local:
            self.embed_now()
        else:
            self._background.wake()


def _make_home(home: Path) -> None:
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"The home folder {home} cannot be made: {error.strerror}.") from error


def _clock(environment: Mapping[str, str]) -> Callable[[], datetime]:
    """The real clock, or the one moment that RECOLLECT_NOW names."""
    if told := environment.get("RECOLLECT_NOW"):
        moment = parse_time(told, "RECOLLECT_NOW")
        return lambda: moment
    return lambda: datetime.now(UTC)


def _within(memories: Sequence[Memory], max_tokens: int | None) -> list[Memory]:
    """In order, each memory that still fits the budget; one that does not leaves room to others."""
    if max_tokens is None:
        return list(memories)
    if max_tokens < 1:
        raise UserError(f"max_tokens must be at least 1, not {max_tokens}.")
    kept: list[Memory] = []
    left = max_tokens
    for memory in memories:
        if token_estimate(memory) <= left:
            left -= token_estimate(memory)
            kept.append(memory)
    return kept


def _check_revision(memory: Memory, expected: str | None) -> None:
    if expected is not None and revision(memory) != expected:
        raise Changed(f"The memory {memory.id!r} has changed meanwhile; look at it again first.")


def _live(found: Mapping[str, Stored], id: str) -> Stored:
    if id not in found or found[id].forgotten:
        raise unknown_memory(id)
    return found[id]


def _forgotten(found: Mapping[str, Stored], id: str) -> Stored:
    if id not in found or not found[id].forgotten:
        raise NotFound(f"The memory {id!r} is not among the forgotten ones.")
    return found[id]


def _batches(lines: Iterable[Line], size: int) -> Iterator[list[Line]]:
    batch: list[Line] = []
    for line in lines:
        batch.append(line)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch
