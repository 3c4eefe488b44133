"""Several worker processes on one port, forked and supervised by the process that listens; and
replacing a server's process once its vault is locked again."""

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
# A worker that ends sooner has not started to serve.
STARTED_S = 5.0
MOST_EARLY_ENDS = 5
PAUSE_S = 0.5  # before such a worker is replaced
ENDING_S = 10.0  # longer than the server waits for requests under way
POLL_S = 0.02
# Windows does not have all of them, and no fork either.
SIGNALS = [
    getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGCHLD") if hasattr(signal, name)
]


class ServerProcesses:
    """Runs `count` processes that each call `work` with their number, from 0 on, and replaces one
    that ends. All end with this process, however it ends. `ended` is called with the id of each."""

    def __init__(
        self, count: int, work: Callable[[int], None], ended: Callable[[int], None]
    ) -> None:
        self._count, self._work, self._ended = count, work, ended
        self._running: dict[int, tuple[int, float]] = {}  # number and start, by process id
        self._early = 0
        self._reading, self._writing = os.pipe()  # closed by the system when this process ends

    def run(self) -> None:
        """Serve until SIGTERM; raise KeyboardInterrupt after SIGINT. It waits for signals instead
        of handling them: an exception that a handler raises inside `fork` is lost."""
        signal.signal(signal.SIGCHLD, lambda *_: None)  # sigwait does not see ignored signals
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
        """Replace the workers that have ended."""
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
            code = 0  # Ctrl+C reaches every process of a terminal; the parent reports it
        except RecollectError as error:
            print(f"recollect: {error}", file=sys.stderr, flush=True)
        finally:
            os._exit(code)  # the parent closes what it has opened

    def _follow(self) -> None:
        """End this worker when its parent ends."""
        os.read(self._reading, 1)
        os.kill(os.getpid(), signal.SIGTERM)

    def _stop(self) -> None:
        """End the workers; kill those that do not end in time."""
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
    """Raise UserError if this number of workers is impossible."""
    if not 1 <= count <= MOST:
        raise UserError(f"--workers needs a number from 1 to {MOST}, not {count}.")
    if count > 1 and not hasattr(os, "fork"):
        raise UserError("This system has no fork, so one process serves; leave --workers out.")


# Replacing this process: the same command and process id, without the old process's memory.
#
# After the idle lock, decrypted memories must not stay in the process's memory. Python cannot
# guarantee that, so the server executes itself again, and the operating system drops the old
# memory. Inheritable files and sockets stay open, and so do the clients' connections.

# The environment variable that passes the old process's state to the new one.
STATE = "RECOLLECT_RESUMED"


def can_replace_process() -> bool:
    """Return whether a process can be replaced here; Windows would start one with another id."""
    return sys.platform != "win32" and bool(sys.executable)


def resumed_state() -> str | None:
    """Return the previous process's state, or None in a first run. Removes it from the environment,
    so that child processes do not see it."""
    return os.environ.pop(STATE, None)


def replace_process(state: str) -> NoReturn:
    """Run the same command again, in place of this process."""
    try:
        os.execve(sys.executable, sys.orig_argv, {**os.environ, STATE: state})
    except OSError as error:
        raise UserError(
            f"The vault is locked again, and this server cannot start anew: {error.strerror}. "
            "Start it yourself."
        ) from error
