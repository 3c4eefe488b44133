"""`recollect version`."""

from __future__ import annotations

import argparse
import platform

from recollect.interfaces.cli.arguments import add_json
from recollect.interfaces.cli.output import say
from recollect.store.sqlite.migration import VERSION
from recollect.version import __version__

EXAMPLE = "  recollect version\n  recollect version --json"


def arguments(parser: argparse.ArgumentParser) -> None:
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    say(
        args.json,
        f"recollect {__version__}",
        version=__version__,
        vault_version=VERSION,
        python=platform.python_version(),
    )
    return 0
