"""Opening a vault: making the owner's session, and the other vaults and collections on demand."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from recollect.auth.audit import Audit
from recollect.auth.capabilities import Caller
from recollect.checks import check_path
from recollect.context import Models
from recollect.engine.session import Session
from recollect.errors import StoreError, UserError
from recollect.lifetime import BackgroundTasks, Lifetime
from recollect.models.active import ActiveModels
from recollect.models.background_embedding import BackgroundEmbedding
from recollect.recipes.registry import Recipes
from recollect.settings import LockSettings, Settings
from recollect.settings_reading import home_folder, load_settings
from recollect.store.registry import open_access_at, open_store_at
from recollect.store.sqlite.store import SqliteStore
from recollect.times import current_time, in_utc
from recollect.vaults.keys import Keys
from recollect.vaults.known import HOME, project_vault, untrusted_vault, working_folder

if TYPE_CHECKING:
    from recollect.store.sqlite.vault_files import KeySource
    from recollect.store.vault import VaultStore
    from recollect.vaults.collections import Collections
    from recollect.vaults.federation import Federation

MOST_S = 5.0  # between two checks of the idle lock
NOT_LOCKED = (
    "The vault {path} is not locked, so a passphrase does not protect it; lock it with `recollect "
    "vault lock`, or leave the passphrase out."
)


class OtherVaults:
    """The other vaults and collections named by the settings and the working directory, opened when
    first used. `alone`: none of them."""

    def __init__(
        self,
        settings: Settings,
        environment: Mapping[str, str],
        home: Path,
        own: Path,
        models: Models,
        *,
        alone: bool,
    ) -> None:
        self._settings = settings
        self.environment = environment
        self._home = home
        self._own = own
        self._models = models
        self._alone = alone
        self._lock = threading.RLock()  # several threads share one of each

    @property
    def federation(self) -> Federation | None:
        """The other vaults, or None."""
        with self._lock:
            return self._federation

    @cached_property
    def _federation(self) -> Federation | None:
        start = working_folder()
        near = start is not None and project_vault(start) is not None
        if self._alone or not (self._settings.vaults or near):
            return None
        from recollect.vaults.federation import Federation  # noqa: PLC0415  start-up time

        return Federation(
            self._settings, self.environment, self._home, self._own, self._models, start
        )

    @property
    def collections(self) -> Collections | None:
        """The collections, or None."""
        with self._lock:
            return self._collections

    @cached_property
    def _collections(self) -> Collections | None:
        if self._alone or not self._settings.collections:
            return None
        from recollect.vaults.collections import Collections  # noqa: PLC0415  start-up time

        return Collections(self._settings.collections, self._home, self.environment)

    def first_visible(self, caller: Caller) -> str:
        """Return the home's own vault, or the first other one if the caller may use only that."""
        if not caller.sees(HOME) and self.federation is not None:
            for vault in self.federation.known:
                if caller.sees(vault.name):
                    return vault.name
        return HOME

    def untrusted_project(self) -> Path | None:
        """Return the project vault that is not searched because it is not trusted."""
        return untrusted_vault(self._settings, self._home, self._own, working_folder())

    def close(self) -> None:
        for name in ("_federation", "_collections"):
            if (opened := self.__dict__.get(name)) is not None:
                opened.close()


class IdleLock:
    """A thread that closes a locked vault and drops its key when a server has not used it for a
    while, and then calls `sealed`.

    Memory that Python has freed is not cleared, so the server then restarts itself (see
    `interfaces/server_processes.py`)."""

    def __init__(self, store: SqliteStore, idle_s: float, sealed: Callable[[], None]) -> None:
        self._store = store
        self._idle_s = idle_s
        self._sealed = sealed
        self._closed = threading.Event()
        threading.Thread(target=self._watch, name="recollect-idle", daemon=True).start()

    def _watch(self) -> None:
        while not self._closed.wait(min(MOST_S, self._idle_s / 4)):
            if self._store.seal(self._idle_s):
                self._sealed()

    def close(self) -> None:
        self._closed.set()


def open_session(
    path: str | os.PathLike[str] | None,
    home: str | os.PathLike[str] | None,
    settings: Settings | None,
    environment: Mapping[str, str],
    clock: Callable[[], datetime] | None,
    *,
    lifetime: Lifetime,
    passphrase: str | None,
    at_rest: bool,
    on_idle_lock: Callable[[], None],
    damaged: bool,
    interface: str,
    client: str,
) -> Session:
    """Open a vault for its owner; the arguments are those of `Recollect`."""
    folder = Path(home) if home is not None else home_folder(environment)
    given_settings = settings is not None
    settings = settings or load_settings(folder, environment)
    models = ActiveModels(settings, environment, lifetime)
    file = check_path(Path(path) if path is not None else folder / "vault.db")
    if path is None:
        make_home(folder)
    # A passphrase in the settings or the environment is for the home's vault only.
    configured = settings.vault.passphrase_file or environment.get(settings.vault.passphrase_env)
    has_passphrase = passphrase is not None or bool(path is None and configured)
    useless = UserError(NOT_LOCKED.format(path=file))
    if has_passphrase and not file.exists():
        raise useless
    store = open_store_at(
        file,
        settings.store if path is None else replace(settings.store, url=""),
        lifetime=lifetime,
        keys=_make_keys(settings.vault, environment, passphrase, asked=at_rest),
        at_rest=at_rest or damaged,
    )
    if has_passphrase and not store.database.at_rest and not store.database.locked:
        store.close()
        raise useless
    models.vault_model = partial(_read_model, store)
    if not given_settings:
        models.newest_settings = partial(load_settings, folder, environment)
    others = OtherVaults(settings, environment, folder, file, models, alone=path is not None)
    idle = (
        _make_idle_lock(store, settings.vault, on_idle_lock)
        if lifetime is Lifetime.SERVER
        else None
    )
    background = BackgroundEmbedding(models.embedder, lifetime, changed=_change_detector(store))
    tasks = BackgroundTasks(lifetime)
    # The home's audit log is only for the home's vault.
    audit = Audit(open_access_at(folder, settings.store) if path is None else None)
    return Session(
        home=folder,
        path=file,
        settings=settings,
        recipes=Recipes(folder / "recipes"),
        models=models,
        store=store,
        audit=audit,
        clock=_make_clock(environment) if clock is None else lambda: in_utc(clock()),
        background=background,
        tasks=tasks,
        others=others,
        interface=interface,
        client=client,
        lifetime=lifetime,
        closing=(tasks, others, models, background, *([idle] if idle else []), audit, store),
    )


def _read_model(store: VaultStore) -> str | None:
    """Return the identity of the vault's model; None if the vault is at rest or unreadable."""
    with suppress(StoreError):
        return None if store.database.at_rest else store.vectors.model()
    return None


def _make_keys(
    settings: LockSettings, environment: Mapping[str, str], passphrase: str | None, *, asked: bool
) -> KeySource:
    """Return the source of the key, made only if the vault is locked."""

    @cache
    def source() -> KeySource:
        return Keys(settings, environment, passphrase, asked=asked)

    return lambda path, header: source()(path, header)


def _change_detector(store: VaultStore) -> Callable[[], bool]:
    """Return a function that says whether the vault was written to since its last call. A vault at
    rest stays closed."""
    seen = -1

    def changed() -> bool:
        nonlocal seen
        before, seen = seen, seen if store.database.at_rest else store.changes()
        return seen != before

    return changed


def _make_idle_lock(
    store: VaultStore, settings: LockSettings, sealed: Callable[[], None]
) -> IdleLock | None:
    """Return the idle lock of a locked vault, if the settings have a time for it."""
    minutes = settings.idle_minutes
    if not isinstance(store, SqliteStore) or not minutes:
        return None
    locked = store.database.locked or store.database.at_rest
    return IdleLock(store, minutes * 60, sealed) if locked else None


def make_home(home: Path) -> None:
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"The home folder {home} cannot be made: {error.strerror}.") from error


def _make_clock(environment: Mapping[str, str]) -> Callable[[], datetime]:
    """Return the real clock, or one that always says the time in RECOLLECT_NOW."""
    if environment.get("RECOLLECT_NOW"):
        moment = current_time(environment)
        return lambda: moment
    return lambda: datetime.now(UTC)
