"""`recollect doctor`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import suppress

from recollect.errors import RecollectError
from recollect.interfaces.cli.arguments import add_json
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.opening import opened
from recollect.interfaces.cli.output import GREEN, YELLOW, print_rows, progress, styled
from recollect.present.visible import visible
from recollect.store.vault import Finding

LONG = 5000  # memories: a check of fewer is through before anybody reads a progress bar


def arguments(parser: argparse.ArgumentParser) -> None:
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--fix", action="store_true", help="repair what can be repaired")
    how.add_argument(
        "--quick",
        action="store_true",
        help="check totals and a sample, in under a second; without it everything is checked",
    )
    add_json(parser, rows=True)


@command("  recollect doctor --fix", arguments)
def doctor(args: argparse.Namespace) -> int:
    with opened(damaged=args.fix) as memory:
        total = 0
        with suppress(RecollectError):  # damaged: the checks say so
            total = memory.coverage().memories
        with progress("Checking", 0 if args.quick or total < LONG else total) as advance:
            findings = [*memory.doctor(fix=args.fix, quick=args.quick, progress=advance)]
        damaged = any(finding.problem for finding in findings)
        findings += [] if args.quick else memory.configuration()
    broken = [finding for finding in findings if finding.problem]
    print_findings(findings, args)
    if damaged and not (args.fix or args.json):
        print("To repair: recollect doctor --fix")
    return 1 if broken else 0


def print_findings(findings: Sequence[Finding], args: argparse.Namespace) -> None:
    """What was checked, a line each, and what is wrong with it."""
    if args.json:
        notes = ({"note": finding.note} if finding.note else {} for finding in findings)
        plain = ({"check": finding.check, "problem": finding.problem} for finding in findings)
        print_rows(args, [one | note for one, note in zip(plain, notes, strict=True)])
        return
    for finding in findings:
        remark = styled(visible(finding.problem or finding.note), YELLOW)
        print(f"{finding.check:<16} {remark or styled('OK', GREEN)}")
