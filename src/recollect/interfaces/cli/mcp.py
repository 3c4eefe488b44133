"""`recollect mcp`."""

from __future__ import annotations

import argparse
import gc
from queue import SimpleQueue

from recollect.engine import Recollect
from recollect.interfaces import fresh_process
from recollect.interfaces.cli.arguments import here

EXAMPLE = "  recollect mcp\n  recollect mcp --project harbor-api"


def arguments(parser: argparse.ArgumentParser) -> None:
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--project", metavar="NAME", help="the project of calls that name none")
    where.add_argument(
        "--here", action="store_true", help="the project named after the working directory"
    )


def run(args: argparse.Namespace) -> int:
    gc.disable()  # the SDK makes a thousand classes; collecting garbage among them takes longer
    from recollect.interfaces.mcp.calls import Served  # noqa: PLC0415  as above
    from recollect.interfaces.mcp.stdio import Ended, serve  # noqa: PLC0415  start-up time: not for --help

    gc.freeze()
    gc.enable()
    handed_on: str | None = fresh_process.resumed()
    ended: Ended = SimpleQueue()
    with Recollect(
        lasting=True, at_rest=handed_on is not None, on_idle_lock=lambda: ended.put(None)
    ) as memory:
        return serve(Served(memory, here() if args.here else args.project), ended, handed_on)
