"""The option and the message about secrets, for the commands that write."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping

from recollect.secrets.redaction import summary


def add_redact(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--no-redact",
        dest="redact",
        action="store_false",
        help="keep text that looks like a secret (default: replace it)",
    )


def tell_redacted(counts: Mapping[str, int]) -> None:
    """Report on standard error, so that programs read the same output as before."""
    if counts:
        them = "it" if sum(counts.values()) == 1 else "them"
        print(f"recollect: {summary(counts)} (--no-redact keeps {them}).", file=sys.stderr)
