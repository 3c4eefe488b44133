"""Capabilities in the engine: every public method declares them, and they are checked first."""

from __future__ import annotations

import ast
import inspect
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import cached_property, partial
from itertools import chain, combinations
from operator import methodcaller
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from recollect import Recollect
from recollect.auth.capabilities import (
    ADMIN,
    CAPABILITIES,
    DELETE,
    NOBODY,
    OWNER,
    SEARCH,
    WRITE,
    Caller,
)
from recollect.engine.capture import AgentSession
from recollect.engine.operations import Operation, declared_function
from recollect.engine.review import ReviewItem
from recollect.errors import Forbidden, NotFound
from recollect.ingest.draft import make_draft
from recollect.ingest.exchange import raw_lines
from recollect.recipes.registry import BUILT_IN
from recollect.store.folders import Folder
from recollect.times import EPOCH
from recollect.types import Filter, Memory

SOURCE = Path(inspect.getfile(Recollect)).parents[1]
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
SAID = "the harbour master keeps the tide tables"
EVERY = [
    frozenset(some)
    for some in chain.from_iterable(
        combinations(CAPABILITIES, size) for size in range(len(CAPABILITIES) + 1)
    )
]
# They do not touch the vault for any caller.
FREE = {"acting_as", "require", "may", "close", "now", "models", "read_only"}
# A few files, and a folder that was never added.
NOTES = Path(__file__).parents[2] / "plugins/importers/fixtures/basic-memory"
NOWHERE = Folder(0, "/nowhere", "nowhere", redact=True, followed=False, files=0)
NO_ITEM = ReviewItem("no-item", "policy", "", 1.0, "keep", ("keep",), "", ())
KEPT = Memory(id="kept", title="Tide tables", created_at=EPOCH, updated_at=EPOCH)
# Every other public name, as it is called here. One that is missing fails a test.
WITHOUT_ARGUMENTS = """
    empty_trash count_trash pulse activity active_clients history_begins unlearn judgements
    recipe list facets dates duplicates review tidy tidy_daily opinions list_recipes
    learned_weights export export_all export_salvaged coverage stats waiting reindex
    model_notes language_note doctor list_settings known_places measure configuration backup
    warm_up dependencies embed_now folders
"""
ON_AN_ID = "chain history timeline related mark"
ON_IDS = "pin unpin forget retrieve show locate resolve_names usage"
CALLS: dict[str, Callable[[Recollect], Any]] = {
    **{name: methodcaller(name) for name in WITHOUT_ARGUMENTS.split()},
    **{name: methodcaller(name, "kept") for name in ON_AN_ID.split()},
    **{name: methodcaller(name, ["kept"]) for name in ON_IDS.split()},
    "save": lambda memory: memory.save(title="Another one"),
    "save_all": lambda memory: memory.save_all([make_draft({"title": "Another one"})]),
    "capture": lambda memory: memory.capture([], AgentSession("codex", "s1", "")),
    "import_lines": lambda memory: memory.import_lines(raw_lines([b'{"title": "Imported"}\n'])),
    "edit": lambda memory: memory.edit("kept", severity="warning"),
    "edit_all": lambda memory: memory.edit_all(["kept"], severity="warning"),
    "tag": lambda memory: memory.tag(["kept"], add=["tides"]),
    "move": lambda memory: memory.move(["kept"], project="harbor"),
    "supersede": lambda memory: _try(partial(memory.supersede, "kept"), "nothing"),
    "merge": lambda memory: _try(memory.merge, ["kept", "nothing"]),
    "trash": lambda memory: memory.trash("tides"),
    "select_in_trash": lambda memory: memory.select_in_trash(query="tides"),
    "restore": lambda memory: _try(memory.restore, ["kept"]),
    "select_ids": lambda memory: memory.select_ids(query="tide tables"),
    "similar": lambda memory: memory.similar(KEPT),
    "undo": lambda memory: memory.undo("kept", to=1),
    "redo": lambda memory: _try(lambda _: memory.redo(), ""),
    "feedback": lambda memory: memory.feedback("tides", "kept", accept=True),
    "feedback_on": lambda memory: memory.feedback_on("tides", ["kept"]),
    "search": lambda memory: memory.search("tide tables"),
    "run_recipe": lambda memory: memory.run_recipe(BUILT_IN["blend"], "tide tables"),
    "deferral": lambda memory: memory.deferral("tide tables"),
    "overview": lambda memory: memory.overview(None, 3),
    "unknown_values": lambda memory: memory.unknown_values(Filter(project="harbor")),
    "list_ending": lambda memory: memory.list_ending(since=memory.now(), until=memory.now()),
    "in_file": lambda memory: memory.in_file(KEPT),
    "decide": lambda memory: _try(partial(memory.decide, decision="keep"), "no-item"),
    "settle": lambda memory: memory.settle(NO_ITEM, "keep"),
    "propose": lambda memory: _try(partial(memory.propose, decision="keep"), "no-item"),
    "decide_or_propose": lambda memory: _try(
        partial(memory.decide_or_propose, decision="keep"), "no-item"
    ),
    "describe_recipe": lambda memory: memory.describe_recipe("blend"),
    "context": lambda memory: memory.context("tides"),
    "save_recipe": lambda memory: memory.save_recipe(
        "mine", extends="blend", changes={}, replace=True
    ),
    "remove_recipe": lambda memory: _try(memory.remove_recipe, "no-recipe"),
    "rename_recipe": lambda memory: _try(partial(memory.rename_recipe, name="o"), "none"),
    "switch_model": lambda memory: memory.switch_model(memory.models),
    "unlock": lambda memory: memory.unlock("none is needed"),
    "complete_ids": lambda memory: memory.complete_ids(["kep"]),
    "ids_by_mark": lambda memory: memory.ids_by_mark(["0"]),
    "publish": lambda memory: memory.publish(["kept"], "shared"),
    "unpublish": lambda memory: memory.unpublish(["kept"], "shared"),
    "add_folder": lambda memory: memory.add_folder(NOTES),
    "add_instructions": lambda memory: _try(memory.add_instructions, NOTES),
    "add_transcripts": lambda memory: _try(
        lambda path: memory.add_transcripts(path, "codex"), NOTES.parent / "nowhere"
    ),
    "sync_folder": lambda memory: _try(memory.sync_folder, NOWHERE),
    "remove_folder": lambda memory: _try(memory.remove_folder, NOTES),
    "follow_folders": lambda memory: memory.follow_folders(_set_event()),
    "mirror": lambda memory: memory.mirror(NOTES, dry_run=True),
    "follow_mirror": lambda memory: memory.follow_mirror(NOTES, _set_event(), print),
}


def _try(call: Callable[[Any], Any], given: object) -> None:
    """It may be allowed where there is nothing to do it with."""
    with suppress(NotFound):
        call(given)


def _set_event() -> threading.Event:
    """So that what would follow for ever ends at once."""
    stop = threading.Event()
    stop.set()
    return stop


def public() -> dict[str, Any]:
    """Every public method and property, as its function."""
    found: dict[str, Any] = {}
    for name, member in vars(Recollect).items():
        if name.startswith("_") or isinstance(member, str):
            continue
        behind = member.fget if isinstance(member, property) else member
        found[name] = behind.func if isinstance(behind, cached_property) else behind
    return found


def needs(method: Any) -> frozenset[str]:
    """Return the capabilities that a method declares; none where it declares nothing."""
    if not hasattr(method, "function"):
        return frozenset()
    declared: Operation = getattr(declared_function(method), "operation")  # noqa: B009
    return declared.needs


@pytest.fixture
def home(tmp_path: Path) -> Path:
    shared = tmp_path / "shared.db"
    (tmp_path / "config.toml").write_text(
        '[embedding]\nprovider = "none"\n[rerank]\nprovider = "none"\n'
        f'[[collections]]\nname = "shared"\npath = "{shared}"\n',
        encoding="utf-8",
    )
    return tmp_path


@pytest.fixture
def engine(home: Path) -> Iterator[Recollect]:
    with Recollect(home=home, environment={}) as opened:
        opened.save(id="kept", title="Tides", text=SAID)
        opened.publish(["kept"], "shared")
        yield opened


def caller(*capabilities: str, **more: Any) -> Caller:
    return Caller(name="somebody", capabilities=frozenset(capabilities), **more)


def dump(engine: Recollect) -> list[Any]:
    """Everything that a call could change."""
    exported = [*engine.export()]
    return [exported, engine.opinions(), sorted(engine.recipes.names())]


# What is declared


def test_every_public_method_and_property_declares_what_it_needs() -> None:
    assert public().keys() > FREE
    for name, behind in public().items():
        assert name in FREE or needs(behind), f"{name} needs @operation(…)"
        assert needs(behind) <= CAPABILITIES.keys()


def test_every_public_method_is_tried_here() -> None:
    assert CALLS.keys() | FREE == public().keys()
    assert not any(needs(public()[name]) for name in FREE)


def test_nothing_but_the_engine_reaches_into_the_store() -> None:
    """An interface that did would pass every check by."""
    files = sorted((SOURCE / "interfaces").rglob("*.py"))
    assert files
    for file in files:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr in ("store", "_background"):
                assert file.parent.name == "cli", f"{file.name}, line {node.lineno}"


@pytest.mark.parametrize("given", EVERY, ids=lambda given: "+".join(sorted(given)) or "nothing")
def test_a_method_is_allowed_exactly_where_its_needs_are_met(
    engine: Recollect, given: frozenset[str]
) -> None:
    view = engine.acting_as(caller(*given))
    for name, call in CALLS.items():
        needed = needs(public()[name])
        if needed <= given:
            call(view)
            engine.save(id="kept", title="Tides", text=SAID)  # what was forgotten is back
            engine.publish(["kept"], "shared")
            continue
        before = dump(engine)
        with pytest.raises(Forbidden) as refused:
            call(view)
        assert str(refused.value) in {
            f"This needs {one}, which this caller may not do." for one in needed - given
        }
        assert dump(engine) == before


@pytest.mark.parametrize("vaults", [frozenset(), frozenset({"team"})])
def test_a_caller_of_another_vault_gets_nowhere(engine: Recollect, vaults: frozenset[str]) -> None:
    view = engine.acting_as(caller(*CAPABILITIES, vaults=vaults))
    before = dump(engine)
    for call in CALLS.values():
        with pytest.raises(Forbidden, match="may not use the vault 'agent'"):
            call(view)
    assert dump(engine) == before
    allowed = engine.acting_as(caller(SEARCH, vaults=vaults | {"agent"}))
    assert allowed.show(["kept"])[0].text == SAID


def test_it_is_refused_before_the_database_is_touched(
    engine: Recollect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And before arguments are looked at: what is wrong with them could tell what is there."""
    view = engine.acting_as(NOBODY)
    for name in ("store", "recipes", "settings"):
        monkeypatch.delattr(view, name)
    nothing: Any = None
    view.session = structs.replace(
        view.session, store=nothing, models=nothing, recipes=nothing, settings=nothing
    )
    for call in CALLS.values():
        with pytest.raises(Forbidden):
            call(view)


def test_whether_a_memory_is_there_is_not_told(engine: Recollect) -> None:
    view = engine.acting_as(caller(ADMIN))
    told = set()
    for id in ("kept", "nobody"):
        for call in (view.show, view.forget, view.pin):
            with pytest.raises(Forbidden) as refused:
                call([id])
            told.add(str(refused.value))
    assert len(told) == 3  # one for each capability, none for an id


def test_a_vault_that_a_search_names_must_be_within_reach(engine: Recollect) -> None:
    view = engine.acting_as(caller(SEARCH, vaults=frozenset({"agent"})))
    with pytest.raises(Forbidden, match="'team'"):
        view.search("tides", vaults=["team"])
    with pytest.raises(NotFound):
        engine.search("tides", vaults=["team"])


def test_collections_are_limited_too(engine: Recollect) -> None:
    engine.forget(["kept"])
    everywhere = engine.acting_as(caller(SEARCH))
    nowhere = engine.acting_as(caller(SEARCH, collections=frozenset({"other"})))
    assert [one.id for one in everywhere.search("tide tables")] == ["shared:kept"]
    assert [one.id for one in nowhere.search("tide tables")] == []


# Acting as another caller


def test_a_view_shares_everything_and_closes_nothing(engine: Recollect) -> None:
    with engine.acting_as(caller(SEARCH)) as view:
        assert view.store is engine.store
        assert view.models is engine.models
        assert view.session.others is engine.session.others
    assert engine.show(["kept"])
    assert engine.caller == OWNER


def test_acting_for_somebody_adds_nothing(engine: Recollect) -> None:
    small = engine.acting_as(caller(SEARCH, vaults=frozenset({"agent"}), token="abc"))
    again = small.acting_as(OWNER)
    assert again.caller.capabilities == {SEARCH}
    assert again.caller.vaults == frozenset({"agent"})
    assert again.caller.token == "abc"
    assert small.acting_as(caller(WRITE)).caller.capabilities == frozenset()


def test_who_may_write_and_not_read_is_handed_nothing_back(engine: Recollect) -> None:
    view = engine.acting_as(caller(WRITE))
    told = [
        view.edit("kept", severity="warning"),
        *view.pin(["kept"]),
        view.save(id="kept", title="Tides", kind="decision"),
    ]
    assert {(memory.id, memory.title, memory.text) for memory in told} == {("kept", "", "")}
    assert view.save(title="New").title == "New"  # it said so itself
    [kept] = engine.show(["kept"])
    assert (kept.text, kept.severity, kept.tier, kept.kind) == (SAID, "warning", "core", "decision")


def test_saving_embeds_whoever_saves(home: Path) -> None:
    (home / "config.toml").write_text('[rerank]\nprovider = "none"\n', encoding="utf-8")
    with Recollect(home=home, environment={}) as engine:
        engine.acting_as(caller(WRITE)).save(id="kept", title="Tides")
        give_up = time.monotonic() + 60
        while engine.waiting():  # the vector follows in the background
            assert time.monotonic() < give_up
            time.sleep(0.01)


def test_an_import_forgets_only_for_those_who_may(engine: Recollect) -> None:
    lines = [b'{"id": "kept", "title": "Tides", "forgotten_at": "2026-01-01"}\n']
    with pytest.raises(Forbidden):
        engine.acting_as(caller(WRITE)).import_lines(raw_lines(lines))
    assert [memory.id for memory in engine.export()] == ["kept"]
    engine.acting_as(caller(WRITE, DELETE)).import_lines(raw_lines(lines))
    assert [*engine.export()] == []
