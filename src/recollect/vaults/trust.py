"""Project vaults: `.recollect/vault.db` in a folder above, used only once its owner said so.

Whoever clones a repository gets its vault too, written by others. Nothing in it is read before it
is trusted, and nothing but the vault is ever read there: neither settings nor recipes.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from recollect.errors import UserError
from recollect.files import locked_folder, write_whole

FOLDER = ".recollect"
FILE = "vault.db"


def project_vault(start: Path) -> Path | None:
    """The vault of the nearest folder, from `start` upwards, that has one."""
    for folder in (start, *start.parents):
        file = folder / FOLDER / FILE
        try:
            if file.is_file():
                return file
        except OSError:  # a folder that may not be looked into
            continue
    return None


def working_folder() -> Path | None:
    """Where this process is; None where that folder is gone."""
    try:
        return Path.cwd()
    except OSError:
        return None


def same_file(one: Path, other: Path) -> bool:
    """Whether both are one file, by whatever name or link."""
    try:
        return one.samefile(other)
    except OSError:  # one of them is not there
        return _real(one) == _real(other)


def _real(path: Path) -> Path:
    """`Path.resolve`, which refuses a link that leads to itself."""
    return Path(os.path.realpath(path))


class Trusted:
    """The project vaults that may be used, by their real places, in `home/trusted.json`."""

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
        """Trust it from now on; a link that leads out of the project is refused."""
        if not within_project(vault):
            raise UserError(
                f"{vault} is a link that leads out of its project, so it cannot be trusted."
            )
        with locked_folder(self._file.parent):
            self._write(sorted({*self.all(), str(_real(vault))}))

    def remove(self, vault: Path) -> bool:
        """Trust it no more; returns whether it was trusted."""
        with locked_folder(self._file.parent):
            before = self.all()
            left = [place for place in before if place != str(_real(vault))]
            if len(left) < len(before):
                self._write(left)
        return len(left) < len(before)

    def _write(self, places: list[str]) -> None:
        write_whole(self._file, msgspec.json.format(msgspec.json.encode(places)).decode() + "\n")


def within_project(vault: Path) -> bool:
    """Whether the file is really in the folder whose vault it is said to be."""
    project = _real(vault.parent.parent)
    return _real(vault).is_relative_to(project)
