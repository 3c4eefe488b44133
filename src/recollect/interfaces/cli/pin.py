"""`recollect pin`."""

from __future__ import annotations

import argparse

from recollect.interfaces.cli.arguments import add_json
from recollect.interfaces.cli.selection import add_selection, change_chosen

EXAMPLE = "  recollect pin auth-jwt-001\n  recollect pin --project harbor-api --kind decision"


def arguments(parser: argparse.ArgumentParser) -> None:
    add_selection(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    return change_chosen(args, "pinned", lambda memory, ids: memory.pin(ids))
