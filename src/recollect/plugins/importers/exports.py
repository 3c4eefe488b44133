"""The JSON files of an export, in a zip, in a folder, or alone; and their entries, one at a time.

Nothing is unpacked to disk: the members of a zip with matching names are read in place, up to a
limit that does not rely on what the zip says of itself.
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

from recollect import UserError
from recollect.plugin.importers import ImportedRecord, refused
from recollect.plugins.importers.files import (
    BOM,
    files_below,
    first_bytes,
    json_value,
    present,
    whole_file,
)

# A file is read as a whole, and its entries one by one: only one of them is in memory at a time.
LARGEST_FILE = 1024 * 2**20
# JSON of chats shrinks to a fifth or a tenth; a file that shrinks far more is a bomb.
LARGEST_RATIO = 400
# The directory of a zip is read as a whole; exports have a file for each picture that was sent.
MOST_MEMBERS = 200_000
# Bytes read at a time, so that a bomb is noticed before it fills the memory.
STEP = 2**20
# If so many entries at the beginning are not of the tool, the file is something else.
PEEK = 5
# LZMA may need gigabytes for its first byte, and no export uses it.
PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
ZIP = (b"PK\x03\x04", b"PK\x05\x06")
BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, NotImplementedError)


class ExportFile(NamedTuple):
    """One file of an export; or the reason why it cannot be read."""

    name: str
    raw: bytes | None
    reason: str = ""


class ExportEntry(NamedTuple):
    """One entry of a file, counted from 1; or the reason why there is none."""

    number: int
    value: object
    reason: str = ""


def read_export(
    path: Path,
    tool: str,
    names: re.Pattern[str],
    check: Callable[[str, list[object]], None],
    records: Callable[[str, ExportEntry], Iterator[ImportedRecord]],
) -> Iterator[ImportedRecord]:
    """The records of every entry of every file.

    `check` raises UserError where a file's first entries are not of the tool. A bad file among
    others is reported; if all are bad, the error of the first is raised.
    """
    bad: list[ImportedRecord] = []
    good = False
    for file in export_files(path, tool, names):
        try:
            checked = _checked_entries(file, check)
        except UserError as error:
            bad.append(refused(file.name, str(error)))
            continue
        good = True
        yield from bad
        bad.clear()
        for entry in checked:
            yield from records(file.name, entry)
    if bad and not good:
        raise UserError(bad[0].reason)
    yield from bad


def _checked_entries(
    file: ExportFile, check: Callable[[str, list[object]], None]
) -> Iterator[ExportEntry]:
    if file.raw is None:
        raise UserError(f"{file.name}: {file.reason}")
    found = entries(file.raw, file.name)
    first = list(islice(found, PEEK))
    check(file.name, [entry.value for entry in first])
    return chain(first, found)


def export_files(path: Path, tool: str, names: re.Pattern[str]) -> Iterator[ExportFile]:
    """The files with matching names, in the order of their names; UserError where there is none.

    A PATH that is itself a JSON file may have any name. Zips in a folder are read as well: some
    exports come as several.
    """
    if present(path).is_dir():
        found = _in_folder(path, names)
    elif first_bytes(path, 4) in ZIP:
        found = _in_zip(path, names)
    else:
        return iter([ExportFile(path.name, whole_file(path, LARGEST_FILE))])
    first = next(found, None)
    if first is None:
        raise UserError(f"{path} holds no file of {tool}.")
    return chain([first], found)


def _in_folder(folder: Path, names: re.Pattern[str]) -> Iterator[ExportFile]:
    for file in files_below(folder, ".json", ".zip"):
        name = file.relative_to(folder).as_posix()
        try:
            if name.lower().endswith(".zip"):
                yield from _in_zip(file, names)
            elif names.search(name):
                yield ExportFile(name, whole_file(file, LARGEST_FILE))
        except UserError as error:
            yield ExportFile(name, None, str(error))


def _in_zip(path: Path, names: re.Pattern[str]) -> Iterator[ExportFile]:
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


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> ExportFile:
    name = member.filename
    if name.startswith(("/", "\\")) or ".." in re.split(r"[/\\]", name) or ":" in name:
        return ExportFile(name, None, "Its name leads out of the zip.")
    if member.compress_type not in PACKED:
        return ExportFile(name, None, "It is compressed in a way that exports are not.")
    most = min(LARGEST_FILE, max(STEP, member.compress_size * LARGEST_RATIO))
    content = bytearray()
    try:
        with archive.open(member) as stream:
            while block := stream.read(STEP):
                content += block
                if len(content) > most:
                    return ExportFile(name, None, f"It is larger than {most // 2**20} MB unpacked.")
    except BROKEN as error:
        return ExportFile(name, None, f"It cannot be read: {error}.")
    return ExportFile(name, bytes(content))


def entries(raw: bytes, what: str) -> Iterator[ExportEntry]:
    """The entries of a JSON list, or the one object that the file is; UserError that calls the
    file `what` where it is neither."""
    bare = raw.removeprefix(BOM)
    try:
        parts = msgspec.json.decode(bare, type=list[msgspec.Raw])
    except (msgspec.DecodeError, RecursionError):
        return _leniently(bare, what)
    return (_entry(number, part) for number, part in enumerate(parts, start=1))


def _entry(number: int, part: msgspec.Raw) -> ExportEntry:
    try:
        return ExportEntry(number, json_value(bytes(part), "It"))
    except UserError as error:
        return ExportEntry(number, None, str(error))


def _leniently(raw: bytes, what: str) -> Iterator[ExportEntry]:
    """The entries by another parser, which takes half a character written as `\\ud83d`; chats are
    sometimes cut off there."""
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
    return (ExportEntry(number, entry) for number, entry in enumerate(value, start=1))
