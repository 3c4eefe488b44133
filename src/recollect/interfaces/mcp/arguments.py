"""The arguments of each tool: one struct per tool checks them and makes their JSON Schema.

What was not given is UNSET, and null counts as not given: many models fill in every argument.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, TypeVar

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from recollect.engine.context import CONTEXT_LIMIT
from recollect.errors import UserError
from recollect.ingest.draft import FIELDS, LONGEST_ID
from recollect.interfaces.cursor import decode_place
from recollect.interfaces.requests import FieldText, LongText, Milliseconds, Query
from recollect.recipes.registry import BUILT_IN
from recollect.types import Choice, Place, Severity, Tier, View

# Eight results, a scan of each, are some 500 tokens of text: enough to choose from.
SEARCH_LIMIT = 8
DEEP_LIMIT = 20
LIST_LIMIT = 20
REVIEW_LIMIT = 5
CONTEXT_TOKENS = 2000
# A page of memories, and a page of whole ones: more would fill a model's window in one answer.
MOST_RESULTS = 100
MOST_WHOLE = 20
# As a project: every project, on a server that was started with one of its own.
EVERY_PROJECT = "*"

Id = Annotated[str, Meta(min_length=1, max_length=LONGEST_ID)]
Tag = Annotated[str, Meta(min_length=1)]
Limit = Annotated[int, Meta(ge=1, le=MOST_RESULTS)]
Text = str | UnsetType
Field = FieldText | UnsetType
Long = LongText | UnsetType
Tags = list[Tag] | UnsetType
DeadlineMs = Annotated[
    Milliseconds | UnsetType,
    Meta(description="Answer within so many ms; what is late is left out and named."),
]


AsOf = Annotated[Text, Meta(description="What was known then: 2026-03-01, yesterday, 7d.")]


class Arguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a tool was called with."""

    # Appended to the description of `project` where it defaults to the server's own.
    own_project: ClassVar[str | None] = None

    def given(self) -> dict[str, Any]:
        """The arguments that were given, by name."""
        values = {name: getattr(self, name) for name in self.__struct_fields__}
        return {name: value for name, value in values.items() if value is not UNSET}


class FilterArguments(Arguments, frozen=True, kw_only=True):
    """Filters; every one given must hold."""

    own_project = f'; "{EVERY_PROJECT}" for every one'

    project: Annotated[Text, Meta(description="Only this project.")] = UNSET
    tags: Annotated[Tags, Meta(description="Only with all these tags.")] = UNSET
    kind: Annotated[Text, Meta(description="Only this kind: decision, bug, preference, …")] = UNSET
    domain: Annotated[Text, Meta(description="Only this domain.")] = UNSET
    source: Annotated[Text, Meta(description="Only from this source.")] = UNSET
    space: Annotated[Text, Meta(description="Only in this space.")] = UNSET
    since: Annotated[Text, Meta(description="Changed since: 2026-03-01, 7d, 12h, 2w.")] = UNSET
    until: Annotated[Text, Meta(description="Changed until.")] = UNSET

    def within(self, project: str | None) -> dict[str, Any]:
        """The arguments that were given; `project` is the server's own, for calls that name
        none."""
        named = {"project": project} | self.given()
        return named | ({"project": None} if named["project"] == EVERY_PROJECT else {})


FILTERS = FilterArguments.__struct_fields__


class SearchArguments(FilterArguments, frozen=True, kw_only=True):
    query: Annotated[Query, Meta(description="A question, words, a name or an error message.")]
    limit: Annotated[Limit, Meta(description="Maximum number of results.")] = SEARCH_LIMIT
    view: Annotated[
        View,
        Meta(
            description="scan: title and matching part. snippet: the same, marked. pointer: text, "
            "why, impact. preview: 240 characters. full: everything."
        ),
    ] = "scan"
    recipe: Annotated[
        Text, Meta(description=f"Another ranking: {', '.join(BUILT_IN)}, or your own.")
    ] = UNSET
    explain: Annotated[bool, Meta(description="Also explain each score; long.")] = False
    prefer_tags: Annotated[Tags, Meta(description="Rank these higher; filters nothing.")] = UNSET
    prefer_domain: Annotated[Text, Meta(description="Rank it higher; filters nothing.")] = UNSET
    vaults: Annotated[Tags, Meta(description="Only these vaults (default: all).")] = UNSET
    literal: Annotated[
        bool | UnsetType,
        Meta(description='Search for words as typed; "last week" is no time then.'),
    ] = UNSET
    ignored: Annotated[
        Tags, Meta(description='Take single readings back, as `understood` says: "kind bug".')
    ] = UNSET
    include_expired: Annotated[
        bool, Meta(description="Rank what no longer holds like the rest.")
    ] = False
    archived: Annotated[bool, Meta(description="Archived ones as well.")] = False
    as_of: AsOf = UNSET
    deadline_ms: DeadlineMs = UNSET


class DeepSearchArguments(FilterArguments, frozen=True, kw_only=True):
    query: Annotated[Query, Meta(description="A whole question, two keywords at least.")]
    limit: Annotated[Limit, Meta(description="Maximum number of results.")] = DEEP_LIMIT
    view: Annotated[View, Meta(description="How much of each; as in memory_search.")] = "preview"
    explain: Annotated[bool, Meta(description="Also explain each score; long.")] = False
    deadline_ms: DeadlineMs = UNSET


class ContextArguments(FilterArguments, frozen=True, kw_only=True):
    query: Annotated[
        Query, Meta(description="What the work is about; empty: what is pinned, and the newest.")
    ] = ""
    limit: Annotated[Limit, Meta(description="Maximum number of memories.")] = CONTEXT_LIMIT
    max_tokens: Annotated[
        Annotated[int, Meta(ge=1, le=1_000_000)],
        Meta(description="Maximum number of tokens of the whole answer, estimated."),
    ] = CONTEXT_TOKENS
    as_of: AsOf = UNSET


class MemoryArguments(Arguments, frozen=True, kw_only=True):
    """A memory's fields."""

    title: Annotated[Field, Meta(description="What it is about, in one line.")] = UNSET
    text: Annotated[Long, Meta(description="What to know, in a few sentences.")] = UNSET
    context: Annotated[Field, Meta(description="When it came up.")] = UNSET
    why: Annotated[Field, Meta(description="The reason.")] = UNSET
    impact: Annotated[Field, Meta(description="What follows from it.")] = UNSET
    details: Annotated[Long, Meta(description="The long version; only retrieved whole.")] = UNSET
    tags: Annotated[Tags, Meta(description="Topics, in lower case.")] = UNSET
    kind: Annotated[
        Field,
        Meta(description="decision, bug, preference, pattern, … (default fact)."),
    ] = UNSET
    severity: Annotated[
        Severity | UnsetType, Meta(description="How much it hurts to ignore it.")
    ] = UNSET
    domain: Annotated[Field, Meta(description="The field it belongs to: auth, billing, …")] = UNSET
    project: Annotated[Field, Meta(description="The project it belongs to.")] = UNSET
    source: Annotated[Field, Meta(description="Who or what says so.")] = UNSET
    tier: Annotated[
        Tier | UnsetType, Meta(description="core: always trusted (default capture).")
    ] = UNSET
    space: Annotated[Field, Meta(description="A collection of its own.")] = UNSET
    path: Annotated[Field, Meta(description="The file it is about.")] = UNSET
    created_at: Annotated[Text, Meta(description="ISO 8601 (default now).")] = UNSET
    updated_at: Annotated[Text, Meta(description="ISO 8601 (default now).")] = UNSET
    valid_from: Annotated[Text, Meta(description="ISO 8601: true from then on.")] = UNSET
    valid_until: Annotated[Text, Meta(description="ISO 8601: true until then.")] = UNSET

    def fields(self) -> dict[str, Any]:
        """The given fields of a memory."""
        return {name: value for name, value in self.given().items() if name in FIELDS}


class SaveArguments(MemoryArguments, frozen=True, kw_only=True):
    own_project = ""

    id: Annotated[
        Id | UnsetType, Meta(description="An id of your own; else one is made. Same id: update.")
    ] = UNSET
    supersedes: Annotated[
        list[Id], Meta(description="Ids of memories that no longer hold; this takes their place.")
    ] = []


# What can be put back to its default: all that has one.
Clearable = Literal[
    "title", "text", "context", "why", "impact", "details", "tags", "kind", "severity", "domain",
    "project", "source", "tier", "space", "path", "valid_from", "valid_until", "superseded_by",
]  # fmt: skip


class UpdateArguments(MemoryArguments, frozen=True, kw_only=True):
    id: Annotated[Id, Meta(description="Which memory.")]
    tags: Annotated[Tags, Meta(description="Replace all tags by these.")] = UNSET
    add_tags: Annotated[list[Tag], Meta(description="Add these tags.")] = []
    remove_tags: Annotated[list[Tag], Meta(description="Remove these tags.")] = []
    clear: Annotated[list[Clearable], Meta(description="Empty these fields.")] = []
    superseded_by: Annotated[
        Id | UnsetType, Meta(description="The memory that takes its place.")
    ] = UNSET

    def fields(self) -> dict[str, Any]:
        changed = {name: value for name, value in super().fields().items() if name != "id"}
        return changed | dict.fromkeys(self.clear)


class RetrieveArguments(Arguments, frozen=True, kw_only=True):
    ids: Annotated[
        Annotated[list[Id], Meta(min_length=1, max_length=MOST_WHOLE)],
        Meta(description="Ids, as a search or a list gave them."),
    ]
    history: Annotated[bool, Meta(description="Also what each was before.")] = False
    as_of: AsOf = UNSET


class ForgetArguments(Arguments, frozen=True, kw_only=True):
    ids: Annotated[
        Annotated[list[Id], Meta(min_length=1, max_length=MOST_RESULTS)],
        Meta(description="Which memories."),
    ]
    undo: Annotated[bool, Meta(description="Restore forgotten memories.")] = False
    merge_into: Annotated[
        Id | UnsetType, Meta(description="First add what they say to this memory.")
    ] = UNSET


class FeedbackArguments(Arguments, frozen=True, kw_only=True):
    query: Annotated[
        Annotated[Query, Meta(min_length=1)], Meta(description="The query that was asked.")
    ]
    id: Annotated[Id, Meta(description="The result it is about.")]
    accepted: Annotated[
        bool | UnsetType, Meta(description="true: it was what was needed; false: it was not.")
    ] = UNSET
    undo: Annotated[bool, Meta(description="Take back what was said of this result.")] = False


class ReviewArguments(Arguments, frozen=True, kw_only=True):
    item: Annotated[Text, Meta(description="The item to decide; without it, they are listed.")] = (
        UNSET
    )
    decision: Annotated[Choice | UnsetType, Meta(description="One of the item's choices.")] = UNSET
    text: Annotated[Text, Meta(description="With edit: the memory's new text.")] = UNSET
    limit: Annotated[Limit, Meta(description="Maximum number of items.")] = REVIEW_LIMIT


class ListArguments(FilterArguments, frozen=True, kw_only=True):
    limit: Annotated[Limit, Meta(description="Maximum number of memories.")] = LIST_LIMIT
    after: Annotated[
        Text, Meta(description="Start behind this: `next` of the last page, or an id.")
    ] = UNSET
    as_of: AsOf = UNSET

    def place(self) -> Place | str | None:
        """Where the page starts: behind a place, where the memory may be gone, or behind an id."""
        if self.after is UNSET:
            return None
        try:
            return decode_place(self.after)
        except UserError:  # then it is an id
            return self.after


Args = TypeVar("Args", bound=Arguments)


def checked(tool: str, kind: type[Args], raw: Mapping[str, object]) -> Args:
    """The arguments of a call, or UserError with what is wrong with the first bad one."""
    args = {name: value for name, value in raw.items() if value is not None}
    known = kind.__struct_fields__
    for name in args:
        if name not in known:
            raise UserError(
                f"{name!r} is not an argument of {tool}; arguments are: {', '.join(known)}."
            )
    for name in input_schema(kind)["required"]:
        if name not in args:
            raise UserError(f"{tool} needs the argument {name}.")
    try:
        return msgspec.convert(args, kind)
    except msgspec.ValidationError as error:
        raise UserError(_sentence(str(error), input_schema(kind))) from error


def _sentence(message: str, schema: Mapping[str, Any]) -> str:
    """msgspec's "Expected `int` >= 1 - at `$.limit`" for whoever called."""
    what, _, place = message.partition(" - at ")
    name = place.strip("`").removeprefix("$.")
    argument = schema["properties"].get(re.split(r"[.\[]", name)[0], {})
    allowed = argument.get("enum") or argument.get("items", {}).get("enum")
    if allowed and what.startswith("Invalid enum value"):
        value = what.removeprefix("Invalid enum value ")
        return f"{name} cannot be {value}; allowed are: {', '.join(allowed)}."
    return f"{name}: {what[0].lower()}{what[1:]}.".replace("`", "")


def _typed(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with a type: some clients refuse a choice without one."""
    if "items" in schema:
        return schema | {"items": _typed(schema["items"])}
    return {"type": "string"} | schema if "enum" in schema else schema


@cache
def input_schema(kind: type[Arguments], project: str | None = None) -> dict[str, Any]:
    """The JSON Schema of a tool's arguments: one object without references.

    On a server that has a project of its own, the argument says that it defaults to it.
    """
    _, components = msgspec.json.schema_components([kind])
    schema: dict[str, Any] = components[kind.__name__]
    # What a tool has of its own comes first, then what it shares with others.
    names = dict.fromkeys((*schema["required"], *kind.__annotations__, *schema["properties"]))
    properties = {
        name: _typed(schema["properties"][name]) for name in names if name != "own_project"
    }
    if project is not None and kind.own_project is not None:
        argument = properties["project"]
        about = f"{argument['description']} Default: {project}{kind.own_project}."
        properties["project"] = argument | {"description": about}
    # Without the struct's own name and docstring, which would only cost tokens.
    return {
        "type": "object",
        "properties": properties,
        "required": schema["required"],
        "additionalProperties": False,
    }
