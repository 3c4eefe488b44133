"""What a reader of transcripts may use: its `Transcript` says what a line of a file means."""

from __future__ import annotations

from recollect.folders.transcript import (
    BEGIN,
    INJECTED,
    NOT_JSON,
    OTHER,
    SUBAGENT,
    TOO_LONG,
    TOOL,
    Message,
    Position,
    Transcript,
    Turn,
    mapping,
    text_of,
    texts,
    without_blocks,
)

__all__ = (
    "BEGIN", "INJECTED", "NOT_JSON", "OTHER", "SUBAGENT", "TOOL", "TOO_LONG", "Message", "Position",
    "Transcript", "Turn", "mapping", "text_of", "texts", "without_blocks",
)  # fmt: skip
