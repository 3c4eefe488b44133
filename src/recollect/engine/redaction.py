"""What looks like a secret is replaced before anything of it is written or sent to a model."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from recollect.checks import clean_query
from recollect.hashing import content_digest
from recollect.ingest.draft import Draft
from recollect.settings import Secrets
from recollect.types import Memory
from recollect.version import __version__

if TYPE_CHECKING:
    from recollect.folders.file_reading import Cleaning
    from recollect.secrets.redaction import SecretPatterns
    from recollect.store.folders import Folder


# Where a secret may stand in a memory, beside its tags.
TEXTS = (
    "title", "text", "context", "why", "impact", "details", "kind", "domain", "project", "source",
    "space", "path",
)  # fmt: skip


class Redaction:
    """Redaction as the settings want it; the patterns are compiled when first needed."""

    def __init__(self, settings: Secrets) -> None:
        self._settings = settings

    def __reduce__(self) -> tuple[type[Redaction], tuple[Secrets]]:
        """Another process compiles the patterns itself."""
        return Redaction, (self._settings,)

    @cached_property
    def _patterns(self) -> SecretPatterns:
        from recollect.secrets.redaction import SecretPatterns  # noqa: PLC0415  start-up time

        return SecretPatterns(self._settings.patterns)

    def of_draft(
        self, draft: Draft, part_of: str | None = None, *, redact: bool = True
    ) -> tuple[Draft, Mapping[str, int]]:
        """The draft without its secrets, and how many of each kind it had. Every way in goes
        through here. `part_of`: a text that holds every line of the draft's own."""
        if not (redact and self._settings.redact):
            return draft, {}
        from recollect.secrets.redaction import redact_draft  # noqa: PLC0415  start-up time

        return redact_draft(draft, self._patterns, part_of)

    def suspect_pieces(self, pieces: Sequence[str]) -> Collection[int]:
        """The numbers of those pieces, which have no blank in them, that may be of a secret. Where
        a draft has none of them, `of_draft` changes nothing."""
        return self._patterns.suspect_pieces(pieces) if self._settings.redact else ()

    def of_memory(self, memory: Memory) -> tuple[Mapping[str, Any], Mapping[str, int]]:
        """The fields of a memory that hold secrets, without them, and how many of each kind there
        are."""
        fields = {name: getattr(memory, name) for name in (*TEXTS, "tags")}
        clean, found = self.of_draft(Draft(fields))
        changed = {name: new for name, new in clean.fields.items() if new != fields[name]}
        return changed, found

    @cached_property
    def rules(self) -> str:
        """A name for the rules, another one when they change."""
        custom = sorted(self._settings.patterns.items())
        return content_digest(repr([__version__, self._patterns.names, custom]), 8).hex()

    def of_query(self, query: str) -> str:
        """A query as feedback keeps it: without secrets."""
        text = clean_query(query)
        if not self._settings.redact:
            return text
        from recollect.secrets.redaction import redacted  # noqa: PLC0415  start-up time

        return redacted(text, self._patterns)[0]

    def of_folder(self, folder: Folder) -> Cleaning | None:
        """How the texts and drafts of a folder's files are redacted; None where they are not."""
        if not (folder.redact and self._settings.redact):
            return None
        from recollect.folders.file_reading import Cleaning  # noqa: PLC0415  start-up time

        return Cleaning(self.of_document, self.of_draft)

    def of_document(self, text: str) -> tuple[str, Mapping[str, int]]:
        """The text of a file without its secrets; its lines keep their numbers."""
        from recollect.secrets.redaction import redacted  # noqa: PLC0415  start-up time

        return redacted(text, self._patterns.within(text), keep_lines=True)
