"""Read chats from the exports of any service: a question and its answers become one memory.

An export is JSON files in a zip, in a folder, or alone; their entries are read one at a time.
Nothing is unpacked to disk: the members of a zip with matching names are read in place, up to a
limit that does not rely on the sizes in the zip.
"""

from __future__ import annotations

import json
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import msgspec

from recollect import UserError
from recollect.plugin.importers import ImportedRecord, refuse_record
from recollect.plugins.importers.files import (
    BOM,
    files_below,
    first_bytes,
    json_value,
    require_path,
    whole_file,
)
from recollect.plugins.importers.records import Record, clean_text, empty

# A file is read as a whole, and its entries are decoded one at a time.
LARGEST_FILE = 1024 * 2**20
# JSON of chats shrinks to a fifth or a tenth; a file that shrinks far more is a zip bomb.
LARGEST_RATIO = 400
# The directory of a zip is read as a whole; exports have a file for each picture that was sent.
MOST_MEMBERS = 200_000
# Bytes read at a time, so that a bomb is noticed before it fills the memory.
STEP = 2**20
# Entries at the beginning that show which tool wrote the file.
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
    """One entry of a file, counted from 1; or the reason why it cannot be read."""

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
    """Yield the records of every entry of every file.

    `check` raises UserError if a file's first entries are not of the tool. A bad file among others
    is reported; if all are bad, the error of the first is raised.
    """
    bad: list[ImportedRecord] = []
    good = False
    for file in export_files(path, tool, names):
        try:
            checked = _check_entries(file, check)
        except UserError as error:
            bad.append(refuse_record(file.name, str(error)))
            continue
        good = True
        yield from bad
        bad.clear()
        for entry in checked:
            yield from records(file.name, entry)
    if bad and not good:
        raise UserError(bad[0].reason)
    yield from bad


def _check_entries(
    file: ExportFile, check: Callable[[str, list[object]], None]
) -> Iterator[ExportEntry]:
    if file.raw is None:
        raise UserError(f"{file.name}: {file.reason}")
    rest = entries(file.raw, file.name)
    first = list(islice(rest, PEEK))
    check(file.name, [entry.value for entry in first])
    return chain(first, rest)


def export_files(path: Path, tool: str, names: re.Pattern[str]) -> Iterator[ExportFile]:
    """Yield the files with matching names, in the order of their names; UserError if there are
    none.

    A JSON file given as PATH may have any name. Zips in a folder are read as well: some exports
    come as several.
    """
    if require_path(path).is_dir():
        files = _in_folder(path, names)
    elif first_bytes(path, 4) in ZIP:
        files = _in_zip(path, names)
    else:
        return iter([ExportFile(path.name, whole_file(path, LARGEST_FILE))])
    first = next(files, None)
    if first is None:
        raise UserError(f"{path} holds no file of {tool}.")
    return chain([first], files)


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
    """Yield the entries of a JSON list, or the file's one object; else UserError names the file
    `what`."""
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


class ChatMessage(NamedTuple):
    """One message as a person sees it.

    names: of attached files.
    unmapped: names of values for which a memory has no field.
    """

    id: str
    asks: bool
    text: str
    at: object = None
    names: tuple[str, ...] = ()
    unmapped: tuple[str, ...] = ()


class Chat(NamedTuple):
    """One conversation; `unmapped`: names of its other values."""

    tool: str
    speaker: str
    id: str
    title: object
    turns: list[ChatMessage]
    project: object = None
    unmapped: tuple[str, ...] = ()


def exchanges(where: str, chat: Chat) -> Iterator[ImportedRecord]:
    """Yield a record for each question of the user, with the answers that followed."""
    groups = _groups(chat.turns)
    with_text = [group for group in groups if _has_text(group)]
    if not with_text:
        yield refuse_record(where, "It has no message with a text.")
    # Turns that were never shown are usually before the first question.
    hidden = [turn for group in groups if not _has_text(group) for turn in group]
    rest = chain(chat.unmapped, *(turn.unmapped for turn in hidden))
    ids: set[str] = set()
    for number, group in enumerate(with_text, start=1):
        record = _exchange(
            f"{where}, exchange {number}", chat, _id(chat, group, number, ids), group
        )
        record.add("context", f"Exchange {number} of the conversation")
        if names := dict.fromkeys(name for turn in group for name in turn.names):
            record.add("context", f"Attachments: {', '.join(names)}")
        if number == 1:
            record.leave(*(clean_text(name) for name in rest))
        yield record.finish()


def _groups(turns: list[ChatMessage]) -> list[list[ChatMessage]]:
    """Group the turns, each group a question and its answers. Several questions in a row are one;
    answers before the first question are a group, too."""
    groups: list[list[ChatMessage]] = []
    for turn in turns:
        if not groups or (turn.asks and not groups[-1][-1].asks):
            groups.append([])
        groups[-1].append(turn)
    return groups


def _has_text(group: list[ChatMessage]) -> bool:
    return any(turn.text.strip() for turn in group)


def _exchange(where: str, chat: Chat, id: str, group: list[ChatMessage]) -> Record:
    record = Record(where, {}, chat.tool, id, kind="exchange")
    record.put("title", chat.title, "title")
    record.put("project", chat.project, "project")
    for turn in group:
        if turn.text.strip():
            record.add("text", f"{'User' if turn.asks else chat.speaker}: {turn.text.strip()}")
        record.leave(*(clean_text(name) for name in turn.unmapped))
    times = [turn.at for turn in group if not empty(turn.at)]
    if times:
        record.put("created_at", times[0], "time")
        record.put("updated_at", times[-1], "time")
    return record


def _id(chat: Chat, group: list[ChatMessage], number: int, ids: set[str]) -> str:
    """Return an id from the first message with a text, which stays when the conversation goes on.
    The number replaces a missing id, and is added to a repeated one."""
    name = next((turn.id for turn in group if turn.id and turn.text.strip()), str(number))
    if name in ids:
        name = f"{name}-{number}"
    ids.add(name)
    return f"{chat.id}-{name}"


def unmapped_names(raw: Mapping[str, object], *known: str) -> tuple[str, ...]:
    """Return the names of the other values of an object, except false and empty ones."""
    return tuple(
        name
        for name, value in raw.items()
        if name not in known and value is not False and not empty(value)
    )


def text_of(value: object) -> str:
    return clean_text(value) if isinstance(value, str) else ""
