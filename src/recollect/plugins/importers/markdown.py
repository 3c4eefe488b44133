"""Import folders of Markdown files with front matter, written by `export --format markdown`, by
`mirror`, or by people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from recollect import UserError
from recollect.plugin.importers import (
    DEFAULTS,
    LINK,
    ImportedRecord,
    Importer,
    ParsedFile,
    as_text,
    content_digest,
    existing_folder,
    memory_fields,
    note_fields,
    our_fields,
    parse,
    read_bytes,
    refuse_record,
    slug,
    walk,
)


def read(path: Path) -> Iterator[ImportedRecord]:
    """Yield a record for each Markdown file, without hidden ones; links are not followed."""
    folder = existing_folder(path)
    any_file = False
    paths: dict[str, str] = {}
    for entry in walk(folder):
        if not entry.markdown and not entry.problem:
            continue
        any_file = True
        if entry.problem:
            if entry.markdown or entry.problem != LINK:
                yield refuse_record(entry.path, entry.problem)
            continue
        record = _record(folder, entry.path)
        if record.fields is not None:
            first = paths.setdefault(str(record.fields["id"]), entry.path)
            if first != entry.path:  # a copy; one would overwrite the other
                record = refuse_record(entry.path, f"It has the same id as {first}.")
        yield record
    if not any_file:
        raise UserError(f"The folder {path} holds no Markdown file.")


def _record(folder: Path, path: str) -> ImportedRecord:
    try:
        text = as_text(read_bytes(folder, path))
    except UserError as error:
        return refuse_record(path, str(error))
    if not text.strip("\ufeff \t\r\n"):
        return refuse_record(path, "It is empty.")
    file = parse(text)
    if file.problem:
        return refuse_record(path, file.problem)
    others = {name: value for name, value in file.others.items() if value not in ("", [], {})}
    if "id" in file.fields:
        return ImportedRecord(path, _ours(file), unmapped=tuple(others))
    unmapped = (name for name, value in others.items() if not memory_fields({name: value}).fields)
    return ImportedRecord(path, _note(file, path), unmapped=tuple(unmapped))


def _ours(file: ParsedFile) -> Mapping[str, object]:
    """Return every field, even defaults: a memory that has changed since gets the file's value."""
    every = {name: value for name, value in DEFAULTS.items() if value is not None}
    return every | our_fields(file)


def _note(file: ParsedFile, path: str) -> Mapping[str, object]:
    """Return the fields of a note, with an id from its path: a changed note updates its memory."""
    start = slug(path.removesuffix(".md")) or "note"
    return note_fields(file, path) | {"id": f"{start}-{content_digest(path, 4).hex()}"}


IMPORTER = Importer(
    "markdown", "a folder of Markdown files", "docs/how-to/edit-as-markdown.md", read
)
