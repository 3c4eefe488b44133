"""Reading one file of a folder: its document without secrets, in chunks."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from recollect.documents import file_types
from recollect.documents.chunking import chunked
from recollect.documents.document import Chunk, Document, LeftOut, Reason
from recollect.documents.reader import SizeLimits, parse, read_bytes
from recollect.folders.chunk_matching import first_ids
from recollect.folders.instructions import SOURCE as INSTRUCTIONS
from recollect.folders.instructions import is_instructions
from recollect.folders.scan import FoundFile
from recollect.hashing import bytes_digest
from recollect.ingest.draft import Draft, complete, draft
from recollect.secrets.redaction import Redaction
from recollect.store.folders import Folder, StoredFile
from recollect.store.prepared import PreparedMemories

SOURCE = "folder"
# Fields that a file's front matter may give, and what they are where it does not.
UNSAID: Mapping[str, object] = {
    "tags": (), "domain": "", "severity": None, "valid_from": None, "valid_until": None,
}  # fmt: skip
# A draft without its secrets, and how many of each kind it had.
CleanDraft = tuple[Draft, Mapping[str, int]]
FileToRead = tuple[FoundFile, StoredFile | None]  # and what is known of it
# The reason of a file that can be read once a package is installed.
LACKING: Reason = "needs an extra"


class ReadFile(NamedTuple):
    """A file that was read: as the file system described it before, the digest of its content, and
    its chunks, each with the draft of its memory and the id it gets if it is new. `title` is None
    where it is left out, or has the same content as before. `notes`: what a person should know.

    A transcript is read in parts, `part` by part; `more` follow. The chunks of each come after the
    first `after` chunks of the file."""

    found: FoundFile
    read_ns: int
    digest: bytes = b""
    title: str | None = None
    chunks: Sequence[Chunk] = ()
    drafts: Sequence[CleanDraft] = ()
    ids: Sequence[str] = ()
    left_out: LeftOut | None = None
    notes: Sequence[str] = ()
    redacted: Mapping[str, int] | None = None
    part: int = 1
    more: bool = False
    after: int = 0


class Reading(NamedTuple):
    """How the files of a folder are read. `now`: for a file whose time no calendar has."""

    folder: Folder
    redaction: Redaction | None
    limits: SizeLimits
    now: datetime


def read_files(reading: Reading, files: Sequence[FileToRead]) -> list[ReadFile]:
    """Read files. Each step is taken with all of them: file by file it takes half as long again,
    since hardly anything of one step is still in the processor's cache when the next file comes."""
    opened = [_opened(reading, *file) for file in files]
    parsed = [
        (file, parse(raw, file.found.path) if raw is not None else file.left_out)
        for file, raw in opened
    ]
    read = [_read(reading, *file) for file in parsed]
    return [
        file._replace(ids=first_ids(reading.folder, file.found.path, file.chunks)) for file in read
    ]


def _opened(
    reading: Reading, found: FoundFile, before: StoredFile | None
) -> tuple[ReadFile, bytes | None]:
    """A file, and its bytes if they have to be read; `before`: what is known of it."""
    file = ReadFile(found, time.time_ns())
    raw = read_bytes(found.full, found.path, reading.limits)
    if isinstance(raw, LeftOut):
        return file._replace(left_out=raw), None
    file = file._replace(digest=bytes_digest(raw))
    same = before is not None and not before.gone and before.digest == file.digest
    if before is not None and same and before.reason != LACKING:
        why = LeftOut(before.reason) if before.reason else None  # type: ignore[arg-type]
        return file._replace(left_out=why), None
    return file, raw


def _read(reading: Reading, file: ReadFile, document: Document | LeftOut | None) -> ReadFile:
    """A file with what it says, if anything has to be read."""
    if document is None or isinstance(document, LeftOut):
        return file._replace(left_out=document)
    document, redacted = without_secrets(reading, document)
    chunks, notes = chunked(document)
    drafts = drafts_of(reading, file.found, document, chunks)
    return file._replace(
        title=document.title, chunks=chunks, drafts=drafts, notes=notes, redacted=redacted
    )


def without_secrets(reading: Reading, document: Document) -> tuple[Document, Mapping[str, int]]:
    """The document without its secrets, and how many of each kind it had. Before the text is split:
    a secret of several lines may end up in several chunks, and none of them would show what it is.
    """
    if reading.redaction is None:
        return document, {}
    text, redacted = reading.redaction.of_document(document.text)
    return document._replace(text=text), redacted


def drafts_of(
    reading: Reading, found: FoundFile, document: Document, chunks: Sequence[Chunk]
) -> list[CleanDraft]:
    """What the chunks of a file say as memories, without their secrets. What all of them have in
    common is checked and cleaned once."""
    changed = _moment(found.changed_ns, reading.now)
    fields: dict[str, object] = {
        **UNSAID,
        "kind": "code" if document.file_type in file_types.CODE else "document",
        "project": reading.folder.project,
        "source": SOURCE,
        "created_at": changed,
        "updated_at": changed,
        "title": found.path,
        **document.fields,
        "path": str(found.full),
    }
    named = "context"  # what tells of what a chunk is about
    if is_instructions(reading.folder.path):
        # A core memory is called what it is about. All parts of a file have the file's path.
        named = "title"
        fields |= {"source": INSTRUCTIONS, "context": found.path}
        fields |= {"kind": document.fields.get("kind", "instruction")}
    common, found_in_all = _clean(reading, draft(fields))
    common = Draft({**common.fields, **{name: None for name in UNSAID if fields[name] is None}})
    drafts = []
    for chunk in chunks:
        about = _about(document.title, chunk.heading)
        if named == "title":
            about = about.replace(" > ", " › ") or found.path
        own = draft({"text": chunk.text, named: about}, change=True)
        own, redacted = _clean(reading, own, part_of=document.text)
        if found_in_all:
            redacted = Counter(found_in_all) + Counter(redacted)
        drafts.append((Draft({**common.fields, **own.fields}), redacted))
    return drafts


def _about(title: str, heading: str) -> str:
    whole = heading if heading.startswith(title) else f"{title} > {heading}"
    return whole.removesuffix(" > ")


def _clean(reading: Reading, content: Draft, part_of: str | None = None) -> CleanDraft:
    """The file's text was cleaned as a whole. Its path, headings and tags were not, and a chunk
    that begins within a long line may look like a secret that the line did not."""
    return (
        (content, {}) if reading.redaction is None else reading.redaction.of_draft(content, part_of)
    )


def ready_made(
    reading: Reading, prepare: bool, files: Sequence[FileToRead]
) -> tuple[list[ReadFile], PreparedMemories | None]:
    """The files, and what a store needs of their memories if all of them are new."""
    every = read_files(reading, files)
    if not prepare:
        return every, None
    from recollect.store.sqlite.segments import packing  # noqa: PLC0415  start-up time: numpy

    return every, packing.prepared(
        packing.fields_of(complete(draft, id, None, reading.now))
        for file in every
        for id, (draft, _) in zip(file.ids, file.drafts, strict=True)
    )


def _moment(changed_ns: int, now: datetime) -> datetime:
    """When the file was changed; now for a time that no calendar has."""
    try:
        return datetime.fromtimestamp(changed_ns / 1e9, UTC)
    except (OverflowError, ValueError, OSError):
        return now
