"""The file of an export: whole, private, and checked when it is imported."""

from __future__ import annotations

import json
import signal
import stat
import subprocess
import sys
from pathlib import Path
from shutil import which
from typing import Any

import pytest
from commandline import NOW, Home, check_error, lines

from recollect.files import replace_file

COUNT = 1500
# An export that stops in the middle, its temporary file half written.
STOPPED = """
import signal, sys
from recollect.engine import Recollect
from recollect.interfaces.cli import main
whole = Recollect.export
def half(memory):
    yield from list(whole(memory))[:1]
    print("half", flush=True)
    signal.pause()
Recollect.export = half
main.main(sys.argv[1:])
"""


@pytest.fixture
def exported(home: Home, tmp_path: Path) -> Path:
    """An export of three memories."""
    home.import_memories(*({"id": id, "title": f"Note {id}"} for id in "abc"))
    file = tmp_path / "out" / "backup.jsonl"
    file.parent.mkdir()
    assert home.call("export", str(file)).code == 0
    return file


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def stopped_export(home: Home, file: Path) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-c", STOPPED, "export", str(file)],
        stdout=subprocess.PIPE,
        env=home.environment,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"half\n"
    return process


def test_exports_to_one_file_at_once_leave_one_whole_file(home: Home, tmp_path: Path) -> None:
    """Vaults of two sizes: with a shared temporary file one export cut the other short."""
    other = Home(tmp_path / "other", RECOLLECT_NOW=NOW)
    memories = [{"id": f"m{number}", "text": "word " * 50} for number in range(COUNT)]
    home.import_memories(*memories)
    other.import_memories(*memories[: COUNT // 2])
    out = tmp_path / "out"
    out.mkdir()
    file = out / "backup.jsonl"
    for _ in range(3):
        writers = [one.start("export", str(file)) for one in (home, other, home, other)]
        assert [(writer.communicate(), writer.returncode)[1] for writer in writers] == [0] * 4
        ids = {json.loads(line)["id"] for line in file.read_bytes().splitlines()}
        assert len(ids) in (COUNT, COUNT // 2)
        assert names(out) == ["backup.jsonl", "backup.jsonl.sha256"]
        checked = home.call("import", "--dry-run", str(file))
        assert (checked.code, checked.err) == (0, "")


def test_a_killed_export_leaves_the_older_file_and_the_next_one_cleans_up(
    home: Home, exported: Path
) -> None:
    before = exported.read_bytes()
    process = stopped_export(home, exported)
    assert len(names(exported.parent)) == 3
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert len(names(exported.parent)) == 3
    assert exported.read_bytes() == before
    assert home.call("import", str(exported)).code == 0
    assert home.call("export", str(exported)).code == 0
    assert names(exported.parent) == ["backup.jsonl", "backup.jsonl.sha256"]
    assert exported.read_bytes() == before


def test_the_temporary_file_of_a_running_export_stays(home: Home, exported: Path) -> None:
    process = stopped_export(home, exported)
    assert home.call("export", str(exported)).code == 0
    assert len(names(exported.parent)) == 3
    process.kill()
    process.communicate()


def test_only_leftovers_of_this_file_are_removed(home: Home, exported: Path) -> None:
    for name in (".backup.jsonl.part", "backup.jsonl.part", ".recollect-00000000-1.part"):
        (exported.parent / name).touch()
    before = names(exported.parent)
    assert home.call("export", str(exported)).code == 0
    assert names(exported.parent) == before


def test_a_link_is_refused_and_what_it_leads_to_stays(home: Home, tmp_path: Path) -> None:
    home.save("--title", "x")
    target, link, nowhere = (tmp_path / name for name in ("target", "link", "nowhere"))
    target.write_text("mine")
    link.symlink_to(target)
    nowhere.symlink_to(tmp_path / "missing")
    for file in (link, nowhere):
        check_error(home.call("export", str(file)), str(file), "is a link")
        assert file.is_symlink()
    assert target.read_text() == "mine"
    assert not (tmp_path / "missing").exists()


def test_an_export_and_its_checksum_are_private(home: Home, exported: Path) -> None:
    exported.chmod(0o644)
    assert home.call("export", str(exported)).code == 0
    for file in exported.parent.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_temporary_file_is_private_from_the_beginning(tmp_path: Path) -> None:
    with replace_file(tmp_path / "file"):
        [beside] = tmp_path.iterdir()
        assert stat.S_IMODE(beside.stat().st_mode) == 0o600


@pytest.mark.skipif(which("sha256sum") is None, reason="GNU coreutils are not here")
def test_other_tools_can_check_an_export(exported: Path) -> None:
    done = subprocess.run(
        ["sha256sum", "--check", "--strict", "backup.jsonl.sha256"],
        cwd=exported.parent, capture_output=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, b"backup.jsonl: OK\n", b"")


@pytest.mark.parametrize("left", [0, 1, 2, 2.5])
def test_an_export_that_is_cut_short_is_refused(
    home: Home, exported: Path, tmp_path: Path, left: float
) -> None:
    """Cut between two lines as well, where every line that is left is a good one."""
    raw = exported.read_bytes()
    size = len(raw)
    exported.write_bytes(raw[: int(size * left / 3)])
    other = Home(tmp_path / "other")
    told = check_error(other.call("import", str(exported)), "cut short", "--no-verify")
    assert f"of {size:,} bytes" in told
    assert other.list_ids() == []
    if left == 2:
        assert other.call("import", "--no-verify", str(exported)).code == 0
        assert len(other.list_ids()) == 2


def test_an_altered_export_is_refused(home: Home, exported: Path, tmp_path: Path) -> None:
    exported.write_bytes(exported.read_bytes().replace(b"Note b", b"Note B"))
    other = Home(tmp_path / "other")
    check_error(other.call("import", str(exported)), "altered", "--no-verify")
    check_error(other.call("import", "--dry-run", str(exported)), "altered")
    assert other.list_ids() == []
    assert other.call("import", "--no-verify", str(exported)).code == 0
    assert len(other.list_ids()) == 3


def test_a_checksum_file_that_holds_none_is_named(home: Home, exported: Path) -> None:
    beside = exported.with_name("backup.jsonl.sha256")
    beside.write_text("nothing\n")
    check_error(home.call("import", str(exported)), str(beside), "holds no SHA-256")
    beside.unlink()
    beside.mkdir()
    check_error(home.call("import", str(exported)), str(beside), "not a file")


def test_a_file_without_a_checksum_is_imported_as_it_is(home: Home, tmp_path: Path) -> None:
    file = tmp_path / "by-hand.jsonl"
    file.write_bytes(lines({"title": "One"}, {"title": "Two"}))
    assert home.call("import", str(file)).out == "2 added, 0 updated, 0 unchanged.\n"


def test_all_moves_a_vault_with_what_is_forgotten_and_feedback(
    home: Home, exported: Path, tmp_path: Path
) -> None:
    home.call("forget", "b", using={"RECOLLECT_NOW": "2026-02-03T04:05:06Z"})
    for choice in ("--accept", "--accept", "--dismiss"):
        assert home.call("feedback", "which note", "a", choice).code == 0
    written = home.call("export", "--all", str(exported))
    assert written.err.startswith("2 memories, 1 forgotten memory, 3 feedback entries written to")
    raw = exported.read_bytes()
    assert b'"forgotten_at":"2026-02-03T04:05:06Z"' in raw
    assert home.call("export", "--all").out.encode() == raw

    other = Home(tmp_path / "other", RECOLLECT_NOW=NOW)
    done = other.call("import", str(exported))
    assert done.out == "3 added, 0 updated, 0 unchanged, 3 feedback entries added.\n"
    assert other.call("export", "--all").out.encode() == raw
    assert other.call("import", str(exported)).out == "0 added, 0 updated, 3 unchanged.\n"
    assert sorted(other.list_ids()) == ["a", "c"]
    assert other.search_ids("note", "--recipe", "vault") == home.search_ids(
        "note", "--recipe", "vault"
    )
    assert other.is_sound()
    assert other.call("forget", "--undo", "b").code == 0
    assert sorted(other.list_ids()) == ["a", "b", "c"]


def test_what_is_no_forgotten_memory_and_no_feedback_is_a_bad_line(home: Home) -> None:
    whole = {"query": "q", "id": "a", "accepted": True, "at": NOW}
    bad: list[dict[str, Any]] = [
        {"title": "x", "forgotten_at": NOW},
        {"id": "x", "title": "x", "forgotten_at": 5},
        {"id": "x", "title": "x", "forgotten_at": "yesterday"},
        {"feedback": {name: whole[name] for name in ("query", "id", "at")}},
        {"feedback": whole | {"accepted": 1}},
        {"feedback": whole | {"query": " "}},
        {"feedback": whole, "title": "x"},
        {"feedback": "good"},
    ]
    done = home.import_memories(*bad, args=("--json",))
    assert [line["line"] for line in json.loads(done.out)["bad"]] == [*range(1, len(bad) + 1)]
    assert home.import_memories({"feedback": whole}).out.endswith("1 feedback entry added.\n")


def test_all_is_refused_for_markdown(home: Home, tmp_path: Path) -> None:
    done = home.call("export", "--all", "--format", "markdown", str(tmp_path / "notes"))
    assert done.code == 2
    assert "--all" in done.err
