"""Bounded work for any query and any time: what is too much is refused in a sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import msgspec
import pytest

from recollect import Recollect, UserError
from recollect.checks import LONGEST_QUERY
from recollect.interfaces.http.api import OPERATIONS
from recollect.interfaces.http.schemas import FeedbackBody, SearchParameters
from recollect.interfaces.mcp import arguments
from recollect.query.corrections import Corrections
from recollect.query.terms import LONGEST_READ
from recollect.recipes.registry import BUILT_IN
from recollect.settings import Embedding, Rerank, Settings
from recollect.times import shift
from recollect.types import Filter
from recollect_evaluation import gold

OFF = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))
TOO_LONG = "x" * (LONGEST_QUERY + 1)
FIRST, LAST = (moment.replace(tzinfo=UTC) for moment in (datetime.min, datetime.max))
# A calendar of the zone has these moments, that of UTC has not.
BEYOND = (
    datetime(9999, 12, 31, 23, 59, 59, tzinfo=timezone(timedelta(hours=-12))),
    datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14))),
)
TIMES = ("created_at", "updated_at", "valid_from", "valid_until")


def open_vault(folder: Path, clock: Callable[[], datetime] | None = None) -> Recollect:
    return Recollect(home=folder, settings=OFF, environment={}, clock=clock)


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recollect]:
    """A pump at each end of time, and one today."""
    with open_vault(tmp_path_factory.mktemp("home")) as held:
        held.save(id="today", text="the pump runs")
        for moment in (FIRST, LAST):
            for name in TIMES:
                held.save(text=f"the pump runs, {name} {moment}", **{name: moment})
        yield held


# Queries


def test_a_query_is_at_most_ten_thousand_characters_long(memory: Recollect, tmp_path: Path) -> None:
    assert LONGEST_QUERY == 10_000
    folder = tmp_path / "gold"
    gold.create_gold(folder)
    ways: tuple[Callable[[str], object], ...] = (
        memory.search,
        memory.context,
        lambda query: memory.feedback(query, "today", accept=True),
        lambda query: gold.add_judgements(memory, folder, query, ["today"]),
        lambda query: memory.run_recipe(BUILT_IN["vault"], query),
    )
    for way in ways:
        way("pump" + "x" * (LONGEST_QUERY - 4))
        with pytest.raises(UserError, match=r"has 10,001 characters; at most 10,000"):
            way(TOO_LONG)


def test_the_schemas_state_the_longest_query() -> None:
    context = next(one.parameters for one in OPERATIONS if one.path.endswith("/context"))
    kinds = (
        SearchParameters, context, FeedbackBody, arguments.SearchArguments,
        arguments.ContextArguments, arguments.FeedbackArguments,
    )  # fmt: skip
    for kind in kinds:
        [(_, schema)] = msgspec.json.schema_components([kind])[1].items()
        assert schema["properties"]["query"]["maxLength"] == LONGEST_QUERY, kind


def test_typing_errors_are_looked_for_in_eight_words_at_most(
    memory: Recollect, monkeypatch: pytest.MonkeyPatch
) -> None:
    words: list[str] = []

    def count(self: Corrections, typed: str) -> list[str]:
        words.append(typed)
        return []

    monkeypatch.setattr(Corrections, "meant", count)
    query = " ".join(f"unknownword{chr(97 + n)}" for n in range(LONGEST_READ))
    memory.search(query)
    assert words == query.split()[:8]


# The ends of time


@pytest.mark.parametrize("now", [FIRST, LAST, FIRST.replace(tzinfo=None)])
@pytest.mark.parametrize("recipe", BUILT_IN)
def test_a_search_is_answered_at_the_ends_of_time(
    memory: Recollect, recipe: str, now: datetime
) -> None:
    asked = "the pump yesterday", "pump next week", "pump in the week of 9999-12-30", "pump runs"
    for query in asked:
        found = memory.search(query, recipe=recipe, now=now, facets=True)
        assert found.facets["age"].keys() >= {"1d", "365d"}


@pytest.mark.parametrize("moment", BEYOND)
def test_a_moment_that_utc_does_not_have_is_refused_in_a_sentence(
    memory: Recollect, tmp_path: Path, moment: datetime
) -> None:
    refused = pytest.raises(UserError, match="is not within the years 1 to 9999 in UTC")
    with refused:
        memory.search("pump", now=moment)
    for narrowed in (Filter(since=moment), Filter(until=moment)):
        with refused:
            memory.list(narrowed)
    for name in TIMES:
        with refused:
            memory.save(text="beyond", **{name: moment.isoformat()})
    with open_vault(tmp_path, clock=lambda: moment) as other, refused:
        other.save(text="it would damage the vault")


@pytest.mark.parametrize("now", [FIRST, LAST])
def test_everything_works_when_the_clock_stands_at_an_end_of_time(
    tmp_path: Path, now: datetime
) -> None:
    with open_vault(tmp_path, clock=lambda: now) as memory:
        saved = memory.save(text="pump")
        assert memory.show([saved.id])[0].created_at == now
        assert [one.id for one in memory.search("pump last week", facets=True)] == [saved.id]
        assert memory.list_ending(since=now, until=shift(now, timedelta(days=30))) == []
        assert memory.facets(Filter()).age["1d"] == 1
        memory.forget([saved.id])
