"""`recollect mcp`."""

from __future__ import annotations

import argparse
import gc
import os
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from queue import SimpleQueue

from recollect.engine import Recollect
from recollect.errors import UserError
from recollect.interfaces.cli.arguments import current_project
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.hook_process import PROJECT_FOLDER
from recollect.interfaces.mcp.server import TOOL_SETS, build
from recollect.interfaces.mcp.stdio import serve
from recollect.interfaces.server_processes import resumed_state
from recollect.lifetime import Lifetime
from recollect.projects import project_of
from recollect.settings_reading import home_folder

RELATIVE_HOME = (
    "RECOLLECT_HOME is {}, which depends on the folder that a client starts this server in. Write "
    "the whole path into the client's entry, or run `recollect setup` again."
)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--tools", default="default", choices=TOOL_SETS,
        help="all: also feedback, review, timeline, and search and fetch for connectors",
    )  # fmt: skip
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--project", metavar="NAME", help="the project of calls that name none")
    where.add_argument(
        "--here", action="store_true", help="the project named after the working directory"
    )


@command("  recollect mcp\n  recollect mcp --project harbor-api", arguments)
def mcp(args: argparse.Namespace) -> int:
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

        server = partial(build, project=_project(args), tools=args.tools)
        return serve(open_vault, server, handshake or "", ended)


def _project(args: argparse.Namespace) -> str | None:
    if args.here and (folder := os.environ.get(PROJECT_FOLDER)):
        return project_of(Path(folder))
    return current_project() if args.here else args.project
