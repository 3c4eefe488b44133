"""The mirror: every row of the decision table, names, conflicts, and what must never happen."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from recollect import Recollect
from recollect.errors import Forbidden, UserError
from recollect.files import write_whole
from recollect.folders.mirroring import STATE, Mirrored
from recollect.plugins.mirror import folder as mirrored_folder
from recollect.plugins.mirror.run import DECISIONS, decide
from recollect.settings import Embedding, Mirror, Rerank, Settings
from recollect.types import Memory

START = datetime(2026, 11, 15, 10, 22, tzinfo=UTC)
QUIET = Settings(embedding=Embedding("none"), rerank=Rerank("none"))
GITHUB = "ghp_" + "a1B2" * 9


class Pair:
    """A vault and its mirror, at a time that goes on by a minute with every look at it."""

    def __init__(self, folder: Path, settings: Settings = QUIET) -> None:
        self.time = START
        self.folder = folder / "notes"
        self.folder.mkdir()
        self.vault = Recollect(
            home=folder / "home", settings=settings, environment={}, clock=lambda: self.time
        )

    def save(self, id: str, **fields: Any) -> Memory:
        return self.vault.save(id=id, **({"title": id} | fields))

    def mirror(self, **told: Any) -> Mirrored:
        self.time += timedelta(minutes=1)
        return self.vault.mirror(self.folder, **told)

    def done(self) -> list[tuple[str, str]]:
        """One run in which nothing goes wrong: what was done, to which file."""
        result = self.mirror()
        assert result.problems == ()
        return [(step.action, step.path) for step in result.steps]

    def check_settled(self) -> None:
        """Nothing is left to do."""
        before = self.files()
        result = self.mirror()
        assert (result.steps, result.problems) == ((), ())
        assert self.files() == before

    def show(self, id: str) -> Memory:
        [memory] = self.vault.show([id])
        return memory

    def ids(self) -> list[str]:
        return sorted(memory.id for memory in self.vault.export())

    def files(self) -> list[str]:
        """Every file but the state, hidden ones too."""
        found = (path for path in self.folder.rglob("*") if path.is_file() and path.name != STATE)
        return sorted(path.relative_to(self.folder).as_posix() for path in found)

    def text(self, path: str) -> str:
        return (self.folder / path).read_bytes().decode()

    def write(self, path: str, text: str) -> None:
        (self.folder / path).parent.mkdir(exist_ok=True)
        (self.folder / path).write_bytes(text.encode())

    def change(self, path: str, old: str, new: str) -> None:
        assert old in self.text(path)
        self.write(path, self.text(path).replace(old, new))

    def state(self) -> Any:
        return json.loads((self.folder / STATE).read_text())


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    made = Pair(tmp_path)
    with made.vault:
        yield made


@pytest.fixture
def tides(pair: Pair) -> Pair:
    """One memory, mirrored."""
    pair.save("tides", title="Tides", text="High at noon.", why="Boats.", tags=["sea"])
    assert pair.done() == [("write", "Tides.md")]
    return pair


@pytest.fixture
def two(tides: Pair) -> Pair:
    """Another memory too, mirrored."""
    tides.save("other")
    tides.mirror()
    return tides


# The table: memory, file


def test_unchanged_and_unchanged_nothing_is_done(tides: Pair) -> None:
    state = (tides.folder / STATE).stat().st_mtime_ns
    tides.check_settled()
    assert (tides.folder / STATE).stat().st_mtime_ns == state


def test_a_changed_memory_is_written(tides: Pair) -> None:
    tides.vault.edit("tides", text="High at one.")
    assert tides.done() == [("write", "Tides.md")]
    assert "High at one." in tides.text("Tides.md")
    tides.check_settled()


def test_a_changed_file_edits_the_memory(tides: Pair) -> None:
    before = tides.show("tides")
    tides.change("Tides.md", "noon", "one")
    tides.change("Tides.md", "  - sea\n", "  - sea\n  - moon\n")
    tides.change("Tides.md", "Boats.", "Boats and swimmers.")
    assert tides.done() == [("edit", "Tides.md")]
    after = tides.show("tides")
    assert (after.text, after.tags) == ("High at one.", ("sea", "moon"))
    assert after.why == "Boats and swimmers."
    assert after.created_at == before.created_at
    assert after.updated_at == tides.time
    tides.check_settled()


def test_both_changed_to_the_same_is_no_conflict(tides: Pair) -> None:
    tides.vault.edit("tides", text="High at one.")
    tides.change("Tides.md", "noon", "one")
    assert tides.done() == []
    tides.check_settled()
    assert tides.ids() == ["tides"]


def test_both_changed_keeps_both_and_says_so(tides: Pair) -> None:
    tides.vault.edit("tides", text="High at one.")
    tides.change("Tides.md", "noon", "two")
    [step] = tides.mirror().steps
    beside = "Tides (conflict 2026-11-15 10.24).md"
    [other] = [id for id in tides.ids() if id != "tides"]
    assert (step.action, step.path) == ("conflict", "Tides.md")
    assert step.note == f"the file's version is now {beside}, and the memory {other}"
    assert "High at one." in tides.text("Tides.md")
    assert "High at two." in tides.text(beside)
    assert tides.show("tides").text == "High at one."
    kept = tides.show(other)
    assert kept.text == "High at two."
    assert kept.tags == ("sea", "conflict")
    assert "In conflict with tides" in kept.context
    tides.check_settled()


def test_a_deleted_file_forgets_the_memory(two: Pair) -> None:
    (two.folder / "Tides.md").unlink()
    assert two.done() == [("forget", "Tides.md")]
    assert two.ids() == ["other"]
    two.check_settled()
    two.vault.forget(["tides"], undo=True)
    assert two.done() == [("write", "Tides.md")]
    assert two.show("tides").text == "High at noon."
    (two.folder / "Tides.md").unlink()
    two.vault.edit("tides", text="High at one.")
    assert two.done() == [("write", "Tides.md")], "A changed memory is written again."
    two.check_settled()


@pytest.mark.parametrize("purge", [False, True])
def test_the_file_of_a_forgotten_memory_goes_to_the_trash(tides: Pair, purge: bool) -> None:
    tides.vault.forget(["tides"], purge=purge)
    assert tides.done() == [("trash", "Tides.md")]
    assert tides.files() == [".trash/Tides.md"]
    tides.save("tides", title="Tides", text="Again.")
    tides.mirror()
    tides.vault.forget(["tides"])
    tides.mirror()
    assert tides.files() == [".trash/Tides 2.md", ".trash/Tides.md"]
    assert tides.ids() == []


@pytest.mark.parametrize("purge", [False, True])
def test_a_changed_file_brings_a_forgotten_memory_back(tides: Pair, purge: bool) -> None:
    before = tides.show("tides")
    tides.vault.forget(["tides"], purge=purge)
    tides.change("Tides.md", "%% recollect: why %%\n## Why\n\nBoats.\n", "")
    tides.change("Tides.md", "noon", "two")
    assert tides.done() == [("take in", "Tides.md")]
    after = tides.show("tides")
    assert (after.text, after.why, after.tags) == ("High at two.", "", ("sea",))
    assert after.created_at == before.created_at
    tides.check_settled()


def test_both_gone_is_noted_no_longer(two: Pair) -> None:
    two.vault.forget(["tides"])
    (two.folder / "Tides.md").unlink()
    assert two.done() == []
    assert list(two.state()["entries"]) == ["other"]


def test_the_table_is_whole() -> None:
    sides = ("unchanged", "changed", "gone")
    assert set(DECISIONS) == {(one, two) for one in sides for two in sides}
    assert decide("changed", "changed", same=True) == "settle"
    assert decide("unchanged", "changed", same=True) == "settle"
    assert decide("gone", "changed", same=True) == "take in"


# Times


def test_a_time_that_the_file_says_anew_is_taken(tides: Pair) -> None:
    tides.change("Tides.md", "updated_at: 2026-11-15T10:22:00Z", "updated_at: 2026-12-01")
    assert tides.done() == [("edit", "Tides.md")]
    assert tides.show("tides").updated_at == datetime(2026, 12, 1, tzinfo=UTC)
    tides.change("Tides.md", "noon", "one")
    tides.mirror()
    assert tides.show("tides").updated_at == tides.time


def test_validity_can_be_set_and_removed_in_the_file(tides: Pair) -> None:
    tides.change("Tides.md", "tags:", "valid_until: 2027-01-01\nseverity: warning\ntags:")
    tides.mirror()
    assert tides.show("tides").valid_until == datetime(2027, 1, 1, tzinfo=UTC)
    assert tides.show("tides").severity == "warning"
    tides.change("Tides.md", "valid_until: 2027-01-01\nseverity: warning\n", "")
    tides.mirror()
    assert (tides.show("tides").valid_until, tides.show("tides").severity) == (None, None)


# New files


def test_a_note_becomes_a_memory_and_gets_an_id(pair: Pair) -> None:
    pair.write("Ideas.md", "---\naliases: [thoughts]\n---\n# Three ideas\n\nOne #draft.\n")
    assert pair.done() == [("take in", "Ideas.md")]
    [id] = pair.ids()
    memory = pair.show(id)
    assert (memory.title, memory.tags) == ("Three ideas", ("draft",))
    assert memory.text == "# Three ideas\n\nOne #draft."
    assert pair.text("Ideas.md") == (
        f"---\nid: {id}\ntitle: Three ideas\ntags:\n  - draft\naliases: [thoughts]\n---\n"
        "# Three ideas\n\nOne #draft.\n"
    )
    pair.check_settled()


def test_a_note_in_a_projects_folder_is_of_that_project(pair: Pair) -> None:
    pair.save("a", project="Harbor: API")
    pair.mirror()
    pair.write("Harbor API/New.md", "Text\n")
    pair.write("Daily/Monday.md", "Text\n")
    pair.mirror()
    projects = {memory.title: memory.project for memory in pair.vault.export()}
    assert projects == {"a": "Harbor: API", "New": "Harbor: API", "Monday": ""}
    pair.check_settled()


def test_a_new_note_in_which_nothing_stands_yet_waits(pair: Pair) -> None:
    pair.write("Untitled.md", "")
    pair.write("Blank.md", "\ufeff \r\n")
    assert pair.done() == []
    assert pair.ids() == []
    pair.write("Untitled.md", "Something")
    assert pair.done() == [("take in", "Untitled.md")]


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("Tides 1.md", "noon", "two"),
        ("A copy.md", "noon", "noon"),
        ("From.md", "id: tides", "id: elsewhere-1"),
    ],
    ids=["a changed copy", "an exact copy", "an unknown id"],
)
def test_a_copy_becomes_a_memory_of_its_own(tides: Pair, name: str, old: str, new: str) -> None:
    text = tides.text("Tides.md").replace(old, new)
    tides.write(name, text)
    assert tides.done() == [("take in", name)]
    [own] = [id for id in tides.ids() if id != "tides"]
    assert tides.show(own).text == ("High at two." if new == "two" else "High at noon.")
    assert own == "elsewhere-1" or "elsewhere-1" not in text
    assert tides.show("tides").text == "High at noon."
    tides.check_settled()


def test_a_note_whose_name_differs_in_case_alone_is_another_one(tides: Pair) -> None:
    tides.write("TIDES.md", "Shouted.\n")
    if len(tides.files()) == 1:
        pytest.skip("this file system takes them for one")
    assert tides.done() == [("take in", "TIDES.md")]
    assert tides.show("tides").text == "High at noon."
    tides.check_settled()


def test_an_export_becomes_a_mirror_without_conflicts(pair: Pair) -> None:
    pair.save("a", text="x")
    pair.save("f", tier="file", text="y")
    mirrored_folder.write_folder(pair.folder, pair.vault.export())
    assert pair.done() == []
    assert sorted(pair.state()["entries"]) == ["a", "f"]
    pair.check_settled()


def test_what_came_from_files_is_not_mirrored(pair: Pair) -> None:
    pair.save("a")
    pair.save("f", tier="file")
    assert pair.done() == [("write", "a.md")]


# Names


def test_a_new_title_renames_the_file(tides: Pair) -> None:
    tides.vault.edit("tides", title="Ebb and flow", project="Harbor")
    assert tides.done() == [("write", "Harbor/Ebb and flow.md")]
    assert tides.files() == ["Harbor/Ebb and flow.md"]
    tides.change("Harbor/Ebb and flow.md", "title: Ebb and flow", "title: Flow")
    assert tides.done() == [("edit", "Harbor/Flow.md")]
    assert tides.files() == ["Harbor/Flow.md"]
    tides.check_settled()


def test_a_name_that_a_person_chose_stays(tides: Pair) -> None:
    (tides.folder / "Sea").mkdir()
    (tides.folder / "Tides.md").rename(tides.folder / "Sea" / "Mine.md")
    assert tides.done() == []
    tides.vault.edit("tides", title="Ebb and flow")
    assert tides.done() == [("write", "Sea/Mine.md")]
    tides.check_settled()
    assert tides.files() == ["Sea/Mine.md"]


def test_files_that_swapped_names_stay_what_they_are(two: Pair) -> None:
    (two.folder / "Tides.md").rename(two.folder / "x")
    (two.folder / "other.md").rename(two.folder / "Tides.md")
    (two.folder / "x").rename(two.folder / "other.md")
    two.check_settled()
    assert two.show("tides").title == "Tides"


def test_equal_titles_get_names_of_their_own(pair: Pair) -> None:
    for id in ("note-one", "note-two"):
        pair.save(id, title="Same", text=id)
    pair.save("note-three", title="SAME", text="three")
    pair.write("same.MD", "a person's\n")
    pair.mirror()
    assert len(pair.files()) == 4
    assert len({name.lower() for name in pair.files()}) == 4
    pair.check_settled()


def test_an_id_that_was_deleted_comes_back_into_the_file(tides: Pair) -> None:
    tides.change("Tides.md", "id: tides\n", "")
    tides.change("Tides.md", "noon", "one")
    assert tides.done() == [("edit", "Tides.md")]
    assert tides.text("Tides.md").startswith("---\nid: tides\n")
    assert tides.show("tides").text == "High at one."
    tides.check_settled()


def test_front_matter_that_was_deleted_comes_back_and_only_the_text_is_new(tides: Pair) -> None:
    tides.write("Tides.md", "High at one.\n")
    tides.mirror()
    after = tides.show("tides")
    assert (after.title, after.text, after.tags) == ("Tides", "High at one.", ("sea",))
    assert after.why == "Boats."
    assert "  - sea\n" in tides.text("Tides.md")
    tides.check_settled()


def test_what_is_not_ours_in_the_front_matter_survives_a_rewrite(tides: Pair) -> None:
    tides.change("Tides.md", "tags:", "aliases: [ebb]\ntags:")
    assert tides.done() == []
    tides.vault.edit("tides", text="High at one.")
    tides.mirror()
    assert "aliases: [ebb]\n" in tides.text("Tides.md")
    tides.check_settled()


# What cannot be read


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"---\nid: tides\ntitle: ]\n---\nnew\n", "not valid YAML"),
        (b"---\nid: tides\nnever closed\n", "not closed"),
        (b"---\nid: tides\n---\n\xff\xfe new\n", "not valid UTF-8"),
        (b"---\nid: tides\n---\nnew \0\n", "NUL"),
        (b"---\nid: tides\ntitle: x\nseverity: huge\n---\nnew\n", "severity cannot be 'huge'"),
        (b"---\nid: tides\ntitle: x\ncreated_at: soon\n---\nnew\n", "not a time"),
        (b"---\nid: tides\ntitle: [a, b]\n---\nnew\n", "title must be a text"),
        (b"---\nid: tides\ntitle: ''\n---\n", "title or a text"),
    ],
)
@pytest.mark.parametrize("name", ["Tides.md", "Moved.md"])
def test_an_unreadable_file_stays_as_it_is(tides: Pair, raw: bytes, reason: str, name: str) -> None:
    before = tides.show("tides")
    (tides.folder / "Tides.md").rename(tides.folder / name)
    (tides.folder / name).write_bytes(raw)
    tides.save("other")
    for _ in range(2):
        result = tides.mirror()
        [(path, why)] = result.problems
        assert path == name
        assert reason in why
        assert (tides.folder / name).read_bytes() == raw
        assert tides.show("tides") == before
    assert (tides.folder / "other.md").exists()
    tides.vault.edit("tides", text="High at one.")
    assert len(tides.mirror().problems) == 1
    assert (tides.folder / name).read_bytes() == raw


def test_an_emptied_file_empties_no_memory(tides: Pair) -> None:
    """A full disk or a synchronisation that broke off leaves such files."""
    tides.write("Tides.md", "")
    [(path, reason)] = tides.mirror().problems
    assert (path, "is empty" in reason) == ("Tides.md", True)
    assert tides.show("tides").text == "High at noon."
    assert tides.text("Tides.md") == ""


def test_a_bad_note_is_named_and_the_rest_goes_in(pair: Pair) -> None:
    pair.write("bad.md", "---\nseverity: huge\n---\nText\n")
    pair.write("list.md", "---\nid: [a]\ntitle: {a: b}\n---\nText\n")
    pair.write("white.md", "---\nid: a b\n---\nText\n")
    pair.write("good.md", "Text\n")
    result = pair.mirror()
    assert [path for path, _ in result.problems] == ["bad.md", "list.md", "white.md"]
    assert [step.path for step in result.steps] == ["good.md"]
    assert len(pair.ids()) == 1


# Links, hidden things, other files


def test_links_are_never_followed(tides: Pair, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("secret")
    (tides.folder / "linked").symlink_to(outside)
    (tides.folder / "linked.md").symlink_to(outside / "secret.md")
    (tides.folder / "loop").symlink_to(tides.folder)
    assert tides.done() == []
    tides.save("x", project="linked")
    [(path, reason)] = tides.mirror().problems
    assert "link" in reason
    assert [file.name for file in outside.iterdir()] == ["secret.md"]
    assert tides.ids() == ["tides", "x"]
    assert path == "x"


@pytest.mark.parametrize("name", ["Sea", "Sea/Tides.md"])
def test_what_became_a_link_is_not_forgotten(tides: Pair, tmp_path: Path, name: str) -> None:
    tides.vault.edit("tides", project="Sea")
    tides.save("other")
    tides.mirror()
    (tides.folder / name).rename(tmp_path / "aside")
    (tides.folder / name).symlink_to(tmp_path / "aside")
    assert tides.mirror().problems == ((name, "It is a link, and links are not followed."),)
    assert tides.ids() == ["other", "tides"]


def test_an_unreadable_folder_forgets_nothing(tides: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    tides.vault.edit("tides", project="Sea")
    tides.save("other")
    tides.mirror()
    scandir = os.scandir

    def refusing(path: Path) -> Any:
        if Path(path).name == "Sea":
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", refusing)
        problems = tides.mirror().problems
    assert problems == (("Sea", "The folder cannot be read: Permission denied."),)
    assert tides.ids() == ["other", "tides"]


def test_hidden_files_and_attachments_are_left_alone(tides: Pair) -> None:
    others = (".obsidian/a.md", ".trash/b.md", ".hidden.md", "picture.png", "notes.txt")
    for path in others:
        tides.write(path, "left alone")
    assert tides.done() == []
    assert all(tides.text(path) == "left alone" for path in others)
    assert tides.ids() == ["tides"]


def test_a_name_that_is_not_utf8_is_named(tides: Pair) -> None:
    (Path(os.fsdecode(bytes(tides.folder) + b"/\xff.md"))).write_text("x")
    [(path, reason)] = tides.mirror().problems
    assert (path, reason) == ("\ufffd.md", "Its name is not valid UTF-8 text.")


def test_the_rights_of_a_file_stay(tides: Pair) -> None:
    (tides.folder / "Tides.md").chmod(0o640)
    tides.vault.edit("tides", text="High at one.")
    tides.mirror()
    assert (tides.folder / "Tides.md").stat().st_mode & 0o777 == 0o640


# What is refused


def test_a_folder_whose_files_are_all_gone_is_refused_and_nothing_is_forgotten(tides: Pair) -> None:
    (tides.folder / "Tides.md").unlink()
    with pytest.raises(UserError, match="no Markdown file any more"):
        tides.mirror()
    assert tides.ids() == ["tides"]


def test_the_mirror_of_another_vault_is_refused(tides: Pair, tmp_path: Path) -> None:
    other = tmp_path / "other"
    with (
        Recollect(home=other, settings=QUIET, environment={}) as vault,
        pytest.raises(UserError, match="mirrors another vault"),
    ):
        vault.mirror(tides.folder)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "cannot be read"),
        ("[]", "cannot be read"),
        ('{"version": 2, "new": true}', "newer version"),
        ('{"version": 1, "vault": "x", "entries": {"a": 1}}', "cannot be read"),
        ("{" * 100_000, "cannot be read"),
    ],
)
def test_a_state_that_cannot_be_read_is_refused(tides: Pair, text: str, reason: str) -> None:
    (tides.folder / STATE).write_text(text)
    with pytest.raises(UserError, match=reason):
        tides.mirror()
    assert tides.ids() == ["tides"]


@pytest.mark.parametrize("path", ["../out.md", "/etc/out.md", "a/../../out.md", ".x/a.md", "a.txt"])
def test_a_state_that_names_a_file_elsewhere_is_refused(tides: Pair, path: str) -> None:
    state = tides.state()
    state["entries"]["tides"]["path"] = path
    (tides.folder / STATE).write_text(json.dumps(state))
    tides.vault.edit("tides", text="High at one.")
    with pytest.raises(UserError, match="cannot be a file of the mirror"):
        tides.mirror()


def test_without_its_state_a_folder_is_taken_up_again(tides: Pair) -> None:
    tides.change("Tides.md", "noon", "one")
    tides.mirror()
    (tides.folder / STATE).unlink()
    assert tides.done() == []
    assert tides.ids() == ["tides"]


def test_a_caller_who_may_not_do_all_of_it_is_refused(tides: Pair) -> None:
    from recollect.auth.capabilities import ADMIN, SEARCH, WRITE, Caller

    view = tides.vault.acting_as(
        Caller(name="some", capabilities=frozenset({ADMIN, SEARCH, WRITE}))
    )
    with pytest.raises(Forbidden, match="memory:delete"):
        view.mirror(tides.folder)


# Interruptions


def broken(*_: object) -> None:
    raise KeyboardInterrupt


def change_both(pair: Pair) -> None:
    pair.vault.edit("tides", text="High at one.")
    pair.change("Tides.md", "noon", "two")


CHANGES: dict[str, tuple[int, Callable[[Pair], object]]] = {
    "memory": (2, lambda pair: pair.vault.edit("tides", text="High at one.", title="New title")),
    "file": (2, lambda pair: pair.change("Tides.md", "noon", f"one, with {GITHUB}")),
    "new note": (3, lambda pair: pair.write("Note.md", "# A note\n\nwith a #tag\n")),
    "new memory": (3, lambda pair: pair.save("new", text="said")),
    "conflict": (3, change_both),
    "forgotten": (1, lambda pair: pair.vault.forget(["tides"])),
}


@pytest.mark.parametrize(("memories", "change"), CHANGES.values(), ids=CHANGES)
def test_interrupted_before_the_state_is_kept_the_next_run_finds_no_conflict(
    two: Pair, monkeypatch: pytest.MonkeyPatch, memories: int, change: Callable[[Pair], object]
) -> None:
    change(two)
    with monkeypatch.context() as patch:
        patch.setattr(mirrored_folder.MirroredFolder, "keep_state", broken)
        with pytest.raises(KeyboardInterrupt):
            two.mirror()
    ids, files = two.ids(), two.files()
    assert len(ids) == memories
    assert two.done() == []
    assert (two.ids(), two.files()) == (ids, files)
    two.check_settled()


def test_an_interrupted_conflict_is_kept_once(tides: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    change_both(tides)
    with monkeypatch.context() as patch:
        patch.setattr(mirrored_folder.MirroredFolder, "replace", broken)
        with pytest.raises(KeyboardInterrupt):
            tides.mirror()
    assert [step.action for step in tides.mirror().steps] == ["conflict"]
    assert len(tides.ids()) == 2
    assert len(tides.files()) == 2
    tides.check_settled()


def test_a_file_that_changes_meanwhile_waits(tides: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    tides.vault.edit("tides", text="High at one.")
    replace = mirrored_folder.MirroredFolder.replace

    def late(folder: Any, path: str, digest: str, text: str) -> str:
        tides.change("Tides.md", "noon", "three")
        return replace(folder, path, digest, text)

    with monkeypatch.context() as patch:
        patch.setattr(mirrored_folder.MirroredFolder, "replace", late)
        [(path, reason)] = tides.mirror().problems
    assert (path, "just now" in reason) == ("Tides.md", True)
    assert "High at three." in tides.text("Tides.md")
    assert [step.action for step in tides.mirror().steps] == ["conflict"]


def test_an_unwritable_file_does_not_stop_it(tides: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(file: Path, text: str) -> None:
        if file.name == "a.md":
            raise OSError(28, "No space left on device")
        write_whole(file, text)

    tides.save("a")
    tides.save("b")
    with monkeypatch.context() as patch:
        patch.setattr("recollect.plugins.mirror.folder.write_whole", full)
        result = tides.mirror()
    assert result.problems == (("a", "It cannot be written: No space left on device."),)
    assert [step.path for step in result.steps] == ["b.md"]
    assert tides.done() == [("write", "a.md")]


# Dry runs, secrets, settings


def test_a_dry_run_says_what_would_be_done_and_does_nothing(tides: Pair) -> None:
    tides.save("deleted")
    tides.save("clash", text="x")
    tides.save("gone")
    tides.mirror()
    tides.save("new")
    tides.write("Note.md", "Text\n")
    tides.change("Tides.md", "noon", "one")
    (tides.folder / "deleted.md").unlink()
    tides.vault.edit("clash", text="y")
    tides.change("clash.md", "\nx\n", "\nz\n")
    tides.vault.forget(["gone"])
    memories = [*tides.vault.export()]
    files = {path: tides.text(path) for path in tides.files()}
    state = tides.state()
    planned = [(step.action, step.id, step.path) for step in tides.mirror(dry_run=True).steps]
    assert [*tides.vault.export()] == memories
    assert {path: tides.text(path) for path in tides.files()} == files
    assert tides.state() == state
    done = [(step.action, step.id, step.path) for step in tides.mirror().steps]
    assert planned == done
    assert sorted(action for action, _, _ in done) == [
        "conflict", "edit", "forget", "take in", "trash", "write",
    ]  # fmt: skip


def test_secrets_of_a_file_are_replaced_in_the_vault_and_the_file_keeps_them(tides: Pair) -> None:
    tides.change("Tides.md", "noon", GITHUB)
    tides.write("Note.md", f"Key: {GITHUB}\n")
    result = tides.mirror()
    assert sum(result.redacted.values()) == 2
    assert all(GITHUB not in memory.text for memory in tides.vault.export())
    assert GITHUB in tides.text("Tides.md")
    tides.check_settled()


def test_an_edit_in_a_file_is_noted_in_the_audit_log(tides: Pair) -> None:
    tides.change("Tides.md", "noon", "one")
    tides.mirror()
    log = (tides.vault.home / "audit.jsonl").read_text()
    assert json.loads(log.splitlines()[-1])["action"] == "edit"


def test_the_settings_name_the_folder(tmp_path: Path) -> None:
    settings = Settings(
        embedding=Embedding("none"), rerank=Rerank("none"), mirror=Mirror(folder="../notes")
    )
    pair = Pair(tmp_path, settings)
    with pair.vault as vault:
        pair.save("a")
        assert vault.mirror().folder == pair.folder
        assert pair.files() == ["a.md"]
