"""`recollect mcp`."""

from __future__ import annotations

import argparse
import gc
from functools import partial
from queue import SimpleQueue

from recollect.engine import Recollect
from recollect.interfaces import fresh_process
from recollect.interfaces.cli.arguments import here
from recollect.interfaces.mcp.guidance import instructions
from recollect.interfaces.mcp.handshake import Opening, StoppedEarly, answer_first, answer_tools
from recollect.interfaces.mcp.stop_signals import on_stop

EXAMPLE = "  recollect mcp\n  recollect mcp --project harbor-api"


def arguments(parser: argparse.ArgumentParser) -> None:
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--project", metavar="NAME", help="the project of calls that name none")
    where.add_argument(
        "--here", action="store_true", help="the project named after the working directory"
    )


def run(args: argparse.Namespace) -> int:
    project = here() if args.here else args.project
    handed_on, ended = fresh_process.resumed(), SimpleQueue[int | None]()
    with (
        Recollect(
            lasting=True,
            at_rest=handed_on is not None,
            on_idle_lock=lambda: ended.put(None),
            interface="mcp",
        ) as memory,
        on_stop(lambda: ended.put(0)),
    ):
        opening = Opening(handed_on or "")
        if handed_on is None and fresh_process.possible():
            try:
                opening = answer_first(partial(instructions, memory, project))
            except StoppedEarly:
                return 0
        from recollect.interfaces.mcp.calls import Served  # noqa: PLC0415  start-up time: the client has its first answer
        from recollect.interfaces.mcp.tools import offered  # noqa: PLC0415  as above

        served = Served(memory, project)
        if handed_on is None:
            opening = answer_tools(opening, offered(served))
        gc.disable()  # the SDK makes a thousand classes; collecting garbage among them takes longer
        from recollect.interfaces.cli.command_socket import answering_commands  # noqa: PLC0415  start-up time: the client has its first answer
        from recollect.interfaces.mcp.stdio import serve  # noqa: PLC0415  as above

        gc.freeze()
        gc.enable()
        with answering_commands(memory):
            return serve(served, ended, opening)
