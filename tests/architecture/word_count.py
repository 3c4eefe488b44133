"""`recollect` with one operation more, which is declared here and nowhere else."""

from __future__ import annotations

import sys
from typing import Annotated

from msgspec import Meta, Struct

from recollect import Recollect
from recollect.auth.capabilities import SEARCH
from recollect.checks import LARGEST_LIMIT
from recollect.engine.filters import EVERYTHING, read_filter
from recollect.engine.operations import method, operation
from recollect.engine.session import Session
from recollect.types import Filter, about


class WordCount(Struct):
    """How many memories and words there are."""

    memories: int
    words: int


@operation(
    SEARCH, retry=True, command="word-count", route="GET /word-count", tool="memory_word_count"
)
def word_count(
    session: Session,
    filter: Filter = EVERYTHING,
    *,
    least: Annotated[int, about("count words of at least this many letters"), Meta(ge=1)] = 1,
) -> WordCount:
    """Count the words of memories. Words are what stands between blanks."""
    found = session.store.memories.browse(read_filter(session, filter), LARGEST_LIMIT)
    words = [word for each in found for word in f"{each.title} {each.text}".split()]
    return WordCount(len(found), sum(len(word) >= least for word in words))


Recollect.word_count = method(word_count)  # type: ignore[attr-defined]

if __name__ == "__main__":
    from recollect.interfaces.cli.main import main

    sys.exit(main())
