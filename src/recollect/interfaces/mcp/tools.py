"""The tools as they are offered: what a model reads of each, and the function that runs it; and
their arguments, checked as models write them.

A model reads the descriptions in every conversation, so each word of them costs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from recollect.auth.capabilities import DELETE, SEARCH, WRITE
from recollect.engine import Recollect
from recollect.errors import UserError
from recollect.interfaces.lanes import READS, SEARCHES, WRITES, Lane
from recollect.interfaces.mcp import arguments, calls
from recollect.interfaces.mcp.arguments import MORE, Arguments, input_schema, rare, whole_schema
from recollect.interfaces.mcp.calls import Served, ToolAnswer
from recollect.present.visible import written_id

# What each tool answers with, as JSON Schema: the fields that a program can rely on. A model reads
# them in every conversation, so they say no more. With `explain`, a search answers with the JSON of
# `recollect search --json`, which fits, too.
Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
COUNT: Schema = {"type": "integer"}
FLAG: Schema = {"type": "boolean"}
OBJECT: Schema = {"type": "object"}
NEWER: Schema = {"type": ["string", "object"]}  # an id; with `explain` its date as well


def listed(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def record(required: dict[str, Schema], **optional: Schema) -> Schema:
    """An object that has these fields, and perhaps others."""
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
RESULTS = record({"results": listed(RESULT)}, evidence={"type": ["string", "null"]})
LIST = record({"memories": listed(ROW), "next": {"type": ["string", "null"]}})
CONTEXT = record(
    {"memories": listed(record({"id": TEXT, "title": TEXT, "text": TEXT}))}, left_out=COUNT
)
MEMORIES = record(
    {"memories": listed(record({"id": TEXT}))}, history=OBJECT, missing=listed(OBJECT)
)
SAVED = record(
    {"id": TEXT, "outcome": TEXT, "repeated": FLAG, "title": TEXT},
    redacted=OBJECT, superseded=listed(TEXT),
    similar=listed(record({"id": TEXT, "title": TEXT, "why": TEXT})),
)  # fmt: skip
TIMELINE = record({"at": TEXT, "before": listed(OBJECT), "after": listed(OBJECT)})
UPDATED = record({"id": TEXT, "changed": listed(TEXT)}, redacted=OBJECT)
FORGOTTEN = record({"ids": listed(TEXT), "outcome": TEXT})
NOTED = record({"accepted": COUNT, "dismissed": COUNT})
REVIEW = record({}, items=listed(OBJECT), counts=OBJECT, done=TEXT)
# As ChatGPT's connectors and deep research ask for them.
LINK = {"id": TEXT, "title": TEXT, "url": TEXT}
LINKS = record({"results": listed(record(LINK))})
DOCUMENT = record({**LINK, "text": TEXT}, metadata=OBJECT)


class Tool(NamedTuple):
    """A tool as it is offered. `adds`: it changes no existing memory. `idempotent`: the same call
    again changes nothing more."""

    name: str
    title: str
    about: str
    arguments: type[Arguments]
    output: dict[str, Any]
    run: Callable[[Served, Any], ToolAnswer]
    reads: bool = False
    adds: bool = False
    idempotent: bool = True
    needs: tuple[str, ...] = (SEARCH,)
    anywhere: bool = False  # also for a caller who may only use other vaults than the home's own
    lane: Lane = SEARCHES  # whose threads do its work


TOOLS: Sequence[Tool] = (
    Tool(
        "memory_search",
        "Search memories",
        "Find earlier decisions, bugs, preferences and facts. Use it before you decide, answer or "
        "ask. Gives titles, matching passages and ids, best first.",
        arguments.SearchArguments,
        RESULTS,
        calls.search,
        reads=True,
        anywhere=True,
    ),
    Tool(
        "memory_context",
        "What to know at the start",
        "What to know when a task begins: pinned memories, those about a subject, the newest. Call "
        "it once.",
        arguments.ContextArguments,
        CONTEXT,
        calls.context,
        reads=True,
    ),
    Tool(
        "memory_save",
        "Save a memory",
        "Keep one thing worth knowing later: a decision and why, a bug and its fix, a preference. "
        "title or text is required. No secrets, nothing the code says anyway. What is there "
        "already is updated.",
        arguments.SaveArguments,
        SAVED,
        calls.save,
        adds=True,
        needs=(WRITE,),
        lane=WRITES,
    ),
    Tool(
        "memory_retrieve",
        "Read whole memories",
        "Whole memories by id; a long one in parts.",
        arguments.RetrieveArguments,
        MEMORIES,
        calls.retrieve,
        reads=True,
        anywhere=True,
        lane=READS,
    ),
    Tool(
        "memory_update",
        "Change a memory",
        "Correct a memory, or add to it; fields not given stay.",
        arguments.UpdateArguments,
        UPDATED,
        calls.update,
        idempotent=False,
        needs=(WRITE, SEARCH),
        lane=WRITES,
    ),
    Tool(
        "memory_forget",
        "Forget memories",
        "Take memories out of every answer. Where something true remains: memory_update.",
        arguments.ForgetArguments,
        FORGOTTEN,
        calls.forget,
        needs=(DELETE,),
        lane=WRITES,
    ),
    Tool(
        "memory_feedback",
        "Judge a search result",
        "Say whether a result was what the query needed; later searches rank by it.",
        arguments.FeedbackArguments,
        NOTED,
        calls.feedback,
        adds=True,
        needs=(WRITE,),
        lane=WRITES,
    ),
    Tool(
        "memory_review",
        "Review memories",
        "List what wants a decision (contradictions, duplicates, what expires, secrets), or "
        "propose one; a person decides.",
        arguments.ReviewArguments,
        REVIEW,
        calls.review,
        needs=(SEARCH, WRITE),
        lane=WRITES,
    ),
    Tool(
        "memory_list",
        "Browse memories",
        "Browse titles and ids, newest first.",
        arguments.ListArguments,
        LIST,
        calls.listing,
        reads=True,
        lane=READS,
    ),
    Tool(
        "memory_timeline",
        "What happened around it",
        "What was saved and changed before and after a memory or a time.",
        arguments.TimelineArguments,
        TIMELINE,
        calls.timeline,
        reads=True,
        lane=READS,
    ),
    Tool(
        "search",
        "Search",
        "For connectors; others use memory_search.",
        arguments.ConnectorSearchArguments,
        LINKS,
        calls.connector_search,
        reads=True,
        anywhere=True,
    ),
    Tool(
        "fetch",
        "Fetch",
        "For connectors; others use memory_retrieve.",
        arguments.FetchArguments,
        DOCUMENT,
        calls.fetch,
        reads=True,
        anywhere=True,
        lane=READS,
    ),
)
BY_NAME = {tool.name: tool for tool in TOOLS}


def offered(engine: Recollect | None, project: str | None) -> list[dict[str, Any]]:
    """List the tools that the caller may use, as the protocol has them: the others would cost a
    model tokens for nothing. Without an engine, all of them."""
    return [
        {
            "name": tool.name,
            "title": tool.title,
            "description": tool.about,
            "inputSchema": input_schema(tool.arguments, project),
            "outputSchema": tool.output,
            "annotations": {
                "title": tool.title,
                "readOnlyHint": tool.reads,
                "destructiveHint": not (tool.reads or tool.adds),
                "idempotentHint": tool.idempotent,
                "openWorldHint": False,
            },
        }
        for tool in TOOLS
        if engine is None or engine.may(*tool.needs, anywhere=tool.anywhere)
    ]


def call(served: Served, name: str, raw: dict[str, object]) -> ToolAnswer:
    """Check the arguments and run the tool."""
    tool = BY_NAME[name]
    return tool.run(served, checked(name, tool.arguments, raw))


# What a model has written as arguments

# Arguments that name memories by their ids.
NAMING = frozenset(("id", "ids", "around", "after", "supersedes", "superseded_by", "merge_into"))


def checked(tool: str, kind: type[Arguments], raw: Mapping[str, object]) -> Arguments:
    """The arguments of a call, or UserError with what is wrong with the first bad one."""
    schema = whole_schema(kind)
    properties = schema["properties"]
    more = lenient(raw.get(MORE) or {}, {"type": "object"})
    if not isinstance(more, dict):
        raise UserError(f"{MORE} must be an object: the names and values of arguments.")
    args = {name: value for name, value in {**more, **raw}.items() if value is not None}
    args.pop(MORE, None)
    for name in args:
        if name not in properties:
            names = ", ".join(input_schema(kind)["properties"])
            takes = f"; {MORE} takes: {', '.join(rare(kind))}" if rare(kind) else ""
            raise UserError(
                f"{name!r} is not an argument of {tool}; arguments are: {names}{takes}."
            )
    for name in schema["required"]:
        if name not in args:
            raise UserError(f"{tool} needs the argument {name}.")
    args = {name: lenient(value, properties[name]) for name, value in args.items()}
    args |= {name: _written(value) for name, value in args.items() if name in NAMING}
    try:
        return msgspec.convert(args, kind)
    except msgspec.ValidationError as error:
        raise UserError(_sentence(str(error), properties)) from error


def _written(value: object) -> object:
    """Return ids that a model has read in an answer as they are in the vault."""
    if isinstance(value, list):
        return [_written(each) for each in value]
    return written_id(value) if isinstance(value, str) else value


def _sentence(message: str, properties: Mapping[str, Any]) -> str:
    """msgspec's "Expected `int` >= 1 - at `$.limit`" for whoever called."""
    what, _, place = message.partition(" - at ")
    name = place.strip("`").removeprefix("$.")
    argument = properties.get(re.split(r"[.\[]", name)[0], {})
    allowed = argument.get("enum") or argument.get("items", {}).get("enum")
    if allowed and what.startswith("Invalid enum value"):
        value = what.removeprefix("Invalid enum value ")
        return f"{name} cannot be {value}; allowed are: {', '.join(allowed)}."
    return f"{name}: {what[0].lower()}{what[1:]}.".replace("`", "")


TRUTH = {
    "true": True, "yes": True, "on": True, "1": True,
    "false": False, "no": False, "off": False, "0": False,
}  # fmt: skip


def lenient(value: object, schema: Mapping[str, Any]) -> object:
    """The value as the schema of its argument wants it: `"3"` is a number where one is wanted,
    `"postgres"` is a list of one, `"yes"` is true. What cannot be read so stays as it is, and the
    check of the arguments refuses it."""
    match schema.get("type", "string"), value:
        case "array", str():
            items = _decoded(value, list) or [part.strip() for part in value.split(",")]
            return [lenient(item, schema["items"]) for item in items if item != ""]
        case "array", list():
            return [lenient(item, schema["items"]) for item in value]
        case "array", int() | float():
            return [lenient(value, schema["items"])]
        case "object", str():
            return _decoded(value, dict) or value
        case "boolean", str() | int():
            return TRUTH.get(str(value).strip().lower(), value)
        case "integer", str() | float():
            return _whole_number(value)
        case "string", int() | float() if not isinstance(value, bool):
            return str(value)
        case "string", str() if "enum" in schema:
            same = (choice for choice in schema["enum"] if choice == value.strip().lower())
            return next(same, value)
    return value


def _whole_number(value: str | float) -> object:
    """`3` for `"3"` and `3.0`; what is no whole number stays."""
    try:
        number = float(value)
        return int(number) if number.is_integer() else value
    except (ValueError, OverflowError):
        return value


def _decoded(text: str, kind: type) -> Any:
    """A list or an object that was written as JSON in a text; None where it is none."""
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.DecodeError:
        return None
