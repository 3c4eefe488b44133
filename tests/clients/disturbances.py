"""Hooks that are slow or fail, and agents that are killed while a hook runs."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from agent_runs import HOOK_TEXT, TURNS, AgentHome, processes_of
from recorded_model import RecordedModel, answering

GONE_S = 30  # long compared with the two seconds that a hook has: the machine may be busy


def silent_config(home: Path) -> None:
    """Make settings that give no text: hooks wait for them until their time is over."""
    os.mkfifo(home / "config.toml")


def run_with_failing_hooks(home: AgentHome) -> list[str]:
    """The conversation goes on where each hook fails, its vault being damaged, or is too slow."""
    found = []
    for name in ("failing", "slow"):
        hooks_home = home.folder / name
        hooks_home.mkdir()
        (hooks_home / "vault.db").write_bytes(b"no vault at all" * 1000)
        home.set_up("", hooks_home=hooks_home)
        if name == "slow":
            silent_config(hooks_home)
        model = RecordedModel(TURNS)
        code, output = home.run(model)
        if code or model.left:
            found.append(f"{name}: exit code {code}, {len(model.left)} turns left: {output[-500:]}")
        elif HOOK_TEXT in model.asked[-1].text:
            found.append(f"{name}: a hook without a vault has said something")
        log = hooks_home / "hooks" / "hooks.log"
        if not log.exists():
            found.append(f"{name}: no hook has noted that it failed")
    return found


def run_killed(home: AgentHome) -> list[str]:
    """Killed while its first hook waits, the agent leaves neither a hook nor a server running."""
    hooks_home = home.folder / "slow"
    hooks_home.mkdir()
    (hooks_home / "vault.db").write_bytes(b"no vault at all" * 1000)
    home.set_up("", hooks_home=hooks_home)
    silent_config(hooks_home)
    with answering(RecordedModel(TURNS)) as url, home.started(url) as process:
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
