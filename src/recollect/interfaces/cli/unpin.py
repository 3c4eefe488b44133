"""`recollect unpin`."""

from __future__ import annotations

import argparse

from recollect.interfaces.cli.arguments import add_json
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.selection import add_selection, change_chosen


@command("  recollect unpin auth-jwt-001", add_selection, add_json)
def unpin(args: argparse.Namespace) -> int:
    return change_chosen(args, "unpinned", lambda memory, ids: memory.unpin(ids))
