"""A model server for tests: real HTTP on a free local port, made-up but deterministic models.

    with ModelServer() as server:
        settings = Embedding(provider="openai", model="toy", base_url=server.openai_url)
        ...
        server.fail_next(2, status=503)      # the next two requests get a 503
        server.fault = Fault.NAN             # every answer from now on holds NaN
        server.requests[-1].body             # what the client sent

It speaks OpenAI's `POST /v1/embeddings`, Ollama's `POST /api/embed` and `GET /api/ps`, and
`POST /rerank`. Its error replies quote the request and its headers on purpose: a client that
repeats a server's words in its own errors gives the key away, and a test sees it.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
from collections import deque
from enum import Enum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, NamedTuple

from toy_models import embed, overlap

TRICKLE_S = 0.02  # between two bytes of a trickling answer


class Fault(Enum):
    """A way in which every answer goes wrong while `ModelServer.fault` holds it."""

    COUNT = "the last result is missing"
    DIMENSION = "the last vector is one number short"
    NAN = "the last number is NaN"
    NULL = "the last number is null"
    RANGE = "the last relevance score is 1.5"
    DUPLICATE = "the last index is the first one's"
    SHUFFLED = "results come in another order, with their right indexes where there are any"
    NOT_JSON = "the answer is an HTML page"
    HANG_UP = "the connection closes without an answer"
    TRICKLE = "the answer comes byte by byte"


class Recorded(NamedTuple):
    """One request as it came in; header names are lower-case, a body that is no JSON is None."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


class Reply(NamedTuple):
    status: int
    body: Any
    headers: dict[str, str] = {}  # noqa: RUF012  never changed


class ModelServer:
    """A context manager; the server listens from `__enter__` to `__exit__`.

    Set `key` to demand it as a bearer token, `delay_s` to make every answer wait, `fault` to
    spoil every answer; `loaded` holds the models that `/api/ps` lists.
    """

    def __init__(self, *, dimensions: int = 64, key: str = "") -> None:
        self.dimensions = dimensions
        self.key = key
        self.delay_s = 0.0
        self.fault: Fault | None = None
        self.loaded: set[str] = set()
        self.requests: list[Recorded] = []
        self.closing = threading.Event()
        self._failures: deque[Reply] = deque()
        self._lock = threading.Lock()
        self._http = _Server(self)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)

    def __enter__(self) -> ModelServer:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._http.drop_connections()
        self._thread.join()

    @property
    def url(self) -> str:
        """The root: the base URL of Ollama and of the reranker."""
        return f"http://127.0.0.1:{self._http.server_port}"

    @property
    def openai_url(self) -> str:
        """The base URL of OpenAI's API."""
        return f"{self.url}/v1"

    def fail_next(self, times: int, status: int, *, retry_after: str = "") -> None:
        """Answer the next `times` requests with `status`, and Retry-After where given."""
        headers = {"Retry-After": retry_after} if retry_after else {}
        with self._lock:
            self._failures.extend([Reply(status, {"error": "as told"}, headers)] * times)

    def answer(self, request: Recorded) -> Reply:
        """Record the request and decide the reply: a planned failure, a refusal, or the result."""
        with self._lock:
            self.requests.append(request)
            failure = self._failures.popleft() if self._failures else None
        if failure:
            return failure
        if self.key and request.headers.get("authorization") != f"Bearer {self.key}":
            return _refusal(401, request)
        answer = _ROUTES.get((request.method, request.path))
        if answer is None:
            return _refusal(404, request)
        try:
            return Reply(200, answer(self, request.body))
        except (KeyError, TypeError, ValueError):
            return _refusal(400, request)

    def _openai(self, body: Any) -> Any:
        texts = _texts(body["input"])
        if "" in texts:
            raise ValueError("OpenAI refuses empty texts.")
        rows = self._vectors(texts)
        items = [
            {"object": "embedding", "index": index, "embedding": row}
            for index, row in enumerate(rows)
        ]
        return {"object": "list", "model": body["model"], "data": self._misnumbered(items)}

    def _ollama(self, body: Any) -> Any:
        self.loaded.add(body["model"] if ":" in body["model"] else f"{body['model']}:latest")
        rows = self._vectors(_texts(body["input"]))
        return {"model": body["model"], "embeddings": self._misnumbered(rows)}

    def _loaded(self, body: Any) -> Any:
        return {"models": [{"name": name, "model": name} for name in sorted(self.loaded)]}

    def _rerank(self, body: Any) -> Any:
        scores = [overlap(body["query"], text) for text in _texts(body["documents"])]
        spoilt = {Fault.NAN: float("nan"), Fault.NULL: None, Fault.RANGE: 1.5}
        results: list[dict[str, Any]] = [
            {"index": index, "relevance_score": score} for index, score in enumerate(scores)
        ]
        if self.fault in spoilt:
            results[-1]["relevance_score"] = spoilt[self.fault]
            return {"results": results}
        results.sort(key=lambda result: -result["relevance_score"])  # as most servers do
        return {"model": body["model"], "results": self._misnumbered(results)}

    def _vectors(self, texts: list[str]) -> list[list[Any]]:
        rows: list[list[Any]] = [embed(text, self.dimensions) for text in texts]
        if self.fault is Fault.DIMENSION:
            rows[-1].pop()
        if self.fault is Fault.NAN:
            rows[-1][-1] = float("nan")
        if self.fault is Fault.NULL:
            rows[-1][-1] = None
        return rows

    def _misnumbered(self, items: list[Any]) -> list[Any]:
        if self.fault is Fault.COUNT:
            return items[:-1]
        if self.fault is Fault.SHUFFLED:
            return items[::-1]
        if self.fault is Fault.DUPLICATE:
            return [*items[:-1], {**items[-1], "index": items[0]["index"]}]
        return items


_ROUTES = {
    ("POST", "/v1/embeddings"): ModelServer._openai,
    ("POST", "/api/embed"): ModelServer._ollama,
    ("GET", "/api/ps"): ModelServer._loaded,
    ("POST", "/rerank"): ModelServer._rerank,
}


def _texts(value: Any) -> list[str]:
    texts = [value] if isinstance(value, str) else value
    if not texts or not all(isinstance(text, str) for text in texts):
        raise ValueError("A text or a list of texts is needed.")
    return list(texts)


def _refusal(status: int, request: Recorded) -> Reply:
    return Reply(status, {"error": f"refused: {request.headers} {request.body}"})


class _Server(ThreadingHTTPServer):
    """Keeps track of open connections, so that closing the server closes them too."""

    def __init__(self, owner: ModelServer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.owner = owner
        self._open: set[socket.socket] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def drop_connections(self) -> None:
        for connection in self._open.copy():
            super().shutdown_request(connection)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that gave up early: that is what some tests are about."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # keeps connections open, as real servers do
    disable_nagle_algorithm = True  # else the body waits 40 ms for the header's receipt
    server: _Server

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def log_message(self, format: str, *arguments: Any) -> None:
        """Say nothing: tests read `ModelServer.requests`."""

    def _serve(self) -> None:
        owner = self.server.owner
        reply = owner.answer(self._recorded())
        owner.closing.wait(owner.delay_s)
        if owner.fault is Fault.HANG_UP:
            self.close_connection = True
            return
        html = owner.fault is Fault.NOT_JSON
        content = b"<html>Sign in</html>" if html else json.dumps(reply.body).encode()
        self.send_response(reply.status)
        self.send_header("Content-Type", "text/html" if html else "application/json")
        self.send_header("Content-Length", str(len(content)))
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self._write(content, slowly=owner.fault is Fault.TRICKLE)

    def _write(self, content: bytes, *, slowly: bool) -> None:
        step = 1 if slowly else len(content)
        for start in range(0, len(content), step):
            self.wfile.write(content[start : start + step])
            if slowly:
                self.server.owner.closing.wait(TRICKLE_S)

    def _recorded(self) -> Recorded:
        content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            body = json.loads(content)
        except ValueError:
            body = None
        headers = {name.lower(): value for name, value in self.headers.items()}
        return Recorded(self.command, self.path, headers, body)
