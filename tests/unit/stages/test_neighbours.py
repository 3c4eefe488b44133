"""Neighbouring parts of one file are one result: the best of them, with its own lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from recollect.context import SearchContext
from recollect.present.words import place_in_file
from recollect.stages.ending import Neighbours
from recollect.store.folders import ChunkPlace, FileChunk
from recollect.types import FilePlace, Hit, Ranking, leaf

STAGE = Neighbours()
TEN = 10  # lines of each part


class PlannedMemory:
    def __init__(self, id: str, path: str) -> None:
        self.id = id
        self.path = path


class PlannedPlaces:
    """Which memory is which part; what was asked for is remembered."""

    def __init__(self, places: Mapping[str, ChunkPlace]) -> None:
        self._places = places
        self.asked: list[str] = []

    def places(self, ids: Sequence[str]) -> dict[str, ChunkPlace]:
        self.asked += ids
        return {id: self._places[id] for id in ids if id in self._places}


class PlannedAt:
    """Memories named `a1` are the first part of the file a, and so on; others are of no file."""

    def __init__(self, limit: int, files: str = "ab") -> None:
        self.limit = limit
        self._files = files
        places = {
            f"{file}{n}": ChunkPlace(key, FileChunk(f"{file}{n}", n, f"H{n}", TEN * n - 9, TEN * n))
            for key, file in enumerate(files, 1)
            for n in range(1, 200)
        }
        self.folders = PlannedPlaces(places)
        self.store = self

    def memory(self, id: str) -> PlannedMemory:
        return PlannedMemory(id, f"/notes/{id[0]}.md" if id[0] in self._files else "")


def make_ranking(*ids: str, dropped: dict[str, int] | None = None) -> Ranking:
    hits = tuple(Hit(id, leaf("r", 1 / place, "")) for place, id in enumerate(ids, 1))
    return Ranking(hits, dropped or {})


def join_neighbours(at: PlannedAt, *ids: str) -> Ranking:
    return together(make_ranking(*ids), at)


def together(ranking: Ranking, at: PlannedAt) -> Ranking:
    return STAGE.apply(ranking, cast("SearchContext", at))


def files(ranking: Ranking) -> dict[str, FilePlace]:
    return {hit.memory_id: hit.findings.file for hit in ranking if hit.findings.file}


def joined_ids(ranking: Ranking) -> dict[str, list[str]]:
    return {
        hit.memory_id: [memory.id for memory in hit.findings.joined]
        for hit in ranking
        if hit.findings.file
    }


def test_neighbours_are_shown_as_the_best_of_them() -> None:
    at = PlannedAt(10)
    found = join_neighbours(at, "a2", "x", "a3", "a1")
    assert found.ids == ("a2", "x")
    assert files(found) == {"a2": FilePlace("/notes/a.md", "H2", 11, 20)}
    assert joined_ids(found) == {"a2": ["a1", "a3"]}  # in the order of the file
    assert found.dropped == {"neighbour": 2}


def test_a_score_is_not_changed() -> None:
    found = join_neighbours(PlannedAt(10), "x", "a2", "a1", "y")
    assert [hit.score for hit in found] == [1, 1 / 2, 1 / 4]


def test_parts_with_a_gap_between_them_are_several_results() -> None:
    at = PlannedAt(10)
    found = join_neighbours(at, "a1", "a3", "a4", "a6")
    assert found.ids == ("a1", "a3", "a6")
    assert joined_ids(found) == {"a1": [], "a3": ["a4"], "a6": []}
    assert (files(found)["a3"].first_line, files(found)["a3"].last_line) == (21, 30)


def test_parts_of_two_files_are_no_neighbours() -> None:
    at = PlannedAt(10)
    found = join_neighbours(at, "a1", "b2", "b1", "a5")
    assert found.ids == ("a1", "b2", "a5")
    assert joined_ids(found) == {"a1": [], "b2": ["b1"], "a5": []}
    assert files(found)["b2"].path == "/notes/b.md"


def test_a_single_part_has_its_place_in_the_file() -> None:
    at = PlannedAt(10)
    found = join_neighbours(at, "a7")
    assert found.dropped == {}
    assert files(found) == {"a7": FilePlace("/notes/a.md", "H7", 61, 70)}


def test_without_files_nothing_is_asked_and_nothing_changes() -> None:
    at = PlannedAt(10, files="")
    ranking = make_ranking("x", "y")
    assert together(ranking, at) is ranking
    assert at.folders.asked == []
    assert together(Ranking(), at) == Ranking()


def test_a_memory_with_a_path_that_is_no_part_of_a_file_stays_as_it_is() -> None:
    at = PlannedAt(10)
    ids = ("a1", "a777", "a2")  # nothing is known of the second
    found = join_neighbours(at, *ids)
    assert found.ids == ("a1", "a777")
    assert "a777" not in files(found)


def test_earlier_drops_are_still_counted() -> None:
    found = together(make_ranking("a1", "a2", dropped={"floor": 3}), PlannedAt(10))
    assert found.dropped == {"floor": 3, "neighbour": 1}


def test_more_hits_than_the_limit_are_read() -> None:
    """What joins others makes room; what stands far below is not asked for."""
    for limit, looked_at in ((1, 50), (20, 100)):
        at = PlannedAt(limit)
        ids = [f"a{2 * n + 1}" for n in range(looked_at - 1)]
        found = join_neighbours(at, *ids[:50], *[f"x{n}" for n in range(looked_at)], "a2")
        assert len(at.folders.asked) <= looked_at
        assert found.ids[-1] == "a2"  # too far below to be looked at, so it stays


def test_a_place_is_written_as_editors_open_it() -> None:
    assert place_in_file(FilePlace("a.md", "", 3, 3)) == "a.md:3"
    assert place_in_file(FilePlace("a.md", "A > B", 3, 9)) == "a.md:3-9, A > B"
    assert place_in_file(FilePlace("a.md", "A > B", 3, 9, 4)) == "a.md:4, A > B"
    assert place_in_file(FilePlace("two\nlines.md", "", 1, 1)) == "two lines.md:1"
