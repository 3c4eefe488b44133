"""What the server asks of a client: yes or no from the person behind it, where the client offers
forms, and which project it has open.

Until 2025 a server asks by a request of its own, for which a connection must stay open: stdio does,
stateless HTTP does not. Since 2026 a tool answers with the question, and the client calls it again
with the reply; that works everywhere. Whatever was saved is saved before anybody is asked.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import mcp_types as mcp
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from recollect.interfaces.mcp.calls import ToolAnswer
from recollect.projects import project_of
from recollect.store.base import WriteOutcome

# Clients give up on a call after a minute; the answer must come before that.
PATIENCE_S = 50.0
# What the clients that need `search` and `fetch` have in their names.
CONNECTORS = ("chatgpt", "openai")
REPLY = "replace"
FORM: dict[str, Any] = {
    "type": "object",
    "properties": {REPLY: {"type": "boolean", "title": "Replace it", "default": True}},
    "required": [REPLY],
}
# What the first call did, where the second one is to tell it.
FIRST: dict[str | None, WriteOutcome] = {"added": "added", "updated": "updated"}
# A client has them at hand; one that does not answer is not waited for again.
ROOTS_PATIENCE_S = 2.0


def is_connector(ctx: ServerRequestContext[Any]) -> bool:
    """Return True for a connector of ChatGPT, by its name. A request over HTTP up to 2025-11-25 has
    only a User-Agent."""
    client = ctx.session.client_params
    agent = ctx.request.headers.get("user-agent", "") if ctx.request is not None else ""
    names = f"{client.client_info.name if client else ''} {agent}".lower()
    return any(name in names for name in CONNECTORS)


async def replied(
    ctx: ServerRequestContext[Any], params: mcp.CallToolRequestParams, answer: ToolAnswer
) -> bool | mcp.InputRequiredResult:
    """Whether the person said yes to an answer's question; or the question, for a client that
    calls again with the reply. Nobody who can be asked, no reply and a failure are a no."""
    question = answer.question
    if question is None or not _offers_forms(ctx):
        return False
    form = mcp.ElicitRequest(
        params=mcp.ElicitRequestFormParams(message=question.text, requested_schema=FORM)
    )
    if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        return ctx.session.can_send_request and await _asked(ctx, form)
    if params.input_responses is None:
        outcome = str(answer.structured.get("outcome", ""))
        requests: dict[str, mcp.InputRequest] = {question.about: form}
        return mcp.InputRequiredResult(input_requests=requests, request_state=outcome)
    return _is_yes(params.input_responses.get(question.about))


def resumed(params: mcp.CallToolRequestParams) -> WriteOutcome | None:
    """What the first call did, where this is the second one, with the reply. The client says so,
    and it decides nothing but what the client reads."""
    return None if params.input_responses is None else FIRST.get(params.request_state)


async def _asked(ctx: ServerRequestContext[Any], form: mcp.ElicitRequest) -> bool:
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


def _offers_forms(ctx: ServerRequestContext[Any]) -> bool:
    """A client that names no mode has forms: there was nothing else before 2025-11-25."""
    can = ctx.session.client_capabilities
    modes = can.elicitation if can else None
    return modes is not None and (modes.form is not None or modes.url is None)


class OpenProject:
    """The project that a client has open: that of the first of its roots. Asks the client once,
    where it can be asked; since 2026 there are no roots."""

    def __init__(self) -> None:
        self._asked = False
        self._project: str | None = None

    async def name(self, ctx: ServerRequestContext[Any]) -> str | None:
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
