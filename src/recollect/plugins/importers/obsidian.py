"""Import the notes and canvases of an Obsidian vault.

The format: Obsidian's help pages `Properties`, `Tags` and `Aliases` (help.obsidian.md), and JSON
Canvas 1.0 (jsoncanvas.org). Links, embeds and callouts are part of a note's text and stay there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from recollect import UserError
from recollect.plugin.importers import ImportedRecord, Importer, refuse_record, structure, tag_list
from recollect.plugins.importers.files import (
    LARGEST_TEXT,
    files_below,
    json_file,
    json_value,
    require_path,
    whole_file,
)
from recollect.plugins.importers.records import (
    Note,
    Record,
    bullet_list,
    empty,
    moment,
    plain,
    put_title_and_text,
    read_note,
    without_repeats,
)

TOOL = "obsidian"
SETTINGS = ".obsidian"
# Properties that mean the field of the same name. Obsidian itself knows only tags, aliases and
# cssclasses; people add others.
SAME = (
    "context", "why", "impact", "kind", "severity", "domain", "project", "source", "valid_from",
    "valid_until",
)  # fmt: skip
CREATED = ("created_at", "created", "date created", "creation date", "date")
UPDATED = ("updated_at", "updated", "modified", "date modified", "last modified", "lastmod")
DAY = re.compile(r"\d{4}-\d\d-\d\d")


def read(path: Path) -> Iterator[ImportedRecord]:
    """Yield the notes of a vault or a part of one; their ids depend on their place in the vault."""
    place = require_path(path).resolve()
    around = (place, *place.parents)
    root = next((folder for folder in around if (folder / SETTINGS).is_dir()), None)
    if place.is_dir():
        return without_repeats(_of_vault(place, root or place))
    if place.suffix.lower() not in (".md", ".canvas"):
        raise UserError(f"{path} is neither a folder of notes nor a note.")
    return without_repeats(_of_files([place], root or place.parent))


def _of_vault(place: Path, root: Path) -> Iterator[ImportedRecord]:
    files = list(files_below(place, ".md", ".canvas"))
    if not files:
        raise UserError(f"{place} has no Obsidian notes (.md or .canvas files).")
    yield from _of_files(files, root)


def _of_files(files: list[Path], root: Path) -> Iterator[ImportedRecord]:
    templates = _templates(root)
    for file in files:
        where = file.relative_to(root).as_posix()
        try:
            if templates and where.startswith(f"{templates}/"):
                yield refuse_record(where, "It is a template.")
            elif file.suffix.lower() == ".canvas":
                yield _canvas(file, where, root.name)
            else:
                yield _note(read_note(file, root), root.name)
        except UserError as error:
            yield refuse_record(where, str(error))
        except OSError as error:
            yield refuse_record(where, f"It cannot be read: {error.strerror}.")


def _templates(root: Path) -> str:
    """Return the folder of templates from the vault's settings, or an empty text."""
    try:
        settings = json_file(root / SETTINGS / "templates.json")
    except UserError:
        return ""
    folder = settings.get("folder") if isinstance(settings, dict) else None
    return folder.strip("/") if isinstance(folder, str) else ""


def _note(note: Note, vault: str) -> ImportedRecord:
    if not note.body.strip() and not note.fields:
        return refuse_record(note.where, "It is empty.")
    if "excalidraw-plugin" in note.fields:
        return refuse_record(note.where, "It is a drawing.")
    named = note.where.removesuffix(".md")
    record = Record(note.where, note.fields, TOOL, vault, named)
    put_title_and_text(record, note)
    record.take(*SAME)
    if not record.has("kind"):
        record.take(kind="type")
    if not record.has("context"):
        record.take(context="description")
    _tags(record, note)
    _times(record, note)
    return record.finish()


def _tags(record: Record, note: Note) -> None:
    for name in ("tags", "tag"):
        record.put("tags", tag_list(record.use(name), at_spaces=True), name)
    record.put("tags", list(structure(note.body).tags), "tags")
    for name in ("aliases", "alias"):
        record.add("details", bullet_list("Also called", record.texts(name)))


def _times(record: Record, note: Note) -> None:
    """Set the times from properties; else from the day in the name of a daily note, and from the
    file's modification time."""
    spelled = {name.lower(): name for name in note.fields}
    for field, names in (("created_at", CREATED), ("updated_at", UPDATED)):
        for name in (spelled[lower] for lower in names if lower in spelled):
            value = record.use(name)
            if record.has(field) and not empty(value):
                record.leave(name)
            else:
                record.put(field, value, name)
    if not record.has("created_at") and DAY.fullmatch(note.name) and moment(note.name):
        record.put("created_at", note.name, "name")
    if not record.has("updated_at"):
        record.put("updated_at", note.changed_at, "name")


def _canvas(file: Path, where: str, vault: str) -> ImportedRecord:
    """Import the cards of a canvas, top to bottom, as one text; its notes have their own
    records."""
    raw = whole_file(file, LARGEST_TEXT)
    if not raw.strip():
        return refuse_record(where, "It is empty.")
    canvas = json_value(raw, "It")
    nodes = canvas.get("nodes", []) if isinstance(canvas, dict) else None
    if not isinstance(canvas, dict) or not isinstance(nodes, list):
        return refuse_record(where, "It is not a canvas.")
    record = Record(where, canvas, TOOL, vault, where)
    record.ignore("nodes")
    record.put("title", file.stem, "name")
    record.put("kind", "canvas", "kind")
    record.put("path", where, "path")
    cards = sorted((node for node in nodes if isinstance(node, dict)), key=_position)
    record.put("text", "\n\n".join(_text(node) for node in cards if _text(node)), "nodes")
    named = [name for node in cards if (name := plain(node.get("file")))]
    record.add("details", bullet_list("On the canvas", named))
    return record.finish()


def _position(node: dict[str, object]) -> tuple[float, float]:
    """Return a sort key: from the top, then from the left."""
    places = (node.get("y"), node.get("x"))
    top, left = (place if isinstance(place, int | float) else 0 for place in places)
    return top, left


def _text(node: dict[str, object]) -> str:
    """Return the text of a card, a link or a group."""
    for name in ("text", "url", "label"):
        if text := plain(node.get(name)):
            return text.strip()
    return ""


IMPORTER = Importer(
    TOOL,
    "a vault, or a folder or a note in it",
    "https://help.obsidian.md/properties and https://jsoncanvas.org/spec/1.0/",
    read,
)
