"""`recollect edit`."""

from __future__ import annotations

import argparse
from collections import Counter

from recollect.ingest.draft import draft
from recollect.interfaces.cli.arguments import (
    WrongUsage,
    add_fields,
    add_json,
    add_repeatable,
    fields_of,
)
from recollect.interfaces.cli.opening import opened
from recollect.interfaces.cli.output import print_json, say
from recollect.interfaces.cli.secrets import add_redact, tell_redacted
from recollect.interfaces.cli.selection import add_selection, chosen
from recollect.interfaces.cli.syncing import tell_later
from recollect.memory_json import memory_json
from recollect.present.words import counted

EXAMPLE = (
    '  recollect edit auth-jwt-001 --text "Tokens last 15 minutes now." --add-tag security\n'
    '  recollect edit auth-notes --section "Open questions" --text "None left."\n'
    "  recollect edit --where project=harbor-api --where kind=note --severity suggestion"
)


def arguments(parser: argparse.ArgumentParser) -> None:
    add_selection(parser, named=True)
    add_fields(parser)
    parser.add_argument(
        "--tag", action="append", metavar="TAG", help="replace all tags; repeatable"
    )
    add_repeatable(parser, "--add-tag", "TAG", "add a tag")
    add_repeatable(parser, "--remove-tag", "TAG", "remove a tag")
    add_repeatable(parser, "--clear", "FIELD", "empty a field")
    parser.add_argument("--append", metavar="TEXT", help="add a paragraph to the text")
    parser.add_argument(
        "--section", metavar="HEADING", help="replace what stands below this heading by --text"
    )
    add_redact(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    changes, cleared = fields_of(args), {name.replace("-", "_") for name in args.clear}
    if both := cleared & (changes.keys() | ({"tags"} if args.tag or args.add_tag else set())):
        names = ", ".join(sorted(both))
        raise WrongUsage(f"{names}: a field is either set or emptied by --clear, not both.")
    changes |= dict.fromkeys(cleared)
    if args.tag is not None:
        if args.add_tag or args.remove_tag:
            raise WrongUsage("Use either --tag, or --add-tag and --remove-tag.")
        changes["tags"] = args.tag
    if args.section is not None and args.text is None:
        raise WrongUsage("--section needs --text, the section's new text.")
    if args.append is not None and args.text is not None:
        raise WrongUsage("Use either --append or --text.")
    if not (changes or args.add_tag or args.remove_tag or args.append):
        raise WrongUsage("Nothing to change. Name a field, such as --title.")
    draft(changes, change=True)  # so that no field is taken for another argument of `edit`
    with opened(brief=True) as memory:
        ids = chosen(memory, args, "changed")
        done = memory.edit_all(
            ids, add_tags=args.add_tag, remove_tags=args.remove_tag, append=args.append,
            section=args.section, redact=args.redact, **changes,
        )  # fmt: skip
        one = done[0].memory if len(args.ids) == 1 else None
        if one is None:
            changed = [saved.memory.id for saved in done if saved.outcome == "updated"]
            say(args.json, f"{counted(len(changed), 'memory')} changed.", changed=changed)
        elif args.json:
            print_json(memory_json(one))
        else:
            print(one.id)
        tell_redacted(sum((Counter(saved.redacted) for saved in done), Counter()))
        tell_later(memory, *(saved.memory for saved in done))
    return 0
