"""The entry point of this distribution: see `recollect.store.registry.StoreType`."""

from __future__ import annotations

from recollect.lifetime import Lifetime
from recollect.settings import StoreSettings
from recollect_postgres.access import PostgresAccess
from recollect_postgres.store import PostgresStore


def open_store(place: StoreSettings, *, lifetime: Lifetime) -> PostgresStore:
    """Open the vault named `place.vault`."""
    return PostgresStore(
        place.url,
        place.vault,
        lifetime=lifetime,
        retry_s=place.retry_s,
        read_url=place.read_url,
        max_staleness_s=place.max_staleness_s,
    )


def open_access(place: StoreSettings) -> PostgresAccess:
    """Open the tokens, browser sessions and logs of that vault's servers."""
    return PostgresAccess(place)
