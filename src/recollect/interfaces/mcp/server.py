"""The MCP server: the tools, resources and the prompt, put on the SDK's low-level server.

The low-level one, because it hands out schemas and answers exactly as they are written here. Every
call of the engine blocks, so it runs in a thread of its pool.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from traceback import extract_tb
from typing import Any, TypeVar

import mcp_types as mcp
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from recollect.auth.capabilities import SEARCH
from recollect.engine import Recollect
from recollect.errors import Cancelled, Forbidden, NotFound, RecollectError
from recollect.interfaces.mcp import resources
from recollect.interfaces.mcp.arguments import input_schema
from recollect.interfaces.mcp.calls import Served, ToolAnswer, ToolSet
from recollect.interfaces.mcp.client import OpenProject, is_connector, replied, resumed
from recollect.interfaces.mcp.tools import BY_NAME, call, list_tools
from recollect.interfaces.thread_pools import READS, ThreadPools
from recollect.present.visible import as_data
from recollect.version import __version__

LONGEST_NAME = 100  # characters of a client's name and version that history keeps
RESOURCE_NOT_FOUND = -32002  # up to the revision of 2025-11-25; later ones have INVALID_PARAMS
OPENING = ("initialize", "server/discover")
TOOL_SETS = ("default", "all")  # that a user may ask for
# What is offered does not change while the server runs.
OFFERED = CacheHint(ttl_ms=3_600_000, scope="private")

Context = ServerRequestContext[Any]
Given = TypeVar("Given")
log = logging.getLogger("recollect.mcp")


def build(
    engine_of: Callable[[Context], Recollect],
    project: str | None = None,
    *,
    tools: ToolSet = "default",
    pools: ThreadPools | None = None,
) -> Server[Any]:
    """Make the server.

    `engine_of`: returns the engine with the rights of a message's sender. Where it raises
    RecollectError, the server answers, and each tool says why it cannot.
    `project`: the default project of calls.
    `tools`: which tools are listed; over HTTP, `?tools=all` in the address lists all.
    `pools`: the threads of a server around this one; without, it has its own."""
    handlers = Handlers(engine_of, project, tools, pools)
    server: Server[Any] = Server(
        "recollect",
        version=__version__,
        title="Recollect",
        description="Local memory search for AI agents.",
        instructions=resources.INSTRUCTIONS,
        cache_hints={
            "tools/list": OFFERED,
            "prompts/list": OFFERED,
            "resources/templates/list": OFFERED,
        },
        lifespan=handlers.lifespan,
        get_tool_input_schema=handlers.input_schema,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
        on_list_prompts=handlers.list_prompts,
        on_get_prompt=handlers.get_prompt,
        on_completion=handlers.complete,
    )
    server.middleware.append(handlers.instruct)
    return server


class Handlers:
    """The protocol's requests, answered by the engine."""

    def __init__(
        self,
        engine_of: Callable[[Context], Recollect],
        project: str | None,
        tools: ToolSet,
        pools: ThreadPools | None,
    ) -> None:
        self._engine_of = engine_of
        self._project = project
        self._tools = tools
        self._pools = pools or ThreadPools()
        self._own_pools = pools is None
        self._open_project = OpenProject()

    @asynccontextmanager
    async def lifespan(self, server: Server[Any]) -> AsyncIterator[None]:
        """The end does not wait for a thread that is still at work."""
        try:
            yield
        finally:
            if self._own_pools:
                self._pools.close()

    async def instruct(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Give whoever opens a connection instructions made for them and this vault."""
        result = await call_next(ctx)
        if ctx.method not in OPENING or not isinstance(result, dict):
            return result
        try:
            made = partial(resources.instructions, self._engine_of(ctx), self._project)
        except RecollectError:  # the rules alone; a tool will say why
            return result
        return result | {"instructions": await self._pools.run(READS, made)}

    async def _read(self, ctx: Context, action: str, work: Callable[[Recollect], Given]) -> Given:
        """Run what is not a tool with the caller's engine: an error becomes the protocol's error. A
        caller who may not read is refused before it is said whether something exists."""

        def run() -> Given:
            engine = self._engine_of(ctx)
            engine.require(SEARCH, action=action, anywhere=True)
            return work(engine)

        try:
            return await self._pools.run(READS, run)
        except NotFound as error:
            modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
            code = mcp.INVALID_PARAMS if modern else RESOURCE_NOT_FOUND
            raise MCPError(code, one_line(error)) from error
        except Forbidden as error:
            raise MCPError(mcp.INVALID_REQUEST, one_line(error)) from error
        except RecollectError as error:
            raise MCPError(mcp.INTERNAL_ERROR, one_line(error)) from error
        except Exception as error:
            raise MCPError(mcp.INTERNAL_ERROR, unexpected(error)) from error

    # Tools

    async def list_tools(
        self, ctx: Context, params: mcp.PaginatedRequestParams | None
    ) -> mcp.ListToolsResult:
        try:
            engine = self._engine_of(ctx)
        except RecollectError:  # each tool says so when it is called
            engine = None
        listed = list_tools(engine, self._project, self._tool_sets(ctx))
        return mcp.ListToolsResult.model_validate({"tools": listed})

    def _tool_sets(self, ctx: Context) -> tuple[str, ...]:
        """Return the sets of tools that the server, its address or the client's kind asks for."""
        asked = self._tools
        if ctx.request is not None:
            asked = ctx.request.query_params.get("tools", asked)
        if asked not in TOOL_SETS:
            allowed = ", ".join(TOOL_SETS)
            raise MCPError(
                mcp.INVALID_PARAMS, f"tools cannot be {asked!r}; allowed are: {allowed}."
            )
        return (asked, "connector") if is_connector(ctx) else (asked,)

    def input_schema(self, name: str) -> dict[str, Any] | None:
        if name not in BY_NAME:
            return None
        return input_schema(BY_NAME[name].arguments, self._project)

    async def call_tool(
        self, ctx: Context, params: mcp.CallToolRequestParams
    ) -> mcp.CallToolResult | mcp.InputRequiredResult:
        if params.name not in BY_NAME:
            known = ", ".join(BY_NAME)
            sentence = f"There is no tool {params.name!r}; there are: {known}."
            raise MCPError(mcp.INVALID_PARAMS, sentence)
        tool, steps, program = BY_NAME[params.name], Steps(ctx), ""
        if (client := ctx.session.client_params) is not None:
            program = f"{client.client_info.name} {client.client_info.version}"[:LONGEST_NAME]
        try:
            engine = self._engine_of(ctx)
            engine = engine.acting_as(engine.caller, "mcp" if program else None, program, steps)
            served = Served(engine, self._project, resumed=resumed(params))
            if served.project is None and params.name == "memory_search":
                served = served._replace(open_project=await self._open_project.name(ctx))
            work = partial(call, served, params.name, params.arguments or {})
            engine.require(*tool.needs, action=tool.name, anywhere=tool.anywhere)
            answer = await self._pools.run(tool.pool, work)
            reply = await replied(ctx, params, answer)
            if isinstance(reply, mcp.InputRequiredResult):
                return reply
            if reply and answer.question is not None:
                with suppress(RecollectError):  # what was done before stays done
                    answer = await self._pools.run(tool.pool, answer.question.yes)
            return answered(answer)
        except RecollectError as error:
            return failed(one_line(error))
        except Exception as error:
            return failed(unexpected(error))
        finally:
            steps.ended = True  # the caller may have cancelled; then a thread is still at work

    # Resources

    async def list_resources(
        self, ctx: Context, params: mcp.PaginatedRequestParams | None
    ) -> mcp.ListResourcesResult:
        found = await self._read(ctx, "resources/list", resources.listed)
        return mcp.ListResourcesResult(resources=found)

    async def list_templates(
        self, ctx: Context, params: mcp.PaginatedRequestParams | None
    ) -> mcp.ListResourceTemplatesResult:
        templates = [family.as_template() for family in resources.FAMILIES]
        return mcp.ListResourceTemplatesResult(resource_templates=templates)

    async def read_resource(
        self, ctx: Context, params: mcp.ReadResourceRequestParams
    ) -> mcp.ReadResourceResult:
        found = await self._read(
            ctx, "resources/read", lambda engine: resources.read(engine, params.uri)
        )
        return mcp.ReadResourceResult(contents=[found])

    async def complete(self, ctx: Context, params: mcp.CompleteRequestParams) -> mcp.CompleteResult:
        template = params.ref.uri if isinstance(params.ref, mcp.ResourceTemplateReference) else ""
        values = await self._read(
            ctx,
            "completion/complete",
            lambda engine: resources.completed(engine, template, params.argument.value),
        )
        return mcp.CompleteResult(completion=mcp.Completion(values=values, total=len(values)))

    # The prompt

    async def list_prompts(
        self, ctx: Context, params: mcp.PaginatedRequestParams | None
    ) -> mcp.ListPromptsResult:
        topic = mcp.PromptArgument(name="topic", description=resources.RECALL_TOPIC, required=True)
        recall = mcp.Prompt(
            name=resources.RECALL, title="Recall", description=resources.RECALL_ABOUT,
            arguments=[topic],
        )  # fmt: skip
        return mcp.ListPromptsResult(prompts=[recall])

    async def get_prompt(
        self, ctx: Context, params: mcp.GetPromptRequestParams
    ) -> mcp.GetPromptResult:
        if params.name != resources.RECALL:
            sentence = f"There is no prompt {params.name!r}; there is: {resources.RECALL}."
            raise MCPError(mcp.INVALID_PARAMS, sentence)
        try:
            text = resources.recall(params.arguments or {})
        except RecollectError as error:
            raise MCPError(mcp.INVALID_PARAMS, one_line(error)) from error
        message = mcp.PromptMessage(role="user", content=mcp.TextContent(text=text))
        return mcp.GetPromptResult(description=resources.RECALL_ABOUT, messages=[message])


def answered(answer: ToolAnswer) -> mcp.CallToolResult:
    return mcp.CallToolResult(
        content=[mcp.TextContent(text=answer.text)], structured_content=as_data(answer.structured)
    )


def failed(sentence: str) -> mcp.CallToolResult:
    """An error as the tool's answer: a model may never see the protocol's own errors."""
    return mcp.CallToolResult(content=[mcp.TextContent(text=sentence)], is_error=True)


def one_line(error: RecollectError) -> str:
    return for_tools(" ".join(str(error).split()))


def unexpected(error: Exception) -> str:
    """A sentence for the client, and a line in the log. Neither repeats what the error says, which
    may hold a memory's text."""
    frames = extract_tb(error.__traceback__)
    place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "unknown place"
    kind = type(error).__name__
    log.error("unexpected %s at %s", kind, place)
    return for_tools(
        f"Recollect failed unexpectedly ({kind} at {place}); `recollect doctor` may say more."
    )


class Steps:
    """Tells a client that asked for it how far a call is, from the thread that does the work, and
    ends that work where the call has ended."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._loop = asyncio.get_running_loop()
        self._wanted = (ctx.meta or {}).get("progress_token") is not None
        self._done = 0
        self.ended = False

    def __call__(self, what: str) -> None:
        if self.ended:
            raise Cancelled("The call was cancelled.")
        if self._wanted:
            self._done += 1
            telling = self._ctx.session.report_progress(self._done, message=what)
            asyncio.run_coroutine_threadsafe(telling, self._loop)


# Errors in the words of tools: the engine's sentences name commands, which a model cannot run.
# Command → the tool that does the same.
COMMAND_TOOLS = {
    "list": "memory_list",
    "search": "memory_search",
    "show": "memory_retrieve",
    "history": "memory_retrieve with history=true",
    "save": "memory_save",
    "edit": "memory_update",
    "supersede": "memory_update with superseded_by",
    "forget": "memory_forget",
    "restore": "memory_forget with undo=true",
    "merge": "memory_forget with merge_into",
    "feedback": "memory_feedback",
    "review": "memory_review",
    "context": "memory_context",
}
COMMAND = re.compile(
    r"(?<!command )`recollect (?P<name>\w+)(?P<rest>[^`]*)`|: recollect (?P<last>\w+)(?P<end>.*)$"
)


def for_tools(sentence: str) -> str:
    """The sentence with a tool for each command; a command without one is said to be the user's.
    What was said so already stays."""
    return COMMAND.sub(_named, sentence)


def _named(found: re.Match[str]) -> str:
    name, rest = found["name"] or found["last"], found["rest"] or found["end"] or ""
    start = "" if found["name"] else ": "
    if name in COMMAND_TOOLS and "--from" not in rest:
        undone = " with undo=true" if "--undo" in rest else ""
        return f"{start}{COMMAND_TOOLS[name]}{undone}"
    return f"{start}the user's command `recollect {name}{rest}`"
