"""The interface for importers: an `Importer` names a tool and reads its memories."""

from __future__ import annotations

from recollect.checks import existing_folder, is_text
from recollect.documents.markdown import CODE_SPAN, TAG, fence_after, memory_fields, split, tag_list
from recollect.documents.memory_markdown import (
    LINK,
    ParsedFile,
    as_text,
    note_fields,
    our_fields,
    parse,
    read_bytes,
    walk,
)
from recollect.documents.reader import structure
from recollect.hashing import content_digest
from recollect.ingest.draft import CHOICES, DEFAULTS, hash_letters, slug
from recollect.ingest.exchange import ImportedRecord, Importer, refuse_record
from recollect.times import EPOCH, from_micros, iso, parse_time
from recollect.types import TIMES

__all__ = (
    "CHOICES", "CODE_SPAN", "DEFAULTS", "EPOCH", "LINK", "TAG", "TIMES", "ImportedRecord",
    "Importer", "ParsedFile", "as_text", "content_digest", "existing_folder", "fence_after",
    "from_micros", "hash_letters", "is_text", "iso", "memory_fields", "note_fields", "our_fields",
    "parse", "parse_time", "read_bytes", "refuse_record", "slug", "split", "structure", "tag_list",
    "walk",
)  # fmt: skip
