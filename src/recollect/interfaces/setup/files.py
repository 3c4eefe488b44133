"""Read and replace another program's file without losing any of its content; and read and change
values at a path of keys."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Any

from msgspec import Struct

from recollect.errors import UserError
from recollect.files import locked_folder, sync_folder

Keys = tuple[str, ...]
BOM = "\N{ZERO WIDTH NO-BREAK SPACE}"


class Malformed(Exception):
    """Raised if the text is not valid in its format, so nothing may be written over it."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason if line is None else f"line {line}: {reason}")


def value_at(data: Any, path: Keys) -> Any:
    """Return the value at that path, or None."""
    for key in path:
        data = data.get(key) if isinstance(data, dict) else None
    return data


def with_value_at(data: Any, path: Keys, value: Any) -> Any:
    """Return the data with the value at that path, adding missing dictionaries."""
    if not path:
        return value
    inside = data if isinstance(data, dict) else {}
    return inside | {path[0]: with_value_at(inside.get(path[0]), path[1:], value)}


def without_value_at(data: Any, path: Keys) -> Any:
    """Return the data without the value at that path; a number in the path is a list's index."""
    if isinstance(data, list):
        at = int(path[0])
        changed = [without_value_at(data[at], path[1:])] if path[1:] else []
        return data[:at] + changed + data[at + 1 :]
    if not isinstance(data, dict) or path[0] not in data:
        return data
    if len(path) == 1:
        return {key: value for key, value in data.items() if key != path[0]}
    return data | {path[0]: without_value_at(data[path[0]], path[1:])}


def leaves(data: dict[str, Any]) -> Iterator[tuple[Keys, Any]]:
    """Yield every value that is not a dictionary, with its path."""
    for key, value in data.items():
        if isinstance(value, dict):
            yield from (((key, *below), leaf) for below, leaf in leaves(value))
        else:
            yield (key,), value


class FileText(Struct, frozen=True):
    """A file's text, and its byte order mark, if any."""

    text: str
    bom: str = ""
    exists: bool = True

    def encode(self) -> bytes:
        return (self.bom + self.text).encode()


def read_file(file: Path) -> FileText:
    """Return the file's text with its own line ends; "" if it does not exist."""
    try:
        text = file.read_bytes().decode()
    except (FileNotFoundError, NotADirectoryError):
        return FileText("", exists=False)
    except OSError as error:
        raise UserError(f"{file} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise UserError(
            f"{file} cannot be read, line {line}: it is not UTF-8 text; nothing was changed."
        ) from error
    bare = text.removeprefix(BOM)
    return FileText(bare, BOM if bare != text else "")


def replace_file(file: Path, before: FileText, after: FileText) -> None:
    """Replace the file atomically, by way of a temporary file.

    If it is a link, its target is replaced. Raise UserError if a client has written the file in the
    meantime, or if it is read-only.
    """
    target = Path(os.path.realpath(file))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if before.exists and not os.access(target, os.W_OK):
            raise UserError(f"{file} is read-only, so nothing was changed; make it writable first.")
        beside = target.with_name(f".{target.name}.{token_hex(4)}.tmp")
        try:
            _write_new(beside, after.encode(), like=target if before.exists else None)
            with locked_folder(target.parent):
                if read_file(file) != before:
                    raise UserError(
                        f"{file} was changed by someone else meanwhile; run this again."
                    )
                beside.replace(target)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
        sync_folder(target.parent)
    except OSError as error:
        raise UserError(f"{file} cannot be written: {error.strerror}.") from error


def _write_new(file: Path, content: bytes, like: Path | None) -> None:
    """Create a file with the mode of the old one from the start, since it may contain keys."""
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if like else 0o666)
    with os.fdopen(descriptor, "wb") as stream:
        if like is not None:
            _keep_rights(descriptor, file, like)
        stream.write(content)
        stream.flush()
        os.fsync(descriptor)


def _keep_rights(descriptor: int, file: Path, like: Path) -> None:
    status = like.stat()
    if hasattr(os, "fchown"):
        with suppress(PermissionError):  # only root can change owners, and needs to
            os.fchown(descriptor, status.st_uid, status.st_gid)
    file.chmod(stat.S_IMODE(status.st_mode))
