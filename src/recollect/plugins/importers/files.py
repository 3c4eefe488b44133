"""Read untrusted files, JSON and folders of other tools.

A problem with the whole PATH is a `UserError`; a problem with one line is returned as its reason,
and the rest is read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from recollect import UserError

# A JSON file is read as a whole; this fits into the memory of a small machine.
LARGEST_JSON = 256 * 2**20
# One note, or one line of JSON Lines: a longer one is a dump of data, not a memory.
LARGEST_TEXT = 16 * 2**20
BOM = b"\xef\xbb\xbf"


def require_path(path: Path) -> Path:
    """Return PATH; UserError if it does not exist."""
    try:
        if "\0" not in str(path) and path.exists():
            return path
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}.") from error
    raise UserError(f"There is no file or folder {str(path)!r}.")


def whole_file(path: Path, most: int = LARGEST_JSON) -> bytes:
    """Return a file's bytes; UserError if it cannot be read or is larger than `most`."""
    raw = first_bytes(path, most + 1)
    if len(raw) > most:
        raise UserError(f"{path} is larger than {most // 2**20} MB, which is more than is read.")
    return raw


def first_bytes(path: Path, count: int) -> bytes:
    """Return the first bytes of a file; UserError if it cannot be read."""
    if not require_path(path).is_file():
        raise UserError(f"{path} is not a file.")
    try:
        with path.open("rb") as stream:
            return stream.read(count)
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}.") from error


def text_file(path: Path) -> str:
    """Return a file's text without a byte order mark; UserError if it is not UTF-8."""
    try:
        return whole_file(path, LARGEST_TEXT).removeprefix(BOM).decode().replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not valid UTF-8 text.") from error


def json_file(path: Path) -> object:
    """Return the value in a JSON file, or raise UserError."""
    return json_value(whole_file(path), str(path))


def json_value(raw: bytes | str, what: str) -> object:
    """Return the value of a JSON text, or raise a UserError that calls it `what`."""
    try:
        bare = raw.removeprefix(BOM) if isinstance(raw, bytes) else raw
        value: object = msgspec.json.decode(bare)
    except (UnicodeDecodeError, UnicodeEncodeError) as error:
        raise UserError(f"{what} is not valid UTF-8 text.") from error
    except (msgspec.DecodeError, RecursionError) as error:
        raise UserError(f"{what} is not valid JSON: {error}.") from error
    return value


def json_object(value: object) -> dict[str, object]:
    """Return the value if it is a JSON object or the text of one; else an empty object."""
    decoded = _from_text(value)
    return decoded if isinstance(decoded, dict) else {}


def json_list(value: object) -> list[object] | None:
    """Return the value if it is a JSON list or the text of one; else None."""
    decoded = _from_text(value)
    return decoded if isinstance(decoded, list) else None


def _from_text(value: object) -> object:
    try:
        return json_value(value, "") if isinstance(value, str) else value
    except UserError:
        return None


class JsonLine(NamedTuple):
    """One line of a JSON Lines file, counted from 1: an object, or the reason why it is not one."""

    number: int
    values: dict[str, object] | None
    reason: str = ""


def json_lines(path: Path) -> Iterator[JsonLine]:
    """Yield every line that is not blank."""
    if not require_path(path).is_file():
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
                    yield JsonLine(number, None, f"It is longer than {LARGEST_TEXT // 2**20} MB.")
                elif line.strip():
                    yield _line(number, line)
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}.") from error


def _line(number: int, raw: bytes) -> JsonLine:
    try:
        value = json_value(raw, "It")
    except UserError as error:
        return JsonLine(number, None, str(error))
    if not isinstance(value, dict):
        return JsonLine(number, None, "It is not a JSON object.")
    return JsonLine(number, value)


def files_below(folder: Path, *endings: str) -> Iterator[Path]:
    """Yield the files of a folder with these endings, in the order of their paths.

    Links are not followed, since they may lead out of the folder. Hidden files and folders are left
    out: they belong to a tool (`.git`, `.obsidian`).
    """
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            file = Path(place, name)
            fits = name.lower().endswith(endings) and not name.startswith(".")
            if fits and not file.is_symlink() and file.is_file():
                yield file
