"""Search several vaults at once, each with a deadline; a late vault is left out."""

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
from recollect.vaults.answers import VaultAnswer, merge_answers
from recollect.vaults.keys import other_keys
from recollect.vaults.known import HOME, FoundMemory, KnownVault, known_vaults
from recollect.vaults.past_store import past_store
from recollect.vaults.remote import RemoteVault

Answer = TypeVar("Answer")
Work = tuple[Future[Any], Callable[[], Any]] | None
# For each vault. A thread keeps a connection of its own, and more threads would not help a slow
# vault.
THREADS = 2
# Share of a search's deadline that other vaults get: the rest is for ranking their answers.
SHARE = 0.5


class VaultThreads:
    """A thread pool for one vault. If the vault hangs, neither a search nor the exit waits for it.

    A thread starts when all others are busy. They are daemons: Python would wait at exit for those
    of `concurrent.futures`, however long a vault hangs.
    """

    def __init__(self, name: str, size: int) -> None:
        self._name = name
        self._size = size
        self._waiting: SimpleQueue[Work] = SimpleQueue()
        self._threads = 0
        self._open = 0  # submitted and not answered
        self._guard = threading.Lock()

    def ask(self, question: Callable[[], Answer]) -> Future[Answer]:
        """Submit a question; cancelling the future drops it until a thread has taken it."""
        future: Future[Answer] = Future()
        with self._guard:
            self._open += 1
            if self._threads < min(self._open, self._size):
                self._threads += 1
                threading.Thread(target=self._work, name=self._name, daemon=True).start()
        self._waiting.put((future, question))
        return future

    def close(self) -> None:
        """Let each thread end after its current question, without waiting for it."""
        for _ in range(self._size):
            self._waiting.put(None)

    def _work(self) -> None:
        while (work := self._waiting.get()) is not None:
            future, question = work
            if future.set_running_or_notify_cancel():
                self._answer(future, question)
            else:
                self._done()
            del future, question, work  # release the answer before waiting for the next question

    def _answer(self, future: Future[Any], question: Callable[[], Any]) -> None:
        try:
            answer = question()
        except BaseException as error:  # raised by the future's `result`
            self._done()
            future.set_exception(error)
        else:
            self._done()
            future.set_result(answer)

    def _done(self) -> None:
        """Free the thread before the answer is out: the next question needs no other thread."""
        with self._guard:
            self._open -= 1


class Federation:
    """The home's own vault and all others; those are opened when first asked."""

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
        # A lock for each vault: opening one that hangs must not block the others.
        self._opening = {vault.name: threading.Lock() for vault in self.known}
        self._stores: dict[str, SqliteStore] = {}
        self._remotes: dict[str, RemoteVault] = {}
        self._threads: dict[str, VaultThreads] = {}

    def choose(self, names: Sequence[str], sees: Callable[[str], bool]) -> list[KnownVault]:
        """Return the vaults of these names, or all, that the caller `sees`, by priority."""
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
        """Search each vault by itself and merge the responses.

        own: searches the home's own vault, in this thread, while the others are asked.
        """
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
                answer = _wait_for(others[vault.name], start, longest_s)
                answers.append(VaultAnswer(vault, answer))
            except UserError:  # the question itself is wrong
                raise
            except RecollectError as error:
                away.append(Degraded(vault.name, str(error)))
        if not answers:
            why = "; ".join(f"{part.channel}: {part.reason}" for part in away)
            raise StoreError(f"No vault could answer: {why}")
        answers.sort(key=lambda answer: vaults.index(answer.vault))
        declared = recipe.deep if search.deep and recipe.deep else recipe
        merged = merge_answers(declared, answers, _limit(declared, search, answers), away)
        spent = round((time.perf_counter() - start) * 1000, 3)
        return msgspec.structs.replace(merged, timings_ms=merged.timings_ms | {"total": spent})

    def _ask(self, vault: KnownVault, question: Callable[[], Answer]) -> Future[Answer]:
        with self._guard:
            if vault.name not in self._threads:
                self._threads[vault.name] = VaultThreads(f"recollect-vault-{vault.name}", THREADS)
            threads = self._threads[vault.name]
        return threads.ask(partial(_ask_safely, vault, question))

    def _longest_s(self, search: Search) -> float:
        """Return the deadline for other vaults, in seconds."""
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
        """Return a memory, as of the given moment, from the first other vault that has it.

        Only vaults that the caller `sees` are asked.
        """
        start = time.perf_counter()
        others = [vault for vault in self.known if vault.name != HOME and sees(vault.name)]
        asked = [
            (vault, self._ask(vault, partial(self._read, vault, id, as_of))) for vault in others
        ]
        for vault, future in asked:
            with suppress(RecollectError):  # a vault that is away has nothing to show
                if (found := _wait_for(future, start, self._deadline_s)) is not None:
                    return FoundMemory(vault.name, found)
        return None

    def _read(self, vault: KnownVault, id: str, as_of: datetime | None) -> Memory | None:
        if vault.url:
            return self._remote(vault).show(id, as_of)
        return self._store(vault, as_of).memories.get([id]).get(id)

    def _store(self, vault: KnownVault, as_of: datetime | None) -> Store:
        store = self._open(vault)
        if as_of is None:
            return store
        try:
            return past_store(store, as_of, self._models)
        except UserError as error:  # this vault's history is shorter; the question is not wrong
            raise StoreError(str(error)) from error

    def _open(self, vault: KnownVault) -> SqliteStore:
        """Open the vault's file. A missing file is not created: the path may be mistyped."""
        assert vault.path is not None
        with self._opening[vault.name]:
            if vault.name not in self._stores:
                if not vault.path.is_file():
                    raise StoreError(
                        f"The vault {vault.path} cannot be opened: there is no such file. "
                        "`recollect vault list` says where it should be."
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
        """Close all vaults without waiting for one that hangs."""
        for threads in self._threads.values():
            threads.close()
        for store in tuple(self._stores.values()):
            store.close()
        for remote in tuple(self._remotes.values()):
            remote.close()


def _ask_safely(vault: KnownVault, question: Callable[[], Answer]) -> Answer:
    """Return the answer; turn any failure into a RecollectError, so that the other vaults still
    answer. The message names the vault, never its path, which is not every caller's business."""
    try:
        return question()
    except UserError as error:
        if not vault.url:
            raise
        # The other vault's settings are wrong, not the question.
        raise ProviderError(str(error), transient=False) from error
    except RecollectError as error:
        raise StoreError(str(error).replace(str(vault.path), vault.name)) from error
    except Exception as error:
        raise StoreError(
            f"The vault {vault.name} could not answer ({type(error).__name__})."
        ) from error


def _limit(recipe: Recipe, search: Search, answers: Sequence[VaultAnswer]) -> int:
    """Return as many as one vault would; a recipe may return more than it was asked for."""
    wanted = search.limit or recipe.limits.default
    most = recipe.limits.most or wanted
    return max(min(wanted, most), *(len(answer.response) for answer in answers))


def _wait_for(future: Future[Answer], start: float, longest_s: float) -> Answer:
    """Return the answer; `longest_s` seconds after `start` cancel it and raise StoreError."""
    try:
        return future.result(max(0.0, longest_s - (time.perf_counter() - start)))
    except (TimeoutError, CancelledError) as error:
        future.cancel()
        raise StoreError(
            "It did not answer in time; search.vault_deadline_ms sets the time, and deadline_ms."
        ) from error
