"""Commands that agents' clients start: `recollect hook` and `recollect mcp`."""

from __future__ import annotations

import argparse
import gc
import os
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import msgspec
from msgspec.structs import replace

from recollect.engine import Recollect
from recollect.errors import RecollectError, UserError
from recollect.files import project_of
from recollect.ingest.remarks import remarks
from recollect.interfaces.cli import arguments as arg
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.hook_process import (
    FAILURES,
    PROJECT_FOLDER,
    log_line,
    set_home,
    working_folder,
)
from recollect.interfaces.cli.output import BOLD, DIM, paint, print_rows
from recollect.interfaces.cli.selection import open_vault
from recollect.interfaces.hooks.answers import HookSession, answer, answer_in_session
from recollect.interfaces.hooks.protocols import (
    PROTOCOLS,
    AgentEvent,
    HookEvent,
    HookProtocol,
    find_client,
    hook_output,
    recorded_event,
)
from recollect.interfaces.server_processes import resumed_state
from recollect.lifetime import Lifetime
from recollect.present.sentences import visible
from recollect.settings import Embedding, Rerank
from recollect.settings_reading import has_vault, home_folder, load_settings


@command(
    """\
  recollect hook --test claude-code
  recollect hook --test claude-code UserPromptSubmit --prompt "refresh tokens"
  recollect hook SessionStart --client claude-code < event.json""",
    arg.argument("event", "EVENT", "the event, as the client names it", nargs="?"),
    arg.argument(
        "--client",
        "NAME",
        f"the client that sends the event (default: the first that has it): {', '.join(PROTOCOLS)}",
    ),
    arg.argument("--home", "FOLDER", "the vault's folder (RECOLLECT_HOME)"),
    arg.argument("--test", "CLIENT", "replay recorded events; show what the agent would see"),
    arg.argument("--prompt", "TEXT", "with --test: what the user asks"),
    arg.argument("--input", "JSON", "the event as JSON (default: standard input)"),
    arg.rows(),
)
def hook(args: argparse.Namespace) -> None:
    """Replay recorded events as the client sends them, from the working directory."""
    if args.test is None:
        raise arg.usage_error(
            "hook EVENT [--client NAME] < event.json, or hook --test CLIENT [EVENT]"
        )
    if args.test not in PROTOCOLS:
        raise UserError(f"There are no hooks for {args.test!r}; there are: {', '.join(PROTOCOLS)}.")
    protocol = PROTOCOLS[args.test]
    names = [event.name for event in protocol.events]
    if args.event and args.event not in names:
        raise UserError(f"{args.test} has no event {args.event!r}; it has: {', '.join(names)}.")
    if args.home:
        set_home(["--home", args.home])
    with open_vault(lifetime=Lifetime.ONCE) as memory:
        events = [event for event in protocol.events if args.event in (None, event.name)]
        rows = [_replay(memory, protocol, event, args.prompt) for event in events]
    if args.json:
        print_rows(args, rows)
    else:
        print("\n\n".join(map(_replay_text, rows)))


def _replay(
    memory: Recollect, protocol: HookProtocol, event: HookEvent, prompt: str | None
) -> dict[str, Any]:
    """Return what the agent sees at this event, and what the hook prints, in a new session that is
    due to be asked what is worth keeping."""
    values = recorded_event(protocol.client, event.name)
    if prompt and "prompt" in values:
        values |= {"prompt": prompt}
    here = Path.cwd()
    asked = AgentEvent(protocol, event, project_of(here), values)
    session = HookSession(turns=max(0, memory.settings.hooks.ask_every - 1))
    text = answer_in_session(session, memory, asked)
    printed = hook_output(event, text)
    said_outright = [each.text for each in remarks(asked.text("prompt"))]
    return {
        "event": event.name,
        "seen": text if printed else "",
        "printed": printed,
        "captured": said_outright if memory.settings.capture.enabled else [],
    }


def _replay_text(row: dict[str, Any]) -> str:
    seen = visible(row["seen"]) or paint("(the agent sees nothing)", DIM)
    kept = [f"Kept for your review: {visible(text)}" for text in row["captured"]]
    return "\n".join([paint(row["event"], BOLD), seen, *kept])


def _read_event(args: argparse.Namespace) -> AgentEvent:
    """Return the event of the arguments; raise UserError if no client has it."""
    values = msgspec.json.decode(args.input)
    client = args.client or find_client(args.event or "")
    event = PROTOCOLS[client].event(args.event or "") if client in PROTOCOLS else None
    if event is None or not isinstance(values, dict):
        raise UserError("There is no such event.")
    folder = working_folder(values)
    project = project_of(Path(folder) if folder else Path.cwd())
    return AgentEvent(PROTOCOLS[client], event, project, values)


def _format_output(asked: AgentEvent, text: str) -> str:
    """Return the output for the client: the text, and failures since its last session started."""
    told = "\n\n".join(filter(None, (text, asked.values.get(FAILURES))))
    printed = hook_output(asked.event, told)
    return printed if isinstance(printed, str) else msgspec.json.encode(printed).decode()


def answer_event(argv: list[str]) -> str:
    """Return what the hook prints for the event in `--input`. It searches by words only, since a
    model takes longer to load than an agent waits, and creates no vault."""
    home = home_folder(os.environ)
    asked = _read_event(arg.parser_of("hook").parse_args(argv))

    def log_failure(error: Exception) -> None:
        log_line(
            ["hook", asked.event.name, asked.protocol.client],
            f"Not captured: {type(error).__name__}",
        )

    try:
        settings = load_settings(home)
        if not has_vault(home, settings):
            return _format_output(asked, "")
        settings = replace(
            settings, embedding=Embedding(provider="none"), rerank=Rerank(provider="none")
        )
        with open_vault(settings=settings, lifetime=Lifetime.ONCE) as memory:
            known = memory.acting_as(memory.caller, "hook", asked.protocol.client)
            return _format_output(asked, answer(known, asked, log_failure))
    except RecollectError as error:
        log_line(argv, type(error).__name__)
        return _format_output(asked, "")


# `recollect mcp`

RELATIVE_HOME = (
    "RECOLLECT_HOME is {}, which depends on the folder that a client starts this server in. Write "
    "the whole path into the client's entry, or run `recollect setup` again."
)


def _mcp_arguments(parser: argparse.ArgumentParser) -> None:
    from recollect.interfaces.mcp.server import TOOL_SETS  # noqa: PLC0415  start-up time

    parser.add_argument(
        "--tools", default="default", choices=TOOL_SETS,
        help="all: also feedback, review, timeline, and search and fetch for connectors",
    )  # fmt: skip
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--project", metavar="NAME", help="the default project of calls")
    where.add_argument(
        "--here", action="store_true", help="the project named after the working directory"
    )


@command("  recollect mcp\n  recollect mcp --project harbor-api", _mcp_arguments)
def mcp(args: argparse.Namespace) -> int:
    from recollect.interfaces.mcp.server import build  # noqa: PLC0415  start-up time
    from recollect.interfaces.mcp.stdio import serve  # noqa: PLC0415  start-up time

    gc.disable()  # the SDK makes a thousand classes: collecting garbage among them takes a tenth
    gc.freeze()
    gc.enable()
    handshake, ended = resumed_state(), SimpleQueue[int | None]()
    with ExitStack() as closing:

        def open_vault() -> Recollect:
            if not home_folder(os.environ).is_absolute():
                raise UserError(RELATIVE_HOME.format(home_folder(os.environ)))
            memory = Recollect(
                lifetime=Lifetime.SERVER,
                at_rest=handshake is not None,
                on_idle_lock=lambda: ended.put(None),
                interface="mcp",
            )
            closing.enter_context(memory)
            return memory

        project = args.project
        if args.here:
            folder = os.environ.get(PROJECT_FOLDER)
            project = project_of(Path(folder)) if folder else arg.current_project()
        server = partial(build, project=project, tools=args.tools)
        return serve(open_vault, server, handshake or "", ended)
