"""Homes and vaults that are broken, foreign, locked away or out of space: one sentence, no loss."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from commandline import RECOLLECT, SHOPPING, Home, Ran, check_error, lines

EVERY = (
    "list|search note|save --title x|show a|edit a --title x|pin a|forget a|context|"
    "feedback q a --accept|stats|doctor|doctor --fix|reindex|export|import -"
).split("|")
SHOPPING_LIST = b"A shopping list: bread, butter, and a hundred more characters. " * 4
READING = {"list", "search", "show", "context", "stats", "doctor", "export"}
# Root may write anywhere; without these two capabilities it may only where the modes allow it.
WITHOUT_POWERS = """
import ctypes, os, sys
PR_CAPBSET_DROP, DAC_OVERRIDE, DAC_READ_SEARCH = 24, 1, 2
for power in (DAC_OVERRIDE, DAC_READ_SEARCH):
    ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, power, 0, 0, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
POWERLESS = (sys.executable, "-c", WITHOUT_POWERS)


@pytest.fixture
def kept(home: Home) -> Home:
    """A home with one memory."""
    home.save("--title", "A note to keep", "--id", "a")
    return home


@pytest.mark.parametrize("line", EVERY)
def test_a_vault_that_is_a_folder(home: Home, line: str) -> None:
    home.vault.mkdir(parents=True)
    check_error(home.call(*line.split()), str(home.vault), "folder")


@pytest.mark.parametrize("line", EVERY)
def test_a_home_that_is_a_file(home: Home, line: str) -> None:
    home.folder.write_text("not a folder")
    check_error(home.call(*line.split()), str(home.folder))
    assert home.folder.read_text() == "not a folder"


@pytest.mark.parametrize("line", EVERY)
@pytest.mark.parametrize(
    ("content", "said"),
    [(SHOPPING_LIST, "not a SQLite database"), (SHOPPING, "not a Recollect vault")],
    ids=["a text", "another database"],
)
def test_a_file_that_is_no_vault_is_refused_and_stays(
    home: Home, line: str, content: bytes, said: str
) -> None:
    home.folder.mkdir()
    home.vault.write_bytes(content)
    check_error(home.call(*line.split()), str(home.vault), said)
    assert home.vault.read_bytes() == content


@pytest.mark.parametrize("line", EVERY)
def test_a_vault_of_a_newer_version(kept: Home, line: str) -> None:
    file = apsw.Connection(str(kept.vault))
    [(version,)] = file.execute("PRAGMA user_version").fetchall()
    file.execute("PRAGMA user_version = 999")
    check_error(kept.call(*line.split()), str(kept.vault), "version 999", "newer Recollect")
    file.execute(f"PRAGMA user_version = {version}")
    file.close()
    assert kept.list_ids() == ["a"]


@pytest.mark.parametrize("line", EVERY)
def test_a_vault_that_was_cut_off(kept: Home, line: str) -> None:
    whole = kept.vault.read_bytes()
    kept.vault.write_bytes(whole[: len(whole) // 3])
    if line == "doctor --fix":  # the page with the memory is still there
        assert kept.call(*line.split()).code == 0
        [aside] = (kept.folder / "backups").glob("vault-damaged-*.db")
        assert aside.read_bytes() == whole[: len(whole) // 3]
    else:
        check_error(kept.call(*line.split()), str(kept.vault), "damaged")
        assert len(kept.vault.read_bytes()) == len(whole) // 3
        kept.vault.write_bytes(whole)
    assert kept.list_ids() == ["a"]


@pytest.mark.parametrize("name", ["/dev/null/home", "{tmp}/" + "h" * 300])
def test_a_home_that_cannot_be(home: Home, tmp_path: Path, name: str) -> None:
    check_error(home.run("list", using={"RECOLLECT_HOME": name.format(tmp=tmp_path)}), name[-5:])


def test_a_home_whose_name_is_not_utf8(home: Home, tmp_path: Path) -> None:
    environment = {
        os.fsencode(name): os.fsencode(value) for name, value in home.environment.items()
    }
    environment[b"RECOLLECT_HOME"] = bytes(tmp_path) + b"/\xff"
    done = subprocess.run([RECOLLECT, "list"], capture_output=True, env=environment, check=False)
    check_error(Ran(done.returncode, done.stdout.decode(), done.stderr.decode()), "UTF-8")


def test_a_home_is_made_where_there_is_none(home: Home) -> None:
    deep = home.folder / "a" / "b"
    assert home.run("save", "--title", "x", using={"RECOLLECT_HOME": str(deep)}).code == 0
    assert (deep / "vault.db").is_file()


def test_a_home_may_begin_with_a_tilde(home: Home) -> None:
    assert home.run("save", "--title", "x", using={"RECOLLECT_HOME": "~/mine"}).code == 0
    assert (home.folder / "mine" / "vault.db").is_file()


@pytest.mark.parametrize("line", EVERY)
def test_a_read_only_vault_can_be_read_and_says_so_when_written(kept: Home, line: str) -> None:
    kept.vault.chmod(0o444)
    kept.folder.chmod(0o555)
    try:
        done = kept.run(*line.split(), through=POWERLESS, stdin=b'{"title": "x"}')
    finally:
        kept.folder.chmod(0o755)
    if line.split()[0] in READING:
        assert (done.code, done.err) == (0, "")
    else:
        check_error(done, str(kept.vault), "read-only")
    kept.vault.chmod(0o644)
    assert kept.list_ids() == ["a"]


@pytest.mark.parametrize("line", ["list", "save --title x", "recipes"])
def test_a_home_of_somebody_else(kept: Home, line: str) -> None:
    kept.folder.chmod(0)
    try:
        check_error(
            kept.run(*line.split(), through=POWERLESS), str(kept.folder), "Permission denied"
        )
    finally:
        kept.folder.chmod(0o755)
    assert kept.list_ids() == ["a"]


def test_a_vault_that_may_not_even_be_read(kept: Home) -> None:
    kept.vault.chmod(0)
    check_error(kept.run("list", through=POWERLESS), str(kept.vault), "cannot be opened")
    kept.vault.chmod(0o644)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Home]:
    """A home on a disk of 2 MB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(disk)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode != 0:
        pytest.skip("mounting is not permitted here")
    yield Home(disk / "home")
    subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.skipif(shutil.which("mount") is None, reason="there is no mount here")
def test_a_full_disk_refuses_new_memories_and_keeps_the_old(small_disk: Home) -> None:
    home, ids = small_disk, []
    for number in range(100):
        text = f"note{number} " + "words of a long memory " * 4000
        done = home.call("save", "--title", f"Note {number}", "--text", "-", stdin=text.encode())
        if done.code:
            break
        ids.append(done.out.strip())
    check_error(done, str(home.vault), "full")
    assert len(ids) > 3
    args = ("save", "--title", "y", "--text", "-")
    check_error(home.run(*args, stdin=b"words " * 100_000), "full")
    check_error(home.run("import", "-", stdin=lines({"text": "words " * 100_000})), "full")
    assert sorted(home.list_ids()) == sorted(ids)
    assert home.search_ids("note0", "--recipe", "vault") == ids[:1]
    assert home.is_sound()
    backup = home.folder / "backup.jsonl"
    check_error(home.run("export", str(backup)), str(backup), "No space left")
    assert not list(home.folder.glob("backup*"))
    exported = home.run("export").out.splitlines()
    assert sorted(json.loads(line)["id"] for line in exported) == sorted(ids)


def test_a_file_that_may_not_grow_refuses_new_memories_and_keeps_the_old(kept: Home) -> None:
    """Limit file sizes like `ulimit -f`, for machines where nothing can be mounted."""
    blocks = (kept.vault.stat().st_size + 100_000) // 512
    bounded = ("sh", "-c", f'trap "" 25; ulimit -f {blocks}; exec "$0" "$@"')  # 25 is SIGXFSZ
    text = " ".join(f"word{number}" for number in range(30_000)).encode()
    args = ("save", "--title", "Too large", "--text", "-")
    ran = kept.run(*args, stdin=text, through=bounded)
    check_error(ran, str(kept.vault), "nothing of this write was kept")
    assert kept.list_ids() == ["a"]
    assert kept.is_sound()
