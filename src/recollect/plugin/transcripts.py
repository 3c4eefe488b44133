"""The interface for transcript readers: a `Transcript` interprets the lines of a file."""

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
