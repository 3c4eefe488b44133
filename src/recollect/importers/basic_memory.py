"""Basic Memory: a project's folder of Markdown notes. Its database is only an index of them.

The format: `src/basic_memory/markdown/entity_parser.py`, `plugins.py` and `schemas.py` of
github.com/basicmachines-co/basic-memory, 0.24. Observations and relations are lines of a note's
text and stay there.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from recollect.documents.markdown import CODE_SPAN, TAG
from recollect.errors import UserError
from recollect.importers.base import Importer, Taken
from recollect.importers.files import files_below, present
from recollect.importers.markdown_notes import Note, bare_tags, note, titled
from recollect.importers.records import Piece, foreign_id, once, plain

TOOL = "basic-memory"
INDEX = "memory.db"
LIST_ITEM = ("- ", "* ", "+ ")
FENCES = ("```", "~~~")
# Says how a link is meant, and is no tag.
DIRECTIVE = "#bm:"


def read(path: Path) -> Iterator[Taken]:
    if path.name == INDEX or (present(path) / INDEX).is_file():
        raise UserError(
            f"{path} holds only the index of {TOOL}; give the folder of notes of a project, which "
            "`basic-memory project list` shows."
        )
    if not path.is_dir():
        raise UserError(f"{path} is not a folder; give the folder of notes of a project.")
    return once(_of_folder(path.resolve()))


def _of_folder(root: Path) -> Iterator[Taken]:
    found = False
    for file in files_below(root, ".md"):
        found = True
        where = file.relative_to(root).as_posix()
        try:
            yield _taken(note(file, root), root.name)
        except (UserError, OSError) as error:
            yield Taken(where, None, _sentence(error))
    if not found:
        raise UserError(f"{root} is not of {TOOL}: there is no Markdown file in it.")


def _sentence(error: UserError | OSError) -> str:
    return str(error) if isinstance(error, UserError) else f"It cannot be read: {error.strerror}."


def _taken(held: Note, project: str) -> Taken:
    if not held.body.strip() and not held.fields:
        return Taken(held.where, None, "It is empty.")
    named = plain(held.fields.get("permalink")) or held.where.removesuffix(".md")
    piece = Piece(held.where, held.fields, foreign_id(TOOL, project, named), TOOL)
    piece.ignore("permalink")
    titled(piece, held)
    piece.take("kind", "type")
    piece.put("tags", bare_tags(piece.use("tags"), ","), "tags")
    piece.put("tags", _observed(held.body), "observations")
    piece.take("created_at", "created")
    piece.take("updated_at", "modified")
    if not piece.has("updated_at"):
        piece.put("updated_at", held.changed_at, "modified")
    return piece.taken()


def _observed(body: str) -> list[str]:
    """The tags of observations, which are items of lists."""
    items = (line for line in _prose(body) if line.lstrip().startswith(LIST_ITEM))
    found = (tag for line in items for tag in TAG.findall(line.partition(DIRECTIVE)[0]))
    return list(dict.fromkeys(found))


def _prose(body: str) -> Iterator[str]:
    """The lines that are no code, without the code in them."""
    fence = ""
    for line in body.split("\n"):
        start = line.lstrip()[:3]
        if fence:
            fence = "" if start == fence else fence
        elif start in FENCES:
            fence = start
        else:
            yield CODE_SPAN.sub(" ", line)


IMPORTER = Importer(
    TOOL,
    "the folder of a project's Markdown notes (~/basic-memory)",
    "https://github.com/basicmachines-co/basic-memory/tree/main/src/basic_memory/markdown",
    read,
)
