"""Folders of Markdown files with front matter, as `export --format markdown` and `mirror` write
them, and as people do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from recollect.documents.front_matter_fields import understood
from recollect.errors import UserError
from recollect.hashing import content_digest
from recollect.importers.base import Importer, Taken
from recollect.ingest.ids import slug
from recollect.mirror.files import LINK, as_text, checked_folder, read_bytes, walk
from recollect.mirror.memory_markdown import DEFAULTS, Form, parsed
from recollect.mirror.notes import note_fields, our_fields


def read(path: Path) -> Iterator[Taken]:
    """One piece for each Markdown file; what is hidden is left out, and links are not followed."""
    folder = checked_folder(path)
    found = False
    holders: dict[str, str] = {}
    for seen in walk(folder):
        if not seen.markdown and not seen.problem:
            continue
        found = True
        if seen.problem:
            if seen.markdown or seen.problem != LINK:
                yield Taken(seen.path, None, seen.problem)
            continue
        taken = _taken(folder, seen.path)
        if taken.fields is not None:
            holder = holders.setdefault(str(taken.fields["id"]), seen.path)
            if holder != seen.path:  # a copy; one would overwrite the other
                taken = Taken(seen.path, None, f"It has the same id as {holder}.")
        yield taken
    if not found:
        raise UserError(f"The folder {path} holds no Markdown file.")


def _taken(folder: Path, path: str) -> Taken:
    try:
        text = as_text(read_bytes(folder, path))
    except UserError as error:
        return Taken(path, None, str(error))
    if not text.strip("\ufeff \t\r\n"):
        return Taken(path, None, "It is empty.")
    form = parsed(text)
    if form.problem:
        return Taken(path, None, form.problem)
    others = {name: value for name, value in form.others.items() if value not in ("", [], {})}
    if "id" in form.fields:
        return Taken(path, _ours(form), homeless=tuple(others))
    homeless = (name for name, value in others.items() if not understood({name: value}).fields)
    return Taken(path, _note(form, path), homeless=tuple(homeless))


def _ours(form: Form) -> Mapping[str, object]:
    """Every field, those with their default too: a memory that has changed since becomes again what
    the file says."""
    every = {name: value for name, value in DEFAULTS.items() if value is not None}
    return every | our_fields(form)


def _note(form: Form, path: str) -> Mapping[str, object]:
    """The id is made from the path: a note that was changed updates its memory."""
    start = slug(path.removesuffix(".md")) or "note"
    return note_fields(form, path) | {"id": f"{start}-{content_digest(path, 4).hex()}"}


IMPORTER = Importer("markdown", "a folder of Markdown files", "docs/markdown.md", read)
