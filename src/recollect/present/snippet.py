"""Short pieces of a memory's text: the passage that matched, and the matches in it."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from typing import TYPE_CHECKING

from msgspec.structs import replace

from recollect.context import SearchContext
from recollect.query.passages import CUT, LEAST_START, densest, passage
from recollect.query.terms import WORD
from recollect.store.sqlite.fts5_index import snippets as fts5_snippets
from recollect.types import FilePlace, Hit, Memory, Passage

if TYPE_CHECKING:
    from recollect.recipes.base import AnyChannel

PASSAGE_CHARACTERS = 160
SHORTEST_NAME = 3  # characters of a word that is looked for in a line as it was typed
MARKED = re.compile("<mark>(.*?)</mark>", re.DOTALL)
# Indented lines, a fence, lines that end as statements do.
CODE = re.compile(r"\n(?: {2,}|\t)\S|```|[;{}]\s*\n")


def pieces(snippet: str) -> list[tuple[str, bool]]:
    """A marked snippet in pieces, and whether each is a match. A mark that stands alone is the
    memory's own text."""
    parts = MARKED.split(snippet)
    return [(part, place % 2 == 1) for place, part in enumerate(parts) if part]


def is_code(text: str) -> bool:
    """Whether its line breaks mean something."""
    return CODE.search(text) is not None


def flowed(text: str) -> str:
    """The text in one line; code keeps its lines."""
    return text if is_code(text) else " ".join(text.split())


def passages(context: SearchContext, memories: Sequence[Memory]) -> dict[str, Passage]:
    """The passage of each memory that answers the query word by word; where tokens were not
    compared, the one that the query's words stand in, or that is nearest in meaning."""

    words = context.understanding.passage_words
    spans = {hit.memory_id: hit.findings.span for hit in context.by_vectors()}
    found = {}
    for memory in memories:
        answers = context.answering.get(memory.id)
        if answers is not None:
            at = answers.place(PASSAGE_CHARACTERS)
        else:
            near = spans.get(memory.id)
            at = max(0, near.start - len(memory.title) - 1) if near else 0
        found[memory.id] = passage(
            memory, words, PASSAGE_CHARACTERS, at, answering=answers is not None
        )
    return found


def place_of_match(hit: Hit, memory: Memory, context: SearchContext) -> FilePlace | None:
    """Return where a hit stands in its file, with the line that holds the most words of the
    query; None for what is no part of a file. A word as it was typed, such as a name in code,
    counts before its forms. Of equal lines it is one of the shown passage; where that answers
    word by word, always. It is the first line of the hit where the passage is not from the
    text, or the text has other lines than the file."""
    place, text, words = hit.findings.file, memory.text, context.understanding.passage_words
    if place is None:
        return None
    found = context.passages.get(memory.id) or passage(memory, words, PASSAGE_CHARACTERS)
    shown = found.text.strip(CUT)
    at = text.find(shown) if found.field == "text" else -1
    if at < 0 or text.count("\n") != place.last_line - place.first_line:
        return replace(place, line=place.first_line)
    lines, above = text.split("\n"), text.count("\n", 0, at)
    inside = range(above, above + shown.count("\n") + 1)
    answers = memory.id in context.answering
    typed = [word for word in context.search.query.lower().split() if len(word) >= SHORTEST_NAME]

    def fit(number: int) -> tuple[bool, int, int, bool, bool]:
        line, within = lines[number], number in inside
        held, low = densest(line, words, len(line)).different, line.lower()
        exact = sum(word in low for word in typed)
        return answers and within, exact, held, within, bool(line.strip())

    return replace(place, line=place.first_line + max(range(len(lines)), key=fit))


def marked(
    context: SearchContext, channels: Sequence[AnyChannel], memories: Sequence[Memory]
) -> dict[str, str]:
    """The passages with `<mark>` around each match, where the search has passages; else FTS5's
    snippet of every memory that a keyword channel matched. A memory that only its meaning found
    has none then. Source: the `router` recipe, "Snippet"."""
    if context.passages:
        answers = {
            id: frozenset(pair.answer.lower() for pair in each.pairs)
            for id, each in context.answering.items()
        }
        return {
            id: highlighted(found.text, context, answers.get(id, frozenset()))
            for id, found in context.passages.items()
        }
    snippets: dict[str, str] = {}
    for channel in channels:
        ids = set(context.channels[channel.name].ids if channel.name in context.channels else ())
        matched = [memory for memory in memories if memory.id in ids]
        if matched and (asked := channel.matches(context)) is not None:
            snippets |= fts5_snippets(*asked, matched)
    return snippets


def highlighted(text: str, context: SearchContext, answers: Set[str] = frozenset()) -> str:
    """Return the text with `<mark>` around each word that the query has, in any form.
    `answers`: lower-cased words that answer the query by their meaning, and are marked, too."""

    query = context.understanding
    wanted = frozenset[str]().union(*(query.stems_of(word) for word in query.searched_words))
    starts = tuple(stem[:LEAST_START] for stem in wanted)  # few words are worth a look

    def mark(found: re.Match[str]) -> str:
        word = found[0].lower()
        same = word.startswith(starts) and query.stems_of(word) & wanted
        return f"<mark>{found[0]}</mark>" if same or word in answers else found[0]

    return WORD.sub(mark, text)
