"""Long work that the page of upkeep begins: one job at a time, in a thread, with its progress."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import NamedTuple

from recollect.auth.capabilities import ADMIN, CAPABILITIES, DELETE, WRITE
from recollect.engine import Recollect
from recollect.errors import ProviderError, RecollectError, UserError
from recollect.present.words import counted
from recollect.store.vault import Finding

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
