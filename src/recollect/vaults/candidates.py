"""What a server sends of its vault to a search over several: the memories that its channels find,
and what its indexes count, so that they are ranked with all others as one.
"""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct

from recollect.context import Models
from recollect.deadline import Deadline
from recollect.errors import ProviderError
from recollect.pipeline import recalled, variant
from recollect.recipes.base import Recipe
from recollect.store.base import KeywordStatistics, Store
from recollect.store.folders import ChunkPlace
from recollect.types import Degraded, Memory, Search, Span
from recollect.vaults.fan_out import Member
from recollect.vaults.fanned_indexes import FannedKeyword
from recollect.vaults.fanned_store import FannedStore
from recollect.vaults.known import HOME


class CountedExpression(Struct, frozen=True):
    """What a keyword index counts for a match expression."""

    index: str
    expression: str
    counts: KeywordStatistics


class CandidateVector(NamedTuple):
    """A vector of a memory: float32, little-endian; `span` is the passage that it is of."""

    id: str
    span: Span
    vector: bytes


class Candidates(Struct, frozen=True):
    """`documents`: how many memories there are in all; `embedded`: how many of them have a vector
    of the model asked for. `frequencies`: how many memories hold each word of the query."""

    memories: list[Memory]
    documents: int
    embedded: int
    statistics: list[CountedExpression]
    frequencies: dict[str, int]
    vectors: list[CandidateVector]
    places: dict[str, ChunkPlace]
    degraded: list[Degraded]


def gathered(
    recipe: Recipe,
    search: Search,
    model: str,
    *,
    store: Store,
    models: Models,
    deadline: Deadline,
) -> Candidates:
    """What this vault has for the search. `model` is the asking side's: vectors are sent if it is
    the one that is used here, too."""
    vault = FannedStore([Member(HOME, lambda: store)], store, copies=False)
    keyword = FannedKeyword(vault)
    vault.keyword = keyword
    declared = variant(recipe, search)
    context = recalled(declared, search, store=vault, models=models, deadline=deadline)
    found = {id for channel in context.channels.values() for id in channel.ids}
    context.load(found)
    ids = sorted(filter(context.has, found))
    query = context.understanding
    shared = model if model and model == used_model(models) else ""
    vectors = store.vectors.stored(shared, ids) if shared else {}
    return Candidates(
        memories=[context.memory(id) for id in ids],
        documents=query.documents,
        embedded=store.vectors.coverage(shared).embedded if shared else 0,
        statistics=[
            CountedExpression(index, expression, counts)
            for (index, expression), counts in keyword.counted.items()
        ],
        frequencies=query.frequencies,
        vectors=[
            CandidateVector(id, span, vector.astype("<f4").tobytes())
            for id, stored in vectors.items()
            for span, vector, _ in stored
        ],
        places=store.folders.places(ids),
        degraded=list(context.degraded),
    )


def used_model(models: Models) -> str:
    """The identity of the embedding model; empty where there is none."""
    try:
        return models.embedder().identity
    except ProviderError:  # switched off, or not there
        return ""
