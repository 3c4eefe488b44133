"""The MCP server: tools, resources and a prompt on the SDK's low-level server.

The low-level server, because it sends schemas and answers exactly as they are declared here. Calls
of the engine block, so each runs in a thread of its pool.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

import mcp_types as mcp
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from recollect.auth.capabilities import SEARCH
from recollect.engine import Recollect
from recollect.errors import Cancelled, Forbidden, NotFound, RecollectError
from recollect.files import project_of
from recollect.interfaces.mcp import resources
from recollect.interfaces.mcp.arguments import input_schema
from recollect.interfaces.mcp.calls import Served, ToolAnswer, ToolSet
from recollect.interfaces.mcp.texts import error_sentence, log_unexpected
from recollect.interfaces.mcp.tools import BY_NAME, call, list_tools
from recollect.interfaces.thread_pools import READS, ThreadPools
from recollect.present.sentences import as_data
from recollect.store.base import WriteOutcome
from recollect.version import __version__

LONGEST_NAME = 100  # characters of a client's name and version that history keeps
RESOURCE_NOT_FOUND = -32002  # up to revision 2025-11-25; later ones use INVALID_PARAMS
OPENING = ("initialize", "server/discover")
TOOL_SETS = ("default", "all")  # that a user can choose
# The lists do not change while the server runs.
LISTS = CacheHint(ttl_ms=3_600_000, scope="private")

Context = ServerRequestContext[Any]
Given = TypeVar("Given")


def build(
    engine_of: Callable[[Context], Recollect],
    project: str | None = None,
    *,
    tools: ToolSet = "default",
    pools: ThreadPools | None = None,
) -> Server[Any]:
    """Make the server.

    `engine_of`: returns the engine with the rights of a message's sender. If it raises
    RecollectError, the server still runs, and each tool answers with the error.
    `project`: the default project of calls.
    `tools`: the set of listed tools; over HTTP, `?tools=all` in the address lists all.
    `pools`: the threads of the surrounding server; by default it has its own."""
    handlers = Handlers(engine_of, project, tools, pools)
    server: Server[Any] = Server(
        "recollect",
        version=__version__,
        title="Recollect",
        description="Local memory search for AI agents.",
        instructions=resources.INSTRUCTIONS,
        cache_hints={
            "tools/list": LISTS,
            "prompts/list": LISTS,
            "resources/templates/list": LISTS,
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
        """Close the threads at the end, without waiting for running calls."""
        try:
            yield
        finally:
            if self._own_pools:
                self._pools.close()

    async def instruct(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Add instructions for this caller and vault to the reply that opens a connection."""
        result = await call_next(ctx)
        if ctx.method not in OPENING or not isinstance(result, dict):
            return result
        try:
            made = partial(resources.instructions, self._engine_of(ctx), self._project)
        except RecollectError:  # keep the general rules; the tools report the error
            return result
        return result | {"instructions": await self._pools.run(READS, made)}

    async def _read(self, ctx: Context, action: str, work: Callable[[Recollect], Given]) -> Given:
        """Run `work` with the caller's engine and raise errors as MCPError. A caller without access
        is refused before learning whether something exists."""

        def run() -> Given:
            engine = self._engine_of(ctx)
            engine.require(SEARCH, action=action, anywhere=True)
            return work(engine)

        try:
            return await self._pools.run(READS, run)
        except NotFound as error:
            modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
            code = mcp.INVALID_PARAMS if modern else RESOURCE_NOT_FOUND
            raise MCPError(code, error_sentence(error)) from error
        except Forbidden as error:
            raise MCPError(mcp.INVALID_REQUEST, error_sentence(error)) from error
        except RecollectError as error:
            raise MCPError(mcp.INTERNAL_ERROR, error_sentence(error)) from error
        except Exception as error:
            raise MCPError(mcp.INTERNAL_ERROR, log_unexpected(error)) from error

    # Tools

    async def list_tools(
        self, ctx: Context, params: mcp.PaginatedRequestParams | None
    ) -> mcp.ListToolsResult:
        try:
            engine = self._engine_of(ctx)
        except RecollectError:  # each tool reports it when called
            engine = None
        listed = list_tools(engine, self._project, self._tool_sets(ctx))
        return mcp.ListToolsResult.model_validate({"tools": listed})

    def _tool_sets(self, ctx: Context) -> tuple[str, ...]:
        """Return the sets of tools to list, by the server's option, its address and the client."""
        chosen = self._tools
        if ctx.request is not None:
            chosen = ctx.request.query_params.get("tools", chosen)
        if chosen not in TOOL_SETS:
            allowed = ", ".join(TOOL_SETS)
            raise MCPError(
                mcp.INVALID_PARAMS, f"tools cannot be {chosen!r}; allowed are: {allowed}."
            )
        return (chosen, "connector") if is_connector(ctx) else (chosen,)

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
        tool, progress, program = BY_NAME[params.name], CallProgress(ctx), ""
        if (client := ctx.session.client_params) is not None:
            program = f"{client.client_info.name} {client.client_info.version}"[:LONGEST_NAME]
        try:
            engine = self._engine_of(ctx)
            engine = engine.acting_as(engine.caller, "mcp" if program else None, program, progress)
            served = Served(engine, self._project, resumed=first_outcome(params))
            if served.project is None and params.name == "memory_search":
                served = served._replace(open_project=await self._open_project.name(ctx))
            work = partial(call, served, params.name, params.arguments or {})
            engine.require(*tool.needs, action=tool.name, anywhere=tool.anywhere)
            answer = await self._pools.run(tool.pool, work)
            reply = await ask_user(ctx, params, answer)
            if isinstance(reply, mcp.InputRequiredResult):
                return reply
            if reply and answer.question is not None:
                with suppress(RecollectError):  # the first answer holds in any case
                    answer = await self._pools.run(tool.pool, answer.question.yes)
            return mcp.CallToolResult(
                content=[mcp.TextContent(text=answer.text)],
                structured_content=as_data(answer.structured),
            )
        except RecollectError as error:
            return error_result(error_sentence(error))
        except Exception as error:
            return error_result(log_unexpected(error))
        finally:
            progress.ended = True  # if the caller has cancelled, a thread is still running

    # Resources

    async def list_resources(
        self, ctx: Context, params: mcp.PaginatedRequestParams | None
    ) -> mcp.ListResourcesResult:
        found = await self._read(ctx, "resources/list", resources.list_resources)
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
            lambda engine: resources.complete(engine, template, params.argument.value),
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
            raise MCPError(mcp.INVALID_PARAMS, error_sentence(error)) from error
        message = mcp.PromptMessage(role="user", content=mcp.TextContent(text=text))
        return mcp.GetPromptResult(description=resources.RECALL_ABOUT, messages=[message])


def error_result(sentence: str) -> mcp.CallToolResult:
    """Return an error as the tool's answer, because clients may hide protocol errors from
    models."""
    return mcp.CallToolResult(content=[mcp.TextContent(text=sentence)], is_error=True)


class CallProgress:
    """Reports the progress of a call to a client that wants it, from the thread that runs the call,
    and stops that thread once the call has ended."""

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
            report = self._ctx.session.report_progress(self._done, message=what)
            asyncio.run_coroutine_threadsafe(report, self._loop)


# Questions to the client: yes or no from its user, if it offers forms, and the open project. Until
# 2025 a server sends its own request, for which a connection must stay open: on stdio it does, with
# stateless HTTP it does not. Since 2026 a tool answers with the question, and the client repeats
# the call with the reply, which always works. Memories are saved before the question.

PATIENCE_S = 50.0  # clients give up on a call after a minute
# Parts of the names of clients that need `search` and `fetch`.
CONNECTORS = ("chatgpt", "openai")
REPLY = "replace"
FORM: dict[str, Any] = {
    "type": "object",
    "properties": {REPLY: {"type": "boolean", "title": "Replace it", "default": True}},
    "required": [REPLY],
}
# Outcomes of the first call that the second one repeats.
FIRST: dict[str | None, WriteOutcome] = {"added": "added", "updated": "updated"}
ROOTS_PATIENCE_S = 2.0  # a client that does not answer is not asked again


def is_connector(ctx: Context) -> bool:
    """Return True for a connector of ChatGPT, by its name. An HTTP request of a protocol up to
    2025-11-25 has only a User-Agent."""
    client = ctx.session.client_params
    agent = ctx.request.headers.get("user-agent", "") if ctx.request is not None else ""
    names = f"{client.client_info.name if client else ''} {agent}".lower()
    return any(name in names for name in CONNECTORS)


async def ask_user(
    ctx: Context, params: mcp.CallToolRequestParams, answer: ToolAnswer
) -> bool | mcp.InputRequiredResult:
    """Ask the answer's question and return True for yes; or return the question, if the client will
    repeat the call with the reply. No question, no reply and a failure count as no."""
    question = answer.question
    if question is None or not _offers_forms(ctx):
        return False
    form = mcp.ElicitRequest(
        params=mcp.ElicitRequestFormParams(message=question.text, requested_schema=FORM)
    )
    if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        return ctx.session.can_send_request and await _send_form(ctx, form)
    if params.input_responses is None:
        outcome = str(answer.structured.get("outcome", ""))
        requests: dict[str, mcp.InputRequest] = {question.about: form}
        return mcp.InputRequiredResult(input_requests=requests, request_state=outcome)
    return _is_yes(params.input_responses.get(question.about))


def first_outcome(params: mcp.CallToolRequestParams) -> WriteOutcome | None:
    """Return the outcome of the first call if this is the second one, with the reply. It comes from
    the client and only affects the text of the answer."""
    return None if params.input_responses is None else FIRST.get(params.request_state)


async def _send_form(ctx: Context, form: mcp.ElicitRequest) -> bool:
    try:
        reply = await ctx.session.send_request(
            form,
            mcp.ElicitResult,
            request_read_timeout_seconds=PATIENCE_S,
            metadata=ServerMessageMetadata(related_request_id=ctx.request_id),
        )
    except (MCPError, ValidationError):
        return False
    return _is_yes(reply)


def _is_yes(reply: object) -> bool:
    if not isinstance(reply, mcp.ElicitResult) or reply.action != "accept":
        return False
    return (reply.content or {}).get(REPLY, True) is True


def _offers_forms(ctx: Context) -> bool:
    """Return True if the client can show forms. Before 2025-11-25 there was no other mode to
    name."""
    can = ctx.session.client_capabilities
    modes = can.elicitation if can else None
    return modes is not None and (modes.form is not None or modes.url is None)


class OpenProject:
    """The project that a client has open, by the first of its roots. The client is asked once;
    since 2026 the protocol has no roots."""

    def __init__(self) -> None:
        self._asked = False
        self._project: str | None = None

    async def name(self, ctx: Context) -> str | None:
        can = ctx.session.client_capabilities
        if self._asked or ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return self._project
        if can is None or can.roots is None or not ctx.session.can_send_request:
            return None
        self._asked = True
        try:
            found = await ctx.session.send_request(
                mcp.ListRootsRequest(),
                mcp.ListRootsResult,
                request_read_timeout_seconds=ROOTS_PATIENCE_S,
            )
        except (MCPError, ValidationError):
            return None
        if found.roots:
            self._project = (
                project_of(Path(unquote(urlsplit(str(found.roots[0].uri)).path))) or None
            )
        return self._project
