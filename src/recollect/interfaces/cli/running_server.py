"""Asks a server of the same home to answer a command, where one runs: it has everything in memory.

Whatever stands against it, the command answers itself: no server, one of another version or of
another user, other settings, an error. The other side is `command_socket.py`. This imports little,
for that is why the answer comes quickly.
"""
# ruff: noqa: PTH109, PTH118, PTH208  start-up time: without pathlib

from __future__ import annotations

import os

from recollect.home import home_path
from recollect.interfaces.cli.screen import own_screen
from recollect.version import __version__

FOLDER = "sockets"  # in the home: a socket for each server, named by its version and process
# A server that does not take the request at once is busy, or stopped.
TAKEN_S = 1.0
ANSWERED_S = 60.0
TAKEN = b"+"


def answer_of(name: str, argv: list[str]) -> str | None:
    """What the command prints, by a running server; None where the command must answer itself."""
    folder = os.path.join(home_path(os.environ), FOLDER)
    try:
        names = os.listdir(folder) if _private(folder) else []
        request = _request(name, argv) if names else b""
        for socket_name in sorted(names):
            if not socket_name.startswith(f"{__version__}-"):
                continue
            answer = _asked(os.path.join(folder, socket_name), request)
            if answer is not None:
                return answer.decode()
    except (OSError, AttributeError):  # no folder, no server; or a system without such sockets
        pass
    return None


def _private(folder: str) -> bool:
    """Whether only this user can have put a socket there."""
    found = os.lstat(folder)
    return found.st_uid == os.geteuid() and not found.st_mode & 0o077


def _request(name: str, argv: list[str]) -> bytes:
    """The command, what it is shown on, where it was called, and its environment."""
    screen = own_screen()
    shown = f"{screen.terminal:d} {screen.styles} {screen.links:d} {screen.width} {screen.session}"
    fields = [name, shown, os.getcwd(), str(len(argv)), *argv]
    variables = (b"%b=%b" % pair for pair in os.environb.items())
    return b"\0".join([*map(os.fsencode, fields), *variables])


def _asked(path: str, request: bytes) -> bytes | None:
    """The answer of the server at that socket; None where it declines or has gone."""
    import socket  # noqa: PLC0415  start-up time: most homes have no server

    with socket.socket(socket.AF_UNIX) as asking:
        asking.settimeout(TAKEN_S)
        try:
            asking.connect(path)
            asking.sendall(request)
            asking.shutdown(socket.SHUT_WR)
            if asking.recv(1) != TAKEN:
                return None
            asking.settimeout(ANSWERED_S)
            pieces = []
            while piece := asking.recv(1 << 20):
                pieces.append(piece)
        except OSError:
            return None
    size, _, answer = b"".join(pieces).partition(b"\n")
    return answer if size == b"%d" % len(answer) else None
