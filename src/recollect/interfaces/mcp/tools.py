"""The ten tools as they are offered: what a model reads of each, and the function that runs it.

A model reads the descriptions in every conversation, so each word of them costs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from recollect.auth.capabilities import DELETE, SEARCH, WRITE
from recollect.interfaces.lanes import READS, SEARCHES, WRITES, Lane
from recollect.interfaces.mcp import arguments, calls, schemas
from recollect.interfaces.mcp.arguments import Arguments, checked
from recollect.interfaces.mcp.calls import Served, ToolAnswer


class Tool(NamedTuple):
    """A tool as it is offered. `adds`: it changes no existing memory."""

    name: str
    title: str
    about: str
    arguments: type[Arguments]
    output: dict[str, Any]
    run: Callable[[Served, Any], ToolAnswer]
    reads: bool = False
    adds: bool = False
    needs: tuple[str, ...] = (SEARCH,)
    anywhere: bool = False  # also for a caller who may only use other vaults than the home's own
    lane: Lane = SEARCHES  # whose threads do its work


TOOLS: Sequence[Tool] = (
    Tool(
        "memory_search",
        "Search memories",
        "Find memories that answer a question or hold given words. Use it before you decide, "
        "answer or ask: earlier decisions, bugs, preferences and facts may be there. Gives titles, "
        "first words and ids, best first, and whether the evidence is strong, weak or none; "
        "memory_retrieve then gives whole ones. Not for browsing (memory_list).",
        arguments.SearchArguments,
        schemas.RESPONSE,
        calls.search,
        reads=True,
        anywhere=True,
    ),
    Tool(
        "memory_deep_search",
        "Search memories thoroughly",
        "Slower and wider than memory_search: up to 256 candidates by meaning and topic, each read "
        "by a second model. Use it when memory_search found too little, or when everything about a "
        "subject is needed. Gives previews.",
        arguments.DeepSearchArguments,
        schemas.RESPONSE,
        calls.deep_search,
        reads=True,
        anywhere=True,
    ),
    Tool(
        "memory_context",
        "What to know at the start",
        "What to know when a task begins: what is pinned, memories about a subject, then the "
        "newest, within max_tokens. Call it once at the start; for a question use memory_search.",
        arguments.ContextArguments,
        schemas.CONTEXT,
        calls.context,
        reads=True,
    ),
    Tool(
        "memory_save",
        "Save a memory",
        "Keep one thing worth knowing later: a decision and its reason, a bug and its fix, a "
        "preference, a fact that was hard to find. One thing a memory; title or text is required. "
        "No secrets, and nothing the code or its history says anyway. What is there already is "
        "updated, not doubled. Gives the id. To change one you know by id: memory_update.",
        arguments.SaveArguments,
        schemas.SAVED,
        calls.save,
        adds=True,
        needs=(WRITE,),
        lane=WRITES,
    ),
    Tool(
        "memory_retrieve",
        "Read whole memories",
        "Whole memories by id, details included. Use it after a search or a list, for the few that "
        "matter.",
        arguments.RetrieveArguments,
        schemas.MEMORIES,
        calls.retrieve,
        reads=True,
        anywhere=True,
        lane=READS,
    ),
    Tool(
        "memory_update",
        "Change a memory",
        "Change fields of a memory that is wrong or out of date; the others stay. Gives what "
        "changed.",
        arguments.UpdateArguments,
        schemas.UPDATED,
        calls.update,
        needs=(WRITE, SEARCH),
        lane=WRITES,
    ),
    Tool(
        "memory_forget",
        "Forget memories",
        "Take memories out of every answer, by id; undo=true brings them back. For what is wrong "
        "and not worth correcting, or when the user asks. Prefer memory_update where something "
        "true remains.",
        arguments.ForgetArguments,
        schemas.FORGOTTEN,
        calls.forget,
        needs=(DELETE,),
        lane=WRITES,
    ),
    Tool(
        "memory_feedback",
        "Judge a search result",
        "Say whether a result was what the query needed; later searches rank by it. Use it after "
        "you relied on a result, or when a high one was wrong. undo=true takes it back.",
        arguments.FeedbackArguments,
        schemas.NOTED,
        calls.feedback,
        adds=True,
        needs=(WRITE,),
        lane=WRITES,
    ),
    Tool(
        "memory_review",
        "Review memories",
        "What wants a decision: contradictions, duplicates, what expires, secrets. Without "
        "arguments it lists items; with an item and a decision it proposes that, and a person "
        "decides.",
        arguments.ReviewArguments,
        schemas.REVIEW,
        calls.review,
        needs=(SEARCH, WRITE),
        lane=WRITES,
    ),
    Tool(
        "memory_list",
        "Browse memories",
        "Browse titles and ids page by page: core, then captures, then files; newest first. To see "
        "what there is; to find something, memory_search.",
        arguments.ListArguments,
        schemas.LIST,
        calls.listing,
        reads=True,
        lane=READS,
    ),
)
BY_NAME = {tool.name: tool for tool in TOOLS}


def call(served: Served, name: str, raw: dict[str, object]) -> ToolAnswer:
    """Check the arguments and run the tool."""
    tool = BY_NAME[name]
    return tool.run(served, checked(name, tool.arguments, raw))
