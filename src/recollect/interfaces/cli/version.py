"""`recollect version`."""

from __future__ import annotations

import argparse
import platform

from recollect.interfaces.cli.arguments import add_json
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.output import say
from recollect.store.sqlite.schema import VERSION
from recollect.version import __version__


@command("  recollect version\n  recollect version --json", add_json)
def version(args: argparse.Namespace) -> int:
    say(
        args.json,
        f"recollect {__version__}",
        version=__version__,
        vault_version=VERSION,
        python=platform.python_version(),
    )
    return 0
