"""What importers of Markdown notes share: a note's front matter, its body, its tags."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from recollect.documents.front_matter import split
from recollect.importers.files import text_file
from recollect.importers.records import Piece, plain
from recollect.times import from_micros, iso

# Front matter is read as texts: these are YAML's ways of saying nothing.
NOTHING = ("null", "Null", "NULL", "~")
HEADING = re.compile(r"#[ \t]+(.+?)[ \t]*#*[ \t]*")


class Note(NamedTuple):
    """A note in a folder of them. `problem`: why its front matter could not be read; then it is in
    the body."""

    name: str
    where: str
    fields: dict[str, object]
    body: str
    changed_at: str
    problem: str


def note(file: Path, root: Path) -> Note:
    """The note in a file; UserError where it cannot be read."""
    found = split(text_file(file))
    fields = {name: value for name, value in found.fields.items() if value not in NOTHING}
    changed = iso(from_micros(file.stat().st_mtime_ns // 1000))
    where = file.relative_to(root).as_posix()
    return Note(file.stem, where, fields, found.body.strip("\n"), changed, found.problem)


def titled(piece: Piece, held: Note) -> None:
    """The title that the front matter gives, else the file's name; and the body as the text."""
    piece.take("title", "title")
    if not piece.has("title"):
        piece.put("title", held.name, "name")
    title = (plain(held.fields.get("title")) or "").strip() or held.name
    piece.put("text", without_title(held.body, title), "text")
    piece.put("path", held.where, "path")
    if held.problem:
        piece.leave("front matter")


def without_title(body: str, title: str) -> str:
    """The body without a first heading that only repeats the title."""
    first, _, rest = body.partition("\n")
    heading = HEADING.fullmatch(first)
    return rest.lstrip("\n") if heading and heading[1].casefold() == title.casefold() else body


def bare_tags(value: object, separators: str) -> object:
    """Tags of front matter without the `#` that some write before them; one text may hold several
    tags."""
    items = re.split(f"[{separators}]+", value) if isinstance(value, str) else value
    if not isinstance(items, list):
        return items
    return [item.strip().lstrip("#") if isinstance(item, str) else item for item in items]
