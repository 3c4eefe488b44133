"""The arguments of each tool: one struct per tool checks them and makes their JSON Schema. The
fields of a search, a filter and a memory come from their declarations.

`named` lists the arguments that a model sees by name, with a short text for each. The others are
rarely needed: the schema only mentions them as keys of the object `options`, and a call may also
give them directly. An absent argument is UNSET, and null counts as absent, because many models fill
in every argument.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, ClassVar, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from recollect.engine.searching import CONTEXT_LIMIT
from recollect.errors import UserError
from recollect.ingest.draft import DEFAULTS, FIELDS, LONGEST_ID
from recollect.interfaces.requests import FieldText, LongText, Query, decode_place
from recollect.interfaces.signatures import json_struct, parameters_of
from recollect.present.sentences import label
from recollect.settings import SemanticMode
from recollect.types import Choice, Filter, Memory, Place, Search

SEARCH_LIMIT = 10
LIST_LIMIT = 20
REVIEW_LIMIT = 5
CONTEXT_TOKENS = 2000
RETRIEVE_TOKENS = 5000  # about 20,000 characters: nearly every memory as a whole
# Of rows, and of whole memories: more would fill a model's context in one answer.
MOST_RESULTS = 100
MOST_WHOLE = 20
# As `project`: all projects, on a server that has a default project.
EVERY_PROJECT = "*"
OPTIONS = "options"

Id = Annotated[str, Meta(min_length=1, max_length=LONGEST_ID)]
Tags = tuple[Annotated[str, Meta(min_length=1)], ...]
Limit = Annotated[int, Meta(ge=1, le=MOST_RESULTS)]
Tokens = Annotated[int, Meta(ge=1, le=1_000_000)]
Text = str | UnsetType


class Arguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments of a call."""

    # Arguments that the schema lists by name → their descriptions.
    named: ClassVar[Mapping[str, str]] = {}
    # Appended to the description of `project` on a server that has a default project.
    own_project: ClassVar[str] = ""
    # A description of `options` that is shorter than the names.
    rarely: ClassVar[str] = ""

    def given(self) -> dict[str, Any]:
        """Return the arguments of the call, by name."""
        values = {name: getattr(self, name) for name in self.__struct_fields__}
        return {name: value for name, value in values.items() if value is not UNSET}


FILTER_FIELDS: Any = json_struct(
    "FILTER_FIELDS", parameters_of(Filter).values(), unset=True, bases=(Arguments,)
)


class FilterArguments(FILTER_FIELDS):  # type: ignore[misc]
    """Filters; a memory must pass all of them."""

    own_project = f' Default: {{}}; "{EVERY_PROJECT}": every one.'
    rarely = "filters of memory_search"

    def within(self, project: str | None) -> dict[str, Any]:
        """Return the arguments of the call; `project` of the server is the default."""
        named: dict[str, Any] = {"project": project, **self.given()}
        every = named["project"] in (EVERY_PROJECT, (EVERY_PROJECT,))
        return named | ({"project": None} if every else {})

    def preferring(self, project: str | None) -> dict[str, Any]:
        """Return the arguments of the call; `project` of the server is preferred, not a filter."""
        named = self.within(None)
        return named if "project" in self.given() else {"prefer_project": project} | named


SEARCH_FIELDS: Any = json_struct(
    "SEARCH_FIELDS", parameters_of(Search).values(), unset=True, bases=(FilterArguments,)
)


class SearchArguments(SEARCH_FIELDS):  # type: ignore[misc]
    own_project = " Preferred: {}."
    rarely = ""
    named: ClassVar = {
        "query": "The thing, not the request: words, a name, an error.",
        "limit": "Maximum.",
        "deep": "Slower, wider.",
        "project": "Only this one.",
        "tags": "All of these.",
        "kind": "decision, bug, …",
        "since": "2026-03-01, yesterday, 7d.",
    }

    limit: Limit = SEARCH_LIMIT
    explain: bool = False


class ConnectorSearchArguments(Arguments, frozen=True, kw_only=True):
    named: ClassVar = {"query": "What to find."}

    query: Query


class FetchArguments(Arguments, frozen=True, kw_only=True):
    named: ClassVar = {"id": "From search."}

    id: Id


class ContextArguments(FilterArguments):
    rarely = "limit, semantic, topup_recent, and filters of memory_search"
    named: ClassVar = {
        "query": "What the work is about.",
        "max_tokens": "Of the whole answer.",
        "project": "Only this one.",
    }

    query: Query = ""
    max_tokens: Tokens = CONTEXT_TOKENS
    limit: Limit = CONTEXT_LIMIT
    semantic: SemanticMode | UnsetType = UNSET
    topup_recent: bool | UnsetType = UNSET
    as_of: Text = UNSET


MEMORY_FIELDS: Any = json_struct(
    "MEMORY_FIELDS",
    (each._replace(default=None) for each in parameters_of(Memory).values()),
    text=FieldText,
    unset=True,
    bases=(Arguments,),
)


class MemoryArguments(MEMORY_FIELDS):  # type: ignore[misc]
    """A memory's fields."""

    def fields(self) -> dict[str, Any]:
        """Return the given fields of a memory."""
        return {name: value for name, value in self.given().items() if name in FIELDS}


class SaveArguments(MemoryArguments):
    own_project = " Default: {}."
    named: ClassVar = {
        "title": "One line.",
        "text": "A few sentences.",
        "why": "The reason.",
        "tags": "Topics.",
        "kind": "decision, bug, preference, …",
        "project": "Its project.",
        "supersedes": "Ids that it replaces.",
    }

    supersedes: tuple[Id, ...] = ()


class UpdateArguments(MemoryArguments):
    rarely = "fields of memory_save, superseded_by, remove_tags, clear"
    named: ClassVar = {
        "id": "Which memory.",
        "title": "The new title.",
        "text": "The new text.",
        "append": "Text to add.",
        "section": "Heading below which text goes.",
        "undo": "Undo its last change.",
        "add_tags": "Add these.",
    }

    id: Id
    append: LongText | UnsetType = UNSET
    section: FieldText | UnsetType = UNSET
    undo: bool = False
    add_tags: Tags = ()
    remove_tags: Tags = ()
    clear: tuple[str, ...] = ()

    def fields(self) -> dict[str, Any]:
        if unknown := [name for name in self.clear if name not in DEFAULTS]:
            raise UserError(f"clear cannot be {unknown[0]!r}; allowed are: {', '.join(DEFAULTS)}.")
        changed = {name: value for name, value in super().fields().items() if name != "id"}
        return changed | dict.fromkeys(self.clear)


class RetrieveArguments(Arguments, frozen=True, kw_only=True):
    named: ClassVar = {
        "ids": "From a search or list.",
        "part": "Of a long one: heading, lines (40-80) or page.",
        "history": "Also what each was before.",
    }

    ids: Annotated[list[Id], Meta(min_length=1, max_length=MOST_WHOLE)]
    part: Text = UNSET
    history: bool = False
    as_of: Text = UNSET
    max_tokens: Tokens = RETRIEVE_TOKENS


class ForgetArguments(Arguments, frozen=True, kw_only=True):
    named: ClassVar = {
        "ids": "Which memories.",
        "undo": "Restore them.",
        "merge_into": "Id to add their content to first.",
    }

    ids: Annotated[list[Id], Meta(min_length=1, max_length=MOST_RESULTS)]
    undo: bool = False
    merge_into: Id | UnsetType = UNSET


class FeedbackArguments(Arguments, frozen=True, kw_only=True):
    named: ClassVar = {
        "query": "What you asked.",
        "id": "Result.",
        "accepted": "Was it what was needed?",
        "undo": "Take back.",
    }

    query: Annotated[Query, Meta(min_length=1)]
    id: Id
    accepted: bool | UnsetType = UNSET
    undo: bool = False


class ReviewArguments(Arguments, frozen=True, kw_only=True):
    named: ClassVar = {
        "item": "To decide; else all are listed.",
        "decision": "One of its choices.",
        "text": "Edited text.",
    }

    item: Text = UNSET
    decision: Choice | UnsetType = UNSET
    text: Text = UNSET
    limit: Limit = REVIEW_LIMIT


class TimelineArguments(FilterArguments):
    named: ClassVar = {
        "around": "Id or time.",
        "limit": "On each side.",
        "project": "Only this one.",
    }

    around: str
    limit: Limit | UnsetType = UNSET


class ListArguments(TimelineArguments):
    rarely = "order (newest, tier), and filters of memory_search"
    named: ClassVar = {
        "limit": "Maximum, or on each side.",
        "after": "`next` of a page, or an id.",
        "around": "Id or time: what was near it.",
        "project": "Only this one.",
        "kind": "decision, bug, …",
        "since": "2026-03-01, yesterday, 7d.",
    }

    around: Text = UNSET  # type: ignore[assignment]
    after: Text = UNSET
    order: Literal["newest", "tier"] | UnsetType = UNSET
    as_of: Text = UNSET

    def place(self) -> Place | str | None:
        """Return where the previous page ended: a place, as its memory may be gone, or an id."""
        if self.after is UNSET:
            return None
        try:
            return decode_place(self.after)
        except UserError:  # it is an id
            return self.after


@cache
def whole_schema(kind: type[Arguments]) -> dict[str, Any]:
    """Return the complete schema of all arguments, by which calls are checked."""
    schema: dict[str, Any] = msgspec.json.schema_components([kind])[1][kind.__name__]
    properties = {name: _without_null(each) for name, each in schema["properties"].items()}
    return schema | {"properties": properties}


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema without null, which counts as absent."""
    choices = [each for each in schema.get("anyOf", ()) if each.get("type") != "null"]
    return {**schema, **choices[0]} if len(choices) == 1 else schema


@cache
def rare(kind: type[Arguments]) -> tuple[str, ...]:
    """Return the names of the arguments in `options`: those that are not `named`."""
    return tuple(name for name in kind.__struct_fields__ if name not in kind.named)


@cache
def input_schema(kind: type[Arguments], project: str | None = None) -> dict[str, Any]:
    """Return the JSON Schema that a model sees. `project`: the server's default project."""
    schema = whole_schema(kind)
    properties = {
        name: _short_schema(schema["properties"][name], text) for name, text in kind.named.items()
    }
    if project is not None and kind.own_project:
        properties["project"]["description"] += kind.own_project.format(label(project))
    if others := rare(kind):
        about = kind.rarely or ", ".join(others)
        kinds = {name: schema["properties"][name].get("type", "array") for name in others}
        one = min((name for name in others if kinds[name] != "array"), key=len)
        properties[OPTIONS] = {
            "type": "object",
            # Some clients refuse an object without properties.
            "properties": {one: {"type": kinds[one]}},
            "description": f"Rare: {about}.",
        }
    required = {"required": schema["required"]} if schema["required"] else {}
    return {"type": "object", "properties": properties, **required}


def _short_schema(schema: dict[str, Any], description: str) -> dict[str, Any]:
    """Return type, choices, description and default. Some clients need the type of choices and of
    list items."""
    shown = {"type": schema.get("type", "string")}
    if "items" in schema:
        shown["items"] = {"type": schema["items"].get("type", "string")}
    shown |= {"enum": schema["enum"]} if "enum" in schema else {}
    shown["description"] = description
    return shown | ({"default": schema["default"]} if schema.get("default") else {})


# Output schemas: the fields that a program can rely on. They are short, as models read them, and
# fit the JSON of `recollect search --json` as well, with which a search answers if `explain` is
# set.

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
COUNT: Schema = {"type": "integer"}
FLAG: Schema = {"type": "boolean"}
OBJECT: Schema = {"type": "object"}
NEWER: Schema = {"type": ["string", "object"]}  # an id; with `explain` its date as well


def array(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def record(required: dict[str, Schema], **optional: Schema) -> Schema:
    """Return the schema of an object with these fields and possibly others."""
    return {"type": "object", "properties": {**required, **optional}, "required": [*required]}


ROW = record(
    {"id": TEXT},
    title=TEXT, kind=TEXT, project=TEXT, date=TEXT, expired=FLAG, superseded_by=TEXT,
)  # fmt: skip
RESULT = record(
    {"id": TEXT, "score": NUMBER, "kind": TEXT},
    title=TEXT, project=TEXT, date=TEXT, passage=TEXT, expired=FLAG, superseded_by=NEWER,
    seems_replaced_by=NEWER,
)  # fmt: skip
RESULTS = record({"results": array(RESULT)}, evidence={"type": ["string", "null"]})
SIDES = {"at": TEXT, "before": array(OBJECT), "after": array(OBJECT)}
LIST = record({}, memories=array(ROW), next={"type": ["string", "null"]}, **SIDES)
CONTEXT = record(
    {"memories": array(record({"id": TEXT, "title": TEXT, "text": TEXT}))}, left_out=COUNT
)
MEMORIES = record({"memories": array(record({"id": TEXT}))}, history=OBJECT, missing=array(OBJECT))
SAVED = record(
    {"id": TEXT, "outcome": TEXT, "repeated": FLAG, "title": TEXT},
    redacted=OBJECT, superseded=array(TEXT),
    similar=array(record({"id": TEXT, "title": TEXT, "why": TEXT})),
)  # fmt: skip
TIMELINE = record(SIDES)
UPDATED = record({"id": TEXT, "changed": array(TEXT)}, redacted=OBJECT)
FORGOTTEN = record({"ids": array(TEXT), "outcome": TEXT})
NOTED = record({"accepted": COUNT, "dismissed": COUNT})
REVIEW = record({}, items=array(OBJECT), counts=OBJECT, done=TEXT)
# The fields that ChatGPT's connectors and deep research require.
LINK = {"id": TEXT, "title": TEXT, "url": TEXT}
LINKS = record({"results": array(record(LINK))})
DOCUMENT = record({**LINK, "text": TEXT}, metadata=OBJECT)
