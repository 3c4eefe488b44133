"""Memories in few tokens, for models: two lines each with the passage that matches, or a part.

    1. > Tokens live 15 minutes
    decision · harbor-api · 2026-10-12 · expired 2026-11-01 · tokens-live-k3f9
    > …a refresh token is good for thirty days…

Ten results take at most 600 tokens as text and 700 as data; passages are cut to fit. Text after a
`>` comes from a memory.

A part of a long memory is a range of lines, the section of a heading, or a page. The lines are
those of the memory's text, its details and its other long fields, in this order. A memory that is
too long for its share of an answer is cut to its first lines, with the name of the part that
continues it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from math import ceil
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from recollect.documents.markdown import plain_heading, structure
from recollect.errors import UserError
from recollect.memory_json import memory_json
from recollect.present.history import history_json
from recollect.present.response import ScanView, SnippetView, degraded_json, result_json
from recollect.present.sentences import heading_line, one_line, place_in_file, state_json, title_of
from recollect.present.snippet import PASSAGE_CHARACTERS, split_marks
from recollect.query.passages import CUT, extend, window
from recollect.query.terms import keywords
from recollect.store.history import Version
from recollect.times import iso
from recollect.types import Memory, Response, Result, Span
from recollect.vaults.known import HOME

# Text as tokenizers split it: a word with the sign before it, three digits, a run of signs.
PIECES = re.compile(r"[^\w\s]?[^\W\d_]+|\d{1,3}|(?:[^\w\s]|_)+(?![^\W\d_])|[^\w\s]+|_|\n+")
WORD, SIGNS = 6, 3  # characters of a token


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text: within 8 % of `o200k_base` for English, less exactly for other
    languages."""
    return sum(_piece_tokens(piece) for piece in PIECES.findall(text))


def _piece_tokens(piece: str) -> int:
    if piece[-1].isalpha() and piece.isascii():
        return ceil((len(piece) - (not piece[0].isalpha())) / WORD)
    return 1 if piece[0].isdigit() or piece[0] == "\n" else ceil(len(piece.encode()) / SIGNS)


# The fields that are cut to fit, and the tokens of the two keys.
KEYS, KEY_TOKENS = ("title", "passage"), 6
# Tokens of each of ten results; with fewer, each may have more. A little below the documented 60
# and 70, as the estimate may be 5 % too low.
TEXT_TOKENS, DATA_TOKENS = 57, 66
FEWEST = 10
LEAST = 5  # tokens of a passage that are worth showing
SCORE_DIGITS = 3
LONGEST_DIFFERENCE = 300  # tokens of one changed field


def row_json(memory: Memory, now: datetime | None = None) -> dict[str, Any]:
    """Return the two lines of a memory as data. `now`: also say if it has expired or was
    replaced."""
    named = {"title": heading_line(memory), "kind": memory.kind, "project": memory.project}
    date = {"date": f"{memory.updated_at:%Y-%m-%d}"}
    state = state_json(memory, now) if now else {}
    return {"id": memory.id, **{k: value for k, value in named.items() if value}, **date, **state}


def full_title(result: Result) -> str:
    """Return the title on one line; empty without a title, as the passage then replaces it."""
    return " ".join(one_line(title_of(result.memory)).split())


def place_of(result: Result) -> str:
    """Return `notes/setup.md:14`; empty if it is from no file. The title has the headings."""
    return place_in_file(replace(result.file, heading="")) if result.file else ""


def without_marks(response: Response) -> Response:
    """Return the response without `<mark>` in snippets, which is for web pages."""
    results = []
    for result in response:
        if isinstance(result.shown, SnippetView):
            plain = "".join(text for text, _ in split_marks(result.shown.snippet))
            result = replace(result, shown=replace(result.shown, snippet=plain))
        results.append(result)
    return replace(response, results=tuple(results))


def with_longer_passages(response: Response) -> Response:
    """Return the response with longer passages if there are few results. Only the scan view
    changes."""
    size = PASSAGE_CHARACTERS * FEWEST // max(1, len(response.results))
    if size <= PASSAGE_CHARACTERS:
        return response
    words, results = keywords(response.query), []
    for result in response:
        if result.passage and isinstance(result.shown, ScanView):
            found = extend(result.memory, result.passage, words, size)
            result = replace(result, passage=found, shown=replace(result.shown, snippet=found.text))
        results.append(result)
    return replace(response, results=tuple(results))


def fit(
    titles: Sequence[str], passages: Sequence[str], query: str, room: int
) -> tuple[list[str], list[str]]:
    """Cut the longest titles and passages so that all fit into `room` tokens. A passage keeps the
    part with the query's words."""
    most = largest_size(sorted(map(estimate_tokens, (*titles, *passages))), room)
    words = keywords(query)
    kept = [_cut(title, (), max(most, LEAST)) for title in titles]
    return kept, [_cut(text, words, most if most >= LEAST else 0) for text in passages]


def largest_size(sizes: Sequence[int], room: int) -> int:
    """Return the largest size to cut to so that all fit into `room`; `sizes` is sorted."""
    for index, size in enumerate(sizes):
        share = room // (len(sizes) - index)
        if size >= share:
            return share
        room -= size
    return max(sizes, default=0)


def _cut(text: str, words: Sequence[str], most: int) -> str:
    size = estimate_tokens(text)
    if size <= most:
        return text
    characters = most * len(text) // size
    return f"{window(text, words, characters).rstrip(CUT)}{CUT}" if characters else ""


def brief_history(versions: Sequence[Version], room: int) -> list[dict[str, Any]]:
    """Return the newest versions that fit into `room` tokens, at least one, each with its changes.
    Long differences are cut; `as_of` reads the memory of a version."""
    rows: list[dict[str, Any]] = []
    for row in history_json(versions):
        del row["memory"]
        row["differences"] = [_cut(each, (), LONGEST_DIFFERENCE) for each in row["differences"]]
        room -= estimate_tokens(msgspec.json.encode(row).decode())
        if rows and room < 0:
            break
        rows.append(row)
    return rows


def response_json(response: Response, *, brief: bool) -> dict[str, Any]:
    """Return the response as data. `brief`: only what the text says of each result; else every
    field of the view."""
    answer: dict[str, Any] = {}
    answer["results"] = results = [_result(result, brief) for result in response]
    if response.as_of:
        answer["as_of"] = iso(response.as_of)
    if response.evidence:
        answer["evidence"] = response.evidence
    for name in ("understood", "notes"):
        if found := getattr(response, name):
            answer[name] = list(found)
    if response.facets:
        answer["facets"] = response.facets
    if response.degraded:
        answer["degraded"] = degraded_json(response)
    if brief:
        titles = [full_title(result) for result in response]
        passages = [" ".join(str(result.fields["snippet"]).split()) for result in response]
        taken = estimate_tokens(msgspec.json.encode(answer).decode()) + KEY_TOKENS * len(results)
        room = DATA_TOKENS * max(len(results), FEWEST) - taken
        cut = zip(results, *fit(titles, passages, response.query, room), strict=True)
        for result, *texts in cut:
            result |= {key: text for key, text in zip(KEYS, texts, strict=True) if text}
    return answer


def _result(result: Result, brief: bool) -> dict[str, Any]:
    shown = _row(result) if brief else result_json(result, explain=False, whole=False)
    shown["score"] = round(result.score, SCORE_DIGITS)
    for name in ("same", "replaces", "seems_to_replace", "joined"):
        if others := getattr(result, name):
            shown[name] = [other.id for other in others]
    for name in ("superseded_by", "seems_replaced_by"):
        if newer := getattr(result, name):
            shown[name] = newer.id
    return shown


def _row(result: Result) -> dict[str, Any]:
    """Return the fields of a brief result without the title, which is cut with the passage."""
    shown = row_json(result.memory)
    shown.pop("title", None)
    if result.vault != HOME:
        shown["vault"] = result.vault
    if result.validity.startswith("expired"):
        shown["expired"] = True
    elif result.validity:
        shown["validity"] = result.validity
    if place := place_of(result):
        shown["file"] = place
    return shown


# A part of a long memory

LINES = re.compile(r"(?:lines? *)?(\d+) *[-–] *(\d*)")
PAGE = re.compile(r"(?:page *)?(\d+)")
LONG_FIELD = 1000  # characters; a longer field becomes part of the lines
FIELDS = ("text", "details", "title", "context", "why", "impact")
MOST_HEADINGS = 20  # in an answer
LONGEST_HEADING = 60  # characters
AROUND = 200  # tokens for what is added to a part: its lines, how to read on, headings
LEAST_PART = 100  # tokens, however little room there is


class Part(NamedTuple):
    """Lines `first` to `last` of a memory with `lines` lines. `following`: the name of the part
    that continues it; empty for the last. `headings`: the first headings of the memory."""

    memory: Memory
    text: str = ""
    first: int = 0
    last: int = 0
    lines: int = 0
    following: str = ""
    headings: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """Say which lines are shown, and how to read on."""
        on = f' To read on: part="{self.following}".' if self.following else ""
        return f"Lines {self.first}-{self.last} of {self.lines}.{on}"

    @property
    def shortened(self) -> Memory:
        """The memory with the part as its text, without its other long fields."""
        gone = {name: "" for name in FIELDS[2:] if len(getattr(self.memory, name)) > LONG_FIELD}
        return replace(self.memory, **gone | {"text": self.text, "details": ""})

    def as_json(self) -> dict[str, Any]:
        """Return the memory's fields without the cut ones, and the part."""
        fields = memory_json(self.shortened)
        del fields["text"], fields["details"]
        part = {"text": self.text, "lines": [self.first, self.last], "of": self.lines}
        part |= {"next": self.following} if self.following else {}
        return fields | {"part": part | ({"headings": [*self.headings]} if self.headings else {})}


def shown_memories(
    memories: Sequence[Memory], name: str, most: int, as_text: Callable[[Memory], str]
) -> list[Memory | Part]:
    """Return the memories within `most` tokens: long ones as their first part. `name`: return this
    part of each. `as_text`: returns a memory as it will be shown."""

    def tokens(memory: Memory) -> int:
        """Return the size of a memory as text or as data, whichever is larger."""
        data = msgspec.json.encode(memory_json(memory)).decode()
        return max(map(estimate_tokens, (as_text(memory), data)))

    sizes = [tokens(memory) for memory in memories]
    share = largest_size(sorted(sizes), most)
    shown: list[Memory | Part] = []
    for memory, size in zip(memories, sizes, strict=True):
        around = AROUND + tokens(Part(memory).shortened)
        page, room = max(LEAST_PART, most - around), max(LEAST_PART, share - around)
        if name:
            shown.append(part_of(memory, name, page))
        elif size <= share:
            shown.append(memory)
        else:
            text = _body(memory)
            shown.append(_beginning(memory, text, Span(0, len(text)), room, page))
    return shown


def part_of(memory: Memory, name: str, most: int) -> Part:
    """Return the part of a memory with this name, cut to `most` tokens. Raise UserError with the
    existing parts if there is no such part."""
    text, name = _body(memory), name.strip()
    if page := PAGE.fullmatch(name):
        pages, number = [*_pages(text, most)], int(page[1])
        if not 1 <= number <= len(pages):
            raise UserError(
                f"The memory {memory.id!r} has no page {number}; it has {len(pages)} pages."
            )
        following = str(number + 1) if number < len(pages) else ""
        return _make_part(memory, text, pages[number - 1], following)
    starts = [0, *(line.end() for line in re.finditer("\n", text))]
    if lines := LINES.fullmatch(name):
        first, last = int(lines[1]), min(int(lines[2] or len(starts)), len(starts))
        if not 1 <= first <= last:
            raise UserError(
                f"The memory {memory.id!r} has no lines {name!r}; it has {len(starts)} lines."
            )
    else:
        first, last = _section(memory.id, text, name, len(starts))
    end = starts[last] - 1 if last < len(starts) else len(text)
    return _beginning(memory, text, Span(starts[first - 1], end), most, most)


def _body(memory: Memory) -> str:
    long = (name for name in FIELDS[2:] if len(getattr(memory, name)) > LONG_FIELD)
    others = [f"{name}: {getattr(memory, name)}" for name in long]
    return "\n\n".join(filter(None, (memory.text, memory.details, *others)))


def _beginning(memory: Memory, text: str, wanted: Span, most: int, page_tokens: int) -> Part:
    """Return the beginning of the wanted span that fits into `most` tokens. `page_tokens`: the size
    of a page, if the rest can only be read by pages."""
    first_page = next(_pages(text[wanted.start : wanted.end], most))
    end = wanted.start + first_page.end
    following = ""
    if end < wanted.end and text[end - 1] == "\n":
        first, last = (text.count("\n", 0, place) + 1 for place in (end, wanted.end))
        following = f"{first}-{last}"
    elif end < wanted.end:  # within a long line, only pages can continue
        pages = enumerate(_pages(text, page_tokens), start=1)
        following = str(next(number for number, page in pages if page.end > end))
    return _make_part(memory, text, Span(wanted.start, end), following)


def _make_part(memory: Memory, text: str, span: Span, following: str) -> Part:
    shown = text[span.start : span.end].rstrip("\n")
    first, lines = text.count("\n", 0, span.start) + 1, text.count("\n") + 1
    sections = structure(text).sections[:MOST_HEADINGS]
    headings = tuple(section.title[:LONGEST_HEADING] for section in sections)
    return Part(memory, shown, first, first + shown.count("\n"), lines, following, headings)


def _pages(text: str, most: int) -> Iterator[Span]:
    """Yield the pages of a text: whole lines that fit into `most` tokens. A line that is too long
    is split."""
    start = end = taken = 0
    for line in re.findall(r"[^\n]*\n|[^\n]+$", text):
        size = estimate_tokens(f"> {line}")
        if taken + size > most and end > start:
            yield Span(start, end)
            start, taken = end, 0
        if size > most:
            step = max(1, most * len(line) // size)
            for cut in range(step, len(line), step):
                yield Span(start, end + cut)
                start = end + cut
            size = estimate_tokens(text[start : end + len(line)])
        end, taken = end + len(line), taken + size
    if end > start or not text:
        yield Span(start, end)


def _section(id: str, text: str, heading: str, lines: int) -> tuple[int, int]:
    """Return the first and the last line of the section of a heading, with the heading."""
    sections = structure(text).sections
    for number, section in enumerate(sections):
        if plain_heading(section.title) == plain_heading(heading):
            later = (each.line for each in sections[number + 1 :] if each.level <= section.level)
            return section.line + 1, next(later, lines)
    titles = " · ".join(section.title[:LONGEST_HEADING] for section in sections[:MOST_HEADINGS])
    there = f"its headings: > {titles}" if titles else f'it has no headings, but lines: "1-{lines}"'
    raise UserError(f"The memory {id!r} has no part {heading!r}; {there}.")
