"""Filters: values are found however they are spelled, and near ones are named where none is."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from recollect import Recollect
from recollect.settings import Embedding, Rerank, Settings
from recollect.types import Filter

pytestmark = pytest.mark.usefixtures("each_store")

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
SETTINGS = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))


@pytest.fixture(scope="module")
def memory(each_store: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recollect]:
    home = tmp_path_factory.mktemp("home")
    with Recollect(
        home / "vault.db", home=home, settings=SETTINGS, environment={}, clock=lambda: NOW
    ) as opened:
        opened.save(id="ql", title="Use it", kind="decision", project="parcelo", tags=["GraphQL"])
        opened.save(id="ci", title="Use it too", kind="story", project="Tide Tables", tags=["c i"])
        yield opened


@pytest.mark.parametrize(
    ("narrow", "found"),
    [
        ({"kind": "Decision"}, {"ql"}), ({"kind": "decisions"}, {"ql"}),
        ({"kind": " DECISIONS "}, {"ql"}), ({"kind": "stories"}, {"ci"}),
        ({"kind": ("Decisions", "Story")}, {"ql", "ci"}), ({"without_kinds": ("Stories",)}, {"ql"}),
        ({"project": "Parcelo"}, {"ql"}), ({"project": "tidetables"}, {"ci"}),
        ({"without_projects": ("PARCELO",)}, {"ci"}), ({"tags": ("graphql",)}, {"ql"}),
        ({"tags": ("Graph QL",)}, {"ql"}), ({"without_tags": (" graphql ",)}, {"ci"}),
        ({"project": "parcelos"}, set()), ({"kind": "decisive"}, set()),
    ],
)  # fmt: skip
def test_case_blanks_and_the_plural_of_a_kind_do_not_matter(
    memory: Recollect, narrow: dict[str, Any], found: set[str]
) -> None:
    filter = Filter(**narrow)
    assert {one.id for one in memory.search("use it", **narrow)} == found
    assert {one.id for one in memory.list(filter)} == found
    assert set(memory.select_ids(filter=filter)) == found
    assert sum(memory.facets(filter).kind.values()) == len(found)
    assert {one.id for one in memory.context(filter=filter).memories} == found
    around = memory.timeline((NOW + timedelta(days=1)).isoformat(), filter=filter)
    assert {entry.memory.id for entry in around.before} == found


@pytest.mark.parametrize(
    ("narrow", "said"),
    [
        ({"kind": "decison"}, "There is no kind 'decison'; did you mean decision?"),
        ({"project": "parcel"}, "There is no project 'parcel'; did you mean parcelo?"),
        ({"tags": ("graph",)}, "There is no tag 'graph'; did you mean GraphQL?"),
        ({"tags": ("ci",)}, "There is no tag 'ci'; did you mean c i?"),
        ({"project": "zzz"}, "There is no project 'zzz'; there are: Tide Tables, parcelo."),
    ],
)  # fmt: skip
def test_a_value_that_no_memory_has_is_told_with_the_near_ones(
    memory: Recollect, narrow: dict[str, Any], said: str
) -> None:
    assert memory.unknown_values(Filter(**narrow)) == [said]
    assert said in memory.search("use it", **narrow).notes
    assert memory.search("use it", kind="story", project="parcelo").notes == ()


def test_a_project_is_saved_as_it_is_spelled_already(memory: Recollect) -> None:
    assert memory.save(id="a", title="A", project="Parcelo").project == "parcelo"
    assert memory.save(id="b", title="B", project=" tide  tables").project == "Tide Tables"
    memory.save(id="c", title="C", project="New")
    assert memory.save(id="d", title="D", project="new").project == "New"
    memory.move(["d"], project="new")  # whoever wants another spelling says so
    assert memory.save(id="e", title="E", project="new").project == "new"
    memory.forget(["a", "b", "c", "d", "e"], purge=True)


def test_a_kind_that_only_the_trash_has_is_found_there(memory: Recollect) -> None:
    memory.save(id="gone", title="Gone", kind="riddle")
    memory.forget(["gone"])
    assert [one.memory.id for one in memory.trash(filter=Filter(kind="Riddles"))] == ["gone"]
    memory.forget(["gone"], purge=True)
