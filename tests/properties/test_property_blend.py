"""`blend` for random questions: what is meant literally is found, time drops nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from corpora import NOW, Pair, filters, mixtures, vaults, words
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from examples import examples
from recollect import Filter, Response
from recollect.ingest.draft import make_draft
from recollect.types import Term

fast = settings(max_examples=examples(40))
# Each example asks twice, so few of them; one that fails is told as it is, not made smaller.
few = settings(fast, max_examples=examples(12), phases=(Phase.explicit, Phase.generate))
# Each stands in one memory, which is about nothing that the others are about.
RARE = {
    "identifier": "FileSyncService",
    "version": "7.4.2-rc9",
    "code": "E4711",
    "flag": "--no-anchor",
    "path": "/etc/anchorage.conf",
    "hash": "9fceb02d0ae598e95dc970b74767f19372d61af8",
    "address": "anna.smith@example.org",
    "name": "Okonkwo",
    "chinese": "数据库迁移",
}
ALL = 1000  # more than there are memories
TIMES = ("last week", "in March 2025", "before 2026-01-01", "recently", "since January")


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """A hundred random memories, more than the pool holds, and the rare ones."""
    with vaults(tmp_path_factory.mktemp("vault"), seed=5, size=101) as opened:
        opened.bare.save_all(
            [
                make_draft({"id": f"rare-{kind}", "text": f"Purple elephants said {thing} aloud."})
                for kind, thing in RARE.items()
            ]
        )
        assert opened.dense.embed_now() is None
        yield opened


def blended(
    pair: Pair, text: str, limit: int | None = None, filter: Filter | None = None
) -> Iterator[Response]:
    for memory in pair:
        yield memory.search(text, recipe="blend", limit=limit, filter=filter or Filter())


@pytest.mark.parametrize("kind", RARE)
@given(before=words, after=words)
@few
def test_an_exact_thing_always_enters_the_pool(
    pair: Pair, kind: str, before: str, after: str
) -> None:
    """Whatever else the question asks for, and however many memories are nearer to that."""
    for response in blended(pair, f"{before} {RARE[kind]} {after}", limit=17):
        assert counted(response, "exact") >= 1
    for response in blended(pair, f"{before} {RARE[kind]} {after}", limit=ALL):
        assert f"rare-{kind}" in {one.id for one in response}


@pytest.mark.parametrize("kind", RARE)
@given(before=words, after=words)
@few
def test_an_exact_thing_is_always_among_the_results(
    pair: Pair, kind: str, before: str, after: str
) -> None:
    """Not only in the pool: in the answer of ten."""
    for response in blended(pair, f"{before} {RARE[kind]} {after}"):
        assert f"rare-{kind}" in {one.id for one in response}


@pytest.mark.parametrize("kind", RARE)
def test_an_exact_thing_alone_comes_first(pair: Pair, kind: str) -> None:
    for response in blended(pair, RARE[kind]):
        assert response.results[0].id == f"rare-{kind}"


@given(text=words | mixtures, limit=st.integers(1, 40), filter=st.just(Filter()) | filters)
@example(text="", limit=5, filter=Filter())
@fast
def test_what_was_found_is_returned_shown_as_a_twin_or_counted_as_dropped(
    pair: Pair, text: str, limit: int, filter: Filter
) -> None:
    for response in blended(pair, text, limit, filter):
        dropped = response.counts["dropped"]
        assert isinstance(dropped, dict)
        assert len(response) <= limit
        assert set(dropped) <= {"pool", "near_duplicates", "limit"}
        hidden = [one.id for result in response for one in result.same]
        shown = [result.id for result in response]
        assert len({*hidden, *shown}) == len(hidden) + len(shown), "Each memory stands once."
        assert len(hidden) <= dropped.get("near_duplicates", 0)


@given(text=words, said=st.sampled_from(TIMES))
@fast
def test_reading_a_time_changes_places_and_drops_nothing(pair: Pair, text: str, said: str) -> None:
    """`when` gives memories of the time a bonus, the same for each, and takes from none."""
    for memory in pair:
        read, unread = (
            memory.search(f"{text} {said}", recipe="blend", limit=ALL, literal=literal)
            for literal in (False, True)
        )
        assert len(read.understood) == (1 if len(read) else 0)
        assert unread.understood == ()
        assert everything(read) == everything(unread)
        bonuses = {part.raw for one in read for part in whens(one.explain)}
        assert bonuses <= {0.0, 0.5, 1.0}
        assert not any(whens(one.explain) for one in unread)


def counted(response: Response, name: str) -> int:
    count = response.counts[name]
    assert isinstance(count, int)
    return count


def everything(response: Response) -> set[str]:
    return {id for one in response for id in (one.id, *(twin.id for twin in one.same))}


def whens(term: Term) -> list[Term]:
    return [part for part in term.leaves() if part.name == "time_match"]


def test_the_times_are_read_as_meant(pair: Pair) -> None:
    [period] = pair.bare.search("alpha last week", recipe="blend", now=NOW).understood
    assert period == "last week = 2026-02-16 … 2026-02-22"
