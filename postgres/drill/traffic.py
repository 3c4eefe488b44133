"""Eight writers and eight readers of two servers, and the outcome of every write."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import httpx2

API = "/api/v1"
WRITERS = READERS = 8
PAUSE_S = 1.5  # of each writer and reader between two requests
ANSWER_S = 60.0  # more than a server waits for its database
Outcome = Literal["acknowledged", "refused", "unknown"]


class Write(NamedTuple):
    """A save, or an edit of the same writer's save, with the outcome its writer was told."""

    mark: str
    id: str
    text: str
    edits: bool
    outcome: Outcome
    why: str = ""


class Ledger:
    """The requests and answers of all threads."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self.writes: list[Write] = []
        self.times: dict[str, list[float]] = {"write": [], "read": []}
        self.misses: list[str] = []  # acknowledged, and a reader did not find it
        self.problems: Counter[str] = Counter()

    def wrote(self, write: Write) -> None:
        with self._guard:
            self.writes.append(write)
            if write.outcome == "acknowledged":
                self.times["write"].append(time.monotonic())
            else:
                self.problems[f"write {write.outcome}: {write.why}"] += 1

    def read(self, problem: str = "", missing: str = "") -> None:
        with self._guard:
            if problem:
                self.problems[f"read: {problem}"] += 1
            else:
                self.times["read"].append(time.monotonic())
            if missing:
                self.misses.append(missing)

    def acknowledged_writes(self) -> list[Write]:
        with self._guard:
            return [one for one in self.writes if one.outcome == "acknowledged"]

    def counts(self) -> Counter[str]:
        with self._guard:
            return Counter(one.outcome for one in self.writes) + Counter(
                reads=len(self.times["read"])
            )

    def gap(self, kind: str, start: float, end: float) -> float:
        """Return the longest time without an answer of this kind."""
        with self._guard:
            times = [start, *(each for each in self.times[kind] if start < each < end), end]
        return max(later - earlier for earlier, later in pairwise(times))


class Traffic:
    """The clients' threads. Each alternates between the servers, as a load balancer would; a
    request whose connection is refused goes to the other server at once."""

    def __init__(self, urls: list[str], ledger: Ledger) -> None:
        self._urls = urls
        self.ledger = ledger
        self._stop = threading.Event()
        works: list[Callable[[int], None]] = [self._write] * WRITERS + [self._read] * READERS
        self._threads = [
            threading.Thread(target=work, args=(number,), daemon=True)
            for number, work in enumerate(works)
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(ANSWER_S + 10)
            assert not thread.is_alive(), "a client still waits for its answer"

    def _send(self, number: int, method: str, path: str, **more: Any) -> httpx2.Response:
        turn = number + random.randrange(len(self._urls))
        for attempt in (0, 1):
            url = self._urls[(turn + attempt) % len(self._urls)]
            try:
                with httpx2.Client(timeout=ANSWER_S, trust_env=False, verify=False) as client:
                    return client.request(method, url + path, **more)
            except httpx2.ConnectError:
                if attempt:
                    raise
        raise AssertionError

    def _write(self, writer: int) -> None:
        own: list[Write] = []
        count = 0
        while not self._stop.wait(PAUSE_S * random.uniform(0.7, 1.3)):
            count += 1
            mark = f"w{writer}n{count}"
            last = own[-1] if own else None
            if count % 4 == 0 and last and last.outcome == "acknowledged" and not last.edits:
                done = self._edit(writer, last, mark)
            else:
                done = self._save(writer, mark, named=bool(count % 2))
            self.ledger.wrote(done)
            own.append(done)

    def _save(self, writer: int, mark: str, *, named: bool) -> Write:
        """Save a memory with our id, or with one of the server's: then a repeated write makes two
        memories."""
        text = f"{mark} berths {random.randrange(10**9)} boats in harbour {random.randrange(10**9)}"
        body = {"title": f"Harbour {mark}", "text": text, "tags": [mark]}
        if named:
            body["id"] = f"drill-{mark}"
        outcome, why, answer = self._answer(writer, "POST", f"{API}/memories", body)
        id = answer["id"] if outcome == "acknowledged" else body.get("id", "")
        return Write(mark, str(id), text, False, outcome, why)

    def _edit(self, writer: int, saved: Write, mark: str) -> Write:
        text = f"{saved.mark} was changed by {mark}"
        path = f"{API}/memories/{saved.id}"
        outcome, why, _ = self._answer(writer, "PATCH", path, {"text": text})
        return Write(saved.mark, saved.id, text, True, outcome, why)

    def _answer(
        self, writer: int, method: str, path: str, body: dict[str, Any]
    ) -> tuple[Outcome, str, dict[str, Any]]:
        try:
            answer = self._send(writer, method, path, json=body)
        except httpx2.ConnectError:
            return "refused", "no server took the connection", {}
        except httpx2.HTTPError as error:
            return "unknown", type(error).__name__, {}
        if answer.status_code in (200, 201):
            return "acknowledged", "", answer.json()
        detail = str(answer.json().get("detail", ""))
        unknown = "may have been written or not" in detail
        return "unknown" if unknown else "refused", f"{answer.status_code} {detail}", {}

    def _read(self, reader: int) -> None:
        while not self._stop.wait(PAUSE_S * random.uniform(0.7, 1.3)):
            known = self.ledger.acknowledged_writes()
            if not known:
                continue
            one = random.choice(known[-50:] if reader % 2 else known)
            try:
                if reader % 4:
                    answer = self._send(reader, "GET", f"{API}/memories/{one.id}")
                    found = answer.status_code == 200
                    fine = found or answer.status_code == 404
                else:
                    asked = {"query": one.mark, "recipe": "router"}
                    answer = self._send(reader, "POST", f"{API}/search", json=asked)
                    fine = answer.status_code == 200
                    # Without a primary a replica's answer may be older, if it says so.
                    response = answer.json()
                    hits = [hit["id"] for hit in response["results"]] if fine else []
                    found = one.id in hits or bool(response.get("degraded"))
            except httpx2.HTTPError as error:
                self.ledger.read(type(error).__name__)
                continue
            if fine:
                self.ledger.read(missing="" if found else one.id)
            else:
                self.ledger.read(f"{answer.status_code} {answer.json().get('detail', '')}")
