"""Map a record of another tool to the fields of a memory; read Markdown notes of other tools.

A value that does not fit is reported, and the rest of the record is imported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import NamedTuple

from recollect import UserError
from recollect.plugin.importers import (
    CHOICES,
    EPOCH,
    TIMES,
    ImportedRecord,
    from_micros,
    hash_letters,
    is_text,
    iso,
    parse_time,
    refuse_record,
    slug,
    split,
    tag_list,
)
from recollect.plugins.importers.files import json_list, text_file

# Above 1e11 a number is milliseconds (1e11 s is the year 5138, 1e11 ms is 1973), and so on in steps
# of a thousand.
LARGEST_SECONDS = 1e11
UNITS = (1.0, 1e3, 1e6, 1e9)
# Ids that need no hash to be safe and short.
PLAIN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def moment(value: object) -> str | None:
    """Return a time as ISO 8601 in UTC, from ISO 8601 or from a number of seconds, milli-, micro-
    or nanoseconds since 1970; None for anything else."""
    if isinstance(value, str):
        try:
            return _since_1970(float(value)) if _is_number(value) else iso(parse_time(value, ""))
        except UserError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return _since_1970(value)


def _is_number(text: str) -> bool:
    """Return True for a number with more digits than a date without hyphens."""
    return re.fullmatch(r"\s*\d{9,25}(\.\d{1,12})?\s*", text, re.ASCII) is not None


def _since_1970(number: float) -> str | None:
    for unit in UNITS:
        if abs(number) < LARGEST_SECONDS * unit:
            try:
                return iso(EPOCH + timedelta(seconds=number / unit))
            except OverflowError:  # before the first year
                return None
    return None  # too large, or not a number at all


def end_of_day(value: object) -> object:
    """Return the midnight after a bare date, since a memory valid until a day is valid on that day;
    any other value is returned unchanged."""
    try:
        return (date.fromisoformat(str(value)) + timedelta(days=1)).isoformat()
    except (ValueError, OverflowError):
        return value


class Record:
    """Maps one record of another tool to the fields of a memory.

    `raw` has all its values, by the other tool's names. `take` and `use` mark a value as mapped;
    `finish` reports every other value that is not empty, so that nothing is lost silently.
    """

    def __init__(
        self, where: str, raw: Mapping[str, object], tool: str, *names: str, **fields: object
    ) -> None:
        """`names`: identify the record within the tool; `fields`: initial fields of the memory."""
        self.where = where
        self._raw = raw
        self._used: set[str] = set()
        self._unmapped: list[str] = []
        self._fields: dict[str, object] = {
            "id": foreign_id(tool, *names),
            "source": tool,
            **fields,
        }

    def take(self, *same: str, **names: str) -> None:
        """Set fields from values: `title="name"` takes the title from the value `name`; the `same`
        fields take the values of their own names."""
        for field, name in (names | dict(zip(same, same, strict=True))).items():
            self.put(field, self.use(name), name)

    def use(self, name: str) -> object:
        """Return the value of this name, and mark it as mapped."""
        self._used.add(name)
        return self._raw.get(name)

    def ignore(self, *names: str) -> None:
        """Mark values as mapped that mean nothing outside of the other tool: row numbers, vectors,
        hashes."""
        self._used.update(names)

    def put(self, field: str, value: object, name: str) -> None:
        """Set a field. An empty value is skipped, and one that does not fit is unmapped."""
        if empty(value):
            return
        fitting = _convert(field, value)
        if field == "tags":
            texts = tags(value)
            if any(text is None for text in texts):
                self.leave(name)
            before = self._fields.get("tags", [])
            added = [text for text in texts if text]
            fitting = list(dict.fromkeys([*before, *added])) if isinstance(before, list) else added
        if empty(fitting):
            self.leave(name)
        else:
            self._fields[field] = fitting

    def add(self, field: str, text: str) -> None:
        """Add a paragraph to a text field."""
        before = self._fields.get(field)
        if clean := clean_text(text).strip():
            self._fields[field] = f"{before}\n\n{clean}" if before else clean

    def add_headed(self, field: str, heading: str, name: str) -> None:
        """Add the value of this name to a text field, after a heading."""
        value = self.use(name)
        text = plain(value)
        if text and text.strip():
            self.add(field, f"{heading}{text.strip()}")
        elif not empty(value):
            self.leave(name)

    def texts(self, name: str) -> list[str]:
        """Return the texts of the list of this name."""
        return self.texts_of(self.use(name), name)

    def texts_of(self, value: object, name: str) -> list[str]:
        """Return the texts of a list, which may be JSON; other items are unmapped."""
        decoded = json_list(value) if isinstance(value, str) else value
        items = decoded if isinstance(decoded, list) else [value]
        texts = [plain(item) for item in items]
        if None in texts and not empty(value):
            self.leave(name)
        return [text.strip() for text in texts if text and not empty(text)]

    def end(self, name: str) -> None:
        """Set `valid_until` to the time when the record was archived, instead of any other."""
        since = self.use(name)
        if not empty(since) and self.has("valid_until"):
            self.leave("valid_until")
        self.put("valid_until", since, name)

    def leave(self, *names: str) -> None:
        """Report values as unmapped."""
        self._unmapped += [name for name in names if name not in self._unmapped]

    def has(self, field: str) -> bool:
        return field in self._fields

    def finish(self) -> ImportedRecord:
        """Return the memory's fields, or a reason if there is neither a title nor a text."""
        for name, value in self._raw.items():
            if name not in self._used and not empty(value):
                self.leave(clean_text(name))
        if not any(str(self._fields.get(name, "")).strip() for name in ("title", "text")):
            return refuse_record(self.where, "It has neither a title nor a text.")
        return ImportedRecord(self.where, self._fields, "", tuple(self._unmapped))


def bullet_list(heading: str, texts: list[str]) -> str:
    """Return a list as a paragraph for `Record.add`, with a heading if given; empty without
    texts."""
    lines = [f"- {text}" for text in texts]
    return "\n".join([f"{heading}:", *lines] if heading and lines else lines)


def without_repeats(records: Iterator[ImportedRecord]) -> Iterator[ImportedRecord]:
    """Yield the records; refuse a second one with the same id, which would overwrite the first."""
    seen: set[object] = set()
    for record in records:
        id = record.fields and record.fields["id"]
        if id and id in seen:
            yield refuse_record(record.where, f"A record before it has the same id, {id!r}.")
        else:
            seen.add(id)
            yield record


def empty(value: object) -> bool:
    """Return True for null, a blank text, and an empty list or object, also as JSON text."""
    if isinstance(value, str):
        return value.replace("\0", "").strip() in ("", "[]", "{}")
    return value is None or (isinstance(value, bytes | list | tuple | dict) and not value)


def _convert(field: str, value: object) -> object:
    """Return the value in the field's form, or None."""
    if field in TIMES:
        return moment(value)
    text = plain(value)
    if field in CHOICES and text not in CHOICES[field]:
        return None
    return text


def plain(value: object) -> str | None:
    """Return a scalar as text; None for lists, objects and bytes."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    return clean_text(value) if isinstance(value, str) else None


def clean_text(text: str) -> str:
    """Return text that a memory can hold: without NUL, lone surrogates replaced."""
    bare = text.replace("\0", "")
    return bare if is_text(bare) else bare.encode(errors="replace").decode()


def tags(value: object) -> list[str | None]:
    """Return each tag as text, None for a value that cannot be one. A text may be a JSON list or a
    list with commas."""
    if isinstance(value, str) and value.lstrip().startswith(("[", "{")):
        value = json_list(value) or [None]
    items = tag_list(value, at_spaces=False, exact=True)
    texts = [plain(item) for item in (items if isinstance(items, list) else [items])]
    return [text if text is None else text.strip() for text in texts]


def foreign_id(tool: str, *names: str) -> str:
    """Return the memory's id for a record of this name, always the same one.

    A plain name stays unchanged; any other becomes a slug with a hash.
    """
    whole = "/".join(names)
    if PLAIN_ID.fullmatch(whole):
        return f"{tool}-{whole}"
    letters = hash_letters("\0".join(names), 10)
    return "-".join(part for part in (tool, slug(whole), letters) if part)


# Front matter is read as texts; these mean `null` in YAML.
NOTHING = ("null", "Null", "NULL", "~")


class Note(NamedTuple):
    """A note in a folder. `problem`: why its front matter, which is then part of the body, could
    not be read."""

    name: str
    where: str
    fields: dict[str, object]
    body: str
    changed_at: str
    problem: str


def read_note(file: Path, root: Path) -> Note:
    """Read the note in a file; UserError if it cannot be read."""
    parsed = split(text_file(file))
    fields = {name: value for name, value in parsed.fields.items() if value not in NOTHING}
    changed = iso(from_micros(file.stat().st_mtime_ns // 1000))
    where = file.relative_to(root).as_posix()
    return Note(file.stem, where, fields, parsed.body.strip("\n"), changed, parsed.problem)


def put_title_and_text(record: Record, note: Note) -> None:
    """Set the title from the front matter, else from the file's name, and the text to the body."""
    record.take("title")
    if not record.has("title"):
        record.put("title", note.name, "name")
    title = (plain(note.fields.get("title")) or "").strip() or note.name
    record.put("text", without_title(note.body, title), "text")
    record.put("path", note.where, "path")
    if note.problem:
        record.leave("front matter")


def without_title(body: str, title: str) -> str:
    """Return the body without a first heading that only repeats the title."""
    first, _, rest = body.partition("\n")
    heading = first[1:].strip(" \t").rstrip("#").rstrip(" \t") if first[:1] == "#" else ""
    repeated = first[1:2] in (" ", "\t") and heading.casefold() == title.casefold()
    return rest.lstrip("\n") if heading and repeated else body
