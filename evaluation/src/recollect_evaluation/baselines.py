"""The baselines of an evaluation: grep, plain BM25, and vectors alone."""

from __future__ import annotations

from collections.abc import Iterable

from recollect.fuse.fusions import Rrf
from recollect.query.terms import keywords
from recollect.recall.keyword import Keyword
from recollect.recall.vector import Vector
from recollect.recipes.base import Recipe
from recollect.recipes.ranges import Depth
from recollect.stages.duplicates import Neighbours
from recollect.stages.ending import Cut

GREP = "grep"

BM25 = Recipe(
    name="bm25",
    about="Plain BM25 of title and text, any word may match, words stemmed.",
    source="SQLite FTS5",
    view="scan",
    recall=(
        Keyword(
            index="stemmed",
            columns={"title": 1.0, "text": 1.0},
            reading="words",
            depth=Depth(per_result=1),
        ),
    ),
    fuse=Rrf(channels=("keyword",), alone="scores"),
    stages=(Neighbours(), Cut()),
)

DENSE = Recipe(
    name="dense",
    about="The cosine of the vectors alone.",
    source="the embedding model",
    view="scan",
    recall=(Vector(depth=Depth(per_result=1)),),
    fuse=Rrf(channels=("vector",), alone="scores"),
    stages=(Neighbours(), Cut()),
)

BASELINES = {recipe.name: recipe for recipe in (BM25, DENSE)}


def grep(query: str, texts: Iterable[tuple[str, str]], limit: int) -> list[str]:
    """The ids of the texts (id, lower-cased text) that contain most of the keywords literally; ties
    by id."""
    wanted = set(keywords(query))
    counted = ((sum(word in text for word in wanted), id) for id, text in texts)
    found = sorted((-count, id) for count, id in counted if count)
    return [id for _, id in found[:limit]]
