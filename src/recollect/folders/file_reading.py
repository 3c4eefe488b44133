"""Reading files of a folder as documents without secrets, in chunks; and ids for these chunks."""

from __future__ import annotations

import time
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from operator import attrgetter
from typing import NamedTuple

from recollect.documents import file_types
from recollect.documents.chunking import split_document
from recollect.documents.document import Chunk, Document, LeftOut, Reason
from recollect.documents.reader import parse, read_bytes
from recollect.folders import SOURCE as INSTRUCTIONS
from recollect.folders import is_instructions
from recollect.folders.scan import FoundFile
from recollect.hashing import bytes_digest
from recollect.ingest.draft import Draft, complete_draft, hash_letters, make_draft, slug
from recollect.secrets.redaction import Redaction
from recollect.store.folders import Folder, StoredFile
from recollect.store.memory_rows import PreparedMemories
from recollect.store.sqlite.segments import packing
from recollect.types import SESSION

MOST_COMPARED = 100  # old chunks that are compared with a new one
HEADING_AND_TEXT = attrgetter("heading", "text")
SUFFIX = 10  # letters of five bits each
SOURCE = "folder"
# Defaults of fields that a file's front matter may set.
UNSAID: Mapping[str, object] = {
    "tags": (), "domain": "", "severity": None, "valid_from": None, "valid_until": None,
}  # fmt: skip
# A draft without secrets, and how many of each kind it had.
CleanDraft = tuple[Draft, Mapping[str, int]]
FileToRead = tuple[FoundFile, StoredFile | None]  # a file, and what is stored about it
# The reason for a file that can be read once a package is installed.
LACKING: Reason = "needs an extra"


class StoredChunk(NamedTuple):
    """A chunk of a file that is already a memory."""

    memory_id: str
    heading: str
    text: str


def matching_memories(before: Sequence[StoredChunk], after: Sequence[Chunk]) -> list[str | None]:
    """Return the id of the memory of each chunk; None for a new chunk.

    A chunk matches the memory with the same text and heading, even if it has moved; else one with
    the same text; else, in order, one with the same heading; else one of which it has half of the
    lines.
    """
    found: list[str | None] = [None] * len(after)
    left = list(before)
    if not left:
        return found
    for key in (HEADING_AND_TEXT, attrgetter("text"), attrgetter("heading")):
        waiting: dict[object, deque[StoredChunk]] = defaultdict(deque)
        for stored in left:
            waiting[key(stored)].append(stored)
        taken: set[str] = set()
        for place, chunk in enumerate(after):
            if found[place] is None and waiting[key(chunk)]:
                found[place] = waiting[key(chunk)].popleft().memory_id
                taken.add(str(found[place]))
        left = [stored for stored in left if stored.memory_id not in taken]
    for place, chunk in enumerate(after):
        if found[place] is None and (similar := _similar(left, chunk)) is not None:
            found[place] = similar.memory_id
            left.remove(similar)
    return found


def _similar(candidates: Sequence[StoredChunk], chunk: Chunk) -> StoredChunk | None:
    """Return the first candidate of which the chunk has half of the lines or more."""
    lines = set(chunk.text.split("\n"))
    for stored in candidates[:MOST_COMPARED]:
        before = [line for line in stored.text.split("\n") if line.strip()]
        if before and 2 * sum(line in lines for line in before) >= len(before):
            return stored
    return None


def first_ids(folder: Folder, path: str, chunks: Sequence[Chunk]) -> list[str]:
    """Return the first choice of an id for each chunk of a file."""
    return [
        next(new_ids(folder, path, chunk, repeated))
        for chunk, repeated in zip(chunks, repetitions(chunks), strict=True)
    ]


def repetitions(chunks: Sequence[Chunk]) -> list[int]:
    """Return for each chunk how many before it have the same heading and text."""
    seen: Counter[object] = Counter()
    found = []
    for chunk in chunks:
        found.append(seen[HEADING_AND_TEXT(chunk)])
        seen[HEADING_AND_TEXT(chunk)] += 1
    return found


def new_ids(folder: Folder, path: str, chunk: Chunk, repeated: int = 0) -> Iterator[str]:
    """Yield ids for a new chunk, best first, which begin with the path. The same chunk of the same
    file always gets the same id, so that a file that comes back finds its old memories. `repeated`:
    how many chunks before it in the file have the same heading and text."""
    content = "\0".join((folder.path, path, chunk.heading, chunk.text))
    # File names of transcripts are long numbers.
    start = SESSION if folder.client else slug(path) or "file"
    number = repeated
    while True:
        letters = hash_letters(f"{content}\0{number}" if number else content)
        yield f"{start}-{letters[:SUFFIX]}"
        number += 1


class ReadFile(NamedTuple):
    """A file that was read: its state in the file system before reading, the digest of its content,
    and its chunks, each with the draft of its memory and an id if it is new. `title`: None if the
    file is left out or has not changed. `notes`: for the user.

    A transcript is read in parts. `part`: the number of this one; `more`: others follow; `after`:
    the number of chunks in earlier parts."""

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
    """The folder and redaction for reading files. `now`: used for a file with an invalid time."""

    folder: Folder
    redaction: Redaction | None
    now: datetime


def read_files(reading: Reading, files: Sequence[FileToRead]) -> list[ReadFile]:
    """Read files. Each step is done for all files before the next step. Doing all steps file by
    file takes 50 % longer, because of the processor's cache."""
    opened = [_open_file(*file) for file in files]
    parsed = [
        (file, parse(raw, file.found.path) if raw is not None else file.left_out)
        for file, raw in opened
    ]
    read = [_make_drafts(reading, *file) for file in parsed]
    return [
        file._replace(ids=first_ids(reading.folder, file.found.path, file.chunks)) for file in read
    ]


def _open_file(found: FoundFile, before: StoredFile | None) -> tuple[ReadFile, bytes | None]:
    """Return a file, and its bytes if they have changed. `before`: what is stored about it."""
    file = ReadFile(found, time.time_ns())
    raw = read_bytes(found.full, found.path)
    if isinstance(raw, LeftOut):
        return file._replace(left_out=raw), None
    file = file._replace(digest=bytes_digest(raw))
    same = before is not None and not before.gone and before.digest == file.digest
    if before is not None and same and before.reason != LACKING:
        why = LeftOut(before.reason) if before.reason else None  # type: ignore[arg-type]
        return file._replace(left_out=why), None
    return file, raw


def _make_drafts(reading: Reading, file: ReadFile, document: Document | LeftOut | None) -> ReadFile:
    """Add chunks and drafts to a file, if it has a document."""
    if document is None or isinstance(document, LeftOut):
        return file._replace(left_out=document)
    document, redacted = without_secrets(reading, document)
    chunks, notes = split_document(document)
    drafts = drafts_of(reading, file.found, document, chunks)
    return file._replace(
        title=document.title, chunks=chunks, drafts=drafts, notes=notes, redacted=redacted
    )


def without_secrets(reading: Reading, document: Document) -> tuple[Document, Mapping[str, int]]:
    """Return the document without secrets, and how many of each kind it had. This is done before
    splitting, because a secret of several lines cannot be recognized in parts."""
    if reading.redaction is None:
        return document, {}
    text, redacted = reading.redaction.redact_document(document.text)
    return document._replace(text=text), redacted


def drafts_of(
    reading: Reading, found: FoundFile, document: Document, chunks: Sequence[Chunk]
) -> list[CleanDraft]:
    """Return the chunks of a file as drafts without secrets. Their common fields are checked and
    cleaned once."""
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
    named = "context"  # the field for a chunk's headings
    if is_instructions(reading.folder.path):
        # The title of a core memory is its subject; all parts of a file have its path as context.
        named = "title"
        fields |= {"source": INSTRUCTIONS, "context": found.path}
        fields |= {"kind": document.fields.get("kind", "instruction")}
    common, found_in_all = _clean(reading, make_draft(fields))
    common = Draft({**common.fields, **{name: None for name in UNSAID if fields[name] is None}})
    drafts = []
    for chunk in chunks:
        title, heading = document.title, chunk.heading
        about = heading if heading.startswith(title) else f"{title} > {heading}"
        about = about.removesuffix(" > ")
        if named == "title":
            about = about.replace(" > ", " › ") or found.path
        own = make_draft({"text": chunk.text, named: about}, change=True)
        own, redacted = _clean(reading, own, part_of=document.text)
        if found_in_all:
            redacted = Counter(found_in_all) + Counter(redacted)
        drafts.append((Draft({**common.fields, **own.fields}), redacted))
    return drafts


def _clean(reading: Reading, content: Draft, part_of: str | None = None) -> CleanDraft:
    """Clean a draft. The file's text was cleaned as a whole, but not its path, headings and tags;
    and a chunk that begins within a long line may look like a secret."""
    return (
        (content, {})
        if reading.redaction is None
        else reading.redaction.redact_draft(content, part_of)
    )


def ready_made(
    reading: Reading, files: Sequence[FileToRead]
) -> tuple[list[ReadFile], PreparedMemories | None]:
    """Read the files, and prepare what a store needs of their memories if all of them are new."""
    every = read_files(reading, files)
    return every, packing.prepare(
        packing.fields_of(complete_draft(draft, id, None, reading.now))
        for file in every
        for id, (draft, _) in zip(file.ids, file.drafts, strict=True)
    )


def _moment(changed_ns: int, now: datetime) -> datetime:
    """Return the time of the file's last change; `now` if it is invalid."""
    try:
        return datetime.fromtimestamp(changed_ns / 1e9, UTC)
    except (OverflowError, ValueError, OSError):
        return now
