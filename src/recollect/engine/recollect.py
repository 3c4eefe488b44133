"""What can be done with a vault: the methods of `Recollect`, which every interface calls."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from msgspec.structs import replace

from recollect.auth.capabilities import ADMIN, CAPABILITIES, DELETE, SEARCH, WRITE
from recollect.checks import LARGEST_LIMIT, named_ids
from recollect.engine import (
    browsing,
    comparison,
    feedback,
    filters,
    folders,
    history,
    lifecycle,
    reading,
    searching,
    upkeep,
    writing,
)
from recollect.engine.filters import EVERYTHING, read_filter
from recollect.engine.opening import open_session
from recollect.engine.searching import CONTEXT_LIMIT
from recollect.engine.session import Command, Session
from recollect.lifetime import Lifetime
from recollect.models.active import measured
from recollect.present.agent_context import FORMS
from recollect.recipes.learned import learned_by
from recollect.store.history import WriteOperation
from recollect.times import moved
from recollect.vaults.known import HOME, known_vaults

if TYPE_CHECKING:
    from recollect.auth.capabilities import Caller
    from recollect.engine.backups import Backup
    from recollect.engine.browsing import Overview, Timeline
    from recollect.engine.capture import AgentSession, UserTurn
    from recollect.engine.comparison import DuplicateGroup
    from recollect.engine.history import ActivityPage, ActivityPlace, Agree, Undone
    from recollect.engine.importing import Imported
    from recollect.engine.lifecycle import PolicyOutcome
    from recollect.engine.reading import FilePassages, Retrieved
    from recollect.engine.review import Review, ReviewItem
    from recollect.engine.upkeep import ConfiguredSetting, KnownPlaces
    from recollect.errors import RecollectError
    from recollect.folders.chunk_writing import Synced
    from recollect.folders.mirroring import Mirrored
    from recollect.folders.scan import Scan
    from recollect.ingest.draft import Draft
    from recollect.ingest.jsonl import Line, RawLine
    from recollect.ingest.saving import Saved, SimilarMemory
    from recollect.models.active import ActiveModels
    from recollect.present.agent_context import Form
    from recollect.recipes.base import Recipe
    from recollect.recipes.learned import Learned
    from recollect.settings import Settings
    from recollect.store.base import Coverage, Dates, Facets, FeedbackEvent, Stored
    from recollect.store.folders import Folder
    from recollect.store.history import Version
    from recollect.store.sqlite.snapshot import Progress
    from recollect.store.trash import Trashed, TrashPlace
    from recollect.store.vault import Finding
    from recollect.types import Chain, Context, Filter, Memory, Place, Response, Search, Use
    from recollect.vaults.known import FoundMemory

P = ParamSpec("P")
Answer = TypeVar("Answer")
Method = Callable[Concatenate[Any, P], Answer]
REVIEW_LIMIT = 20  # items that want a decision


def operation(
    *needs: str, anywhere: bool = False, retry: bool = False
) -> Callable[[Method[P, Answer]], Method[P, Answer]]:
    """Declare an operation of `Recollect`: check that its caller has these capabilities before
    anything of it runs.

    `anywhere`: it is enough to be allowed to use one of the vaults that a search spans; the method
    uses no other. `retry`: it only reads, or writes once and at its end, so it is repeated when the
    connection to a database is lost.
    """

    def declared(method: Method[P, Answer]) -> Method[P, Answer]:
        @wraps(method)
        def call(self: Any, /, *args: P.args, **named: P.kwargs) -> Answer:
            session: Session = self.session
            session.require(*needs, action=method.__name__, anywhere=anywhere)
            if retry:
                return session.store.database.retrying(partial(method, self, *args, **named))
            return method(self, *args, **named)

        call.needs = frozenset(needs)  # type: ignore[attr-defined]
        return call

    return declared


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
        lifetime: Lifetime = Lifetime.LIBRARY,
        passphrase: str | None = None,
        at_rest: bool = False,
        on_idle_lock: Callable[[], None] = lambda: None,
        damaged: bool = False,
        interface: str = "library",
        client: str = "",
    ) -> None:
        """Open the vault.

        `lifetime`: how long this process will use the vault. `passphrase` opens a locked vault;
        without it the settings say where to find one, or the terminal is asked. `on_idle_lock` is
        called when a server has closed a locked vault that nobody used for a while; `at_rest`
        starts in that state: the first call opens the vault, and the terminal is not asked.
        `damaged`: open the vault whatever state it is in, to repair or to salvage it. `interface`
        and `client`: through what and with which program memories are changed; history tells.
        """
        self._enter(
            open_session(
                path,
                home,
                settings,
                environment,
                clock,
                lifetime=lifetime,
                passphrase=passphrase,
                at_rest=at_rest,
                on_idle_lock=on_idle_lock,
                damaged=damaged,
                interface=interface,
                client=client,
            )
        )

    def _enter(self, opened: Session) -> None:
        self.session = opened
        self.home, self.path, self.settings = opened.home, opened.path, opened.settings
        self.recipes = opened.recipes
        # In a file or in a database: who asks for more than `VaultStore` knows which.
        self.store: Any = opened.store
        self.audit, self.caller = opened.audit, opened.caller

    def __enter__(self) -> Recollect:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def acting_as(
        self,
        caller: Caller,
        interface: str | None = None,
        client: str = "",
        step: Callable[[str], None] | None = None,
    ) -> Recollect:
        """The same vault, store and models for another caller, who may do no more than this one.
        `interface` and `client`: through what and with which program they call, for history.
        `step`: told what is done next in long work, and may raise Cancelled."""
        return self._view(
            caller=caller.within(self.caller),
            interface=interface or self.session.interface,
            client=client,
            step=step or self.session.step,
        )

    def _view(self, **changes: object) -> Recollect:
        """The same vault by a session that differs; it has nothing to close."""
        view = object.__new__(Recollect)
        view._enter(replace(self.session, closing=(), **changes))
        return view

    def require(self, *capabilities: str, action: str, anywhere: bool = False) -> None:
        """Forbidden, unless the caller may do all that in this vault, or `anywhere` in one of those
        that a search spans; a refusal is noted."""
        self.session.require(*capabilities, action=action, anywhere=anywhere)

    def may(self, *capabilities: str, anywhere: bool = False) -> bool:
        """Whether `require` would let the caller pass; nothing is noted."""
        return self.session.refusal(capabilities, anywhere=anywhere) is None

    def close(self) -> None:
        """Close the vault. Everything acknowledged is on the disk already. On what `acting_as`
        returned it does nothing: others use the vault, too."""
        self.session.close()

    def now(self) -> datetime:
        return self.session.clock()

    @property
    def models(self) -> ActiveModels:
        """The models that embed and rerank; others can be put in their place."""
        return self.session.models

    @models.setter
    def models(self, models: ActiveModels) -> None:
        self.session = replace(self.session, models=models)
        self.session.background.embedder = models.embedder

    @property
    @operation()
    def read_only(self) -> bool:
        """Whether the vault can be searched but not written."""
        return self.session.store.database.frozen

    # Writing

    @operation(WRITE, retry=True)
    def save(self, /, **fields: object) -> Memory:
        """Save one memory, or update the one that it repeats. It is on the disk when this returns.
        `supersedes`: the ids of those whose place it takes."""
        return writing.save(self.session, **fields)

    @operation(WRITE, retry=True)
    def save_all(self, drafts: Sequence[Draft], *, redact: bool = True) -> list[Saved]:
        """Save these memories, all or none, and embed them, at once or in the background.

        A draft without an id that repeats a memory of its project updates that memory. A project
        that is there in another case, or with other blanks, is used as it is spelled there. What
        looks like a secret is replaced first; without `redact` it is kept.
        """
        return writing.save_all(self.session, drafts, redact=redact)

    @operation(WRITE, retry=True)
    def similar(self, memory: Memory, *, wait: bool = False) -> list[SimilarMemory]:
        """The memories of the same project and space that a saved one is similar to: what it seems
        to replace, then what says the same, then what is about the same thing.

        One look at the vectors, or into the index of words where its own vector is not made yet;
        `wait` waits for that. Nothing for a caller who may not read. A failure here is no failure
        of the save: it only leaves memories out.
        """
        return comparison.similar(self.session, memory, wait=wait)

    @operation(WRITE)
    def import_lines(
        self,
        lines: Iterable[RawLine | Line],
        *,
        strict: bool = False,
        redact: bool = True,
        dry_run: bool = False,
        progress: Callable[[int], None] = lambda size: None,
    ) -> Imported:
        """Save the memories and the feedback of these lines. Bad lines are reported, and the others
        are saved. What is there already, feedback too, is not added again.

        `strict`: with one bad line nothing is saved. `redact` as for `save_all`. `dry_run`: say
        what would be done, and do nothing.
        """
        from recollect.engine import importing  # noqa: PLC0415  start-up time

        return importing.import_lines(
            self.session, lines, strict=strict, redact=redact, dry_run=dry_run, progress=progress
        )

    @operation(WRITE, retry=True)
    def edit(self, id: str, /, **changes: Any) -> Memory:
        """Change fields of one memory as `edit_all` does, and return it."""
        [saved] = writing.edit_all(self.session, [id], **changes)
        return saved.memory

    @operation(WRITE, retry=True)
    def edited(self, id: str, /, **changes: Any) -> Saved:
        """Change fields of one memory as `edit_all` does, and return what was changed."""
        [saved] = writing.edit_all(self.session, [id], **changes)
        return saved

    @operation(WRITE, retry=True)
    def edit_all(
        self,
        ids: Sequence[str],
        /,
        *,
        add_tags: Sequence[str] = (),
        remove_tags: Sequence[str] = (),
        append: str | None = None,
        section: str | None = None,
        if_revision: str | None = None,
        redact: bool = True,
        keep_age: bool = False,
        **changes: object,
    ) -> list[Saved]:
        """Change fields of memories, of all or none; None puts a field back to its default.
        `append` adds a paragraph to the text; `section` is the heading below which `text` is put,
        in the place of what is there. With `if_revision` (see `memory_json.revision`) only if they
        are still as they were then. `redact` as for `save_all`. `keep_age` leaves `updated_at` as
        it is."""
        return writing.edit_all(
            self.session,
            ids,
            add_tags=add_tags,
            remove_tags=remove_tags,
            append=append,
            section=section,
            if_revision=if_revision,
            redact=redact,
            keep_age=keep_age,
            **changes,
        )

    @operation(WRITE, retry=True)
    def pin(self, ids: Sequence[str]) -> list[Memory]:
        """Make memories core, the most trusted tier. Their age stays as it is."""
        return writing.pin(self.session, ids)

    @operation(WRITE, retry=True)
    def unpin(self, ids: Sequence[str]) -> list[Memory]:
        """Put core memories back into the tier that they have without it: file, or capture. Their
        age stays as it is."""
        return writing.unpin(self.session, ids)

    @operation(WRITE, retry=True)
    def tag(
        self, ids: Sequence[str], *, add: Sequence[str] = (), remove: Sequence[str] = ()
    ) -> list[Memory]:
        """Add tags to memories, and remove others. Their age stays as it is."""
        return writing.tag(self.session, ids, add=add, remove=remove)

    @operation(WRITE, retry=True)
    def move(
        self, ids: Sequence[str], *, project: str | None = None, space: str | None = None
    ) -> list[Memory]:
        """Move memories to a project, or to a space; '' is none. Their age stays as it is."""
        return writing.move(self.session, ids, project=project, space=space)

    @operation(DELETE, retry=True)
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
        writing.forget(self.session, ids, undo=undo, purge=purge, if_revision=if_revision)

    @operation(WRITE, retry=True)
    def supersede(self, old: str, new: str) -> Memory:
        """Put the memory `new` in the place of the old one: a link from the old one, which is valid
        until now. Both stay, and keep their age. Returns the old one."""
        [after] = writing.supersede_all(self.session, [old], new)
        return after

    @operation(WRITE, DELETE)
    def merge(self, ids: Sequence[str], *, into: str | None = None) -> Memory:
        """Make one memory of several: the first, or `into`, gets what the others say beside it, and
        the others are forgotten. `show` answers their ids with it. Returns the merged memory."""
        return lifecycle.merge(self.session, ids, into=into)

    @operation(SEARCH, DELETE, retry=True)
    def trash(
        self,
        query: str = "",
        filter: Filter = EVERYTHING,
        limit: int = 20,
        after: TrashPlace | None = None,
    ) -> list[Trashed]:
        """What was forgotten, the last first, by whom and why; with a query what answers it, the
        best first. It is searched by its words: a forgotten memory has no vector."""
        return lifecycle.trash(self.session, query, filter, limit, after)

    @operation(SEARCH, DELETE, retry=True)
    def selected_in_trash(self, *, query: str = "", filter: Filter = EVERYTHING) -> list[str]:
        """The ids of what is in the trash, as `selected` has those of live memories."""
        return lifecycle.selected_in_trash(self.session, query=query, filter=filter)

    @operation(DELETE, retry=True)
    def restore(self, ids: Sequence[str]) -> list[Memory]:
        """Bring forgotten memories back, all or none."""
        writing.forget(self.session, ids, undo=True)
        found = self.session.store.memories.get(ids)
        return [self.session.shown(found[id]) for id in dict.fromkeys(ids) if id in found]

    @operation(DELETE)
    def empty_trash(self, *, before: datetime | None = None, automatic: bool = False) -> int:
        """Purge what was forgotten, or what was forgotten before that time; returns how many."""
        return lifecycle.empty_trash(self.session, before=before, automatic=automatic)

    @operation(WRITE, retry=True)
    def undo(
        self,
        id: str | None = None,
        *,
        to: int | None = None,
        if_version: int | None = None,
        operation: int | None = None,
        agree: Agree | None = None,
    ) -> Undone:
        """Take back the last change that this caller asked for, or the one of that `operation`;
        with `id` the last change of that memory, or all since the version `to`. With `if_version`
        only if that is still the newest. Raise Changed where a memory was changed since."""
        return history.undo(
            self.session, id, to=to, if_version=if_version, operation=operation, agree=agree
        )

    @operation(WRITE, retry=True)
    def redo(self, *, agree: Agree | None = None) -> Undone:
        """Do again what this caller's last undo took back; history names it as it did the first
        time. Raise Changed where a memory was changed since."""
        return history.redo(self.session, agree=agree)

    @operation(WRITE, retry=True)
    def feedback(
        self, query: str, id: str, *, accept: bool | None = None, undo: bool = False
    ) -> tuple[int, int]:
        """Say whether a result was right, or take back what was said; returns how many results are
        accepted and dismissed now. It is on the disk when this returns.

        The same again changes nothing, and the opposite replaces what was said. `undo` with
        `accept` takes back this and nothing else.
        """
        return feedback.feedback(self.session, query, id, accept=accept, undo=undo)

    @operation(WRITE, retry=True)
    def unlearn(self) -> None:
        """Put every learned weight back to what is declared. Only feedback given from now on is
        learned from. What was said of results stays."""
        self.session.store.feedback.unlearn()
        self.session.wrote("unlearn")

    @operation(WRITE, SEARCH)
    def publish(self, ids: Sequence[str], to: str) -> list[Memory]:
        """Copy memories of one's own vault into a collection, or bring the copies up to date."""
        return writing.publish(self.session, ids, to)

    @operation(DELETE)
    def unpublish(self, ids: Sequence[str], collection: str) -> None:
        """Take memories out of a collection; those of one's own stay."""
        writing.unpublish(self.session, ids, collection)

    # Searching

    @operation(SEARCH, anywhere=True, retry=True)
    def search(self, search: Search | str, /, **fields: Any) -> Response:
        """Search. `fields` are those of `Search` and of `Filter` by name: `limit=5`,
        `project="harbor"`, `tags=("a",)`."""
        return searching.search(self.session, search, **fields)

    @operation(SEARCH, anywhere=True, retry=True)
    def deferral(self, query: str, recipe: str | None = None) -> dict[str, object]:
        """The changes with which a search for this query waits for no reranker; empty where none
        would be asked anyway."""
        if self.session.settings.rerank.provider == "none":
            return {}
        return self.session.recipe(recipe).deferral(query)

    @operation(SEARCH, retry=True)
    def run_recipe(self, recipe: Recipe, search: Search | str, /, **fields: Any) -> Response:
        """Search this vault alone, with a recipe that has no name."""
        return searching.run_recipe(self.session, recipe, search, **fields)

    @operation(SEARCH, retry=True)
    def context(
        self,
        query: str = "",
        *,
        limit: int = CONTEXT_LIMIT,
        max_tokens: int | None = None,
        filter: Filter = EVERYTHING,
        semantic: str | None = None,
        topup_recent: bool | None = None,
        forms: Sequence[Form] = FORMS,
        as_of: datetime | None = None,
    ) -> Context:
        """What an agent should know when it starts: what is pinned, then what the question finds,
        then the newest, of which files are none. Sessions are in it only where `filter` asks for
        that kind. `max_tokens` bounds the whole answer in each of `forms`. With `as_of`, what it
        should have known then. Source: the `echovault` recipe, "Context"."""
        return searching.context(
            self.session,
            query,
            limit=limit,
            max_tokens=max_tokens,
            filter=filter,
            semantic=semantic,
            topup_recent=topup_recent,
            forms=forms,
            as_of=as_of,
        )

    @operation(SEARCH, retry=True)
    def related(self, id: str, limit: int | None = None) -> Response:
        """Other memories about what this one is about, best first."""
        return searching.related(self.session, id, limit)

    @operation(SEARCH, anywhere=True, retry=True)
    def show(
        self, ids: Sequence[str], *, federate: bool = True, as_of: datetime | None = None
    ) -> list[Memory]:
        """Whole memories, in the order asked for; without `federate` from no other vault, with
        `as_of` as they were then. What was merged into another memory is answered with that one."""
        return reading.show(self.session, ids, federate=federate, as_of=as_of)

    @operation(SEARCH, retry=True)
    def chain(self, id: str) -> Chain:
        """What a memory of this vault replaces, by links, and what replaced it."""
        return reading.chain(self.session, id)

    @operation(SEARCH, anywhere=True, retry=True)
    def located(
        self,
        ids: Sequence[str],
        *,
        federate: bool = True,
        as_of: datetime | None = None,
        opened: bool = True,
    ) -> list[FoundMemory]:
        """Return memories by id, each with the name of its vault, what it replaces and what
        replaced it. `opened`: count this as opened by the user."""
        return reading.located(self.session, ids, federate=federate, as_of=as_of, opened=opened)

    @operation(SEARCH, anywhere=True, retry=True)
    def retrieve(self, ids: Sequence[str], *, as_of: datetime | None = None) -> Retrieved:
        """The memories of these ids, as `located` has them, and those ids that name none. NotFound
        where none of them names one."""
        return reading.retrieve(self.session, ids, as_of=as_of)

    @operation(SEARCH, anywhere=True, retry=True)
    def looked_up(self, ids: Sequence[str], *, as_of: datetime | None = None) -> list[Memory]:
        """Return whole memories as `show` does, without counting them as opened by the user."""
        return reading.looked_up(self.session, ids, as_of=as_of)

    @operation(SEARCH, retry=True)
    def in_file(self, memory: Memory) -> FilePassages | None:
        """The surroundings of a part of a file; None for what is no part of one."""
        return reading.in_file(self.session, memory)

    @operation(SEARCH, retry=True)
    def mentioned(self, names: Sequence[str], *, beside: str = "") -> dict[str, str]:
        """The memories that these names in a text lead to: by their ids, or the first part of a
        file by its path, whole, below its folder, or seen from the file at `beside`."""
        return reading.mentioned(self.session, names, beside=beside)

    @operation(SEARCH, anywhere=True)
    def recipe(self, name: str | None = None) -> Recipe:
        """The named recipe, or the one the settings make the default."""
        return self.session.recipe(name)

    # Browsing

    @operation(SEARCH, retry=True)
    def timeline(
        self, around: str | datetime, *, limit: int = browsing.LIMIT, filter: Filter = EVERYTHING
    ) -> Timeline:
        """What was saved and changed around a memory, by its id, or around a moment: at most
        `limit` before it and as many after it. A text that is no id is a time: 2026-03-01,
        yesterday, 7d."""
        return browsing.timeline(self.session, around, limit=limit, filter=filter)

    @operation(SEARCH, retry=True)
    def history(self, id: str) -> list[Version]:
        """The versions of a memory, newest first. Those of a forgotten one are for callers who may
        bring it back."""
        return history.history(self.session, id)

    @operation(SEARCH, retry=True)
    def history_begins(self) -> datetime | None:
        """Return from when on it is known what memories were; None in a vault without any write."""
        return self.session.store.history.begins()

    @operation(SEARCH, retry=True)
    def selected(self, *, query: str = "", filter: Filter = EVERYTHING) -> list[str]:
        """The ids of the memories that pass the filter and hold every keyword of the query, in any
        form, in browsing order. A search would also return what is only like it, so it is not
        asked."""
        chosen = filters.selection(self.session, query, filter)
        found = self.session.store.memories.browse(chosen, LARGEST_LIMIT)
        return [memory.id for memory in found]

    @operation(SEARCH, retry=True)
    def facets(self, filter: Filter = EVERYTHING, *, as_of: datetime | None = None) -> Facets:
        """Memories counted by project, kind, source and tag, every value, most first; and by
        age."""
        session = self.session.at(as_of)
        return session.held().memories.facets(read_filter(session, filter), session.clock())

    @operation(SEARCH, retry=True)
    def overview(self, project: str | None, limit: int) -> Overview:
        """The projects with their counts, most first, and the newest decisions that hold: those of
        the project, or of all where it has none. Nothing of a locked vault."""
        return browsing.overview(self.session, project, limit)

    @operation(SEARCH, retry=True)
    def unknown_values(self, filter: Filter) -> list[str]:
        """Return a sentence for each kind, project and tag of the filter that no memory has, with
        those that may be meant."""
        return filters.unknown_values(self.session, filter)

    @operation(SEARCH, retry=True)
    def dates(self, filter: Filter = EVERYTHING, *, as_of: datetime | None = None) -> Dates:
        """The days on which memories were made, and on which they expire, counted."""
        session = self.session.at(as_of)
        return session.held().memories.dates(read_filter(session, filter))

    @operation(SEARCH, retry=True)
    def expiring(
        self, filter: Filter = EVERYTHING, limit: int = 20, *, within: timedelta
    ) -> Sequence[Memory]:
        """Memories that expire within that time from now, soonest first."""
        now = self.session.clock()
        until = moved(now, within)
        return browsing.expiring(self.session, filter, limit, since=now, until=until)

    @operation(SEARCH, retry=True)
    def expired(self, filter: Filter = EVERYTHING, limit: int = 20) -> Sequence[Memory]:
        """Memories that have expired, latest first."""
        now = self.session.clock()
        return browsing.expiring(self.session, filter, limit, since=None, until=now)

    @operation(SEARCH, retry=True)
    def ending(
        self, filter: Filter = EVERYTHING, limit: int = 20, *, since: datetime, until: datetime
    ) -> Sequence[Memory]:
        """Memories whose validity ends between these moments, the next to end first."""
        return browsing.expiring(self.session, filter, limit, since=since, until=until)

    @operation(SEARCH, retry=True)
    def usage(self, ids: Sequence[str]) -> dict[str, Use]:
        """How often each of these memories was returned, opened and accepted; those that never
        were, or are in another vault, are left out."""
        session = self.session
        return session.store.usage.of(named_ids(ids)) if session.settings.usage.keep else {}

    @operation(SEARCH, retry=True)
    def completed_ids(self, starts: Sequence[str], *, forgotten: bool = False) -> list[str]:
        """Each as the one id of this vault that begins so; UserError where several do. One that is
        an id, or begins none, stays. Live memories come first, with `forgotten` those in the
        trash."""
        return browsing.completed_ids(self.session, starts, forgotten=forgotten)

    @operation(SEARCH)
    def duplicates(
        self, *, progress: Callable[[int], None] = lambda done: None
    ) -> list[DuplicateGroup]:
        """Groups of memories that say the same, the surest first."""
        return list(comparison.compared(self.session, progress).duplicates)

    # Watching

    @operation(SEARCH)
    def pulse(self) -> tuple[int, int]:
        """Two numbers of which one changes when somebody else writes or reads. Asking is no use of
        the vault, and opens none that is at rest: then the first is -1. It counts for the thread
        that asks."""
        resting = self.session.store.database.at_rest
        return -1 if resting else self.session.store.changes(), self.session.audit.reads()

    @operation(SEARCH)
    def activity(
        self,
        *,
        limit: int = 50,
        before: ActivityPlace | None = None,
        after: ActivityPlace | None = None,
        project: str = "",
        by: str = "",
    ) -> ActivityPage:
        """What was done before a place or after it, the newest first: everything, or what concerns
        a project, or what was done `by` a client, an interface or a user of that name."""
        return history.activity(
            self.session, limit=limit, before=before, after=after, project=project, by=by
        )

    @operation(SEARCH)
    def active_clients(self) -> list[str]:
        """Who read or wrote lately: clients, or the interface where none said its name."""
        return history.active_clients(self.session)

    # Review

    @operation(WRITE)
    def capture(
        self, turns: Iterable[UserTurn], said_in: AgentSession, *, late: bool = False
    ) -> int:
        """Keep what is said outright in these turns; returns how many candidates there are. With
        `late` a process that stays does not wait for the write; what is lost of it, the transcript
        has."""
        from recollect.engine import capture  # noqa: PLC0415  start-up time

        return capture.capture(self.session, turns, said_in, late=late)

    @operation(SEARCH, retry=True)
    def review(self, *, limit: int = REVIEW_LIMIT, kind: str | None = None) -> Review:
        """What wants a decision, the most urgent first; only one kind where that is named."""
        from recollect.engine import review  # noqa: PLC0415  start-up time

        return review.review(self.session, limit=limit, kind=kind)

    @operation(SEARCH, DELETE)
    def decide(self, item: str, decision: str, *, changes: Mapping[str, Any] | None = None) -> str:
        """Carry a decision out; returns what was done, in a sentence. `changes`: for `edit`, the
        fields of the memory that is named by `id` among them, or of the item's last one. Without
        them, a secret is replaced."""
        from recollect.engine import review  # noqa: PLC0415  start-up time

        return review.decide(self.session, item, decision, changes=changes)

    @operation(SEARCH, DELETE)
    def settle(
        self, item: ReviewItem, decision: str, *, changes: Mapping[str, Any] | None = None
    ) -> str:
        """Carry out a decision on an item that `review` returned; see `decide`."""
        from recollect.engine import review  # noqa: PLC0415  start-up time

        return review.settle(self.session, item, decision, changes=changes)

    @operation(SEARCH, WRITE, retry=True)
    def propose(self, item: str, decision: str) -> str:
        """Note what an agent would do, for a person to decide; returns that in a sentence."""
        from recollect.engine import review  # noqa: PLC0415  start-up time

        return review.propose(self.session, item, decision)

    @operation(SEARCH, WRITE)
    def decide_or_propose(
        self, item: str, decision: str, *, changes: Mapping[str, Any] | None = None
    ) -> str:
        """What an agent may do: propose, or where the settings allow it decide."""
        from recollect.engine import review  # noqa: PLC0415  start-up time

        return review.decide_or_propose(self.session, item, decision, changes=changes)

    # What people said

    @operation(SEARCH, retry=True)
    def opinions(self) -> tuple[int, int]:
        """How many results are accepted and dismissed now."""
        return self.session.store.feedback.standing()

    @operation(SEARCH, retry=True)
    def judged(self, query: str, ids: Sequence[str]) -> dict[str, bool]:
        """Whether each of these memories is accepted for this query; those that nothing was said of
        are left out."""
        return feedback.judged(self.session, query, ids)

    @operation(SEARCH, retry=True)
    def judgements(self) -> dict[str, dict[str, bool]]:
        """The questions that have an accepted result, the newest first: what stands of which
        memory."""
        return feedback.judgements(self.session)

    @operation(SEARCH, retry=True)
    def learned(self, recipe: str | None = None) -> Learned:
        """What feedback made of the weights of a recipe, and the evidence for it."""
        made = self.session.models.embeds()
        return learned_by(self.session.recipe(recipe), self.session.store.feedback, vectors=made)

    @operation(SEARCH)
    def export(self) -> Iterator[Memory]:
        """Every memory that is live when this begins, in browsing order, as it is when its turn
        comes; one that is forgotten meanwhile is left out."""
        return browsing.export(self.session)

    @operation(SEARCH, DELETE)
    def export_all(self) -> Iterator[Stored | FeedbackEvent]:
        """Every memory, the forgotten ones after the others, then all feedback."""
        return browsing.export_all(self.session)

    @operation(SEARCH, DELETE)
    def export_salvaged(self) -> tuple[Iterator[Stored | FeedbackEvent], list[str]]:
        """Everything that can be read of a damaged vault, as `export_all` gives it, and sentences
        about what cannot. A memory that is not what was saved counts as forgotten."""
        return browsing.export_salvaged(self.session)

    # Folders

    # A path leads to whatever the server's user may read: so they need every capability.

    @operation(*CAPABILITIES)
    def add_folder(
        self,
        path: str | os.PathLike[str],
        *,
        project: str | None = None,
        follow: bool | None = None,
        redact: bool = True,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> Synced:
        """Make memories of a folder's files, or bring them up to date. `follow`: whether its
        changes are followed from now on; None leaves that as it is."""
        return folders.add_folder(
            self.session, path, project=project, follow=follow, redact=redact, progress=progress
        )

    @operation(*CAPABILITIES)
    def add_instructions(
        self,
        path: str | os.PathLike[str],
        *,
        project: str | None = None,
        redact: bool = True,
        dry_run: bool = False,
    ) -> tuple[list[Path], Synced]:
        """Make core memories of a project's files of instructions (CLAUDE.md, AGENTS.md, rules of
        Cursor and others), and follow them from now on. Returns the files and folders, and what was
        done; with `dry_run` nothing is."""
        return folders.add_instructions(
            self.session, path, project=project, redact=redact, dry_run=dry_run
        )

    @operation(*CAPABILITIES)
    def add_transcripts(
        self,
        path: str | os.PathLike[str],
        client: str,
        *,
        redact: bool = True,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> Synced:
        """Make memories of the sessions that a coding agent keeps in a folder, turn by turn, and
        follow them from now on. Each has the project of its working directory."""
        return folders.add_transcripts(self.session, path, client, redact=redact, progress=progress)

    @operation(*CAPABILITIES)
    def sync_folder(
        self,
        folder: Folder,
        scan: Scan | None = None,
        *,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> Synced:
        """Bring the memories of a folder up to date with its files, or with those of a `scan`."""
        return folders.sync_folder(self.session, folder, scan, progress=progress)

    @operation(SEARCH, retry=True)
    def folders(self) -> Sequence[Folder]:
        """The folders whose files are memories."""
        return self.session.store.folders.all()

    @operation(DELETE, ADMIN)
    def remove_folder(self, path: str | os.PathLike[str], *, dry_run: bool = False) -> int:
        """Forget the memories of a folder's files, and the folder; the files are not touched.
        Returns how many memories that were; with `dry_run`, how many there are, and nothing is
        done."""
        return folders.remove_folder(self.session, path, dry_run=dry_run)

    @operation(*CAPABILITIES)
    def follow_folders(
        self,
        stop: threading.Event,
        tell: Callable[[str], None] = lambda sentence: None,
        ready: Callable[[], None] = lambda: None,
    ) -> None:
        """Index changes of the followed folders as they happen, until stopped. Vectors are made in
        the background."""
        folders.follow_folders(self.session, stop, tell, ready)

    @operation(*CAPABILITIES)
    def mirror(
        self, folder: str | os.PathLike[str] | None = None, *, dry_run: bool = False
    ) -> Mirrored:
        """Bring the vault and a folder of Markdown files together, once; without a name the folder
        of the settings. `dry_run` says what would be done, and does nothing."""
        return folders.mirror(self.session, self._mirroring, folder, dry_run=dry_run)

    @operation(*CAPABILITIES)
    def follow_mirror(
        self,
        folder: str | os.PathLike[str] | None,
        stop: threading.Event,
        tell: Callable[[Mirrored | RecollectError], None],
    ) -> None:
        """Mirror whenever the folder or the vault changes, until stopped. `tell` is called with
        what was done, and once with the error that prevents it."""
        following = partial(self._mirroring, automatic=True)
        folders.follow_mirror(self.session, following, folder, stop, tell)

    def _mirroring(self, *, automatic: bool = False) -> Recollect:
        """The same vault, whose next writes are one run of the mirror."""
        interface = "folder" if automatic else self.session.interface

        return self._view(command=Command("mirror", WriteOperation(), interface, automatic))

    # Upkeep

    @operation(ADMIN)
    def reindex(
        self, *, everything: bool = False, progress: Callable[[int], None] = lambda done: None
    ) -> int:
        """Rebuild the keyword indexes, then make every missing vector of the settings' model, as
        `switch_model` does. `everything` makes the vectors anew."""
        return upkeep.reindex(self.session, everything=everything, progress=progress)

    @operation(ADMIN)
    def switch_model(
        self,
        models: ActiveModels,
        *,
        switched: Callable[[], object] = lambda: None,
        progress: Callable[[int], None] = lambda done: None,
    ) -> int:
        """Make every missing vector of the model that these name, and return how many. Vectors of
        the vault's former model serve until the new ones are all there. Then `switched` is called,
        and the former ones are removed. Interrupted, it goes on where it stopped."""
        return upkeep.switch_model(self.session, models, switched=switched, progress=progress)

    @operation(SEARCH)
    def model_notes(self) -> list[str]:
        """What a user should know of the embedding model and this vault; nothing where all is
        well."""
        return upkeep.model_notes(self.session)

    @operation(SEARCH)
    def language_note(self, *, compared: bool = False) -> str | None:
        """What to do where much of a vault is in languages that the English model cannot read; None
        where it can, or where another model was chosen. Questions of one's own decide where there
        are some, unless they were asked (`compared`) and could not."""
        return upkeep.language_note(self.session, compared=compared)

    @operation(ADMIN)
    def doctor(
        self,
        *,
        fix: bool = False,
        quick: bool = False,
        progress: Callable[[int], None] = lambda done: None,
    ) -> Sequence[Finding]:
        """Check the memories and everything that is derived from them; `fix` repairs what is wrong,
        and says what that cost in the notes of the findings. `quick` checks a sample, and repairs
        nothing. `progress` is called with the number of memories that were checked since."""
        return upkeep.doctor(self.session, fix=fix, quick=quick, progress=progress)

    @operation(ADMIN)
    def configuration(self) -> Sequence[Finding]:
        """Load what a search uses by the settings: the recipes, those that are the defaults, and
        the models, which read a word each; a remote one is asked, too."""
        return upkeep.configuration(self.session)

    @operation(ADMIN)
    def backup(
        self,
        file: str | os.PathLike[str] | None = None,
        *,
        keep: int | None = None,
        progress: Progress = lambda copied: None,
    ) -> Backup:
        """Copy the vault to a file, mode 0600, under the same key, while others write to it. The
        file appears when the copy is verified: SQLite's check, the number of rows, each memory.

        `file` may be a folder; without it, it is `backups` beside the vault. There the name has the
        date and the time, and `keep` removes all but that many of these backups of this vault.
        """
        from recollect.engine import backups  # noqa: PLC0415  start-up time

        return backups.backup(self.session, file, keep=keep, progress=progress)

    @operation(WRITE, DELETE, ADMIN)
    def tidy(
        self, *, dry_run: bool = False, yes: bool = False, automatic: bool = False
    ) -> list[PolicyOutcome]:
        """Purge what is too long in the trash, remove what is too old in history, and apply every
        policy of the settings, each in one write; `dry_run` only says what each would do. One that
        would touch more than half of the vault is applied only with `yes`."""
        return lifecycle.tidy(self.session, dry_run=dry_run, yes=yes, automatic=automatic)

    @operation(WRITE, DELETE, ADMIN)
    def tidy_daily(self) -> list[PolicyOutcome]:
        """Do what `tidy` does, at most once a day for a vault, whichever server asks."""
        return lifecycle.tidy_daily(self.session)

    @operation(ADMIN)
    def measure(self) -> dict[str, float]:
        """How many milliseconds it takes here to load and use the active models."""
        return measured(self.session.models)

    @operation(ADMIN)
    def unlock(self, passphrase: str) -> None:
        """Open a locked vault with its passphrase, which is kept nowhere; Locked where it is wrong.
        The key is held until the idle lock, or until the process ends."""
        upkeep.unlock(self.session, passphrase)

    @operation(ADMIN)
    def configured(self) -> list[ConfiguredSetting]:
        """Every setting as this process has it."""
        return upkeep.configured(self.session)

    @operation(ADMIN)
    def known_places(self) -> KnownPlaces:
        """Where memories are searched for."""
        session = self.session
        vaults = known_vaults(session.settings, session.home, session.path, None)
        return upkeep.KnownPlaces(vaults, session.settings.collections)

    @operation(ADMIN)
    def warm_up(self) -> None:
        """Load the models and the vectors, so that the next search waits for neither. From then on
        a server makes the vectors that are missing, and merges what others left. What
        cannot be loaded is reported by the first search that needs it. A remote model is not asked:
        each question may cost something."""
        upkeep.warm_up(self.session)

    @operation(ADMIN)
    def embed_now(self, progress: Callable[[int], None] = lambda done: None) -> str | None:
        """Embed what has no vector yet; returns the reason when the model failed, else None."""
        return upkeep.embed_now(self.session, progress)

    @operation(ADMIN)
    def dependencies(self) -> dict[str, str | None]:
        """What is wrong with each thing that a search needs of the vault; None: nothing. To ask is
        not a use of the vault: one that is locked and idle stays closed."""
        return upkeep.dependencies(self.session)

    @operation(SEARCH)
    def coverage(self) -> Coverage:
        """How many memories there are, and how many have a vector of the active model."""
        return upkeep.coverage(self.session)

    @operation(SEARCH)
    def waiting(self, models: ActiveModels | None = None) -> int:
        """How many live memories have no vector of the settings' model, or of the one that `models`
        name; 0 without a model."""
        return upkeep.waiting(self.session, models)

    @operation(SEARCH)
    def stats(self) -> dict[str, Any]:
        """What the vault holds, which models are active, and how many vectors wait."""
        return upkeep.stats(self.session)

    @operation(ADMIN)
    def save_recipe(
        self, name: str, *, extends: str, changes: Mapping[str, object], replace: bool = False
    ) -> Recipe:
        """Save changed constants as a recipe of one's own, in `recipes/NAME.toml`."""
        self.session.recipes.save(name, extends, changes, replace=replace)
        self.session.wrote("save recipe")
        return self.session.recipes.get(name)

    @operation(ADMIN)
    def remove_recipe(self, name: str) -> None:
        """Delete a recipe of one's own; not the one that the settings name for every search."""
        upkeep.remove_recipe(self.session, name)

    @operation(ADMIN)
    def rename_recipe(self, name: str, new: str) -> Recipe:
        """Give a recipe of one's own another name, under the same conditions."""
        return upkeep.rename_recipe(self.session, name, new)

    @operation(ADMIN)
    def mark(self, id: str) -> str:
        """The name of a memory in the audit log: a hash that only this vault can make."""
        return self.session.mark(id)

    @operation(SEARCH, ADMIN)
    def marked(self, marks: Collection[str]) -> dict[str, str]:
        """The ids of memories, forgotten ones included, by their names in the audit log; those that
        were purged have none."""
        return browsing.marked(self.session, marks)

    # The last one: in the class, `list` names this method from here on.

    @operation(SEARCH, retry=True)
    def list(
        self,
        filter: Filter = EVERYTHING,
        limit: int = 20,
        after: str | Place | None = None,
        *,
        newest: bool = False,
        as_of: datetime | None = None,
    ) -> list[Memory]:
        """Memories in browsing order: core, then capture, then file, the newest first in each; with
        `newest` the newest of all first. `after` goes on behind a memory, or behind the place where
        it stood; `as_of` lists what there was."""
        return browsing.browse(self.session, filter, limit, after, newest=newest, as_of=as_of)
