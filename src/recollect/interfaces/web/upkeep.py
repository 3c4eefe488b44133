"""The upkeep page: contents of the vault, models, problems and settings; and its background
jobs."""

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
    read_form,
    redirect,
)
from recollect.present.sentences import counted
from recollect.store.vault import Finding

SIZES = ("bytes", "kB", "MB", "GB", "TB")
MOST_LISTED = 10  # kinds and projects; the others are added up
ABOUT = {
    "file": "The file, by SQLite's own check",
    "memories": "Each memory, by its checksum",
    "references": "References between rows",
    "stemmed index": "Keyword index of word stems",
    "plain index": "Keyword index of whole words",
    "subwords index": "Keyword index of parts of identifiers",
    "memory count": "Number of memories",
    "vocabulary": "Frequency of each word",
    "history": "Earlier versions of memories",
    "vectors": "Vectors: size, and a memory for each",
    "vector index": "Codes of vectors that searches compare",
    "waiting vectors": "Memories queued for a vector",
    "topic hashes": "Hashes for filtering by tags",
}


class Model(NamedTuple):
    """A model in use, or the problem with it."""

    name: str
    identity: str
    problem: str = ""


def worker_of(request: Request) -> Worker:
    """Return the application's worker."""
    worker: Worker = request.app.state.worker
    return worker


async def overview(service: Service, request: Request) -> Response:
    worker = worker_of(request)
    stats = await service.ask(service.engine.stats)
    models = await service.ask(list_models, service.engine)
    made, waiting = stats["vectors"], stats["waiting"]
    values = {
        "stats": stats,
        "size": size_text(stats["bytes"]),
        "models": models,
        "groups": shares(stats),
        "degraded": list_problems(service.engine, models),
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
        values["admin"] = await service.ask(admin_values, service.engine)
    return page("upkeep.html", request, values)


async def work(service: Service, request: Request) -> Response:
    """Start a job and show its progress, as a piece of the page or on the page without script."""
    worker = worker_of(request)
    alone = request.method == "POST" and "piece" not in request.query_params
    try:
        if request.method == "POST":
            form = await read_form(request)
            worker.start(service.engine, form.get("do", ""), form)
    except RecollectError as error:
        if alone:
            raise
        return problem_piece(request, error)
    if alone:
        return redirect("/upkeep#work")
    return page("_work.html", request, {"work": worker})


async def unlock(service: Service, request: Request) -> Response:
    """Unlock the vault with the passphrase in the form, which is not stored. After wrong ones the
    caller must wait, as with tokens: each try costs the server a quarter of a second."""
    attempts: Attempts = request.app.state.attempts
    address = request.client.host if request.client else ""
    if wait_s := attempts.wait_s(address):
        raise HTTPException(429, f"Too many wrong passphrases. Try again in {wait_s} seconds.")
    form = await read_form(request)
    try:
        await service.ask(service.engine.unlock, form.get("passphrase", ""))
    except Locked:
        attempts.count_failure(address)
        raise
    return redirect("/")


# The values of the page


def list_models(engine: Recollect) -> list[Model]:
    """Return both models; load them if needed."""
    found = []
    for name, load in (
        ("Embedding", engine.models.embedder),
        ("Reranking", engine.models.reranker),
    ):
        try:
            found.append(Model(name, load().identity))
        except ProviderError as error:
            found.append(Model(name, "none", str(error)))
    return found


def list_problems(engine: Recollect, models: list[Model]) -> list[str]:
    """Return sentences about what does not work."""
    sentences = []
    if engine.read_only:
        sentences.append("The vault is read-only: memories can be found, but not saved or changed.")
    sentences += [
        f"{model.name} does not work: {model.problem.rstrip('.')}."
        for model in models
        if model.problem
    ]
    return sentences


def admin_values(engine: Recollect) -> dict[str, Any]:
    """Return the values for administrators. The outcome of a policy is what it would do now."""
    tidies = engine.may(WRITE, DELETE, ADMIN)
    return {
        "folders": engine.folders(),
        **engine.known_places()._asdict(),
        "policies": engine.tidy(dry_run=True) if tidies else [],
        "settings": engine.list_settings(),
        "config": str(engine.home / "config.toml"),
    }


def shares(stats: dict[str, Any]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return memories by tier, project and kind; `share` is a percentage of all memories."""
    whole = max(stats["memories"], 1)
    groups = []
    for key, label, name in (
        ("tiers", "By tier", ""),
        ("projects", "By project", "project"),
        ("kinds", "By kind", "kind"),
    ):
        counts = list(stats[key].items())
        listed = len(counts) if len(counts) == MOST_LISTED + 1 else MOST_LISTED
        parts = [
            (
                value or "none",
                count,
                f"/browse?{query_string(**{name: value})}" if name and value else "",
            )
            for value, count in counts[:listed]
        ]
        if rest := counts[listed:]:
            parts.append((f"{len(rest):,} others", sum(count for _, count in rest), ""))
        shown = [
            {"label": text, "count": n, "share": round(100 * n / whole, 2), "href": href}
            for text, n, href in parts
        ]
        groups.append((label, shown))
    return groups


def size_text(count: int) -> str:
    """Return a number of bytes as `403 MB`."""
    size, unit = float(count), 0
    while size >= 1000 and unit < len(SIZES) - 1:
        size, unit = size / 1000, unit + 1
    return f"{size:.1f} {SIZES[unit]}" if unit and size < 10 else f"{size:.0f} {SIZES[unit]}"


# Background jobs: one at a time, in a thread, with their progress

Form = Mapping[str, str]


class CheckResult(NamedTuple):
    """The findings of the last check."""

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
    work.checked = CheckResult(engine.now(), time.monotonic() - start, findings, fix)
    return f"The check found {counted(work.checked.problems, 'problem')}."


def _embed(engine: Recollect, form: Form, work: Worker) -> str:
    if failure := engine.embed_now(work.progress):
        raise ProviderError(failure, transient=True)
    return "All memories now have vectors."


def _reindex(engine: Recollect, form: Form, work: Worker) -> str:
    made = engine.reindex(everything="everything" in form, progress=work.progress)
    return f"The indexes were rebuilt, with {counted(made, 'new vector')}."


def _backup(engine: Recollect, form: Form, work: Worker) -> str:
    made = engine.backup()
    return f"Saved and verified {made.file} with {counted(made.holds.memories, 'memory')}."


def _measure(engine: Recollect, form: Form, work: Worker) -> str:
    spent = engine.measure()
    if not spent:
        return "There is no model to measure."
    return "; ".join(f"{name}: {ms:,.1f} ms" for name, ms in spent.items()) + "."


def _tidy(engine: Recollect, form: Form, work: Worker) -> str:
    return " ".join(outcome.sentence for outcome in engine.tidy()) or "There are no policies."


def _sync(engine: Recollect, form: Form, work: Worker) -> str:
    path, project = form.get("path", "").strip(), form.get("project", "").strip()
    if not path:
        raise UserError("Enter the full path of the folder, such as /home/me/notes.")
    follow = True if "follow" in form else None
    done = engine.add_folder(path, project=project or None, follow=follow, progress=work.progress)
    changes = [f"{count:,} {what}" for what, count in done.files.items()]
    return f"{path}: {', '.join(changes) or 'no file changed'}."


def _remove(engine: Recollect, form: Form, work: Worker) -> str:
    gone = engine.remove_folder(form.get("path", ""))
    return f"Removed. {counted(gone, 'memory')} moved to the trash; the files stay."


class Job(NamedTuple):
    """A background job, its title while it runs, and the capabilities that it needs."""

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
    """The running job, or the last one. Its thread ends with the process, as every job can be
    restarted."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self.title = self.outcome = self.problem = ""
        self.running = False
        self.done, self.total = 0, 0
        self.checked: CheckResult | None = None

    def start(self, engine: Recollect, name: str, form: Form) -> None:
        if name not in JOBS:
            raise UserError(f"There is no job {name!r}; there are: {', '.join(JOBS)}.")
        job = JOBS[name]
        engine.require(*job.needs, action=f"upkeep {name}")
        with self._guard:
            if self.running and self.title == job.title:
                return
            if self.running:
                raise UserError(f"{self.title} is still running. Wait until it is done.")
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
        """Record that `done` of `total` is done; without `total`, that `done` more is."""
        self.done = done if total is not None else self.done + done
        self.total = total or 0
