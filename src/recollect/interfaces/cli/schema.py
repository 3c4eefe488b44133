"""`recollect schema`."""

from __future__ import annotations

import argparse

from recollect.errors import NotFound
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.output import print_json
from recollect.interfaces.cli.schemas import SCHEMAS, schema_of


def arguments(parser: argparse.ArgumentParser) -> None:
    about = "a command, with its action if it has some, or memory, result, error; without one, "
    parser.add_argument("name", metavar="NAME", nargs="*", help=f"{about}all names are printed")


@command("  recollect schema\n  recollect schema search\n  recollect schema tags rename", arguments)
def schema(args: argparse.Namespace) -> int:
    if not args.name:
        print("\n".join(SCHEMAS))
        return 0
    name = " ".join(args.name).removesuffix(" list")
    if name not in SCHEMAS:
        raise NotFound(f"There is no schema {name!r}; `recollect schema` lists them.")
    print_json(schema_of(name))
    return 0
