"""The parameters of a search over HTTP: the same fields in JSON, in a query string, on the page."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import asdict
from starlette.datastructures import QueryParams

from recollect.checks import split_list
from recollect.engine import Recollect
from recollect.errors import UserError
from recollect.interfaces.requests import describe_invalid, read_as_of, read_filter, read_search
from recollect.interfaces.signatures import MOST_NAMES, WHOLE, Text, json_struct, parameters_of
from recollect.types import ANY_OF, Filter, Response, Search

MOST_RESULTS = 1000

AsOf = Annotated[
    Text, Meta(description="What the vault held then: 2026-03-01, yesterday, 7d, or ISO 8601.")
]
Constants = Annotated[dict[Text, bool | int | float | str], Meta(max_length=MOST_NAMES)]
FILTER, SEARCH = parameters_of(Filter), parameters_of(Search)
FILTER_FIELDS: Any = json_struct("FILTER_FIELDS", FILTER.values())
SEARCH_FIELDS: Any = json_struct(
    "SEARCH_FIELDS", (each for each in SEARCH.values() if each.name != "limit")
)


class FilterParameters(FILTER_FIELDS):  # type: ignore[misc]
    """What a memory must satisfy; every given part must hold."""

    def filter(self, engine: Recollect) -> Filter:
        """The Filter that is asked for."""
        return read_filter(asdict(self), engine.now())


class PastFilterParameters(FilterParameters):
    """Filters of what there is, or of what there was at a moment."""

    as_of: AsOf | None = None

    def then(self, engine: Recollect) -> datetime | None:
        """The moment that is asked for."""
        return read_as_of(asdict(self), engine.now())

    def filter(self, engine: Recollect) -> Filter:
        return read_filter(asdict(self), self.then(engine) or engine.now())


class SearchParameters(SEARCH_FIELDS, kw_only=True):  # type: ignore[misc, call-arg]
    """One search."""

    limit: Annotated[int, Meta(ge=1, le=MOST_RESULTS)] | None = None
    explain: bool = False
    whole: bool = False
    set: Constants = msgspec.field(default_factory=dict)

    def then(self, engine: Recollect) -> datetime | None:
        """The moment that is asked for."""
        return read_as_of(asdict(self), engine.now())

    def filter(self, engine: Recollect) -> Filter:
        """The Filter that is asked for."""
        return read_filter(asdict(self), self.then(engine) or engine.now())

    def answered(self, engine: Recollect, *, mark: bool = False) -> Response:
        """What the engine answers."""
        search = read_search(asdict(self), engine.now())
        return engine.search(search, changes=self.set, mark=mark)


# A field → its name in a query string, where one value is a parameter of its own.
PARAMETERS = {each.name: each.one for each in SEARCH.values()} | {"query": "q"}
SEVERAL = {each.name for each in SEARCH.values() if each.several}.difference(ANY_OF)
LISTS = {*SEVERAL, *ANY_OF}.difference(WHOLE)
SETS = "set."


def from_parameters(kind: type[Struct], parameters: QueryParams, *, commas: bool = False) -> Any:
    """A query string as `kind`: `?q=tokens&tag=auth&tag=api&set.fuse.weights.vector=2`.

    A parameter that is not known is refused by name; an empty one counts as not given. `commas`:
    `?tag=auth,api` is two tags; the page's own links have each value as it is.
    """
    fields: dict[str, Any] = {}
    names = {PARAMETERS.get(field, field): field for field in kind.__struct_fields__}
    for name in dict.fromkeys(parameters.keys()):
        values = [value for value in parameters.getlist(name) if value != ""]
        if name.startswith(SETS) and "set" in names.values():
            fields.setdefault("set", {})[name.removeprefix(SETS)] = _number(values[-1:])
            continue
        if name not in names or name == "set":
            known = ", ".join(name for name in names if name != "set")
            raise UserError(f"{name!r} is not a parameter; there are: {known}.")
        if commas and names[name] in LISTS:
            values = [part for value in values for part in split_list(value)]
        if names[name] in (SEVERAL if len(values) < 2 else {*SEVERAL, *ANY_OF}):
            fields[names[name]] = values
        elif len(values) > 1:
            raise UserError(f"{name} is given {len(values)} times; it takes one value.")
        elif values or names[name] == "query":
            fields[names[name]] = values[0] if values else ""
    try:
        made = msgspec.convert(fields, kind, strict=False)
    except msgspec.ValidationError as error:
        raise UserError(describe_invalid(error, kind, fields, PARAMETERS)) from error
    for field in fields:
        if getattr(made, field) is None:  # msgspec reads "null" as nothing
            raise UserError(f"{PARAMETERS.get(field, field)}: null is not a value.")
    return made


def _number(values: list[str]) -> object:
    """`2` and `0.5` as numbers, `true` and `false` as what they say, everything else as text."""
    text = values[0] if values else ""
    try:
        value: object = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text
    return value if isinstance(value, bool | int | float) else text
