"""A server in a thread of the test's own process, set up as `recollect serve` sets it up."""

from __future__ import annotations

import io
import logging
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import httpx2
from http_server import LONGEST_S, environment

from recollect import Recollect
from recollect.auth.credentials import Credentials
from recollect.interfaces.app import create_app
from recollect.interfaces.http import logs
from recollect.interfaces.http.connections import Server
from recollect.interfaces.http.service import Service
from recollect.settings_reading import load_settings


class ThreadServer:
    """One that runs: its engine, its pools, its connections, its address, and its log."""

    def __init__(self, service: Service, server: Server, port: int, log: io.StringIO) -> None:
        self.engine, self.pools, self.feed = service.own, service.pools, service.feed
        self.connections = server.server_state.connections
        self.port = port
        self.log = log
        self.client = httpx2.Client(
            base_url=f"http://127.0.0.1:{port}", timeout=LONGEST_S, trust_env=False, verify=False
        )

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), LONGEST_S)


@contextmanager
def threaded_server(
    home: Path,
    credentials: Credentials | None = None,
    *,
    at_rest: bool = False,
    clock: Callable[[], datetime] | None = None,
    more: Mapping[str, str] | None = None,
) -> Iterator[ThreadServer]:
    """Run a server for that home; `more` are further variables of its environment."""
    told = environment(home, **(more or {}))
    settings = load_settings(home, told)
    with Recollect(
        home=home, settings=settings, environment=told, at_rest=at_rest, clock=clock
    ) as engine:
        service = Service(engine)
        server = Server(create_app(service, credentials=credentials), None, service.feed.stop)
        with socket.create_server(("127.0.0.1", 0)) as held, _logging() as log:
            thread = threading.Thread(target=server.run, kwargs={"sockets": [held]})
            thread.start()
            running = ThreadServer(service, server, held.getsockname()[1], log)
            try:
                yield running
            finally:
                running.client.close()
                server.should_exit = True
                thread.join()


@contextmanager
def _logging() -> Iterator[io.StringIO]:
    """Collect what the server logs; restore the earlier handlers afterwards."""
    loggers = [logging.getLogger(name) for name in ("recollect", "uvicorn", "mcp")]
    before = [(one.handlers, one.propagate, one.level) for one in loggers]
    stream = io.StringIO()
    logs.set_up(stream)
    try:
        yield stream
    finally:
        for one, (handlers, propagate, level) in zip(loggers, before, strict=True):
            one.handlers, one.propagate = handlers, propagate
            one.setLevel(level)
