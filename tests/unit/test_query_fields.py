"""`kind:bug tag:auth -project:site` in a query is the filter of that name, in every interface."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from starlette.datastructures import QueryParams

from recollect import Recollect, UserError
from recollect.interfaces.cli.arguments import parser_of, read_search
from recollect.interfaces.http.schemas import SearchParameters, from_parameters
from recollect.interfaces.mcp import calls
from recollect.interfaces.mcp.arguments import ConnectorSearchArguments, SearchArguments
from recollect.interfaces.web.chips import Address, reading_chips
from recollect.recipes.registry import BUILT_IN
from recollect.settings import Embedding, Rerank, SearchSettings, Settings
from recollect.types import Filter, Response

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
NO_MODELS = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))
QUERY = 'kind:bug project:"harbor api" tokens -tag:old'
READ = ("kind bug", "project harbor api", "without tag old")
WANTED = Filter(kind="bug", project="harbor api", without_tags=("old",))


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Recollect]:
    with Recollect(
        tmp_path / "vault.db", home=tmp_path, settings=NO_MODELS, clock=lambda: NOW
    ) as opened:
        opened.save(
            id="bug", title="Tokens expire early", kind="bug", project="harbor api", tags=["tokens"]
        )
        opened.save(id="old", title="Tokens", kind="bug", project="harbor api", tags=["old"])
        opened.save(id="docker", title="Docker tokens", kind="bug", source="slack", domain="auth")
        opened.save(id="rule", title="Tokens are short", kind="decision", project="harbor api")
        opened.save(id="pin", title="House rules", kind="bug", tier="core", project="site")
        opened.save(id="talk", title="Talk about tokens", kind="session")
        yield opened


def ids(response: Response) -> list[str]:
    return [result.id for result in response]


@pytest.mark.parametrize("recipe", BUILT_IN)
def test_every_recipe_reads_them(memory: Recollect, recipe: str) -> None:
    found = memory.search(QUERY, recipe=recipe)
    assert (ids(found), found.query, found.understood[:3]) == (["bug"], QUERY, READ)
    plain = memory.search("tokens", recipe=recipe, filter=WANTED)
    assert found.results == plain.results
    assert (found.counts, found.topics) == (plain.counts, plain.topics)


@pytest.mark.parametrize("recipe", BUILT_IN)
def test_without_a_word_they_browse(memory: Recollect, recipe: str) -> None:
    found = memory.search("kind:bug", recipe=recipe)
    listed = memory.list(Filter(kind="bug"), 10)
    assert ids(found) == [each.id for each in listed]
    assert ids(found)[0] == "pin"
    assert (found.query, found.understood) == ("kind:bug", ("kind bug",))
    assert found.view == memory.recipe(recipe).view
    excluding = memory.search("kind:bug -docker", recipe=recipe)
    assert ids(excluding) == [id for id in ids(found) if id != "docker"]
    assert excluding.understood == ("kind bug", "without docker")


def test_several_values(memory: Recollect) -> None:
    for query in ("kind:bug kind:decision tokens", "tokens kind:bug,decision"):
        assert set(ids(memory.search(query))) == {"bug", "old", "docker", "rule"}
    memory.edit("docker", tags=["old", "ops"])
    assert ids(memory.search("tag:old tag:ops tokens")) == ["docker"]
    assert set(ids(memory.search("tag:old", tags=("OPS",)))) == {"docker"}
    assert ids(memory.search("source:slack domain:auth tokens")) == ["docker"]


def test_a_list_and_an_exclusion_hold_beside_them(memory: Recollect) -> None:
    assert set(ids(memory.search("kind:bug today"))) == {"bug", "old", "docker", "pin"}
    found = memory.search("kind:bug tokens -docker")
    assert set(ids(found)) == {"bug", "old"}
    assert found.understood == ("kind bug", "without docker")


def test_a_value_given_both_ways_must_be_the_same(memory: Recollect) -> None:
    both = memory.search("kind:bugs tokens", kind=("Bug", "decision"))
    assert set(ids(both)) == {"bug", "old", "docker"}
    with pytest.raises(UserError, match="asks for kind:bug and the filter for the kind 'decision'"):
        memory.search("kind:bug tokens", kind="decision")


def test_a_value_that_no_memory_has_is_told_like_that_of_a_filter(memory: Recollect) -> None:
    assert memory.search("kind:bgu tokens").notes == memory.search("tokens", kind="bgu").notes
    assert memory.search("kind:bgu").notes == ("There is no kind 'bgu'; did you mean bug?",)


def test_they_are_taken_back(memory: Recollect, tmp_path: Path) -> None:
    literal = memory.search("kind:bug tokens", literal=True)
    assert (literal.understood, len(literal)) == ((), 6)
    found = memory.search("kind:bug project:site tokens", ignored=("project site",))
    assert found.understood == ("kind bug",)
    assert set(ids(found)) >= {"bug", "old", "docker"}
    settings = Settings(
        embedding=Embedding(provider="none"),
        rerank=Rerank(provider="none"),
        search=SearchSettings(literal=True),
    )
    with Recollect(tmp_path / "vault.db", home=tmp_path, settings=settings) as opened:
        assert opened.search("kind:bug tokens").understood == ()
        assert opened.search("kind:bug tokens", literal=False).understood == ("kind bug",)
        assert opened.select_ids(query="kind:bug tokens") == []


def test_no_query_becomes_syntax(memory: Recollect) -> None:
    for recipe in BUILT_IN:
        for query in (
            "kind:bug'--",
            'tag:a"b tokens',
            "project:%_ tokens",
            'kind:bug (tokens OR "',
        ):
            memory.search(query, recipe=recipe)
    assert ids(memory.search("project:harbor% tokens")) == []
    assert ids(memory.search("tokens AND kind:bug AND early", recipe="router")) == ["bug"]
    assert ids(memory.search("tokens NOT kind:bug", recipe="router")) == ["rule", "talk"]


def test_every_interface_reads_them(memory: Recollect) -> None:
    line = parser_of("search").parse_args([QUERY])
    asked = from_parameters(SearchParameters, QueryParams([("q", QUERY)]))
    served = calls.Served(memory)
    tool = calls.search(served, SearchArguments(query=QUERY))
    connector = calls.connector_search(served, ConnectorSearchArguments(query=QUERY))
    assert ids(memory.search(read_search(line, NOW))) == ["bug"]
    assert ids(asked.search(memory)) == ["bug"]
    assert [result["id"] for result in tool.structured["results"]] == ["bug"]
    assert [result["id"] for result in connector.structured["results"]] == ["bug"]
    chips = reading_chips(Address((("q", QUERY),)), memory.search(QUERY))
    assert [chip.label for chip in chips] == list(READ)


def test_the_context_of_an_agent_reads_them(memory: Recollect) -> None:
    def readings(query: str) -> set[str]:
        return {each.id for each in memory.context(query).memories}

    assert readings("project:site tokens") == {"pin"}
    assert readings("kind:decision") == {"rule"}
    assert readings("kind:session tokens") == {"talk"}
    assert memory.context("project:sit").note == "There is no project 'sit'; did you mean site?"


def test_the_trash_and_a_selection_read_them(memory: Recollect) -> None:
    assert memory.select_ids(query="kind:bug tokens -docker") == ["bug", "old"]
    assert memory.select_ids(query="project:site") == ["pin"]
    assert memory.select_ids(query="tokens NOT early AND NOT docker kind:bug") == ["old"]
    memory.edit("old", text="Issued without refresh")
    assert memory.select_ids(query="tokens without refresh") == ["old"]
    with pytest.raises(UserError, match="no word to select by"):
        memory.select_ids(query="kind:bug the")
    memory.forget(["bug", "rule", "docker"])
    assert {each.memory.id for each in memory.trash("kind:bug")} == {"bug", "docker"}
    assert memory.trash("kind:bug early tokens")[0].memory.id == "bug"
    assert memory.select_in_trash(query="kind:decision tokens") == ["rule"]


def test_feedback_is_on_the_words_beside_them(memory: Recollect) -> None:
    memory.feedback("kind:bug early", "old", accept=True)
    assert memory.feedback_on("early project:site", ["old"]) == {"old": True}
    assert "old" in ids(memory.search("early", kind="bug"))
    with pytest.raises(UserError, match="in words"):
        memory.feedback("kind:bug", "old", accept=True)
