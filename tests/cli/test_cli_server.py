"""Commands that a running server answers: the same text, and only where it would be the same."""

from __future__ import annotations

import os
import re
import socket
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

import pytest
from commandline import ESCAPE, Home, Ran

from recollect import Recollect
from recollect.interfaces.cli import running_server
from recollect.interfaces.cli.command_socket import AskedCommand, Commands, answering_commands
from recollect.interfaces.cli.commands import COMMANDS, READING
from recollect.interfaces.cli.screen import Screen
from recollect.lifetime import Lifetime
from recollect.version import __version__

COMMAND_LINES = [
    ("search", "tokens"),
    ("search", "tokens", "--explain"),
    ("search", "nothing like it", "--recipe", "vault"),
    ("context", "tokens", "--project", "harbor"),
    ("show", "first"),
    ("list", "--limit", "1"),
]
MILLISECONDS = re.compile(r'\d+\.\d+ ms|"timings_ms": \{[^}]*\}')
USED = re.compile(r"^used .*\n", re.MULTILINE)


@pytest.fixture
def home() -> Iterator[Home]:
    """A home with two memories; its path is short enough for the name of a socket."""
    with short_home("One server") as made:
        yield made


@contextmanager
def short_home(title: str) -> Iterator[Home]:
    with TemporaryDirectory(prefix="rc") as folder:
        made = Home(Path(folder) / "home")
        made.bring_in(
            {"id": "first", "title": f"{title} refreshes tokens", "project": "harbor"},
            {"id": "second", "title": "Tokens expire", "text": "After an hour.", "tags": ["auth"]},
        )
        yield made


@contextmanager
def server(home: Home, **more: str) -> Iterator[Recollect]:
    """A server of that home, as `recollect serve` and `recollect mcp` have it."""
    with (
        mock.patch.dict(os.environ, home.environment | more, clear=True),
        Recollect(lifetime=Lifetime.SERVER) as memory,
        answering_commands(memory),
    ):
        yield memory


@contextmanager
def only_a_server() -> Iterator[None]:
    """No command can open a vault itself."""
    with mock.patch("recollect.engine.Recollect", side_effect=AssertionError("answered here")):
        yield


def answered_by_a_server(home: Home, *args: str, **more: str) -> bool:
    with only_a_server():
        try:
            return home.call(*args, using=more).code == 0
        except AssertionError:
            return False


def masked(ran: Ran) -> Ran:
    """Without times, and without how often a memory was of use, which grows with every command."""
    return ran._replace(out=USED.sub("", MILLISECONDS.sub("", ran.out)))


@pytest.mark.parametrize("json", [(), ("--json",)])
def test_a_server_gives_the_answer_that_the_command_would_print(
    home: Home, json: tuple[str, ...]
) -> None:
    here = [masked(home.call(*line, *json)) for line in COMMAND_LINES]
    with server(home), only_a_server():
        assert [masked(home.call(*line, *json)) for line in COMMAND_LINES] == here
    assert all(ran.code == 0 and ran.out for ran in here)


def test_without_a_server_and_with_no_server_the_command_answers_itself(home: Home) -> None:
    assert not answered_by_a_server(home, "list")
    with server(home):
        assert answered_by_a_server(home, "list")
        assert not answered_by_a_server(home, "list", "--no-server")
    assert not answered_by_a_server(home, "list")
    assert home.call("list", "--no-server").code == 0


def test_only_commands_that_read_ask_a_server(home: Home) -> None:
    writing = {"save", "edit", "forget", "pin", "feedback", "import", "restore", "tidy"}
    assert set(READING) < set(COMMANDS)
    assert not set(READING) & writing
    with server(home), mock.patch.object(running_server, "answer_of", side_effect=AssertionError):
        home.save("--title", "Saved here")


@pytest.mark.parametrize(
    "more",
    [
        {"RECOLLECT_SEARCH__RECIPE": "vault"},
        {"RECOLLECT_NOW": "2026-03-01T12:00:00Z"},
        {"OPENAI_API_KEY": "another"},
        {"RECOLLECT_PASSPHRASE": "one"},
        {"RECOLLECT_SERVE__COMMANDS": "false"},
    ],
)
def test_a_command_with_another_environment_answers_itself(
    home: Home, more: dict[str, str]
) -> None:
    with server(home):
        assert answered_by_a_server(home, "list", TERM="dumb")
        assert not answered_by_a_server(home, "list", **more)


def test_a_setting_that_has_changed_since_the_server_started_is_obeyed(home: Home) -> None:
    with server(home):
        (home.folder / "config.toml").write_text('[search]\nrecipe = "vault"\n')
        assert not answered_by_a_server(home, "search", "tokens")
        assert home.search("tokens")["recipe"] == "vault"


def test_a_setting_turns_it_off(home: Home) -> None:
    off = {"RECOLLECT_SERVE__COMMANDS": "false"}
    with server(home, **off):
        assert not (home.folder / running_server.FOLDER).exists()
        assert not answered_by_a_server(home, "list", **off)


def test_the_project_vault_of_the_callers_folder_is_not_missed(home: Home) -> None:
    project = home.folder.parent / "project"
    (project / ".recollect").mkdir(parents=True)
    (project / ".recollect" / "vault.db").touch()
    before = Path.cwd()
    with server(home):
        os.chdir(project)
        try:
            assert not answered_by_a_server(home, "list")
        finally:
            os.chdir(before)
        assert answered_by_a_server(home, "list")


def test_here_is_the_folder_of_the_caller(home: Home) -> None:
    with server(home) as memory:
        asked = AskedCommand(
            "list", Screen(terminal=False, width=100, styles=2), Path("/srv/harbor"),
            ["--here", "--json"], dict(home.environment),
        )  # fmt: skip
        assert '"first"' in Commands(memory).answer(asked)
        assert '"second"' not in Commands(memory).answer(asked)


def test_the_text_is_made_for_the_screen_of_the_caller(home: Home) -> None:
    def shown(screen: Screen) -> str:
        asked = AskedCommand("list", screen, Path("/"), [], dict(home.environment))
        return Commands(memory).answer(asked)

    with server(home) as memory:
        assert ESCAPE in shown(Screen(terminal=True, width=80, styles=2))
        assert ESCAPE not in shown(Screen(terminal=True, width=80, styles=0))
        assert ESCAPE not in shown(Screen(terminal=False, width=80, styles=2))
        assert "One server…" in shown(Screen(terminal=True, width=16, styles=0))


def test_a_locked_vault_is_answered_for_by_nobody_but_who_has_the_passphrase(home: Home) -> None:
    with server(home) as memory:
        assert answered_by_a_server(home, "list")
        with mock.patch.object(type(memory.store.database), "locked", True):
            assert not answered_by_a_server(home, "list")
        with mock.patch.object(type(memory.store.database), "at_rest", True):
            assert not answered_by_a_server(home, "list")


@pytest.mark.parametrize("args", [("show", "unknown"), ("list", "--limit", "many"), ("show",)])
def test_an_error_is_the_commands_own(home: Home, args: tuple[str, ...]) -> None:
    here = home.call(*args)
    assert here.code in (1, 2)
    with server(home):
        assert home.call(*args) == here


def test_two_homes_have_a_server_each(home: Home) -> None:
    with short_home("Another server") as other, server(home), server(other), only_a_server():
        assert "One server" in home.call("show", "first").out
        assert "Another server" in other.call("show", "first").out


def test_of_several_servers_one_that_may_answers(home: Home) -> None:
    with server(home, RECOLLECT_NOW="2026-03-01T12:00:00Z"):
        assert not answered_by_a_server(home, "list")
        with mock.patch("os.getpid", return_value=1), server(home):
            assert answered_by_a_server(home, "list")
        assert not answered_by_a_server(home, "list")


def test_only_the_user_can_reach_the_socket(home: Home) -> None:
    with server(home):
        folder = home.folder / running_server.FOLDER
        [file] = folder.iterdir()
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert not list(folder.iterdir())


def test_a_server_of_another_user_is_not_asked(home: Home) -> None:
    with server(home), mock.patch("os.geteuid", return_value=os.geteuid() + 1):
        assert not answered_by_a_server(home, "list")


def test_a_folder_that_others_can_write_to_is_not_trusted(home: Home) -> None:
    with server(home):
        (home.folder / running_server.FOLDER).chmod(0o770)
        assert not answered_by_a_server(home, "list")


Answering = Callable[[socket.socket], None]


@contextmanager
def pretended(home: Home, name: str, answer: Answering | None) -> Iterator[None]:
    """A socket that no Recollect server made; without `answer` nobody listens any more."""
    folder = home.folder / running_server.FOLDER
    folder.mkdir(mode=0o700)
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(folder / name))
    if answer is None:
        listening.close()
        yield
        return
    listening.listen()

    def serve() -> None:
        asking, _ = listening.accept()
        with asking:
            while asking.recv(1 << 16):
                pass
            answer(asking)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    with listening:
        yield
        thread.join()


ODD: dict[str, Answering] = {
    "it says nothing": lambda asking: None,
    "it declines": lambda asking: asking.sendall(b"-"),
    "it dies before it answers": lambda asking: asking.sendall(b"+"),
    "it dies in the middle": lambda asking: asking.sendall(b"+100\n[{"),
    "it is no server of ours": lambda asking: asking.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
}


@pytest.mark.parametrize("how", ODD)
def test_an_answer_that_is_not_whole_is_no_answer(home: Home, how: str) -> None:
    with pretended(home, f"{__version__}-1", ODD[how]):
        assert home.listed() == ["first", "second"]


def test_a_killed_server_leaves_a_file_that_the_next_one_removes(home: Home) -> None:
    with pretended(home, f"{__version__}-1", None):
        assert not answered_by_a_server(home, "list")
        assert home.listed() == ["first", "second"]
        with server(home):
            assert answered_by_a_server(home, "list")
            assert len(list((home.folder / running_server.FOLDER).iterdir())) == 1


def test_a_server_of_another_version_is_not_asked(home: Home) -> None:
    with pretended(home, "0.0.0-1", None), mock.patch.object(running_server, "_asked") as asked:
        assert not answered_by_a_server(home, "list")
    asked.assert_not_called()


def test_a_home_that_takes_no_socket_serves_without(tmp_path: Path) -> None:
    long = Home(tmp_path / ("long" * 40))
    long.bring_in({"id": "first", "title": "Kept"})
    with server(long):
        assert not answered_by_a_server(long, "list")
        assert long.listed() == ["first"]


def test_a_command_that_a_server_answers_imports_next_to_nothing(home: Home) -> None:
    with server(home):
        ran = home.run("list", "--json", through=(sys.executable, "-X", "importtime"))
    imported = {line.rpartition("|")[2].strip() for line in ran.err.splitlines()}
    assert "socket" in imported
    assert not imported & {"argparse", "msgspec", "typing", "pathlib", "recollect.engine"}
