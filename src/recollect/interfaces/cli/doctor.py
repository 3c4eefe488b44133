"""`recollect doctor`."""

from __future__ import annotations

import argparse

from recollect.engine import Recollect
from recollect.interfaces.cli.arguments import add_json
from recollect.interfaces.cli.output import GREEN, YELLOW, print_json, styled

EXAMPLE = "  recollect doctor --fix"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--fix", action="store_true", help="rebuild what is out of step")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    with Recollect() as memory:
        findings = memory.doctor(fix=args.fix)
    broken = [finding for finding in findings if finding.problem]
    if args.json:
        print_json([{"check": one.check, "problem": one.problem} for one in findings])
    else:
        for one in findings:
            state = styled("ok", GREEN) if one.problem is None else styled(one.problem, YELLOW)
            print(f"{one.check:<16} {state}")
        if any(one.mendable for one in broken) and not args.fix:
            print("`recollect doctor --fix` rebuilds what is out of step.")
    return 1 if broken else 0
