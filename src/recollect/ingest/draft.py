"""Drafts: check the fields that a caller gives, merge them over a stored memory, and make readable
ids that are the same for the same content."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, get_args

import msgspec

from recollect.checks import as_tuple, is_text, not_allowed
from recollect.errors import UserError
from recollect.hashing import content_digest
from recollect.query.time.moments import read_time
from recollect.times import current_time
from recollect.types import TEXTS, TIMES, Memory, Severity, Tier

CHOICES = {"severity": get_args(Severity), "tier": get_args(Tier)}
FIELDS = Memory.__struct_fields__
# The default of each field that has one.
DEFAULTS: dict[str, object] = {
    name: default
    for name, default in zip(
        FIELDS[-len(Memory.__struct_defaults__) :], Memory.__struct_defaults__, strict=True
    )
    if default is not msgspec.NODEFAULT
}
LONGEST_ID = 200
# In bytes of UTF-8. A memory is read, indexed and shown as a whole; longer texts belong into a file
# of a folder, which is kept in chunks.
LONGEST_TEXT = 1_000_000
LONGEST_FIELD = 100_000
# Fields for long texts. Each other field may have LONGEST_FIELD, and so may all tags together.
LONG_FIELDS = ("text", "details")
LONGEST_SLUG = 48
# In letters of five bits each.
SUFFIX = 6
LONG_SUFFIX = 20
# The fields that distinguish one memory from another.
CONTENT = (*TEXTS, "kind", "project", "space", "path")


class Draft(msgspec.Struct, frozen=True):
    """The checked fields that a caller gave, without those that are null. `supersedes`: the ids of
    the memories that the new one replaces."""

    fields: dict[str, Any]
    supersedes: tuple[str, ...] = ()

    @property
    def id(self) -> str | None:
        return self.fields.get("id")


def make_draft(
    raw: Mapping[str, object],
    *,
    change: bool = False,
    supersedes: Sequence[str] | None = (),
    now: datetime | None = None,
) -> Draft:
    """Make a draft of the fields; raise UserError for the first that is wrong, by name.

    `now`: what a time such as `friday` counts from (default: the present).

    `change`: the fields edit a stored memory. Neither title nor text is required then, and null
    resets a field to its default.
    """
    fields: dict[str, Any] = {}
    for name, value in raw.items():
        if name not in FIELDS:
            raise UserError(
                f"{name!r} is not a field of a memory; fields are: {', '.join(FIELDS)}."
            )
        if value is not None:
            fields[name] = _check_value(name, value, now)
        elif change:
            if name not in DEFAULTS:
                raise UserError(f"{name} cannot be null.")
            fields[name] = DEFAULTS[name]
    if not change and not any(fields.get(name, "").strip() for name in ("title", "text")):
        raise UserError("A memory needs a title or a text.")
    return Draft(fields, as_tuple(supersedes or (), "supersedes"))


def complete_draft(draft: Draft, id: str, before: Memory | None, now: datetime) -> Memory:
    """Return the memory `id`: the draft's fields over those of `before`, or over the defaults.

    `updated_at` becomes now if something changes and the draft does not set it.
    """
    fields = draft.fields
    if before is None:
        # A memory of the past that was not changed since was last updated then.
        created = fields.get("created_at", fields.get("updated_at", now))
        times = {"created_at": created, "updated_at": created}
        return Memory(**(times | fields | {"id": id}))
    after = msgspec.structs.replace(before, **fields)
    if after == before or "updated_at" in fields:
        return after
    return msgspec.structs.replace(after, updated_at=now)


def _check_value(name: str, value: object, now: datetime | None) -> object:
    if name == "tags":
        return _check_tags(value)
    if isinstance(value, datetime) and name in TIMES:
        value = value.isoformat()
    if not isinstance(value, str):
        names = {bool: "true or false", int: "a number", float: "a number", list: "a list"}
        kind = names.get(type(value), "an object")
        raise UserError(f"{name} must be a text, not {kind}.")
    _check_text(name, value)
    if name in TIMES:
        return read_time(value, now or current_time(), name, clock=False)
    if name in CHOICES and value not in CHOICES[name]:
        raise UserError(not_allowed(name, value, CHOICES[name]))
    if name == "kind" and not value.strip():
        raise UserError("kind cannot be empty; leave it out for `fact`.")
    if name == "id" and (len(value) > LONGEST_ID or value.split() != [value]):
        raise UserError(f"id must be 1 to {LONGEST_ID} characters without white space.")
    return value


def _check_text(name: str, value: str) -> None:
    if "\0" in value:
        raise UserError(f"{name} holds a NUL character, which text cannot hold.")
    if not is_text(value):
        raise UserError(f"{name} is not valid UTF-8 text.")
    _check_size(name, len(value.encode()))


def _check_size(name: str, size: int) -> None:
    most = LONGEST_TEXT if name in LONG_FIELDS else LONGEST_FIELD
    if size > most:
        way = "Put it into a file in a folder, and run `recollect add FOLDER`."
        if name not in LONG_FIELDS:
            way = "Put what is long into the text."
        raise UserError(f"{name} has {size:,} bytes of UTF-8; at most {most:,} are allowed. {way}")


def _check_tags(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(tag, str) for tag in value):
        raise UserError("tags must be a list of texts.")
    for tag in value:
        _check_text("a tag", tag)
        if not tag.strip():
            raise UserError("A tag cannot be empty.")
    _check_size("tags", sum(len(tag.encode()) for tag in value))
    return tuple(dict.fromkeys(value))


def cut_title(text: str, most: int) -> str:
    """Cut a text to a title of about `most` characters, between words if possible."""
    return text if len(text) <= most else f"{text[:most].rsplit(' ', 1)[0]} …"


def slug(text: str) -> str:
    """Return the text as lower-case words joined by hyphens, Latin letters without accents, cut at
    a word: `JWT: why?` is `jwt-why`, `Über Größe` is `uber-große`, `日本語のメモ` stays."""
    low = text[:200].lower()
    if not low.isascii():
        low = "".join(map(_plain_letter, unicodedata.normalize("NFC", low)))
    found = re.sub("[^a-z0-9]+" if low.isascii() else "-+", "-", low).strip("-")
    if len(found) <= LONGEST_SLUG:
        return found
    return found[:LONGEST_SLUG].rpartition("-")[0] or found[:LONGEST_SLUG]


def _plain_letter(letter: str) -> str:
    """Return the letter for an id; a hyphen for anything but a letter, digit or vowel sign."""
    if letter.isascii():
        return letter if letter.isalnum() else "-"
    bare = unicodedata.normalize("NFKD", letter).encode("ascii", "ignore").decode()
    if bare.isalnum():
        return bare.lower()
    return letter if letter.isalnum() or unicodedata.category(letter)[0] == "M" else "-"


def content_of(fields: Mapping[str, object]) -> str:
    """Return the content of a memory as one text, with defaults for missing fields."""
    return "\0".join(str(fields.get(name, "fact" if name == "kind" else "")) for name in CONTENT)


def hash_letters(text: str, size: int = 20) -> str:
    """Return a hash of `size` bytes in small letters and digits: eight for five bytes."""
    from base64 import b32encode  # noqa: PLC0415  start-up time: only where ids are made

    return b32encode(content_digest(text, size)).decode().lower()


def make_id(fields: Mapping[str, object], suffix: int = SUFFIX) -> str:
    """Return a slug of the title (or text), and a few letters of a hash of the content.

    The same content in the same project gets the same id, so a repeated import makes no duplicates.
    """
    start = slug(str(fields.get("title") or fields.get("text") or "")) or "memory"
    return f"{start}-{hash_letters(content_of(fields))[:suffix]}"
