"""The engine as a server uses it: pages, facets, revisions, related memories, changed recipes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from model_server import Fault, ModelServer
from recollect.engine import Recollect
from recollect.errors import Changed, NotFound, ProviderError, UserError
from recollect.lifetime import Lifetime
from recollect.memory_json import revision
from recollect.recipes.learned import Learned
from recollect.recipes.registry import BUILT_IN
from recollect.settings import Embedding, Rerank, SearchSettings, Settings
from recollect.types import Filter, Memory, Place

if TYPE_CHECKING:
    from recollect.models.base import Matrix

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
OFF = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))


def open_vault(
    folder: Path, settings: Settings = OFF, lifetime: Lifetime = Lifetime.LIBRARY
) -> Recollect:
    return Recollect(
        folder / "vault.db",
        home=folder,
        settings=settings,
        environment={},
        clock=lambda: NOW,
        lifetime=lifetime,
    )


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Recollect]:
    with open_vault(tmp_path) as held:
        yield held


def models(server: ModelServer) -> Settings:
    return Settings(
        embedding=Embedding("openai", model="toy", base_url=server.openai_url),
        rerank=Rerank("http", model="toy", base_url=server.url, budget_ms=60_000),
    )


# Revisions


def test_a_revision_differs_with_every_field_and_with_nothing_else(memory: Recollect) -> None:
    one = memory.save(id="a", title="A")
    memory.save(id="B", title="What takes its place")
    seen = {revision(one)}
    assert revision(memory.show(["a"])[0]) in seen
    changes: list[dict[str, object]] = [
        {"title": "B"}, {"text": "B"}, {"context": "B"}, {"why": "B"}, {"impact": "B"},
        {"details": "B"}, {"tags": ["B"]}, {"kind": "B"}, {"severity": "warning"}, {"domain": "B"},
        {"project": "B"}, {"source": "B"}, {"tier": "core"}, {"space": "B"}, {"path": "B"},
        {"created_at": NOW - DAY}, {"updated_at": NOW - DAY}, {"valid_from": NOW},
        {"valid_until": NOW}, {"superseded_by": "B"}, {"archived_at": NOW},
    ]  # fmt: skip
    assert {name for change in changes for name in change} == {*Memory.__struct_fields__} - {"id"}
    for change in changes:
        seen.add(revision(memory.edit("a", **change)))
    assert len(seen) == len(changes) + 1


Write = Callable[[Recollect, str], object]
WRITES: dict[str, Write] = {
    "edit": lambda memory, seen: memory.edit("a", title="Mine", if_revision=seen),
    "tags": lambda memory, seen: memory.edit("a", add_tags=["mine"], if_revision=seen),
    "forget": lambda memory, seen: memory.forget(["a"], if_revision=seen),
    "purge": lambda memory, seen: memory.forget(["a"], purge=True, if_revision=seen),
}


@pytest.mark.parametrize("write", WRITES)
def test_what_changed_meanwhile_is_not_written_over(memory: Recollect, write: str) -> None:
    stale = revision(memory.save(id="a", title="Before"))
    memory.edit("a", title="Theirs")
    before = list(memory.export())
    with pytest.raises(Changed, match="'a' has changed meanwhile"):
        WRITES[write](memory, stale)
    assert list(memory.export()) == before
    WRITES[write](memory, revision(before[0]))
    assert list(memory.export()) != before


def test_of_many_that_are_forgotten_none_is_when_one_has_changed(memory: Recollect) -> None:
    memory.save(id="a", title="A")
    memory.save(id="b", title="B")
    seen = revision(memory.show(["a"])[0])
    for purge in (False, True):
        with pytest.raises(Changed, match="'b'"):
            memory.forget(["a", "b"], purge=purge, if_revision=seen)
        assert {one.id for one in memory.export()} == {"a", "b"}


def test_a_forgotten_memory_is_brought_back_or_purged_by_its_revision(memory: Recollect) -> None:
    seen = revision(memory.save(id="a", title="A"))
    memory.forget(["a"])
    with pytest.raises(NotFound):
        memory.edit("a", title="B", if_revision=seen)
    for purge in (False, True):
        with pytest.raises(Changed):
            memory.forget(["a"], undo=not purge, purge=purge, if_revision="0" * 24)
    memory.forget(["a"], undo=True, if_revision=seen)
    assert revision(memory.show(["a"])[0]) == seen
    memory.forget(["a"])
    memory.forget(["a"], purge=True, if_revision=seen)
    with pytest.raises(NotFound):
        memory.forget(["a"], undo=True)


def test_a_memory_that_is_not_there_is_not_found_whatever_its_revision(memory: Recollect) -> None:
    for write in WRITES.values():
        with pytest.raises(NotFound, match="'a'"):
            write(memory, "0" * 24)


# Related


def test_related_are_others_about_the_same_nearest_first(memory: Recollect) -> None:
    memory.save(id="a", title="Signing keys rotate", text="Every ninety days, by the gateway.")
    memory.save(id="b", title="Signing keys rotate late", text="The gateway was down.")
    memory.save(id="c", title="The gateway signs tokens")
    memory.save(id="d", title="Lunch is at noon")
    found = memory.related("a")
    assert [one.id for one in found] == ["b", "c"]
    assert (found.recipe, found.understood) == ("related", ())
    assert [one.id for one in memory.related("a", limit=1)] == ["b"]
    assert [one.id for one in memory.related("d")] == []


def test_related_is_never_the_memory_itself_and_never_more_than_asked(memory: Recollect) -> None:
    for number in range(9):
        memory.save(id=f"n{number}", text="The same words in every one of them")
    for number in range(9):
        for limit, count in ((None, 5), (1, 1), (8, 8), (100, 8)):
            found = [one.id for one in memory.related(f"n{number}", limit)]
            assert len(found) == count
            assert f"n{number}" not in found
    with pytest.raises(UserError, match="at least 1"):
        memory.related("n0", 0)


@pytest.mark.parametrize(
    "text", ["🙂", "x", "the of", "word " * 5000, '" OR NEAR( *', "last week", "日本語のメモ"]
)
def test_whatever_a_memory_says_it_can_be_asked_what_is_related(
    memory: Recollect, text: str
) -> None:
    memory.save(id="a", text=text)
    memory.save(id="b", text="A word to OR near the last week")
    assert "a" not in [one.id for one in memory.related("a")]


def test_what_is_gone_has_no_relations(memory: Recollect) -> None:
    memory.save(id="a", text="Signing keys")
    memory.save(id="b", text="Signing keys too")
    memory.forget(["a"])
    with pytest.raises(NotFound, match="'a'"):
        memory.related("a")
    assert len(memory.related("b")) == 0


# Lists, facets, dates


def test_pages_go_on_behind_an_id_and_behind_a_place(memory: Recollect) -> None:
    made = [memory.save(id=f"n{n}", title=f"N {n}", updated_at=NOW - n * DAY) for n in range(6)]
    assert memory.list(limit=2) == made[:2]
    assert memory.list(limit=2, after="n1") == made[2:4]
    place = Place(made[1].tier, made[1].updated_at, made[1].id)
    assert memory.list(limit=2, after=place) == made[2:4]
    memory.pin(["n1"])
    memory.forget(["n2"])
    assert memory.list(limit=9, after=place) == made[3:]
    with pytest.raises(NotFound, match="'n2'"):
        memory.list(after="n2")
    with pytest.raises(NotFound, match="'nowhere'"):
        memory.list(after="nowhere")


def test_facets_and_dates_follow_the_filter(memory: Recollect) -> None:
    memory.save(id="a", title="A", project="harbor", tags=["ops"], created_at="1969-12-31T23:59Z")
    memory.save(id="b", title="B", project="tower", valid_until="2026-05-01T00:00Z")
    found = memory.facets()
    assert (found.project, found.tags) == ({"harbor": 1, "tower": 1}, {"ops": 1})
    assert memory.facets(Filter(project="harbor")).project == {"harbor": 1}
    assert memory.dates().made == {date(1969, 12, 31): 1, date(2026, 3, 1): 1}
    assert memory.dates(Filter(project="tower")).expiring == {date(2026, 5, 1): 1}
    for n in range(40):
        memory.save(id=f"n{n}", title=f"Berth {n}", source=f"s{n}", project=f"p{n:02}")
    assert len(memory.facets().source) == 40
    assert len(memory.search("berth", facets=True).facets["source"]) == 40
    [told] = memory.unknown_values(Filter(project="quay"))
    assert told.endswith("there are: harbor, p00, p01, p02, p03 and 37 more.")
    with pytest.raises(UserError, match="project"):
        memory.facets(Filter(project=5))  # type: ignore[arg-type]


def test_a_search_counts_what_all_that_was_found_has_in_common(memory: Recollect) -> None:
    """Not only what is returned, and not what was never found."""
    for number in range(30):
        place = "harbor" if number % 3 else "tower"
        memory.save(id=f"n{number}", text=f"otter number {number}", project=place, tags=["Zoo"])
    memory.save(id="other", text="nothing of the kind", project="elsewhere", kind="task")
    found = memory.search("otter", limit=2, facets=True)
    assert len(found) == 2
    assert {name: found.facets[name] for name in ("project", "kind", "source", "tags")} == {
        "project": {"harbor": 20, "tower": 10},
        "kind": {"fact": 30},
        "source": {},
        "tags": {"Zoo": 30},
    }
    narrowed = memory.search("otter", facets=True, project="tower")
    assert narrowed.facets["project"] == {"tower": 10}
    assert memory.search("otter").facets == {}
    assert memory.search("unheard", facets=True).facets["project"] == {}


# Learned weights


def test_what_was_learned_is_told_from_the_thirtieth_event_on(memory: Recollect) -> None:
    memory.save(id="a", title="otter")
    for _ in range(29):
        memory.feedback("otter", "a", accept=True)
    told = memory.learned_weights("vault").weights
    assert told
    assert all(declared == now for declared, now in told.values())
    memory.feedback("otter", "a", accept=True)
    told = memory.learned_weights("vault").weights
    assert told["semantic"] == pytest.approx((0.4, 0.55))
    assert all(now <= declared for name, (declared, now) in told.items() if name != "semantic")
    assert sum(now for _, now in told.values()) == pytest.approx(1)
    [found] = memory.search("otter", recipe="vault")
    weights = {part.name: part.weight for part in found.explain.parts}
    assert {name: now for name, (_, now) in told.items()} == pytest.approx(weights)


@pytest.mark.parametrize("recipe", [name for name in BUILT_IN if name not in ("vault", "blend")])
def test_recipes_that_do_not_learn_have_learned_nothing(memory: Recollect, recipe: str) -> None:
    assert memory.learned_weights(recipe) == Learned(recipe=recipe)
    with pytest.raises(NotFound, match="'nowhere'"):
        memory.learned_weights("nowhere")


# Changed recipes

CHANGES = {"stages.bonus.signals.importance.weight": 50.0, "limits.default": 2}


def answer(memory: Recollect, **how: object) -> list[tuple[str, float]]:
    return [(one.id, one.score) for one in memory.search("otter", **how)]


def test_a_changed_search_is_the_search_of_the_saved_recipe(memory: Recollect) -> None:
    memory.save(id="a", title="otter otter", text="otter")
    memory.save(id="b", text="Beavers, and much else beside an otter", severity="critical")
    memory.save(id="c", text="Badgers, foxes and much else beside one otter")
    for number in range(9):
        memory.save(id=f"n{number}", title=f"Note {number}")
    plain = answer(memory)
    changed = answer(memory, changes=CHANGES)
    assert changed[0][0] == "b" != plain[0][0]
    assert (len(plain), len(changed)) == (3, 2)
    assert answer(memory) == plain, "For that search alone."
    assert answer(memory, changes={}) == plain
    saved = memory.save_recipe("mine", extends="blend", changes=CHANGES)
    assert (saved.name, saved.limits.default) == ("mine", 2)
    assert answer(memory, recipe="mine") == changed
    more = {"limits.default": 1}
    assert answer(memory, recipe="mine", changes=more) == changed[:1]
    assert memory.search("otter", changes=CHANGES).recipe == "blend"


def test_changes_go_to_the_recipe_that_is_the_default(tmp_path: Path) -> None:
    settings = Settings(OFF.embedding, OFF.rerank, SearchSettings(recipe="router"))
    with open_vault(tmp_path, settings) as memory:
        memory.save(id="a", text="otter")
        memory.save(id="b", text="otter too")
        assert len(memory.search("otter", changes={"limits.default": 1})) == 1
        with pytest.raises(UserError, match=r"router: stages\.bonus"):
            memory.search("otter", changes=CHANGES)


def test_a_changed_recipe_that_is_refused_says_which_constant(memory: Recollect) -> None:
    with pytest.raises(UserError, match=r"limits\.default cannot be 0"):
        memory.search("otter", changes={"limits.default": 0})
    with pytest.raises(UserError, match=r"limits\.default cannot be 0"):
        memory.save_recipe("mine", extends="blend", changes={"limits.default": 0})
    assert "mine" not in memory.recipes.names()


# Times


@pytest.mark.parametrize("name", list(BUILT_IN))
def test_every_stage_has_its_time_and_together_they_are_the_stages(
    memory: Recollect, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a clock that ticks at every look: what is measured is the sum, not the machine."""
    memory.save(id="a", title="otter", tags=["otter"])
    ticks = iter(range(10**9))
    monkeypatch.setattr("recollect.context.time.perf_counter", lambda: next(ticks) / 1000)
    told = memory.search("otter", recipe=name).timings_ms
    stages = [stage.name for stage in BUILT_IN[name].stages]
    parts = [part.removeprefix("stages.") for part in told if part.startswith("stages.")]
    assert parts == stages
    inside = sum(told[f"stages.{stage}"] for stage in stages)
    # A tick passes before each stage, and one behind the last.
    assert told["stages"] == pytest.approx(inside + len(stages) + 1)
    assert told["total"] >= told["stages"]


# Warming up


class Local:
    """A model in this process that can be asked, and one that cannot."""

    identity = "toy:local"
    local = True

    def __init__(self, *, fails: bool) -> None:
        self.fails = fails
        self.asked: list[str] = []

    def warm(self) -> bool:
        return bool(self.asked)

    def queries(self, texts: Sequence[str]) -> Matrix:
        self.asked += texts
        if self.fails:
            raise ProviderError("Its file is damaged.", transient=False)
        return np.ones((len(texts), 1), np.float32)

    documents = queries


@pytest.mark.parametrize("fails", [False, True])
def test_warming_up_asks_a_model_of_this_process(
    memory: Recollect, fails: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    local = Local(fails=fails)
    monkeypatch.setitem(memory.models.__dict__, "_embedder", local)
    memory.warm_up()
    assert local.warm()


def test_warming_up_does_not_wake_a_remote_model(tmp_path: Path) -> None:
    with (
        ModelServer() as server,
        open_vault(tmp_path, models(server), lifetime=Lifetime.SERVER) as memory,
    ):
        memory.warm_up()
        assert server.requests == []


def test_warming_up_never_raises(tmp_path: Path) -> None:
    with open_vault(tmp_path) as memory:
        memory.warm_up()
    gone = Settings(OFF.embedding, OFF.rerank, SearchSettings(recipe="nowhere"))
    with open_vault(tmp_path, gone) as memory:
        memory.warm_up()
    unnamed = Settings(Embedding(provider="openai"), OFF.rerank)
    with open_vault(tmp_path, unnamed) as memory:
        memory.warm_up()
    with ModelServer() as server:
        for fault in Fault:
            server.fault = fault
            settings = models(server)
            with open_vault(tmp_path, settings) as memory:
                memory.warm_up()


def test_a_lasting_engine_asks_the_reranker_once(tmp_path: Path) -> None:
    with (
        ModelServer() as server,
        open_vault(tmp_path, models(server), lifetime=Lifetime.SERVER) as memory,
    ):
        memory.save(id="a", title="otter", text="The otter swims in the harbor")
        memory.save(id="b", title="beaver", text="The beaver swims in the river")
        memory.embed_now()
        first = memory.search("who swims in the water")
        read = [one for one in server.requests if "documents" in one.body]
        again = memory.search("who swims in the water", changes={"stages.rerank.weight": 0.5})
        assert len(first) == len(again) == 2
        assert first.results[0].score != again.results[0].score
        assert [one for one in server.requests if "documents" in one.body] == read
        assert len(read) == 1
