"""`recollect hook EVENT` as an agent starts it: read the event, answer, print, and end.

If anything fails, the agent is not disturbed: exit code 0, no output, one line in the log, which
contains neither the prompt nor a memory. A hook that takes too long, or whose agent has ended, ends
at once. This module imports little, since imports are most of the time that an agent waits.
"""
# ruff: noqa: PTH100, PTH103, PTH105, PTH110, PTH111, PTH112, PTH117, PTH118, PTH202  start-up time: without pathlib

from __future__ import annotations

import json
import os
import sys
import time
from importlib import import_module

from recollect.home import home_path

PROJECT_FOLDER = "CLAUDE_PROJECT_DIR"  # Claude Code's project, whatever the agent's folder is now

TYPE_CHECKING = False  # what typing.TYPE_CHECKING is, without the time to import typing
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# The events for which the user waits, and the time limits for them and for others, including the
# start of Python. A hook that exceeds its limit says nothing.
HURRIED = frozenset(("UserPromptSubmit", "BeforeAgent"))
HURRIED_MS = 290
LONGEST_MS = 2000
START_MS = 40  # Python's own start, before this module runs
LOOK_S = 0.05  # between two checks whether the agent still runs
# A prompt with a pasted file may be long; anything longer is not a prompt.
LONGEST_INPUT = 4_000_000
FOLDER, LOG = "hooks", "hooks.log"  # in the home
LARGEST_LOG = 200_000  # bytes: about two thousand lines
STARTS = frozenset(("SessionStart", "sessionStart"))
# A field that is added to an event: the failures since the last session started.
FAILURES = "recollect_failures"
TOLD, GONE = "Told", "AgentGone"  # lines of the log that are not failures


class NotAnEvent(Exception):
    """Raised if standard input has no event."""


def run(argv: list[str]) -> int:
    """Answer the event on standard input; the exit code is always 0."""
    set_home(argv)
    if not os.path.isabs(home_path(os.environ)):
        return 0  # no vault, and no log, in the agent's own folder
    try:
        answer = _answer(argv, _read_event())
        if answer:
            print(answer)
        sys.stdout.flush()
    except (Exception, SystemExit) as error:  # SystemExit: argparse found a wrong argument
        log_line(argv, type(error).__name__, str(error) if isinstance(error, NotAnEvent) else "")
    return 0


def _answer(argv: list[str], event: dict[str, Any]) -> str:
    """Return what is printed."""
    if project := os.environ.get(PROJECT_FOLDER):
        event["cwd"] = project
    folder = working_folder(event)
    if folder and os.path.isdir(folder):
        os.chdir(folder)
    event[FAILURES] = "" if STARTS.isdisjoint(argv) else new_failures(argv)
    hook = import_module("recollect.interfaces.cli.agents")  # not before the event is read
    answer: str = hook.answer_event([*argv, "--input", json.dumps(event)])
    return answer


def _read_event() -> dict[str, Any]:
    """Read the event from standard input."""
    raw = sys.stdin.buffer.read(LONGEST_INPUT + 1) if sys.stdin is not None else b""
    if len(raw) > LONGEST_INPUT:
        raise NotAnEvent("the input is too long")
    try:
        event = json.loads(raw.decode())
    except UnicodeDecodeError:
        raise NotAnEvent("the input is not UTF-8 text") from None
    except (ValueError, RecursionError):
        raise NotAnEvent("the input is not JSON") from None
    if not isinstance(event, dict):
        raise NotAnEvent("the input is not a JSON object")
    return event


def working_folder(event: dict[str, Any]) -> str:
    """Return the agent's working directory, or its first workspace folder."""
    folder = event.get("cwd") or event.get("workspace_roots")
    if isinstance(folder, list):
        folder = folder[0] if folder else ""
    return folder if isinstance(folder, str) and "\0" not in folder else ""


def set_home(argv: list[str]) -> None:
    """Set RECOLLECT_HOME from `--home FOLDER`."""
    if "--home" in argv[:-1]:
        folder = argv[argv.index("--home") + 1]
        os.environ["RECOLLECT_HOME"] = os.path.abspath(os.path.expanduser(folder))


def guard(argv: list[str]) -> None:
    """Start a thread that ends this process at its deadline, or when its agent has ended."""
    import _thread  # noqa: PLC0415  start-up time: without threading

    hurried = not HURRIED.isdisjoint(argv)
    over_at = time.monotonic() + ((HURRIED_MS if hurried else LONGEST_MS) - START_MS) / 1000
    _thread.start_new_thread(watch, (argv, over_at, os.getppid(), os._exit))


def watch(argv: list[str], over_at: float, agent: int, end: Callable[[int], object]) -> None:
    """Wait until the deadline or the agent's end, then log it and end the process."""
    while time.monotonic() < over_at and os.getppid() == agent:
        time.sleep(min(LOOK_S, max(0.0, over_at - time.monotonic())))
    log_line(argv, "TooLate" if os.getppid() == agent else GONE)
    end(0)


def new_failures(argv: list[str]) -> str:
    """Return a sentence about the hooks that failed since the last call, or ""."""
    file = os.path.join(home_path(os.environ), FOLDER, LOG)
    try:
        with open(file, encoding="utf-8") as stream:  # noqa: PTH123  start-up time: without pathlib
            lines = stream.read().splitlines()
    except OSError:
        return ""
    failed: list[str] = []
    for line in lines:
        failed = [] if line.endswith(f": {TOLD}") else [*failed, line]
    failed = [line for line in failed if not line.endswith(f": {GONE}")]
    if not failed:
        return ""
    log_line(argv, TOLD)
    times = f"{len(failed)} times" if len(failed) > 1 else "once"
    return (
        f"Recollect: hooks failed {times} since the last session, most recently "
        f"{failed[-1]}. Tell the user; {file} has each."
    )


def log_line(argv: list[str], what: str, why: str = "") -> None:
    """Log a line: time, client and event, what happened."""
    try:
        folder = os.path.join(home_path(os.environ), FOLDER)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        file = os.path.join(folder, LOG)
        if os.path.exists(file) and os.path.getsize(file) > LARGEST_LOG:
            os.replace(file, file + ".1")
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        called = " ".join(part for part in argv[:3] if part.replace("-", "").isalnum())
        line = f"{now} {called}: {what}{f': {why}' if why else ''}\n"
        handle = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(handle, line.encode())
        finally:
            os.close(handle)
    except OSError:
        pass  # there is no other way to report it
