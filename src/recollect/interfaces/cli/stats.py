"""`recollect stats`."""

from __future__ import annotations

import argparse

from recollect.interfaces.cli.arguments import add_json
from recollect.interfaces.cli.opening import opened
from recollect.interfaces.cli.output import CYAN, print_json, styled
from recollect.present.visible import visible

EXAMPLE = "  recollect stats --json"
LABELS = {"waiting": "no vector"}


def arguments(parser: argparse.ArgumentParser) -> None:
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    with opened() as memory:
        stats = memory.stats()
    if args.json:
        print_json(stats)
        return 0
    for name, value in stats.items():
        shown = f"{value:,}" if isinstance(value, int) else value
        if isinstance(value, dict):
            shown = visible(", ".join(f"{key or '(none)'} {count}" for key, count in value.items()))
        print(f"{styled(f'{LABELS.get(name, name):<12}', CYAN)} {shown}")
    return 0
