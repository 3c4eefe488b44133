"""HTML, reStructuredText and Jupyter notebooks as documents.

HTML is read in reading order, with headings as sections, without scripts and menus. Its line
numbers are those at which blocks begin in the source. The parser loads nothing and expands only
HTML's own character entities."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from recollect.documents.document import (
    Document,
    LeftOut,
    SectionStart,
    main_title,
    one_line,
    unix_lines,
)
from recollect.documents.file_types import HTML, NOTEBOOK, RST
from recollect.documents.markdown import structure

if TYPE_CHECKING:
    from lxml.etree import _Element, iterwalk  # type: ignore[import-untyped]

HTML_NEEDS = LeftOut(
    "needs an extra", "HTML is read after `pip install 'recollect-memory[documents]'`"
)
TOO_DEEP = "It is nested too deeply to be read completely."
# Elements that contain no text of the page.
LEFT_OUT = frozenset(
    """script style noscript template nav svg math iframe object embed canvas audio video select
    datalist button head""".split()
)
# Elements that begin a new line.
BLOCKS = frozenset(
    """address article aside blockquote body caption center dd details dialog div dl dt fieldset
    figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr html legend li main ol optgroup option
    p pre section summary table tbody tfoot thead tr ul br""".split()
)
# Elements with a blank line between them.
APART = BLOCKS - frozenset("br li dd dt tr option".split())
HEADINGS = {f"h{level}": level for level in range(1, 7)}
CELLS = frozenset(("td", "th"))


def read_html(text: str) -> Document | LeftOut:
    try:
        from lxml import etree  # type: ignore[import-untyped]  # noqa: PLC0415  start-up time
    except ImportError:
        return HTML_NEEDS
    parser = etree.HTMLParser(
        encoding="utf-8", remove_comments=True, remove_pis=True, no_network=True, huge_tree=False
    )
    try:
        root = etree.fromstring(text.encode(), parser)
    except etree.LxmlError:
        root = None
    if root is None:
        return LeftOut("corrupt", "it is not HTML")
    title = root.find(".//title")
    page = _Page(one_line(title.text or "") if title is not None else "")
    page.read(etree.iterwalk(root, events=("start", "end")))
    if not page.lines:
        return LeftOut("empty", "it has no text")
    too_deep = any("depth" in str(entry.message).lower() for entry in parser.error_log)
    return page.document((TOO_DEEP,) if too_deep else ())


class _Page:
    """The lines read so far, each with its line in the source. The title becomes the first line,
    unless the first heading repeats it."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.lines: list[str] = []
        self._numbers: list[int] = []
        self._sections: list[SectionStart] = []
        self._words: list[str] = []  # the current line
        self._blank = True  # the current line is white space
        self._number = 1
        self._apart = True
        self._literal = 0  # number of open `pre` elements

    def read(self, walk: iterwalk[Any]) -> None:
        for event, element in walk:
            tag = element.tag if isinstance(element.tag, str) else ""
            if event == "start" and tag in LEFT_OUT:
                walk.skip_subtree()
            elif event == "start":
                self._start(element, tag)
            elif tag not in LEFT_OUT:
                self._end(element, tag)
            if event == "end" and element.tail:
                self._say(element.tail)
        self._flush()

    def _start(self, element: _Element, tag: str) -> None:
        if tag in BLOCKS:
            self._flush()
            self._apart = self._apart or tag in APART
        if tag in CELLS and not self._blank:
            self._say(" | ")
        if self._blank:
            self._number = element.sourceline or self._number
        self._literal += tag == "pre"
        self._say((element.get("alt") if tag == "img" else element.text) or "")

    def _end(self, element: _Element, tag: str) -> None:
        if tag in HEADINGS:
            title = one_line("".join(self._words))
            before = len(self.lines)
            self._flush()
            if title and len(self.lines) > before:
                self._sections.append(SectionStart(len(self.lines) - 1, HEADINGS[tag], title))
        elif tag in BLOCKS:
            self._flush()
        self._apart = self._apart or tag in APART
        self._literal -= tag == "pre"

    def _say(self, words: str) -> None:
        self._words.append(words)
        self._blank = self._blank and not words.strip()

    def _flush(self) -> None:
        """Add the words so far as a line; in `pre`, as several lines."""
        words = "".join(self._words)
        self._words.clear()
        self._blank = True
        if not words.strip():
            return
        if self._apart and self.lines:
            self._add("", self._number)
        self._apart = False
        if not self._literal:
            self._add(" ".join(words.split()), self._number)
            return
        for count, line in enumerate(words.strip("\n").split("\n")):
            self._add(line.rstrip(), self._number + count)

    def _add(self, line: str, number: int) -> None:
        self.lines.append(line)
        self._numbers.append(max(number, self._numbers[-1] if self._numbers else 1))

    def document(self, notes: tuple[str, ...]) -> Document:
        first = self._sections[0].title if self._sections else ""
        if self.title and self.title not in (first, self.lines[0]):
            # The title gets the number of the first line.
            self.lines[:0] = [self.title, ""]
            self._numbers[:0] = [self._numbers[0]] * 2
            self._sections = [start._replace(line=start.line + 2) for start in self._sections]
        return Document(
            "\n".join(self.lines),
            HTML,
            title=self.title or first,
            notes=notes,
            sections=tuple(self._sections),
            lines=tuple(self._numbers),
        )


# reStructuredText: underlined headings as sections. A heading is a line with a line of one
# punctuation mark under it, at least as long, and possibly over it. Levels follow the order in
# which these adornments first appear (docutils, "Sections").

ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1+\s*$")


def read_rst(text: str) -> Document:
    sections = headings(text.split("\n"))
    title = sections[0].title if sections and sections[0].level == 1 else ""
    return Document(text, RST, title=title, sections=sections)


def headings(lines: list[str]) -> tuple[SectionStart, ...]:
    sections: list[SectionStart] = []
    levels: dict[str, int] = {}
    for number in range(1, len(lines)):
        found = ADORNMENT.match(lines[number])
        if found is None or not _is_title(lines, number):
            continue
        over = _has_overline(lines, number)
        before = number - (3 if over else 2)
        # A heading needs a blank line before it, unless it is the first line.
        if before >= 0 and lines[before].strip():
            continue
        level = levels.setdefault(found[1] * (2 if over else 1), len(levels) + 1)
        sections.append(SectionStart(before + 1, level, one_line(lines[number - 1])))
    return tuple(sections)


def _is_title(lines: list[str], under: int) -> bool:
    title = lines[under - 1]
    if not title.strip() or ADORNMENT.match(title):
        return False
    # Only a title with an overline may be indented.
    if title[0].isspace() and not _has_overline(lines, under):
        return False
    return len(lines[under].rstrip()) >= len(title.rstrip())


def _has_overline(lines: list[str], under: int) -> bool:
    return under >= 2 and lines[under - 2].rstrip() == lines[under].rstrip()


# Jupyter notebooks, formats 3 and 4 as nbformat describes them: the text of their cells without
# output. Line numbers count the lines of the cells. Sections are cells and headings of Markdown
# cells.

# Below every heading of Markdown.
CELL_LEVEL = 7
NO_NOTEBOOK = LeftOut("corrupt", "it is not a notebook")


def read_notebook(text: str) -> Document | LeftOut:
    try:
        whole = msgspec.json.decode(text.encode())
    except (msgspec.DecodeError, RecursionError):
        return LeftOut("corrupt", "it is not valid JSON")
    cells = _cells(whole)
    if cells is None:
        return NO_NOTEBOOK
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
    """Return the cells of a notebook that are objects; None if it is not a notebook."""
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
    """Return the text of a cell, which may be a list of lines; in format 3 code is `input`."""
    source = cell.get("source", cell.get("input", ""))
    if isinstance(source, list):
        source = "".join(line for line in source if isinstance(line, str))
    if not isinstance(source, str):
        return ""
    return unix_lines(source).replace("\0", "\ufffd").strip("\n")
