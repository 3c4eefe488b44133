"""Shared collections from the settings: vaults that are searched together with the user's own."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from recollect.context import Models
from recollect.errors import NotFound, RecollectError, StoreError, UserError
from recollect.settings import CollectionSettings
from recollect.store.base import Store
from recollect.store.sqlite.store import SqliteStore
from recollect.vaults.combined_store import MARK, CombinedStore, Member
from recollect.vaults.keys import other_keys
from recollect.vaults.known import HOME, PROJECT
from recollect.vaults.past_store import past_store


class Collections:
    """The collections from the settings; each is opened when first used."""

    def __init__(
        self, settings: Sequence[CollectionSettings], home: Path, environment: Mapping[str, str]
    ) -> None:
        self._paths = {table.name: home / Path(table.path).expanduser() for table in settings}
        self._keys = {
            table.name: other_keys(table.passphrase_env, environment) for table in settings
        }
        self._stores: dict[str, SqliteStore] = {}
        self._guard = threading.Lock()
        if len(self._paths) < len(settings):
            names = [table.name for table in settings]
            twice = next(name for name in names if names.count(name) > 1)
            raise UserError(f"Two collections are named {twice!r}; give one another name.")
        if taken := sorted({HOME, PROJECT} & self._paths.keys()):
            raise UserError(
                f"{taken[0]!r} is the name of a vault, not of a collection; choose another."
            )

    def names(self) -> list[str]:
        return list(self._paths)

    def combine_with(
        self,
        personal: Store,
        names: Iterable[str],
        as_of: datetime | None = None,
        models: Models | None = None,
    ) -> CombinedStore:
        """Return the personal store combined with these collections, all as of the given moment."""
        opened, away = [Member(HOME, personal)], {}
        for name in names:
            try:
                store: Store = self.store(name)
                if as_of is not None:
                    store = past_store(self.store(name), as_of, models)
                opened.append(Member(name, store, f"{name}{MARK}"))
            except RecollectError as error:
                # The path is not every caller's business.
                away[name] = str(error).replace(str(self._paths[name]), name)
        combined = CombinedStore(opened, personal)
        combined.away |= away
        return combined

    def store(self, name: str, *, make: bool = False) -> SqliteStore:
        """Open a collection's vault; only `make=True` (publishing) creates a missing file."""
        if name not in self._paths:
            known = ", ".join(self._paths) or "none; [[collections]] in the settings names them"
            raise NotFound(f"There is no collection {name!r}; there are: {known}.")
        with self._guard:
            if name not in self._stores:
                if not make and not self._paths[name].is_file():
                    raise StoreError(f"The collection {self._paths[name]} is not there.")
                self._stores[name] = SqliteStore(self._paths[name], keys=self._keys[name])
            return self._stores[name]

    def close(self) -> None:
        for store in self._stores.values():
            store.close()
