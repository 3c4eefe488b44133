"""Reading a transcript of a coding agent: a turn becomes a memory, or several if it is long.

A transcript grows at its end. Its stored progress tells how far it was read, so that only the rest
is read, with the last turn, which may have continued. It is read in parts, to need little memory
and to lose little work if the process is killed."""

from __future__ import annotations

import os
import struct
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from recollect.documents.chunking import split_document
from recollect.documents.document import Chunk, Document, LeftOut, one_line
from recollect.documents.file_types import MARKDOWN
from recollect.documents.reader import not_opened
from recollect.files import open_regular, project_of
from recollect.folders.file_reading import (
    CleanDraft,
    ReadFile,
    Reading,
    drafts_of,
    first_ids,
    without_secrets,
)
from recollect.folders.scan import FoundFile
from recollect.folders.transcript import NOT_JSON, TOO_LONG, Position, Transcript, Turn, turns
from recollect.hashing import bytes_digest
from recollect.store.folders import StoredFile
from recollect.types import SESSION

# The agent's texts between two prompts are one turn, up to this many characters, and bytes in the
# file including tool results. This much is read again when the turn continues.
LONGEST_TURN = 50_000
LONGEST_PLACE = 1_000_000
PART = 500  # chunks, as in one write transaction
ENDS = 4096  # bytes at both ends that detect a rewritten file
QUESTION = 100  # characters of a question in the heading of its answer
ASKED, ANSWERED = "User: ", "Answer to: "
AGENT = "Agent"
# Reasons for leaving out lines that are reported.
REPORTED = (NOT_JSON, TOO_LONG)
NUMBERS = struct.Struct(">5Q")
MOST_TYPES = 5  # unknown types to report


class Progress(NamedTuple):
    """The progress of reading a transcript: the last turn begins at `offset`, in `line`, after
    `chunks` chunks, and is or answers the prompt before byte `asked` (0 for none); everything
    before `end` was read. Stored as the file's digest, together with a digest of its bytes."""

    offset: int = 0
    line: int = 1
    chunks: int = 0
    asked: int = 0
    end: int = 0

    def digest(self, path: Path) -> bytes:
        return NUMBERS.pack(*self) + _ends(path, self.end)


def progress_of(found: FoundFile, before: StoredFile | None) -> Progress:
    """Return the stored progress if the part that was read is unchanged, else none."""
    if before is None or before.gone or len(before.digest) <= NUMBERS.size:
        return Progress()
    progress = Progress(*NUMBERS.unpack_from(before.digest))
    return progress if progress.digest(found.full) == before.digest else Progress()


def _ends(path: Path, end: int) -> bytes:
    """Return a digest of the first and the last bytes before `end`; empty if the file is
    shorter."""
    stream = open_regular(path)
    if stream is None:
        return b""
    with stream:
        if os.fstat(stream.fileno()).st_size < end:
            return b""
        first = stream.read(min(ENDS, end))
        stream.seek(max(0, end - ENDS))
        return bytes_digest(first + stream.read(min(ENDS, end)))


class _TurnGroup(NamedTuple):
    """A prompt, or all texts of the agent until the next prompt."""

    turns: list[Turn]

    def takes(self, turn: Turn) -> bool:
        first = self.turns[0]
        return (
            first.role == turn.role == "agent"
            and turn.offset - first.offset < LONGEST_PLACE
            and sum(len(each.text) for each in self.turns) + len(turn.text) < LONGEST_TURN
        )


def read_transcript(
    reading: Reading, found: FoundFile, before: StoredFile | None
) -> Iterator[ReadFile]:
    """Yield the file in parts. `before`: its stored state."""
    file = ReadFile(found, time.time_ns())
    try:
        yield from _PartReader(reading, file, progress_of(found, before)).read(before)
    except OSError as error:
        yield file._replace(left_out=not_opened(error))


class _PartReader:
    """Reads one transcript from its stored progress on."""

    def __init__(self, reading: Reading, file: ReadFile, start: Progress) -> None:
        self._reading = reading
        self._file = file
        self._start = start
        self._asked = start.asked
        self._question = ""
        self._chunks: list[Chunk] = []
        self._drafts: list[CleanDraft] = []
        self._redacted: Counter[str] = Counter()
        self._after = start.chunks
        self._part = 0

    def read(self, before: StoredFile | None) -> Iterator[ReadFile]:
        found, start = self._file.found, self._start
        if start.end and found.size == start.end and before is not None:
            yield self._keep(start, before)
            return
        transcript = self._from(Position(start.offset, start.line))
        if start.asked:
            for turn in self._from(Position(start.asked - 1)):
                self._ask(turn)
                break
        last = start
        for group in _groups(transcript):
            last = self._progress_before(group.turns[0])
            if len(self._chunks) >= PART:
                yield self._take_part(last)._replace(more=True)
            self._add(group)
            last = last._replace(asked=self._asked)
        end = transcript.end.offset or found.size
        if start.end and end == start.end and before is not None:
            yield self._keep(start, before)
            return
        file = self._take_part(last._replace(end=end))._replace(notes=_notes(transcript))
        if not (file.chunks or file.after):
            file = file._replace(left_out=LeftOut("empty", "it has no turns"))
        yield file

    def _from(self, position: Position) -> Transcript:
        return turns(self._file.found.full, self._reading.folder.client, position)

    def _progress_before(self, turn: Turn) -> Progress:
        """Return the progress before a turn; none if the transcript is a single document."""
        if not turn.offset:
            return Progress()
        chunks = self._after + len(self._chunks)
        return Progress(turn.offset, turn.line, chunks, self._asked, turn.offset)

    def _keep(self, start: Progress, before: StoredFile) -> ReadFile:
        """Return the unchanged file."""
        why = LeftOut(before.reason) if before.reason else None  # type: ignore[arg-type]
        return self._file._replace(digest=start.digest(self._file.found.full), left_out=why)

    def _take_part(self, progress: Progress) -> ReadFile:
        """Return the chunks since the last part."""
        self._part += 1
        file = self._file._replace(
            digest=progress.digest(self._file.found.full), title="", chunks=self._chunks,
            drafts=self._drafts, redacted=self._redacted, part=self._part, after=self._after,
            ids=first_ids(self._reading.folder, self._file.found.path, self._chunks),
        )  # fmt: skip
        self._after += len(self._chunks)
        self._chunks, self._drafts, self._redacted = [], [], Counter()
        return file

    def _ask(self, turn: Turn) -> None:
        """Store the question for the heading of its answer, without secrets."""
        asked, _ = without_secrets(self._reading, Document(turn.text, MARKDOWN))
        self._question, self._asked = one_line(asked.text)[:QUESTION], turn.offset + 1

    def _add(self, group: _TurnGroup) -> None:
        first = group.turns[0]
        if first.role == "user":
            self._ask(first)
        heading = AGENT
        if self._question:
            heading = (ASKED if first.role == "user" else ANSWERED) + self._question
        document, redacted = without_secrets(
            self._reading, _document(group.turns, self._reading.folder.client)
        )
        self._redacted.update(redacted)
        chunks = [chunk._replace(heading=heading) for chunk in split_document(document).chunks]
        self._chunks += chunks
        self._drafts += drafts_of(self._reading, self._file.found, document, chunks)


def _document(turns: Sequence[Turn], client: str) -> Document:
    """Return turns from several lines of the file as a document, separated by blank lines."""
    first, last = turns[0], turns[-1]
    fields = {
        "kind": SESSION,
        "source": client,
        "project": _project(first.folder),
        "title": f"Session of {first.at:%Y-%m-%d}" if first.at else "Session",
    }
    times = {"created_at": first.at, "updated_at": last.at}
    return Document(
        "\n\n".join(turn.text for turn in turns),
        MARKDOWN,
        fields | {name: at for name, at in times.items() if at is not None},
        # The blank line belongs to the turn before it.
        lines=tuple(turn.line for turn in turns for _ in range(turn.text.count("\n") + 2)),
    )


def _groups(turns: Transcript) -> Iterator[_TurnGroup]:
    group: _TurnGroup | None = None
    for turn in turns:
        if group is not None and group.takes(turn):
            group.turns.append(turn)
            continue
        if group is not None:
            yield group
        group = _TurnGroup([turn])
    if group is not None:
        yield group


@lru_cache(maxsize=1000)  # every turn of a session has its folder
def _project(folder: str) -> str:
    return project_of(Path(folder)) if folder else ""


def _notes(transcript: Transcript) -> tuple[str, ...]:
    """Return notes for the user on lines that were left out."""
    notes = [
        f"lines left out, {reason}: {transcript.skipped[reason]:,}"
        for reason in REPORTED
        if transcript.skipped[reason]
    ]
    if transcript.unknown:
        types = transcript.unknown.most_common(MOST_TYPES)
        named = ", ".join(f"{name} ({count:,})" for name, count in types)
        notes.append(f"lines of an unknown type: {transcript.unknown.total():,}: {named}")
    return tuple(notes)
