"""Neighbouring parts of one file are one result: the best of them, with the lines of all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from recollect.context import SearchContext
from recollect.store.folders import ChunkPlace
from recollect.types import FilePlace, Ranking

# So many times as many as are returned are looked at, and no fewer than FEWEST: what joins others
# makes room for what comes after.
SHARE = 5
FEWEST = 50
REASON = "neighbour"


def together(ranking: Ranking, context: SearchContext) -> Ranking:
    """The ranking with neighbours joined; `at` then knows in which lines of which file each result
    stands. What is no part of a file stays as it is."""
    looked_at = ranking.ids[: max(SHARE * context.limit, FEWEST)]
    order = {id: place for place, id in enumerate(looked_at)}
    ids = [id for id in looked_at if context.memory(id).path]
    places = context.store.folders.places(ids) if ids else {}
    if not places:
        return ranking
    hidden: set[str] = set()
    for run in _runs([places[id] for id in ids if id in places]):
        best, *others = sorted(run, key=lambda one: order[one.chunk.memory_id])
        id = best.chunk.memory_id
        hidden |= {one.chunk.memory_id for one in others}
        context.files[id] = FilePlace(
            context.memory(id).path,
            best.chunk.heading,
            min(one.chunk.first_line for one in run),
            max(one.chunk.last_line for one in run),
        )
        context.joined[id] = tuple(
            context.memory(one.chunk.memory_id) for one in run if one is not best
        )
    if not hidden:
        return ranking
    kept = tuple(hit for hit in ranking if hit.memory_id not in hidden)
    return Ranking(kept, ranking.dropped | {REASON: len(hidden)})


def _runs(places: Sequence[ChunkPlace]) -> Iterator[list[ChunkPlace]]:
    """Parts of one file that follow each other, in the order of the file."""
    run: list[ChunkPlace] = []
    for place in sorted(places, key=lambda one: (one.file, one.chunk.number)):
        if run and (place.file, place.chunk.number) != (run[-1].file, run[-1].chunk.number + 1):
            yield run
            run = []
        run.append(place)
    if run:
        yield run
