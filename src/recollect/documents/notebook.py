"""Jupyter notebooks: the text of their cells, one after the other, without their output.

Formats 3 and 4 as nbformat describes them. A notebook has no lines that anyone sees, so lines count
those of its cells; headings of Markdown cells are sections, and so is each cell.
"""

from __future__ import annotations

from typing import Any

import msgspec

from recollect.documents.document import Document, LeftOut, SectionStart, main_title, unix_lines
from recollect.documents.file_types import NOTEBOOK
from recollect.documents.markdown import structure

# Below every heading of Markdown.
CELL_LEVEL = 7
BROKEN = LeftOut("corrupt", "it is not a notebook")


def document(text: str) -> Document | LeftOut:
    try:
        whole = msgspec.json.decode(text.encode())
    except (msgspec.DecodeError, RecursionError):
        return LeftOut("corrupt", "it is not valid JSON")
    cells = _cells(whole)
    if cells is None:
        return BROKEN
    lines: list[str] = []
    sections: list[SectionStart] = []
    tags: dict[str, None] = {}
    for number, cell in enumerate(cells, start=1):
        source = _source(cell)
        if not source.strip():
            continue
        if cell.get("cell_type") == "markdown":
            found = structure(source)
            sections += [
                section._replace(line=section.line + len(lines)) for section in found.sections
            ]
            tags.update(dict.fromkeys(found.tags))
        if not sections or sections[-1].line < len(lines):
            sections.append(SectionStart(len(lines), CELL_LEVEL, f"cell {number}"))
        lines += [*source.split("\n"), ""]
    if not lines:
        return LeftOut("empty", "it has no cells with text")
    sections.sort(key=lambda section: section.line)
    return Document(
        "\n".join(lines),
        NOTEBOOK,
        {"tags": tuple(tags)} if tags else {},
        title=main_title(sections),
        sections=tuple(sections),
    )


def _cells(whole: object) -> list[dict[str, Any]] | None:
    """The cells of a notebook, without those that are no objects; None where it is none."""
    if not isinstance(whole, dict):
        return None
    cells = whole.get("cells")
    if cells is None:
        sheets = whole.get("worksheets")
        if not isinstance(sheets, list):
            return None
        cells = [
            cell
            for sheet in sheets
            if isinstance(sheet, dict) and isinstance(sheet.get("cells"), list)
            for cell in sheet["cells"]
        ]
    if not isinstance(cells, list):
        return None
    return [cell for cell in cells if isinstance(cell, dict)]


def _source(cell: dict[str, Any]) -> str:
    """The text of a cell, which may be a list of lines; format 3 calls code `input`."""
    source = cell.get("source", cell.get("input", ""))
    if isinstance(source, list):
        source = "".join(line for line in source if isinstance(line, str))
    if not isinstance(source, str):
        return ""
    return unix_lines(source).replace("\0", "\ufffd").strip("\n")
