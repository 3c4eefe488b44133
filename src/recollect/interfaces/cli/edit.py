"""`recollect edit`."""

from __future__ import annotations

import argparse

from recollect.engine import Recollect
from recollect.ingest.draft import draft
from recollect.interfaces.cli.arguments import (
    WrongUsage,
    add_fields,
    add_json,
    add_repeatable,
    fields_of,
)
from recollect.interfaces.cli.output import print_json
from recollect.interfaces.cli.secrets import add_redact, tell_redacted
from recollect.interfaces.cli.syncing import tell_later
from recollect.memory_json import memory_json

EXAMPLE = '  recollect edit auth-jwt-001 --text "Tokens last 15 minutes now." --add-tag security'


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="the memory to change")
    add_fields(parser)
    parser.add_argument(
        "--tag", action="append", metavar="TAG", help="replace all tags; repeatable"
    )
    add_repeatable(parser, "--add-tag", "TAG", "add a tag")
    add_repeatable(parser, "--remove-tag", "TAG", "remove a tag")
    add_repeatable(parser, "--clear", "FIELD", "empty a field")
    add_redact(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    changes = fields_of(args) | {name.replace("-", "_"): None for name in args.clear}
    if args.tag is not None:
        if args.add_tag or args.remove_tag:
            raise WrongUsage("Use either --tag, or --add-tag and --remove-tag.")
        changes["tags"] = args.tag
    if not (changes or args.add_tag or args.remove_tag):
        raise WrongUsage("Nothing to change. Name a field, such as --title.")
    draft(changes, change=True)  # so that no field is taken for another argument of `edit`
    with Recollect(brief=True) as memory:
        done = memory.edited(
            args.id,
            add_tags=args.add_tag,
            remove_tags=args.remove_tag,
            redact=args.redact,
            **changes,
        )
        if args.json:
            print_json(memory_json(done.memory))
        else:
            print(done.memory.id)
        tell_redacted(done.redacted)
        tell_later(memory, done.memory)
    return 0
