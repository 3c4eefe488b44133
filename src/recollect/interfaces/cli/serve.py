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
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import TYPE_CHECKING

from prometheus_client.multiprocess import mark_process_dead
from starlette.types import ASGIApp

from recollect.auth.credentials import Credentials
from recollect.auth.token_store import TokenStore, digest, load_own_token
from recollect.engine import Recollect
from recollect.errors import RecollectError, StoreError, UserError
from recollect.folders.watch import wait_until_alone
from recollect.interfaces.app import create_app
from recollect.interfaces.cli import arguments as arg
from recollect.interfaces.cli.arguments import WrongUsage
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.output import PLAIN
from recollect.interfaces.http import logs
from recollect.interfaces.http.connections import GRACE_S, Server
from recollect.interfaces.http.guard import is_loopback
from recollect.interfaces.http.logs import count_together
from recollect.interfaces.http.service import Service
from recollect.interfaces.server_processes import (
    ServerProcesses,
    can_replace_process,
    check_count,
    replace_process,
    resumed_state,
)
from recollect.interfaces.sockets import announce_server, listen_on_file, listen_on_port, url_of
from recollect.lifetime import Lifetime
from recollect.settings import Settings
from recollect.store.registry import open_access_at

if TYPE_CHECKING:
    from recollect.folders.mirroring import Mirrored

HOST, PORT = "127.0.0.1", 7117
SHORTEST_TOKEN = 16


class SignalReceived(BaseException):
    """Raised on SIGTERM, the usual end of a server."""


@command(
    "  recollect serve\n  recollect serve --port 8080 --watch\n"
    "  recollect serve --socket ~/recollect.sock",
    arg.argument(
        "--host",
        "ADDRESS",
        f"address to listen on (default: {HOST}); any but loopback needs a token",
        default=HOST,
    ),
    arg.argument(
        "--port", "N", f"port (default: {PORT}; 0: any free port)", type=int, default=PORT
    ),
    arg.argument(
        "--socket", "PATH", "listen on a Unix socket, which only you can use, instead of a port"
    ),
    arg.flag(
        "--no-auth",
        "ask for no token: every user of this machine can read and change your memories",
    ),
    arg.flag(
        "--watch", "also follow the mirror, and the folders added with `recollect add --watch`"
    ),
    arg.argument(
        "--workers",
        "N",
        "number of processes that share the address (default: 1)",
        type=int,
        default=1,
    ),
)
def serve(args: argparse.Namespace) -> None:
    if args.socket and (args.no_auth or args.host != HOST or args.port != PORT):
        raise WrongUsage("--socket replaces --host, --port and --no-auth. Leave them out.")
    # uvicorn finishes its requests, then raises the signal again for this handler.
    signal.signal(signal.SIGTERM, _stop)
    check_count(args.workers)
    with suppress(SignalReceived):
        if args.workers > 1:
            _serve_with_workers(args)
        else:
            _serve(args)


def _stop(number: int, frame: FrameType | None) -> None:
    raise SignalReceived


def _serve(args: argparse.Namespace) -> None:
    """Serve until a signal; after the idle lock, continue in a new process."""
    handed_on, locked = resumed_state(), threading.Event()
    with Recollect(
        lifetime=Lifetime.SERVER,
        at_rest=handed_on is not None,
        on_idle_lock=locked.set if can_replace_process() else lambda: None,
        interface="server",
    ) as memory:
        credentials, token = _credentials(args, memory.settings, memory.home)
        listening = _listen(args, handed_on)
        service = Service(memory)
        app = _app(args, service, credentials)
        if handed_on is None:
            _print_address(
                args, listening, memory.store.database.place, _create_link(credentials, token)
            )
        with ExitStack() as meanwhile:
            _announce(args, meanwhile, memory.home, listening, locked, auth=token is not None)
            _start_following(args, meanwhile, memory)
            server = Server(app, locked, service.feed.stop)
            server.run([listening])
    if locked.is_set():
        logging.getLogger("recollect.serve").info("locked")
        server.kept.set_inheritable(True)
        replace_process(str(server.kept.fileno()))


def _serve_with_workers(args: argparse.Namespace) -> None:
    """Serve with several processes at one address until a signal."""
    with Recollect(lifetime=Lifetime.ONCE, interface="server") as memory:
        if memory.store.database.locked:
            raise UserError(
                "A locked vault is served by one process, which has the key; leave --workers out."
            )
        home, vault = memory.home, memory.store.database.place
        credentials, token = _credentials(args, memory.settings, home)
        link = _create_link(credentials, token)
    credentials.close()  # processes must not share an open database
    listening = _listen(args)
    with TemporaryDirectory(prefix="recollect-counts-") as counts, ExitStack() as meanwhile:
        _announce(args, meanwhile, home, listening, threading.Event(), auth=token is not None)

        def work(number: int) -> None:
            count_together(counts)
            with (
                suppress(SignalReceived),
                Recollect(lifetime=Lifetime.SERVER, interface="server") as memory,
                ExitStack() as beside,
            ):
                service = Service(memory)
                app = _app(args, service, credentials)
                if number == 0:
                    _start_following(args, beside, memory)
                Server(app, None, service.feed.stop).run([listening])

        _print_address(args, listening, vault, link)
        forget = partial(mark_process_dead, path=counts)
        ServerProcesses(args.workers, work, forget).run()


def _listen(args: argparse.Namespace, handed_on: str | None = None) -> socket.socket:
    if handed_on is not None:
        return socket.socket(fileno=int(handed_on))
    return (
        listen_on_file(Path(args.socket)) if args.socket else listen_on_port(args.host, args.port)
    )


def _app(args: argparse.Namespace, service: Service, credentials: Credentials) -> ASGIApp:
    hosts = service.own.settings.serve.hosts.split(",")
    names = [args.host, *filter(None, map(str.strip, hosts))]
    app = create_app(service, names=names, credentials=credentials)
    logs.set_up(sys.stderr)
    return app


def _announce(
    args: argparse.Namespace,
    meanwhile: ExitStack,
    home: Path,
    listening: socket.socket,
    locked: threading.Event,
    *,
    auth: bool,
) -> None:
    """Let other commands find the server while it runs."""
    if args.socket:
        meanwhile.callback(_remove_socket, Path(args.socket), locked)
    else:
        meanwhile.enter_context(announce_server(home, listening, auth=auth))


def _start_following(args: argparse.Namespace, meanwhile: ExitStack, memory: Recollect) -> None:
    """Follow folders, if asked, in one process of a server."""
    if args.watch:
        meanwhile.enter_context(follow_in_background(memory))


@contextmanager
def follow_in_background(memory: Recollect) -> Iterator[None]:
    """Follow the folders in a thread while the context is open. If another process follows them
    already, wait until it ends."""
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
            memory.follow_mirror(None, stop, lambda done: log.info("%s", _describe_mirror(done)))
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


def _describe_mirror(done: Mirrored | RecollectError) -> str:
    """Return a line for the log, which never contains memories."""
    if isinstance(done, RecollectError):
        return f"The mirror cannot be synced: {done}"
    return f"Mirror synced: {len(done.steps)} steps, {len(done.problems)} failed."


def _credentials(
    args: argparse.Namespace, settings: Settings, home: Path
) -> tuple[Credentials, str | None]:
    """Return the server's credentials, and the user's own token if tokens are needed."""
    name = settings.serve.token_env
    token = os.environ.get(name, "").strip()
    stored = TokenStore(open_access_at(home, settings.store))
    if settings.serve.proxies and (args.no_auth or args.socket):
        flag = "--no-auth" if args.no_auth else "--socket"
        raise UserError(
            f"{flag} lets every caller do everything, but serve.proxies must know who calls. "
            "Leave one of them out."
        )
    if token and len(token) < SHORTEST_TOKEN:
        raise UserError(
            f"The token in {name} is too short. Use {SHORTEST_TOKEN} characters or more."
        )
    if args.no_auth:
        if token:
            raise UserError(f"--no-auth and the token in {name} contradict each other. Unset one.")
        if not is_loopback(args.host):
            raise UserError(
                f"--no-auth is for this machine alone, and others can reach {args.host}. Serve on "
                "127.0.0.1, or with tokens."
            )
    if args.no_auth or args.socket:
        return Credentials([], stored), None
    secret, own = load_own_token(home, stored)
    others = token or settings.serve.proxies or stored.has_live(besides=own.id)
    if not is_loopback(args.host) and not others:
        raise UserError(
            f"Serving on {args.host} needs a token, since others can reach it. Create one with "
            "`recollect access token create`, or set "
            f"{name} to a secret of {SHORTEST_TOKEN} characters or more, or serve on 127.0.0.1."
        )
    return Credentials([token] if token else [], stored, required=True), secret


def _create_link(credentials: Credentials, token: str | None) -> str | None:
    """Return the secret of a link that logs a browser in; None without tokens, "" if it cannot be
    stored now, because the database is read-only or failing over."""
    if token is None or credentials.sessions is None:
        return None
    with suppress(StoreError):
        return credentials.sessions.create_link(digest(token))
    return ""


def _remove_socket(path: Path, locked: threading.Event) -> None:
    """Remove the socket, unless a new process continues with it."""
    if not locked.is_set():
        path.unlink(missing_ok=True)


def _print_address(
    args: argparse.Namespace, listening: socket.socket, vault: str, link: str | None
) -> None:
    """Print the address on standard output; a script can wait for the first line."""
    if args.socket:
        print(f"Recollect serves {vault} at {args.socket} (Ctrl+C to stop)")
        print(f"Try: curl --unix-socket {args.socket} http://localhost/healthz", flush=True)
        return
    url = url_of(listening)
    print(f"Recollect serves {vault} at {url}/ (Ctrl+C to stop)", flush=True)
    print(f"MCP: {url}/mcp   API: {url}/openapi.json")
    if link is None:
        print("Warning: --no-auth lets every user of this machine read and change your memories.")
    elif not link:
        print("Log in: run `recollect open` once the vault can be written to.")
    else:
        print(f"Log in: {url}/login/{link} (once, within 10 minutes; later: recollect open)")
    sys.stdout.flush()
