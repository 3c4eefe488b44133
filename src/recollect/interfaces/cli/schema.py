"""`recollect schema`."""

from __future__ import annotations

import argparse
from typing import Any

import msgspec

from recollect.errors import NotFound
from recollect.interfaces.cli.output import print_json
from recollect.interfaces.http.schemas import SaveOutcome, TrashedJson
from recollect.present.history import VersionJson
from recollect.present.schema import ContextJson, ErrorJson, ResponseJson, ResultJson
from recollect.types import Memory

EXAMPLE = "  recollect schema\n  recollect schema search"
# What is printed → its type, from which the answers of HTTP and MCP are described, too.
SCHEMAS: dict[str, Any] = {
    "memory": Memory,
    "search": ResponseJson,
    "result": ResultJson,
    "related": ResponseJson,
    "show": list[Memory],
    "list": list[Memory],
    "context": ContextJson,
    "history": list[VersionJson],
    "trash": list[TrashedJson],
    "save": SaveOutcome,
    "error": ErrorJson,
}


def arguments(parser: argparse.ArgumentParser) -> None:
    about = f"{', '.join(SCHEMAS)}; without one, all names are printed"
    parser.add_argument("name", metavar="NAME", nargs="?", help=about)


def run(args: argparse.Namespace) -> int:
    if args.name is None:
        print("\n".join(SCHEMAS))
        return 0
    if args.name not in SCHEMAS:
        raise NotFound(f"There is no schema {args.name!r}; there are: {', '.join(SCHEMAS)}.")
    print_json(msgspec.json.schema(SCHEMAS[args.name]))
    return 0
