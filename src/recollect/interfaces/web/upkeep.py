"""The vault's state: what it holds, what takes part in a search, and what to repair."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

from msgspec import Struct
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from recollect.auth.attempts import Attempts
from recollect.auth.capabilities import ADMIN, DELETE, WRITE
from recollect.engine import Recollect
from recollect.errors import Locked, ProviderError, RecollectError
from recollect.interfaces.http.service import Service
from recollect.interfaces.web.forms import problem_piece, submitted
from recollect.interfaces.web.rendering import page, query_string
from recollect.interfaces.web.upkeep_work import Worker
from recollect.store.vault import Finding

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


class Checked(NamedTuple):
    """What the last check found."""

    at: datetime
    seconds: float
    findings: Sequence[Finding]
    repaired: bool

    @property
    def problems(self) -> int:
        return sum(finding.problem is not None for finding in self.findings)

    @property
    def repairable(self) -> bool:
        return any(finding.problem for finding in self.findings)


class Upkeep:
    """The long tasks, each at most once at a time, and their last results."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._guard = threading.Lock()
        self._check: asyncio.Task[Checked] | None = None
        self.checked: Checked | None = None
        self.embedding = False
        self.failure: str | None = None
        self.work = Worker()

    async def check(self, *, fix: bool = False) -> Checked:
        """Examine the vault; a second caller waits for the answer of the first."""
        if self._check is not None and not self._check.done():
            await asyncio.wait([self._check])
            if not fix and self.checked is not None:
                return self.checked
        self._check = asyncio.create_task(self._examined(fix=fix))
        return await asyncio.shield(self._check)

    async def _examined(self, *, fix: bool) -> Checked:
        start = asyncio.get_running_loop().time()
        engine = self._service.engine  # of whoever asks now
        findings = await self._service.ask(engine.doctor, fix=fix)
        spent = asyncio.get_running_loop().time() - start
        self.checked = Checked(engine.now(), spent, findings, fix)
        return self.checked

    def embed(self) -> None:
        """Begin to make the vectors that are missing. A thread of its own, that ends with the
        process: each batch is kept when it is made, so nothing is lost."""
        engine = self._service.engine  # the thread does not know who asked
        with self._guard:
            if self.embedding:
                return
            self.embedding = True
        threading.Thread(
            target=self._embed, args=(engine,), name="recollect-embed", daemon=True
        ).start()

    def _embed(self, engine: Recollect) -> None:
        try:
            self.failure = engine.embed_now()
        except RecollectError as error:  # the vault is unavailable, or read-only
            self.failure = str(error)
        finally:
            self.embedding = False


def routes(service: Service) -> list[BaseRoute]:
    kept, attempts = Upkeep(service), Attempts()
    return [
        Route("/upkeep", partial(overview, service, kept)),
        Route("/upkeep/vectors", partial(vectors, service, kept)),
        Route("/upkeep/check", partial(examine, service, kept, False), methods=["POST"]),
        Route("/upkeep/repair", partial(examine, service, kept, True), methods=["POST"]),
        Route("/upkeep/embed", partial(embed, service, kept), methods=["POST"]),
        Route("/upkeep/work", partial(work, service, kept), methods=["GET", "POST"]),
        Route("/unlock", partial(unlock, service, attempts), methods=["POST"]),
    ]


async def overview(service: Service, kept: Upkeep, request: Request) -> Response:
    stats = await service.ask(service.engine.stats)
    models = await service.ask(active, service.engine)
    values = {
        "stats": stats,
        "size": sized(stats["bytes"]),
        "models": models,
        "groups": shares(stats),
        "degraded": degraded(service.engine, models),
        "admin": None,
    }
    if service.engine.may(ADMIN):
        values["admin"] = await service.ask(looked_after, service.engine)
    return page("upkeep.html", request, values | state(service, kept, stats))


def state(service: Service, kept: Upkeep, stats: dict[str, Any]) -> dict[str, Any]:
    """The values of the pieces that are refreshed."""
    made, waiting = stats["vectors"], stats["waiting"]
    return {
        "model": stats["embedding"],
        "made": made,
        "waiting": waiting,
        "share": 100 * made / (made + waiting) if made + waiting else 100,
        "embedding": kept.embedding,
        "failure": kept.failure,
        "frozen": service.engine.read_only,
        "checked": kept.checked,
        "work": kept.work,
        "about": ABOUT,
        "now": service.engine.now(),
    }


async def vectors(service: Service, kept: Upkeep, request: Request) -> Response:
    """The progress of the vectors, as a piece that is refreshed."""
    return await _in_place(request, partial(_vectors, service, kept, request))


async def _vectors(service: Service, kept: Upkeep, request: Request) -> Response:
    def counted(engine: Recollect) -> dict[str, Any]:
        if not engine.models.embeds():
            return {"embedding": "none", "vectors": 0, "waiting": 0}
        identity = engine.models.embedder().identity
        embedded, memories = engine.coverage()
        return {"embedding": identity, "vectors": embedded, "waiting": memories - embedded}

    stats = await service.ask(counted, service.engine)
    return page("_vectors.html", request, state(service, kept, stats))


async def examine(service: Service, kept: Upkeep, fix: bool, request: Request) -> Response:
    """Check, and repair where asked to; a piece of the page, or back to the page without script."""
    if "piece" not in request.query_params:
        await kept.check(fix=fix)
        return RedirectResponse("/upkeep#check", status_code=303)

    async def answered() -> Response:
        checked = await kept.check(fix=fix)
        values = {"checked": checked, "about": ABOUT, "now": service.engine.now()}
        values["frozen"] = service.engine.read_only
        return page("_check.html", request, values)

    return await _in_place(request, answered)


async def embed(service: Service, kept: Upkeep, request: Request) -> Response:
    kept.embed()
    if "piece" in request.query_params:
        return await vectors(service, kept, request)
    return RedirectResponse("/upkeep#vectors", status_code=303)


async def work(service: Service, kept: Upkeep, request: Request) -> Response:
    """Begin one of the jobs, and how far it is: a piece, or back to the page without script."""

    async def answered() -> Response:
        if request.method == "POST":
            form = {name: values[-1] for name, values in (await submitted(request)).items()}
            kept.work.start(service.engine, form.pop("do", ""), form)
        return page("_work.html", request, {"work": kept.work})

    if request.method == "POST" and "piece" not in request.query_params:
        await answered()
        return RedirectResponse("/upkeep#work", status_code=303)
    return await _in_place(request, answered)


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
    return RedirectResponse("/", status_code=303)


async def _in_place(request: Request, answered: Callable[[], Any]) -> Response:
    """The piece, or the error in its place."""
    try:
        response: Response = await answered()
    except RecollectError as error:
        return problem_piece(request, error)
    return response


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
