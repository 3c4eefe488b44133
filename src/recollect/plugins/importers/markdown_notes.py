"""Markdown notes of another tool: a note's front matter, body and title."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from recollect.plugin.importers import from_micros, iso, split
from recollect.plugins.importers.files import text_file
from recollect.plugins.importers.records import Record, plain

# Front matter is read as texts; these mean `null` in YAML.
NOTHING = ("null", "Null", "NULL", "~")


class Note(NamedTuple):
    """A note in a folder. `problem`: why its front matter could not be read; then it is part of the
    body."""

    name: str
    where: str
    fields: dict[str, object]
    body: str
    changed_at: str
    problem: str


def read_note(file: Path, root: Path) -> Note:
    """The note in a file; UserError where it cannot be read."""
    found = split(text_file(file))
    fields = {name: value for name, value in found.fields.items() if value not in NOTHING}
    changed = iso(from_micros(file.stat().st_mtime_ns // 1000))
    where = file.relative_to(root).as_posix()
    return Note(file.stem, where, fields, found.body.strip("\n"), changed, found.problem)


def put_title_and_text(record: Record, note: Note) -> None:
    """Set the title to that of the front matter, else to the file's name, and the text to the
    body."""
    record.take("title")
    if not record.has("title"):
        record.put("title", note.name, "name")
    title = (plain(note.fields.get("title")) or "").strip() or note.name
    record.put("text", without_title(note.body, title), "text")
    record.put("path", note.where, "path")
    if note.problem:
        record.leave("front matter")


def without_title(body: str, title: str) -> str:
    """The body without a first heading that only repeats the title."""
    first, _, rest = body.partition("\n")
    heading = first[1:].strip(" \t").rstrip("#").rstrip(" \t") if first[:1] == "#" else ""
    repeated = first[1:2] in (" ", "\t") and heading.casefold() == title.casefold()
    return rest.lstrip("\n") if heading and repeated else body
