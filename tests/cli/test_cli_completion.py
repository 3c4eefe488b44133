"""Completion in a shell, and its costs."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from commandline import Home, check_usage_error

from recollect.interfaces.cli.commands import every_command
from recollect.interfaces.cli.completion import SCRIPTS


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    made = Home(tmp_path_factory.mktemp("completion") / "home")
    made.import_memories(
        {"id": "auth-jwt", "title": "Switched\tto JWT", "tags": ["auth", "api"], "project": "quay"},
        {"id": "auth-keys", "title": "Keys", "kind": "bug", "project": "harbor"},
        {"id": "tides", "title": "Tides"},
    )
    made.call("forget", "tides")
    return made


def complete(home: Home, *words: str) -> list[str]:
    done = home.call("completion", "--line", *words)
    assert (done.code, done.err) == (0, "")
    return [line.partition("\t")[0] for line in done.out.splitlines() if line]


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (("sea",), ["search"]),
        (("help", "vaul"), ["vault"]),
        (("search", "--rec"), ["--recipe"]),
        (("search", "--recipe", "bl"), ["blend"]),
        (("search", "x", "--view", "p"), ["pointer", "preview"]),
        (("list", "--project", ""), ["harbor", "quay"]),
        (("ls", "--not-tag", "a"), ["api", "auth"]),
        (("tag", "auth-jwt", "--add", "au"), ["auth"]),
        (("edit", "auth-keys", "--kind", ""), ["bug", "fact"]),
        (("show", "auth-k"), ["auth-keys"]),
        (("rm", "t"), []),
        (("restore", ""), ["tides"]),
        (("trash", "restore", ""), ["tides"]),
        (("tag", "re"), ["rename"]),
        (("tag", "rename", "--y"), ["--yes"]),
        (("access", ""), ["token", "sessions", "audit"]),
        (("unpin", "--o"), ["--off"]),
        (("list", "--after", "auth-j"), ["auth-jwt"]),
        (("search", "au"), []),
        (("completion", "f"), ["fish"]),
        (("nonsense", ""), []),
    ],
)
def test_what_may_come_next_is_offered(
    home: Home, words: tuple[str, ...], names: list[str]
) -> None:
    assert complete(home, *words) == names


def test_ids_have_their_titles_beside_them(home: Home) -> None:
    assert home.call("completion", "--line", "show", "auth-j").out == "auth-jwt\tSwitched to JWT\n"
    assert set(complete(home, "")) == {name for name in every_command() if " " not in name}


def test_where_there_is_no_vault_or_a_locked_one_nothing_is_offered_and_made(
    tmp_path: Path,
) -> None:
    away = Home(tmp_path / "away")
    assert complete(away, "show", "") == []
    assert not away.folder.exists()
    away.folder.mkdir()
    away.vault.write_bytes(bytes(range(256)) * 16)
    assert complete(away, "show", "") == []


@pytest.mark.installed
def test_a_key_press_imports_neither_the_engine_nor_argparse(home: Home) -> None:
    through = (sys.executable, "-X", "importtime")
    ran = home.run("completion", "--line", "show", "auth", through=through)
    imported = {line.rpartition("|")[2].strip() for line in ran.err.splitlines()}
    assert not imported & {"argparse", "msgspec", "apsw", "recollect.engine", "pathlib"}
    assert ran.out.split("\n")[0].startswith("auth-")


@pytest.mark.parametrize("shell", SCRIPTS)
def test_every_shell_has_a_script(home: Home, shell: str) -> None:
    script = home.call("completion", shell).out
    assert "recollect completion --line" in script
    if shutil.which(shell):
        checked = [shell, "--no-execute"] if shell == "fish" else [shell, "-n"]
        done = subprocess.run(checked, input=script.encode(), capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, b"")


def test_bash_completes_by_it(home: Home) -> None:
    if not shutil.which("bash"):
        pytest.skip("no bash here")
    typed = 'COMP_WORDS=(recollect show auth-k); COMP_CWORD=2; _recollect; echo "${COMPREPLY[@]}"'
    bin = Path(sys.executable).parent
    done = subprocess.run(
        ["bash", "-c", f"{home.call('completion', 'bash').out}\n{typed}"],
        capture_output=True,
        env=home.environment | {"PATH": f"{bin}:{home.environment['PATH']}"},
        check=False,
    )
    assert done.stdout.decode().split() == ["auth-keys"]


def test_an_unknown_shell_is_refused(home: Home) -> None:
    check_usage_error(home.call("completion", "tcsh"), "bash, zsh, fish, powershell")
