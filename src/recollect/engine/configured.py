"""What the settings say and where each comes from; the vaults and collections that they name."""

from __future__ import annotations

import re
from typing import NamedTuple

import msgspec

from recollect.engine.session import Session
from recollect.settings import CollectionSettings
from recollect.settings_reading import sources, variable_of
from recollect.vaults.known import KnownVault, known_vaults

PASSWORD = re.compile(r"(?<=://)[^/@\s]*(?=@)|(?<=password=)[^&\s\"]++")


class ConfiguredSetting(NamedTuple):
    """A setting: its value as JSON, a password in an address left out, and where that comes from:
    `default`, `file`, or the name of the environment variable."""

    key: str
    value: str
    source: str


class KnownPlaces(NamedTuple):
    """The vaults that are searched, and the collections behind one's own."""

    vaults: list[KnownVault]
    collections: tuple[CollectionSettings, ...]


def configured(session: Session) -> list[ConfiguredSetting]:
    found = []
    for key, source in sources(session.home, session.others.environment).items():
        section, name = key.split(".")
        value = getattr(getattr(session.settings, section), name)
        text = PASSWORD.sub("…", msgspec.json.encode(value).decode())
        found.append(
            ConfiguredSetting(key, text, variable_of(key) if source == "environment" else source)
        )
    return found


def known_places(session: Session) -> KnownPlaces:
    vaults = known_vaults(session.settings, session.home, session.path, None)
    return KnownPlaces(vaults, tuple(session.settings.collections))
