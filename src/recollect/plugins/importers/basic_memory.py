"""Import a project of Basic Memory, a folder of Markdown notes. Its database is only an index.

The format: `src/basic_memory/markdown/entity_parser.py`, `plugins.py` and `schemas.py` of
github.com/basicmachines-co/basic-memory, 0.24. Observations and relations are lines of a note's
text and stay there.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from recollect import UserError
from recollect.plugin.importers import (
    CODE_SPAN,
    TAG,
    ImportedRecord,
    Importer,
    fence_after,
    refuse_record,
    tag_list,
)
from recollect.plugins.importers.files import files_below, require_path
from recollect.plugins.importers.records import (
    Note,
    Record,
    plain,
    put_title_and_text,
    read_note,
    without_repeats,
)

TOOL = "basic-memory"
INDEX = "memory.db"
LIST_ITEM = ("- ", "* ", "+ ")
# Marks the meaning of a link; it is not a tag.
DIRECTIVE = "#bm:"


def read(path: Path) -> Iterator[ImportedRecord]:
    if path.name == INDEX or (require_path(path) / INDEX).is_file():
        raise UserError(
            f"{path} holds only the index of {TOOL}; give the folder of notes of a project, which "
            "`basic-memory project list` shows."
        )
    if not path.is_dir():
        raise UserError(f"{path} is not a folder; give the folder of notes of a project.")
    return without_repeats(_of_folder(path.resolve()))


def _of_folder(root: Path) -> Iterator[ImportedRecord]:
    any_file = False
    for file in files_below(root, ".md"):
        any_file = True
        where = file.relative_to(root).as_posix()
        try:
            yield _import_note(read_note(file, root), root.name)
        except UserError as error:
            yield refuse_record(where, str(error))
        except OSError as error:
            yield refuse_record(where, f"It cannot be read: {error.strerror}.")
    if not any_file:
        raise UserError(f"{root} has no Basic Memory notes (.md files).")


def _import_note(note: Note, project: str) -> ImportedRecord:
    if not note.body.strip() and not note.fields:
        return refuse_record(note.where, "It is empty.")
    named = plain(note.fields.get("permalink")) or note.where.removesuffix(".md")
    record = Record(note.where, note.fields, TOOL, project, named)
    record.ignore("permalink")
    put_title_and_text(record, note)
    record.take(kind="type", created_at="created", updated_at="modified")
    record.put("tags", tag_list(record.use("tags"), at_spaces=False), "tags")
    record.put("tags", _observation_tags(note.body), "observations")
    if not record.has("updated_at"):
        record.put("updated_at", note.changed_at, "modified")
    return record.finish()


def _observation_tags(body: str) -> list[str]:
    """Return the tags in observations, which are list items."""
    items = (line for line in _prose(body) if line.lstrip().startswith(LIST_ITEM))
    tags = (tag for line in items for tag in TAG.findall(line.partition(DIRECTIVE)[0]))
    return list(dict.fromkeys(tags))


def _prose(body: str) -> Iterator[str]:
    """Yield the lines outside of code blocks, without inline code."""
    fence = ""
    for line in body.split("\n"):
        before, fence = fence, fence_after(line.lstrip(), fence)
        if not before and not fence:
            yield CODE_SPAN.sub(" ", line)


IMPORTER = Importer(
    TOOL,
    "the folder of a project's Markdown notes (~/basic-memory)",
    "https://github.com/basicmachines-co/basic-memory/tree/main/src/basic_memory/markdown",
    read,
)
