"""The vault's state: what it holds, what takes part in a search, and what to repair; and the long
work that the page begins."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from recollect.auth.capabilities import ADMIN, CAPABILITIES, DELETE, WRITE
from recollect.auth.credentials import Attempts
from recollect.engine import Recollect
from recollect.errors import Locked, ProviderError, RecollectError, UserError
from recollect.interfaces.http.service import Service
from recollect.interfaces.web.rendering import (
    page,
    problem_piece,
    query_string,
    redirect,
    submitted,
)
from recollect.present.words import counted
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
    "vector index": "Codes of the vectors, which a search compares",
    "waiting vectors": "What is noted as waiting for a vector",
    "topic hashes": "Hashes that tags are filtered by",
}


class Model(NamedTuple):
    """A model that takes part, or why none does."""

    name: str
    identity: str
    problem: str = ""


def worker_of(request: Request) -> Worker:
    """The one of the application."""
    worker: Worker = request.app.state.worker
    return worker


async def overview(service: Service, request: Request) -> Response:
    worker = worker_of(request)
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


async def work(service: Service, request: Request) -> Response:
    """Begin one of the jobs, and show how far it is: as a piece, or without script on the page."""
    worker = worker_of(request)
    alone = request.method == "POST" and "piece" not in request.query_params
    try:
        if request.method == "POST":
            form = await submitted(request)
            worker.start(service.engine, form.get("do", ""), form)
    except RecollectError as error:
        if alone:
            raise
        return problem_piece(request, error)
    if alone:
        return redirect("/upkeep#work")
    return page("_work.html", request, {"work": worker})


async def unlock(service: Service, request: Request) -> Response:
    """Open the locked vault with the passphrase of the form, which goes no further. Who guesses
    waits, as with tokens: each try costs the server a quarter of a second."""
    attempts: Attempts = request.app.state.attempts
    address = request.client.host if request.client else ""
    if wait_s := attempts.wait_s(address):
        raise HTTPException(429, f"Too many wrong passphrases. Try again in {wait_s} s.")
    form = await submitted(request)
    try:
        await service.ask(service.engine.unlock, form.get("passphrase", ""))
    except Locked:
        attempts.count_failure(address)
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


def shares(stats: dict[str, Any]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Memories by tier, kind and project, as parts of all of them; `share` is a percentage."""
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
            (
                value or "none",
                count,
                f"/browse?{query_string(**{name: value})}" if name and value else "",
            )
            for value, count in counts[:named]
        ]
        if rest := counts[named:]:
            parts.append((f"{len(rest):,} others", sum(count for _, count in rest), ""))
        shown = [
            {"label": text, "count": n, "share": round(100 * n / whole, 2), "href": href}
            for text, n, href in parts
        ]
        groups.append((label, shown))
    return groups


def sized(count: int) -> str:
    """`403 MB`."""
    size, unit = float(count), 0
    while size >= 1000 and unit < len(SIZES) - 1:
        size, unit = size / 1000, unit + 1
    return f"{size:.1f} {SIZES[unit]}" if unit and size < 10 else f"{size:.0f} {SIZES[unit]}"


# Long work: one job at a time, in a thread, with its progress

Form = Mapping[str, str]


class Checked(NamedTuple):
    """What the last check found."""

    at: datetime
    seconds: float
    findings: Sequence[Finding]
    repaired: bool

    @property
    def problems(self) -> int:
        return sum(finding.problem is not None for finding in self.findings)


def _check(engine: Recollect, form: Form, work: Worker, *, fix: bool = False) -> str:
    start = time.monotonic()
    findings = engine.doctor(fix=fix)
    work.checked = Checked(engine.now(), time.monotonic() - start, findings, fix)
    return f"The check found {counted(work.checked.problems, 'problem')}."


def _embed(engine: Recollect, form: Form, work: Worker) -> str:
    if failure := engine.embed_now(work.progress):
        raise ProviderError(failure, transient=True)
    return "Every memory has a vector now."


def _reindex(engine: Recollect, form: Form, work: Worker) -> str:
    made = engine.reindex(everything="everything" in form, progress=work.progress)
    return f"The indexes are rebuilt, and {counted(made, 'vector')} made."


def _backup(engine: Recollect, form: Form, work: Worker) -> str:
    made = engine.backup()
    return f"Saved and verified: {made.file}, with {counted(made.holds.memories, 'memory')}."


def _measure(engine: Recollect, form: Form, work: Worker) -> str:
    spent = engine.measure()
    if not spent:
        return "No model takes part, so there is nothing to measure."
    return "; ".join(f"{name}: {ms:,.1f} ms" for name, ms in spent.items()) + "."


def _tidy(engine: Recollect, form: Form, work: Worker) -> str:
    return " ".join(outcome.sentence for outcome in engine.tidy()) or "There are no policies."


def _sync(engine: Recollect, form: Form, work: Worker) -> str:
    path, project = form.get("path", "").strip(), form.get("project", "").strip()
    if not path:
        raise UserError("Name the folder by its whole path, such as /home/me/notes.")
    follow = True if "follow" in form else None
    done = engine.add_folder(path, project=project or None, follow=follow, progress=work.progress)
    changes = [f"{count:,} {what}" for what, count in done.files.items()]
    return f"{path}: {', '.join(changes) or 'no file changed'}."


def _remove(engine: Recollect, form: Form, work: Worker) -> str:
    gone = engine.remove_folder(form.get("path", ""))
    return f"Removed. {counted(gone, 'memory')} of its files went to the trash; the files stay."


class Job(NamedTuple):
    """What is done, what that is called while it goes on, and what the caller needs for it."""

    run: Callable[[Recollect, Form, Worker], str]
    title: str
    needs: tuple[str, ...] = (ADMIN,)


JOBS = {
    "check": Job(_check, "Checking the vault"),
    "repair": Job(partial(_check, fix=True), "Repairing and checking the vault"),
    "embed": Job(_embed, "Making vectors"),
    "reindex": Job(_reindex, "Rebuilding the indexes"),
    "backup": Job(_backup, "Copying the vault"),
    "measure": Job(_measure, "Measuring the models"),
    "tidy": Job(_tidy, "Applying the policies", (WRITE, DELETE, ADMIN)),
    "sync": Job(_sync, "Reading the folder", tuple(CAPABILITIES)),
    "remove": Job(_remove, "Removing the folder", (DELETE, ADMIN)),
}


class Worker:
    """The work that goes on, or was done last. A thread of its own, which ends with the process:
    every job can be begun again."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self.title = self.outcome = self.problem = ""
        self.running = False
        self.done, self.total = 0, 0
        self.checked: Checked | None = None

    def start(self, engine: Recollect, name: str, form: Form) -> None:
        if name not in JOBS:
            raise UserError(f"There is no work {name!r}; there are: {', '.join(JOBS)}.")
        job = JOBS[name]
        engine.require(*job.needs, action=f"upkeep {name}")
        with self._guard:
            if self.running and self.title == job.title:
                return
            if self.running:
                raise UserError(f"{self.title} goes on still. Wait until it is done.")
            self.title, self.outcome, self.problem = job.title, "", ""
            self.running, self.done, self.total = True, 0, 0
        arguments = (engine, job, form)
        threading.Thread(
            target=self._run, args=arguments, name="recollect-upkeep", daemon=True
        ).start()

    def _run(self, engine: Recollect, job: Job, form: Form) -> None:
        try:
            self.outcome = job.run(engine, form, self)
        except RecollectError as error:
            self.problem = str(error)
        except Exception:
            self.problem = "It failed unexpectedly; the log says where."
            raise
        finally:
            self.running = False

    def progress(self, done: int, total: int | None = None) -> None:
        """Note how much is done of `total`; without one, how much more."""
        self.done = done if total is not None else self.done + done
        self.total = total or 0
