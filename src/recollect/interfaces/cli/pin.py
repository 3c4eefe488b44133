"""`recollect pin`."""

from __future__ import annotations

import argparse

from recollect.interfaces.cli.arguments import add_json
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.selection import add_selection, change_chosen


@command(
    "  recollect pin auth-jwt-001\n  recollect pin --project harbor-api --kind decision",
    add_selection,
    add_json,
)
def pin(args: argparse.Namespace) -> int:
    return change_chosen(args, "pinned", lambda memory, ids: memory.pin(ids))
