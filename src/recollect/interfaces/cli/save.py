"""`recollect save`."""

from __future__ import annotations

import argparse
import sys

from recollect.engine import Recollect
from recollect.ingest.draft import draft
from recollect.ingest.saving import REPLACES, saved_json
from recollect.interfaces.cli.arguments import add_fields, add_json, add_repeatable, fields_of
from recollect.interfaces.cli.opening import opened
from recollect.interfaces.cli.output import print_json
from recollect.interfaces.cli.secrets import add_redact, tell_redacted
from recollect.interfaces.cli.syncing import tell_later
from recollect.present import sentences
from recollect.present.visible import visible
from recollect.types import Memory

EXAMPLE = (
    '  recollect save --title "Switched to JWT" --text "Sessions became signed tokens." \\\n'
    "      --tag auth --kind decision --project harbor-api"
)

REPEATED = "recollect: The project already had this memory; it was updated instead of saved twice."


def arguments(parser: argparse.ArgumentParser) -> None:
    add_fields(parser)
    parser.add_argument("--tag", action="append", metavar="TAG", help="a tag; repeatable")
    parser.add_argument(
        "--id", metavar="ID", help="an id of your own (default: made from the title)"
    )
    add_repeatable(parser, "--supersedes", "ID", "put it in the place of this memory")
    add_redact(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    fields = fields_of(args) | {"tags": args.tag, "id": args.id}
    with opened(brief=True) as memory:
        [saved] = memory.save_all([draft(fields, supersedes=args.supersedes)], redact=args.redact)
        if args.json:
            print_json(saved_json(saved, memory.similar(saved.memory, wait=True)))
        else:
            print(saved.memory.id)
            if saved.repeated and saved.outcome == "updated":
                print(REPEATED, file=sys.stderr)
        tell_redacted(saved.redacted)
        tell_later(memory, saved.memory)
        if not args.json:
            _tell_similar(memory, saved.memory)
    return 0


def _tell_similar(memory: Recollect, saved: Memory) -> None:
    """What it is similar to; the id is printed by then."""
    found = memory.similar(saved, wait=True)
    for each in found:
        print(visible(sentences.similar(*each)), file=sys.stderr)
    if found and found[0].why == REPLACES:
        old = found[0].memory.id
        print(f"If it does: recollect supersede {old} {saved.id}", file=sys.stderr)
