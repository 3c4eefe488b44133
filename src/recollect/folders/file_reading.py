"""Reading one file of a folder: its document without secrets, in chunks."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from recollect.documents.chunking import chunked
from recollect.documents.document import Chunk, Document, LeftOut, Reason
from recollect.documents.reader import SizeLimits, parse, read_bytes
from recollect.folders.report import Synced
from recollect.folders.scan import FoundFile
from recollect.hashing import bytes_digest
from recollect.ingest.draft import Draft
from recollect.store.folders import StoredFile

# The reason of a file that can be read once a package is installed.
LACKING: Reason = "needs an extra"


class Cleaning(NamedTuple):
    """How secrets are replaced: in the text of a file, keeping its lines, and in a draft."""

    text: Callable[[str], tuple[str, Mapping[str, int]]]
    draft: Callable[[Draft], tuple[Draft, Mapping[str, int]]]


class ReadFile(NamedTuple):
    """A file that was read: as the file system described it before, the digest of its content, and
    its chunks. `document` is None where it is left out, or has the same content as before."""

    found: FoundFile
    read_ns: int
    digest: bytes = b""
    document: Document | None = None
    chunks: Sequence[Chunk] = ()
    left_out: LeftOut | None = None


def read_file(
    found: FoundFile,
    before: StoredFile | None,
    cleaning: Cleaning | None,
    limits: SizeLimits,
    report: Synced,
) -> ReadFile:
    """Read a file; `before`: what is known of it."""
    file = ReadFile(found, time.time_ns())
    raw = read_bytes(found.full, found.path, limits)
    if isinstance(raw, LeftOut):
        return file._replace(left_out=raw)
    file = file._replace(digest=bytes_digest(raw))
    same = before is not None and not before.gone and before.digest == file.digest
    if before is not None and same and before.reason != LACKING:
        why = LeftOut(before.reason) if before.reason else None  # type: ignore[arg-type]
        return file._replace(left_out=why)
    document = parse(raw, found.path)
    if isinstance(document, LeftOut):
        return file._replace(left_out=document)
    if cleaning is not None:
        # Before the text is split: a secret of several lines may end up in several chunks, and none
        # of them would show what it is.
        text, redacted = cleaning.text(document.text)
        report.redacted.update(redacted)
        document = document._replace(text=text)
    chunks, notes = chunked(document)
    for note in notes:
        report.note(found.path, note)
    return file._replace(document=document, chunks=chunks)
