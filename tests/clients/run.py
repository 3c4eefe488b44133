"""`make clients`: the conversation with every client that runs here, over stdio and HTTP.

Prints a line a client and transport. What cannot run is named with its reason, and never counted
as passed. The exit code is 1 where something failed.
"""

from __future__ import annotations

import argparse
import secrets
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from agent_runs import AgentHome, run_conversation
from agents import AGENTS, NOT_RUN, Agent
from conversation import PROJECT, SEED, hold_conversation
from disturbances import run_killed, run_with_failing_hooks
from installed import RECOLLECT, environment, npm_version
from sdk_clients import SDK_CLIENTS, Reached, SdkClient

STARTED_S = 60


@contextmanager
def serving(env: dict[str, str], folder: Path, *options: str) -> Iterator[str]:
    """The address of `recollect serve` on that vault."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with subprocess.Popen(
        [RECOLLECT, "serve", "--port", str(port), *options], env=env, cwd=folder,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) as server:  # fmt: skip
        try:
            _wait_for(f"http://127.0.0.1:{port}/healthz")
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            server.terminate()


def _wait_for(url: str) -> None:
    over = time.monotonic() + STARTED_S
    while time.monotonic() < over:
        try:
            urllib.request.urlopen(url, timeout=5).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError(f"{url} does not answer.")


def sdk_run(client: SdkClient, folder: Path, transport: str) -> list[str]:
    token = secrets.token_urlsafe()
    env = environment(folder, RECOLLECT_TOKEN=token)
    (folder / PROJECT).mkdir()
    for memory in SEED:
        options = [part for name, value in memory.items() for part in (f"--{name}", value)]
        subprocess.run(
            [RECOLLECT, "save", *options], env=env, check=True, stdout=subprocess.DEVNULL
        )
    place = str(folder / PROJECT)
    if transport == "stdio":
        given = {"RECOLLECT_HOME": env["RECOLLECT_HOME"]}
        with client.opened(Reached((RECOLLECT, "mcp"), given, place)) as call:
            return hold_conversation(call, by_meaning=client.lasting)
    with (
        serving(env, folder) as url,
        client.opened(Reached(url=url, token=token, cwd=place)) as call,
    ):
        return hold_conversation(call)


def agent_run(agent: Agent, folder: Path, transport: str, seen: Path | None) -> list[str]:
    home = AgentHome(folder, agent)
    token = secrets.token_urlsafe()
    if transport == "stdio":
        home.set_up("")
        found, output = run_conversation(home)
    elif transport == "http":
        variables = {"RECOLLECT_TOKEN": token} if agent.token else {}
        options = () if agent.token else ("--no-auth",)
        with serving(home.env | variables, folder, *options) as url:
            home.set_up(url)
            found, output = run_conversation(home, RECOLLECT_TOKEN=token)
    elif transport == "disturbed":
        found, output = run_with_failing_hooks(home), ""
    else:
        found, output = run_killed(home), ""
    if seen and output:
        (seen / f"{agent.client}-{transport}.txt").write_text(output, encoding="utf-8")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", action="append", metavar="NAME", help="only these clients")
    parser.add_argument("--transport", choices=("stdio", "http", "disturbed", "killed"))
    parser.add_argument("--output", type=Path, metavar="FOLDER", help="keep what agents print")
    args = parser.parse_args()
    failed = 0
    for client in (*SDK_CLIENTS, *AGENTS):
        name = client.client if isinstance(client, Agent) else client.name
        version = npm_version(client.package) if isinstance(client, Agent) else client.version()
        if args.only and name not in args.only:
            continue
        transports = ["stdio", "http"]
        if isinstance(client, Agent) and client.hooks:
            transports += ["disturbed", "killed"]
        for transport in transports:
            if args.transport in (None, transport):
                if not version:
                    print(f"{name:<16}{'':<12}{transport:<11}skipped: it is not installed")
                    continue
                with TemporaryDirectory(prefix="rc") as folder:
                    try:
                        if isinstance(client, Agent):
                            found = agent_run(client, Path(folder), transport, args.output)
                        else:
                            found = sdk_run(client, Path(folder), transport)
                    except (AssertionError, subprocess.SubprocessError, OSError) as error:
                        found = [f"{type(error).__name__}: {error}"]
                print(f"{name:<16}{version:<12}{transport:<11}{'FAILED' if found else 'passed'}")
                for problem in found:
                    print(f"    {problem}")
                failed += bool(found)
                sys.stdout.flush()
    for name, why in {} if args.only else NOT_RUN.items():
        print(f"{name:<16}{'':<12}{'':<11}skipped: {why}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
