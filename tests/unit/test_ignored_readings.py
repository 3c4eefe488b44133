"""Single readings of a query can be taken back, in every interface, and a person's tag is one."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from starlette.datastructures import QueryParams

from recollect import Recollect
from recollect.interfaces.cli.arguments import parser_of, read_search
from recollect.interfaces.http.schemas import SearchParameters, from_parameters
from recollect.interfaces.mcp import calls
from recollect.interfaces.mcp.arguments import SearchArguments
from recollect.interfaces.web.chips import Address, reading_chips
from recollect.settings import Embedding, Rerank, Settings

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
NO_MODELS = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))
QUERY = "bugs in October -redis"
READ = ("in October = 2026-10-01 … 2026-10-31", "kind bug", "newest first", "without redis")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Recollect]:
    with Recollect(
        tmp_path / "vault.db", home=tmp_path, settings=NO_MODELS, clock=lambda: NOW
    ) as opened:
        made = datetime(2026, 10, 9, tzinfo=UTC)
        opened.save(id="bug", title="Crash of the webhooks", kind="bug", created_at=made)
        opened.save(id="redis", title="Redis lost bugs", kind="bug", created_at=made)
        opened.save(id="note", title="Bugs in a garden", kind="note", created_at=made)
        opened.save(id="anna", title="Queues in Postgres", kind="decision", tags=["@Anna"])
        opened.save(id="tom", title="Queues in Kafka", kind="decision", tags=["tom"])
        yield opened


def test_each_is_taken_back_by_itself(memory: Recollect) -> None:
    assert memory.search(QUERY).understood == READ
    for reading in READ:
        said = reading.partition(" = ")[0]
        left = memory.search(QUERY, ignored=(said,)).understood
        assert reading not in left
        assert {one for one in READ[::3] if one != reading} <= {*left, "in October"} | set(READ[:1])
    assert "redis" in [result.id for result in memory.search(QUERY, ignored=("without redis",))]
    assert memory.search(QUERY, ignored=("kind bug",)).results[0].id == "note"


def test_a_correction_is_taken_back(memory: Recollect) -> None:
    found = memory.search("webhoks")
    assert found.corrected == {"webhoks": ("webhooks",)}
    for asked in ({"ignored": ("webhoks",)}, {"literal": True}):
        left = memory.search("webhoks", **asked)
        assert not left.corrected
        assert not left.notes


def test_a_person_is_a_tag_that_filters_or_favours(memory: Recollect) -> None:
    found = memory.search("what did Anna decide")
    assert found.understood == ("kind decision", "tag @anna", "newest first")
    assert [result.id for result in found] == ["anna"]
    beside = memory.search("what did tom say about queues in general")
    assert beside.understood == ("tag tom",)
    assert beside.results[0].id == "tom"


def test_every_interface_takes_them(memory: Recollect) -> None:
    wanted = [result.id for result in memory.search(QUERY, ignored=("kind bug",))]
    line = parser_of("search").parse_args([QUERY, "--ignore", "kind bug"])
    asked = from_parameters(SearchParameters, QueryParams([("q", QUERY), ("ignore", "kind bug")]))
    tool = calls.search(calls.Served(memory), SearchArguments(query=QUERY, ignored=["kind bug"]))
    assert [result.id for result in memory.search(read_search(line, NOW))] == wanted
    assert [result.id for result in asked.search(memory)] == wanted
    assert [result["id"] for result in tool.structured["results"]] == wanted


def test_the_page_has_a_chip_for_each(memory: Recollect) -> None:
    address = Address((("q", QUERY), ("ignore", "kind bug")))
    chips = reading_chips(address, memory.search(QUERY, ignored=("kind bug",)))
    assert [(chip.label, chip.on) for chip in chips] == [
        (READ[0], True), ("without redis", True), ("kind bug", False),
    ]  # fmt: skip
    assert chips[1].href.endswith("ignore=kind+bug&ignore=without+redis")
    assert chips[2].href == "/?q=bugs+in+October+-redis"
    [corrected] = reading_chips(Address((("q", "webhoks"),)), memory.search("webhoks"))
    assert corrected.label == "webhoks → webhooks"
