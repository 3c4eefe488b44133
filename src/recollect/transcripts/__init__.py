"""The sessions of coding agents as their clients keep them: one file a client, each a `Transcript`.

Cursor and OpenCode keep theirs in databases, which are not read.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

from recollect.errors import UserError
from recollect.transcripts.base import BEGIN, Position, Transcript

# Each is a module of that name; only the one that is used is imported. The class, and the folders
# that hold the transcripts, as `interfaces.setup.clients` writes paths.
CLIENTS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "claude-code": ("ClaudeCodeTranscript", ("{claude}/projects",)),
    "codex": ("CodexTranscript", ("{codex}/sessions", "{codex}/archived_sessions")),
    "gemini-cli": ("GeminiCliTranscript", ("{home}/.gemini/tmp",)),
    "copilot-cli": ("CopilotCliTranscript", ("{copilot}/session-state",)),
}


def transcript_type(client: str) -> type[Transcript]:
    """The class that reads the client's transcripts."""
    if client not in CLIENTS:
        raise UserError(
            f"The transcripts of {client!r} cannot be read; those of these clients can: "
            f"{', '.join(CLIENTS)}."
        )
    module = import_module(f"recollect.transcripts.{client.replace('-', '_')}")
    found: type[Transcript] = getattr(module, CLIENTS[client][0])
    return found


def turns(path: Path, client: str, start: Position = BEGIN) -> Transcript:
    """The turns of a transcript, to iterate over; its `skipped`, `unknown` and `end` are known
    afterwards."""
    return transcript_type(client)(path, start)
