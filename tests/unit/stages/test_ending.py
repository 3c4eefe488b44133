"""The last stages: near duplicates, neighbouring chunks, the verdict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log
from types import SimpleNamespace
from typing import cast

import pytest
from planned_search import fused_ranking, ranking

from recollect.context import SearchContext
from recollect.present.sentences import place_in_file
from recollect.query.sameness import FILLERS, TURNING, same
from recollect.query.terms import STOP_WORDS
from recollect.stages.ending import ConfidenceVerdict, NearDuplicates, Neighbours
from recollect.store.folders import ChunkPlace, FileChunk
from recollect.types import FilePlace, Hit, Judgement, Ranking, leaf, recompute

Search = Callable[..., SearchContext]
DUPLICATES = NearDuplicates(alike=0.9)


def words(text: str) -> set[str]:
    return set(text.split())


TEN = "a b c d e f g h i j"


@pytest.mark.parametrize(
    ("one", "other", "so"),
    [
        (TEN, TEN, True),
        (TEN, f"{TEN} k", True),  # ten of eleven are more than nine tenths
        (f"{TEN} k", TEN, True),
        (TEN, f"{TEN} k l", False),  # ten of twelve are not
        (TEN, f"{TEN} 7", False),  # a number more
        (TEN, f"{TEN} v2", False),
        (TEN, f"{TEN} not", False),
        (TEN, f"{TEN} never", False),
        (TEN, f"{TEN} befor", False),
        (f"{TEN} k", f"{TEN} l", False),  # a word for another
        ("", "", False),
        ("", "a", False),
    ],
)
def test_the_same_is_equal_or_a_few_words_more(one: str, other: str, so: bool) -> None:
    assert same(words(one), words(other), 0.9) is so
    assert same(words(other), words(one), 0.9) is so


MEETING = "It is at half past nine in the small room behind the kitchen."
SHIP = "Ship on Friday morning when Anna, Tom, Lena and Okonkwo tested login, search, mail"


def statement(title: str, text: str = MEETING, **fields: str) -> dict[str, str]:
    return {"title": title, "text": text, **fields}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        # A title may name the statement.
        (statement("Stand-up"), statement("When we meet")),
        (statement("Stand-up"), statement("Stand-up of the team")),
        (statement(""), statement("Stand-up")),
        (statement("Staging listens on 9443"), statement("staging listens on: 9443")),
        (f"{SHIP}.", f"{SHIP}, again."),
        (statement("", project="harbor"), statement("", project="harbor")),
    ],
)
def test_memories_that_say_the_same_take_one_place(
    search_at: Search, one: str | dict[str, str], other: str | dict[str, str]
) -> None:
    at = search_at("", {"a": one, "b": other})
    ranking = DUPLICATES.apply(fused_ranking(a=2.0, b=1.0), at)
    assert [(hit.memory_id, *(same.id for same in hit.findings.same)) for hit in ranking] == [
        ("a", "b")
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (statement("Anna's stand-up"), statement("Tom's stand-up")),  # the value is in the title
        (statement("Stand-up"), statement("Stand-up 2")),
        (statement("Stand-up"), statement("No stand-up")),
        (statement("Staging listens on 8443"), statement("Staging listens on 9443")),
        (statement("", project="harbor"), statement("", project="tower")),
        (statement("", project="harbor"), statement("", project="harbor", space="home")),
        # One word turns the meaning.
        *((f"{SHIP}.", f"{SHIP} {word}.")
          for word in ("not", "never", "before", "unless", "without", "2")),
    ],
)  # fmt: skip
def test_memories_that_say_something_else_are_kept_apart(
    search_at: Search, one: str | dict[str, str], other: str | dict[str, str]
) -> None:
    at = search_at("", {"a": one, "b": other})
    assert DUPLICATES.apply(fused_ranking(a=2.0, b=1.0), at).ids == ("a", "b")


def test_fillers_and_turning_words_are_known_by_their_stems(search_at: Search) -> None:
    tokens = search_at("").store.keyword.tokens
    assert set(tokens(" ".join(STOP_WORDS))) <= FILLERS
    turning = "no not never none without except unless until before after"
    assert set(tokens(turning)) == TURNING
    assert not TURNING & FILLERS


def test_the_best_is_shown_and_names_the_others(search_at: Search) -> None:
    text = "Keys rotate every ninety days."
    at = search_at(
        "",
        {
            "best": text,
            "second": text.upper(),
            "third": f"The {text}",
            "other": "Keys rotate every sixty days.",
        },
    )
    before = fused_ranking(best=4.0, other=3.0, second=2.0, third=1.0)
    ranking = DUPLICATES.apply(before, at)
    assert [(hit.memory_id, hit.why) for hit in ranking] == [
        (hit.memory_id, hit.why) for hit in before.hits[:2]
    ]
    assert ranking.dropped == {"pool": 3, "near_duplicates": 2}
    same = {hit.memory_id: [memory.id for memory in hit.findings.same] for hit in ranking}
    assert same == {"best": ["second", "third"], "other": []}
    assert all(recompute(hit.why) == hit.score for hit in ranking)


@pytest.mark.parametrize(
    ("limit", "top", "shown"),
    [(1, 2, ("a", "b", "c")), (3, 2, ("a", "b")), (3, 0, ("a", "b", "c"))],
)
def test_only_the_best_are_compared(
    search_at: Search, limit: int, top: int, shown: tuple[str, ...]
) -> None:
    """As many as are asked for, and `top` at least; with a `top` of 0, none."""
    memories = {"a": "Same words.", "b": "Other words.", "c": "Same words."}
    at = search_at("", memories, limit=limit)
    assert NearDuplicates(top=top).apply(fused_ranking(a=3.0, b=2.0, c=1.0), at).ids == shown


@pytest.mark.parametrize("scores", [{}, {"a": 1.0}, {"a": 2.0, "b": 1.0}])
def test_without_duplicates_nothing_changes(search_at: Search, scores: dict[str, float]) -> None:
    """Two memories of signs alone say nothing, and so not the same."""
    at = search_at("", {"a": {"title": "…"}, "b": {"title": "…"}})
    before = fused_ranking(**scores)
    assert DUPLICATES.apply(before, at) is before


NEIGHBOURS = Neighbours()
PART = 10  # lines of each part


class PlannedFiles:
    """Memories named `a1` are the first part of the file a, and so on; others are of no file."""

    def __init__(self, limit: int = 10, files: str = "ab") -> None:
        self.limit = limit
        self.files = files
        self.asked: list[str] = []
        self.store = self.folders = self

    def memory(self, id: str) -> SimpleNamespace:
        return SimpleNamespace(id=id, path=f"/notes/{id[0]}.md" if id[0] in self.files else "")

    def places(self, ids: Sequence[str]) -> dict[str, ChunkPlace]:
        self.asked += ids
        numbers = {id: int(id[1:]) for id in ids if id[0] in self.files}
        return {
            id: ChunkPlace(ord(id[0]), FileChunk(id, n, f"H{n}", PART * n - 9, PART * n))
            for id, n in numbers.items()
            if n < 200
        }


def make_ranking(*ids: str) -> Ranking:
    hits = tuple(Hit(id, leaf("r", 1 / place, "")) for place, id in enumerate(ids, 1))
    return Ranking(hits, {"floor": 3})


def join_neighbours(at: PlannedFiles, *ids: str) -> Ranking:
    return NEIGHBOURS.apply(make_ranking(*ids), cast("SearchContext", at))


def files(ranking: Ranking) -> dict[str, FilePlace]:
    return {hit.memory_id: hit.findings.file for hit in ranking if hit.findings.file}


@pytest.mark.parametrize(
    ("ids", "joined", "lines"),
    [
        (("a2", "x", "a3", "a1"), {"a2": ["a1", "a3"]}, (11, 20)),  # in the order of the file
        (("a3", "a1", "a4", "a6"), {"a3": ["a4"], "a1": [], "a6": []}, (21, 30)),  # gaps
        (("b2", "a1", "b1", "a5"), {"b2": ["b1"], "a1": [], "a5": []}, (11, 20)),  # two files
        (("a7",), {"a7": []}, (61, 70)),
    ],
)
def test_neighbours_are_shown_as_the_best_of_them(
    ids: tuple[str, ...], joined: dict[str, list[str]], lines: tuple[int, int]
) -> None:
    found = join_neighbours(PlannedFiles(), *ids)
    hidden = {id for others in joined.values() for id in others}
    assert found.ids == tuple(id for id in ids if id not in hidden)
    assert joined == {
        hit.memory_id: [memory.id for memory in hit.findings.joined]
        for hit in found
        if hit.findings.file
    }
    first = ids[0]
    path, heading = f"/notes/{first[0]}.md", f"H{first[1:]}"
    assert files(found)[first] == FilePlace(path, heading, *lines)
    before = make_ranking(*ids)
    scores = {hit.memory_id: hit.score for hit in before}
    assert [hit.score for hit in found] == [scores[id] for id in found.ids]
    assert found.dropped == before.dropped | ({"neighbour": len(hidden)} if hidden else {})


def test_without_files_nothing_is_looked_up_and_nothing_changes() -> None:
    at = PlannedFiles(files="")
    for before in (make_ranking("x", "y"), Ranking()):
        assert NEIGHBOURS.apply(before, cast("SearchContext", at)) is before
    assert at.asked == []


def test_a_memory_with_a_path_that_is_no_part_of_a_file_stays_as_it_is() -> None:
    found = join_neighbours(PlannedFiles(), "a1", "a777", "a2")
    assert found.ids == ("a1", "a777")
    assert "a777" not in files(found)


def test_more_hits_than_the_limit_are_read() -> None:
    """Joined chunks make room for later hits; hits far below are not read."""
    for limit, looked_at in ((1, 50), (20, 100)):
        at = PlannedFiles(limit)
        ids = [f"a{2 * n + 1}" for n in range(looked_at - 1)]
        found = join_neighbours(at, *ids[:50], *[f"x{n}" for n in range(looked_at)], "a2")
        assert len(at.asked) <= looked_at
        assert found.ids[-1] == "a2"  # too far below to be looked at, so it stays


def test_a_place_is_written_as_editors_open_it() -> None:
    assert place_in_file(FilePlace("a.md", "", 3, 3)) == "a.md:3"
    assert place_in_file(FilePlace("a.md", "A > B", 3, 9)) == "a.md:3-9, A > B"
    assert place_in_file(FilePlace("a.md", "A > B", 3, 9, 4)) == "a.md:4, A > B"
    assert place_in_file(FilePlace("two\nlines.md", "", 1, 1)) == "two lines.md:1"


VERDICT = ConfidenceVerdict(strong=0.9, weak=0.1)


@pytest.mark.parametrize(
    ("score", "judgement"),
    [
        (log(9.01), Judgement(0.9001, "strong")),  # odds of 9 to 1
        (log(8.99), Judgement(0.8999, "weak")),
        (0.0, Judgement(0.5, "weak")),
        (-log(8.99), Judgement(0.1001, "weak")),
        (-log(9.01), Judgement(0.0999, "none")),
        (-1000.0, Judgement(0.0, "none")),
        (1000.0, Judgement(1.0, "strong")),
    ],
)
def test_the_first_results_log_odds_decide(
    search_at: Search, score: float, judgement: Judgement
) -> None:
    scores = {"a": score, "b": score - 1}
    at = search_at("kayak", dict.fromkeys(scores, "kayak"))
    judged = VERDICT.apply(ranking("fused", scores), at)
    assert judged.judgement == judgement
    assert judged.ids == ("a", "b"), "nothing is dropped"


def test_nothing_found_is_no_evidence(search_at: Search) -> None:
    assert VERDICT.apply(Ranking(), search_at("kayak", {})).judgement == Judgement(0.0, "none")


def test_a_list_is_strong_evidence(search_at: Search) -> None:
    at = search_at("all bugs", {"a": {"text": "It leaks.", "kind": "bug"}})
    assert at.understanding.lists
    listed = VERDICT.apply(ranking("fused", {"a": -3.0}), at)
    assert listed.judgement == Judgement(1.0, "strong")
