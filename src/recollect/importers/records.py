"""What importers make of one piece of another tool: fields of a memory, ids, times, tags.

Whatever is odd about a value costs that value its place, and never the piece.
"""

from __future__ import annotations

import re
from base64 import b32encode
from collections.abc import Iterator, Mapping
from datetime import timedelta

from recollect.checks import is_text
from recollect.errors import UserError
from recollect.hashing import content_digest
from recollect.importers.base import Taken
from recollect.importers.files import json_list
from recollect.ingest.draft import CHOICES, TIMES
from recollect.ingest.ids import slug
from recollect.times import EPOCH, iso, parse_time

# Ids that need no hash to be safe and short.
PLAIN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
# That many seconds are over in the year 5138, that many milliseconds were over in 1973: so a number
# tells its unit by its size, in steps of a thousand.
LARGEST_SECONDS = 1e11
UNITS = (1.0, 1e3, 1e6, 1e9)


class Piece:
    """One piece of another tool on its way to a memory's fields.

    `raw` is all that it holds, by the other tool's names. `take` and `use` say which of it has a
    place; whatever else is not empty is homeless when `taken` is called, so that nothing is lost
    without being named.
    """

    def __init__(self, where: str, raw: Mapping[str, object], id: str, source: str) -> None:
        self.where = where
        self._raw = raw
        self._seen: set[str] = set()
        self._homeless: list[str] = []
        self._fields: dict[str, object] = {"id": id, "source": source}

    def take(self, field: str, called: str) -> None:
        """What the other tool calls so becomes this field of the memory."""
        self.put(field, self.use(called), called)

    def use(self, called: str) -> object:
        """What the other tool calls so, for whoever makes something else of it; it has a place."""
        self._seen.add(called)
        return self._raw.get(called)

    def ignore(self, *called: str) -> None:
        """What says nothing outside of the other tool: row numbers, vectors, hashes."""
        self._seen.update(called)

    def put(self, field: str, value: object, called: str) -> None:
        """A value for a field: empty ones count as not given, odd ones as homeless."""
        if empty(value):
            return
        fitting = _fitting(field, value)
        if field == "tags":
            texts = tags(value)
            if any(text is None for text in texts):
                self.leave(called)
            held = self._fields.get("tags", [])
            added = [text for text in texts if text]
            fitting = list(dict.fromkeys([*held, *added])) if isinstance(held, list) else added
        if empty(fitting):
            self.leave(called)
        else:
            self._fields[field] = fitting

    def add(self, field: str, text: str) -> None:
        """One more paragraph of a text field."""
        before = self._fields.get(field)
        if clean := clean_text(text).strip():
            self._fields[field] = f"{before}\n\n{clean}" if before else clean

    def texts(self, called: str) -> list[str]:
        """The list of texts that the other tool calls so."""
        return self.texts_of(self.use(called), called)

    def texts_of(self, value: object, called: str) -> list[str]:
        """The texts of a list, which a database may keep as JSON; what is none is left."""
        held = json_list(value) if isinstance(value, str) else value
        items = held if isinstance(held, list) else [value]
        found = [plain(item) for item in items]
        if None in found and not empty(value):
            self.leave(called)
        return [text.strip() for text in found if text and not empty(text)]

    def end(self, called: str) -> None:
        """What was put away at that time was valid until then, whatever else was said."""
        since = self.use(called)
        if not empty(since) and self.has("valid_until"):
            self.leave("valid_until")
        self.put("valid_until", since, called)

    def leave(self, *called: str) -> None:
        """What has no place in a memory."""
        self._homeless += [name for name in called if name not in self._homeless]

    def has(self, field: str) -> bool:
        return field in self._fields

    def taken(self) -> Taken:
        """The memory's fields; or the reason that there is none, where nothing was said."""
        for name, value in self._raw.items():
            if name not in self._seen and not empty(value):
                self.leave(clean_text(name))
        if not any(str(self._fields.get(name, "")).strip() for name in ("title", "text")):
            return Taken(self.where, None, "It has neither a title nor a text.")
        return Taken(self.where, self._fields, "", tuple(self._homeless))


def listed(heading: str, texts: list[str]) -> str:
    """A paragraph for `Piece.add`; empty where there is nothing to list."""
    return "\n".join([f"{heading}:", *(f"- {text}" for text in texts)]) if texts else ""


def once(pieces: Iterator[Taken]) -> Iterator[Taken]:
    """The pieces, but no second one of the same id: it would overwrite the first."""
    seen: set[object] = set()
    for piece in pieces:
        id = piece.fields and piece.fields["id"]
        if id and id in seen:
            yield Taken(piece.where, None, f"What was taken as {id!r} before has the same name.")
        else:
            seen.add(id)
            yield piece


def empty(value: object) -> bool:
    """Whether a value says nothing: null, an empty or blank text, an empty list or object, also one
    that a database keeps as text."""
    if isinstance(value, str):
        return value.replace("\0", "").strip() in ("", "[]", "{}")
    return value is None or (isinstance(value, bytes | list | tuple | dict) and not value)


def _fitting(field: str, value: object) -> object:
    """The value as the field takes it, or None."""
    if field in TIMES:
        return moment(value)
    text = plain(value)
    if field in CHOICES and text not in CHOICES[field]:
        return None
    return text


def plain(value: object) -> str | None:
    """A scalar as text; None for lists, objects and bytes."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    return clean_text(value) if isinstance(value, str) else None


def clean_text(text: str) -> str:
    """Text as a memory can hold it: no NUL, and lone surrogates replaced."""
    bare = text.replace("\0", "")
    return bare if is_text(bare) else bare.encode(errors="replace").decode()


def tags(value: object) -> list[str | None]:
    """Each tag as text, None for what cannot be one. One text is a JSON list, or a list with
    commas."""
    items: list[object]
    if isinstance(value, str):
        written = value.lstrip().startswith(("[", "{"))
        items = (json_list(value) or [None]) if written else [*value.split(",")]
    else:
        items = list(value) if isinstance(value, list | tuple) else [value]
    texts = [plain(item) for item in items]
    return [text if text is None else text.strip() for text in texts]


def foreign_id(tool: str, *names: str) -> str:
    """The memory's id for what the other tool calls so: the same one whenever it is read again.

    A plain name stays as it is; of any other a slug stays, and a hash that tells it from those with
    the same slug.
    """
    whole = "/".join(names)
    if PLAIN_ID.fullmatch(whole):
        return f"{tool}-{whole}"
    letters = b32encode(content_digest("\0".join(names), 10)).decode().lower()
    return "-".join(part for part in (tool, slug(whole), letters) if part)


def moment(value: object) -> str | None:
    """A time as ISO 8601 in UTC: of ISO 8601, or of a number of seconds, milli-, micro- or
    nanoseconds since 1970, which its size tells. None for anything else."""
    if isinstance(value, str):
        try:
            return _since_1970(float(value)) if _is_number(value) else iso(parse_time(value, ""))
        except UserError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return _since_1970(value)


def _is_number(text: str) -> bool:
    """More digits than a date written without hyphens has."""
    return re.fullmatch(r"\s*\d{9,25}(\.\d{1,12})?\s*", text, re.ASCII) is not None


def _since_1970(number: float) -> str | None:
    for unit in UNITS:
        if abs(number) < LARGEST_SECONDS * unit:
            try:
                return iso(EPOCH + timedelta(seconds=number / unit))
            except OverflowError:  # before the first year
                return None
    return None  # too large, or not a number at all
