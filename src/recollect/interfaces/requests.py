"""Convert a request's fields into the engine's values, describe invalid ones, and encode the place
where a page of a listing ended.

A request has a filter's fields on the same level as those of the search; times are texts.
"""

from __future__ import annotations

import re
from binascii import a2b_base64, b2a_base64
from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta

from recollect.checks import LONGEST_QUERY, is_text, not_allowed, not_whole, too_small
from recollect.errors import UserError
from recollect.ingest.draft import LONGEST_FIELD, LONGEST_TEXT
from recollect.query.time.moments import read_time
from recollect.times import from_micros, to_micros
from recollect.types import WITHOUT, Filter, Memory, Place, Search, Tier, place_of

# For the schemas; `checks.clean_query` refuses a longer query.
Query = Annotated[str, Meta(extra_json_schema={"maxLength": LONGEST_QUERY})]
# For the schemas; `ingest.draft` checks a memory's fields. It counts bytes, so an accepted text
# never has more characters.
LongText = Annotated[
    str,
    Meta(description="At most 1 MB of UTF-8.", extra_json_schema={"maxLength": LONGEST_TEXT}),
]
FieldText = Annotated[
    str,
    Meta(description="At most 100 kB of UTF-8.", extra_json_schema={"maxLength": LONGEST_FIELD}),
]

# For the schemas; `checks.check_deadline` refuses less.
Milliseconds = Annotated[int, Meta(extra_json_schema={"minimum": 1})]


def read_search(fields: Mapping[str, Any], now: datetime) -> Search:
    """Return the Search; ignore fields that a search does not have."""
    named = {name: fields[name] for name in Search.__struct_fields__ if name in fields}
    if named.get("now"):
        named["now"] = read_time(named["now"], now, "now")
    then = named["as_of"] = read_as_of(fields, now)
    return Search(**named | {"filter": read_filter(fields, then or now)})


def read_as_of(fields: Mapping[str, Any], now: datetime) -> datetime | None:
    """Return the time in `as_of`, or None if it is not given."""
    text = fields.get("as_of")
    return read_time(text, now, "as_of") if text else None


def read_filter(fields: Mapping[str, Any], now: datetime) -> Filter:
    """Return the Filter; `7d` and `last week` count back from `now`."""
    named = {name: fields[name] for name in Filter.__struct_fields__ if name in fields}
    for name in ("since", "until"):
        if text := named.get(name):
            named[name] = read_time(text, now, name)
        else:
            named.pop(name, None)
    for name in ("tags", *WITHOUT):
        named[name] = tuple(named.get(name, ()))
    archived = named.get("archived") or None  # False means the same as a missing field
    return Filter(**named | {"archived": archived})


# Invalid fields

FIELD = (
    r"(?s)Object missing required field `(?P<missing>\w+)`"
    r"|Object contains unknown field `(?P<unknown>.*)`"
)
NUMBER = r"Expected `(?:int|float)` (?P<sign>>=|<=) (?P<bound>\d+)"


def describe_invalid(
    error: msgspec.ValidationError,
    kind: Any,
    given: object,
    names: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Return what is wrong with the fields that were `given` for a struct, in the engine's words.
    `names`: field → its name in this interface."""
    problem, _, place = str(error).partition(" - at `$")
    where = place.rstrip("`").lstrip(".")
    if not where and (found := re.fullmatch(FIELD, problem)):
        if found["missing"]:
            return f"{names.get(found['missing'], found['missing'])} is missing."
        if fields := getattr(kind, "__struct_fields__", ()):
            known = ", ".join(names.get(field, field) for field in fields)
            return f"{found['unknown']!r} is not a field; there are: {known}."
    name = names.get(where, where)
    if isinstance(given, Mapping) and where in given:
        value = given[where]
        if problem.startswith("Invalid enum value") and (allowed := _choices(kind, where)):
            return not_allowed(name, value, allowed)
        if bound := re.fullmatch(NUMBER, problem):
            if bound["sign"] == ">=":
                return too_small(name, value, bound["bound"])
            return f"{name} must be at most {bound['bound']}, not {value}."
        if problem.startswith("Expected `int"):
            return not_whole(name, value)
        if problem.startswith("Expected `bool"):
            return f"{name} must be true or false, not {value!r}."
    problem = problem.replace("`", "")
    return f"{name}: {problem[:1].lower()}{problem[1:]}." if where else f"{problem}."


def _choices(kind: Any, field: str) -> list[str]:
    """Return the allowed values of a field, in the order of their declaration."""
    left: list[Any] = [get_type_hints(kind).get(field)]
    found: list[str] = []
    while left:
        each = left.pop()
        if get_origin(each) is Literal:
            found += map(str, get_args(each))
        else:
            left += get_args(each)
    return found


# Cursors

# The alphabet of base64 for addresses, without importing its module for each search.
IN_ADDRESS, PLAIN = bytes.maketrans(b"+/", b"-_"), bytes.maketrans(b"-_", b"+/")
LONGEST = 2000  # an id of 200 characters of four bytes each, as base64, with room to spare


def encode_place(place: Place) -> str:
    """Return the place as an opaque text, so that its content may change."""
    fields = [place.tier, to_micros(place.updated_at), place.id]
    encoded = b2a_base64(msgspec.json.encode(fields), newline=False).rstrip(b"=")
    return encoded.translate(IN_ADDRESS).decode()


def cut_page(found: list[Memory], size: int) -> tuple[list[Memory], str | None]:
    """Split `size` + 1 memories into a page and the cursor of the next one; None on the last
    page."""
    page = found[:size]
    return page, encode_place(place_of(page[-1])) if len(found) > size else None


def decode_place(cursor: str) -> Place:
    """Return the place of a cursor; raise UserError if `encode_place` did not make it."""
    try:
        if len(cursor) > LONGEST:
            raise ValueError("longer than any that was made")
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        tier, micros, id = msgspec.json.decode(
            a2b_base64(padded.translate(PLAIN), strict_mode=True), type=tuple[str, int, str]
        )
        if tier not in get_args(Tier) or not is_text(id):
            raise ValueError("no tier, or no id")
        place = Place(tier, from_micros(micros), id)  # type: ignore[arg-type]
    except (ValueError, OverflowError) as error:  # msgspec's and binascii's errors are ValueErrors
        raise UserError("This cursor is not valid; use one that a listing returned.") from error
    return place
