"""Opening the vault that the settings name: a file, or a URL that an installed package opens (entry
points of the group `recollect.stores`)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from recollect.auth.access import HomeAccess
from recollect.entry_points import entry_points_of
from recollect.errors import UserError
from recollect.lifetime import Lifetime
from recollect.settings import StoreSettings
from recollect.store.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from recollect.auth.access import Access
    from recollect.store.sqlite.vault_files import KeySource
    from recollect.store.vault import VaultStore

GROUP = "recollect.stores"
# Schemes of the project's own package; without it the sentence names what to install.
POSTGRES = ("postgres", "postgresql")


class StoreType(Protocol):
    """The object of an entry point of the group: it opens vaults at a URL."""

    def open_store(self, place: StoreSettings, *, lifetime: Lifetime) -> VaultStore:
        """Open the vault named `place.vault`."""

    def open_access(self, place: StoreSettings) -> Access:
        """Open the tokens, browser sessions and logs of that vault's servers."""


def open_store_at(
    file: Path, place: StoreSettings, *, lifetime: Lifetime, keys: KeySource, at_rest: bool
) -> VaultStore:
    """Open the vault in this file, or with a URL the vault of that name there."""
    if place.url:
        return store_type(place.url).open_store(place, lifetime=lifetime)
    return SqliteStore(file, lifetime=lifetime, keys=keys, at_rest=at_rest)


def open_access_at(home: Path, place: StoreSettings) -> Access:
    """Open tokens, browser sessions and logs: in the home, or with a URL in the same database."""
    return store_type(place.url).open_access(place) if place.url else HomeAccess(home)


def store_type(url: str) -> StoreType:
    """Return what opens URLs of this scheme. No error quotes the URL: it may hold a password."""
    scheme, separator, _ = url.partition("://")
    known = entry_points_of(GROUP)
    if separator and scheme in known:
        return cast(StoreType, known[scheme].load())
    if separator and scheme in POSTGRES:
        raise UserError(
            "A vault in PostgreSQL (`store.url`) needs a package that is not installed here; "
            "run: pip install 'recollect-memory[postgres]'"
        )
    allowed = ", ".join(f"{each}://" for each in sorted({*known, *POSTGRES}))
    raise UserError(f"`store.url` must begin with one of these: {allowed}.")
