"""Where tokens, browser sessions and logs are: beside the vault, be it a file or in a database."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from recollect.auth.home_access import HomeAccess
from recollect.settings import StoreSettings

if TYPE_CHECKING:
    from recollect.auth.access import Access


def opened_access(home: Path, place: StoreSettings) -> Access:
    """Those of the home, or with a URL those of the vault there."""
    if not place.url:
        return HomeAccess(home)
    from recollect.store.postgres.access import PostgresAccess  # noqa: PLC0415  start-up time

    return PostgresAccess(place)
