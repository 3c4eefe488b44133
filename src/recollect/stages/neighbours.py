"""Neighbouring chunks of one file are one result: the best of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from recollect.context import SearchContext
from recollect.recipes.ranges import Depth
from recollect.stages.base import Stage
from recollect.types import FilePlace, Hit, Ranking

if TYPE_CHECKING:  # start-up time
    from recollect.store.folders import ChunkPlace


class Neighbours(Stage, frozen=True, tag="neighbours"):
    """Joins chunks that follow each other in a file to the best of them, and says in which lines of
    the file that one stands. Looks at more hits than will be returned (`depth`): what is joined
    makes room for what comes after. What is no part of a file stays as it is."""

    depth: Depth = Depth(per_result=5, at_least=50)
    name: str = "neighbours"

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        looked_at = ranking.ids[: self.depth.at(context.limit)]
        order = {id: place for place, id in enumerate(looked_at)}
        ids = [id for id in looked_at if context.memory(id).path]
        places = context.store.folders.places(ids) if ids else {}
        if not places:
            return ranking
        found: dict[str, tuple[FilePlace, list[str]]] = {}
        hidden: set[str] = set()
        for run in _runs([places[id] for id in ids if id in places]):
            best = min((place.chunk for place in run), key=lambda chunk: order[chunk.memory_id])
            id = best.memory_id
            others = [place.chunk.memory_id for place in run if place.chunk is not best]
            hidden.update(others)
            path = context.memory(id).path
            found[id] = FilePlace(path, best.heading, best.first_line, best.last_line), others
        kept = (hit for hit in ranking if hit.memory_id not in hidden)
        return ranking.keeping((_placed(hit, found, context) for hit in kept), "neighbour")


def _placed(hit: Hit, found: dict[str, tuple[FilePlace, list[str]]], context: SearchContext) -> Hit:
    if hit.memory_id not in found:
        return hit
    file, others = found[hit.memory_id]
    return hit.finding(file=file, joined=tuple(map(context.memory, others)))


def _runs(places: Sequence[ChunkPlace]) -> Iterator[list[ChunkPlace]]:
    """Chunks of one file that follow each other, in the order of the file."""
    run: list[ChunkPlace] = []
    for place in sorted(places, key=lambda place: (place.file, place.chunk.number)):
        if run and (place.file, place.chunk.number) != (run[-1].file, run[-1].chunk.number + 1):
            yield run
            run = []
        run.append(place)
    if run:
        yield run
