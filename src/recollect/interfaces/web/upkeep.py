"""The vault's state: what it holds, what takes part in a search, and what to repair."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from msgspec import Struct
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from recollect.auth.capabilities import ADMIN, DELETE, WRITE
from recollect.auth.credentials import Attempts
from recollect.engine import Recollect
from recollect.errors import Locked, ProviderError, RecollectError
from recollect.interfaces.http.service import Service
from recollect.interfaces.web.forms import problem_piece, redirect, submitted
from recollect.interfaces.web.rendering import page, query_string
from recollect.interfaces.web.upkeep_work import Worker

SIZES = ("bytes", "kB", "MB", "GB", "TB")
MOST_NAMED = 10  # kinds and projects; the rest is added up
ABOUT = {
    "file": "The file itself, by SQLite's own check",
    "memories": "Each memory, by its checksum",
    "references": "Rows that point at each other",
    "stemmed index": "Keyword index of word stems",
    "plain index": "Keyword index of whole words",
    "subwords index": "Keyword index of parts of identifiers",
    "memory count": "How many memories there are",
    "vocabulary": "How often each word occurs",
    "history": "Earlier versions of memories, read back",
    "vectors": "Vectors, each of the right size and of a live memory",
    "vector index": "Codes of the vectors, which a search of many compares",
    "waiting vectors": "What is noted as waiting for a vector",
    "topic hashes": "Hashes that tags are filtered by",
}


class Model(NamedTuple):
    """A model that takes part, or why none does."""

    name: str
    identity: str
    problem: str = ""


class Share(Struct, frozen=True):
    """A value and how many memories have it; `share` is a percentage."""

    label: str
    count: int
    share: float
    href: str = ""


def routes(service: Service) -> list[BaseRoute]:
    worker, attempts = Worker(), Attempts()
    return [
        Route("/upkeep", partial(overview, service, worker)),
        Route("/upkeep/work", partial(work, service, worker), methods=["GET", "POST"]),
        Route("/unlock", partial(unlock, service, attempts), methods=["POST"]),
    ]


async def overview(service: Service, worker: Worker, request: Request) -> Response:
    stats = await service.ask(service.engine.stats)
    models = await service.ask(active, service.engine)
    made, waiting = stats["vectors"], stats["waiting"]
    values = {
        "stats": stats,
        "size": sized(stats["bytes"]),
        "models": models,
        "groups": shares(stats),
        "degraded": degraded(service.engine, models),
        "admin": None,
        "made": made,
        "waiting": waiting,
        "share": 100 * made / (made + waiting) if made + waiting else 100,
        "frozen": service.engine.read_only,
        "work": worker,
        "checked": worker.checked,
        "about": ABOUT,
        "now": service.engine.now(),
    }
    if service.engine.may(ADMIN):
        values["admin"] = await service.ask(looked_after, service.engine)
    return page("upkeep.html", request, values)


async def work(service: Service, worker: Worker, request: Request) -> Response:
    """Begin one of the jobs, and show how far it is: as a piece, or without script on the page."""
    alone = request.method == "POST" and "piece" not in request.query_params
    try:
        if request.method == "POST":
            form = {name: values[-1] for name, values in (await submitted(request)).items()}
            worker.start(service.engine, form.pop("do", ""), form)
    except RecollectError as error:
        if alone:
            raise
        return problem_piece(request, error)
    if alone:
        return redirect("/upkeep#work")
    return page("_work.html", request, {"work": worker})


async def unlock(service: Service, attempts: Attempts, request: Request) -> Response:
    """Open the locked vault with the passphrase of the form, which goes no further. Who guesses
    waits, as with tokens: each try costs the server a quarter of a second."""
    address = request.client.host if request.client else ""
    if wait_s := attempts.wait_s(address):
        raise HTTPException(429, f"Too many wrong passphrases. Try again in {wait_s} s.")
    form = await submitted(request)
    try:
        await service.ask(service.engine.unlock, form.get("passphrase", [""])[-1])
    except Locked:
        attempts.failed(address)
        raise
    return redirect("/")


# What is shown


def active(engine: Recollect) -> list[Model]:
    """Both models; opens them where they are not open yet."""
    found = []
    for name, opened in (
        ("Embedding", engine.models.embedder),
        ("Reranking", engine.models.reranker),
    ):
        try:
            found.append(Model(name, opened().identity))
        except ProviderError as error:
            found.append(Model(name, "none", str(error)))
    return found


def degraded(engine: Recollect, models: list[Model]) -> list[str]:
    """What does not work as it should, in sentences."""
    sentences = []
    if engine.read_only:
        sentences.append("The vault is read-only: memories can be found, but not saved or changed.")
    sentences += [
        f"{model.name}: no model takes part, because {model.problem.rstrip('.')}."
        for model in models
        if model.problem
    ]
    return sentences


def looked_after(engine: Recollect) -> dict[str, Any]:
    """What only an administrator sees. A policy's outcome is what it would do now."""
    tidies = engine.may(WRITE, DELETE, ADMIN)
    return {
        "folders": engine.folders(),
        **engine.known_places()._asdict(),
        "policies": engine.tidy(dry_run=True) if tidies else [],
        "settings": engine.configured(),
        "config": str(engine.home / "config.toml"),
    }


def shares(stats: dict[str, Any]) -> list[tuple[str, list[Share]]]:
    """Memories by tier, kind and project, as parts of all of them."""
    whole = max(stats["memories"], 1)
    groups = []
    for key, label, name in (
        ("tiers", "By tier", ""),
        ("projects", "By project", "project"),
        ("kinds", "By kind", "kind"),
    ):
        counts = list(stats[key].items())
        named = len(counts) if len(counts) == MOST_NAMED + 1 else MOST_NAMED
        parts = [
            Share(
                value or "none",
                count,
                round(100 * count / whole, 2),
                f"/browse?{query_string(**{name: value})}" if name and value else "",
            )
            for value, count in counts[:named]
        ]
        if rest := counts[named:]:
            count = sum(count for _, count in rest)
            parts.append(Share(f"{len(rest):,} others", count, round(100 * count / whole, 2)))
        groups.append((label, parts))
    return groups


def sized(count: int) -> str:
    """`403 MB`."""
    size, unit = float(count), 0
    while size >= 1000 and unit < len(SIZES) - 1:
        size, unit = size / 1000, unit + 1
    return f"{size:.1f} {SIZES[unit]}" if unit and size < 10 else f"{size:.0f} {SIZES[unit]}"
