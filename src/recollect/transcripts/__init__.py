"""The sessions of coding agents as their clients keep them: one file a client, each a `Transcript`.

Cursor and OpenCode keep theirs in databases, which are not read.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from recollect.errors import UserError
from recollect.transcripts.base import BEGIN, Position, Transcript


class TranscriptClient(NamedTuple):
    """A client: the class that reads its transcripts, and the folder that holds them, as
    `interfaces.setup.clients` writes paths."""

    reader: str
    folder: str


# Each is a module of that name; only the one that is used is imported.
CLIENTS: Mapping[str, TranscriptClient] = {
    "claude-code": TranscriptClient("ClaudeCodeTranscript", "{claude}/projects"),
    "codex": TranscriptClient("CodexTranscript", "{codex}/sessions"),
    "gemini-cli": TranscriptClient("GeminiCliTranscript", "{home}/.gemini/tmp"),
    "copilot-cli": TranscriptClient("CopilotCliTranscript", "{copilot}/session-state"),
}


def transcript_type(client: str) -> type[Transcript]:
    """The class that reads the client's transcripts."""
    if client not in CLIENTS:
        raise UserError(
            f"The transcripts of {client!r} cannot be read; those of these clients can: "
            f"{', '.join(CLIENTS)}."
        )
    module = import_module(f"recollect.transcripts.{client.replace('-', '_')}")
    found: type[Transcript] = getattr(module, CLIENTS[client].reader)
    return found


def turns(path: Path, client: str, start: Position = BEGIN) -> Transcript:
    """The turns of a transcript, to iterate over; its `skipped`, `unknown` and `end` are known
    afterwards."""
    return transcript_type(client)(path, start)
