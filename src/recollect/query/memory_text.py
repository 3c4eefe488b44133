"""A memory as the words that a search compares with its query's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from recollect.query.exact import folded, holds, is_signed
from recollect.query.sameness import Wording
from recollect.query.subwords import joined, subwords
from recollect.types import Memory


class MemoryText:
    """A memory's words: as stems, and as a text without case and accents, each read when it is
    first needed. `subwords`: what identifiers and unspaced scripts hold beside words, where the
    query asks for it."""

    def __init__(
        self,
        memory: Memory,
        tokens: Callable[[str], list[str]],
        *,
        has_subwords: bool,
        details: str = "",
    ) -> None:
        """`details`: the passage of the memory's details that the query asks for."""
        self._memory = memory
        self._tokens = tokens
        self._details = details
        self.subwords: Sequence[str] = subwords(self._text) if has_subwords else ()

    @cached_property
    def wording(self) -> Wording:
        """What a person reads of it: its title, its text and context."""
        memory = self._memory
        return Wording.of(
            self._tokens(memory.title), self._tokens(f"{memory.text}\n{memory.context}")
        )

    def holds(self, term: str) -> bool:
        """Whether an exact term stands in it, or an identifier in another spelling. `--no-cache`
        and `R&D` have no other."""
        if holds(self._folded, term):
            return True
        name = "" if term.startswith("-") or is_signed(term) else joined(term)
        return bool(name) and name in self.subwords

    @cached_property
    def _folded(self) -> str:
        return folded(f"{self._text}\n{' '.join(self.subwords)}")

    @property
    def _text(self) -> str:
        memory = self._memory
        return "\n".join((memory.title, memory.text, memory.context, *memory.tags, self._details))
