"""The user's own words at a hook: the prompt of an event, and what the transcript has of others.

The transcript is read for every client that keeps one: for those without a hook at a prompt, and
for what a hook at a prompt was too late to keep, or could not since the vault was locked.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.engine import Recollect
from recollect.ingest.remarks import is_triggered
from recollect.interfaces.hooks.protocols import AgentEvent
from recollect.interfaces.hooks.sessions import HookSession

if TYPE_CHECKING:
    from recollect.engine.capture import AgentSession

# Longer transcripts are not read to count their lines.
LARGEST_COUNTED = 20_000_000
# What is read at one event: some ten milliseconds. What is behind that, the next event reads.
MOST_READ = 8_000_000


def capture_said(memory: Recollect, asked: AgentEvent, session: HookSession) -> None:
    """Capture what the user said: at a prompt that prompt, after a turn, before a summary and at
    the end what is new in the transcript. How far that is, the session knows only once it is
    captured."""
    if not memory.settings.capture.enabled:
        return
    transcript = asked.text("transcript")
    if asked.event.moment == "prompt":
        if not _can_wait(asked) and is_triggered(asked.text("prompt")):
            _capture_prompt(memory, asked, place_at_end(transcript, 1))
    elif asked.event.moment != "start" and transcript and _is_ours(transcript):
        _capture_new(memory, asked, session, transcript)


def _can_wait(asked: AgentEvent) -> bool:
    """Whether the transcript is read when the turn has finished: the user would wait for it now."""
    stops = any(event.moment == "stop" for event in asked.protocol.events)
    return stops and bool(asked.text("transcript"))


def _capture_prompt(memory: Recollect, asked: AgentEvent, place: str) -> None:
    from recollect.engine.capture import UserTurn  # noqa: PLC0415  start-up time

    memory.capture([UserTurn(asked.text("prompt"), place)], _said_in(asked), late=True)


def _capture_new(
    memory: Recollect, asked: AgentEvent, session: HookSession, transcript: str
) -> None:
    from recollect.engine.capture import UserTurn  # noqa: PLC0415  start-up time
    from recollect.folders.transcript import BEGIN, Position, transcript_clients, turns  # noqa: PLC0415  start-up time

    if asked.protocol.client not in transcript_clients():
        return
    if session.read[0] > Path(transcript).stat().st_size:
        session.read = BEGIN  # it was written anew
    read = turns(Path(transcript), asked.protocol.client, Position(*session.read))
    read.most = MOST_READ
    typed = [
        UserTurn(turn.text, f"{transcript}:{turn.line}", turn.at)
        for turn in read
        if turn.role == "user"
    ]
    memory.capture(typed, _said_in(asked))
    session.read = (read.end.offset, read.end.line)


def _said_in(asked: AgentEvent) -> AgentSession:
    from recollect.engine.capture import AgentSession  # noqa: PLC0415  start-up time

    return AgentSession(asked.protocol.client, asked.text("session"), asked.project)


def _is_ours(transcript: str) -> bool:
    """Whether the file is there, and belongs to whoever runs this: an event may name any."""
    try:
        owner = Path(transcript).stat().st_uid
    except (FileNotFoundError, ValueError):
        return False
    if hasattr(os, "getuid") and owner != os.getuid():
        raise PermissionError(f"{transcript} belongs to another user.")
    return True


def place_at_end(transcript: str, more: int = 0) -> str:
    """The transcript, and the line that it has come to where that is quickly counted; `more` is
    added to it."""
    if not transcript:
        return ""
    try:
        with Path(transcript).open("rb") as stream:
            read = stream.read(LARGEST_COUNTED + 1)
    except (OSError, ValueError):
        return transcript
    if len(read) > LARGEST_COUNTED:
        return transcript
    return f"{transcript}:{read.count(10) + more}"
