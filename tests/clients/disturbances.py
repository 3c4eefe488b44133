"""Hooks that are slow or fail, and agents that are killed while a hook runs."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from agent_runs import HOOK_TEXT, TURNS, AgentHome, processes_of
from recorded_model import RecordedModel, answering

from recollect.interfaces.cli.running_server import FOLDER
from recollect.version import __version__

GONE_S = 30  # long beside the two seconds that a hook has: the machine may be busy


@contextmanager
def silent_server(home: Path) -> Iterator[None]:
    """A server of that home which takes no request: hooks wait for it until their time is over."""
    folder = home / FOLDER
    folder.mkdir(parents=True, mode=0o700)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / f"{__version__}-0"))
        listening.listen(64)
        yield


def disturbed(home: AgentHome) -> list[str]:
    """The conversation goes on where each hook fails, its vault being damaged, or is too slow."""
    found = []
    for name in ("failing", "slow"):
        hooks_home = home.folder / name
        hooks_home.mkdir()
        (hooks_home / "vault.db").write_bytes(b"no vault at all" * 1000)
        home.set_up("", hooks_home=hooks_home)
        model = RecordedModel(TURNS)
        if name == "slow":
            with silent_server(hooks_home):
                code, output = home.run(model)
        else:
            code, output = home.run(model)
        if code or model.left:
            found.append(f"{name}: exit code {code}, {len(model.left)} turns left: {output[-500:]}")
        elif HOOK_TEXT in model.asked[-1].text:
            found.append(f"{name}: a hook without a vault has said something")
        log = hooks_home / "hooks" / "hooks.log"
        if not log.exists():
            found.append(f"{name}: no hook has noted that it failed")
    return found


def killed(home: AgentHome) -> list[str]:
    """Killed while its first hook waits, the agent leaves neither a hook nor a server behind."""
    hooks_home = home.folder / "slow"
    hooks_home.mkdir()
    (hooks_home / "vault.db").write_bytes(b"no vault at all" * 1000)
    home.set_up("", hooks_home=hooks_home)
    with (
        silent_server(hooks_home),
        answering(RecordedModel(TURNS)) as url,
        home.started(url) as process,
    ):
        if not _within(lambda: bool(processes_of(home.folder, "recollect", "hook"))):
            return ["no hook was started"]
        hooks = processes_of(home.folder, "recollect", "hook")
        os.kill(process.pid, signal.SIGKILL)
        if _within(lambda: not processes_of(home.folder, "recollect")):
            return []
        left = processes_of(home.folder, "recollect")
        return [f"after the agent was killed, {left} still run; hooks were {hooks}"]


def _within(condition: Callable[[], bool]) -> bool:
    over = time.monotonic() + GONE_S
    while time.monotonic() < over:
        if condition():
            return True
        time.sleep(0.02)
    return False
