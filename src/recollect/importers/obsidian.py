"""Obsidian: the notes and canvases of a vault.

The format: Obsidian's help pages `Properties`, `Tags` and `Aliases` (help.obsidian.md), and JSON
Canvas 1.0 (jsoncanvas.org). Links, embeds and callouts are part of a note's text and stay there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from recollect.documents.markdown import structure
from recollect.errors import UserError
from recollect.importers.base import Importer, Taken
from recollect.importers.files import (
    LARGEST_TEXT,
    files_below,
    json_file,
    json_value,
    present,
    whole_file,
)
from recollect.importers.markdown_notes import Note, bare_tags, note, titled
from recollect.importers.records import Piece, empty, foreign_id, listed, moment, once, plain

TOOL = "obsidian"
SETTINGS = ".obsidian"
# Properties that mean the same as a field of the same name. Obsidian itself knows only tags,
# aliases and cssclasses; people write the others as they like.
SAME = (
    "context", "why", "impact", "kind", "severity", "domain", "project", "source", "valid_from",
    "valid_until",
)  # fmt: skip
CREATED = ("created_at", "created", "date created", "creation date", "date")
UPDATED = ("updated_at", "updated", "modified", "date modified", "last modified", "lastmod")
DAY = re.compile(r"\d{4}-\d\d-\d\d")


def read(path: Path) -> Iterator[Taken]:
    """The notes of a vault, or of a part of one: they are named by their place in the whole."""
    place = present(path).resolve()
    root = next((one for one in (place, *place.parents) if (one / SETTINGS).is_dir()), None)
    if place.is_dir():
        return once(_of_vault(place, root or place))
    if place.suffix.lower() not in (".md", ".canvas"):
        raise UserError(f"{path} is neither a folder of notes nor a note.")
    return once(_of_files([place], root or place.parent))


def _of_vault(place: Path, root: Path) -> Iterator[Taken]:
    files = list(files_below(place, ".md", ".canvas"))
    if not files:
        raise UserError(f"{place} is not of {TOOL}: there is no note in it.")
    yield from _of_files(files, root)


def _of_files(files: list[Path], root: Path) -> Iterator[Taken]:
    templates = _templates(root)
    for file in files:
        where = file.relative_to(root).as_posix()
        try:
            if templates and where.startswith(f"{templates}/"):
                yield Taken(where, None, "It is a template.")
            elif file.suffix.lower() == ".canvas":
                yield _canvas(file, where, root.name)
            else:
                yield _note(note(file, root), root.name)
        except UserError as error:
            yield Taken(where, None, str(error))
        except OSError as error:
            yield Taken(where, None, f"It cannot be read: {error.strerror}.")


def _templates(root: Path) -> str:
    """The folder of templates, as the vault's settings name it; empty for none."""
    try:
        held = json_file(root / SETTINGS / "templates.json")
    except UserError:
        return ""
    folder = held.get("folder") if isinstance(held, dict) else None
    return folder.strip("/") if isinstance(folder, str) else ""


def _note(held: Note, vault: str) -> Taken:
    if not held.body.strip() and not held.fields:
        return Taken(held.where, None, "It is empty.")
    if "excalidraw-plugin" in held.fields:
        return Taken(held.where, None, "It is a drawing.")
    named = held.where.removesuffix(".md")
    piece = Piece(held.where, held.fields, foreign_id(TOOL, vault, named), TOOL)
    titled(piece, held)
    for name in SAME:
        piece.take(name, name)
    if not piece.has("kind"):
        piece.take("kind", "type")
    if not piece.has("context"):
        piece.take("context", "description")
    _tags(piece, held)
    _times(piece, held)
    return piece.taken()


def _tags(piece: Piece, held: Note) -> None:
    for name in ("tags", "tag"):
        piece.put("tags", bare_tags(piece.use(name), r",\s"), name)
    piece.put("tags", list(structure(held.body).tags), "tags")
    for name in ("aliases", "alias"):
        piece.add("details", listed("Also called", piece.texts(name)))


def _times(piece: Piece, held: Note) -> None:
    """The times that the properties tell; else that of a daily note is its name, and that of the
    last change is the file's."""
    spelled = {name.lower(): name for name in held.fields}
    for field, names in (("created_at", CREATED), ("updated_at", UPDATED)):
        for name in (spelled[one] for one in names if one in spelled):
            value = piece.use(name)
            if piece.has(field) and not empty(value):
                piece.leave(name)
            else:
                piece.put(field, value, name)
    if not piece.has("created_at") and DAY.fullmatch(held.name) and moment(held.name):
        piece.put("created_at", held.name, "name")
    if not piece.has("updated_at"):
        piece.put("updated_at", held.changed_at, "name")


def _canvas(file: Path, where: str, vault: str) -> Taken:
    """The cards of a canvas, top to bottom, as one text; the notes on it are memories of their
    own."""
    text = whole_file(file, LARGEST_TEXT)
    if not text.strip():
        return Taken(where, None, "It is empty.")
    held = json_value(text, "It")
    nodes = held.get("nodes", []) if isinstance(held, dict) else None
    if not isinstance(held, dict) or not isinstance(nodes, list):
        return Taken(where, None, "It is not a canvas.")
    piece = Piece(where, held, foreign_id(TOOL, vault, where), TOOL)
    piece.ignore("nodes")
    piece.put("title", file.stem, "name")
    piece.put("kind", "canvas", "kind")
    piece.put("path", where, "path")
    cards = sorted((node for node in nodes if isinstance(node, dict)), key=_height)
    piece.put("text", "\n\n".join(_said(node) for node in cards if _said(node)), "nodes")
    named = [name for node in cards if (name := plain(node.get("file")))]
    piece.add("details", listed("On the canvas", named))
    return piece.taken()


def _height(node: dict[str, object]) -> tuple[float, float]:
    places = (node.get("y"), node.get("x"))
    high, left = (at if isinstance(at, int | float) else 0 for at in places)
    return high, left


def _said(node: dict[str, object]) -> str:
    """What a card, a link or a group says."""
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
