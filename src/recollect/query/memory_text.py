"""A memory as the words that a search compares with its query's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import compress

from recollect.query.exact import folded, holds
from recollect.query.sameness import Wording
from recollect.query.subwords import joined, subwords
from recollect.types import Memory


class MemoryText:
    """A memory's words: as stems, and as a text without case and accents.

    `title`: the stems of the title. `body`: those of text and context, in order. `subwords`: what
    identifiers and unspaced scripts hold beside words, where the query asks for it. `stems`: those
    of title, text, context, tags, the passage of details that the query asks for, and the subwords,
    in order. `places`: where one of the query's stems stands among them, and which.
    """

    def __init__(
        self,
        memory: Memory,
        tokens: Callable[[str], list[str]],
        *,
        has_subwords: bool,
        sought: frozenset[str],
        details: str = "",
    ) -> None:
        self._memory = memory
        self._tokens = tokens
        self._details = details
        self.title = tokens(memory.title)
        self.body = tokens(f"{memory.text}\n{memory.context}")
        self.subwords: Sequence[str] = subwords(self._text) if has_subwords else ()
        rest = " ".join((*memory.tags, details, *self.subwords))
        self.stems = self.title + self.body + (tokens(rest) if rest else [])
        is_sought = map(sought.__contains__, self.stems)
        self.places = list(compress(enumerate(self.stems), is_sought))

    @cached_property
    def wording(self) -> Wording:
        """What a person reads of it: its title, its text and context."""
        return Wording.of(self.title, self.body)

    @cached_property
    def every_stem(self) -> frozenset[str]:
        """Those of every field."""
        memory = self._memory
        rest = (memory.id, memory.why, memory.impact, memory.kind, memory.domain)
        found = self._tokens("\n".join((*rest, memory.project, memory.source, memory.path)))
        return frozenset(self.stems).union(found)

    def holds(self, term: str) -> bool:
        """Whether an exact term stands in it, or an identifier in another spelling."""
        if holds(self.folded, term):
            return True
        return bool(self.subwords) and bool(name := joined(term)) and name in self.subwords

    @cached_property
    def folded(self) -> str:
        return folded(f"{self._text}\n{' '.join(self.subwords)}")

    @property
    def _text(self) -> str:
        memory = self._memory
        return "\n".join((memory.title, memory.text, memory.context, *memory.tags, self._details))
