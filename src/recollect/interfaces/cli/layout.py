"""Lay out text for a terminal: measure it in cells, wrap it at words, cut it with `…`.

A cell is the width of a Latin letter. Chinese and Japanese characters and most emoji take two,
combining marks none. Terminals differ for emoji made of several characters; the larger width is
counted, so that no line is too long.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from functools import cache
from socket import gethostname
from typing import NamedTuple
from unicodedata import category, east_asian_width
from urllib.parse import quote

from recollect.interfaces.cli.output import MARK, paint, screen
from recollect.present.sentences import visible
from recollect.present.snippet import split_marks
from recollect.types import Span

TAB = "    "
FENCE = re.compile(r"\s*(```|~~~)")
# Characters of scripts without spaces, which may break between any two.
IDEOGRAPHS = "\u2e80-\ua4cf\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef\U00020000-\U0003fffd"
CLOSING = "、。,.・:;?!」』】)〉》〕”’"  # never begin a line
OPENING = "「『【(〈《〔“‘"  # never end one
ATOM = re.compile(
    f"[{OPENING}]*[{IDEOGRAPHS}][{CLOSING}]*|[^\\s{IDEOGRAPHS}{OPENING}]+[{CLOSING}]*|[{OPENING}]+"
)
# A word longer than a line, such as a URL, breaks after one of these.
JOINT = re.compile(r"(?<=[/\\_\-.,:;?&=#+])(?!\d)|(?<=\D[/\\_\-.,:;?&=#+])")
NUMBER = re.compile(r"\d[\d.,]*$")
# Lines of Markdown whose beginning is repeated as indent when they are wrapped.
TABLE = re.compile(r"^\s*\|.*\n\s*\|", re.MULTILINE)
RULE = re.compile(r"[\s|:-]*|\s*(```|~~~).*")  # a table's rule or a fence: no words
ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)]|>|#+)\s+|\s*")
KEPT = re.compile(r"\s*\||\t|    (?!\s*[-*+\d])")  # tables, indented code


def count_cells(text: str) -> int:
    """Return how many cells a text takes."""
    if text.isascii() or max(text, default="") < "\u0300":  # most texts: much quicker
        return len(text)
    return sum(map(_cells, text))


@cache
def _cells(character: str) -> int:
    if character == "\ufe0f":  # turns the character before it into a wide emoji
        return 1
    if category(character) in ("Mn", "Me", "Cf") or "\u1160" <= character <= "\u11ff":
        return 0
    return 2 if east_asian_width(character) in "WF" else 1


def cut(text: str, room: int) -> str:
    """Cut a line to at most `room` cells, at a word if possible."""
    if count_cells(text) <= room:
        return text
    start = text[: _count_fitting(text, max(1, room - 1))]
    head, space, _ = f"{start}{text[len(start)]}".rpartition(" ")
    near = space and len(head) > 3 * len(start) // 4
    return (head if near else start).rstrip() + "…"


def wrap_text(text: str, room: int) -> list[str]:
    """Return the text in lines of at most `room` cells."""
    return [text[start:end] for start, end in line_spans(text, room)]


def line_spans(text: str, room: int) -> list[Span]:
    """Return the spans of the lines of a wrapped text. They break at spaces and between ideographs;
    a word longer than a line breaks after a sign such as `/`, but not in a number that fits."""
    lines: list[Span] = []
    start = end = used = 0
    for found in ATOM.finditer(text):
        gap, size = found.start() - end, count_cells(found[0])
        if lines or end:
            if used + gap + size <= room:
                end, used = found.end(), used + gap + size
                continue
            lines.append(Span(start, end))
        start, end = found.span()
        while size > room:
            middle = start + _break_position(text[start:end], room)
            lines.append(Span(start, middle))
            start, size = middle, count_cells(text[middle:end])
        used = size
    return [*lines, Span(start, end)]


def _count_fitting(text: str, room: int) -> int:
    """Return how many characters of the text fit into `room` cells."""
    if text.isascii():
        return room
    used = 0
    for place, character in enumerate(text):
        used += _cells(character)
        if used > room:
            return place
    return len(text)


def _break_position(word: str, room: int) -> int:
    most = max(1, _count_fitting(word, room))
    joint = max((at for found in JOINT.finditer(word) if (at := found.start()) <= most), default=0)
    if joint > most // 2:
        return joint
    number = NUMBER.search(word, 0, most)
    return number.start() if number and number.start() and word[most : most + 1].isdigit() else most


def lay_out(text: str, room: int, *, code: bool = False) -> Iterator[str]:
    """Yield a text's lines, wrapped with their own indent, list items below their text. Code blocks
    and tables keep their lines, and so does the whole text if `code`."""
    fenced = False
    for line in text.splitlines():
        fence = FENCE.match(line) is not None
        if code or fenced or fence or KEPT.match(line) or count_cells(line) <= room:
            yield line.rstrip()
        else:
            beginning = ITEM.match(line)
            head = beginning[0] if beginning else ""
            first, *more = wrap_text(line[len(head) :], max(room // 2, room - count_cells(head)))
            yield head + first
            yield from (" " * count_cells(head) + each for each in more)
        fenced ^= fence


class MarkedText(NamedTuple):
    """A text that is safe to show, and the spans of its matches."""

    text: str
    matches: tuple[Span, ...]

    @classmethod
    def of(cls, snippet: str) -> MarkedText:
        """Parse a text with `<mark>` around each match."""
        text, matches = "", []
        for piece, matched in split_marks(visible(snippet)):
            if matched:
                matches.append(Span(len(text), len(text) + len(piece)))
            text += piece
        return cls(text, tuple(matches))

    def part(self, span: Span, before: str = "", after: str = "") -> MarkedText:
        """Return a part of it, between `before` and `after`."""
        start, end = span
        shift = len(before) - start
        inside = [
            Span(max(match.start, start) + shift, min(match.end, end) + shift)
            for match in self.matches
            if match.start < end and match.end > start
        ]
        return MarkedText(before + self.text[start:end] + after, tuple(inside))

    def on_one_line(self) -> MarkedText:
        """Return it as one line, with its matches."""
        text, matches, done = "", [], 0
        for match in (*self.matches, Span(len(self.text), len(self.text))):
            text = _join(text, self.text[done : match.start])
            start = len(text)
            text = _join(text, self.text[match.start : match.end])
            matches.append(Span(start, len(text)))
            done = match.end
        return MarkedText(text.rstrip(), tuple(matches[:-1]))

    def wrap(self, room: int, most: int) -> list[MarkedText]:
        """Return at most `most` lines, those with the most matches; `…` marks omissions."""
        lines = line_spans(self.text, room)
        if len(lines) <= most:
            return [self.part(line) for line in lines]
        lines = line_spans(self.text, room - 2)  # a `…` on either side
        chosen = _best_window([self.part(line) for line in lines], most)
        shown = lines[chosen : chosen + most]
        left, right = ("…" if chosen else ""), ("…" if chosen + most < len(lines) else "")
        last = len(shown) - 1
        return [
            self.part(
                line,
                left if place == 0 and self.text[line.start] != "…" else "",
                right if place == last and self.text[line.end - 1] != "…" else "",
            )
            for place, line in enumerate(shown)
        ]

    def code_lines(self, room: int, most: int) -> list[MarkedText]:
        """Return at most `most` of its lines, those with the most matches, each cut to `room`;
        without fences, empty lines and the common indent."""
        spans, start = [], 0
        for line in self.text.splitlines(keepends=True):
            if line.strip(" \t\n…") and not RULE.fullmatch(line.rstrip("\n")):
                spans.append(Span(start, start + len(line.rstrip())))
            start += len(line)
        lines = [self.part(span) for span in spans]
        chosen = _best_window(lines, most)
        shown = lines[chosen : chosen + most]
        indent = min((len(each.text) - len(each.text.lstrip()) for each in shown), default=0)
        return [each.shorten(indent, room) for each in shown]

    def shorten(self, indent: int, room: int) -> MarkedText:
        """Return the line without its indent, tabs as spaces, cut to `room` cells."""
        line = self.part(Span(indent, len(self.text)))
        tabs = line.text.count("\t")
        if tabs and line.text[:tabs].strip("\t") == "":  # tabs of code are at its beginning
            line = line.part(Span(tabs, len(line.text)), before=tabs * TAB)
        if count_cells(line.text) <= room:
            return line
        return line.part(Span(0, _count_fitting(line.text, max(1, room - 1))), after="…")


def _join(text: str, more: str) -> str:
    """Join both in one line, with white space as single blanks."""
    flowed = re.sub(r"\s+", " ", more)
    return text + (flowed.lstrip() if not text or text.endswith(" ") else flowed)


def _best_window(lines: Sequence[MarkedText], most: int) -> int:
    """Return the start of the `most`-line window with the most matches; ties go to one whose first
    line matches, then to the earliest."""
    counts = [len(line.matches) for line in lines]
    windows = [(sum(counts[at : at + most]), counts[at] > 0, -at) for at in range(len(lines))]
    return -max(windows, default=(0, False, 0))[2]


def highlight(line: MarkedText, style: str = "") -> str:
    """Return a line with its matches coloured, or underlined without colours; the rest in
    `style`."""
    found, done = "", 0
    for start, end in line.matches:
        found += _style_rest(line.text[done:start], style) + paint(line.text[start:end], MARK)
        done = end
    return found + _style_rest(line.text[done:], style)


def _style_rest(text: str, style: str) -> str:
    return paint(text, style) if style else text


def link_to(text: str, file: str) -> str:
    """Return the text as a link to a file, if the terminal shows links (OSC 8)."""
    if not screen().links or not os.path.isabs(file):  # noqa: PTH117  start-up time
        return text
    return f"\x1b]8;;file://{gethostname()}{quote(file)}\x1b\\{text}\x1b]8;;\x1b\\"


def width() -> int:
    """Return the width of the screen in cells."""
    return screen().width


def shorten(text: str, room: int) -> str:
    """Return the text as one line of at most `room` cells."""
    return cut(" ".join(visible(text).split()), room)


def wrap_sentence(text: str, style: str, indent: int = 2) -> str:
    """Return a sentence in that style, wrapped to the screen, all lines but the first indented."""
    return ("\n" + " " * indent).join(
        paint(line, style) for line in wrap_text(text, width() - indent)
    )
