"""One search over several vaults at once, each with a deadline: the rest answers without it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from recollect.context import Models
from recollect.errors import NotFound, ProviderError, RecollectError, StoreError, UserError
from recollect.pipeline import run
from recollect.recipes.base import Recipe
from recollect.settings import Settings
from recollect.store.sqlite.store import SqliteStore
from recollect.types import Degraded, Memory, Response, Search
from recollect.vaults.crew import Crew
from recollect.vaults.keys import other_keys
from recollect.vaults.known import HOME, Known, known_vaults
from recollect.vaults.merging import Answered, merged
from recollect.vaults.remote import RemoteVault

# Each thread keeps a connection of its own; a vault that is slow for one search is slow for both.
THREADS = 2

Answer = TypeVar("Answer")


class FoundElsewhere(NamedTuple):
    """A memory, and the name of the vault that holds it."""

    vault: str
    memory: Memory


class Federation:
    """The vaults beside the home's own, opened when first asked."""

    def __init__(
        self,
        settings: Settings,
        environment: Mapping[str, str],
        home: Path,
        own: Path,
        models: Models,
        start: Path | None,
    ) -> None:
        self._settings = settings
        self._environment = environment
        self._models = models
        self.known = known_vaults(settings, home, own, start)
        self._deadline_s = settings.search.vault_deadline_ms / 1000
        self._guard = threading.Lock()
        # One for each vault: opening one that hangs must not keep the others waiting.
        self._opening = {one.name: threading.Lock() for one in self.known}
        self._stores: dict[str, SqliteStore] = {}
        self._remotes: dict[str, RemoteVault] = {}
        self._crews: dict[str, Crew] = {}

    def chosen(self, names: Sequence[str], sees: Callable[[str], bool]) -> list[Known]:
        """The vaults of these names, all without any, among those that the caller `sees`; in order
        of priority."""
        seen = [one for one in self.known if sees(one.name)]
        for name in names:
            if name not in {one.name for one in seen}:
                there = ", ".join(one.name for one in seen)
                raise NotFound(f"There is no vault {name!r}; there are: {there}.")
        return [one for one in seen if not names or one.name in names]

    def search(
        self, recipe: Recipe, search: Search, vaults: Sequence[Known], own: Callable[[], Response]
    ) -> Response:
        """`own` searches the home's own vault, in this thread, while the others are asked."""
        start = time.perf_counter()
        others = {
            one.name: self._ask(one, partial(self._answer, one, recipe, search))
            for one in vaults
            if one.name != HOME
        }
        answers = [Answered(one, own()) for one in vaults if one.name == HOME]
        away: list[Degraded] = []
        for one in vaults:
            if one.name == HOME:
                continue
            try:
                answers.append(Answered(one, self._awaited(others[one.name], start)))
            except UserError:  # the question itself is wrong, whichever vault says so first
                raise
            except RecollectError as error:
                # By its name: where it is on this machine is not every caller's business.
                away.append(Degraded(one.name, str(error).replace(str(one.path), one.name)))
        if not answers:
            why = "; ".join(f"{part.channel}: {part.reason}" for part in away)
            raise StoreError(f"No vault could answer: {why}")
        answers.sort(key=lambda one: vaults.index(one.vault))
        found = merged(answers, _limit(recipe, search, answers), away)
        spent = round((time.perf_counter() - start) * 1000, 3)
        return msgspec.structs.replace(found, timings_ms=found.timings_ms | {"total": spent})

    def _ask(self, vault: Known, what: Callable[[], Answer]) -> Future[Answer]:
        with self._guard:
            if vault.name not in self._crews:
                self._crews[vault.name] = Crew(f"recollect-vault-{vault.name}", THREADS)
            crew = self._crews[vault.name]
        return crew.ask(what)

    def _awaited(self, future: Future[Answer], start: float) -> Answer:
        """The answer, or StoreError once the deadline that began at `start` is over. What a thread
        has not begun by then it need not begin."""
        left_s = max(0.0, self._deadline_s - (time.perf_counter() - start))
        try:
            return future.result(left_s)
        except (TimeoutError, CancelledError) as error:
            future.cancel()
            raise StoreError("It did not answer in time; search.vault_deadline_ms says how long "
                             "is waited.") from error  # fmt: skip

    def _answer(self, vault: Known, recipe: Recipe, search: Search) -> Response:
        try:
            if vault.url:
                return self._remote(vault).search(recipe, search)
            store = self._store(vault)
            return run(recipe, search, store=store, models=self._models, vault=vault.name)
        except UserError as error:
            if not vault.url:
                raise
            # Its settings are wrong, not the question.
            raise ProviderError(str(error), transient=False) from error
        except RecollectError:
            raise
        except Exception as error:  # whatever somebody else's file holds, the rest answers
            raise StoreError(
                f"The vault {vault.name} could not answer ({type(error).__name__})."
            ) from error

    def show(self, id: str, sees: Callable[[str], bool]) -> FoundElsewhere | None:
        """A memory that the home's own vault does not have, from the first vault that does among
        those that the caller `sees`."""
        start = time.perf_counter()
        others = [one for one in self.known if one.name != HOME and sees(one.name)]
        asked = [(one, self._ask(one, partial(self._shown, one, id))) for one in others]
        for one, future in asked:
            with suppress(RecollectError):  # a vault that is away has nothing to show
                if (found := self._awaited(future, start)) is not None:
                    return FoundElsewhere(one.name, found)
        return None

    def _shown(self, vault: Known, id: str) -> Memory | None:
        if vault.url:
            return self._remote(vault).show(id)
        return self._store(vault).memories.get([id]).get(id)

    def _store(self, vault: Known) -> SqliteStore:
        """The vault's file. One that is not there is not made: a mistyped path is no new vault."""
        assert vault.path is not None
        with self._opening[vault.name]:
            if vault.name not in self._stores:
                if not vault.path.is_file():
                    raise StoreError(
                        f"The vault {vault.path} is not there; `recollect vaults` says where it "
                        "should be."
                    )
                keys = other_keys(vault.passphrase_env, self._environment)
                self._stores[vault.name] = SqliteStore(vault.path, keys=keys)
            return self._stores[vault.name]

    def _remote(self, vault: Known) -> RemoteVault:
        with self._opening[vault.name]:
            if vault.name not in self._remotes:
                self._remotes[vault.name] = RemoteVault(vault, self._environment, self._deadline_s)
            return self._remotes[vault.name]

    def close(self) -> None:
        """Nothing is waited for: a vault that hangs is left to its threads."""
        for crew in self._crews.values():
            crew.close()
        for store in tuple(self._stores.values()):
            store.close()
        for remote in tuple(self._remotes.values()):
            remote.close()


def _limit(recipe: Recipe, search: Search, answers: Sequence[Answered]) -> int:
    """As many as one vault alone would return; a recipe may return more than it was asked for."""
    limits = (recipe.deep if search.deep and recipe.deep else recipe).limits
    wanted = search.limit or limits.default
    most = limits.most or wanted
    return max(min(wanted, most), *(len(one.response) for one in answers))
