"""`recollect redo`."""

from __future__ import annotations

import argparse

from recollect.interfaces.cli.arguments import add_json
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.selection import add_yes
from recollect.interfaces.cli.undo import take_back


@command("  recollect redo", add_yes, add_json)
def redo(args: argparse.Namespace) -> int:
    return take_back(args, lambda memory, agree: memory.redo(agree=agree), "redo", "undo")
