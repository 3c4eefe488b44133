"""The project that a client has open: that of the first of its roots.

Until 2025 a server asks for them by a request of its own, for which a connection must stay open, as
stdio's does. Later revisions have no roots.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import mcp_types as mcp
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from recollect.projects import project_of

# A client has them at hand; one that does not answer is not waited for again.
PATIENCE_S = 2.0


class OpenProject:
    """Asks the client once, where it can be asked."""

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
                mcp.ListRootsRequest(), mcp.ListRootsResult, request_read_timeout_seconds=PATIENCE_S
            )
        except (MCPError, ValidationError):
            return None
        if found.roots:
            self._project = (
                project_of(Path(unquote(urlsplit(str(found.roots[0].uri)).path))) or None
            )
        return self._project
