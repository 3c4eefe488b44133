"""A memory as a Markdown file with front matter, as Obsidian opens it; loss-free both ways.

The front matter has every field that is not its default. The text is the body; context, why, impact
and details follow, each under a heading and behind a comment that Obsidian does not show:

    %% recollect: why %%
    ## Why

A text that would not survive there as it is (white space at its ends, carriage returns, a line that
looks like our comment) stands in the front matter instead, quoted. What is quoted is both a JSON
string and a YAML scalar.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from recollect.times import iso
from recollect.types import Memory

FIELDS = Memory.__struct_fields__
SECTIONS = ("context", "why", "impact", "details")
BODY = ("text", *SECTIONS)
# An empty text is as good as none. For a title it is not: a file without one is called by its name.
ALWAYS = ("id", "title", "created_at", "updated_at")
TIMES = ("created_at", "updated_at", "valid_from", "valid_until")
# What cannot be empty in a memory; an empty value, as editors leave it, stands for none.
NEVER_EMPTY = ("id", "kind", "severity", "tier", *TIMES)

MARK = re.compile(rf"^%%[ \t]*recollect:[ \t]*({'|'.join(SECTIONS)})[ \t]*%%[ \t]*$", re.MULTILINE)
OPENING = re.compile(r"\A(\ufeff?---[ \t]*\r?\n)")
CLOSING = re.compile(r"^(?:---|\.\.\.)[ \t]*\r?$", re.MULTILINE)
# Not indented, no comment, no item of a list, and nothing that YAML begins something else with.
KEY = re.compile(
    r"""(?P<key>(?:"[^"\n]*"|'[^'\n]*')[ \t]*"""
    r"""|[^-\s#"'\[\]{}&*!|>%@`,?:](?:[^:\n]|:(?=\S))*):(?!\S)"""
)
# Words that YAML never takes for something else than a text, and times.
PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*(?: [A-Za-z0-9_./-]+)*|\d{4}-\d\d-\d\dT[\d:.]+Z")
SPECIAL = frozenset("true false yes no on off null y n".split())
QUOTED = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
# YAML refuses these as they are, or takes them for the end of a line; so do some editors.
ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
UNCLOSED = "The front matter is not closed by a line of `---`."
NO_KEYS = "The front matter must have one field a line, as in `title: Notes`."


class Form(NamedTuple):
    """What a file says: the fields of a memory that it gives, as texts and lists of texts, and the
    lines of its front matter that are no field of ours, as they stand, with what they say.
    `problem`: why it cannot be read, one sentence; then the rest is empty."""

    fields: dict[str, object]
    extras: str = ""
    others: Mapping[str, object] = MappingProxyType({})
    problem: str = ""


class FieldLines(NamedTuple):
    """A field of the front matter with all its lines; comments before the first have no key."""

    key: str
    lines: str


class Parts(NamedTuple):
    """A file's front matter, without its fences, and what follows; `None` where there is none."""

    chunks: list[FieldLines] | None
    body: str


# Writing


def as_markdown(memory: Memory, extras: str = "") -> str:
    """The whole file; `extras` are further lines of its front matter."""
    held = {name: getattr(memory, name) for name in FIELDS}
    body = [name for name in BODY if held[name] and _survives(held[name])]
    front = [
        front_line(name, held[name])
        for name in FIELDS
        if name not in body and (name in ALWAYS or held[name] != _default(name))
    ]
    pieces = [_section(name, held[name]) for name in body]
    return "".join(["---\n", *front, extras, "---\n", *(f"\n{piece}\n" for piece in pieces)])


def front_line(name: str, value: object) -> str:
    """A field as front matter has it: one line, for a list one more for each of its texts."""
    if isinstance(value, datetime):
        value = iso(value)
    if isinstance(value, str):
        return f"{name}: {_scalar(value)}\n"
    assert isinstance(value, list | tuple)
    if not value:
        return f"{name}: []\n"
    return f"{name}:\n" + "".join(f"  - {_scalar(one)}\n" for one in value)


def with_fields(text: str, fields: Mapping[str, object]) -> str:
    """A file's text with these fields in its front matter, and all else as it is."""
    parts = _parts(text)
    opening = OPENING.match(text)
    ending = "\r\n" if "\r\n" in text else "\n"
    said = "".join(front_line(name, value) for name, value in fields.items())
    said = said.replace("\n", ending)
    if parts.chunks is None or opening is None:
        mark = "\ufeff" if text.startswith("\ufeff") else ""
        return f"{mark}---{ending}{said}---{ending}{text.removeprefix(mark)}"
    kept = "".join(chunk.lines for chunk in parts.chunks if chunk.key not in fields)
    rest = text[opening.end() + sum(len(chunk.lines) for chunk in parts.chunks) :]
    return f"{opening[0]}{said}{kept}{rest}"


def _survives(text: str) -> bool:
    """Whether a text comes back from the body as it went in."""
    return text == text.strip() and "\r" not in text and MARK.search(text) is None


def _section(name: str, text: str) -> str:
    return text if name == "text" else f"%% recollect: {name} %%\n{_heading(name)}\n\n{text}"


def _heading(name: str) -> str:
    return f"## {name.capitalize()}"


def _scalar(text: str) -> str:
    if PLAIN.fullmatch(text) and text.lower() not in SPECIAL:
        return text
    written = msgspec.json.encode(text).decode()
    return ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", written)


def _default(name: str) -> object:
    return DEFAULTS.get(name)


DEFAULTS: dict[str, object] = {
    name: default
    for name, default in zip(
        FIELDS[-len(Memory.__struct_defaults__) :], Memory.__struct_defaults__, strict=True
    )
    if default is not msgspec.NODEFAULT
}


# Reading


def parsed(text: str) -> Form:
    """What a file says. How its lines end does not matter: a memory's own `\\r` is quoted."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    parts = _parts(text)
    if parts.chunks is None:
        if OPENING.match(text) and re.search(r"^id:", text[:1000], re.MULTILINE):
            return Form({}, problem=UNCLOSED)
        return Form(_body_fields(text, {}))
    chunks = list({chunk.key: chunk for chunk in parts.chunks}.values())  # of two the last
    fields = _quick(chunks)
    if any(chunk.key not in fields for chunk in chunks):
        asked = [chunk for chunk in chunks if chunk.key not in fields]
        problem, slow = _slow(parts.chunks, asked)
        if problem:
            return Form({}, problem=problem)
        fields |= slow
    extras = [chunk for chunk in chunks if chunk.key not in FIELDS]
    others = {name: value for name, value in fields.items() if name not in FIELDS}
    given = {name: value for name, value in fields.items() if _is_given(name, value)}
    lines = "".join(chunk.lines for chunk in extras)
    return Form(_body_fields(parts.body, given), lines, others)


def _is_given(name: str, value: object) -> bool:
    return name in FIELDS and (value != "" or name not in NEVER_EMPTY)


def loose_id(text: str) -> str:
    """The id that a file seems to have, even where the rest of it cannot be read; else empty."""
    found = re.search(r"^id:[ \t]*(\S+)[ \t]*\r?$", text[:64_000], re.MULTILINE)
    if found is None or not OPENING.match(text):
        return ""
    return str(_quick_scalar(found[1]) or found[1])


def _parts(text: str) -> Parts:
    opening = OPENING.match(text)
    closing = CLOSING.search(text, opening.end()) if opening else None
    if opening is None or closing is None:
        return Parts(None, text)
    block = text[opening.end() : closing.start()]
    return Parts(_chunks(block), text[closing.end() + 1 :])


def _chunks(block: str) -> list[FieldLines]:
    """The block cut before each line that begins with a key. Only `\\n` ends a line here, so that
    nothing in a quoted text does."""
    chunks: list[FieldLines] = []
    key, lines = "", list[str]()
    for line in re.findall(r"[^\n]*\n|[^\n]+", block):
        found = KEY.match(line)
        if found is not None:
            if lines:
                chunks.append(FieldLines(key, "".join(lines)))
            key, lines = found["key"].rstrip().strip("\"'"), []
        lines.append(line)
    return [*chunks, FieldLines(key, "".join(lines))] if lines else chunks


def _quick(chunks: Iterable[FieldLines]) -> dict[str, object]:
    """The fields that are written as we write them. Reading these without YAML is quick, and no
    text is too long for it."""
    found = {chunk.key: _quick_value(chunk) for chunk in chunks if chunk.key in FIELDS}
    return {name: value for name, value in found.items() if value is not None}


def _quick_value(chunk: FieldLines) -> object:
    first, *more = chunk.lines.rstrip("\n").split("\n")
    value = first.partition(":")[2].strip(" \t")
    if not more:
        return [] if value == "[]" else _quick_scalar(value)
    if value or not all(line.startswith("  - ") for line in more):
        return None
    items = [_quick_scalar(line[4:].strip(" \t")) for line in more]
    return None if None in items else items


def _quick_scalar(value: str) -> str | None:
    if PLAIN.fullmatch(value):
        return value
    if QUOTED.fullmatch(value):
        try:
            return msgspec.json.decode(value, type=str)
        except (msgspec.DecodeError, UnicodeDecodeError):  # an escape that only YAML knows
            return None
    return None


def _slow(
    chunks: Iterable[FieldLines], asked: Sequence[FieldLines]
) -> tuple[str, dict[str, object]]:
    """What YAML says of these, or what is wrong with them. The others leave empty lines, so that a
    place that is named is the place in the file."""
    from recollect.documents.front_matter import split  # noqa: PLC0415  start-up time

    if any(not chunk.key and _says_something(chunk.lines) for chunk in asked):
        return NO_KEYS, {}
    lines = (one.lines if one in asked else "\n" * one.lines.count("\n") for one in chunks)
    found = split("---\n" + "".join(lines) + "---\n")
    return found.problem, found.fields


def _says_something(lines: str) -> bool:
    return any(line.strip() and not line.lstrip().startswith("#") for line in lines.split("\n"))


def _body_fields(body: str, fields: dict[str, object]) -> dict[str, object]:
    """The fields with the texts of the body. What stands both in the front matter and in the body,
    or twice in the body, is joined: nothing that somebody wrote is dropped."""
    first, *rest = MARK.split(body)
    sections = zip(rest[::2], rest[1::2], strict=True)
    told = dict(fields)
    for name, text in [
        ("text", first.strip()),
        *((one, _under(one, two)) for one, two in sections),
    ]:
        held = told.get(name)
        if text:
            told[name] = f"{held}\n\n{text}" if isinstance(held, str) and held else text
    return told


def _under(name: str, section: str) -> str:
    """A section's text without its heading, where it still has it."""
    first, _, rest = section.strip().partition("\n")
    return rest.strip() if first.rstrip() == _heading(name) else section.strip()
