"""Parameters and bodies of requests and replies as types: they check requests and describe them in
OpenAPI. Searches and filters come from JSON, from a query string or from the page."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType, defstruct, field
from msgspec.structs import asdict, fields
from starlette.datastructures import QueryParams

from recollect.checks import split_list
from recollect.engine import Recollect
from recollect.errors import UserError
from recollect.ingest.saving import SimilarReason
from recollect.interfaces.requests import (
    FieldText,
    LongText,
    Query,
    describe_invalid,
    read_as_of,
    read_filter,
    read_search,
)
from recollect.interfaces.signatures import MOST_NAMES, WHOLE, Text, json_struct, parameters_of
from recollect.recipes.learned import WeightJson
from recollect.store.base import WriteOutcome
from recollect.types import ANY_OF, Choice, Filter, Memory, Response, Search

# Searches and filters

MOST_RESULTS = 1000

AsOf = Annotated[
    Text, Meta(description="The vault at that time: 2026-03-01, yesterday, 7d, or ISO 8601.")
]
Constants = Annotated[dict[Text, bool | int | float | str], Meta(max_length=MOST_NAMES)]
FILTER, SEARCH = parameters_of(Filter), parameters_of(Search)
FILTER_FIELDS: Any = json_struct("FILTER_FIELDS", FILTER.values())
SEARCH_FIELDS: Any = json_struct(
    "SEARCH_FIELDS", (each for each in SEARCH.values() if each.name != "limit")
)


class FilterParameters(FILTER_FIELDS):  # type: ignore[misc]
    """Filters; a memory must pass all of them."""

    def then(self, engine: Recollect) -> datetime | None:
        """Return the time of `as_of`; None for now."""
        return read_as_of(asdict(self), engine.now())

    def filter(self, engine: Recollect) -> Filter:
        """Return these parameters as a Filter."""
        return read_filter(asdict(self), self.then(engine) or engine.now())


class PastFilterParameters(FilterParameters):
    """Filters, and a time in the past."""

    as_of: AsOf | None = None


class SearchParameters(SEARCH_FIELDS, kw_only=True):  # type: ignore[misc, call-arg]
    """One search."""

    limit: Annotated[int, Meta(ge=1, le=MOST_RESULTS)] | None = None
    explain: bool = False
    whole: bool = False
    set: Constants = msgspec.field(default_factory=dict)

    def then(self, engine: Recollect) -> datetime | None:
        """Return the time of `as_of`; None for now."""
        return read_as_of(asdict(self), engine.now())

    def filter(self, engine: Recollect) -> Filter:
        """Return the filters of the search."""
        return read_filter(asdict(self), self.then(engine) or engine.now())

    def search(self, engine: Recollect, *, mark: bool = False) -> Response:
        """Run the search. `mark`: mark the matches in snippets."""
        search = read_search(asdict(self), engine.now())
        return engine.search(search, changes=self.set, mark=mark)


# Field → its name in a query string, which is singular where a parameter can be repeated.
PARAMETERS = {each.name: each.one for each in SEARCH.values()} | {"query": "q"}
SEVERAL = {each.name for each in SEARCH.values() if each.several}.difference(ANY_OF)
LISTS = {*SEVERAL, *ANY_OF}.difference(WHOLE)
SETS = "set."


def from_parameters(kind: type[Struct], sent: QueryParams, *, commas: bool = False) -> Any:
    """Read a query string as `kind`: `?q=tokens&tag=auth&tag=api&set.fuse.weights.vector=2`.

    An unknown parameter is refused by name; an empty one counts as absent. `commas`: split
    `?tag=auth,api` into two tags; links of the page hold single values.
    """
    fields: dict[str, Any] = {}
    names = {PARAMETERS.get(field, field): field for field in kind.__struct_fields__}
    for name in dict.fromkeys(sent.keys()):
        values = [value for value in sent.getlist(name) if value != ""]
        if name.startswith(SETS) and "set" in names.values():
            fields.setdefault("set", {})[name.removeprefix(SETS)] = _number(values[-1:])
            continue
        if name not in names or name == "set":
            known = ", ".join(name for name in names if name != "set")
            there = f"; there are: {known}" if commas else " of this page"
            raise UserError(f"{name!r} is not a parameter{there}.")
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
    for name in fields:
        if getattr(made, name) is None:  # msgspec reads "null" as None
            raise UserError(f"{PARAMETERS.get(name, name)}: null is not a value.")
    return made


def _number(values: list[str]) -> object:
    """Read `2` and `0.5` as numbers, `true` and `false` as booleans, anything else as text."""
    text = values[0] if values else ""
    try:
        value: object = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text
    return value if isinstance(value, bool | int | float) else text


# Bodies and replies

MOST_SAVED = 1000
More = Annotated[int, Meta(description="How many more there are beyond the limit.")]
MOST_CHANGED = 10_000

Id = Annotated[str, Meta(min_length=1, max_length=200, pattern=r"^\S+$")]
Tags = Annotated[tuple[Annotated[str, Meta(min_length=1)], ...], Meta(max_length=MOST_NAMES)]
Time = Annotated[str, Meta(description="ISO 8601; without a zone it is UTC.")]


NEW_MEMORY: Any = json_struct(
    "NEW_MEMORY",
    (each._replace(default=None) for name, each in parameters_of(Memory).items()
     if name not in ("id", "tags", "kind")),
    text=FieldText,
)  # fmt: skip


class NewMemory(NEW_MEMORY):  # type: ignore[misc]
    """A memory to save. Only `title` or `text` is required; null counts as absent."""

    id: Id | None = None
    tags: Tags | None = None
    kind: Annotated[FieldText, Meta(min_length=1)] | None = None
    supersedes: (
        Annotated[
            tuple[Id, ...], Meta(max_length=MOST_NAMES, description="Ids of memories it replaces.")
        ]
        | None
    ) = None


MADE = ("created_at", "updated_at")
NewMemories = Annotated[list[NewMemory], Meta(min_length=1, max_length=MOST_SAVED)]


_CHANGES: Any = defstruct(
    "_CHANGES",
    [
        # These times have no default that null could restore.
        (each.name, (Time if each.name in MADE else each.type) | UnsetType, UNSET)
        for each in fields(NewMemory)
        if each.name not in ("id", "supersedes")
    ],
    forbid_unknown_fields=True,
    omit_defaults=True,
)


class MemoryChange(_CHANGES):  # type: ignore[misc]
    """Changes of a memory. Null resets a field to its default; absent fields stay. `append` adds a
    paragraph to the text. `section`: the heading whose section `text` replaces."""

    add_tags: Tags | UnsetType = UNSET
    remove_tags: Tags | UnsetType = UNSET
    append: LongText | UnsetType = UNSET
    section: FieldText | UnsetType = UNSET


def fields_of(body: Struct) -> dict[str, Any]:
    """Return the fields that were sent."""
    pairs = ((name, getattr(body, name)) for name in body.__struct_fields__)
    return {name: value for name, value in pairs if value is not UNSET}


class SimilarJson(Struct):
    """An existing memory, and why it is similar to the saved one."""

    id: str
    title: str
    why: SimilarReason


class SaveOutcome(Struct):
    """The outcome for one memory. `repeated`: a memory of its project says the same; that one was
    updated. `redacted`: how many secrets of each kind were replaced, if any. `similar`: similar
    memories, if a single memory was saved. `superseded`: the ids of memories it replaced, if any.
    """

    id: str
    outcome: WriteOutcome
    repeated: bool
    redacted: dict[str, int] | UnsetType = UNSET
    similar: list[SimilarJson] | UnsetType = UNSET
    superseded: list[str] | UnsetType = UNSET


class BrowseParameters(PastFilterParameters):
    """Filters, a limit and the cursor of a page."""

    limit: Annotated[int, Meta(ge=1, le=1000)] = 50
    cursor: Annotated[str, Meta(max_length=2000)] | None = None


class MemoryPage(Struct):
    """One page of memories. `next` is the cursor of the next page, null on the last. `notes`: if
    nothing was found, the filter values that no memory has, with suggestions."""

    memories: list[Memory]
    next: str | None
    notes: list[str]


class ShowParameters(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options for getting a memory."""

    federate: Annotated[bool, Meta(description="Look in other known vaults, too.")] = True
    as_of: AsOf | None = None


class ForgetParameters(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options for forgetting a memory."""

    purge: Annotated[bool, Meta(description="Delete it permanently.")] = False


class Selected(FilterParameters):
    """A selection of memories: these ids, or all that pass the filters and contain every word of
    `query`. `dry_run`: only list them."""

    ids: Annotated[tuple[Id, ...], Meta(max_length=MOST_CHANGED)] = ()
    query: Query = ""
    dry_run: bool = False

    def chosen(self, engine: Recollect, *, forgotten: bool = False) -> list[str]:
        """Return the ids of the selected memories, each once; `forgotten`: select in the trash."""
        filter = self.filter(engine)
        if not self.ids:
            select = engine.select_in_trash if forgotten else engine.select_ids
            return select(query=self.query, filter=filter)
        if self.query or filter.narrows():
            raise UserError("Give ids, or filters and a query; not both.")
        return list(dict.fromkeys(engine.complete_ids(self.ids, forgotten=forgotten)))


class SelectedChange(Selected, kw_only=True):  # type: ignore[call-arg]
    """A change of selected memories. `keep_age`: leave `updated_at` as it is, for a change of
    where they belong."""

    change: MemoryChange
    keep_age: bool = False


class SelectedIds(Struct):
    """The ids of the selected memories; with `dry_run`, nothing was changed."""

    ids: list[str]
    dry_run: bool


class TrashParameters(FilterParameters):
    """Filters, words and a limit for the trash."""

    query: Query = ""
    limit: Annotated[int, Meta(ge=1, le=1000)] = 50


class TrashedJson(Struct):
    """A forgotten memory: when and why it was forgotten, by which user, interface and program."""

    memory: Memory
    forgotten_at: Time
    why: str
    user: str
    interface: str
    client: str


class TrashJson(Struct):
    """Forgotten memories."""

    trash: list[TrashedJson]
    more: More


class FeedbackBody(Struct, forbid_unknown_fields=True):
    """Feedback on a result: right for the query or not. `undo`: take the feedback back. `recipe`:
    the recipe whose learned weights to return."""

    query: Annotated[Query, Meta(min_length=1)]
    id: Id
    accepted: bool | None = None
    undo: bool = False
    recipe: Text | None = None


class FeedbackCounts(Struct):
    """Counts of all feedback so far, and the weights that a recipe has learned."""

    accepted: int
    dismissed: int
    weights: dict[str, WeightJson]


class NewRecipe(Struct, forbid_unknown_fields=True):
    """A recipe of your own: another recipe with some constants changed."""

    name: Annotated[str, Meta(min_length=1, max_length=64)]
    extends: Text
    set: Constants = field(default_factory=dict)
    replace: bool = False


class Health(Struct):
    """The server's state. `dependencies`: "ok" or the problem of each."""

    status: str
    version: str
    reason: str | UnsetType = UNSET
    dependencies: dict[str, str] | UnsetType = UNSET


class DecisionBody(Struct, forbid_unknown_fields=True):
    """A decision. `changes`: for `edit`, the new fields. `memory`: the id of one of several."""

    decision: Choice
    changes: MemoryChange = field(default_factory=MemoryChange)
    memory: Id | None = None


class Decided(Struct):
    """The outcome of a decision, as a sentence."""

    item: str
    decision: Choice
    done: str
