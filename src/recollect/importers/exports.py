"""The JSON files of an export, in a zip, in a folder, or alone; and their entries, one at a time.

Nothing is ever unpacked to disk: the members of a zip are read where they are, by names that fit,
and no further than to a limit that does not trust what the zip says of itself.
"""

from __future__ import annotations

import json
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import msgspec

from recollect.errors import UserError
from recollect.importers.base import Taken
from recollect.importers.files import BOM, files_below, json_value, present, whole_file

# A file is read as a whole, its entries one by one: beside it only one entry takes memory.
LARGEST_FILE = 1024 * 2**20
# JSON of chats shrinks to a fifth or a tenth; what shrinks a hundred times more was made to.
LARGEST_RATIO = 400
# The folder of a zip is read as a whole; exports hold a file for each picture that was sent.
MOST_MEMBERS = 200_000
# Bytes at once, so that a bomb is noticed before it fills the memory.
STEP = 2**20
# So many entries without what they are known by mean that the file is something else.
PEEK = 5
# LZMA may ask for gigabytes before it gives the first byte, and no export uses it.
PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
ZIP = (b"PK\x03\x04", b"PK\x05\x06")
BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, NotImplementedError)


class Found(NamedTuple):
    """One file of an export; or the reason why it cannot be read."""

    name: str
    raw: bytes | None
    reason: str = ""


class Entry(NamedTuple):
    """One entry of a file, counted from 1; or the reason why there is none."""

    number: int
    value: object
    reason: str = ""


def read_export(
    path: Path,
    tool: str,
    names: re.Pattern[str],
    check: Callable[[str, list[object]], None],
    pieces: Callable[[str, Entry], Iterator[Taken]],
) -> Iterator[Taken]:
    """The pieces of every entry of every file.

    `check` raises UserError where a file's first entries are not of the tool. One bad file among
    others is named and left out; where no file is good, the first one's error is raised.
    """
    bad: list[Taken] = []
    good = False
    for found in export_files(path, tool, names):
        try:
            listed = _checked(found, check)
        except UserError as error:
            bad.append(Taken(found.name, None, str(error)))
            continue
        good = True
        yield from bad
        bad.clear()
        for entry in listed:
            yield from pieces(found.name, entry)
    if bad and not good:
        raise UserError(bad[0].reason)
    yield from bad


def _checked(found: Found, check: Callable[[str, list[object]], None]) -> Iterator[Entry]:
    if found.raw is None:
        raise UserError(f"{found.name}: {found.reason}")
    listed = entries(found.raw, found.name)
    first = list(islice(listed, PEEK))
    check(found.name, [entry.value for entry in first])
    return chain(first, listed)


def export_files(path: Path, tool: str, names: re.Pattern[str]) -> Iterator[Found]:
    """The files whose names fit, in the order of their names; UserError where there is none.

    A JSON file that is given itself is read whatever its name is. In a folder zips are looked into
    as well: some exports come as several.
    """
    if present(path).is_dir():
        found = _in_folder(path, names)
    elif _starts(path).startswith(ZIP):
        found = _in_zip(path, names)
    else:
        return iter([Found(path.name, whole_file(path, LARGEST_FILE))])
    first = next(found, None)
    if first is None:
        raise UserError(f"{path} holds no file of {tool}.")
    return _chained(first, found)


def _chained(first: Found, rest: Iterator[Found]) -> Iterator[Found]:
    yield first
    yield from rest


def _starts(path: Path) -> bytes:
    if not path.is_file():
        raise UserError(f"{path} is neither a file nor a folder.")
    try:
        with path.open("rb") as stream:
            return stream.read(4)
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}.") from error


def _in_folder(folder: Path, names: re.Pattern[str]) -> Iterator[Found]:
    for file in files_below(folder, ".json", ".zip"):
        name = file.relative_to(folder).as_posix()
        try:
            if name.lower().endswith(".zip"):
                yield from _in_zip(file, names)
            elif names.search(name):
                yield Found(name, whole_file(file, LARGEST_FILE))
        except UserError as error:
            yield Found(name, None, str(error))


def _in_zip(path: Path, names: re.Pattern[str]) -> Iterator[Found]:
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            if len(members) > MOST_MEMBERS:
                raise UserError(f"{path} holds more than {MOST_MEMBERS} files.")
            for member in sorted(members, key=lambda member: member.filename):
                if names.search(member.filename) and not member.is_dir():
                    yield _member(archive, member)
    except (*BROKEN, ValueError) as error:
        raise UserError(f"{path} is not a zip that can be read: {error}.") from error


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Found:
    name = member.filename
    if name.startswith(("/", "\\")) or ".." in re.split(r"[/\\]", name) or ":" in name:
        return Found(name, None, "Its name leads out of the zip.")
    if member.compress_type not in PACKED:
        return Found(name, None, "It is packed in a way that exports are not.")
    most = min(LARGEST_FILE, max(STEP, member.compress_size * LARGEST_RATIO))
    held = bytearray()
    try:
        with archive.open(member) as stream:
            while chunk := stream.read(STEP):
                held += chunk
                if len(held) > most:
                    return Found(name, None, f"It is larger than {most // 2**20} MB unpacked.")
    except BROKEN as error:
        return Found(name, None, f"It cannot be read: {error}.")
    return Found(name, bytes(held))


def entries(raw: bytes, what: str) -> Iterator[Entry]:
    """The entries of a JSON list, or the one object that the file is; UserError that calls the
    file `what` where it is neither."""
    bare = raw.removeprefix(BOM)
    try:
        parts = msgspec.json.decode(bare, type=list[msgspec.Raw])
    except (msgspec.DecodeError, RecursionError):
        return _leniently(bare, what)
    return (_entry(number, part) for number, part in enumerate(parts, start=1))


def _entry(number: int, part: msgspec.Raw) -> Entry:
    try:
        return Entry(number, json_value(bytes(part), "It"))
    except UserError as error:
        return Entry(number, None, str(error))


def _leniently(raw: bytes, what: str) -> Iterator[Entry]:
    """Half a character written as `\\ud83d` spoils a file for one parser and not for the other;
    chats are cut in such places."""
    try:
        value = json.loads(raw)
    except UnicodeDecodeError as error:
        raise UserError(f"{what} is not valid UTF-8 text.") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{what} is not valid JSON: {error}.") from error
    if isinstance(value, dict):
        value = [value]
    if not isinstance(value, list):
        raise UserError(f"{what} holds neither a list nor an object.")
    return (Entry(number, one) for number, one in enumerate(value, start=1))
