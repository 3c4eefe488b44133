"""The interface for mirrors, which keep a vault and a folder equal (see `MirrorType`)."""

from __future__ import annotations

from recollect.checks import existing_folder
from recollect.documents.memory_markdown import (
    BODY,
    ENDING,
    LINK,
    MarkdownEntry,
    ParsedFile,
    as_markdown,
    as_text,
    loose_id,
    note_fields,
    our_fields,
    parse,
    read_bytes,
    walk,
    with_fields,
)
from recollect.errors import NotFound
from recollect.files import remove_leftovers_below, write_whole
from recollect.folders.mirroring import (
    STATE,
    Action,
    Mirrored,
    MirroredVault,
    MirrorStep,
    MirrorType,
)
from recollect.hashing import bytes_digest, content_digest
from recollect.ingest.draft import FIELDS, LONG_SUFFIX, Draft, complete_draft, make_draft, make_id
from recollect.ingest.saving import Saved
from recollect.memory_json import revision

__all__ = (
    "BODY", "ENDING", "FIELDS", "LINK", "LONG_SUFFIX", "STATE", "Action", "Draft",
    "MarkdownEntry", "MirrorStep", "MirrorType", "Mirrored", "MirroredVault", "NotFound",
    "ParsedFile", "Saved", "as_markdown", "as_text", "bytes_digest", "complete_draft",
    "content_digest", "existing_folder", "loose_id", "make_draft", "make_id", "note_fields",
    "our_fields", "parse", "read_bytes", "remove_leftovers_below", "revision", "walk",
    "with_fields", "write_whole",
)  # fmt: skip
