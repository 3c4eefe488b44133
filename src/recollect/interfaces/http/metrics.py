"""What Prometheus reads: requests, and how long each stage of a search takes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest, values
from prometheus_client.multiprocess import MultiProcessCollector

from recollect.types import Response

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
SHARED = "PROMETHEUS_MULTIPROC_DIR"  # of the environment: where workers count together


def count_together(folder: str) -> None:
    """From now on this process counts in files of this folder, as all workers of a server do."""
    os.environ[SHARED] = folder
    values.ValueClass = values.MultiProcessValue()  # type: ignore[no-untyped-call]


class Metrics:
    """Counts in a registry of its own, so that two servers in one process stay apart."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        gauge = partial(Gauge, registry=self._registry, multiprocess_mode="mostrecent")
        self._requests = Counter(
            "recollect_requests_total",
            "Requests answered.",
            ("method", "route", "status"),
            registry=self._registry,
        )
        self._spent = Histogram(
            "recollect_request_seconds",
            "From the request's arrival to the end of its answer.",
            ("route",),
            buckets=SECONDS,
            registry=self._registry,
        )
        self._stages = Histogram(
            "recollect_search_stage_seconds",
            "How long each stage of a search took; `total` is the whole.",
            ("recipe", "stage"),
            buckets=SECONDS,
            registry=self._registry,
        )
        self._degraded = Counter(
            "recollect_search_degraded_total",
            "Searches in which a part could not do its work.",
            ("recipe", "part"),
            registry=self._registry,
        )
        self._memories = gauge("recollect_memories", "Memories that can be found.")
        self._waiting = gauge(
            "recollect_vectors_waiting", "Memories that wait for a vector of the active model."
        )
        self._up = gauge(
            "recollect_dependency_up",
            "Whether what the server depends on answers: 1, else 0.",
            ("dependency",),
        )

    def request(self, method: str, route: str, status: int, spent: float) -> None:
        # Anyone can invent a method; a label with unbounded values would grow without end.
        self._requests.labels(method if method in METHODS else "other", route, status).inc()
        self._spent.labels(route).observe(spent)

    def search(self, response: Response) -> None:
        for stage, spent in response.timings_ms.items():
            self._stages.labels(response.recipe, stage).observe(spent / 1000)
        for part in response.degraded:
            self._degraded.labels(response.recipe, part.channel).inc()

    def vault(self, memories: int, waiting: int) -> None:
        self._memories.set(memories)
        self._waiting.set(waiting)

    def dependencies(self, problems: Mapping[str, str | None]) -> None:
        for name, problem in problems.items():
            self._up.labels(name).set(problem is None)

    def text(self) -> bytes:
        if folder := os.environ.get(SHARED):
            every = CollectorRegistry()
            MultiProcessCollector(every, folder)  # type: ignore[no-untyped-call]
            return generate_latest(every)
        return generate_latest(self._registry)
