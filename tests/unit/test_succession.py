"""One memory in the place of another: links, chains, and what a search makes of them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from recollect import Recollect
from recollect.errors import NotFound, UserError
from recollect.ingest.draft import make_draft
from recollect.recipes.registry import BUILT_IN
from recollect.settings import Embedding, Rerank, Settings, VaultSettings
from recollect.types import Filter

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
OFF = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Recollect]:
    with Recollect(
        tmp_path / "vault.db", home=tmp_path, settings=OFF, environment={}, clock=lambda: NOW
    ) as opened:
        opened.save(id="old", title="Deploys run on Jenkins", text="The server is called moby.")
        opened.save(id="new", title="Buildkite runs our pipelines")
        opened.save(id="newest", title="GitHub Actions build everything")
        yield opened


def found(memory: Recollect, query: str, **fields: object) -> list[str]:
    return [result.id for result in memory.search(query, **fields)]


def test_the_old_one_gets_a_link_and_ends_now(memory: Recollect) -> None:
    after = memory.supersede("old", "new")
    assert (after.superseded_by, after.valid_until) == ("new", NOW)
    assert after == memory.show(["old"])[0]


def test_what_ended_earlier_keeps_its_end(memory: Recollect) -> None:
    earlier = NOW - timedelta(days=9)
    memory.edit("old", valid_until=earlier)
    assert memory.supersede("old", "new").valid_until == earlier
    memory.edit("new", valid_until=NOW + timedelta(days=9))
    assert memory.supersede("new", "newest").valid_until == NOW


def test_a_search_that_finds_the_old_one_alone_answers_with_the_new_one_first(
    memory: Recollect,
) -> None:
    assert found(memory, "Jenkins") == ["old"]
    memory.supersede("old", "new")
    first, second = memory.search("Jenkins")
    assert (first.id, second.id) == ("new", "old")
    assert [each.id for each in first.replaces] == ["old"]
    assert second.superseded_by is not None
    assert second.superseded_by.id == "new"
    assert "replaces old" in str(first.explain)


def test_a_chain_leads_to_the_newest_that_is_valid(memory: Recollect) -> None:
    memory.supersede("old", "new")
    memory.supersede("new", "newest")
    assert found(memory, "Jenkins") == ["newest", "old"]
    memory.edit("newest", valid_until=NOW - timedelta(days=1))
    memory.edit("new", valid_until=None)
    assert found(memory, "Jenkins") == ["new", "old"]
    chain = memory.chain("new")
    assert [each.id for each in chain.replaces] == ["old"]
    assert [each.id for each in chain.replaced_by] == ["newest"]
    assert [each.id for each in memory.chain("newest").replaces] == ["new", "old"]


def test_a_filter_holds_for_what_a_link_leads_to(memory: Recollect) -> None:
    memory.edit("old", project="site")
    memory.supersede("old", "new")
    assert found(memory, "Jenkins", filter=Filter(project="site")) == ["old"]


def test_a_question_about_the_past_wants_the_old_one_first(memory: Recollect) -> None:
    memory.supersede("old", "new")
    assert found(memory, "what did we use before for deploys on Jenkins")[0] == "old"
    assert found(memory, "Jenkins", include_expired=True) == ["old"]


@pytest.mark.parametrize("recipe", ["vault", "echovault", "router", "covalence"])
def test_documented_rankings_stay_and_name_what_links_say(memory: Recollect, recipe: str) -> None:
    assert recipe in BUILT_IN
    memory.supersede("old", "new")
    memory.save(id="other", title="Jenkins plugins")
    answer = {result.id: result for result in memory.search("Jenkins deploys", recipe=recipe)}
    assert "new" not in answer
    assert answer["old"].superseded_by == memory.show(["new"])[0]


def test_a_context_has_the_new_one_in_the_place_of_the_old_one(memory: Recollect) -> None:
    memory.supersede("old", "new")
    context = memory.context("Jenkins", topup_recent=False)
    assert [each.id for each in context.memories] == ["new"]


def test_a_cycle_is_refused_however_long_it_is(memory: Recollect) -> None:
    with pytest.raises(UserError, match="cannot replace itself"):
        memory.supersede("old", "old")
    memory.supersede("old", "new")
    memory.supersede("new", "newest")
    refused = pytest.raises(UserError, match="'newest' already replaces 'old'")
    with refused:
        memory.supersede("newest", "old")
    with refused:
        memory.edit("newest", superseded_by="old")
    with refused:
        memory.save(id="newest", title="x", superseded_by="old")
    assert memory.show(["newest"])[0].superseded_by == ""


def test_a_cycle_that_was_imported_ends_no_search(memory: Recollect) -> None:
    with memory.session.writing("import") as write:
        stored = write.find(["old", "new"])
        write.replace(stored["old"], replace(stored["old"].memory, superseded_by="new"))
        write.replace(stored["new"], replace(stored["new"].memory, superseded_by="old"))
    assert set(found(memory, "Jenkins")) == {"old", "new"}
    assert [each.id for each in memory.chain("old").replaced_by] == ["new"]


def test_there_must_be_both(memory: Recollect) -> None:
    for pair in (("old", "nothing"), ("nothing", "new")):
        with pytest.raises(NotFound, match="'nothing'"):
            memory.supersede(*pair)
    memory.forget(["new"])
    with pytest.raises(NotFound, match="'new'"):
        memory.supersede("old", "new")


def test_saving_puts_a_memory_in_the_place_of_others(memory: Recollect) -> None:
    made = memory.save(title="Deploys run on Actions", supersedes=["old", "new"])
    assert {each.id for each in memory.chain(made.id).replaces} == {"old", "new"}
    assert memory.show(["old"])[0].valid_until == NOW


def test_what_nearly_repeats_what_it_replaces_is_a_memory_of_its_own(memory: Recollect) -> None:
    again = {"title": "Deploys run on Jenkins", "text": "The server is called moby 2."}
    made = memory.save(**again, supersedes=["old"])
    assert made.id != "old"
    assert memory.show(["old"])[0].superseded_by == made.id


def test_saving_in_the_place_of_nothing_saves_nothing(memory: Recollect) -> None:
    with pytest.raises(NotFound, match="'nothing'"):
        memory.save_all([make_draft({"id": "x", "title": "X"}, supersedes=["nothing"])])
    with pytest.raises(NotFound):
        memory.show(["x"])


def test_what_a_forgotten_memory_replaced_stands_alone_until_it_is_back(memory: Recollect) -> None:
    memory.supersede("old", "new")
    memory.forget(["new"])
    [result] = memory.search("Jenkins")
    assert result.superseded_by is None
    memory.forget(["new"], undo=True)
    assert found(memory, "Jenkins") == ["new", "old"]


# Several as one


@pytest.fixture
def twins(memory: Recollect) -> Recollect:
    memory.save(
        id="a", title="Lunch is at noon", text="In the canteen.", tags=["team"], severity="warning"
    )
    memory.save(
        id="b", title="We eat at twelve", text="in  the CANTEEN.", tags=["team", "food"],
        kind="habit", why="The kitchen closes at two.", tier="core", project="office",
        created_at=NOW - timedelta(days=9), severity="critical", valid_until=NOW,
    )  # fmt: skip
    return memory


def test_merging_keeps_what_any_of_them_says(twins: Recollect) -> None:
    kept = twins.merge(["a", "b"])
    assert (kept.id, kept.title) == ("a", "Lunch is at noon")
    assert kept.text == "We eat at twelve\nin  the CANTEEN."
    assert (kept.why, kept.kind, kept.project) == ("The kitchen closes at two.", "habit", "office")
    assert (kept.tags, kept.tier, kept.severity) == (("team", "food"), "core", "critical")
    assert (kept.created_at, kept.updated_at) == (NOW - timedelta(days=9), NOW)
    assert kept.valid_until is None, "one of them has no end"
    assert [each.id for each in twins.list(Filter(tags=("team",)))] == ["a"]


def test_an_id_that_was_merged_is_answered_with_the_merged_memory(twins: Recollect) -> None:
    twins.merge(["a"], into="b")
    twins.merge(["new", "b"])
    [found] = twins.locate(["a"])
    assert (found.asked, found.memory.id) == ("a", "new")
    assert [each.id for each in twins.show(["b", "new"])] == ["new", "new"]
    twins.forget(["new"])
    with pytest.raises(NotFound):
        twins.show(["a"])


def test_links_to_what_was_merged_lead_to_the_merged_memory(twins: Recollect) -> None:
    twins.supersede("old", "a")
    twins.supersede("new", "b")
    twins.supersede("b", "a")
    twins.merge(["b", "a"])
    assert [twins.show([id])[0].superseded_by for id in ("old", "new", "b")] == ["b", "b", ""]


def test_a_merge_is_one_write_and_all_or_nothing(twins: Recollect) -> None:
    with pytest.raises(NotFound, match="'nothing'"):
        twins.merge(["a", "b", "nothing"])
    assert len(twins.show(["a", "b"])) == 2
    twins.merge(["a", "b"])
    last = [twins.store.history.versions(id)[0] for id in ("a", "b")]
    assert {(each.action, each.target) for each in last} == {("merge", "a")}
    assert last[0].write == last[1].write


def test_a_memory_is_not_merged_with_itself(twins: Recollect) -> None:
    for ids, into in ((["a"], None), (["a", "a"], None), (["a"], "a"), ([], "a")):
        with pytest.raises(UserError, match="Name two or more memories to merge"):
            twins.merge(ids, into=into)


def test_a_memory_of_another_vault_is_neither_merged_nor_linked(
    twins: Recollect, tmp_path: Path
) -> None:
    team = tmp_path / "team.db"
    with Recollect(team, home=tmp_path, settings=OFF, environment={}) as other:
        other.save(id="theirs", title="Lunch of the team")
    settings = Settings(
        embedding=OFF.embedding,
        rerank=OFF.rerank,
        vaults=(VaultSettings(name="team", tier="team", path=str(team)),),
    )
    with Recollect(home=tmp_path, settings=settings, environment={}) as memory:
        for change in (
            partial(memory.merge, ["a", "theirs"]),
            partial(memory.supersede, "theirs", "a"),
            partial(memory.supersede, "a", "theirs"),
        ):
            with pytest.raises(NotFound, match="not yours but in 'team'"):
                change()
        assert memory.show(["a"])[0].superseded_by == ""
