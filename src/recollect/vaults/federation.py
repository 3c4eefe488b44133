"""One search over several vaults at once, each with a deadline: the rest answers without it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar

import msgspec

from recollect.context import Models
from recollect.errors import NotFound, ProviderError, RecollectError, StoreError, UserError
from recollect.pipeline import run
from recollect.recipes.base import Recipe
from recollect.settings import Settings
from recollect.store.base import Store
from recollect.store.sqlite.store import SqliteStore
from recollect.types import Degraded, Memory, Response, Search
from recollect.vaults.answers import VaultAnswer, merged
from recollect.vaults.keys import other_keys
from recollect.vaults.known import HOME, FoundMemory, KnownVault, known_vaults
from recollect.vaults.past_store import past_store
from recollect.vaults.remote import RemoteVault

Answer = TypeVar("Answer")
Work = tuple[Future[Any], Callable[[], Any]] | None
# Each thread keeps a connection of its own; a vault that is slow for one search is slow for both.
THREADS = 2
# Of a search's deadline for other vaults: the rest is for ranking what they have.
SHARE = 0.5


class VaultThreads:
    """Threads that ask one vault. If it hangs, neither a search nor the end of the process waits.

    A few daemon threads, each started when all others are busy: who asks one question after the
    other is answered by one. Python would wait for those of `concurrent.futures` when it exits,
    however long a vault hangs."""

    def __init__(self, name: str, size: int) -> None:
        self._name = name
        self._size = size
        self._waiting: SimpleQueue[Work] = SimpleQueue()
        self._threads = 0
        self._open = 0  # questions without an answer
        self._guard = threading.Lock()

    def ask(self, question: Callable[[], Answer]) -> Future[Answer]:
        """The answer, once a thread is free; a question that is cancelled before is never asked."""
        future: Future[Answer] = Future()
        with self._guard:
            self._open += 1
            if self._threads < min(self._open, self._size):
                self._threads += 1
                threading.Thread(target=self._work, name=self._name, daemon=True).start()
        self._waiting.put((future, question))
        return future

    def close(self) -> None:
        """Each thread ends after what it does now; nobody waits for that."""
        for _ in range(self._size):
            self._waiting.put(None)

    def _work(self) -> None:
        while (work := self._waiting.get()) is not None:
            future, question = work
            if future.set_running_or_notify_cancel():
                self._answer(future, question)
            else:
                self._done()
            del future, question, work  # what was answered is not kept until the next question

    def _answer(self, future: Future[Any], question: Callable[[], Any]) -> None:
        try:
            answer = question()
        except BaseException as error:  # it is raised where the answer is asked for
            self._done()
            future.set_exception(error)
        else:
            self._done()
            future.set_result(answer)

    def _done(self) -> None:
        """Before the answer is there: whoever asks on needs no other thread."""
        with self._guard:
            self._open -= 1


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
        self._opening = {vault.name: threading.Lock() for vault in self.known}
        self._stores: dict[str, SqliteStore] = {}
        self._remotes: dict[str, RemoteVault] = {}
        self._threads: dict[str, VaultThreads] = {}

    def chosen(self, names: Sequence[str], sees: Callable[[str], bool]) -> list[KnownVault]:
        """The vaults of these names, all without any, among those that the caller `sees`; in order
        of priority."""
        seen = [vault for vault in self.known if sees(vault.name)]
        for name in names:
            if name not in {vault.name for vault in seen}:
                there = ", ".join(vault.name for vault in seen)
                raise NotFound(f"There is no vault {name!r}; there are: {there}.")
        return [vault for vault in seen if not names or vault.name in names]

    def search(
        self,
        recipe: Recipe,
        search: Search,
        vaults: Sequence[KnownVault],
        own: Callable[[], Response],
    ) -> Response:
        """Each vault by itself, then one list. `own` searches the home's own vault, in this thread,
        while the others are asked."""
        start, longest_s = time.perf_counter(), self._longest_s(search)
        others = {
            vault.name: self._ask(vault, partial(self._answer, vault, recipe, search))
            for vault in vaults
            if vault.name != HOME
        }
        answers = [VaultAnswer(vault, own()) for vault in vaults if vault.name == HOME]
        away: list[Degraded] = []
        for vault in vaults:
            if vault.name == HOME:
                continue
            try:
                answer = _awaited(others[vault.name], start, longest_s)
                answers.append(VaultAnswer(vault, answer))
            except UserError:  # the question itself is wrong, whichever vault says so first
                raise
            except RecollectError as error:
                away.append(Degraded(vault.name, str(error)))
        if not answers:
            why = "; ".join(f"{part.channel}: {part.reason}" for part in away)
            raise StoreError(f"No vault could answer: {why}")
        answers.sort(key=lambda answer: vaults.index(answer.vault))
        declared = recipe.deep if search.deep and recipe.deep else recipe
        found = merged(declared, answers, _limit(declared, search, answers), away)
        spent = round((time.perf_counter() - start) * 1000, 3)
        return msgspec.structs.replace(found, timings_ms=found.timings_ms | {"total": spent})

    def _ask(self, vault: KnownVault, question: Callable[[], Answer]) -> Future[Answer]:
        with self._guard:
            if vault.name not in self._threads:
                self._threads[vault.name] = VaultThreads(f"recollect-vault-{vault.name}", THREADS)
            threads = self._threads[vault.name]
        return threads.ask(partial(_guarded, vault, question))

    def _longest_s(self, search: Search) -> float:
        """How long other vaults may take."""
        asked = search.deadline_ms
        return self._deadline_s if asked is None else min(self._deadline_s, asked / 1000 * SHARE)

    def _answer(self, vault: KnownVault, recipe: Recipe, search: Search) -> Response:
        if vault.url:
            return self._remote(vault).search(recipe, search)
        store = self._store(vault, search.as_of)
        return run(recipe, search, store=store, models=self._models, vault=vault.name)

    def show(
        self, id: str, sees: Callable[[str], bool], as_of: datetime | None = None
    ) -> FoundMemory | None:
        """A memory that the home's own vault does not have, from the first vault that does among
        those that the caller `sees`; with a moment, as it was then."""
        start = time.perf_counter()
        others = [vault for vault in self.known if vault.name != HOME and sees(vault.name)]
        asked = [
            (vault, self._ask(vault, partial(self._shown, vault, id, as_of))) for vault in others
        ]
        for vault, future in asked:
            with suppress(RecollectError):  # a vault that is away has nothing to show
                if (found := _awaited(future, start, self._deadline_s)) is not None:
                    return FoundMemory(vault.name, found)
        return None

    def _shown(self, vault: KnownVault, id: str, as_of: datetime | None) -> Memory | None:
        if vault.url:
            return self._remote(vault).show(id, as_of)
        return self._store(vault, as_of).memories.get([id]).get(id)

    def _store(self, vault: KnownVault, as_of: datetime | None) -> Store:
        """The vault, as it is or as it was."""
        store = self._opened(vault)
        if as_of is None:
            return store
        try:
            return past_store(store, as_of, self._models)
        except UserError as error:  # its history is shorter: the question is not wrong
            raise StoreError(str(error)) from error

    def _opened(self, vault: KnownVault) -> SqliteStore:
        """The vault's file. One that is not there is not made: a mistyped path is no new vault."""
        assert vault.path is not None
        with self._opening[vault.name]:
            if vault.name not in self._stores:
                if not vault.path.is_file():
                    raise StoreError(
                        f"The vault {vault.path} is not there; `recollect vault list` says where "
                        "it should be."
                    )
                keys = other_keys(vault.passphrase_env, self._environment)
                self._stores[vault.name] = SqliteStore(vault.path, keys=keys)
            return self._stores[vault.name]

    def _remote(self, vault: KnownVault) -> RemoteVault:
        with self._opening[vault.name]:
            if vault.name not in self._remotes:
                self._remotes[vault.name] = RemoteVault(vault, self._environment, self._deadline_s)
            return self._remotes[vault.name]

    def close(self) -> None:
        """Nothing is waited for: a vault that hangs is left to its threads."""
        for threads in self._threads.values():
            threads.close()
        for store in tuple(self._stores.values()):
            store.close()
        for remote in tuple(self._remotes.values()):
            remote.close()


def _guarded(vault: KnownVault, question: Callable[[], Answer]) -> Answer:
    """The answer. Whatever somebody else's vault holds, the rest answers: what goes wrong is one
    sentence, which calls the vault by its name. Where it is on this machine is not every caller's
    business."""
    try:
        return question()
    except UserError as error:
        if not vault.url:
            raise
        # Its settings are wrong, not the question.
        raise ProviderError(str(error), transient=False) from error
    except RecollectError as error:
        raise StoreError(str(error).replace(str(vault.path), vault.name)) from error
    except Exception as error:
        raise StoreError(
            f"The vault {vault.name} could not answer ({type(error).__name__})."
        ) from error


def _limit(recipe: Recipe, search: Search, answers: Sequence[VaultAnswer]) -> int:
    """As many as one vault alone would return; a recipe may return more than it was asked for."""
    wanted = search.limit or recipe.limits.default
    most = recipe.limits.most or wanted
    return max(min(wanted, most), *(len(answer.response) for answer in answers))


def _awaited(future: Future[Answer], start: float, longest_s: float) -> Answer:
    """Return the answer; raise StoreError `longest_s` seconds after `start`. A question that its
    thread has not begun by then is dropped."""
    try:
        return future.result(max(0.0, longest_s - (time.perf_counter() - start)))
    except (TimeoutError, CancelledError) as error:
        future.cancel()
        raise StoreError(
            "It did not answer in time; search.vault_deadline_ms sets the time, and deadline_ms."
        ) from error
