"""Listen on a port or a Unix socket, and let other commands find the running server."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from recollect.errors import UserError
from recollect.files import exclusive

BACKLOG = 128
LARGEST_PORT = 65_535
FILE = "server.json"


class RunningServer(Struct, frozen=True):
    """A running server of this home: its address on this machine, and whether it needs a token."""

    url: str
    auth: bool


def listen_on_port(host: str, port: int) -> socket.socket:
    """Return a socket that listens on that address."""
    if not 0 <= port <= LARGEST_PORT:
        raise UserError(f"The port must be a number from 0 to {LARGEST_PORT}, not {port}.")
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        # asyncio disables Nagle's delay only if the socket says that it is TCP; otherwise every
        # response on a kept connection would come 40 ms later.
        listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(BACKLOG)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UserError(f"Cannot listen on {host}, port {port}: {reason}.") from error
    return listening


def listen_on_file(path: Path) -> socket.socket:
    """Return a Unix socket at that path, mode 0600: only this user can connect. Remove a stale one
    of a killed server first."""
    if not hasattr(socket, "AF_UNIX"):
        raise UserError("This system has no Unix sockets; use --port.")
    try:
        remove_stale_socket(path)
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        before = os.umask(0o177)  # private from the beginning
        try:
            listening.bind(str(path))
        except OSError:
            listening.close()
            raise
        finally:
            os.umask(before)
        listening.listen(BACKLOG)
    except OSError as error:
        raise UserError(f"Cannot listen at {path}: {error.strerror or error}.") from error
    return listening


def remove_stale_socket(path: Path) -> None:
    """Remove the socket of a killed server; raise UserError if a server listens, or it is no
    socket."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        raise UserError(f"{path} already exists and is not a socket. Choose another path.")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        try:
            asking.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
            return
    raise UserError(f"Another server listens at {path}.")


def url_of(listening: socket.socket) -> str:
    """Return its URL, without a slash at the end."""
    host, port = listening.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


@contextmanager
def announce_server(home: Path, listening: socket.socket, *, auth: bool) -> Iterator[None]:
    """Let other commands of this user find the server while the context is open. The file is locked
    meanwhile: the lock, not the content, shows that the server runs. Of several servers of one
    home, the first is found."""
    url = url_of(listening).replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")
    file = home / FILE
    with exclusive(file) as first:
        if first:
            with suppress(OSError):  # in a read-only home the server is not found
                file.write_bytes(msgspec.json.encode(RunningServer(url, auth)))
        try:
            yield
        finally:
            if first:
                with suppress(OSError):
                    file.write_bytes(b"")


def running_server(home: Path) -> RunningServer | None:
    """Return the running server of this home, or None."""
    file = home / FILE
    if not file.exists():
        return None
    with exclusive(file) as first:
        if first and os.name == "posix":
            return None  # not locked: the content is from a killed server
    try:
        return msgspec.json.decode(file.read_bytes(), type=RunningServer)
    except msgspec.DecodeError:  # the server is just starting, or has just ended
        return None
