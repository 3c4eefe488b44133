"""Gemini CLI: `tmp/*/chats/session-*.jsonl` in ~/.gemini; older versions wrote one JSON document.

Source: packages/core/src/services/chatRecordingService.ts of
https://github.com/google-gemini/gemini-cli (August 2026). A message is written again whenever
something is added to it, and lines without a type are about the session. The working directory is
in `.project_root` next to `chats`.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from recollect.plugin.transcripts import (
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

ADDED = ("hook_context", "session_context")
COMMANDS = ("/", "?")
ABOUT = ("sessionId", "projectHash", "$set", "$rewindTo")
OTHER_TYPES = ("info", "error", "warning")
ROOT = ".project_root"
# Recent messages, to recognize those that are written again.
REMEMBERED = 1_000
# A document is read as a whole: with the output of tools, a long session is some MB.
LARGEST_DOCUMENT = 50_000_000


class GeminiCliTranscript(Transcript):
    kept_in = "{home}/.gemini/tmp"
    files = re.compile(r"(.*/)?session-[^/]*\.jsonl?")
    subagent = False

    def __init__(self, path: Path, start: Position = BEGIN) -> None:
        super().__init__(path, start)
        self._said: OrderedDict[tuple[str, str], None] = OrderedDict()
        self.folder = _root(path.parent.parent / ROOT)

    def message(self, record: Mapping[str, Any]) -> Message | None:
        type = text_of(record, "type")
        if not type and any(name in record for name in ABOUT):
            about = mapping(record.get("$set", record))
            self.session = text_of(about, "sessionId") or self.session
            self.subagent = about.get("kind", "subagent" if self.subagent else "") == "subagent"
            return self.skip(OTHER)
        if type in OTHER_TYPES:
            return self.skip(OTHER)
        if type not in ("user", "gemini"):
            return self.skip_unknown(type)
        if self.subagent:
            return self.skip(SUBAGENT)
        return self._read_text(record, type)

    def _read_text(self, record: Mapping[str, Any], type: str) -> Message | None:
        text = texts(record.get("displayContent") or record.get("content"))
        if not text:
            return self.skip(TOOL)
        if type == "user":
            text = without_blocks(text, *ADDED).strip()
            if not text or text.startswith(COMMANDS):
                return self.skip(INJECTED)
        key = (str(record.get("id")), text)
        if key in self._said:
            return self.skip(OTHER)
        self._said[key] = None
        if len(self._said) > REMEMBERED:
            self._said.popitem(last=False)
        return ("user" if type == "user" else "agent"), text

    def _turns(self, stream: BinaryIO) -> Iterator[Turn]:
        if self.path.suffix == ".json":
            return self._document(stream)
        return super()._turns(stream)

    def _document(self, stream: BinaryIO) -> Iterator[Turn]:
        """Yield the turns of one JSON document, at the lines of their ids."""
        stream.seek(0)
        raw = stream.read(LARGEST_DOCUMENT + 1)
        if len(raw) > LARGEST_DOCUMENT:
            self.skip(TOO_LONG)
            return
        try:
            record = mapping(msgspec.json.decode(raw))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            self.skip(NOT_JSON)
            return
        self.message({name: record[name] for name in record if name != "messages"})
        messages = record.get("messages")
        place = line = 0
        for message in messages if isinstance(messages, list) else ():
            found = raw.find(msgspec.json.encode(mapping(message).get("id")), place)
            if found >= 0:
                line, place = line + raw.count(b"\n", place, found), found
            turn = self._turn(mapping(message), Position(0, line + 1))
            if turn is not None:
                yield turn


def _root(file: Path) -> str:
    try:
        return file.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""
