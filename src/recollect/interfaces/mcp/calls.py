"""The tools: functions from checked arguments to an answer. A decorator declares how each is
offered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, TypeVar, get_type_hints

import msgspec
from msgspec import UNSET

from recollect.auth.capabilities import DELETE, SEARCH, WRITE
from recollect.engine import Recollect
from recollect.engine.browsing import LIMIT, timeline_json
from recollect.errors import NotFound, UserError
from recollect.ingest.draft import make_draft
from recollect.ingest.saving import REPLACES, Saved, SimilarMemory, saved_json
from recollect.interfaces.mcp import arguments
from recollect.interfaces.mcp.brief import (
    Part,
    brief_history,
    full_title,
    response_json,
    row_json,
    shown_memories,
    with_longer_passages,
    without_marks,
)
from recollect.interfaces.mcp.resources import MEMORY
from recollect.interfaces.mcp.texts import (
    fields_text,
    history_text,
    list_text,
    memories_text,
    redacted_text,
    response_text,
    review_text,
    saved_text,
    timeline_text,
)
from recollect.interfaces.operations import plain
from recollect.interfaces.requests import cut_page, read_as_of, read_filter, read_search
from recollect.interfaces.thread_pools import READS, SEARCHES, WRITES, ThreadPool
from recollect.memory_json import memory_json
from recollect.present.agent_context import context_json, context_text
from recollect.present.history import undone_text
from recollect.present.response import as_json
from recollect.present.sentences import as_data, heading_line, shown_id
from recollect.store.base import WriteOutcome
from recollect.times import iso


class Served(NamedTuple):
    """The engine, and the default project of calls. `open_project`: the project that the client has
    open, which a search prefers if there is no default. `resumed`: the outcome of the first call of
    a save that is repeated with the reply to its question."""

    engine: Recollect
    project: str | None = None
    open_project: str | None = None
    resumed: WriteOutcome | None = None


class UserQuestion(NamedTuple):
    """A question for the user after a tool has run. `about`: the id of the memory in question.
    `yes`: run after "yes"; returns the new answer."""

    about: str
    text: str
    yes: Callable[[], ToolAnswer]


class ToolAnswer(NamedTuple):
    """A tool's answer as data and, shorter, as text."""

    structured: dict[str, Any]
    text: str
    question: UserQuestion | None = None


# The sets of tools that a server lists: the usual ones, those for connectors, all. A tool that is
# not listed still answers, as a client may have cached an earlier list.
ToolSet = Literal["default", "connector", "all"]


class Tool(NamedTuple):
    """A declared tool. `about`: the description that a model reads in every conversation, so each
    word costs. `offered`: the set that it belongs to; `all` has every tool. `anywhere`: also for
    callers without access to the home's own vault. `adds`: it changes no existing memory.
    `idempotent`: repeating the call changes nothing."""

    name: str
    title: str
    about: str
    arguments: type[arguments.Arguments]
    output: arguments.Schema
    run: Callable[[Served, Any], ToolAnswer]
    needs: tuple[str, ...]
    pool: ThreadPool
    offered: ToolSet
    anywhere: bool
    adds: bool
    idempotent: bool

    @property
    def reads(self) -> bool:
        """True if it changes nothing."""
        return self.pool is not WRITES


Call = TypeVar("Call", bound=Callable[..., ToolAnswer])


def tool(
    name: str, title: str, output: arguments.Schema, *needs: str, pool: ThreadPool = SEARCHES,
    offered: ToolSet = "default", anywhere: bool = False, adds: bool = False,
    idempotent: bool = True,
) -> Callable[[Call], Call]:  # fmt: skip
    """Declare a tool; see `Tool`. Its description is the function's docstring, and its arguments
    are the type of `args`. `needs`: capabilities; by default SEARCH."""

    def declare(run: Call) -> Call:
        about, kind = " ".join((run.__doc__ or "").split()), get_type_hints(run)["args"]
        run.tool = Tool(  # type: ignore[attr-defined]
            name, title, about, kind, output, run, needs or (SEARCH,), pool, offered, anywhere,
            adds, idempotent,
        )  # fmt: skip
        return run

    return declare


@tool("memory_search", "Search memories", arguments.RESULTS, anywhere=True)
def search(served: Served, args: arguments.SearchArguments) -> ToolAnswer:
    """Find earlier decisions, bugs, preferences and facts. Use it before you decide, answer or ask.
    Gives titles, passages and ids, best first."""
    given = args.preferring(served.project or served.open_project)
    brief = args.view is UNSET and not args.explain
    response = served.engine.search(read_search({"view": "scan"} | given, served.engine.now()))
    if not response.results:
        _check_filter(served, args)
    response = with_longer_passages(response) if brief else without_marks(response)
    text = response_text(response, explain=args.explain, brief=brief)
    if args.explain:
        return ToolAnswer(as_json(response, explain=True), text)
    return ToolAnswer(response_json(response, brief=brief), text)


def _check_filter(served: Served, args: arguments.FilterArguments) -> None:
    """Raise NotFound if no memory has the given project, kind or tag. Call it if nothing was
    found."""
    given = read_filter(args.within(None), served.engine.now())
    if served.engine.may(SEARCH) and (sentences := served.engine.unknown_values(given)):
        raise NotFound(" ".join(sentences))


@tool("search", "Search", arguments.LINKS, offered="connector", anywhere=True)
def connector_search(served: Served, args: arguments.ConnectorSearchArguments) -> ToolAnswer:
    """For connectors; others use memory_search."""
    response = served.engine.search(args.query, limit=arguments.SEARCH_LIMIT, view="scan")
    results = [
        {
            "id": result.id,
            "title": full_title(result) or str(result.fields["snippet"]),
            "url": MEMORY.address(result.id),
        }
        for result in response
    ]
    return _as_json({"results": results})


@tool("fetch", "Fetch", arguments.DOCUMENT, pool=READS, offered="connector", anywhere=True)
def fetch(served: Served, args: arguments.FetchArguments) -> ToolAnswer:
    """For connectors; others use memory_retrieve."""
    [found] = served.engine.locate([args.id])
    fields = {name: value for name, value in memory_json(found.memory).items() if value}
    id, title = fields.pop("id"), fields.pop("title", "")
    texts = [fields.pop(name, "") for name in ("text", "why", "impact", "context", "details")]
    document = {
        "id": id,
        "title": title or heading_line(found.memory),
        "text": "\n\n".join(filter(None, texts)) or title,
        "url": MEMORY.address(id),
        "metadata": fields,
    }
    return _as_json(document)


def _as_json(data: dict[str, Any]) -> ToolAnswer:
    """Return the data, and as text the same JSON, as connectors require."""
    return ToolAnswer(data, msgspec.json.encode(as_data(data)).decode())


@tool("memory_context", "What to know at the start", arguments.CONTEXT)
def context(served: Served, args: arguments.ContextArguments) -> ToolAnswer:
    """What to know when a task begins: pinned memories, those about a subject, the newest. Call it
    once."""
    now = served.engine.now()
    then = read_as_of(args.given(), now)
    found = served.engine.context(
        args.query,
        limit=args.limit,
        max_tokens=args.max_tokens,
        filter=read_filter(args.within(served.project), then or now),
        semantic=args.given().get("semantic"),
        topup_recent=args.given().get("topup_recent"),
        as_of=then,
    )
    if not found.memories and not found.left_out:
        _check_filter(served, args)
    return ToolAnswer(context_json(found), context_text(found))


@tool("memory_save", "Save a memory", arguments.SAVED, WRITE, pool=WRITES, adds=True)
def save(served: Served, args: arguments.SaveArguments) -> ToolAnswer:
    """Keep one thing worth knowing later: a decision and why, a bug and its fix, a preference.
    title or text is required. No secrets, nothing the code says anyway. An existing one is updated.
    """
    fields = args.fields()
    if served.project is not None:
        fields.setdefault("project", served.project)
    [saved] = served.engine.save_all([make_draft(fields, supersedes=args.supersedes)])
    similar = served.engine.similar(saved.memory)
    if served.resumed:
        saved = saved._replace(outcome=served.resumed, repeated=False)
    structured = saved_json(saved, similar) | {"title": saved.memory.title}
    text = saved_text(saved, similar)
    replaced = similar and similar[0].why == REPLACES and saved.outcome != "unchanged"
    return ToolAnswer(structured, text, _replacing(served, saved, similar) if replaced else None)


def _replacing(served: Served, saved: Saved, similar: Sequence[SimilarMemory]) -> UserQuestion:
    """Return the question whether the saved memory replaces the first of these."""
    (old, _), *others = similar

    def yes() -> ToolAnswer:
        served.engine.supersede(old.id, saved.memory.id)
        done = saved._replace(superseded=(*saved.superseded, old.id))
        structured = saved_json(done, others) | {"title": saved.memory.title}
        return ToolAnswer(structured, saved_text(done, others))

    new, before = heading_line(saved.memory), heading_line(old)
    return UserQuestion(old.id, f"“{new}” seems to replace “{before}”. Does it?", yes)


@tool("memory_retrieve", "Read whole memories", arguments.MEMORIES, pool=READS, anywhere=True)
def retrieve(served: Served, args: arguments.RetrieveArguments) -> ToolAnswer:
    """Whole memories by id; a long one in parts."""
    then = read_as_of(args.given(), served.engine.now())
    ids, part = list(dict.fromkeys(args.ids)), args.given().get("part", "")
    if part and len(ids) > 1:
        raise UserError("A part is read of one memory; give one id with it.")
    found, missing = served.engine.retrieve(ids, as_of=then)
    shown = shown_memories([each.memory for each in found], part, args.max_tokens, fields_text)
    structured: dict[str, Any] = {
        "memories": [
            each.as_json() if isinstance(each, Part) else memory_json(each) for each in shown
        ]
    }
    if missing:
        structured["missing"] = [{"id": each.id, "why": each.sentence} for each in missing]
    texts = [memories_text(found, shown, missing, then)]
    if args.history:
        room = args.max_tokens // len(found)
        structured["history"] = {}
        for id in (each.memory.id for each in found):
            versions = served.engine.history(id)
            rows = structured["history"][id] = brief_history(versions, room)
            texts.append(history_text(versions, rows))
    return ToolAnswer(structured, "\n\n".join(texts))


@tool(
    "memory_update",
    "Change a memory",
    arguments.UPDATED,
    WRITE,
    SEARCH,
    pool=WRITES,
    idempotent=False,
)
def update(served: Served, args: arguments.UpdateArguments) -> ToolAnswer:
    """Correct a memory, or add to it; fields not given stay."""
    changes = args.fields()
    part: dict[str, Any] = {
        name: value for name, value in args.given().items() if name in ("append", "section")
    }
    tags: dict[str, Any] = {"add_tags": args.add_tags, "remove_tags": args.remove_tags}
    if args.undo:
        if changes or part or any(tags.values()):
            raise UserError("undo takes the last change back; give no other change with it.")
        return _undo(served, args.id)
    if not (changes or part or any(tags.values())):
        raise UserError("Nothing to change; give a field, such as text.")
    make_draft(changes, change=True)  # so that no field becomes another argument of `edit`
    [done] = served.engine.edit_all([args.id], **tags, **part, **changes)
    after = done.memory
    structured: dict[str, Any] = {
        "id": after.id,
        "title": after.title,
        "changed": list(done.changed),
        "updated_at": iso(after.updated_at),
    }
    if done.redacted:
        structured["redacted"] = dict(done.redacted)
    what = ", ".join(structured["changed"]) or "nothing; it was like this already"
    return ToolAnswer(structured, f"Updated {shown_id(after.id)}: {what}.{redacted_text(done)}")


def _undo(served: Served, id: str) -> ToolAnswer:
    [id] = served.engine.complete_ids([id])
    done = served.engine.undo(id)
    text = undone_text(done.action, done.at, [id], done.forgotten)
    return ToolAnswer({"id": id, "changed": [], "undone": done.action}, text)


def whole_ids(served: Served, parts: Sequence[str], *, forgotten: bool = False) -> list[str]:
    """Complete shortened ids, if the caller may read memories."""
    if not served.engine.may(SEARCH):
        return [*parts]
    return served.engine.complete_ids(parts, forgotten=forgotten)


@tool("memory_forget", "Forget memories", arguments.FORGOTTEN, DELETE, pool=WRITES)
def forget(served: Served, args: arguments.ForgetArguments) -> ToolAnswer:
    """Take memories out of every answer. Where something true remains: memory_update."""
    ids = list(dict.fromkeys(whole_ids(served, args.ids, forgotten=args.undo)))
    if args.merge_into is not UNSET:
        if args.undo:
            raise UserError("Give either undo or merge_into.")
        kept = served.engine.merge(ids, into=args.merge_into).id
        gone = [id for id in ids if id != kept]
        text = f"Merged into {shown_id(kept)}: {', '.join(map(shown_id, gone))}."
        return ToolAnswer({"ids": gone, "outcome": "merged"}, text)
    served.engine.forget(ids, undo=args.undo)
    outcome = "restored" if args.undo else "forgotten"
    hint = "" if args.undo else " The same call with undo=true brings them back."
    named = ", ".join(map(shown_id, ids))
    return ToolAnswer({"ids": ids, "outcome": outcome}, f"{outcome.title()}: {named}.{hint}")


@tool(
    "memory_feedback",
    "Judge a search result",
    arguments.NOTED,
    WRITE,
    pool=WRITES,
    offered="all",
    adds=True,
)
def feedback(served: Served, args: arguments.FeedbackArguments) -> ToolAnswer:
    """Say whether a result was what the query needed; later searches rank by it."""
    accepted, dismissed = served.engine.feedback(
        args.query, args.id, accept=args.given().get("accepted"), undo=args.undo
    )
    done = "Taken back" if args.undo else "Noted"
    text = f"{done}: {accepted} accepted and {dismissed} dismissed so far."
    return ToolAnswer({"accepted": accepted, "dismissed": dismissed}, text)


@tool(
    "memory_review", "Review memories", arguments.REVIEW, SEARCH, WRITE, pool=WRITES, offered="all"
)
def review(served: Served, args: arguments.ReviewArguments) -> ToolAnswer:
    """List what needs a decision (contradictions, duplicates, what expires, secrets), or propose
    one; a person decides."""
    values = args.given()
    if ("item" in values) != ("decision" in values):
        raise UserError("Give an item and a decision, or neither to list all items.")
    if "item" in values:
        changes = {"text": values["text"]} if "text" in values else None
        done = served.engine.decide_or_propose(values["item"], values["decision"], changes=changes)
        return ToolAnswer({"done": done}, done)
    found = served.engine.review(limit=args.limit)
    return ToolAnswer(plain(found), review_text(found))


@tool("memory_list", "Browse memories", arguments.LIST, pool=READS)
def listing(served: Served, args: arguments.ListArguments) -> ToolAnswer:
    """Browse titles and ids, newest first."""
    given = args.given()
    if "around" in given:
        if other := [name for name in ("after", "order", "as_of") if name in given]:
            raise UserError(f"Give either around or {other[0]}.")
        return timeline(served, args)
    now, limit = served.engine.now(), given.get("limit", arguments.LIST_LIMIT)
    then = read_as_of(given, now)
    wanted = read_filter(args.within(served.project), then or now)
    found = served.engine.list(
        wanted, limit + 1, args.place(), newest=args.order != "tier", as_of=then
    )
    if not found:
        _check_filter(served, args)
    page, following = cut_page(found, limit)
    return ToolAnswer(
        {"memories": [row_json(memory, then or now) for memory in page], "next": following},
        list_text(page, following, then or now, then),
    )


@tool("memory_timeline", "What happened around it", arguments.TIMELINE, pool=READS, offered="all")
def timeline(served: Served, args: arguments.TimelineArguments) -> ToolAnswer:
    """What was saved and changed before and after a memory or a time."""
    given = args.within(served.project)
    filter = read_filter(given, served.engine.now())
    found = served.engine.timeline(given["around"], limit=given.get("limit", LIMIT), filter=filter)
    if not (found.before or found.after):
        _check_filter(served, args)
    return ToolAnswer(timeline_json(found), timeline_text(found))
