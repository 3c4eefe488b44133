"""HTML: its text in reading order, with its headings as sections, without scripts and menus.

Lines are those of the source where each block begins. The parser loads nothing and expands no
entities but the characters that HTML knows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recollect.documents.document import Document, LeftOut, SectionStart, one_line
from recollect.documents.file_types import HTML

if TYPE_CHECKING:
    from lxml.etree import _Element, iterwalk  # type: ignore[import-untyped]

NEEDS = LeftOut("needs an extra", "HTML is read after `pip install 'recollect-memory[documents]'`")
TOO_DEEP = "It is nested too deeply to be read to its end."
# Elements that are no text, or none of this page.
LEFT_OUT = frozenset(
    """script style noscript template nav svg math iframe object embed canvas audio video select
    datalist button head""".split()
)
# Elements that begin a line of their own.
BLOCKS = frozenset(
    """address article aside blockquote body caption center dd details dialog div dl dt fieldset
    figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr html legend li main ol optgroup option
    p pre section summary table tbody tfoot thead tr ul br""".split()
)
# Elements with a blank line between them: paragraphs, rather than lines of one.
APART = BLOCKS - frozenset("br li dd dt tr option".split())
HEADINGS = {f"h{level}": level for level in range(1, 7)}
CELLS = frozenset(("td", "th"))


def document(text: str) -> Document | LeftOut:
    try:
        from lxml import etree  # type: ignore[import-untyped]  # noqa: PLC0415  start-up time
    except ImportError:
        return NEEDS
    parser = etree.HTMLParser(
        encoding="utf-8", remove_comments=True, remove_pis=True, no_network=True, huge_tree=False
    )
    try:
        root = etree.fromstring(text.encode(), parser)
    except etree.LxmlError:
        root = None
    if root is None:
        return LeftOut("corrupt", "it is not HTML")
    page = _Page()
    page.titled(root.find(".//title"))
    page.read(etree.iterwalk(root, events=("start", "end")))
    if not page.lines:
        return LeftOut("empty", "it has no text")
    too_deep = any("depth" in str(entry.message).lower() for entry in parser.error_log)
    return page.document((TOO_DEEP,) if too_deep else ())


class _Page:
    """The lines read so far, each with its line in the source."""

    def __init__(self) -> None:
        self.title = ""
        self.lines: list[str] = []
        self._numbers: list[int] = []
        self._sections: list[SectionStart] = []
        self._words: list[str] = []  # of the line that is being read
        self._blank = True  # whether all of them are white space
        self._number = 1
        self._apart = True
        self._literal = 0  # how many `pre` are open

    def titled(self, element: _Element | None) -> None:
        """Keep the page's title: its first line, unless its first heading repeats it."""
        words = element.text if element is not None and element.text else ""
        self.title = one_line(words)

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
        """Add the words so far as a line; in `pre` as the lines they are."""
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
            # It gets the number of the first line.
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
