"""A server answers the commands of its user that only read: the other side of `running_server.py`.

The socket is a file that only this user can open, so whoever asks may read the vault anyway. A
locked vault is not answered for: there the command needs the passphrase. The answer is the text
that the command would have printed, made by the same code. The server declines whatever it would
not answer in the same way: other settings, another project's vault, wrong usage, an error.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple, NoReturn

from recollect.engine import Recollect
from recollect.errors import RecollectError, UserError
from recollect.interfaces.cli.arguments import CommandParser, parser_of
from recollect.interfaces.cli.commands import ANSWERED, COMMANDS, module_of
from recollect.interfaces.cli.running_server import FOLDER, TAKEN
from recollect.interfaces.cli.screen import ELSEWHERE, Screen
from recollect.interfaces.listening import on_file, remove_stale
from recollect.projects import project_of
from recollect.settings import Settings
from recollect.settings_reading import load_settings
from recollect.vaults.trust import project_vault, working_folder
from recollect.version import __version__

THREADS = 2  # a command that has to wait for one answers itself
STALLED_S = 1.0  # whoever asks has the whole request at hand


class Declined(Exception):
    """The command must answer itself."""


class AskedCommand(NamedTuple):
    """A command as somebody has called it elsewhere."""

    name: str
    screen: Screen
    folder: Path
    argv: list[str]
    environment: dict[str, str]

    @classmethod
    def read(cls, raw: bytes) -> AskedCommand:
        name, shown, folder, count, *rest = map(os.fsdecode, raw.split(b"\0"))
        terminal, styles, links, width, session = map(int, shown.split())
        screen = Screen(
            terminal=bool(terminal),
            width=width,
            styles=styles,
            links=bool(links),
            session=session,
        )
        variables = (pair.partition("=") for pair in rest[int(count) :])
        environment = {name: value for name, _, value in variables}
        return cls(name, screen, Path(folder), rest[: int(count)], environment)


class SilentParser(CommandParser):
    """Prints nothing: the command itself shows the help, or says what is wrong."""

    def print_help(self, file: object = None) -> NoReturn:
        raise Declined

    def error(self, message: str) -> NoReturn:
        raise Declined


@contextmanager
def answering_commands(memory: Recollect) -> Iterator[None]:
    """Answer commands as long as this lasts, unless a setting forbids it or there can be no such
    socket: a home that nobody may write, a path that is too long, a system without them."""
    listening = _listening(memory.home) if memory.settings.serve.commands else None
    if listening is None:
        yield
        return
    path, stop, commands = listening.getsockname(), threading.Event(), Commands(memory)
    pool = ThreadPoolExecutor(THREADS, "recollect-commands")

    def accept() -> None:
        while not stop.is_set():
            try:
                asking, _ = listening.accept()
            except OSError:  # no file descriptor is free
                stop.wait(STALLED_S)
                continue
            if stop.is_set():
                asking.close()
                return
            pool.submit(commands.serve, asking)

    accepting = threading.Thread(target=accept, name="recollect-commands", daemon=True)
    accepting.start()
    try:
        yield
    finally:
        stop.set()
        with socket.socket(socket.AF_UNIX) as waking, suppress(OSError):
            waking.connect(path)
        accepting.join()
        Path(path).unlink(missing_ok=True)
        listening.close()
        pool.shutdown(wait=False, cancel_futures=True)  # who still waits answers itself


def _listening(home: Path) -> socket.socket | None:
    folder = home / FOLDER
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        for left in folder.iterdir():
            with suppress(UserError):  # one that listens
                remove_stale(left)
        return on_file(folder / f"{__version__}-{os.getpid()}")
    except (OSError, UserError):
        return None


class Commands:
    """Answers commands with a vault that is open, in the environment and folder of this process."""

    def __init__(self, memory: Recollect) -> None:
        self._memory = memory.acting_as(memory.caller, "command line")
        self._environment = dict(os.environ)
        here = working_folder()
        self._project = here and project_vault(here)

    def serve(self, asking: socket.socket) -> None:
        """Answer one request; one that is declined gets no answer."""
        with asking, suppress(OSError, ValueError, Declined):
            asking.settimeout(STALLED_S)
            pieces = []
            while piece := asking.recv(1 << 16):
                pieces.append(piece)
            asked = AskedCommand.read(b"".join(pieces))
            self.check(asked)
            asking.sendall(TAKEN)
            text = self.answer(asked).encode(errors="backslashreplace")
            asking.sendall(b"%d\n%b" % (len(text), text))

    def check(self, asked: AskedCommand) -> None:
        """Declined, unless the command would use this vault, these settings and the same vaults
        beside it, all of it without a passphrase."""
        database = self._memory.store.database
        if asked.name not in ANSWERED or database.locked or database.at_rest:
            raise Declined
        try:
            settings = load_settings(self._memory.home, asked.environment)
        except RecollectError:
            raise Declined from None
        if (
            settings != self._memory.settings
            or any(
                asked.environment.get(name) != self._environment.get(name)
                for name in variables(settings)
            )
            or project_vault(asked.folder) != self._project
        ):
            raise Declined

    def answer(self, asked: AskedCommand) -> str:
        """What the command prints; Declined where it fails."""
        command, about = module_of(asked.name), COMMANDS[asked.name][1]
        args = parser_of(asked.name, about, command, SilentParser).parse_args(asked.argv)
        if getattr(args, "here", False):
            args.here, args.project = False, project_of(asked.folder)
        shown = ELSEWHERE.set(asked.screen)
        try:
            text: str = command.answer(self._memory, args)
        except RecollectError:
            raise Declined from None
        finally:
            ELSEWHERE.reset(shown)
        return text


def variables(settings: Settings) -> set[str]:
    """The environment variables that change an answer, beside those that are settings."""
    parts = (settings.embedding, settings.rerank, settings.vault, *settings.vaults)
    fields = ("api_key_env", "token_env", "passphrase_env")
    named = {
        getattr(part, field, "") for part in (*parts, *settings.collections) for field in fields
    }
    return {"RECOLLECT_NOW", "TZ", *named} - {""}
