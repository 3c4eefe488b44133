"""What memories were, and taking changes back: `Recollect.history` and `Recollect.undo`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from recollect import Recollect
from recollect.auth.capabilities import SEARCH, WRITE, Caller
from recollect.engine.history import Undone
from recollect.errors import Changed, Forbidden, NotFound, UserError
from recollect.ingest.exchange import raw_lines
from recollect.present.history import difference_text, history_json, with_differences
from recollect.settings import Embedding, HistorySettings, Rerank, Settings
from recollect.store.rescue.repair import mend

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
OFF = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))


class Clock:
    """A minute passes with each look at it."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        self.now += MINUTE
        return self.now


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Recollect]:
    with Recollect(home=tmp_path / "home", settings=OFF, clock=Clock()) as opened:
        yield opened


def actions(memory: Recollect, id: str) -> list[str]:
    return [version.action for version in memory.history(id)]


def lines(memory: Recollect, id: str) -> list[str]:
    """What the newest change did."""
    _, differences = next(with_differences(memory.history(id)))
    return [difference_text(each) for each in differences]


def test_every_kind_of_change_is_a_version(memory: Recollect) -> None:
    memory.save(id="a", title="Anchor", text="Drop it.")
    memory.save(id="a", title="Anchor", text="Weigh it.")
    memory.edit("a", text="Weigh it at dawn.")
    memory.pin(["a"])
    memory.unpin(["a"])
    memory.tag(["a"], add=["sea"])
    memory.move(["a"], project="harbor")
    memory.forget(["a"])
    memory.forget(["a"], undo=True)
    memory.import_lines(raw_lines([b'{"id": "a", "why": "The tide"}\n']))
    assert actions(memory, "a")[::-1] == [
        "save", "save", "edit", "pin", "unpin", "tag", "move", "forget", "restore",
    ]  # fmt: skip
    memory.import_lines(raw_lines([b'{"id": "a", "title": "Anchor", "why": "The tide"}\n']))
    assert actions(memory, "a")[0] == "import"


def test_a_change_that_changes_nothing_is_no_version(memory: Recollect) -> None:
    memory.save(id="a", title="Anchor")
    memory.save(id="a", title="Anchor")
    memory.edit("a", title="Anchor")
    assert actions(memory, "a") == ["save"]


def test_differences_name_words_and_fields(memory: Recollect) -> None:
    memory.save(id="a", title="Tokens", text="They live for 15 minutes.", tags=["auth", "old"])
    memory.edit("a", text="They live for 30 minutes.", tags=["auth", "new"], severity="warning")
    assert lines(memory, "a") == [
        "text: They live for [-15-]{+30+} minutes.", "tags: [-old-]{+new+}",
        "severity: {+warning+}",
    ]  # fmt: skip
    newest = history_json(memory.history("a"))[0]
    assert (newest["version"], newest["action"], newest["interface"]) == (2, "edit", "library")
    assert newest["changed"] == ["text", "tags", "severity", "updated_at"]
    assert newest["memory"]["text"] == "They live for 30 minutes."


def test_a_long_text_is_compared_in_no_time(memory: Recollect) -> None:
    memory.save(id="a", title="Long", text="word " * 5_000)
    memory.edit("a", text="other " * 5_000)
    assert len(lines(memory, "a")) == 1


def test_who_changed_it_is_kept(memory: Recollect) -> None:
    memory.save(id="a", title="Anchor")
    ann = Caller(name="ann", capabilities=frozenset({SEARCH, WRITE}))
    memory.acting_as(ann, "mcp", "agent 2.0").edit("a", text="Drop it.")
    assert memory.history("a")[0].author == ("mcp", "agent 2.0", "ann", False)


# Taking back


def test_undo_takes_back_the_last_change_then_the_one_before(memory: Recollect) -> None:
    first = memory.save(id="a", title="Anchor", text="one")
    second = memory.edit("a", text="two")
    memory.pin(["a"])
    assert memory.undo().action == "pin"
    assert memory.show(["a"]) == [second]
    assert memory.undo().action == "edit"
    assert memory.show(["a"]) == [first]
    done = memory.undo()
    assert (done.action, done.forgotten) == ("save", ("a",))
    assert memory.search("anchor").results == ()
    with pytest.raises(NotFound, match="nothing to undo"):
        memory.undo()
    assert actions(memory, "a") == ["undo", "undo", "undo", "pin", "edit", "save"]


def test_redo_does_again_what_undos_took_back_one_by_one(memory: Recollect) -> None:
    states = [memory.save(id="a", title="Anchor", text="one")]
    states += [memory.edit("a", text="two"), memory.edit("a", text="three")]
    with pytest.raises(NotFound, match="nothing to redo"):
        memory.redo()
    for _ in range(2):  # as often as one likes
        assert [memory.undo().action for _ in states] == ["edit", "edit", "save"]
        assert memory.list() == []
        done = memory.redo()
        assert (done.action, done.restored, done.memories) == ("save", ("a",), (states[0],))
        assert memory.redo().memories == (states[1],)
        assert memory.redo().memories == (states[2],)
        with pytest.raises(NotFound, match="nothing to redo"):
            memory.redo()
    assert memory.undo("a").memories == (states[1],)
    assert memory.redo().memories == (states[2],)


def test_a_merge_that_is_done_again_is_a_merge(memory: Recollect) -> None:
    memory.save(id="a", title="A")
    memory.save(id="b", title="B")
    memory.merge(["a", "b"])
    memory.undo()
    assert memory.redo().forgotten == ("b",)
    assert [one.why for one in memory.trash()] == ["merged into a"]
    assert memory.show(["b"])[0].id == "a"
    memory.undo()
    assert [one.id for one in memory.show(["a", "b"])] == ["a", "b"]


def test_redo_of_a_part_can_be_taken_back(memory: Recollect) -> None:
    memory.import_lines(raw_lines([b'{"id": "a", "title": "A"}\n', b'{"id": "b", "title": "B"}\n']))
    assert memory.undo("a").forgotten == ("a",)
    assert memory.redo().restored == ("a",)
    assert memory.undo().action == "redo"
    assert [one.id for one in memory.list()] == ["b"]
    assert memory.redo().restored == ("a",)


def test_redo_of_what_was_changed_since_changes_nothing(memory: Recollect) -> None:
    memory.save(id="a", title="A")
    memory.edit("a", text="two")
    memory.undo()
    after = memory.edit("a", text="other")
    with pytest.raises(Changed, match="'a' was changed since, by edit"):
        memory.redo()
    assert memory.show(["a"]) == [after]


def test_undo_does_nothing_where_the_caller_does_not_agree(memory: Recollect) -> None:
    memory.save(id="a", title="A")
    seen = []

    def refuse(undone: Undone) -> None:
        seen.append(undone.forgotten)
        raise UserError("No.")

    with pytest.raises(UserError, match="No"):
        memory.undo(agree=refuse)
    assert (seen, [one.id for one in memory.list()]) == ([("a",)], ["a"])


def test_undo_takes_back_a_whole_command(memory: Recollect) -> None:
    memory.save(id="b", title="Before")
    found = (f'{{"id": "m{n}", "title": "M{n}"}}\n'.encode() for n in range(20))
    memory.import_lines(raw_lines([*found, b'{"id": "b", "title": "After"}\n']))
    done = memory.undo()
    assert (done.action, len(done.memories), len(done.forgotten)) == ("import", 21, 20)
    assert [one.title for one in memory.list()] == ["Before"]


def test_undo_of_what_was_changed_since_says_so_and_changes_nothing(memory: Recollect) -> None:
    memory.save(id="a", title="A")
    memory.save(id="b", title="B")
    memory.tag(["a", "b"], add=["new"])
    ann = memory.acting_as(Caller(name="ann", capabilities=frozenset({SEARCH, WRITE})))
    ann.edit("b", text="mine")
    with pytest.raises(Changed, match="'b' was changed since, by edit"):
        memory.undo()
    assert memory.show(["a"])[0].tags == ("new",)


def test_undo_is_of_ones_own_changes_and_passes_over_automatic_ones(
    memory: Recollect, tmp_path: Path
) -> None:
    memory.save(id="a", title="A")
    ann = memory.acting_as(Caller(name="ann", capabilities=frozenset({SEARCH, WRITE})))
    ann.edit("a", text="by ann")
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "n.md").write_text("# A note\n\nIn a file.")
    memory.add_folder(notes)
    assert ann.undo().action == "edit"
    assert memory.show(["a"])[0].text == ""
    assert memory.undo().action == "save"
    assert len(memory.list()) == 1


def test_undo_of_one_memory_goes_back_step_by_step_or_to_a_version(memory: Recollect) -> None:
    states = [memory.save(id="a", title="A", text="1")]
    states += [memory.edit("a", text=text) for text in ("2", "3", "4")]
    memory.save(id="other", title="Later")
    assert memory.undo("a").memories == (states[2],)
    assert memory.undo("a").memories == (states[1],)
    assert memory.undo("a", to=4).memories == (states[3],)
    memory.forget(["a"])
    assert memory.undo("a").memories == (states[3],)
    assert memory.show(["a"]) == [states[3]]
    with pytest.raises(UserError, match="has no version 99; it has 1 to"):
        memory.undo("a", to=99)
    with pytest.raises(UserError, match="Name the memory"):
        memory.undo(to=1)
    with pytest.raises(Changed):
        memory.undo("a", if_version=3)


def test_undo_finds_the_words_and_forgets_those_that_went(memory: Recollect) -> None:
    memory.save(id="a", title="Ships", text="a frigate")
    memory.edit("a", text="a corvette")
    memory.undo("a")
    assert [one.id for one in memory.search("frigate")] == ["a"]
    assert memory.search("corvette").results == ()
    assert [finding for finding in memory.store.examine() if finding.problem] == []


def test_what_brings_back_or_forgets_needs_the_right_to_delete(memory: Recollect) -> None:
    memory.save(id="a", title="A")
    writer = memory.acting_as(Caller(name="w", capabilities=frozenset({SEARCH, WRITE})))
    writer.save(id="b", title="B")
    with pytest.raises(Forbidden):
        writer.undo()
    memory.forget(["a"])
    with pytest.raises(NotFound):
        writer.history("a")
    with pytest.raises(Forbidden):
        memory.acting_as(Caller(name="r", capabilities=frozenset({SEARCH}))).undo()


def test_a_purged_memory_cannot_be_brought_back(memory: Recollect) -> None:
    memory.save(id="a", title="A")
    memory.edit("a", text="more")
    memory.forget(["a"], purge=True)
    for to in (None, 1):
        with pytest.raises(NotFound, match="what was purged cannot be brought back"):
            memory.undo("a", to=to)
    with pytest.raises(NotFound, match="nothing to undo"):
        memory.undo()


# What is kept


def test_a_purge_leaves_nothing_of_what_a_memory_was(memory: Recollect) -> None:
    memory.save(id="zanzibar", title="Zanzibar", text="the hidden quay")
    memory.edit("zanzibar", text="something else")
    memory.save(id="b", title="B")
    with memory.session.writing("merge", target="zanzibar", reason="Merged.") as write:
        write.forget(write.find(["b"])["b"], NOON)
    memory.forget(["zanzibar"], purge=True)
    memory.store.database.connection().execute("PRAGMA wal_checkpoint(TRUNCATE)")
    files = [file for file in memory.path.parent.iterdir() if file.name.startswith("vault.db")]
    held = b"".join(file.read_bytes() for file in files).lower()
    assert b"hidden quay" not in held
    assert b"zanzibar" not in held


@pytest.mark.parametrize("keep", ["2", "1 kB"])
def test_a_write_removes_what_need_not_be_kept(tmp_path: Path, keep: str) -> None:
    settings = replace(OFF, history=HistorySettings(keep=keep))
    with Recollect(tmp_path / "v.db", home=tmp_path, settings=settings, clock=Clock()) as memory:
        memory.save(id="a", title="A", text="0")
        for number in range(30):
            memory.edit("a", text=f"{number} " * 20)
        versions = memory.history("a")
        assert versions[0].number == 31
        assert versions[-1].action == "begin"
        assert len(versions) < 20
        assert memory.store.history.begins() == versions[-1].at
        assert memory.undo("a").memories == (versions[1].memory,)
        assert [finding for finding in memory.store.examine() if finding.problem] == []


def test_a_damaged_version_is_found_and_removed_by_a_repair(memory: Recollect) -> None:
    memory.save(id="a", title="A", text="the first text of all")
    memory.edit("a", text="the second text of all")
    memory.edit("a", text="the third text of all")
    with memory.store.database.writing() as connection:
        connection.execute("UPDATE versions SET before = x'00112233' WHERE write = 2")
    found: list[Any] = [finding for finding in memory.store.examine() if finding.problem]
    assert [finding.check for finding in found] == ["history"]
    mend(memory.store, NOON)
    assert [finding for finding in memory.store.examine() if finding.problem] == []
    assert [version.number for version in memory.history("a")] == [3, 2]
