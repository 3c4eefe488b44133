"""Homes with several vaults, for the tests of what a search does with them.

No model takes part, the clock stands still, and the vaults are files of their own.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from recollect import Recollect, Response
from recollect.ingest.draft import make_draft
from recollect.present.response import as_json
from recollect.settings import Embedding, Rerank, SearchSettings, Settings, VaultSettings
from recollect.types import Result, recompute

Fields = Mapping[str, Any]

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
DEADLINE_MS = 20_000  # far away: only tests of what comes too late set a near one
SECRET = "a-token-that-nobody-may-see"


def settings(*vaults: VaultSettings, deadline_ms: int = DEADLINE_MS) -> Settings:
    """No models, these vaults."""
    return Settings(
        embedding=Embedding(provider="none"),
        rerank=Rerank(provider="none"),
        search=SearchSettings(vault_deadline_ms=deadline_ms),
        vaults=vaults,
    )


def vault_file(path: Path, memories: Sequence[Fields]) -> Path:
    """A vault at that place that holds these."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with Recollect(
        path, home=path.parent, settings=settings(), environment={}, clock=lambda: NOW
    ) as memory:
        memory.save_all([make_draft(dict(fields)) for fields in memories])
    return path


def team(name: str, path: Path, priority: float | None = None) -> VaultSettings:
    return VaultSettings(name=name, tier="team", path=str(path), priority=priority)


def dynamic(name: str, url: str, token_env: str = "", **more: Any) -> VaultSettings:
    return VaultSettings(name=name, tier="dynamic", url=url, token_env=token_env, **more)


@contextmanager
def home(
    folder: Path,
    own: Sequence[Fields],
    *vaults: VaultSettings,
    deadline_ms: int = DEADLINE_MS,
    environment: Mapping[str, str] | None = None,
    locking: Callable[[Path], None] = lambda vault: None,
) -> Iterator[Recollect]:
    """Open a home whose own vault holds `own`, and which knows these other vaults."""
    locking(vault_file(folder / "vault.db", own))
    with Recollect(
        home=folder,
        settings=settings(*vaults, deadline_ms=deadline_ms),
        environment=environment or {},
        clock=lambda: NOW,
    ) as memory:
        yield memory


def home_and_team(
    folder: Path, own: Sequence[Fields], theirs: Sequence[Fields], priority: float | None = None
) -> AbstractContextManager[Recollect]:
    """Open a home whose own vault holds `own`, and which knows the vault `team`."""
    vault = team("team", vault_file(folder / "team.db", theirs), priority)
    return home(folder / "home", own, vault)


def found(response: Response) -> list[tuple[str, str]]:
    """Return each result's id and vault, best first."""
    return [(result.id, result.vault) for result in response]


def by_id(response: Response) -> dict[str, Result]:
    return {result.id: result for result in response}


def away(response: Response) -> dict[str, str]:
    """Return the vaults that could not answer, and why; channels without a model are left out."""
    return {
        part.channel: part.reason
        for part in response.degraded
        if part.channel.rpartition("/")[2] not in ("vector", "rerank", "reranker")
    }


def is_explained(response: Response) -> bool:
    """Return True if every score equals its explanation's value, follows from the parts, and is in
    order."""
    scores = [result.score for result in response]
    return scores == sorted(scores, reverse=True) and all(
        result.explain.value == result.score == recompute(result.explain) for result in response
    )


Reply = Callable[[BaseHTTPRequestHandler, Any], None]


class _Quiet(ThreadingHTTPServer):
    """Says nothing of clients that gave up early: that is what some tests are about."""

    daemon_threads = True
    closing: threading.Event

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass


class Stranger:
    """A server at another place that answers a search in whatever way it likes."""

    def __init__(self, reply: Reply) -> None:
        self.asked: list[Any] = []
        self.headers: list[dict[str, str]] = []
        self.closing = threading.Event()
        stranger = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers.get("Content-Length", 0))
                body = json.loads(self.rfile.read(length) or b"null")
                stranger.asked.append(body)
                stranger.headers.append({k.lower(): v for k, v in self.headers.items()})
                reply(self, body)

            def do_GET(self) -> None:
                self.do_POST()

            def log_message(self, format: str, *arguments: Any) -> None:
                """Say nothing."""

        self._http = _Quiet(("127.0.0.1", 0), Handler)
        self._http.closing = self.closing
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

    def __enter__(self) -> Stranger:
        self._thread.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


def send(handler: BaseHTTPRequestHandler, status: int, content: bytes, **headers: str) -> None:
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.send_header("Content-Length", str(len(content)))
    handler.end_headers()
    handler.wfile.write(content)


def honest_answer(memory: Recollect, body: Any) -> Any:
    """Return the response of an honest server to this request."""
    response = memory.search(
        body["query"],
        recipe=body["recipe"],
        view=body["view"],
        limit=body.get("limit"),
        changes=body["set"],
        federate=False,
    )
    return as_json(response, explain=True, whole=True)
