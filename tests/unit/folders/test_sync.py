"""A folder and its memories in step: nothing twice, nothing lost, nothing left over."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from folder_homes import LONG_AGO, first, found, ids, long_note, vault, write

from recollect import Recollect
from recollect.auth.capabilities import SEARCH, Caller
from recollect.documents import reader
from recollect.documents.parser_process import parse_bytes
from recollect.errors import Forbidden, NotFound, UserError
from recollect.folders import sync as sync_module
from recollect.folders.scan import Matcher, scan_paths
from recollect.folders.sync import Away


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Recollect]:
    with vault(tmp_path / "home") as made:
        yield made


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    write(
        folder,
        {
            "tides.md": "# Tides\n\nThe tables are in the harbour office.\n",
            "work/gateway.md": long_note("ports", "tokens", "cranes"),
            "work/sync.py": "def retry_with_backoff(times):\n    return times\n",
        },
    )
    return folder


@pytest.fixture
def added(memory: Recollect, notes: Path) -> Path:
    """The notes, taken into the vault."""
    memory.add_folder(notes)
    return notes


def writes(memory: Recollect) -> int:
    """A number that every write to the vault changes."""
    [(version,)] = memory.store.database.rows("PRAGMA data_version")
    connection = memory.store.database.connection()
    return int(connection.total_changes()) + int(str(version))


# Taking files in


def test_a_folder_that_another_process_takes_in_at_the_same_time_is_taken_in_once(
    memory: Recollect, notes: Path, tmp_path: Path
) -> None:
    """The other one comes between the look at the folder and the first write."""
    others: list[object] = []

    def other_first(done: int, total: int) -> None:
        if not others:
            others.append(None)
            with vault(tmp_path / "home") as other:
                others.append(other.add_folder(notes).files)

    assert memory.add_folder(notes, progress=other_first).files == {"unchanged": 3}
    assert others == [None, {"added": 3}]
    assert ids(memory).keys() == {"tides.md", "work/gateway.md", "work/sync.py"}
    assert not [one for one in memory.doctor() if one.problem]
    assert memory.add_folder(notes).files == {"unchanged": 3}


def test_files_become_memories_of_the_file_tier(memory: Recollect, notes: Path) -> None:
    done = memory.add_folder(notes)
    assert done.files == {"added": 3}
    one = first(memory, "tide tables").memory
    assert (one.title, one.tier, one.kind, one.project, one.source) == (
        "tides.md", "file", "document", "notes", "folder",
    )  # fmt: skip
    assert one.path == str(notes / "tides.md")
    assert one.updated_at.timestamp() == LONG_AGO
    code = first(memory, "retry_with_backoff").memory
    assert (code.title, code.kind) == ("work/sync.py", "code")


def test_front_matter_says_what_a_memory_is(memory: Recollect, tmp_path: Path) -> None:
    text = (
        "---\ntags: [auth, harbor]\nkind: decision\ndomain: security\ncreated: 2025-01-02\n"
        "valid_until: 2027-01-01\n---\nWe use signed tokens.\n"
    )
    write(tmp_path / "notes", {"jwt.md": text})
    memory.add_folder(tmp_path / "notes")
    one = first(memory, "signed tokens").memory
    assert (one.tags, one.kind, one.domain) == (("auth", "harbor"), "decision", "security")
    assert (one.created_at.year, one.valid_until.year if one.valid_until else 0) == (2025, 2027)


def test_a_result_names_file_heading_and_lines(memory: Recollect, added: Path) -> None:
    one = first(memory, "cranes")
    assert one.file is not None
    assert one.file.path == str(added / "work/gateway.md")
    assert one.file.heading == "Notes > About cranes"
    lines = (added / "work/gateway.md").read_text().split("\n")
    assert lines[one.file.first_line - 1] == "## About cranes"


def test_neighbouring_parts_are_one_result(memory: Recollect, added: Path) -> None:
    response = memory.search("what is known stands here", limit=5)
    [one] = [result for result in response if result.memory.title == "work/gateway.md"]
    assert one.file is not None
    assert len(one.joined) == 2
    assert one.file.last_line - one.file.first_line < 8
    assert response.counts["dropped"]["neighbour"] == 2  # type: ignore[index]


def test_parts_that_are_not_neighbours_stay_separate(memory: Recollect, tmp_path: Path) -> None:
    words = ("lighthouse", "x", "y", "lighthouse again")
    write(tmp_path / "notes", {"a.md": long_note(*words)})
    memory.add_folder(tmp_path / "notes")
    assert found(memory, "lighthouse") == ["a.md", "a.md"]


# Again


def test_a_second_run_without_a_change_writes_nothing(memory: Recollect, added: Path) -> None:
    [folder] = memory.folders()
    before = writes(memory)
    done = memory.sync_folder(folder)
    assert (done.files, done.changed) == ({"unchanged": 3}, 0)
    assert writes(memory) == before


def test_a_file_that_was_only_touched_is_as_old_as_before(memory: Recollect, added: Path) -> None:
    os.utime(added / "tides.md", (LONG_AGO + 999, LONG_AGO + 999))
    done = memory.add_folder(added)
    assert (done.files, done.changed) == ({"unchanged": 3}, 0)
    assert first(memory, "tide tables").memory.updated_at.timestamp() == LONG_AGO


def test_a_change_that_its_time_does_not_tell_is_seen(memory: Recollect, tmp_path: Path) -> None:
    """Written twice within the clock's step, with the same length: git's racy case."""
    folder = tmp_path / "notes"
    now = 4_000_000_000  # in the future, so that it is never long before the reading
    write(folder, {"a.md": "The harbour is closed."}, at=now)
    memory.add_folder(folder)
    write(folder, {"a.md": "The harbour is opened."}, at=now)
    memory.add_folder(folder)
    assert found(memory, "opened") == ["a.md"]


def test_an_edit_changes_the_part_it_is_in_and_no_other(memory: Recollect, added: Path) -> None:
    before = {one.id: one for one in memory.export()}
    text = (added / "work/gateway.md").read_text().replace("of tokens stands", "of keys is", 3)
    write(added, {"work/gateway.md": text}, at=LONG_AGO + 60)
    done = memory.add_folder(added)
    assert done.files == {"changed": 1, "unchanged": 2}
    after = {one.id: one for one in memory.export()}
    assert after.keys() == before.keys()
    texts = [id for id in after if after[id].text != before[id].text]
    assert [after[id].context for id in texts] == ["Notes > About tokens"]


def test_lines_that_move_get_their_new_numbers(memory: Recollect, added: Path) -> None:
    held = first(memory, "cranes").file
    file = added / "work/gateway.md"
    write(added, {"work/gateway.md": "\n\n\n" + file.read_text()}, at=LONG_AGO + 60)
    memory.add_folder(added)
    moved = first(memory, "cranes").file
    assert held is not None
    assert moved is not None
    assert moved.first_line == held.first_line + 3


def test_what_was_pinned_stays_pinned(memory: Recollect, added: Path) -> None:
    id = first(memory, "tide tables").id
    memory.pin([id])
    write(added, {"tides.md": "# Tides\n\nThe tables are online.\n"}, at=LONG_AGO + 60)
    memory.add_folder(added)
    assert memory.show([id])[0].tier == "core"
    assert memory.show([id])[0].text.endswith("online.")


def test_a_part_that_somebody_has_forgotten_stays_forgotten(memory: Recollect, added: Path) -> None:
    memory.forget([first(memory, "tokens").id])
    write(added, {"work/gateway.md": long_note("ports", "tokens", "ships")}, at=LONG_AGO + 60)
    memory.add_folder(added)
    assert found(memory, "tokens") == []
    assert found(memory, "ships") == ["work/gateway.md"]


# Renamed, gone, back


def test_a_renamed_file_keeps_its_memories(memory: Recollect, added: Path) -> None:
    before = ids(memory)["work/gateway.md"]
    memory.feedback("ports", before[0], accept=True)
    (added / "doors").mkdir()
    (added / "work/gateway.md").rename(added / "doors/gate.md")
    done = memory.add_folder(added)
    assert done.files == {"renamed": 1, "unchanged": 2}
    assert ids(memory)["doors/gate.md"] == before
    assert "work/gateway.md" not in ids(memory)
    assert memory.show(before[:1])[0].path == str(added / "doors/gate.md")


def test_a_renamed_and_changed_file_keeps_its_memories(memory: Recollect, added: Path) -> None:
    before = ids(memory)["work/gateway.md"]
    (added / "work/gateway.md").rename(added / "gate.md")
    text = (added / "gate.md").read_text() + "\n## More\n\nA word of more.\n"
    (added / "gate.md").write_text(text)  # the same place on the disk
    memory.add_folder(added)
    assert set(before) <= set(ids(memory)["gate.md"])


def test_a_deleted_file_disappears_and_can_be_restored(memory: Recollect, added: Path) -> None:
    id = first(memory, "tide tables").id
    (added / "tides.md").unlink()
    done = memory.add_folder(added)
    assert done.files == {"gone": 1, "unchanged": 2}
    assert found(memory, "tide tables") == []
    memory.forget([id], undo=True)
    assert found(memory, "tide tables") == ["tides.md"]
    memory.add_folder(added)  # what was brought back is not taken again
    assert found(memory, "tide tables") == ["tides.md"]


def test_a_file_that_comes_back_is_what_it_was(memory: Recollect, added: Path) -> None:
    before, text = ids(memory), (added / "work/gateway.md").read_text()
    (added / "work/gateway.md").unlink()
    memory.add_folder(added)
    write(added, {"work/gateway.md": text})
    done = memory.add_folder(added)
    assert done.files == {"restored": 1, "unchanged": 2}
    assert ids(memory) == before


def test_a_file_that_reappears_elsewhere_is_the_same_file(memory: Recollect, notes: Path) -> None:
    """Heard of in two steps: first that it is gone, then that there is a new one."""
    memory.add_folder(notes)
    before, text = ids(memory), (notes / "tides.md").read_text()
    (notes / "tides.md").unlink()
    memory.add_folder(notes)
    write(notes, {"harbour/tides.md": text})
    memory.add_folder(notes)
    assert ids(memory)["harbour/tides.md"] == before["tides.md"]


def test_a_file_takes_the_place_of_one_that_is_gone(memory: Recollect, added: Path) -> None:
    before = ids(memory)
    (added / "tides.md").unlink()
    memory.add_folder(added)
    (added / "work/sync.py").rename(added / "tides.md")
    memory.add_folder(added)
    assert ids(memory)["tides.md"] == before["work/sync.py"]
    assert len(ids(memory)) == 2


def test_a_branch_and_back_changes_nothing(memory: Recollect, added: Path, tmp_path: Path) -> None:
    before = {one.id: one.text for one in memory.export()}
    shutil.copytree(added, tmp_path / "kept")
    write(
        added, {"work/gateway.md": long_note("ports", "ships"), "new.md": "New."}, at=LONG_AGO + 9
    )
    (added / "tides.md").unlink()
    memory.add_folder(added)
    shutil.rmtree(added)
    shutil.copytree(tmp_path / "kept", added)
    memory.add_folder(added)
    assert {one.id: one.text for one in memory.export()} == before


# What must not be forgotten by mistake


def test_a_folder_that_is_away_keeps_its_memories(memory: Recollect, added: Path) -> None:
    [folder] = memory.folders()
    added.rename(added.with_name("elsewhere"))
    with pytest.raises(Away, match="is not there"):
        memory.sync_folder(folder)
    added.mkdir()  # where a disk was mounted, an empty folder is left
    with pytest.raises(Away, match="is empty, and it had 3 files before"):
        memory.sync_folder(folder)
    assert found(memory, "tide tables") == ["tides.md"]


def test_a_folder_in_it_that_cannot_be_listed_keeps_its_memories(
    memory: Recollect, added: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scan = os.scandir

    def refusing(path: os.PathLike[str] | str) -> Iterator[os.DirEntry[str]]:
        if str(path).endswith("work"):
            raise PermissionError(13, "Permission denied")
        return scan(path)

    monkeypatch.setattr(os, "scandir", refusing)
    done = memory.add_folder(added)
    assert done.files == {"unchanged": 1}
    assert done.named == [("work/", "unreadable: Permission denied")]
    assert found(memory, "cranes") == ["work/gateway.md"]


def test_whoever_is_killed_in_between_goes_on_where_it_stopped(
    memory: Recollect, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sync_module, "BATCH_FILES", 1)

    def dying(done: int, total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        memory.add_folder(notes, progress=dying)
    done = memory.add_folder(notes)
    assert done.files == {"added": 1, "unchanged": 2}
    assert len({one.title for one in memory.export()}) == 3
    assert not [one for one in memory.doctor() if one.problem]


# Left out


def test_files_left_out_are_counted_by_reason_and_once(memory: Recollect, notes: Path) -> None:
    write(notes, {
        "picture.txt": b"\x89PNG\0\0\0\0", "nothing.md": "", "package-lock.json": "{}",
        ".gitignore": "build/\n", "build/out.md": "Made.", "loop.md": "x",
        "drawing.svg": "<svg xmlns='http://www.w3.org/2000/svg'><text>Tides</text></svg>",
    })  # fmt: skip
    (notes / "loop.md").unlink()
    (notes / "loop.md").symlink_to(notes)
    done = memory.add_folder(notes)
    assert done.files == {"added": 3}
    told = {"binary": 2, "empty": 1, "generated": 1, "ignored": 1, "link": 1}
    assert done.left_out == told
    again = memory.add_folder(notes)
    assert (again.left_out, again.changed) == (told, 0)


def test_a_file_that_lacked_its_reader_is_read_once_it_is_there(
    memory: Recollect, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(notes, {"page.html": "<h1>Moorings</h1><p>The quokka sleeps.</p>"})
    with monkeypatch.context() as lacking:
        lacking.setattr(reader, "PARSERS", SimpleNamespace(parse=parse_bytes))  # in this process
        lacking.setitem(sys.modules, "lxml", None)
        lacking.setitem(sys.modules, "lxml.html", None)
        assert memory.add_folder(notes).left_out == {"needs an extra": 1}
        assert memory.add_folder(notes).left_out == {"needs an extra": 1}
    assert memory.add_folder(notes).files["changed"] == 1
    assert found(memory, "quokka") == ["page.html"]


@pytest.mark.parametrize(
    ("useless", "back"),
    [
        ({"tides.md": b"\0\1\2\3"}, {"tides.md": "The tide tables are back."}),
        ({".recollectignore": "tides.md\n"}, {".recollectignore": "*.log\n"}),
    ],
    ids=["no text any more", "ignored from now on"],
)
def test_a_file_that_becomes_useless_is_forgotten_until_it_is_back(
    memory: Recollect, added: Path, useless: dict[str, str | bytes], back: dict[str, str | bytes]
) -> None:
    write(added, useless, at=LONG_AGO + 60)
    memory.add_folder(added)
    assert found(memory, "tide tables") == []
    write(added, back, at=LONG_AGO + 120)
    memory.add_folder(added)
    assert found(memory, "tide tables") == ["tides.md"]


def test_names_with_newlines_and_quotes_are_names(memory: Recollect, tmp_path: Path) -> None:
    name = "a\n'\"; DROP TABLE files; --.md"
    write(tmp_path / "notes", {name: "The quokka sleeps."})
    memory.add_folder(tmp_path / "notes")
    assert found(memory, "quokka") == [name]


# Secrets


def test_a_secret_is_not_stored_and_lines_keep_numbers(memory: Recollect, tmp_path: Path) -> None:
    block = "-----BEGIN RSA PRIVATE KEY-----\n" + "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo=\n" * 6
    text = f"# Keys\n\n{block}-----END RSA PRIVATE KEY-----\n\n## After\n\n" + "Quokka. " * 300
    write(tmp_path / "notes", {"keys.md": text})
    done = memory.add_folder(tmp_path / "notes")
    assert done.redacted == {"private key": 1}
    assert not any("QUJDREVG" in one.text for one in memory.export())
    place = first(memory, "quokka").file
    assert place is not None
    lines = text.split("\n")
    assert lines[place.last_line - 1].startswith("Quokka")


def test_without_redaction_everything_is_kept(memory: Recollect, tmp_path: Path) -> None:
    write(tmp_path / "notes", {"a.md": "See <redact>the lighthouse</redact> there."})
    memory.add_folder(tmp_path / "notes", redact=False)
    assert "the lighthouse" in first(memory, "lighthouse").memory.text


# Folders


def test_folders_are_listed_kept_when_added_again_and_removed(
    memory: Recollect, notes: Path
) -> None:
    memory.add_folder(notes, project="harbor", follow=True)
    memory.add_folder(notes)
    [folder] = memory.folders()
    assert (folder.path, folder.project, folder.followed, folder.files) == (
        str(notes), "harbor", True, 3,
    )  # fmt: skip
    assert memory.remove_folder(notes) == 5
    assert memory.folders() == []
    assert [*memory.export()] == []
    assert (notes / "tides.md").exists()


@pytest.mark.parametrize("which", ["inner", "outer"])
def test_a_folder_within_another_is_refused(memory: Recollect, notes: Path, which: str) -> None:
    inner = notes / "work"
    memory.add_folder(notes if which == "inner" else inner)
    with pytest.raises(UserError, match=r"is in .*notes; add one of them"):
        memory.add_folder(inner if which == "inner" else notes)


@pytest.mark.parametrize("what", ["nowhere", "tides.md"])
def test_what_is_no_folder_is_refused(memory: Recollect, notes: Path, what: str) -> None:
    with pytest.raises(NotFound, match=r"There is no folder|a folder is needed"):
        memory.add_folder(notes / what)
    with pytest.raises(NotFound, match="was never added"):
        memory.remove_folder(notes)


def test_a_folder_by_a_link_is_the_folder_itself(memory: Recollect, added: Path) -> None:
    link = added.with_name("link")
    link.symlink_to(added)
    assert memory.add_folder(link).files == {"unchanged": 3}
    assert len(memory.folders()) == 1


def test_only_who_may_write_and_mend_adds_folders(memory: Recollect, notes: Path) -> None:
    reader = memory.acting_as(Caller(name="reader", capabilities=frozenset({SEARCH})))
    for call in (reader.add_folder, reader.remove_folder):
        with pytest.raises(Forbidden):
            call(notes)


# Looking at single files


def test_of_single_files_only_these_are_looked_at(memory: Recollect, added: Path) -> None:
    [folder] = memory.folders()
    write(added, {"tides.md": "Low water at noon."}, at=LONG_AGO + 60)
    write(added, {"new.md": "A new page."})
    (added / "work/sync.py").unlink()
    paths = ["tides.md", "work/sync.py", "nowhere.md"]
    done = memory.sync_folder(folder, scan_paths(added, paths, Matcher(added)))
    assert done.files == {"changed": 1, "gone": 1}
    assert found(memory, "new page") == []
    assert found(memory, "cranes") == ["work/gateway.md"]


def test_a_single_file_that_is_ignored_is_not_taken(memory: Recollect, added: Path) -> None:
    [folder] = memory.folders()
    write(added, {".gitignore": "*.log\n", "a.log": "The quokka sleeps."})
    memory.sync_folder(folder, scan_paths(added, ["a.log"], Matcher(added)))
    assert found(memory, "quokka") == []
