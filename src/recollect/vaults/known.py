"""The list of vaults: the home's own, the project's, and those from the settings, by priority.

A project's vault, `.recollect/vault.db` in a folder above, is used only after the user trusts it:
a cloned repository brings a vault that others have written. Nothing in it is read before that, and
nothing but the vault is ever read there: neither settings nor recipes.

Source of the priorities: the `vault` recipe, "Federation".
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct

from recollect.checks import check_path
from recollect.errors import UserError
from recollect.files import locked_folder, write_whole
from recollect.settings import Settings, VaultSettings, VaultTier
from recollect.settings_reading import checked_url
from recollect.types import NO_CHAIN, Chain, Memory

FOLDER = ".recollect"
FILE = "vault.db"
HOME = "agent"
PROJECT = "project"
PRIORITIES: dict[VaultTier, float] = {"agent": 1.0, "project": 0.8, "team": 0.6, "dynamic": 0.5}


def project_vault(start: Path) -> Path | None:
    """Return the vault of the nearest folder, from `start` upwards, that has one."""
    for folder in (start, *start.parents):
        file = folder / FOLDER / FILE
        try:
            if file.is_file():
                return file
        except OSError:  # a folder that may not be looked into
            continue
    return None


def working_folder() -> Path | None:
    """Return the working directory; None if it was removed."""
    try:
        return Path.cwd()
    except OSError:
        return None


def same_file(one: Path, other: Path) -> bool:
    """Return True if both paths lead to one file, through links or not."""
    try:
        return one.samefile(other)
    except OSError:  # one of them is not there
        return _real(one) == _real(other)


def _real(path: Path) -> Path:
    # `Path.resolve` refuses a link that leads to itself.
    return Path(os.path.realpath(path))


class Trusted:
    """The project vaults that may be used, by their real paths, in `home/trusted.json`."""

    def __init__(self, home: Path) -> None:
        self._file = home / "trusted.json"

    def all(self) -> list[str]:
        try:
            return msgspec.json.decode(self._file.read_bytes(), type=list[str])
        except FileNotFoundError:
            return []
        except (OSError, msgspec.MsgspecError) as error:
            raise UserError(
                f"{self._file} cannot be read; correct it, or remove it and trust again."
            ) from error

    def holds(self, vault: Path) -> bool:
        return within_project(vault) and str(_real(vault)) in self.all()

    def add(self, vault: Path) -> None:
        """Trust a vault; a link that leads out of the project is refused."""
        if not within_project(vault):
            raise UserError(
                f"{vault} is a link that leads out of its project, so it cannot be trusted."
            )
        with locked_folder(self._file.parent):
            self._write(sorted({*self.all(), str(_real(vault))}))

    def remove(self, vault: Path) -> bool:
        """Stop trusting a vault; return True if it was trusted."""
        with locked_folder(self._file.parent):
            before = self.all()
            left = [place for place in before if place != str(_real(vault))]
            if len(left) < len(before):
                self._write(left)
        return len(left) < len(before)

    def _write(self, places: list[str]) -> None:
        write_whole(self._file, msgspec.json.format(msgspec.json.encode(places)).decode() + "\n")


def within_project(vault: Path) -> bool:
    """Return False if the vault is a link that leads out of its project."""
    project = _real(vault.parent.parent)
    return _real(vault).is_relative_to(project)


class KnownVault(Struct, frozen=True):
    """A vault by name: a file, or a server's address."""

    name: str
    tier: VaultTier
    priority: float
    path: Path | None = None
    url: str = ""
    token_env: str = ""
    passphrase_env: str = ""


class FoundMemory(NamedTuple):
    """A memory with the name of its vault.

    asked: the requested id, if that memory was merged into this one.
    chain: what it replaces, and what replaced it.
    """

    vault: str
    memory: Memory
    asked: str = ""
    chain: Chain = NO_CHAIN


def known_vaults(settings: Settings, home: Path, own: Path, start: Path | None) -> list[KnownVault]:
    """Return the home's own vault, the trusted project vault above `start`, and those that the
    settings name: by priority, the home's own first among equals.

    own: the file of the home's vault.
    """
    vaults = _configured_vaults(settings, home, own)
    project = _nearest(vaults, start)
    if project is not None and Trusted(home).holds(project):
        vaults.append(KnownVault(PROJECT, "project", PRIORITIES["project"], project))
    return sorted(vaults, key=lambda vault: (-vault.priority, vault.name != HOME, vault.name))


def untrusted_vault(settings: Settings, home: Path, own: Path, start: Path | None) -> Path | None:
    """Return the project vault above `start` that would be searched if it were trusted."""
    project = _nearest(_configured_vaults(settings, home, own), start)
    return project if project is not None and not Trusted(home).holds(project) else None


def _nearest(known: Sequence[KnownVault], start: Path | None) -> Path | None:
    """Return the project vault, unless the settings name it: a home may be a `.recollect`."""
    project = project_vault(start) if start is not None else None
    if project is None or any(vault.path and same_file(vault.path, project) for vault in known):
        return None
    return project


def _configured_vaults(settings: Settings, home: Path, own: Path) -> list[KnownVault]:
    """Return the home's own vault and those of the settings; a repeated name or place is an
    error, since memories would be found twice."""
    vaults = [KnownVault(HOME, "agent", PRIORITIES["agent"], own)]
    for number, table in enumerate(settings.vaults, start=1):
        place = f"{home / 'config.toml'}: [[vaults]] number {number}"
        vault = _read_table(table, home, place)
        _check(vault, vaults, place)
        if any(vault.name == collection.name for collection in settings.collections):
            raise UserError(f"{place}: a collection is named {vault.name!r}, too; choose another.")
        vaults.append(vault)
    return vaults


def _read_table(table: VaultSettings, home: Path, place: str) -> KnownVault:
    """Read one `[[vaults]]` table; a relative path starts at the home folder."""
    priority = PRIORITIES[table.tier] if table.priority is None else table.priority
    if table.url:
        parts = checked_url(table.url, f"{place}: url")
        if parts.username is not None or parts.password is not None:
            raise UserError(f"{place}: the url holds a password; put it into token_env's variable.")
        return KnownVault(table.name, table.tier, priority, None, table.url, table.token_env)
    try:
        path = home / check_path(Path(table.path)).expanduser()
    except UserError as error:
        raise UserError(f"{place}: {error}") from error
    except RuntimeError as error:  # "~name" of an unknown user
        raise UserError(f"{place}: path names a home folder that is not there.") from error
    return KnownVault(table.name, table.tier, priority, path, passphrase_env=table.passphrase_env)


def _check(vault: KnownVault, others: Sequence[KnownVault], place: str) -> None:
    if vault.name in (HOME, PROJECT):
        raise UserError(
            f"{place}: {vault.name!r} is the name of the {vault.name} vault itself; choose another."
        )
    for other in others:
        if vault.name == other.name:
            raise UserError(f"{place}: another vault is named {vault.name!r}, too; choose another.")
        if vault.path and other.path and same_file(vault.path, other.path):
            raise UserError(
                f"{place}: the vaults {other.name!r} and {vault.name!r} are the same file, "
                f"{vault.path}; remove one of them."
            )
        if vault.url and vault.url.rstrip("/") == other.url.rstrip("/"):
            raise UserError(
                f"{place}: the vaults {other.name!r} and {vault.name!r} are at the same address; "
                "remove one of them."
            )
