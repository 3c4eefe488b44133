"""The tools besides search: similar memories, long notes, undo, missing ids, the list, review."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp_sessions import McpSession, connect, open_engine, text_of

from recollect import Recollect
from recollect.interfaces.mcp.server import build

NOTE = "# Gate\n\n## Keys\n\nAt the desk.\n\n## History\n\nBuilt in 1901."


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Recollect]:
    with open_engine(tmp_path) as memory:
        for day, id in enumerate(("first", "second", "third", "fourth"), start=1):
            at = f"2026-02-{day:02}"
            tier = "core" if id == "second" else "capture"
            memory.save(id=id, title=f"The {id}", created_at=at, updated_at=at, tier=tier)
        yield memory


@pytest.fixture
def session(engine: Recollect) -> Iterator[McpSession]:
    with connect(build(lambda ctx: engine, tools="all"), "2026-07-28") as held:
        yield held


def test_a_save_is_answered_with_what_it_is_similar_to(session: McpSession) -> None:
    saved = session.call("memory_save", title="the FIRST", options={"id": "again"})
    assert saved.structured_content["similar"] == [
        {"id": "first", "title": "The first", "why": "same words"}
    ]
    assert "Same words as first > The first" in text_of(saved)
    assert "similar" not in session.answer("memory_save", title="Quite another thing")


def test_a_save_that_names_what_it_supersedes_takes_its_place(
    session: McpSession, engine: Recollect
) -> None:
    saved = session.answer("memory_save", title="The new first", supersedes="first")
    assert engine.show(["first"])[0].superseded_by == saved["id"]
    assert "similar" not in saved
    whole = text_of(session.call("memory_retrieve", ids=["first"]))
    assert f"Replaced by {saved['id']}" in whole


def test_a_link_to_the_successor_leaves_the_age_and_is_shown_wherever_memories_are_listed(
    session: McpSession, engine: Recollect
) -> None:
    then = "2025-05-01T00:00:00Z"
    for id, more in {"jenkins": {}, "fax": {"valid_until": "2025-06-01"}}.items():
        engine.save(id=id, title=f"We use the {id}", project="ci", updated_at=then, **more)
    engine.save(id="buildkite", title="We use Buildkite", project="ci")
    changed = session.answer("memory_update", id="jenkins", superseded_by="buildkite")
    assert changed["updated_at"] == then
    assert set(changed["changed"]) == {"superseded_by", "valid_until"}
    listed = session.call("memory_list", project="ci")
    assert listed.structured_content is not None
    rows = {row["id"]: row for row in listed.structured_content["memories"]}
    assert rows["jenkins"] | {"expired": True, "superseded_by": "buildkite"} == rows["jenkins"]
    assert rows["fax"]["expired"] is True
    assert not {"expired", "superseded_by"} & {*rows["buildkite"]}
    assert " · replaced by buildkite · jenkins" in text_of(listed)
    assert " · expired 2025-06-01 · fax" in text_of(listed)
    around = session.call("memory_timeline", around="buildkite", project="ci")
    assert around.structured_content is not None
    before = {row["id"]: row for row in around.structured_content["before"]}
    assert before["jenkins"]["superseded_by"] == "buildkite"
    assert before["fax"]["expired"] is True
    assert "jenkins (replaced by buildkite) > We use the jenkins" in text_of(around)
    assert "fax (expired 2025-06-01) > We use the fax" in text_of(around)
    for view in ({}, {"view": "snippet"}):
        asked = {"query": "what do we use", "project": "ci", "include_expired": True, **view}
        found = {one["id"]: one for one in session.answer("memory_search", **asked)["results"]}
        assert found["jenkins"]["superseded_by"] == "buildkite"
    cleared = session.answer("memory_update", id="jenkins", clear=["superseded_by", "valid_until"])
    assert cleared["updated_at"] == then


def test_a_long_note_changes_in_parts_and_a_change_is_undone(
    session: McpSession, engine: Recollect
) -> None:
    engine.save(id="gate", text=NOTE)
    assert session.answer("memory_update", id="gate", append="Sold.")["changed"] == ["text"]
    session.answer("memory_update", id="gate", section="Keys", text="With Ada.")
    assert engine.show(["gate"])[0].text == NOTE.replace("At the desk", "With Ada") + "\n\nSold."
    told = session.call_error("memory_update", id="gate", section="Doors", text="x")
    assert told.endswith("there are: Gate, Keys, History.")
    undone = session.call("memory_update", id="gate", undo=True)
    assert undone.structured_content == {"id": "gate", "changed": [], "undone": "edit"}
    assert text_of(undone).startswith("Undone: edit of ")
    assert engine.show(["gate"])[0].text == f"{NOTE}\n\nSold."
    assert "no other change" in session.call_error("memory_update", id="gate", undo=True, text="x")


def test_what_is_there_is_retrieved_and_what_is_not_is_named(
    session: McpSession, engine: Recollect
) -> None:
    engine.forget(["third"])
    engine.merge(["first", "second"])
    found = session.call("memory_retrieve", ids=["second", "third", "fourtx", "zzz"])
    assert not found.is_error
    assert [each["id"] for each in found.structured_content["memories"]] == ["first"]
    why = {each["id"]: each["why"] for each in found.structured_content["missing"]}
    assert why["third"].startswith("The memory 'third' was forgotten on 2026-03-01")
    assert why["fourtx"] == "There is no memory 'fourtx'; the nearest: fourth."
    assert why["zzz"] == "There is no memory 'zzz'."
    assert "which second was merged into" in text_of(found)
    assert why["fourtx"] in text_of(found)
    assert "nearest: fourth" in session.call_error("memory_retrieve", ids="fourtx")


def test_a_list_has_the_newest_first_and_core_memories_first_where_asked(
    session: McpSession,
) -> None:
    newest = [row["id"] for row in session.answer("memory_list")["memories"]]
    assert newest == ["fourth", "third", "second", "first"]
    page = session.answer("memory_list", limit=3)
    assert [row["id"] for row in page["memories"]] == newest[:3]
    rest = session.answer("memory_list", limit=3, after=page["next"])
    assert [row["id"] for row in rest["memories"]] == newest[3:]
    by_tier = session.answer("memory_list", options={"order": "tier"})["memories"]
    assert by_tier[0]["id"] == "second"


def test_a_timeline_tells_what_was_saved_before_and_after(session: McpSession) -> None:
    found = session.call("memory_timeline", around="third", limit=1)
    told = found.structured_content
    assert (told["around"], told["at"]) == ("third", "2026-02-03T00:00:00Z")
    assert [entry["id"] for entry in told["before"] + told["after"]] == ["second", "fourth"]
    assert text_of(found).splitlines()[1:] == [
        "2026-02-02 00:00 saved second > The second",
        "= 2026-02-03 00:00 saved third > The third",
        "2026-02-04 00:00 saved fourth > The fourth",
    ]
    at_a_time = session.answer("memory_timeline", around="2026-02-03T12:00:00Z", limit=1)
    sides = at_a_time["before"] + at_a_time["after"]
    assert [entry["id"] for entry in sides] == ["third", "fourth"]
    assert "is neither a memory nor a time" in session.call_error(
        "memory_timeline", around="whenever"
    )
