"""The one door: every interface saves, searches and changes memories through `Recollect`."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial, wraps
from importlib import import_module
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from msgspec.structs import replace

from recollect.auth.capabilities import ADMIN, DELETE, SEARCH, WRITE, Caller, free, needs
from recollect.engine import searching
from recollect.engine.session import Command, Session, open_session
from recollect.errors import RecollectError
from recollect.models.active import ActiveModels
from recollect.settings import Settings
from recollect.types import Filter, Memory, Place
from recollect.vaults.known import HOME

if TYPE_CHECKING:
    from recollect.engine import activity as activities
    from recollect.engine import (
        browsing,
        bulk,
        comparison,
        file_places,
        importing,
        languages,
        lifecycle,
        policies,
        retrieval,
        sharing,
        upkeep,
        writing,
    )
    from recollect.engine import capture as captures
    from recollect.engine import configured as settings_in_force
    from recollect.engine import context as agent_context
    from recollect.engine import feedback as result_feedback
    from recollect.engine import folders as file_folders
    from recollect.engine import history as past_versions
    from recollect.engine import review as reviews
    from recollect.engine import similar as similar_memories
    from recollect.engine import timeline as timelines
    from recollect.engine.backups import Backup
    from recollect.mirror.report import Mirrored

P = ParamSpec("P")
Answer = TypeVar("Answer")


class Later:
    """A room, or a function of one, that is imported when it is first called: start-up time."""

    def __init__(self, room: str, name: str = "") -> None:
        self._room, self._name = room, name

    def __getattr__(self, name: str) -> Later:
        return Later(self._room, name)

    def __call__(self, *args: Any, **named: Any) -> Any:
        return self.function(*args, **named)

    @property
    def function(self) -> Callable[..., Any]:
        function: Callable[..., Any] = getattr(
            import_module(f"recollect.engine.{self._room}"), self._name
        )
        return function


if not TYPE_CHECKING:
    browsing, bulk, importing, lifecycle, sharing, upkeep, writing = map(
        Later,
        ("browsing", "bulk", "importing", "lifecycle", "sharing", "upkeep", "writing"),
    )
    agent_context, result_feedback, file_folders = map(Later, ("context", "feedback", "folders"))
    past_versions, similar_memories, timelines = map(Later, ("history", "similar", "timeline"))
    comparison, policies, reviews = map(Later, ("comparison", "policies", "review"))
    activities, languages = map(Later, ("activity", "languages"))
    settings_in_force = Later("configured")
    captures, file_places, retrieval = map(Later, ("capture", "file_places", "retrieval"))


class LaterMethod:
    """Takes the method's place until somebody asks for it."""

    def __init__(
        self, later: Later, capabilities: tuple[str, ...], *, anywhere: bool, again: bool
    ) -> None:
        self._later, self._capabilities = later, capabilities
        self._made = partial(method, anywhere=anywhere, again=again)
        self.needs = frozenset(capabilities)

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, door: Recollect | None, owner: type) -> Any:
        made = self._made(self._later.function, *self._capabilities)
        setattr(owner, self._name, made)
        return getattr(owner if door is None else door, self._name)


def method(
    function: Callable[Concatenate[Session, P], Answer],
    *capabilities: str,
    anywhere: bool = False,
    again: bool = False,
) -> Callable[Concatenate[Recollect, P], Answer]:
    """A room's function as a method of the door. That the caller has these capabilities is checked
    before anything of it runs; see `needs`. `again`: it only reads, or writes once and at its end,
    so it is repeated where the connection to a shared database was lost."""
    if isinstance(function, Later):
        return LaterMethod(function, capabilities, anywhere=anywhere, again=again)  # type: ignore[return-value]

    @needs(*capabilities, anywhere=anywhere)
    @wraps(function)
    def called(door: Recollect, /, *args: P.args, **named: P.kwargs) -> Answer:
        if again:
            return door.session.store.database.retrying(
                lambda: function(door.session, *args, **named)
            )
        return function(door.session, *args, **named)

    return called


def repeatable(
    function: Callable[Concatenate[Session, P], Answer], *capabilities: str, anywhere: bool = False
) -> Callable[Concatenate[Recollect, P], Answer]:
    """The same for what may be done again."""
    return method(function, *capabilities, anywhere=anywhere, again=True)


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
        at_rest: bool = False,
        on_idle_lock: Callable[[], None] = lambda: None,
        damaged: bool = False,
        interface: str = "library",
        client: str = "",
    ) -> None:
        """Open the vault.

        `brief`: this process asks once or twice, so nothing is prepared for later searches.
        `lasting`: this process stays; it keeps what the reranker said, and closes a locked vault
        that nobody uses for a while. `passphrase` opens a locked vault; without it the settings
        say where to find one, or the terminal is asked. `on_idle_lock` is called when a lasting
        process has closed a locked vault; `at_rest` starts in that state: the first call opens the
        vault, and the terminal is not asked. `damaged`: open the vault whatever state it is in, to
        repair or to salvage it. `interface` and `client`: through what and with which program
        memories are changed; history tells.
        """
        self._enter(
            open_session(
                path,
                home,
                settings,
                environment,
                clock,
                brief=brief,
                lasting=lasting,
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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @free
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

    @free
    def require(self, *capabilities: str, action: str, anywhere: bool = False) -> None:
        """Forbidden, unless the caller may do all that in this vault, or `anywhere` in one of those
        that a search spans; a refusal is noted."""
        self.session.require(*capabilities, action=action, anywhere=anywhere)

    @free
    def may(self, *capabilities: str, anywhere: bool = False) -> bool:
        """Whether `require` would let the caller pass; nothing is noted."""
        return self.session.refusal(capabilities, anywhere=anywhere) is None

    @free
    def close(self) -> None:
        """Close the vault. Everything acknowledged is on the disk already. On what `acting_as`
        returned it does nothing: others use the vault, too."""
        self.session.close()

    @free
    def now(self) -> datetime:
        return self.session.clock()

    @property
    @free
    def models(self) -> ActiveModels:
        """The models that embed and rerank; others can be put in their place."""
        return self.session.models

    @models.setter
    def models(self, models: ActiveModels) -> None:
        self.session = replace(self.session, models=models)
        self.session.background.embedder = models.embedder

    @property
    @needs()
    def read_only(self) -> bool:
        """Whether the vault can be searched but not written."""
        return self.session.store.database.frozen

    # Writing

    save = repeatable(writing.save, WRITE)
    save_all = repeatable(writing.save_all, WRITE)
    similar = repeatable(similar_memories.similar, WRITE)
    import_lines = method(importing.import_lines, WRITE)
    edit = repeatable(writing.edit, WRITE)
    edited = repeatable(writing.edited, WRITE)
    edit_all = repeatable(writing.edit_all, WRITE)
    pin = repeatable(writing.pin, WRITE)
    unpin = repeatable(writing.unpin, WRITE)
    tag = repeatable(writing.tag, WRITE)
    move = repeatable(writing.move, WRITE)
    forget = repeatable(writing.forget, DELETE)
    supersede = repeatable(writing.supersede, WRITE)
    merge = method(lifecycle.merge, WRITE, DELETE)
    trash = repeatable(lifecycle.trash, SEARCH, DELETE)
    selected_in_trash = repeatable(lifecycle.selected_in_trash, SEARCH, DELETE)
    restore = repeatable(lifecycle.restore, DELETE)
    empty_trash = method(lifecycle.empty_trash, DELETE)
    undo = repeatable(past_versions.undo, WRITE)
    feedback = repeatable(result_feedback.feedback, WRITE)
    unlearn = repeatable(result_feedback.unlearn, WRITE)
    publish = method(sharing.publish, WRITE, SEARCH)
    unpublish = method(sharing.unpublish, DELETE)

    # Searching

    search = repeatable(searching.search, SEARCH, anywhere=True)
    deferral = repeatable(searching.deferral, SEARCH, anywhere=True)
    candidates = repeatable(searching.candidates, SEARCH)
    run_recipe = repeatable(searching.run_recipe, SEARCH)
    context = repeatable(agent_context.context, SEARCH)
    related = repeatable(searching.related, SEARCH)
    show = repeatable(searching.show, SEARCH, anywhere=True)
    chain = repeatable(searching.chain, SEARCH)
    located = repeatable(searching.located, SEARCH, anywhere=True)
    retrieve = repeatable(retrieval.retrieve, SEARCH, anywhere=True)
    looked_up = repeatable(searching.looked_up, SEARCH, anywhere=True)
    in_file = repeatable(file_places.in_file, SEARCH)
    mentioned = repeatable(file_places.mentioned, SEARCH)
    recipe = method(Session.recipe, SEARCH, anywhere=True)

    # Browsing

    @needs(SEARCH)
    def list(
        self,
        filter: Filter = searching.EVERYTHING,
        limit: int = 20,
        after: str | Place | None = None,
        *,
        newest: bool = False,
        as_of: datetime | None = None,
    ) -> list[Memory]:
        """Memories in browsing order: core, then capture, then file, the newest first in each;
        with `newest` the newest of all first. `after` goes on behind a memory, or behind the place
        where it stood; `as_of` lists what there was at that moment."""
        return browsing.browse(self.session, filter, limit, after, newest=newest, as_of=as_of)

    timeline = repeatable(timelines.timeline, SEARCH)
    history = repeatable(past_versions.history, SEARCH)
    selected = repeatable(bulk.selected, SEARCH)
    facets = repeatable(browsing.facets, SEARCH)
    overview = repeatable(browsing.overview, SEARCH)
    unknown_project = repeatable(browsing.unknown_project, SEARCH)
    dates = repeatable(browsing.dates, SEARCH)
    expiring = repeatable(browsing.expiring, SEARCH)
    expired = repeatable(browsing.expired, SEARCH)
    ending = repeatable(browsing.ending, SEARCH)
    usage = repeatable(browsing.usage, SEARCH)
    completed_ids = repeatable(browsing.completed_ids, SEARCH)
    duplicates = method(comparison.duplicates, SEARCH)

    # Watching

    pulse = method(activities.pulse, SEARCH)
    activity = method(activities.activity, SEARCH)
    active_clients = method(activities.active_clients, SEARCH)

    # Review

    capture = method(captures.capture, WRITE)
    review = repeatable(reviews.review, SEARCH)
    decide = method(reviews.decide, SEARCH, DELETE)
    settle = method(reviews.settle, SEARCH, DELETE)
    propose = repeatable(reviews.propose, SEARCH, WRITE)
    decide_or_propose = method(reviews.decide_or_propose, SEARCH, WRITE)

    # What people said

    opinions = repeatable(result_feedback.opinions, SEARCH)
    judged = repeatable(result_feedback.judged, SEARCH)
    judgements = repeatable(result_feedback.judgements, SEARCH)
    learned = repeatable(result_feedback.learned, SEARCH)
    export = method(browsing.export, SEARCH)
    export_all = method(browsing.export_all, SEARCH, DELETE)
    export_salvaged = method(browsing.export_salvaged, SEARCH, DELETE)

    # Folders

    add_folder = method(file_folders.add_folder, WRITE, ADMIN)
    add_instructions = method(file_folders.add_instructions, WRITE, ADMIN)
    add_transcripts = method(file_folders.add_transcripts, WRITE, ADMIN)
    sync_folder = method(file_folders.sync_folder, WRITE, ADMIN)
    folders = repeatable(file_folders.folders, SEARCH)
    remove_folder = method(file_folders.remove_folder, DELETE, ADMIN)
    follow_folders = method(file_folders.follow_folders, WRITE, ADMIN)

    @needs(SEARCH, WRITE, DELETE, ADMIN)
    def mirror(
        self, folder: str | os.PathLike[str] | None = None, *, dry_run: bool = False
    ) -> Mirrored:
        """Bring the vault and a folder of Markdown files together, once; without a name the folder
        of the settings. `dry_run` says what would be done, and does nothing."""
        return file_folders.mirror(self.session, self._mirroring, folder, dry_run=dry_run)

    @needs(SEARCH, WRITE, DELETE, ADMIN)
    def follow_mirror(
        self,
        folder: str | os.PathLike[str] | None,
        stop: threading.Event,
        tell: Callable[[Mirrored | RecollectError], None],
    ) -> None:
        """Mirror whenever the folder or the vault changes, until stopped. `tell` is called with
        what was done, and once with the error that prevents it."""
        following = partial(self._mirroring, automatic=True)
        file_folders.follow_mirror(self.session, following, folder, stop, tell)

    def _mirroring(self, *, automatic: bool = False) -> Recollect:
        """The same vault, whose next writes are one run of the mirror."""
        interface = "folder" if automatic else self.session.interface
        from recollect.store.history import WriteOperation  # noqa: PLC0415  start-up time

        return self._view(command=Command("mirror", WriteOperation(), interface, automatic))

    # Upkeep

    reindex = method(upkeep.reindex, ADMIN)
    switch_model = method(upkeep.switch_model, ADMIN)
    model_notes = method(languages.model_notes, SEARCH)
    doctor = method(upkeep.doctor, ADMIN)
    configuration = method(upkeep.configuration, ADMIN)

    @needs(ADMIN)
    def backup(
        self,
        file: str | os.PathLike[str] | None = None,
        *,
        keep: int | None = None,
        progress: Callable[[int], None] = lambda copied: None,
    ) -> Backup:
        """Copy the vault to a file, mode 0600, under the same key, while others write to it. The
        file appears when the copy is verified: SQLite's check, the number of rows, each memory.

        `file` may be a folder; without it, it is `backups` beside the vault. There the name has
        the date and the time, and `keep` removes all but that many of these backups of this vault.
        """
        from recollect.engine.backups import backup  # noqa: PLC0415  start-up time

        return backup(self.session, file, keep=keep, progress=progress)

    tidy = method(policies.tidy, WRITE, DELETE, ADMIN)
    tidy_daily = method(policies.tidy_daily, WRITE, DELETE, ADMIN)
    measure = method(upkeep.measure, ADMIN)
    unlock = method(upkeep.unlock, ADMIN)
    configured = method(settings_in_force.configured, ADMIN)
    known_places = method(settings_in_force.known_places, ADMIN)
    warm_up = method(upkeep.warm_up, ADMIN)
    embed_now = method(Session.embed_now, ADMIN)
    dependencies = method(upkeep.dependencies, ADMIN)
    coverage = method(upkeep.coverage, SEARCH)
    waiting = method(upkeep.waiting, SEARCH)
    stats = method(upkeep.stats, SEARCH)
    save_recipe = method(upkeep.save_recipe, ADMIN)
    remove_recipe = method(upkeep.remove_recipe, ADMIN)
    rename_recipe = method(upkeep.rename_recipe, ADMIN)
    mark = method(Session.mark, ADMIN)
    marked = method(browsing.marked, SEARCH, ADMIN)
