"""Files, JSON and folders of another tool, all of them untrusted.

What is wrong with PATH as a whole is a `UserError`; what is wrong with one line comes back as a
reason beside it, and the rest goes on.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from recollect.errors import UserError

# A JSON file is read as a whole: this much of it fits into the memory of a small machine.
LARGEST_JSON = 256 * 2**20
# One note, one line of JSON Lines: more is a dump of data and no memory.
LARGEST_TEXT = 16 * 2**20
BOM = b"\xef\xbb\xbf"


def present(path: Path) -> Path:
    """PATH, which must be there."""
    try:
        if "\0" not in str(path) and path.exists():
            return path
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}.") from error
    raise UserError(f"There is no file or folder {str(path)!r}.")


def whole_file(path: Path, most: int = LARGEST_JSON) -> bytes:
    """A file's bytes, or UserError where it cannot be read or is larger than that."""
    if not present(path).is_file():
        raise UserError(f"{path} is not a file.")
    try:
        with path.open("rb") as stream:
            raw = stream.read(most + 1)
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}.") from error
    if len(raw) > most:
        raise UserError(f"{path} is larger than {most // 2**20} MB, which is more than is read.")
    return raw


def text_file(path: Path, most: int = LARGEST_TEXT) -> str:
    """A file's text, or UserError where it has none; a byte order mark is no part of it."""
    try:
        return whole_file(path, most).removeprefix(BOM).decode().replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not valid UTF-8 text.") from error


def json_file(path: Path) -> object:
    """What a JSON file holds, or UserError."""
    return json_value(whole_file(path), str(path))


def json_value(raw: bytes | str, what: str) -> object:
    """What a JSON text says, or UserError that calls it `what`."""
    try:
        bare = raw.removeprefix(BOM) if isinstance(raw, bytes) else raw
        value: object = msgspec.json.decode(bare)
    except (UnicodeDecodeError, UnicodeEncodeError) as error:
        raise UserError(f"{what} is not valid UTF-8 text.") from error
    except (msgspec.DecodeError, RecursionError) as error:
        raise UserError(f"{what} is not valid JSON: {error}.") from error
    return value


def json_object(value: object) -> dict[str, object]:
    """The value where it is a JSON object, or where it is the text of one; else an empty one."""
    if isinstance(value, str):
        try:
            value = json_value(value, "")
        except UserError:
            return {}
    return value if isinstance(value, dict) else {}


def json_list(value: object) -> list[object] | None:
    """The value where it is a JSON list, or where it is the text of one; else None."""
    if isinstance(value, str):
        try:
            value = json_value(value, "")
        except UserError:
            return None
    return value if isinstance(value, list) else None


class Line(NamedTuple):
    """One line of a JSON Lines file: an object, or the reason why it is none. Counted from 1."""

    number: int
    values: dict[str, object] | None
    reason: str = ""


def json_lines(path: Path) -> Iterator[Line]:
    """Every line that holds something."""
    if not present(path).is_file():
        raise UserError(f"{path} is not a file.")
    try:
        with path.open("rb") as stream:
            number = 0
            while raw := stream.readline(LARGEST_TEXT + 1):
                number += 1
                whole = len(raw) <= LARGEST_TEXT
                while not (whole or raw.endswith(b"\n")) and raw:
                    raw = stream.readline(LARGEST_TEXT + 1)  # the line's rest
                line = raw.removeprefix(BOM) if number == 1 else raw
                if not whole:
                    yield Line(number, None, f"It is longer than {LARGEST_TEXT // 2**20} MB.")
                elif line.strip():
                    yield _line(number, line)
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}.") from error


def _line(number: int, raw: bytes) -> Line:
    try:
        value = json_value(raw, "It")
    except UserError as error:
        return Line(number, None, str(error))
    if not isinstance(value, dict):
        return Line(number, None, "It is not a JSON object.")
    return Line(number, value)


def files_below(folder: Path, *endings: str) -> Iterator[Path]:
    """The files of a folder whose names end so, in the order of their paths.

    Links are not followed and hidden files and folders are left out: they belong to a tool
    (`.git`, `.obsidian`) or lead out of the folder.
    """
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            file = Path(place, name)
            fits = name.lower().endswith(endings) and not name.startswith(".")
            if fits and not file.is_symlink() and file.is_file():
                yield file
