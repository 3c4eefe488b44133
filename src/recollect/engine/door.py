"""The one door: every interface saves, searches and changes memories through `Recollect`."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from recollect.auth.capabilities import (
    ADMIN,
    CAPABILITIES,
    DELETE,
    SEARCH,
    WRITE,
    Caller,
    free,
    needs,
)
from recollect.engine import rooms, searching
from recollect.engine.opening import open_session
from recollect.engine.rooms import method, repeatable
from recollect.engine.session import Command, Session
from recollect.errors import RecollectError
from recollect.lifetime import Lifetime
from recollect.models.active import ActiveModels
from recollect.settings import Settings
from recollect.vaults.known import HOME

if TYPE_CHECKING:
    from recollect.folders.mirroring import Mirrored


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

    save = repeatable(rooms.writing.save, WRITE)
    save_all = repeatable(rooms.writing.save_all, WRITE)
    similar = repeatable(rooms.similar.similar, WRITE)
    import_lines = method(rooms.importing.import_lines, WRITE)
    edit = repeatable(rooms.writing.edit, WRITE)
    edited = repeatable(rooms.writing.edited, WRITE)
    edit_all = repeatable(rooms.writing.edit_all, WRITE)
    pin = repeatable(rooms.writing.pin, WRITE)
    unpin = repeatable(rooms.writing.unpin, WRITE)
    tag = repeatable(rooms.writing.tag, WRITE)
    move = repeatable(rooms.writing.move, WRITE)
    forget = repeatable(rooms.writing.forget, DELETE)
    supersede = repeatable(rooms.writing.supersede, WRITE)
    merge = method(rooms.lifecycle.merge, WRITE, DELETE)
    trash = repeatable(rooms.lifecycle.trash, SEARCH, DELETE)
    selected_in_trash = repeatable(rooms.lifecycle.selected_in_trash, SEARCH, DELETE)
    restore = repeatable(rooms.lifecycle.restore, DELETE)
    empty_trash = method(rooms.lifecycle.empty_trash, DELETE)
    undo = repeatable(rooms.history.undo, WRITE)
    redo = repeatable(rooms.history.redo, WRITE)
    feedback = repeatable(rooms.feedback.feedback, WRITE)
    unlearn = repeatable(rooms.feedback.unlearn, WRITE)
    publish = method(rooms.sharing.publish, WRITE, SEARCH)
    unpublish = method(rooms.sharing.unpublish, DELETE)

    # Searching

    search = repeatable(searching.search, SEARCH, anywhere=True)
    deferral = repeatable(searching.deferral, SEARCH, anywhere=True)
    run_recipe = repeatable(searching.run_recipe, SEARCH)
    context = repeatable(rooms.context.context, SEARCH)
    related = repeatable(searching.related, SEARCH)
    show = repeatable(searching.show, SEARCH, anywhere=True)
    chain = repeatable(searching.chain, SEARCH)
    located = repeatable(searching.located, SEARCH, anywhere=True)
    retrieve = repeatable(rooms.retrieval.retrieve, SEARCH, anywhere=True)
    looked_up = repeatable(searching.looked_up, SEARCH, anywhere=True)
    in_file = repeatable(rooms.file_places.in_file, SEARCH)
    mentioned = repeatable(rooms.file_places.mentioned, SEARCH)
    recipe = method(Session.recipe, SEARCH, anywhere=True)

    # Browsing

    list = repeatable(rooms.browsing.browse, SEARCH)
    timeline = repeatable(rooms.timeline.timeline, SEARCH)
    history = repeatable(rooms.history.history, SEARCH)
    history_begins = repeatable(rooms.history.history_begins, SEARCH)
    selected = repeatable(rooms.bulk.selected, SEARCH)
    facets = repeatable(rooms.browsing.facets, SEARCH)
    overview = repeatable(rooms.browsing.overview, SEARCH)
    unknown_values = repeatable(rooms.filters.unknown_values, SEARCH)
    dates = repeatable(rooms.browsing.dates, SEARCH)
    expiring = repeatable(rooms.browsing.expiring, SEARCH)
    expired = repeatable(rooms.browsing.expired, SEARCH)
    ending = repeatable(rooms.browsing.ending, SEARCH)
    usage = repeatable(rooms.browsing.usage, SEARCH)
    completed_ids = repeatable(rooms.browsing.completed_ids, SEARCH)
    duplicates = method(rooms.comparison.duplicates, SEARCH)

    # Watching

    pulse = method(rooms.activity.pulse, SEARCH)
    activity = method(rooms.activity.activity, SEARCH)
    active_clients = method(rooms.activity.active_clients, SEARCH)

    # Review

    capture = method(rooms.capture.capture, WRITE)
    review = repeatable(rooms.review.review, SEARCH)
    decide = method(rooms.review.decide, SEARCH, DELETE)
    settle = method(rooms.review.settle, SEARCH, DELETE)
    propose = repeatable(rooms.review.propose, SEARCH, WRITE)
    decide_or_propose = method(rooms.review.decide_or_propose, SEARCH, WRITE)

    # What people said

    opinions = repeatable(rooms.feedback.opinions, SEARCH)
    judged = repeatable(rooms.feedback.judged, SEARCH)
    judgements = repeatable(rooms.feedback.judgements, SEARCH)
    learned = repeatable(rooms.feedback.learned, SEARCH)
    export = method(rooms.browsing.export, SEARCH)
    export_all = method(rooms.browsing.export_all, SEARCH, DELETE)
    export_salvaged = method(rooms.browsing.export_salvaged, SEARCH, DELETE)

    # Folders

    # A path leads to whatever the server's user may read: so they need every capability.
    add_folder = method(rooms.folders.add_folder, *CAPABILITIES)
    add_instructions = method(rooms.folders.add_instructions, *CAPABILITIES)
    add_transcripts = method(rooms.folders.add_transcripts, *CAPABILITIES)
    sync_folder = method(rooms.folders.sync_folder, *CAPABILITIES)
    folders = repeatable(rooms.folders.folders, SEARCH)
    remove_folder = method(rooms.folders.remove_folder, DELETE, ADMIN)
    follow_folders = method(rooms.folders.follow_folders, *CAPABILITIES)

    @needs(*CAPABILITIES)
    def mirror(
        self, folder: str | os.PathLike[str] | None = None, *, dry_run: bool = False
    ) -> Mirrored:
        """Bring the vault and a folder of Markdown files together, once; without a name the folder
        of the settings. `dry_run` says what would be done, and does nothing."""
        from recollect.engine import folders  # noqa: PLC0415  start-up time

        return folders.mirror(self.session, self._mirroring, folder, dry_run=dry_run)

    @needs(*CAPABILITIES)
    def follow_mirror(
        self,
        folder: str | os.PathLike[str] | None,
        stop: threading.Event,
        tell: Callable[[Mirrored | RecollectError], None],
    ) -> None:
        """Mirror whenever the folder or the vault changes, until stopped. `tell` is called with
        what was done, and once with the error that prevents it."""
        from recollect.engine import folders  # noqa: PLC0415  start-up time

        following = partial(self._mirroring, automatic=True)
        folders.follow_mirror(self.session, following, folder, stop, tell)

    def _mirroring(self, *, automatic: bool = False) -> Recollect:
        """The same vault, whose next writes are one run of the mirror."""
        interface = "folder" if automatic else self.session.interface
        from recollect.store.history import WriteOperation  # noqa: PLC0415  start-up time

        return self._view(command=Command("mirror", WriteOperation(), interface, automatic))

    # Upkeep

    reindex = method(rooms.upkeep.reindex, ADMIN)
    switch_model = method(rooms.upkeep.switch_model, ADMIN)
    model_notes = method(rooms.languages.model_notes, SEARCH)
    language_note = method(rooms.languages.language_note, SEARCH)
    doctor = method(rooms.upkeep.doctor, ADMIN)
    configuration = method(rooms.upkeep.configuration, ADMIN)
    backup = method(rooms.backups.backup, ADMIN)
    tidy = method(rooms.policies.tidy, WRITE, DELETE, ADMIN)
    tidy_daily = method(rooms.policies.tidy_daily, WRITE, DELETE, ADMIN)
    measure = method(rooms.upkeep.measure, ADMIN)
    unlock = method(rooms.upkeep.unlock, ADMIN)
    configured = method(rooms.configured.configured, ADMIN)
    known_places = method(rooms.configured.known_places, ADMIN)
    warm_up = method(rooms.upkeep.warm_up, ADMIN)
    embed_now = method(Session.embed_now, ADMIN)
    dependencies = method(rooms.upkeep.dependencies, ADMIN)
    coverage = method(rooms.upkeep.coverage, SEARCH)
    waiting = method(rooms.upkeep.waiting, SEARCH)
    stats = method(rooms.upkeep.stats, SEARCH)
    save_recipe = method(rooms.upkeep.save_recipe, ADMIN)
    remove_recipe = method(rooms.upkeep.remove_recipe, ADMIN)
    rename_recipe = method(rooms.upkeep.rename_recipe, ADMIN)
    mark = method(Session.mark, ADMIN)
    marked = method(rooms.browsing.marked, SEARCH, ADMIN)
