"""`recollect serve`."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from types import FrameType
from typing import TYPE_CHECKING

from recollect.auth.token_store import TokenStore
from recollect.engine import Recollect
from recollect.errors import RecollectError, UserError
from recollect.interfaces import fresh_process
from recollect.interfaces.cli.output import PLAIN
from recollect.interfaces.http import logs
from recollect.interfaces.http.connections import GRACE_S, Server
from recollect.interfaces.http.guard import Tokens, is_loopback
from recollect.interfaces.http.service import Service
from recollect.interfaces.serving import create_app
from recollect.settings import Settings

if TYPE_CHECKING:
    from recollect.mirror.report import Mirrored

EXAMPLE = "  recollect serve\n  recollect serve --port 8080 --watch"
PORT = 7117
SHORTEST_TOKEN = 16


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--host", default="127.0.0.1", metavar="ADDRESS",
        help="address to listen on (default: 127.0.0.1); any but loopback needs a token",
    )  # fmt: skip
    parser.add_argument(
        "--port",
        type=int,
        default=PORT,
        metavar="N",
        help=f"port (default: {PORT}; 0: any free port)",
    )
    parser.add_argument(
        "--watch", action="store_true",
        help="also follow the mirror, and the folders added with `recollect add --watch`",
    )  # fmt: skip


class Stopped(BaseException):
    """SIGTERM arrived: the usual end of a server, not an error."""


def run(args: argparse.Namespace) -> int:
    # uvicorn lets requests finish, then raises the signal again for the handler set here.
    signal.signal(signal.SIGTERM, _stop)
    with suppress(Stopped):
        _serve(args)
    return 0


def _stop(number: int, frame: FrameType | None) -> None:
    raise Stopped


def _serve(args: argparse.Namespace) -> None:
    """Serve until a signal says stop; after the idle lock, go on in a fresh process."""
    handed_on, locked = fresh_process.resumed(), threading.Event()
    with Recollect(
        lasting=True,
        at_rest=handed_on is not None,
        on_idle_lock=locked.set if fresh_process.possible() else lambda: None,
    ) as memory:
        tokens = _tokens(memory.settings, args.host, TokenStore(memory.home))
        if handed_on is None:
            listening = _listening(args.host, args.port)
        else:
            listening = socket.socket(fileno=int(handed_on))
        kept = listening.dup()  # who connects meanwhile waits for the fresh process
        kept.set_inheritable(True)
        names = [args.host, *filter(None, map(str.strip, memory.settings.serve.hosts.split(",")))]
        app = create_app(Service(memory), names=names, tokens=tokens)
        logs.set_up()
        if handed_on is None:
            _tell(listening, memory)
        with following(memory) if args.watch else nullcontext():
            Server(app, locked).run([listening])
    if locked.is_set():
        logging.getLogger("recollect.serve").info("locked")
        fresh_process.replace(str(kept.fileno()))


@contextmanager
def following(memory: Recollect) -> Iterator[None]:
    """Follow the folders in a thread, as long as this lasts. While another process follows them
    already, wait until it ends."""
    from recollect.folders.watch import wait_until_alone  # noqa: PLC0415  start-up time

    stop = threading.Event()
    log = logging.getLogger("recollect.folders")

    def follow() -> None:
        try:
            for _ in wait_until_alone(memory.home, stop):
                memory.follow_folders(stop, log.info)
        except RecollectError as error:  # the server goes on without it
            log.error("No longer following folders: %s", error)

    def mirror() -> None:
        try:
            memory.follow_mirror(None, stop, lambda done: log.info("%s", _mirrored(done)))
        except RecollectError as error:
            log.error("No longer following the mirror: %s", error)

    works = [follow, mirror] if memory.settings.mirror.folder else [follow]
    if mirror in works and memory.store.database.locked:
        log.warning("%s", PLAIN.format(where="the mirror"))
    threads = [
        threading.Thread(target=work, name="recollect-follow", daemon=True) for work in works
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join(GRACE_S)


def _mirrored(done: Mirrored | RecollectError) -> str:
    """The number of steps; logs never hold anything from memories."""
    if isinstance(done, RecollectError):
        return f"The mirror cannot be synced: {done}"
    return f"Mirror synced: {len(done.steps)} steps, {len(done.problems)} failed."


def _tokens(settings: Settings, host: str, stored: TokenStore) -> Tokens:
    """The tokens that are accepted: the environment's and those of the home. Without any, only
    loopback addresses may be served."""
    name = settings.serve.token_env
    token = os.environ.get(name, "").strip()
    if token and len(token) < SHORTEST_TOKEN:
        raise UserError(
            f"The token in {name} is too short. Use {SHORTEST_TOKEN} characters or more."
        )
    others = not is_loopback(host)
    if others and not token and not stored.any_live():
        raise UserError(
            f"Serving on {host} needs a token, since others can reach it. Create one with "
            f"`recollect token create`, or set {name} to a secret of {SHORTEST_TOKEN} characters "
            "or more, or serve on 127.0.0.1."
        )
    return Tokens([token] if token else [], stored, required=others)


def _listening(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        # asyncio switches Nagle's delay off only where the socket says that it is TCP; with it,
        # every answer on a kept connection would come 40 ms later.
        listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(128)
    except (OSError, OverflowError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UserError(f"Cannot listen on {host}, port {port}: {reason}.") from error
    return listening


def _tell(listening: socket.socket, memory: Recollect) -> None:
    """Print the address on standard output; a script can wait for this line."""
    host, port = listening.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    print(f"Recollect serves {memory.path} at http://{shown}:{port}/ (Ctrl+C to stop)", flush=True)
    print(f"MCP: http://{shown}:{port}/mcp   API: http://{shown}:{port}/openapi.json", flush=True)
    sys.stdout.flush()
