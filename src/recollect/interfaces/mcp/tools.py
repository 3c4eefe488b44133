"""The nine tools: what a model is told of each, and the function that does it.

A tool is a plain function from checked arguments to an answer; it calls the engine and nothing
else. Descriptions are read by a model in every conversation, so that each word of them costs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from recollect.auth.capabilities import DELETE, SEARCH, WRITE
from recollect.engine import Recollect
from recollect.errors import UserError
from recollect.ingest.draft import FIELDS, draft
from recollect.ingest.saving import saved_json
from recollect.interfaces.cursor import encode_place
from recollect.interfaces.mcp import arguments as given
from recollect.interfaces.mcp import schemas
from recollect.interfaces.mcp.texts import (
    context_text,
    list_text,
    memories_text,
    redacted_text,
    response_text,
    saved_text,
)
from recollect.interfaces.requests import filter_of, search_of
from recollect.memory_json import memory_json
from recollect.present.response import as_json, degraded_json
from recollect.present.views import token_estimate
from recollect.times import iso
from recollect.types import Memory, place_of

DEEP_RECIPE = "gnosis"


class Served(NamedTuple):
    """What is served: an engine, and the project that calls without one mean."""

    engine: Recollect
    project: str | None = None


class Answer(NamedTuple):
    """What a tool answers: the same as data and, shorter, as text."""

    structured: dict[str, Any]
    text: str


class Tool(NamedTuple):
    """A tool as it is offered. `adds`: it changes nothing that is there already."""

    name: str
    title: str
    about: str
    arguments: type[given.Arguments]
    output: dict[str, Any]
    run: Callable[[Served, Any], Answer]
    reads: bool = False
    adds: bool = False
    repeatable: bool = True
    needs: tuple[str, ...] = (SEARCH,)
    anywhere: bool = False  # for a caller who may use other vaults and not the home's own, too


def search(at: Served, told: given.SearchArguments) -> Answer:
    response = at.engine.search(search_of(told.within(at.project), at.engine.now()))
    text = response_text(response, explain=told.explain)
    return Answer(as_json(response, told.explain), text)


def deep_search(at: Served, told: given.DeepSearchArguments) -> Answer:
    search = search_of(told.within(at.project), at.engine.now())
    response = at.engine.search(search, recipe=DEEP_RECIPE, deep=True)
    text = response_text(response, explain=told.explain)
    return Answer(as_json(response, told.explain), text)


def context(at: Served, told: given.ContextArguments) -> Answer:
    found = at.engine.context(
        told.query,
        limit=told.limit,
        max_tokens=told.max_tokens,
        filter=filter_of(told.within(at.project), at.engine.now()),
    )
    structured = {
        "memories": [_brief(memory) for memory in found.memories],
        "matched": found.matched,
        "topped_up": found.topped_up,
        "left_out": found.left_out,
        "degraded": degraded_json(found.response) if found.response else [],
    }
    return Answer(structured, context_text(found))


def save(at: Served, told: given.SaveArguments) -> Answer:
    fields = told.fields()
    if at.project is not None:
        fields.setdefault("project", at.project)
    [saved] = at.engine.save_all([draft(fields)])
    structured = saved_json(saved) | {"title": saved.memory.title}
    return Answer(structured, saved_text(saved))


def retrieve(at: Served, told: given.RetrieveArguments) -> Answer:
    found = at.engine.show(list(dict.fromkeys(told.ids)))
    return Answer({"memories": [memory_json(memory) for memory in found]}, memories_text(found))


def update(at: Served, told: given.UpdateArguments) -> Answer:
    changes = told.fields()
    if not (changes or told.add_tags or told.remove_tags):
        raise UserError("Nothing to change; give a field, like text.")
    draft(changes, change=True)  # so that no field is taken for another argument of `edit`
    [before] = at.engine.show([told.id])
    done = at.engine.edited(
        told.id, add_tags=told.add_tags, remove_tags=told.remove_tags, **changes
    )
    after = done.memory
    changed = [name for name in FIELDS if getattr(after, name) != getattr(before, name)]
    structured: dict[str, Any] = {
        "id": after.id,
        "title": after.title,
        "changed": [name for name in changed if name != "updated_at" or name in changes],
        "updated_at": iso(after.updated_at),
    }
    if done.redacted:
        structured["redacted"] = dict(done.redacted)
    what = ", ".join(structured["changed"]) or "nothing; it was so already"
    return Answer(structured, f"Updated {after.id}: {what}.{redacted_text(done)}")


def forget(at: Served, told: given.ForgetArguments) -> Answer:
    ids = list(dict.fromkeys(told.ids))
    at.engine.forget(ids, undo=told.undo)
    outcome = "restored" if told.undo else "forgotten"
    hint = "" if told.undo else " The same call with undo=true brings them back."
    return Answer({"ids": ids, "outcome": outcome}, f"{outcome.title()}: {', '.join(ids)}.{hint}")


def feedback(at: Served, told: given.FeedbackArguments) -> Answer:
    accepted, dismissed = at.engine.feedback(told.query, told.id, accept=told.accepted)
    text = f"Noted: {accepted} accepted and {dismissed} dismissed so far."
    return Answer({"accepted": accepted, "dismissed": dismissed}, text)


def listing(at: Served, told: given.ListArguments) -> Answer:
    wanted = filter_of(told.within(at.project), at.engine.now())
    # One more than asked for, to know whether there is another page.
    found = at.engine.list(wanted, told.limit + 1, told.place())
    page = found[: told.limit]
    following = encode_place(place_of(page[-1])) if len(found) > told.limit else None
    return Answer(
        {"memories": [_row(memory) for memory in page], "next": following},
        list_text(page, following),
    )


def _brief(memory: Memory) -> dict[str, Any]:
    """What the token budget counts, and where the rest is."""
    whole = memory_json(memory)
    names = [name for name in schemas.BRIEF["required"] if name in whole]
    more = bool(memory.why or memory.impact or memory.details)
    return {name: whole[name] for name in names} | {"has_more": more}


def _row(memory: Memory) -> dict[str, Any]:
    whole = memory_json(memory) | {"token_estimate": token_estimate(memory)}
    return {name: whole[name] for name in schemas.ROW["required"]}


TOOLS: Sequence[Tool] = (
    Tool(
        "memory_search",
        "Search memories",
        "Find memories that answer a question or hold given words. Use it before you decide, "
        "answer or ask: earlier decisions, bugs, preferences and facts may be there. Gives titles, "
        "first words and ids, best first, and whether the evidence is strong, weak or none; "
        "memory_retrieve then gives whole ones. Not for browsing (memory_list).",
        given.SearchArguments,
        schemas.RESPONSE,
        search,
        reads=True,
        anywhere=True,
    ),
    Tool(
        "memory_deep_search",
        "Search memories thoroughly",
        "Slower and wider than memory_search: up to 256 candidates by meaning and topic, each read "
        "by a second model. Use it when memory_search found too little, or when everything about a "
        "subject is needed. Gives previews.",
        given.DeepSearchArguments,
        schemas.RESPONSE,
        deep_search,
        reads=True,
        anywhere=True,
    ),
    Tool(
        "memory_context",
        "What to know at the start",
        "What to know when a task begins: memories about a subject, filled up with the newest, as "
        "texts within max_tokens. Call it once at the start; for a question use memory_search.",
        given.ContextArguments,
        schemas.CONTEXT,
        context,
        reads=True,
    ),
    Tool(
        "memory_save",
        "Save a memory",
        "Keep one thing worth knowing later: a decision and its reason, a bug and its fix, a "
        "preference, a fact that was hard to find. One thing a memory; title or text is required. "
        "No secrets, and nothing the code or its history says anyway. What is there already is "
        "updated, not doubled. Gives the id. To change one you know by id: memory_update.",
        given.SaveArguments,
        schemas.SAVED,
        save,
        adds=True,
        needs=(WRITE,),
    ),
    Tool(
        "memory_retrieve",
        "Read whole memories",
        "Whole memories by id, details included. Use it after a search or a list, for the few that "
        "matter.",
        given.RetrieveArguments,
        schemas.MEMORIES,
        retrieve,
        reads=True,
        anywhere=True,
    ),
    Tool(
        "memory_update",
        "Change a memory",
        "Change fields of a memory that is wrong or out of date; the others stay. Gives what "
        "changed.",
        given.UpdateArguments,
        schemas.UPDATED,
        update,
        needs=(WRITE, SEARCH),
    ),
    Tool(
        "memory_forget",
        "Forget memories",
        "Take memories out of every answer, by id; undo=true brings them back. For what is wrong "
        "and not worth correcting, or when the user asks. Prefer memory_update where something "
        "true remains.",
        given.ForgetArguments,
        schemas.FORGOTTEN,
        forget,
        needs=(DELETE,),
    ),
    Tool(
        "memory_feedback",
        "Judge a search result",
        "Say whether a result was what the query needed; later searches rank by it. Use it after "
        "you relied on a result, or when a high one was wrong.",
        given.FeedbackArguments,
        schemas.NOTED,
        feedback,
        adds=True,
        repeatable=False,
        needs=(WRITE,),
    ),
    Tool(
        "memory_list",
        "Browse memories",
        "Browse titles and ids page by page: core, then captures, then files; newest first. To see "
        "what there is; to find something, memory_search.",
        given.ListArguments,
        schemas.LIST,
        listing,
        reads=True,
    ),
)
BY_NAME = {tool.name: tool for tool in TOOLS}


def call(at: Served, name: str, raw: dict[str, object]) -> Answer:
    """Check the arguments, then do it."""
    tool = BY_NAME[name]
    return tool.run(at, given.checked(name, tool.arguments, raw))
