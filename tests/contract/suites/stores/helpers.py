"""Asking a store, and checking its answers, in a word."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, get_args

import msgspec

from recollect.errors import DimensionMismatch
from recollect.query.terms import keywords, semantic_text
from recollect.store.base import (
    COLUMNS,
    Coverage,
    KeywordIndexName,
    KeywordQuery,
    Match,
    Store,
    Stored,
)
from recollect.types import Filter, Memory, Place, place_of
from suites.stores.samples import CHANGE, DAY, EVERYTHING, MODEL, NOON, PLENTY, memory

if TYPE_CHECKING:  # exists for type checkers only
    from recollect.store.base import Vector


WORD_INDEXES: tuple[KeywordIndexName, ...] = ("stemmed", "plain")  # they hold words as said


class Contract:
    """The store under test, for every part of the contract."""

    def store(self) -> Store:
        """The store under test, ready for use."""
        raise NotImplementedError("Return the store to check.")


def save(store: Store, *memories: Memory) -> dict[str, Stored]:
    with store.writing(CHANGE) as write:
        return {one.id: write.add(one) for one in memories}


def change(store: Store, id: str, **changes: Any) -> None:
    with store.writing(CHANGE) as write:
        before = write.find([id])[id]
        write.replace(before, msgspec.structs.replace(before.memory, **changes))


def forget(store: Store, *ids: str) -> None:
    with store.writing(CHANGE) as write:
        for before in write.find(ids).values():
            write.forget(before, NOON + DAY)


def restore(store: Store, *ids: str) -> None:
    with store.writing(CHANGE) as write:
        for before in write.find(ids).values():
            write.restore(before)


def purge(store: Store, *ids: str) -> None:
    with store.writing(CHANGE) as write:
        for before in write.find(ids).values():
            write.purge(before)


def purge_everything(store: Store) -> None:
    purge(store, *store.memories.ids(forgotten=True))


def keys_of(store: Store, *ids: str) -> list[int]:
    return [store.memories.find([id])[id].key for id in ids]


def put(store: Store, identity: str, vectors: Mapping[str, Vector]) -> None:
    with store.writing(CHANGE) as write:
        keys = {id: stored.key for id, stored in write.find(vectors).items()}
    width = len(next(iter(vectors.values())))
    store.vectors.put(identity, width, [(keys[id], row) for id, row in vectors.items()])


def ids(memories: Iterable[Memory]) -> list[str]:
    return [one.id for one in memories]


def match(
    store: Store,
    expression: str,
    index: KeywordIndexName = "stemmed",
    *,
    weights: Mapping[str, float] | None = None,
    limit: int = 50,
    filter: Filter = EVERYTHING,
) -> list[Match]:
    """Return what an expression finds, with the same weight for every column by default."""
    weights = dict.fromkeys(COLUMNS[index], 1.0) if weights is None else weights
    return store.keyword.match(KeywordQuery(index, expression, weights, limit, filter)).matches


def matches(
    store: Store,
    word: str,
    index: KeywordIndexName = "stemmed",
    *,
    limit: int = 50,
    weights: Mapping[str, float] | None = None,
    filter: Filter = EVERYTHING,
) -> list[str]:
    """Return the ids of the memories that have the word."""
    found = match(store, f'"{word}"', index, weights=weights, limit=limit, filter=filter)
    return [one.memory_id for one in found]


def nearest(
    store: Store,
    vector: Vector,
    limit: int = 50,
    filter: Filter = EVERYTHING,
    identity: str = MODEL,
) -> list[str]:
    return [one.memory_id for one in store.vectors.nearest(identity, vector, limit, filter)]


def refusal(action: Callable[..., object], *arguments: object) -> DimensionMismatch:
    """Return the error of the action for these arguments."""
    try:
        action(*arguments)
    except DimensionMismatch as error:
        return error
    raise AssertionError("A vector of another dimension was taken.")


def state(store: Store, *words: str) -> dict[str, object]:
    """All that can be asked of a store without vectors, for comparing before and after."""
    listed = store.memories.browse(EVERYTHING, PLENTY)
    asked = words or sorted({token for one in listed for token in said_tokens(one)})
    return {
        "browse": listed,
        "newest": store.memories.newest(EVERYTHING, PLENTY),
        "matches": {
            (word, index): matches(store, word, index)
            for word in asked
            for index in get_args(KeywordIndexName)
        },
        "topics": store.topics.carrying(asked, PLENTY, EVERYTHING),
        "documents": store.vocabulary.documents(),
        "frequencies": store.vocabulary.frequencies(asked),
    }


def said_tokens(one: Memory) -> set[str]:
    return set(keywords(semantic_text(one)))


def check_vocabulary(store: Store) -> None:
    listed = store.memories.browse(EVERYTHING, PLENTY)
    counted = Counter(token for one in listed for token in said_tokens(one))
    asked = {*counted, *(f"w{number}" for number in range(40)), "anchor", "lighthouse", "fresh"}
    assert store.vocabulary.documents() == len(listed)
    assert store.vocabulary.frequencies(asked) == dict(counted)


def check_waiting(store: Store, ids: Sequence[str], coverage: Coverage) -> None:
    with store.writing(CHANGE) as write:
        keys = {stored.key: id for id, stored in write.find([f"m{n}" for n in range(6)]).items()}
    assert [keys[one.key] for one in store.vectors.waiting(MODEL, PLENTY)] == list(ids)
    assert store.vectors.coverage(MODEL) == coverage


def check_all_given(made: Memory) -> None:
    """Check that the memory for every field has none at its default."""
    bare = memory("full")
    same = [name for name in Memory.__struct_fields__ if getattr(made, name) == getattr(bare, name)]
    assert same == ["id"], f"Not given: {same}."


def pages(store: Store, filter: Filter, size: int) -> Iterator[Memory]:
    after: Place | None = None
    while page := store.memories.browse(filter, size, after):
        behind = after is None or after.id not in ids(page)
        assert behind, "A page begins behind the last memory of the one before."
        yield from page
        after = place_of(page[-1])
