"""`recollect tidy`."""

from __future__ import annotations

import argparse

from recollect.engine.lifecycle import PolicyOutcome, outcome_json
from recollect.interfaces.cli.arguments import add_json
from recollect.interfaces.cli.opening import opened
from recollect.interfaces.cli.output import DIM, print_rows, styled
from recollect.interfaces.cli.policies import NONE
from recollect.interfaces.cli.selection import add_yes, confirm
from recollect.present.visible import visible
from recollect.present.words import counted
from recollect.vaults.keys import on_terminal

EXAMPLE = "  recollect tidy --dry-run\n  recollect tidy"
MOST_NAMED = 5


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="only say what would be done")
    add_yes(parser)
    add_json(parser, rows=True)


def run(args: argparse.Namespace) -> int:
    with opened() as memory:
        planned = memory.tidy(dry_run=True)
        if not args.dry_run:
            for policy in planned:
                if policy.asks or (on_terminal() and len(policy.ids) > 1):
                    confirm(args, _question(policy))
            planned = memory.tidy(yes=True)
    if args.json:
        print_rows(args, [outcome_json(policy) for policy in planned])
        return 0
    for policy in planned:
        print(visible(policy.sentence))
        if policy.ids:
            named = ", ".join(policy.ids[:MOST_NAMED])
            rest = len(policy.ids) - MOST_NAMED
            more = f" and {rest:,} more" if rest > 0 else ""
            print(styled(f"    {visible(named)}{more}", DIM))
    if not planned:
        print(NONE)
    return 0


def _question(policy: PolicyOutcome) -> str:
    much = " is about more than half of the vault" if policy.asks else ""
    count = counted(len(policy.ids), "memory")
    return f"The policy {policy.name}{much}: {count} will be {policy.outcome}."
