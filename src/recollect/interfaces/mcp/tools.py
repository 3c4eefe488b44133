"""The tools as they are offered: what a model reads of each, and the function that runs it.

A model reads the descriptions in every conversation, so each word of them costs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from recollect.auth.capabilities import DELETE, SEARCH, WRITE
from recollect.engine import Recollect
from recollect.interfaces.lanes import READS, SEARCHES, WRITES, Lane
from recollect.interfaces.mcp import arguments, calls
from recollect.interfaces.mcp.arguments import Arguments, checked, input_schema
from recollect.interfaces.mcp.calls import Served, ToolAnswer

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
