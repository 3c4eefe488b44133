"""`recollect show`."""

from __future__ import annotations

import argparse

from recollect.engine import Recollect
from recollect.interfaces.cli.arguments import add_json, add_no_server
from recollect.interfaces.cli.output import json_text
from recollect.interfaces.cli.results import memory_lines
from recollect.memory_json import memory_json

EXAMPLE = "  recollect show auth-jwt-001"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ids", metavar="ID", nargs="+", help="the memories")
    add_no_server(parser)
    add_json(parser)


def answer(memory: Recollect, args: argparse.Namespace) -> str:
    used = {} if args.json else memory.usage(args.ids)  # before this very command
    found = memory.show(args.ids)
    if args.json:
        return json_text([memory_json(each) for each in found])
    return "\n\n".join("\n".join(memory_lines(each, used.get(each.id))) for each in found)
