"""`recollect unpin`."""

from __future__ import annotations

import argparse

from recollect.interfaces.cli.arguments import add_json
from recollect.interfaces.cli.selection import add_selection, change_chosen

EXAMPLE = "  recollect unpin auth-jwt-001"


def arguments(parser: argparse.ArgumentParser) -> None:
    add_selection(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    return change_chosen(args, "unpinned", lambda memory, ids: memory.unpin(ids))
