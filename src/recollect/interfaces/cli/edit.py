"""`recollect edit`."""

from __future__ import annotations

import argparse
import sys
from collections import Counter

from recollect.documents.memory_markdown import as_markdown
from recollect.engine import Recollect
from recollect.ingest.draft import draft
from recollect.ingest.saving import Saved
from recollect.interfaces.cli.arguments import (
    WrongUsage,
    add_fields,
    add_json,
    add_repeatable,
    fields_of,
)
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.editor import changes_of, fill_in
from recollect.interfaces.cli.ids import meant
from recollect.interfaces.cli.opening import opened
from recollect.interfaces.cli.output import print_json, say
from recollect.interfaces.cli.secrets import add_redact, tell_redacted
from recollect.interfaces.cli.selection import add_selection, chosen, confirm
from recollect.interfaces.cli.syncing import tell_later
from recollect.lifetime import Lifetime
from recollect.memory_json import memory_json, revision
from recollect.present.words import counted
from recollect.vaults.keys import on_terminal


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
    parser.add_argument(
        "-e", "--edit", action="store_true",
        help="fill in a form in your editor (on a terminal also where nothing is changed)",
    )  # fmt: skip
    add_redact(parser)
    add_json(parser)


@command(
    '  recollect edit auth-jwt-001 --text "Tokens last 15 minutes now." --add-tag security\n'
    '  recollect edit auth-notes --section "Open questions" --text "None left."\n'
    "  recollect edit --where project=harbor-api --where kind=note --severity suggestion",
    arguments,
)
def edit(args: argparse.Namespace) -> int:
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
        if len(args.ids) == 1 and (args.edit or on_terminal()):
            return _in_editor(args)
        raise WrongUsage("Nothing to change. Name a field, such as --title.")
    if args.edit:
        raise WrongUsage("Use either --edit or options that change a field.")
    draft(changes, change=True)  # so that no field is taken for another argument of `edit`
    with opened(lifetime=Lifetime.ONCE) as memory:
        ids = chosen(memory, args, "changed")
        if "text" in changes and not changes["text"] and on_terminal():
            confirm(args, f"The text of {counted(len(ids), 'memory')} will be emptied.")
        done = memory.edit_all(
            ids, add_tags=args.add_tag, remove_tags=args.remove_tag, append=args.append,
            section=args.section, redact=args.redact, **changes,
        )  # fmt: skip
        _tell(memory, args, done)
    return 0


def _in_editor(args: argparse.Namespace) -> int:
    """Let the person change the memory as a form."""

    with opened(lifetime=Lifetime.ONCE) as memory:
        args.ids = meant(memory, args.ids)
        [before] = memory.looked_up(args.ids)

    def use(fields: dict[str, object]) -> None:
        with opened(lifetime=Lifetime.ONCE) as memory:
            done = memory.edit_all(
                args.ids, redact=args.redact, if_revision=revision(before),
                **changes_of(before, fields),
            )  # fmt: skip
            _tell(memory, args, done)

    if not fill_in(as_markdown(before), use):
        print("recollect: Nothing was changed.", file=sys.stderr)
    return 0


def _tell(memory: Recollect, args: argparse.Namespace, done: list[Saved]) -> None:
    edited = done[0].memory if len(args.ids) == 1 else None
    if edited is None:
        changed = [saved.memory.id for saved in done if saved.outcome == "updated"]
        say(args.json, f"{counted(len(changed), 'memory')} changed.", changed=changed)
    elif args.json:
        print_json(memory_json(edited))
    else:
        print(edited.id)
    tell_redacted(sum((Counter(saved.redacted) for saved in done), Counter()))
    tell_later(memory, *(saved.memory for saved in done))
