"""A memory as a Markdown file with front matter, as Obsidian opens it; lossless both ways.

The front matter has every field that differs from its default. The text is the body; context, why,
impact and details follow, each with a heading and a comment that Obsidian hides:

    %% recollect: why %%
    ## Why

A text that the body cannot represent exactly (white space at its ends, carriage returns, a line
like our comment) is quoted in the front matter, as both a JSON string and a YAML scalar. In a
folder of such files, links are not followed and hidden files are ignored.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from recollect.checks import is_text
from recollect.documents.document import main_title
from recollect.documents.markdown import OPENING, block, memory_fields, split, tag_list
from recollect.documents.reader import structure
from recollect.errors import UserError
from recollect.files import open_regular
from recollect.ingest.draft import DEFAULTS, FIELDS
from recollect.times import iso
from recollect.types import TIMES, Memory

SECTIONS = ("context", "why", "impact", "details")
BODY = ("text", *SECTIONS)
# Written even if empty: without a title, the file's name would be the title.
ALWAYS = ("id", "title", "created_at", "updated_at")
# Fields that cannot be empty; an empty value, as editors leave it, counts as absent.
NEVER_EMPTY = ("id", "kind", "severity", "tier", *TIMES)

MARK = re.compile(rf"^%%[ \t]*recollect:[ \t]*({'|'.join(SECTIONS)})[ \t]*%%[ \t]*$", re.MULTILINE)
# A key is not indented and does not begin like a comment, a list item or other YAML.
KEY = re.compile(
    r"""(?P<key>(?:"[^"\n]*"|'[^'\n]*')[ \t]*"""
    r"""|[^-\s#"'\[\]{}&*!|>%@`,?:](?:[^:\n]|:(?=\S))*):(?!\S)"""
)
# Words that YAML always reads as text, and times.
PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*(?: [A-Za-z0-9_./-]+)*|\d{4}-\d\d-\d\dT[\d:.]+Z")
SPECIAL = frozenset("true false yes no on off null y n".split())
QUOTED = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
# YAML and some editors refuse these characters or read them as line ends.
ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
UNCLOSED = "The front matter is not closed by a line of `---`."
NO_KEYS = "The front matter must have one field a line, as in `title: Notes`."
MOST_BYTES = 256 * 1024 * 1024  # a file is read as a whole
ENDING = ".md"
LINK = "It is a link, and links are not followed."
NOT_UTF8 = "It is not valid UTF-8 text."
NOT_REGULAR = "It is not a regular file."


class ParsedFile(NamedTuple):
    """The content of a file.

    - `fields`: fields of a memory, as texts and lists of texts.
    - `extras`: other lines of its front matter; `others`: their values.
    - `problem`: a sentence why it cannot be read; then the rest is empty.
    """

    fields: dict[str, object]
    extras: str = ""
    others: Mapping[str, object] = MappingProxyType({})
    problem: str = ""


class FieldLines(NamedTuple):
    """The lines of one field of front matter; the key is empty for comments before the first
    field."""

    key: str
    lines: str


# Writing


def as_markdown(memory: Memory, extras: str = "") -> str:
    """Return the file of a memory. `extras`: more lines for its front matter."""
    values = {name: getattr(memory, name) for name in FIELDS}
    body = [name for name in BODY if values[name] and _fits_body(values[name])]
    front = [
        front_line(name, values[name])
        for name in FIELDS
        if name not in body and (name in ALWAYS or values[name] != DEFAULTS.get(name))
    ]
    sections = [_section(name, values[name]) for name in body]
    return "".join(["---\n", *front, extras, "---\n", *(f"\n{text}\n" for text in sections)])


def front_line(name: str, value: object) -> str:
    """Return a field as a line of front matter, with one more line for each item of a list."""
    if isinstance(value, datetime):
        value = iso(value)
    if isinstance(value, str):
        return f"{name}: {_scalar(value)}\n"
    assert isinstance(value, list | tuple)
    if not value:
        return f"{name}: []\n"
    return f"{name}:\n" + "".join(f"  - {_scalar(item)}\n" for item in value)


def with_fields(text: str, fields: Mapping[str, object]) -> str:
    """Return a file's text with these fields set in its front matter."""
    found = block(text)
    ending = "\r\n" if "\r\n" in text else "\n"
    added = "".join(front_line(name, value) for name, value in fields.items())
    added = added.replace("\n", ending)
    if found is None:
        mark = "\ufeff" if text.startswith("\ufeff") else ""
        return f"{mark}---{ending}{added}---{ending}{text.removeprefix(mark)}"
    kept = "".join(field.lines for field in _field_lines(found.yaml) if field.key not in fields)
    rest = text[len(found.opening) + len(found.yaml) :]
    return f"{found.opening}{added}{kept}{rest}"


def _fits_body(text: str) -> bool:
    """Return True if the body represents the text exactly."""
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


# Reading


def parse(text: str) -> ParsedFile:
    """Parse a file. Windows line ends are accepted, as a memory's own `\\r` is quoted."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    found = block(text)
    if found is None:
        if OPENING.match(text) and re.search(r"^id:", text[:1000], re.MULTILINE):
            return ParsedFile({}, problem=UNCLOSED)
        return ParsedFile(_with_body({}, text))
    every = _field_lines(found.yaml)
    lines = list({field.key: field for field in every}.values())  # the last of duplicates
    fields = _read_own(lines)
    foreign = [field for field in lines if field.key not in fields]
    if foreign:
        problem, others = _read_yaml(every, foreign)
        if problem:
            return ParsedFile({}, problem=problem)
        fields |= others
    extras = "".join(field.lines for field in lines if field.key not in FIELDS)
    others = {name: value for name, value in fields.items() if name not in FIELDS}
    ours = {
        name: value
        for name, value in fields.items()
        if name in FIELDS and (value != "" or name not in NEVER_EMPTY)
    }
    return ParsedFile(_with_body(ours, found.body), extras, others)


def loose_id(text: str) -> str:
    """Return the id in a file, even if the file cannot be parsed; else an empty text."""
    found = re.search(r"^id:[ \t]*(\S+)[ \t]*\r?$", text[:64_000], re.MULTILINE)
    if found is None or not OPENING.match(text):
        return ""
    return str(_read_scalar(found[1]) or found[1])


def _field_lines(yaml: str) -> list[FieldLines]:
    """Split front matter into fields at lines with a key. Only `\\n` ends a line, so that a quoted
    text is not split."""
    fields: list[FieldLines] = []
    key, lines = "", list[str]()
    for line in re.findall(r"[^\n]*\n|[^\n]+", yaml):
        found = KEY.match(line)
        if found is not None:
            if lines:
                fields.append(FieldLines(key, "".join(lines)))
            key, lines = found["key"].rstrip().strip("\"'"), []
        lines.append(line)
    return [*fields, FieldLines(key, "".join(lines))] if lines else fields


def _read_own(lines: Iterable[FieldLines]) -> dict[str, object]:
    """Read the fields that are written as we write them. This is faster than YAML and has no size
    limit."""
    found = {field.key: _read_value(field) for field in lines if field.key in FIELDS}
    return {name: value for name, value in found.items() if value is not None}


def _read_value(field: FieldLines) -> object:
    first, *more = field.lines.rstrip("\n").split("\n")
    value = first.partition(":")[2].strip(" \t")
    if not more:
        return [] if value == "[]" else _read_scalar(value)
    if value or not all(line.startswith("  - ") for line in more):
        return None
    items = [_read_scalar(line[4:].strip(" \t")) for line in more]
    return None if None in items else items


def _read_scalar(value: str) -> str | None:
    if PLAIN.fullmatch(value):
        return value
    if QUOTED.fullmatch(value):
        try:
            return msgspec.json.decode(value, type=str)
        except (msgspec.DecodeError, UnicodeDecodeError):  # an escape that only YAML has
            return None
    return None


def _read_yaml(
    every: Iterable[FieldLines], foreign: Sequence[FieldLines]
) -> tuple[str, dict[str, object]]:
    """Read the foreign fields with YAML; return the problem, if any, and the fields. The other
    fields are replaced by empty lines, so that line numbers in messages are right."""
    if any(not field.key and _has_content(field.lines) for field in foreign):
        return NO_KEYS, {}
    lines = (field.lines if field in foreign else "\n" * field.lines.count("\n") for field in every)
    found = split("---\n" + "".join(lines) + "---\n")
    return found.problem, found.fields


def _has_content(lines: str) -> bool:
    """Return True if there is anything but blank lines and comments."""
    return any(line.strip() and not line.lstrip().startswith("#") for line in lines.split("\n"))


def _with_body(fields: Mapping[str, object], body: str) -> dict[str, object]:
    """Add the texts of the body to the fields. A text that occurs twice, in front matter or body,
    is joined, so that nothing is lost."""
    first, *rest = MARK.split(body)
    sections = zip(rest[::2], rest[1::2], strict=True)
    texts = [("text", first.strip()), *((name, _under(name, text)) for name, text in sections)]
    joined = dict(fields)
    for name, text in texts:
        before = joined.get(name)
        if text:
            joined[name] = f"{before}\n\n{text}" if isinstance(before, str) and before else text
    return joined


def _under(name: str, section: str) -> str:
    """Return a section's text without its heading."""
    first, _, rest = section.strip().partition("\n")
    return rest.strip() if first.rstrip() == _heading(name) else section.strip()


def our_fields(file: ParsedFile) -> dict[str, object]:
    """Return the fields of a file with an id, exactly as written."""
    fields = dict(file.fields)
    if "tags" in fields:
        fields["tags"] = tag_list(fields["tags"], at_spaces=True, exact=True)
    return fields


def note_fields(file: ParsedFile, path: str) -> dict[str, object]:
    """Return the fields of a file that a person wrote. Its title is from the front matter, else the
    first heading, else the file name; its tags are from front matter and text."""
    fields = memory_fields(file.others).fields | our_fields(file)
    text, title, tags = fields.get("text"), fields.get("title"), fields.get("tags", [])
    found = structure(text if isinstance(text, str) else "")
    if title is None or (isinstance(title, str) and not title.strip()):
        fields["title"] = main_title(found.sections) or PurePosixPath(path).stem
    tags = tag_list(tags)
    if isinstance(tags, list) and all(isinstance(tag, str) for tag in tags):
        fields["tags"] = list(dict.fromkeys([*tags, *found.tags]))
    return fields


class MarkdownEntry(NamedTuple):
    """An entry of the folder; its path is relative, with `/`. `problem`: why it cannot be read; the
    content of a folder with a problem is unknown. Only `markdown` files are read."""

    path: str
    markdown: bool
    folder: bool = False
    problem: str = ""


def walk(folder: Path) -> Iterator[MarkdownEntry]:
    """Yield every entry that is not hidden, folder by folder, by name."""
    waiting = [""]
    while waiting:
        below = waiting.pop()
        try:
            with os.scandir(folder / below) as listed:
                entries = sorted(listed, key=lambda entry: entry.name)
        except OSError as error:
            yield MarkdownEntry(below, False, True, f"The folder cannot be read: {error.strerror}.")
            continue
        inside = [
            _entry(entry, f"{below}/{entry.name}" if below else entry.name)
            for entry in entries
            if not entry.name.startswith(".")
        ]
        yield from inside
        waiting += (found.path for found in reversed(inside) if found.folder and not found.problem)


def _entry(entry: os.DirEntry[str], path: str) -> MarkdownEntry:
    is_markdown = entry.name.lower().endswith(ENDING)
    if not is_text(entry.name):
        shown = path.encode(errors="surrogateescape").decode(errors="replace")
        folder = entry.is_dir(follow_symlinks=False)
        problem = "Its name is not valid UTF-8 text." if is_markdown or folder else ""
        return MarkdownEntry(shown, False, folder, problem)
    if entry.is_symlink():
        return MarkdownEntry(path, is_markdown, not is_markdown, LINK)
    if entry.is_dir(follow_symlinks=False):
        return MarkdownEntry(path, False, True)
    fine = not is_markdown or entry.is_file(follow_symlinks=False)
    return MarkdownEntry(path, is_markdown, False, "" if fine else NOT_REGULAR)


def read_bytes(folder: Path, path: str) -> bytes:
    """Return a file's bytes; raise UserError if it cannot be read. Links are not followed, and
    pipes are not opened."""
    try:
        stream = open_regular(folder / path)
        if stream is None:
            raise UserError(NOT_REGULAR)
        with stream:
            if os.fstat(stream.fileno()).st_size > MOST_BYTES:
                raise UserError(f"It is larger than {MOST_BYTES // 1024 // 1024} MB.")
            return stream.read()
    except OSError as error:
        raise UserError(f"It cannot be read: {error.strerror}.") from error


def as_text(raw: bytes) -> str:
    """Return a file's text, with its line ends and byte order mark."""
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise UserError(f"{NOT_UTF8[:-1]} (byte {error.start}).") from error
    if "\0" in text:
        raise UserError("It holds a NUL character, which text cannot hold.")
    return text
