"""Write a user's own recipe as a TOML file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from recollect.errors import Exists, UserError
from recollect.files import locked_folder, write_whole
from recollect.recipes.overrides import Tree, nested_changes
from recollect.recipes.show import toml_lines
from recollect.settings_reading import toml_values

# A name is also a file name, on every system, and a part of a URL.
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)")  # names that Windows keeps for devices


def write_recipe(
    folder: Path, name: str, extends: str, changes: Mapping[str, object], *, replace: bool
) -> Path:
    """Write `folder/NAME.toml` with the extended recipe's name and the changes; return the file."""
    file = folder / _file_name(name)
    text = _as_toml({"extends": extends} | nested_changes(changes))
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with locked_folder(folder):
            if file.exists() and not replace:
                raise Exists(f"There is a recipe {name!r} already; say that it is to be replaced.")
            write_whole(file, text)
    except OSError as error:
        raise UserError(f"{file} cannot be written: {error.strerror}.") from error
    return file


def rename_recipe(file: Path, name: str) -> None:
    """Rename a recipe's file; raise Exists if there is one of that name."""
    new = file.with_name(_file_name(name))
    try:
        with locked_folder(file.parent):
            if new.exists():
                raise Exists(f"There is a recipe {name!r} already; choose another name.")
            file.rename(new)
    except OSError as error:
        raise UserError(f"{file} cannot be renamed: {error.strerror}.") from error


def _file_name(name: str) -> str:
    if not NAME.fullmatch(name) or RESERVED.fullmatch(name):
        raise UserError(
            f"A recipe cannot be named {name!r}: a name has up to 64 small letters, digits, "
            "hyphens and underscores, and begins with a letter or digit."
        )
    return f"{name}.toml"


def _as_toml(tree: Tree) -> str:
    """Return the tree as TOML; raise UserError for values that cannot be read back, such as null or
    control characters."""
    text = "\n".join(toml_lines(tree)).rstrip() + "\n"
    try:
        toml_values(text.encode().decode())
    except ValueError as error:  # of UTF-8 or of TOML
        raise UserError(f"These changes cannot be written as TOML: {error}.") from error
    return text
