"""`Recollect`, the class that every interface uses; its methods are the engine's operations."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from recollect.engine import browsing, filters, reading, searching
from recollect.engine.opening import open_session
from recollect.engine.operations import LazyModule, method
from recollect.engine.session import Session
from recollect.lifetime import Lifetime
from recollect.vaults.known import HOME

if TYPE_CHECKING:
    from recollect.auth.capabilities import Caller
    from recollect.engine import (
        backups,
        capture,
        comparison,
        feedback,
        folders,
        history,
        importing,
        lifecycle,
        recipes,
        upkeep,
        writing,
    )
    from recollect.engine import review as reviewing
    from recollect.models.active import ActiveModels
    from recollect.settings import Settings
else:  # start-up time: most processes call none of their operations
    backups, capture, comparison, feedback, folders, history = map(
        LazyModule, ("backups", "capture", "comparison", "feedback", "folders", "history")
    )
    importing, lifecycle, recipes, reviewing, upkeep, writing = map(
        LazyModule, ("importing", "lifecycle", "recipes", "review", "upkeep", "writing")
    )


class Recollect:
    """A vault, its settings and its models.

    Without arguments it opens the vault in the home folder; with a path, that file. Use it as a
    context manager, or call `close()`. Each method checks the caller's capabilities; the owner who
    opens the vault has all of them.
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

        lifetime: how long this process will use the vault.
        passphrase: for a locked vault; by default from the settings or a prompt on the terminal.
        at_rest: open the vault at the first call, without a prompt.
        on_idle_lock: called when a server has closed an idle locked vault.
        damaged: open the vault even if it is damaged, to repair or to salvage it.
        interface, client: recorded in the history of changes.
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
        self.session = replace(opened, recollect=self._on)
        self.home, self.path, self.settings = opened.home, opened.path, opened.settings
        self.recipes = opened.recipes
        # `Any`: callers that need more than `VaultStore` know which store it is.
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
        """Return the same vault for another caller, limited to this caller's capabilities.

        interface, client: recorded in the history of changes.
        step: called with the name of each step of long work; it may raise Cancelled.
        """
        return self._on(
            replace(
                self.session,
                caller=caller.within(self.caller),
                interface=interface or self.session.interface,
                client=client,
                step=step or self.session.step,
            )
        )

    @classmethod
    def _on(cls, session: Session) -> Recollect:
        """Return a Recollect for another session of this vault, which closes nothing."""
        view = object.__new__(cls)
        view._enter(replace(session, closing=()))
        return view

    def require(self, *capabilities: str, action: str, anywhere: bool = False) -> None:
        """Raise Forbidden, and log it, unless the caller has these capabilities in this vault, or
        with `anywhere` in one that a search spans."""
        self.session.require(*capabilities, action=action, anywhere=anywhere)

    def may(self, *capabilities: str, anywhere: bool = False) -> bool:
        """Return whether `require` would pass; nothing is logged."""
        return self.session.refusal(capabilities, anywhere=anywhere) is None

    def close(self) -> None:
        """Close the vault. All saved memories are already durable. Does nothing on the result of
        `acting_as`, since others use the vault too."""
        self.session.close()

    def now(self) -> datetime:
        return self.session.clock()

    @property
    def models(self) -> ActiveModels:
        """The models that embed and rerank; they can be replaced."""
        return self.session.models

    @models.setter
    def models(self, models: ActiveModels) -> None:
        self.session = replace(self.session, models=models)
        self.session.background.embedder = models.embedder

    @property
    def read_only(self) -> bool:
        """Whether the vault can be searched but not written."""
        return self.session.store.database.frozen

    # The operations, declared in their modules. From its line on, a name is the method, so a method
    # with the name of a module, or `list`, comes last.

    save = method(writing.save)
    save_all = method(writing.save_all)
    edit = method(writing.edit)

    edit_all = method(writing.edit_all)
    pin = method(writing.pin)
    unpin = method(writing.unpin)
    tag = method(writing.tag)
    move = method(writing.move)
    forget = method(writing.forget)
    supersede = method(writing.supersede)
    restore = method(writing.restore)
    publish = method(writing.publish)
    unpublish = method(writing.unpublish)

    import_lines = method(importing.import_lines)

    similar = method(comparison.similar)
    duplicates = method(comparison.duplicates)

    search = method(searching.search)
    deferral = method(searching.deferral)
    run_recipe = method(searching.run_recipe)
    context = method(searching.context)
    related = method(searching.related)
    recipe = method(searching.recipe)

    show = method(reading.show)
    chain = method(reading.chain)
    locate = method(reading.locate)
    retrieve = method(reading.retrieve)
    in_file = method(reading.in_file)
    resolve_names = method(reading.resolve_names)

    unknown_values = method(filters.unknown_values)

    timeline = method(browsing.timeline)
    select_ids = method(browsing.select_ids)
    facets = method(browsing.facets)
    overview = method(browsing.overview)
    dates = method(browsing.dates)
    list_ending = method(browsing.list_ending)
    usage = method(browsing.usage)
    complete_ids = method(browsing.complete_ids)
    pulse = method(browsing.pulse)
    export = method(browsing.export)
    export_all = method(browsing.export_all)
    export_salvaged = method(browsing.export_salvaged)
    ids_by_mark = method(browsing.ids_by_mark)

    undo = method(history.undo)
    redo = method(history.redo)
    history_begins = method(history.history_begins)
    activity = method(history.activity)
    active_clients = method(history.active_clients)
    history = method(history.history)

    merge = method(lifecycle.merge)
    trash = method(lifecycle.trash)
    count_trash = method(lifecycle.count_trash)
    select_in_trash = method(lifecycle.select_in_trash)
    empty_trash = method(lifecycle.empty_trash)
    tidy = method(lifecycle.tidy)
    tidy_daily = method(lifecycle.tidy_daily)

    capture = method(capture.capture)

    decide = method(reviewing.decide)
    settle = method(reviewing.settle)
    propose = method(reviewing.propose)
    decide_or_propose = method(reviewing.decide_or_propose)
    review = method(reviewing.review)

    opinions = method(feedback.opinions)
    feedback_on = method(feedback.feedback_on)
    judgements = method(feedback.judgements)
    feedback = method(feedback.feedback)

    list_recipes = method(recipes.list_recipes)
    describe_recipe = method(recipes.describe_recipe)
    save_recipe = method(recipes.save_recipe)
    rename_recipe = method(recipes.rename_recipe)
    remove_recipe = method(recipes.remove_recipe)
    learned_weights = method(recipes.learned_weights)
    unlearn = method(recipes.unlearn)

    backup = method(backups.backup)

    reindex = method(upkeep.reindex)
    switch_model = method(upkeep.switch_model)
    model_notes = method(upkeep.model_notes)
    language_note = method(upkeep.language_note)
    doctor = method(upkeep.doctor)
    configuration = method(upkeep.configuration)
    measure = method(upkeep.measure)
    unlock = method(upkeep.unlock)
    list_settings = method(upkeep.list_settings)
    known_places = method(upkeep.known_places)
    warm_up = method(upkeep.warm_up)
    embed_now = method(upkeep.embed_now)
    dependencies = method(upkeep.dependencies)
    coverage = method(upkeep.coverage)
    waiting = method(upkeep.waiting)
    stats = method(upkeep.stats)
    mark = method(upkeep.mark)

    add_folder = method(folders.add_folder)
    add_instructions = method(folders.add_instructions)
    add_transcripts = method(folders.add_transcripts)
    sync_folder = method(folders.sync_folder)
    remove_folder = method(folders.remove_folder)
    mirror = method(folders.mirror)
    follow_mirror = method(folders.follow_mirror)
    follow_folders = method(folders.follow_folders)
    folders = method(folders.folders)

    list = method(browsing.browse, "list")
