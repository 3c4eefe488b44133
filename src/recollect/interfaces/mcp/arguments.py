"""The arguments of each tool: one struct per tool checks them and makes their JSON Schema.

An argument with a description is offered by its name. The others are rarely needed: the schema
only names them, as keys of the object `more`. They may also stand beside the others. What was not
given is UNSET, and null counts as not given: many models fill in every argument.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, ClassVar, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from recollect.engine.searching import CONTEXT_LIMIT
from recollect.errors import UserError
from recollect.ingest.draft import FIELDS, LONGEST_ID
from recollect.interfaces.requests import FieldText, LongText, Milliseconds, Query, decode_place
from recollect.present.visible import label
from recollect.types import Choice, Place, Severity, Tier, View

SEARCH_LIMIT = 10
LIST_LIMIT = 20
REVIEW_LIMIT = 5
TIMELINE_LIMIT = 5
CONTEXT_TOKENS = 2000
RETRIEVE_TOKENS = 5000  # some 20,000 characters: nearly every memory as a whole
# A page of memories, and a page of whole ones: more would fill a model's window in one answer.
MOST_RESULTS = 100
MOST_WHOLE = 20
# As a project: every project, on a server that was started with one of its own.
EVERY_PROJECT = "*"
MORE = "more"

Id = Annotated[str, Meta(min_length=1, max_length=LONGEST_ID)]
Tag = Annotated[str, Meta(min_length=1)]
Limit = Annotated[int, Meta(ge=1, le=MOST_RESULTS)]
Tokens = Annotated[int, Meta(ge=1, le=1_000_000)]
Text = str | UnsetType
Field = FieldText | UnsetType
Long = LongText | UnsetType
Tags = list[Tag] | UnsetType
AnyOfThem = str | list[Tag] | UnsetType  # offered as a text: a list says that any will do


class Arguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a tool was called with."""

    # Appended to the description of `project` on a server that has one of its own.
    own_project: ClassVar[str] = ""
    # What `more` is said to take, where that is shorter than the names.
    rarely: ClassVar[str] = ""

    def given(self) -> dict[str, Any]:
        """The arguments that were given, by name."""
        values = {name: getattr(self, name) for name in self.__struct_fields__}
        return {name: value for name, value in values.items() if value is not UNSET}


class FilterArguments(Arguments, frozen=True, kw_only=True):
    """Filters; every one given must hold."""

    own_project = f' Default: {{}}; "{EVERY_PROJECT}" for every one.'

    project: Annotated[AnyOfThem, Meta(description="Only this project.")] = UNSET
    tags: Annotated[Tags, Meta(description="All of these.")] = UNSET
    kind: Annotated[AnyOfThem, Meta(description="decision, bug, preference, …")] = UNSET
    since: Annotated[Text, Meta(description="2026-03-01, yesterday, 7d.")] = UNSET
    until: Text = UNSET
    domain: AnyOfThem = UNSET
    source: AnyOfThem = UNSET
    space: Text = UNSET
    without_tags: Tags = UNSET
    without_projects: Tags = UNSET
    without_kinds: Tags = UNSET
    without_sources: Tags = UNSET

    def within(self, project: str | None) -> dict[str, Any]:
        """The arguments that were given; `project` is the server's own, for calls that name
        none."""
        named = {"project": project} | self.given()
        every = named["project"] in (EVERY_PROJECT, [EVERY_PROJECT])
        return named | ({"project": None} if every else {})

    def preferring(self, project: str | None) -> dict[str, Any]:
        """The arguments that were given; the server's own project filters nothing."""
        named = self.within(None)
        return named if "project" in self.given() else {"prefer_project": project} | named


class SearchArguments(FilterArguments, frozen=True, kw_only=True):
    own_project = " Preferred: {}."

    query: Annotated[Query, Meta(description="A question, words, an error message.")]
    limit: Annotated[Limit, Meta(description="Maximum.")] = SEARCH_LIMIT
    depth: Annotated[
        Literal["normal", "deep"],
        Meta(description="deep: slower, wider."),
    ] = "normal"
    as_of: Text = UNSET
    view: View | UnsetType = UNSET
    explain: bool = False
    recipe: Text = UNSET
    prefer_tags: Tags = UNSET
    prefer_domain: Text = UNSET
    prefer_project: Text = UNSET
    vaults: Tags = UNSET
    literal: bool | UnsetType = UNSET
    ignored: Tags = UNSET
    include_expired: bool = False
    archived: bool = False
    deadline_ms: Milliseconds | UnsetType = UNSET


class ConnectorSearchArguments(Arguments, frozen=True, kw_only=True):
    query: Annotated[Query, Meta(description="What to find.")]


class FetchArguments(Arguments, frozen=True, kw_only=True):
    id: Annotated[Id, Meta(description="From search.")]


class ContextArguments(FilterArguments, frozen=True, kw_only=True):
    rarely = "limit, and as for memory_search"

    query: Annotated[Query, Meta(description="What the work is about.")] = ""
    max_tokens: Annotated[Tokens, Meta(description="Of the whole answer.")] = CONTEXT_TOKENS
    tags: Tags = UNSET
    kind: AnyOfThem = UNSET
    since: Text = UNSET
    limit: Limit = CONTEXT_LIMIT
    as_of: Text = UNSET


class MemoryArguments(Arguments, frozen=True, kw_only=True):
    """A memory's fields."""

    context: Field = UNSET
    impact: Field = UNSET
    details: Long = UNSET
    severity: Severity | UnsetType = UNSET
    domain: Field = UNSET
    source: Field = UNSET
    tier: Tier | UnsetType = UNSET
    space: Field = UNSET
    path: Field = UNSET
    created_at: Text = UNSET
    updated_at: Text = UNSET
    valid_from: Text = UNSET
    valid_until: Text = UNSET

    def fields(self) -> dict[str, Any]:
        """The given fields of a memory."""
        return {name: value for name, value in self.given().items() if name in FIELDS}


class SaveArguments(MemoryArguments, frozen=True, kw_only=True):
    own_project = " Default: {}."

    title: Annotated[Field, Meta(description="One line.")] = UNSET
    text: Annotated[Long, Meta(description="A few sentences.")] = UNSET
    why: Annotated[Field, Meta(description="The reason.")] = UNSET
    tags: Annotated[Tags, Meta(description="Topics.")] = UNSET
    kind: Annotated[Field, Meta(description="decision, bug, preference, fact, …")] = UNSET
    project: Annotated[Field, Meta(description="Its project.")] = UNSET
    supersedes: Annotated[list[Id], Meta(description="Ids that it replaces.")] = []
    id: Id | UnsetType = UNSET


# What can be put back to its default: all that has one.
Clearable = Literal[
    "title", "text", "context", "why", "impact", "details", "tags", "kind", "severity", "domain",
    "project", "source", "tier", "space", "path", "valid_from", "valid_until", "superseded_by",
]  # fmt: skip


class UpdateArguments(MemoryArguments, frozen=True, kw_only=True):
    rarely = "other fields of memory_save, remove_tags, superseded_by, clear"

    id: Annotated[Id, Meta(description="Which memory.")]
    title: Annotated[Field, Meta(description="The new title.")] = UNSET
    text: Annotated[Long, Meta(description="The new text.")] = UNSET
    append: Annotated[Long, Meta(description="Text to add.")] = UNSET
    section: Annotated[Field, Meta(description="Heading below which text goes.")] = UNSET
    undo: Annotated[bool, Meta(description="Undo its last change.")] = False
    add_tags: Annotated[list[Tag], Meta(description="Add these.")] = []
    why: Field = UNSET
    tags: Tags = UNSET
    remove_tags: list[Tag] = []
    kind: Field = UNSET
    project: Field = UNSET
    superseded_by: Id | UnsetType = UNSET
    clear: list[Clearable] = []

    def fields(self) -> dict[str, Any]:
        changed = {name: value for name, value in super().fields().items() if name != "id"}
        return changed | dict.fromkeys(self.clear)


class RetrieveArguments(Arguments, frozen=True, kw_only=True):
    rarely = "as_of, max_tokens"

    ids: Annotated[
        Annotated[list[Id], Meta(min_length=1, max_length=MOST_WHOLE)],
        Meta(description="From a search or list."),
    ]
    part: Annotated[
        Text, Meta(description="Of a long one: a heading, lines (40-80), or a page number.")
    ] = UNSET
    history: Annotated[bool, Meta(description="Also what each was before.")] = False
    as_of: Text = UNSET
    max_tokens: Tokens = RETRIEVE_TOKENS


class ForgetArguments(Arguments, frozen=True, kw_only=True):
    ids: Annotated[
        Annotated[list[Id], Meta(min_length=1, max_length=MOST_RESULTS)],
        Meta(description="Which memories."),
    ]
    undo: Annotated[bool, Meta(description="Restore them.")] = False
    merge_into: Annotated[Id | UnsetType, Meta(description="Id to add their content to first.")] = (
        UNSET
    )


class FeedbackArguments(Arguments, frozen=True, kw_only=True):
    query: Annotated[Annotated[Query, Meta(min_length=1)], Meta(description="What was asked.")]
    id: Annotated[Id, Meta(description="The result.")]
    accepted: Annotated[bool | UnsetType, Meta(description="Whether it was what was needed.")] = (
        UNSET
    )
    undo: Annotated[bool, Meta(description="Take it back.")] = False


class ReviewArguments(Arguments, frozen=True, kw_only=True):
    item: Annotated[Text, Meta(description="To decide; else items are listed.")] = UNSET
    decision: Annotated[Choice | UnsetType, Meta(description="One of its choices.")] = UNSET
    text: Annotated[Text, Meta(description="With edit: the new text.")] = UNSET
    limit: Limit = REVIEW_LIMIT


class TimelineArguments(FilterArguments, frozen=True, kw_only=True):
    rarely = "as for memory_search"

    around: Annotated[str, Meta(description="Id or time.")]
    limit: Annotated[Limit, Meta(description="On each side.")] = TIMELINE_LIMIT
    tags: Tags = UNSET
    kind: Text = UNSET
    since: Text = UNSET


class ListArguments(FilterArguments, frozen=True, kw_only=True):
    rarely = "order (newest, tier), and as for memory_search"

    limit: Annotated[Limit, Meta(description="Maximum.")] = LIST_LIMIT
    after: Annotated[Text, Meta(description="`next` of the last page, or an id.")] = UNSET
    order: Literal["newest", "tier"] = "newest"
    as_of: Text = UNSET

    def place(self) -> Place | str | None:
        """Where the page starts: behind a place, where the memory may be gone, or behind an id."""
        if self.after is UNSET:
            return None
        try:
            return decode_place(self.after)
        except UserError:  # then it is an id
            return self.after


@cache
def whole_schema(kind: type[Arguments]) -> dict[str, Any]:
    """The schema of every argument, with all that is checked."""
    schema: dict[str, Any] = msgspec.json.schema_components([kind])[1][kind.__name__]
    return schema


@cache
def described(kind: type[Arguments]) -> dict[str, str]:
    """Return the arguments' own descriptions by name. What a type says of its bounds is none."""
    return {
        field.name: meta.description
        for field in msgspec.structs.fields(kind)
        for meta in getattr(field.type, "__metadata__", ())
        if meta.description
    }


@cache
def rare(kind: type[Arguments]) -> tuple[str, ...]:
    """Return the arguments that are offered in `more`: those without a description."""
    return tuple(name for name in kind.__struct_fields__ if name not in described(kind))


@cache
def input_schema(kind: type[Arguments], project: str | None = None) -> dict[str, Any]:
    """The JSON Schema of a tool's arguments: what a model needs to fill them in, and no more.

    On a server that has a project of its own, the argument says that it defaults to it.
    """
    schema = whole_schema(kind)
    # What a tool has of its own comes first, then what it shares with others.
    names = dict.fromkeys((*schema["required"], *kind.__annotations__, *schema["properties"]))
    properties = {
        name: _offered(schema["properties"][name], described(kind)[name])
        for name in names
        if name in described(kind)
    }
    if project is not None and kind.own_project:
        argument = properties["project"]
        about = argument["description"] + kind.own_project.format(label(project))
        properties["project"] = argument | {"description": about}
    if rare(kind):
        about = kind.rarely or ", ".join(rare(kind))
        properties[MORE] = {"type": "object", "description": f"Rare: {about}."}
    required = {"required": schema["required"]} if schema["required"] else {}
    return {"type": "object", "properties": properties, **required}


def _offered(schema: dict[str, Any], description: str) -> dict[str, Any]:
    """Return the type, the choices, the description and the default; some clients refuse a choice
    without a type, or a list without that of its items."""
    shown = {"type": schema.get("type", "string")}
    if "items" in schema:
        shown["items"] = {"type": schema["items"].get("type", "string")}
    shown |= {"enum": schema["enum"]} if "enum" in schema else {}
    shown["description"] = description
    return shown | ({"default": schema["default"]} if schema.get("default") else {})
