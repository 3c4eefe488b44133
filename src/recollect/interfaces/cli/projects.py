"""`recollect projects`."""

from __future__ import annotations

import argparse

from recollect.interfaces.cli.arguments import add_json
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.opening import opened
from recollect.interfaces.cli.output import say_counts


@command("  recollect projects", add_json)
def projects(args: argparse.Namespace) -> int:
    with opened() as memory:
        say_counts(args.json, memory.facets().project, "No memories found.")
    return 0
