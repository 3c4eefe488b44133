"""Several processes behind one port: forks of one that listens, watched and ended by it. And a
fresh process in place of a server, once its vault is locked again."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import NoReturn

from recollect.errors import RecollectError, UserError

MOST = 64
# A worker that ends sooner than that has not begun to serve.
STARTED_S = 5.0
MOST_EARLY_ENDS = 5
PAUSE_S = 0.5  # before the place of such a worker is taken
ENDING_S = 10.0  # longer than requests under way are waited for
POLL_S = 0.02
# Windows has not all of them, and no fork either.
SIGNALS = [
    getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGCHLD") if hasattr(signal, name)
]


class ServerProcesses:
    """So many processes, each of which calls `work` with its number, from 0 on. One that ends is
    replaced. All end with this process, however it ends."""

    def __init__(
        self, count: int, work: Callable[[int], None], ended: Callable[[int], None]
    ) -> None:
        self._count, self._work, self._ended = count, work, ended
        self._running: dict[int, tuple[int, float]] = {}  # number and start, by process id
        self._early = 0
        self._reading, self._writing = os.pipe()  # closed by the system when this process is gone

    def run(self) -> None:
        """Serve until SIGTERM; KeyboardInterrupt after SIGINT. Signals are waited for rather than
        handled: an exception of a handler gets lost where it is raised inside of `fork`."""
        signal.signal(signal.SIGCHLD, lambda *_: None)  # one that is ignored is not waited for
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        try:
            for number in range(self._count):
                self._start(number)
            while (received := signal.sigwait(SIGNALS)) == signal.SIGCHLD:
                self._replace()
        finally:
            self._stop()
            signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        if received == signal.SIGINT:
            raise KeyboardInterrupt

    def _replace(self) -> None:
        """Start others for those that have ended."""
        for pid in [*self._running]:
            ended, status = os.waitpid(pid, os.WNOHANG)
            if not ended:
                continue
            number, started = self._running.pop(pid)
            self._ended(pid)
            if time.monotonic() - started < STARTED_S:
                self._early += 1
                if self._early >= MOST_EARLY_ENDS:
                    code = os.waitstatus_to_exitcode(status)
                    raise UserError(
                        f"Workers end right after their start (exit code {code}), so the server "
                        "ends, too; the lines above say why."
                    )
                time.sleep(PAUSE_S)
            self._start(number)

    def _start(self, number: int) -> None:
        sys.stdout.flush()
        pid = os.fork()
        if pid:
            self._running[pid] = number, time.monotonic()
            return
        code = 1
        try:
            os.close(self._writing)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
            threading.Thread(target=self._follow, name="recollect-parent", daemon=True).start()
            self._work(number)
            code = 0
        except KeyboardInterrupt:
            code = 0  # Ctrl+C goes to every process of a terminal; the parent says so
        except RecollectError as error:
            print(f"recollect: {error}", file=sys.stderr, flush=True)
        finally:
            os._exit(code)  # what the parent has opened is the parent's to close

    def _follow(self) -> None:
        """End this worker when the parent is gone."""
        os.read(self._reading, 1)
        os.kill(os.getpid(), signal.SIGTERM)

    def _stop(self) -> None:
        """End the workers; those that do not end by themselves are killed."""
        give_up = time.monotonic() + ENDING_S
        for pid in self._running:
            os.kill(pid, signal.SIGTERM)
        while self._running:
            for pid in [*self._running]:
                if os.waitpid(pid, os.WNOHANG)[0]:
                    del self._running[pid]
            if time.monotonic() > give_up:
                for pid in self._running:
                    os.kill(pid, signal.SIGKILL)
            time.sleep(POLL_S)


def check_count(count: int) -> None:
    """UserError for a number of workers that cannot be."""
    if not 1 <= count <= MOST:
        raise UserError(f"--workers needs a number from 1 to {MOST}, not {count}.")
    if count > 1 and not hasattr(os, "fork"):
        raise UserError("This system has no fork, so one process serves; leave --workers out.")


# A fresh process in place of this one: the same command and id, and nothing of the old memory.
#
# After the idle lock no memory may be left in the process. Python cannot promise that of a running
# one, so a server replaces its program by a new run of it: the operating system drops all memory of
# the old. Files and sockets that are inheritable stay open, and so does the connection of a client.

# What the old run hands on to the new one; the environment holds it from one to the other.
STATE = "RECOLLECT_RESUMED"


def can_replace_process() -> bool:
    """Whether a process can be replaced here. Windows starts another one, with another id."""
    return sys.platform != "win32" and bool(sys.executable)


def resumed_state() -> str | None:
    """What the run before this one handed on; None in a first run. Whatever this run starts does
    not see it."""
    return os.environ.pop(STATE, None)


def replace_process(state: str) -> NoReturn:
    """Run the same command again, in place of this one."""
    try:
        os.execve(sys.executable, sys.orig_argv, {**os.environ, STATE: state})
    except OSError as error:
        raise UserError(
            f"The vault is locked again, and this server cannot start anew: {error.strerror}. "
            "Start it yourself."
        ) from error
