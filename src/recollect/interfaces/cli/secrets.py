"""What the commands that write say of secrets."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping


def add_redact(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--no-redact",
        dest="redact",
        action="store_false",
        help="keep what looks like a secret; else it is replaced",
    )


def tell_redacted(counts: Mapping[str, int]) -> None:
    """On standard error, so that what a program reads stays as it is."""
    if counts:
        from recollect.secrets.redaction import told  # noqa: PLC0415  start-up time: rarely needed

        them = "it" if sum(counts.values()) == 1 else "them"
        print(f"recollect: {told(counts)} (--no-redact keeps {them}).", file=sys.stderr)
