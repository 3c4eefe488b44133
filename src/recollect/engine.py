"""The one door: every interface saves, searches and changes memories through `Recollect`."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from datetime import UTC, datetime, timedelta
from functools import cache, cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from recollect.auth.audit import NAME as AUDIT
from recollect.auth.audit import Audit
from recollect.auth.capabilities import ADMIN, DELETE, OWNER, SEARCH, WRITE, Caller, free, needs
from recollect.checks import (
    bounded,
    checked_filter,
    checked_search,
    clean_query,
    is_text,
    named_ids,
    sayable_path,
    several,
    unknown_memory,
)
from recollect.errors import Changed, Forbidden, NotFound, ProviderError, RecollectError, UserError
from recollect.ingest.draft import Draft, complete, draft
from recollect.ingest.jsonl import Line
from recollect.ingest.repeats import repeated
from recollect.ingest.saving import Saved, save_again, save_drafts
from recollect.memory_json import revision
from recollect.models.active import ActiveModels
from recollect.models.embedding_queue import BackgroundEmbedding, TextsRefused, embed_waiting
from recollect.pipeline import MOST_FACETS, run, topics
from recollect.present.views import token_estimate
from recollect.recipes.base import Recipe
from recollect.recipes.registry import Recipes
from recollect.recipes.related import RELATED
from recollect.settings import LockSettings, Settings, home_folder, load_settings
from recollect.stages.weighted_sum import WeightedSum
from recollect.store.base import Coverage, Dates, Facets, Stored, WriteOutcome, Writing
from recollect.store.folders import Folder
from recollect.store.sqlite.store import SqliteStore
from recollect.store.sqlite.upkeep import Finding
from recollect.times import parse_time
from recollect.types import (
    Context,
    Filter,
    Memory,
    Place,
    Response,
    Search,
    place_of,
)
from recollect.vaults.known import HOME, untrusted_vault
from recollect.vaults.trust import project_vault, working_folder

if TYPE_CHECKING:
    from recollect.folders.scan import Scan
    from recollect.folders.sync import Synced
    from recollect.mirror.run import Mirrored
    from recollect.secrets.redaction import SecretPatterns
    from recollect.store.sqlite.cipher import KeySource
    from recollect.vaults.collections import Collections, Fanned
    from recollect.vaults.federation import Federation, Held
    from recollect.vaults.idle import IdleLock

IMPORT_BATCH = 4000  # long enough to be quick, short enough that other writers wait little
EXPORT_BATCH = 1000
CONTEXT_RECIPE = "echovault"
CONTEXT_LIMIT = 10
WARMING_WORDS = "warming up"
RELATED_READS = 1000  # characters: what a memory is about stands at its beginning
# A remote model gets this long to take in what a command saved before the command ends.
PATIENCE_S = 3.0
EVERYTHING = Filter()

# A line to import without its secrets, and how many of each kind it had.
Cleaned = tuple[Line, Mapping[str, int]]


class Imported(NamedTuple):
    """What an import did; `redacted`: how many secrets of each kind were replaced."""

    added: int
    updated: int
    unchanged: int
    bad: list[tuple[int, str]]
    redacted: Counter[str]


class _Undone(Exception):
    """Ends a write that was only tried."""


class Recollect:
    """A vault, its settings and its models.

    With no arguments it is the vault in the home folder; with a path, that file. Use it as a
    context manager, or call `close()`. Each public method declares what its caller must be allowed
    to do; who opens the vault may do everything.
    """

    vault = HOME

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
        passphrase: str | None = None,
    ) -> None:
        """`brief` says that this process asks but once or twice: what pays off only for later
        questions is not made. `lasting` says that it stays and is asked the same again:
        then it lets go of a locked vault after a while. `passphrase` opens a locked vault; without
        it the settings say where one is found, and a terminal is asked."""
        self.home = Path(home) if home is not None else home_folder(environment)
        self.settings = settings or load_settings(self.home, environment)
        self.recipes = Recipes(self.home / "recipes")
        self.models = ActiveModels(self.settings, environment, remember=lasting)
        self.path = sayable_path(Path(path) if path is not None else self.home / "vault.db")
        if path is None:
            _make_home(self.home)
        self._environment = environment
        self._alone = path is not None  # one file is meant, and no other
        self._clock = clock or _clock(environment)
        keys = _keys(self.settings.vault, environment, passphrase)
        self.store = SqliteStore(self.path, brief=brief, keys=keys)
        self._idle = _idle_lock(self.store, self.settings.vault) if lasting else None
        self._background = BackgroundEmbedding(self.store.vectors, self.models.embedder)
        # A file of its own is not the home's vault, and what is done to it is not the home's news.
        self.audit = Audit(self.home / AUDIT if path is None else None)
        self.caller = OWNER
        self._lent = False

    def __enter__(self) -> Recollect:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @free
    def acting_as(self, caller: Caller) -> Recollect:
        """The same vault, store and models, for somebody who may do only so much."""
        # Made when first used: here, so that no view makes one of its own.
        _ = self._others, self._collections
        view = copy(self)
        view.caller = caller.within(self.caller)
        view._lent = True
        return view

    @free
    def require(self, *capabilities: str, action: str, anywhere: bool = False) -> None:
        """Forbidden, unless the caller may do all that in this vault, or `anywhere` in one of those
        that a search spans; a refusal is noted."""
        why = self._refusal(capabilities, anywhere=anywhere)
        if why is not None:
            self.audit.refused(self.caller, action, self.vault, why)
            raise Forbidden(why)

    @free
    def may(self, *capabilities: str, anywhere: bool = False) -> bool:
        """Whether `require` would let the caller pass; nothing is noted."""
        return self._refusal(capabilities, anywhere=anywhere) is None

    def _refusal(self, capabilities: tuple[str, ...], *, anywhere: bool) -> str | None:
        return self.caller.refusal(capabilities, self._reached() if anywhere else self.vault)

    def _reached(self) -> str:
        """This vault, or where that is out of the caller's reach another one that is not."""
        if not self.caller.sees(self.vault) and self._others is not None:
            for one in self._others.known:
                if self.caller.sees(one.name):
                    return one.name
        return self.vault

    def _enter(self, vault: str) -> None:
        """Forbidden where that vault is out of the caller's reach, whether it is there or not."""
        if not self.caller.sees(vault):
            # The name is the caller's own words, which have no place in the log.
            self.audit.refused(self.caller, "search", self.vault, "another vault")
            raise Forbidden(f"This caller may not use the vault {vault!r}.")

    @free
    def close(self) -> None:
        """Let go of the vault. Everything acknowledged is on the disk already. What `acting_as`
        gave lets go of nothing: it is not the only one that uses it."""
        if self._lent:
            return
        self._background.close(PATIENCE_S)
        for name in ("_others", "_collections"):
            if (opened := self.__dict__.get(name)) is not None:
                opened.close()
        self.models.close()
        if self._idle is not None:
            self._idle.close()
        self.store.close()

    @free
    def now(self) -> datetime:
        return self._clock()

    # Writing

    @needs(WRITE)
    def save(self, /, **fields: object) -> Memory:
        """Keep one memory; what it says again is updated. Durable when this returns."""
        [saved] = self.save_all([draft(fields)])
        return saved.memory

    @needs(WRITE)
    def save_all(self, drafts: Sequence[Draft], *, redact: bool = True) -> list[Saved]:
        """Keep these memories, all or none; then embed them, or let them be embedded.

        One without an id that repeats a memory of its project updates that one. What looks like a
        secret is replaced first; without `redact` it is kept.
        """
        self.models.embeds()  # settings that name no model are refused before anything is kept
        clean = [self._redacted(given, redact=redact) for given in drafts]
        with self.store.writing() as write:
            saved = [self._saved(write, given)._replace(redacted=found) for given, found in clean]
        self._wrote("save", [one.memory.id for one in saved if one.outcome != "unchanged"])
        self._embed_soon()
        return [self._handed_back(one) for one in saved]

    def _saved(self, write: Writing, given: Draft) -> Saved:
        before = repeated(self.store, given)
        if before is not None:
            return save_again(write, given, before, self.now())
        [saved] = save_drafts(write, [given], self.now())
        return saved

    def _redacted(self, given: Draft, *, redact: bool) -> tuple[Draft, Mapping[str, int]]:
        """The draft without its secrets: every way in goes through here, before anything of it is
        written or sent to a model."""
        if not (redact and self.settings.secrets.redact):
            return given, {}
        from recollect.secrets.redaction import redact_draft  # noqa: PLC0415  start-up time

        return redact_draft(given, self._patterns)

    def _kept_query(self, query: str) -> str:
        """A query as feedback keeps it: without secrets."""
        text = clean_query(query)
        if not self.settings.secrets.redact:
            return text
        from recollect.secrets.redaction import redacted  # noqa: PLC0415  start-up time

        return redacted(text, self._patterns)[0]

    @cached_property
    def _patterns(self) -> SecretPatterns:
        from recollect.secrets.redaction import SecretPatterns  # noqa: PLC0415  start-up time

        return SecretPatterns(self.settings.secrets.patterns)

    @needs(WRITE)
    def import_lines(
        self,
        lines: Iterable[Line],
        *,
        strict: bool = False,
        redact: bool = True,
        dry_run: bool = False,
        progress: Callable[[int], None] = lambda size: None,
    ) -> Imported:
        """Save what the lines hold; bad lines are reported, the rest goes in.

        `strict`: one bad line, and nothing goes in. `redact` as for `save_all`. `dry_run`: say what
        would be done, and do nothing.
        """
        self.models.embeds()  # as for `save_all`
        counts = Imported(0, 0, 0, [], Counter())
        cleaned: Iterable[Cleaned] = (self._clean_line(line, redact=redact) for line in lines)
        if strict:
            held = list(cleaned)
            bad = [(line.number, line.reason) for line, _ in held if line.draft is None]
            if bad:
                return counts._replace(bad=bad)
            cleaned = held
        at_once = strict or dry_run
        for batch in [list(cleaned)] if at_once else _batches(cleaned, IMPORT_BATCH):
            with suppress(_Undone), self.store.writing() as write:
                done = self._save_lines(write, batch, progress)
                if dry_run:
                    raise _Undone
            if not dry_run and (changed := done.added + done.updated):
                self._wrote("import", count=changed)
            counts = Imported(*(a + b for a, b in zip(counts, done, strict=True)))  # type: ignore[operator]
        return counts

    def _clean_line(self, line: Line, *, redact: bool) -> Cleaned:
        """The line without its secrets; with one where it cannot be replaced, a bad line."""
        if line.draft is None:
            return line, {}
        try:
            given, found = self._redacted(line.draft, redact=redact)
        except UserError as error:
            return line._replace(draft=None, reason=str(error)), {}
        return line._replace(draft=given), found

    def _save_lines(
        self, write: Writing, clean: Sequence[Cleaned], progress: Callable[[int], None]
    ) -> Imported:
        lines = [line for line, _ in clean]
        drafts = [line.draft for line in lines if line.draft is not None]
        outcomes = [saved.outcome for saved in save_drafts(write, drafts, self.now())]
        progress(sum(line.size for line in lines))
        return Imported(
            outcomes.count("added"),
            outcomes.count("updated"),
            outcomes.count("unchanged"),
            [(line.number, line.reason) for line in lines if line.draft is None],
            sum((Counter(found) for _, found in clean if found), Counter[str]()),
        )

    @contextmanager
    def _changing(self, ids: Sequence[str]) -> Iterator[Writing]:
        """A write to these memories; of one that another vault holds, it is told which: the others
        are only read. They are asked when the write is over, so that no writer waits for them."""
        try:
            with self.store.writing() as write:
                yield write
        except NotFound as error:
            for id in filter(is_text, ids) if self.caller.may(SEARCH) else ():
                if (held := self._held_elsewhere(id)) is not None:
                    told = f"The memory {id!r} is not yours but in {held!r}; change it there."
                    raise NotFound(told) from error
            raise

    def _held_elsewhere(self, id: str) -> str | None:
        """The vault or collection that holds the memory which the home's own vault has not."""
        if id in self.store.memories.get([id]):
            return None
        fanned = self._fanned()
        if fanned is not None and id in fanned.memories.get([id]):
            return id.partition(":")[0]
        held = self._elsewhere(id)
        return None if held is None else held.vault

    @needs(WRITE)
    def edit(self, id: str, /, **told: Any) -> Memory:
        """The same as `edited`, for those who want no more than the memory."""
        return self.edited(id, **told).memory

    @needs(WRITE)
    def edited(
        self,
        id: str,
        /,
        *,
        add_tags: Sequence[str] = (),
        remove_tags: Sequence[str] = (),
        if_revision: str | None = None,
        redact: bool = True,
        **changes: object,
    ) -> Saved:
        """Change fields of a memory; None puts a field back to its default. With `if_revision`
        (see `codec.revision`) only if it is still as it was then. `redact` as for `save_all`."""
        if "id" in changes:
            raise UserError("An id cannot be changed; save a new memory and forget this one.")
        self.models.embeds()  # as for `save_all`
        added, removed = several(add_tags, "add_tags"), several(remove_tags, "remove_tags")
        with self._changing([id]) as write:
            before = _live(write.find(named_ids([id])), id)
            _check_revision(before.memory, if_revision)
            if added or removed:
                if "tags" in changes:
                    raise UserError("Give either tags, or add_tags and remove_tags.")
                kept = [tag for tag in before.memory.tags if tag not in removed]
                changes["tags"] = [*kept, *added]
            given, found = self._redacted(draft(changes, change=True), redact=redact)
            after = complete(given, id, before.memory, self.now())
            if not (after.title or after.text):
                raise UserError("A memory needs a title or a text.")
            if after != before.memory:
                write.replace(before, after)
        same = after == before.memory
        self._wrote("edit", [] if same else [id])
        self._embed_soon()
        outcome: WriteOutcome = "unchanged" if same else "updated"
        return Saved(self._readable(after), outcome, redacted=found)

    @needs(WRITE)
    def pin(self, ids: Sequence[str]) -> list[Memory]:
        """Make memories core, the most trusted tier. Their age stays as it is."""
        with self._changing(ids) as write:
            found = write.find(named_ids(ids))
            pinned, changed = [], []
            for before in [_live(found, id) for id in ids]:
                after = msgspec.structs.replace(before.memory, tier="core")
                if after != before.memory:
                    write.replace(before, after)
                    changed.append(after.id)
                pinned.append(after)
        self._wrote("pin", changed)
        return [self._readable(memory) for memory in pinned]

    @needs(DELETE)
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
        with self._changing(ids) as write:
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
        self._wrote("purge" if purge else "restore" if undo else "forget", ids)
        if undo:
            self._embed_soon()
        if purge:
            self.store.scrub()

    @needs(WRITE)
    def feedback(self, query: str, id: str, *, accept: bool) -> tuple[int, int]:
        """Say whether a result was right; returns how many were accepted and dismissed so far."""
        if not query.strip():
            raise UserError("Feedback needs the query that the result answered.")
        self._shown([id])
        self.store.feedback.add(self._kept_query(query), id, accept, self.now())
        self._wrote("feedback", [id])
        return self.store.feedback.counts()

    @needs(SEARCH)
    def judged(self, query: str, ids: Sequence[str]) -> dict[str, bool]:
        """What was said last of these memories as answers to this query: whether accepted."""
        said = self.store.feedback.about(named_ids(ids))
        kept = self._kept_query(query) if said else ""
        return {id: accepted for id, asked, accepted in said if asked == kept}

    # Reading

    @needs(SEARCH, anywhere=True)
    def search(self, search: Search | str, /, **fields: Any) -> Response:
        """Search. `fields` are those of `Search` and of `Filter` by name: `limit=5`,
        `project="harbor"`, `tags=("a",)`."""
        asked = self._completed(search, fields)
        recipe = self.recipe(asked.recipe)
        if asked.changes:
            recipe = self.recipes.changed(recipe.name, asked.changes)
        return self._federated(recipe, asked)

    @needs(SEARCH)
    def run_recipe(self, recipe: Recipe, search: Search | str, /, **fields: Any) -> Response:
        """The same as `search` in this vault alone, for a recipe that has no name to be found
        by."""
        return self._run(recipe, self._completed(search, fields))

    def _completed(self, search: Search | str, fields: Mapping[str, object]) -> Search:
        """The search, checked, with what it leaves to the settings and to the clock."""
        asked = checked_search(search, **fields)
        read_time = self.settings.search.read_time if asked.read_time is None else asked.read_time
        return msgspec.structs.replace(asked, read_time=read_time, now=asked.now or self.now())

    @needs(SEARCH, anywhere=True)
    def recipe(self, name: str | None = None) -> Recipe:
        """The named recipe, or the one the settings make the default."""
        if name is not None:
            return self.recipes.get(name)
        try:
            return self.recipes.get(self.settings.search.recipe)
        except UserError as error:
            place = f"search.recipe, in {self.home / 'config.toml'} or the environment"
            raise UserError(f"{place}: {error}") from error

    @cached_property
    def _others(self) -> Federation | None:
        """The other vaults that a search spans; None where there are none."""
        if self._alone or not (self.settings.vaults or self._project_vault()):
            return None
        from recollect.vaults.federation import Federation  # noqa: PLC0415  start-up time

        return Federation(
            self.settings, self._environment, self.home, self.path, self.models, working_folder()
        )

    def _project_vault(self) -> Path | None:
        start = working_folder()
        return None if start is None else project_vault(start)

    def _federated(self, recipe: Recipe, search: Search) -> Response:
        """The search in the home's own vault, and in every other that is asked for."""
        own = partial(self._run, recipe, search)
        for name in search.vaults:
            self._enter(name)
        federation = self._others if search.federate or search.vaults else None
        if federation is None:
            self._enter(HOME)
            if set(search.vaults) - {HOME}:
                raise NotFound(f"There is no vault {search.vaults[0]!r}; there is: {HOME}.")
            return own()
        chosen = federation.chosen(search.vaults, self.caller.sees)
        if [one.name for one in chosen] == [HOME]:
            return self._noting_untrusted(own())
        return self._noting_untrusted(federation.search(recipe, search, chosen, own))

    def _noting_untrusted(self, found: Response) -> Response:
        """A vault that would be used if it were trusted is told, and not silently passed over."""
        if self.caller.token:
            return found  # where things are on this machine is not everybody's business
        project = untrusted_vault(self.settings, self.home, self.path, working_folder())
        if project is None:
            return found
        note = f"The project vault {project} is not used; `recollect vaults trust` allows it."
        return msgspec.structs.replace(found, notes=(*found.notes, note))

    def _run(self, recipe: Recipe, search: Search) -> Response:
        fanned = self._fanned()
        store = self.store if fanned is None else fanned
        found = run(recipe, search, store=store, models=self.models)
        return found if fanned is None else fanned.told_apart(found)

    @cached_property
    def _collections(self) -> Collections | None:
        if self._alone or not self.settings.collections:
            return None
        from recollect.vaults.collections import Collections  # noqa: PLC0415  start-up time

        return Collections(self.settings.collections, self.home, self._environment)

    def _fanned(self) -> Fanned | None:
        """The personal vault with the collections that the caller belongs to behind it."""
        if self._collections is None:
            return None
        names = [one for one in self._collections.names() if self.caller.shares(one)]
        return self._collections.fanned(self.store, names)

    @needs(WRITE, SEARCH)
    def publish(self, ids: Sequence[str], to: str) -> list[Memory]:
        """Copy memories into a collection, where whoever belongs to it finds them; again, and the
        copies are brought up to date."""
        memories = self._own(ids)
        store = self._collection(to, make=True)
        with store.writing() as write:
            held = write.find(ids)
            for memory in memories:
                if memory.id not in held:
                    write.add(memory)
                elif held[memory.id].forgotten or held[memory.id].memory != memory:
                    write.replace(held[memory.id], memory)
        if self.models.embeds() and self.models.embedder().local:
            embed_waiting(store.vectors, self.models.embedder())
        self._wrote("publish", ids)
        return memories

    def _own(self, ids: Sequence[str]) -> list[Memory]:
        """Memories of the home's own vault: what others share is not ours to hand on."""
        found = self.store.memories.get(named_ids(ids))
        for id in ids:
            if id not in found:
                raise unknown_memory(id)
        return [found[id] for id in ids]

    @needs(DELETE)
    def unpublish(self, ids: Sequence[str], collection: str) -> None:
        """Take memories out of a collection; those of one's own stay."""
        store = self._collection(collection)
        with store.writing() as write:
            found = write.find(named_ids(ids))
            for id in dict.fromkeys(ids):
                write.forget(_live(found, id), self.now())
        self._wrote("unpublish", ids)

    def _collection(self, name: str, *, make: bool = False) -> SqliteStore:
        if self._collections is None or not self.caller.shares(name):
            raise NotFound(f"There is no collection {name!r} here.")
        return self._collections.store(name, make=make)

    @needs(SEARCH)
    def related(self, id: str, limit: int | None = None) -> Response:
        """Other memories about what this one is about, best first."""
        [memory] = self.show([id])
        told = f"{memory.title} {memory.text}"[:RELATED_READS]
        limit = bounded(RELATED.limits.default if limit is None else limit)
        search = self._completed(told, {"limit": limit + 1, "read_time": False})
        found = self._run(RELATED, search)
        others = tuple(result for result in found if result.id != id)[:limit]
        return msgspec.structs.replace(
            found,
            results=others,
            counts=found.counts | {"returned": len(others)},
            topics=topics(others),
        )

    @needs(SEARCH, anywhere=True)
    def show(self, ids: Sequence[str], *, federate: bool = True) -> list[Memory]:
        """Whole memories, in the order asked for; without `federate` from no other vault."""
        return self._shown(ids, federate=federate)

    def _shown(self, ids: Sequence[str], *, federate: bool = True) -> list[Memory]:
        found: dict[str, Memory] = {}
        if self.caller.sees(self.vault):
            found = (self._fanned() or self.store).memories.get(named_ids(ids))
        for id in named_ids(ids):
            if id not in found:
                held = self._elsewhere(id) if federate else None
                if held is None:
                    raise unknown_memory(id)
                found[id] = held.memory
        return [found[id] for id in ids]

    def _elsewhere(self, id: str) -> Held | None:
        """A memory of another vault: what a search found there can be looked at."""
        far = self._others
        return None if far is None else far.show(id, self.caller.sees)

    @needs(SEARCH)
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

    @needs(SEARCH)
    def facets(self, filter: Filter = EVERYTHING) -> Facets:
        """How many memories have each project, kind, source and tag, most first, and each age."""
        return self.store.memories.facets(checked_filter(filter), MOST_FACETS, self.now())

    @needs(SEARCH)
    def dates(self, filter: Filter = EVERYTHING) -> Dates:
        """On which days memories were made, and on which they expire."""
        return self.store.memories.dates(checked_filter(filter))

    @needs(SEARCH)
    def expiring(
        self, filter: Filter = EVERYTHING, limit: int = 20, *, within: timedelta
    ) -> Sequence[Memory]:
        """What expires within that time from now, soonest first."""
        now = self.now()
        return self.store.memories.expiring(
            checked_filter(filter), bounded(limit), since=now, until=now + within
        )

    @needs(SEARCH)
    def expired(self, filter: Filter = EVERYTHING, limit: int = 20) -> Sequence[Memory]:
        """What has expired, latest first."""
        return self.store.memories.expiring(
            checked_filter(filter), bounded(limit), until=self.now()
        )

    @needs(SEARCH)
    def opinions(self) -> tuple[int, int]:
        """How many results were accepted and dismissed so far."""
        return self.store.feedback.counts()

    @needs(SEARCH)
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

    @needs(ADMIN)
    def save_recipe(
        self, name: str, *, extends: str, changes: Mapping[str, object], replace: bool = False
    ) -> Recipe:
        """Keep constants set otherwise as a recipe of one's own, under `recipes/NAME.toml`."""
        self.recipes.save(name, extends, changes, replace=replace)
        self._wrote("save recipe")
        return self.recipes.get(name)

    @needs(SEARCH)
    def export(self) -> Iterator[Memory]:
        """Every memory that is live when this begins, in browsing order, as it is when its turn
        comes; one that is forgotten meanwhile is left out."""
        ids = self.store.memories.ids()
        for first in range(0, len(ids), EXPORT_BATCH):
            batch = ids[first : first + EXPORT_BATCH]
            found = self.store.memories.get(batch)
            yield from (found[id] for id in batch if id in found)

    @needs(SEARCH)
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
            search = self._completed(query, {"limit": limit, "filter": filter})
            response = self._federated(recipe, search)
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

    # Folders

    @needs(WRITE, ADMIN)
    def add_folder(
        self,
        path: str | os.PathLike[str],
        *,
        project: str | None = None,
        follow: bool | None = None,
        redact: bool = True,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> Synced:
        """Make memories of a folder's files; again, and they are brought into step. `follow` says
        whether its changes are to be followed from now on, None leaves that as it is."""
        from recollect.folders.sync import checked_folder  # noqa: PLC0415  start-up time
        from recollect.mirror.state import STATE  # noqa: PLC0415  as above

        real = str(sayable_path(checked_folder(Path(path))))
        if (Path(real) / STATE).exists():
            raise UserError(f"{path} is a mirror; its memories are in a vault already.")
        known = {folder.path: folder for folder in self.store.folders.all()}
        _check_apart(real, known)
        before = known.get(real)
        folder = self.store.folders.add(
            real,
            project if project is not None else before.project if before else Path(real).name,
            redact=redact,
            followed=follow if follow is not None else before is not None and before.followed,
            at=self.now(),
        )
        return self.sync_folder(folder, progress=progress)

    @needs(WRITE, ADMIN)
    def sync_folder(
        self,
        folder: Folder,
        looked: Scan | None = None,
        *,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> Synced:
        """Bring the memories of a folder into step with its files, or with those `looked` at."""
        from recollect.folders.sync import Cleaning, Sync  # noqa: PLC0415  start-up time

        cleaning = None
        if folder.redact and self.settings.secrets.redact:
            from recollect.secrets.redaction import redact_draft, redacted  # noqa: PLC0415  as above

            cleaning = Cleaning(
                lambda text: redacted(text, self._patterns, keep_lines=True),
                lambda given: redact_draft(given, self._patterns),
            )
        sync = Sync(self.store, folder, cleaning, self.now, own=self._own_files())
        done = sync.run(looked, progress=progress)
        if done.changed:
            self._wrote("sync folder", count=done.changed)
        return done

    def _own_files(self) -> Sequence[str]:
        """What every write changes, by the names that a folder around it gives it."""
        files = (os.path.realpath(self.path), os.path.realpath(self.home / AUDIT))
        return [file + end for file in files for end in ("", "-wal", "-shm", "-journal", ".1")]

    @needs(SEARCH)
    def folders(self) -> Sequence[Folder]:
        """The folders whose files are memories."""
        return self.store.folders.all()

    @needs(DELETE, ADMIN)
    def remove_folder(self, path: str | os.PathLike[str]) -> int:
        """Forget the memories of a folder's files, and the folder; the files are not touched. How
        many memories that were."""
        wanted = {str(path), os.path.realpath(path)}
        for folder in self.store.folders.all():
            if folder.path in wanted:
                with self.store.writing() as write:
                    stored = write.find(write.files.memories(folder))
                    for one in stored.values():
                        write.forget(one, self.now())
                    write.files.remove(folder)
                self._wrote("remove folder", count=len(stored) or 1)
                return len(stored)
        raise NotFound(f"{path} was never added; `recollect folders` shows those that were.")

    @needs(WRITE, ADMIN)
    def follow_folders(
        self,
        stop: threading.Event,
        tell: Callable[[str], None] = lambda sentence: None,
        ready: Callable[[], None] = lambda: None,
    ) -> None:
        """Follow the folders that are to be followed, until stopped; vectors are made beside it."""
        from recollect.folders.watch import Follower  # noqa: PLC0415  start-up time

        held: list[Folder] = []

        def folders() -> list[Folder]:
            # A locked vault that nobody asks is let go of: it must not be asked every second.
            if not held or not self.store.database.locked:
                held[:] = [folder for folder in self.store.folders.all() if folder.followed]
            return held

        def sync(folder: Folder, looked: Scan | None) -> Synced:
            done = self.sync_folder(folder, looked)
            if done.changed and self.models.embeds():
                self._background.wake()
            return done

        Follower(folders, sync, tell, stop).run(ready)

    # Upkeep

    @needs(SEARCH, WRITE, DELETE, ADMIN)
    def mirror(
        self, folder: str | os.PathLike[str] | None = None, *, dry_run: bool = False
    ) -> Mirrored:
        """Bring the vault and a folder of Markdown files together, once; without a name the folder
        of the settings. `dry_run` says what would be done, and does nothing."""
        from recollect.mirror.run import mirror  # noqa: PLC0415  start-up time

        return mirror(
            self,
            self._mirrored(folder),
            vault=self.store.topics.hashed("recollect mirror").hex()[:32],
            clean=lambda given: self._redacted(given, redact=True)[0],
            dry_run=dry_run,
        )

    def _mirrored(self, folder: str | os.PathLike[str] | None) -> Path:
        """A name is read from the working directory, a setting from the home."""
        if folder:
            return Path(folder)
        if not self.settings.mirror.folder:
            raise UserError("Name a folder, here or as `folder` in [mirror] of config.toml.")
        return self.home / Path(self.settings.mirror.folder).expanduser()

    @needs(SEARCH, WRITE, DELETE, ADMIN)
    def follow_mirror(
        self,
        folder: str | os.PathLike[str] | None,
        stop: threading.Event,
        tell: Callable[[Mirrored | RecollectError], None],
    ) -> None:
        """Mirror whenever the folder or the vault changes, until stopped; `tell` hears what was
        done, and once what prevents it."""
        from recollect.folders.watch import beats  # noqa: PLC0415  start-up time

        seen: int | None = None
        failed = ""
        for changed in beats(self._mirrored(folder), stop):
            # A locked vault that nobody asks is let go of: it must not be asked every second.
            asked = seen is None or not self.store.database.locked
            if not changed and not failed and not (asked and self.store.changes() != seen):
                continue
            seen = self.store.changes()
            try:
                done = self.mirror(folder)
            except RecollectError as error:
                if str(error) != failed:
                    tell(error)
                failed = str(error)
                continue
            failed = ""
            if done.steps or done.problems:
                tell(done)

    @needs(ADMIN)
    def reindex(
        self, *, everything: bool = False, progress: Callable[[int], None] = lambda done: None
    ) -> int:
        """Rebuild the keyword indexes, then make every missing vector of the active model.

        Interrupted, it goes on where it stopped. `everything` makes the vectors anew.
        """
        self.store.rebuild()
        self._wrote("reindex")
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

    @needs(ADMIN)
    def doctor(self, *, fix: bool = False) -> Sequence[Finding]:
        """Check everything that is derived; `fix` rebuilds it first where something is wrong."""
        findings = [*self.store.examine()]
        if fix and any(finding.problem and finding.mendable for finding in findings):
            self.store.rebuild()
            self._wrote("mend")
            findings = [*self.store.examine()]
        return findings

    @needs(ADMIN)
    def warm_up(self) -> None:
        """Load the models and the vectors, so that the next search waits for neither. What cannot
        be loaded says so when it is asked for. A remote model is not asked: it is not ours to wake,
        and each question may cost something."""
        with suppress(RecollectError):
            if self.models.embeds() and self.models.embedder().local:
                self._run(RELATED, self._completed(WARMING_WORDS, {"limit": 1}))
        with suppress(RecollectError):
            if self.settings.rerank.provider != "http":
                self.models.reranker().ready()

    @property
    @needs()
    def read_only(self) -> bool:
        """Whether the vault can be searched but not written."""
        return self.store.database.frozen

    @needs(SEARCH)
    def coverage(self) -> Coverage:
        """How many memories have a vector of the active model, of how many; none without one."""
        if not self.models.embeds():
            return Coverage(0, self.store.vocabulary.documents())
        return self.store.vectors.coverage(self.models.embedder().identity)

    @needs(SEARCH)
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

    @needs(SEARCH)
    def waiting(self) -> int:
        """How many live memories have no vector of the active model; 0 without a model."""
        embedded, memories = self.coverage()
        return memories - embedded if self.models.embeds() else 0

    @needs(ADMIN)
    def embed_now(self, progress: Callable[[int], None] = lambda done: None) -> str | None:
        """Embed what waits, now; the reason when the model did not deliver, else None."""
        return self._embed_now(progress)

    def _embed_now(self, progress: Callable[[int], None] = lambda done: None) -> str | None:
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
            self._embed_now()
        else:
            self._background.wake()

    # What a caller is told, and what is noted

    def _handed_back(self, saved: Saved) -> Saved:
        """What is new was said by the caller; what was there before is for those who may read."""
        if saved.outcome == "added":
            return saved
        return saved._replace(memory=self._readable(saved.memory))

    def _readable(self, memory: Memory) -> Memory:
        """The memory; for somebody who may change it and not read it, its id and times alone."""
        if self.caller.may(SEARCH):
            return memory
        return Memory(id=memory.id, created_at=memory.created_at, updated_at=memory.updated_at)

    def _wrote(self, action: str, ids: Sequence[str] | None = None, count: int = 1) -> None:
        """Note what was changed; an empty list of ids changed nothing."""
        if ids is None:
            self.audit.wrote(self.caller, action, self.vault, count)
        elif ids:
            self.audit.wrote(
                self.caller, action, self.vault, len(ids), lambda: [self._mark(id) for id in ids]
            )

    @needs(ADMIN)
    def mark(self, id: str) -> str:
        """How the audit log calls a memory: a hash that only this vault can make."""
        return self._mark(id)

    def _mark(self, id: str) -> str:
        exact = id.encode(errors="surrogatepass").hex()  # a topic is hashed in small letters
        return self.store.topics.hashed(f"audit:{exact}").hex()[:12]


def _check_apart(path: str, known: Mapping[str, Folder]) -> None:
    """A file must not be two memories: no folder within another."""
    for other in known:
        if other != path and (Path(path).is_relative_to(other) or Path(other).is_relative_to(path)):
            inner, outer = sorted((path, other), key=len, reverse=True)
            raise UserError(
                f"{inner} is in {outer}; add one of them, and `recollect folders remove` the other."
            )


def _keys(
    settings: LockSettings, environment: Mapping[str, str], passphrase: str | None
) -> KeySource:
    """Where the key comes from, should the vault be locked."""

    @cache
    def source() -> KeySource:
        from recollect.vaults.keys import Keys  # noqa: PLC0415  start-up time

        return Keys(settings, environment, passphrase)

    return lambda path, header: source()(path, header)


def _idle_lock(store: SqliteStore, settings: LockSettings) -> IdleLock | None:
    from recollect.vaults.idle import idle_lock  # noqa: PLC0415  start-up time

    return idle_lock(store, settings.idle_minutes)


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


def _batches(lines: Iterable[Cleaned], size: int) -> Iterator[list[Cleaned]]:
    batch: list[Cleaned] = []
    for line in lines:
        batch.append(line)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch
