"""One agent in the conversation: in a home of its own, configured by `recollect setup`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agents import Agent
from conversation import END, NEW, OLD, PROJECT, SEED, STEPS, problems
from installed import RECOLLECT, environment
from model_protocols import Call, Turn
from recorded_model import RecordedModel, answering

LONGEST_S = 180
HOOK_TEXT = "From Recollect, the memory of earlier sessions"
ASKED_TEXT = "Recollect asks"
BLOCK_TEXT = "Recollect keeps what earlier sessions learned"
SERVER_TEXT = "memory text"  # the server's instructions say what a > means
KEPT = {"title": "The user wants answers in one sentence", "kind": "preference"}
TURNS: tuple[Turn, ...] = (*(Call(step.tool, step.arguments) for step in STEPS), END)
ASKED_TURNS: tuple[Turn, ...] = (Call("memory_save", KEPT), "Kept.")


class AgentHome:
    """A home, a project in it, and the vault that the agent is to use."""

    def __init__(self, folder: Path, agent: Agent) -> None:
        self.folder, self.agent = folder, agent
        self.project = folder / PROJECT
        self.env = environment(folder, RECOLLECT_HOOKS__ASK_EVERY="1")
        (self.project / ".git").mkdir(parents=True)
        for memory in SEED:
            options = [part for name, value in memory.items() for part in (f"--{name}", value)]
            self.recollect("save", *options)

    def recollect(self, *args: str) -> str:
        done = subprocess.run(
            [RECOLLECT, *args], env=self.env, cwd=self.project, capture_output=True, text=True,
            timeout=LONGEST_S, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    def set_up(self, url: str, *, hooks_home: Path | None = None) -> None:
        """As the documentation says; over HTTP where an address is given."""
        client = self.agent.client
        reached = ["--url", url] if url else []
        if url and self.agent.token:
            reached += ["--token-env", "RECOLLECT_TOKEN"]
        self.recollect("setup", client, *reached)
        if self.agent.hooks:
            named = ["--home", str(hooks_home)] if hooks_home else []
            self.recollect("setup", client, "--hooks", *named)
        if self.agent.instructions:
            self.recollect("setup", client, "--instructions")

    @contextmanager
    def started(self, model_url: str, **more: str) -> Iterator[subprocess.Popen[str]]:
        """The agent, in a group of its own, which is gone afterwards."""
        self.agent.configure(self.folder, model_url)
        variables = {
            name: value.format(url=model_url) for name, value in self.agent.variables.items()
        }
        with subprocess.Popen(
            self.agent.arguments, env=self.env | variables | more, cwd=self.project, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process:  # fmt: skip
            try:
                yield process
            finally:
                for pid in processes_of(self.folder):
                    os.kill(pid, signal.SIGKILL)

    def run(self, model: RecordedModel, **more: str) -> tuple[int, str]:
        """One prompt from beginning to end: the exit code and what a person sees."""
        with answering(model) as url, self.started(url, **more) as process:
            output, _ = process.communicate(timeout=LONGEST_S)
        return process.returncode, output


def processes_of(home: Path, *words: str) -> list[int]:
    """The processes whose HOME is that folder, and whose command has these words."""
    found = []
    mark = f"HOME={home}\0".encode()
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark in (entry / "environ").read_bytes() + b"\0":
                command = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
                if all(any(word in part for part in command) for word in words):
                    found.append(int(entry.name))
        except OSError:
            continue  # it has ended, or is not ours
    return found


def run_conversation(home: AgentHome, **more: str) -> tuple[list[str], str]:
    """The conversation by that agent: what was wrong, and what a person saw."""
    agent = home.agent
    model = RecordedModel([*TURNS, *(ASKED_TURNS if agent.hooks and agent.asks else ())])
    code, output = home.run(model, **more)
    found = [] if code == 0 else [f"the exit code is {code}: {output[-800:]}"]
    if model.first_without_tools:
        found.append("the first request had no tools of ours: the server was not ready")
    if model.left:
        found.append(f"{len(model.left)} turns were not asked for: {output[-800:]}")
        return found, output
    for number, step in enumerate(STEPS):
        found += problems(step, model.asked[number + 1].latest)
    if END not in output and not agent.asks:
        found.append(f"the last words were not shown: {output[-300:]}")
    found += list(_check_texts(agent, model))
    found += list(_check_vault(home))
    return found, output


def _check_texts(agent: Agent, model: RecordedModel) -> Iterator[str]:
    """Yield what the model should have been told besides results, but was not."""
    first, last = model.asked[0].text, model.asked[-1].text
    if agent.tells and SERVER_TEXT not in first:
        yield "the model does not see the server's instructions"
    if agent.instructions and BLOCK_TEXT not in first:
        yield "the model does not see the block of instructions"
    if agent.hooks and (HOOK_TEXT not in first or str(SEED[0]["title"]) not in first):
        yield "the model does not see what the hook says at the start"
    if agent.hooks and agent.asks and ASKED_TEXT not in last:
        yield "the model does not see what the hook asks at the end"


def _check_vault(home: AgentHome) -> Iterator[str]:
    """Yield what is wrong with the vault's memories afterwards."""
    listed = json.loads(home.recollect("list", "--json"))
    memories = {memory["id"][:-7]: memory for memory in listed}
    replaced = memories.get(OLD, {}).get("id", "")
    if NEW not in memories or not replaced:
        yield f"the vault holds {sorted(memories)}"
        return
    shown = json.loads(home.recollect("show", replaced, "--json"))
    if memories[NEW]["id"] not in json.dumps(shown):
        yield f"{replaced} is not superseded by {memories[NEW]['id']}"
    asked = home.agent.hooks and home.agent.asks
    if asked and "the-user-wants-answers-in-one-sentence" not in memories:
        yield "what the hook asked for was not kept"
