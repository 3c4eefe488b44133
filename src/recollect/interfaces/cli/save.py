"""`recollect save` and `recollect edit`."""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Set
from typing import Any

from recollect.checks import split_list
from recollect.documents.memory_markdown import as_markdown
from recollect.engine import Recollect
from recollect.ingest.draft import cut_title, make_draft
from recollect.ingest.saving import REPLACES, Saved, saved_json
from recollect.interfaces.cli.arguments import (
    CommandParser,
    WrongUsage,
    add_fields,
    add_json,
    add_repeatable,
    add_words,
    memory_fields,
    read_text_file,
)
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.editor import fill_in, find_changes, make_form
from recollect.interfaces.cli.output import print_json, say
from recollect.interfaces.cli.selection import (
    add_selection,
    choose_ids,
    confirm,
    open_vault,
    resolve_ids,
)
from recollect.interfaces.cli.syncing import add_redact, report_later_vector, report_redacted
from recollect.lifetime import Lifetime
from recollect.memory_json import memory_json, revision
from recollect.present import sentences
from recollect.present.visible import visible
from recollect.present.words import counted
from recollect.types import Memory
from recollect.vaults.keys import on_terminal

REPEATED = "recollect: The project already had this memory; it was updated instead of saved twice."
NOTHING = "recollect: Nothing was saved: the form is empty."
LONGEST_TITLE = 100
DASH = re.compile(r"(^|\s)-$")  # as the last word


def _save_arguments(parser: CommandParser) -> None:
    about = "what to remember; - or a pipe reads standard input; without text, fill in a form"
    add_words(parser, "words", about, default="", metavar="TEXT")
    parser.add_argument("-e", "--edit", action="store_true", help="fill in a form in your editor")
    add_fields(parser)
    _add_tags(parser, "a tag")
    parser.add_argument(
        "--id", metavar="ID", help="an id of your own (default: made from the title)"
    )
    add_repeatable(parser, "--supersedes", "ID", "mark this memory as replaced by the new one")
    about = "print only the id: nothing of similar memories or what was there before"
    parser.add_argument("--quiet", "-q", action="store_true", help=about)
    add_redact(parser)
    add_json(parser)


@command(
    '  recollect save "Sessions became signed tokens that last 15 minutes" --tag auth\n'
    "  git log -1 --format=%B | recollect save --here\n"
    "  recollect save --edit --kind decision",
    _save_arguments,
)
def save(args: argparse.Namespace) -> None:
    fields = memory_fields(args) | ({} if args.tag is None else {"tags": args.tag})
    named = fields.keys() & {"title", "text"}
    words = _with_standard_input(args, named)
    if words and len(named) == 2:
        raise WrongUsage("Words are the title or the text; leave out --title, --text or the words.")
    fields |= (
        {"title": words} if words and "text" in named else split_thought(words, "title" in named)
    )
    if args.edit or not (words or named or not on_terminal()):
        as_is = "title" in fields or "text" in fields
        if not fill_in(make_form(fields), lambda filled: _save(args, filled), as_is=as_is):
            print(NOTHING, file=sys.stderr)
        return
    _save(args, fields)


def _with_standard_input(args: argparse.Namespace, named: Set[str]) -> str:
    """Return the words, followed by the text on standard input if `-` asks for it, or if no text is
    given and standard input is not a terminal. `named`: the fields that options set."""
    words, dash = (
        (args.words[:-1].rstrip(), True) if DASH.search(args.words) else (args.words, False)
    )
    text_given = "text" in named or ("title" in named and words)
    if dash and (text_given or args.details_file == "-"):
        raise WrongUsage("`-` reads the text from standard input; leave it out, or the other text.")
    wanted = not (text_given or args.edit or args.details_file == "-")
    if dash or (wanted and sys.stdin is not None and not sys.stdin.isatty()):
        return f"{words}\n{read_text_file('-')}".strip()
    return str(words)


def split_thought(words: str, titled: bool) -> dict[str, Any]:
    """Return a thought as title and text: a short one is a title; of a longer one, the first line
    or its beginning is the title. `titled`: there is a title already."""
    words = words.strip()
    if not words or titled:
        return {"text": words} if words else {}
    first, _, rest = words.partition("\n")
    title = first.lstrip("#").strip()
    if len(title) > LONGEST_TITLE:
        return {"title": cut_title(title, LONGEST_TITLE), "text": words}
    return {"title": title, "text": rest.strip()} if rest.strip() else {"title": title}


def _save(args: argparse.Namespace, fields: dict[str, Any]) -> None:
    with open_vault(lifetime=Lifetime.ONCE) as memory:
        old = resolve_ids(memory, args.supersedes)
        [saved] = memory.save_all([make_draft(fields, supersedes=old)], redact=args.redact)
        if args.json:
            print_json(saved_json(saved, memory.similar(saved.memory, wait=True)))
        else:
            print(saved.memory.id)
            if not args.quiet:
                _tell_outcome(args, saved)
        report_redacted(saved.redacted)
        report_later_vector(memory, saved.memory)
        if not (args.json or args.quiet):
            _tell_similar(memory, saved.memory)


def _tell_outcome(args: argparse.Namespace, saved: Saved) -> None:
    """Report what a save over an existing memory changed."""
    if saved.repeated and saved.outcome == "updated":
        print(REPEATED, file=sys.stderr)
    elif args.id is not None and saved.outcome != "added":
        changed = ", ".join(saved.changed) or "nothing"
        print(f"recollect: {saved.memory.id} was there; changed: {changed}.", file=sys.stderr)


def _tell_similar(memory: Recollect, saved: Memory) -> None:
    """Report similar memories; called after the id is printed."""
    found = memory.similar(saved, wait=True)
    for each in found:
        print(visible(sentences.similar(*each)), file=sys.stderr)
    if found and found[0].why == REPLACES:
        old = found[0].memory.id
        print(f"If it does: recollect supersede {old} {saved.id}", file=sys.stderr)


def _add_tags(parser: argparse.ArgumentParser, about: str) -> None:
    """Add `--tag`, which is None if not given."""
    parser.add_argument(
        "--tag", "-t", action="extend", type=split_list, metavar="TAG",
        help=f"{about}; repeatable, or a,b",
    )  # fmt: skip


def _edit_arguments(parser: argparse.ArgumentParser) -> None:
    add_selection(parser, named=True)
    add_fields(parser)
    _add_tags(parser, "replace all tags")
    add_repeatable(parser, "--add-tag", "TAG", "add a tag")
    add_repeatable(parser, "--remove-tag", "TAG", "remove a tag")
    add_repeatable(parser, "--clear", "FIELD", "empty a field")
    parser.add_argument("--append", metavar="TEXT", help="add a paragraph to the text")
    parser.add_argument(
        "--section", metavar="HEADING", help="replace the text under this heading with --text"
    )
    parser.add_argument(
        "-e", "--edit", action="store_true",
        help="fill in a form in your editor (the default on a terminal)",
    )  # fmt: skip
    add_redact(parser)
    add_json(parser)


@command(
    '  recollect edit auth-jwt-001 --text "Tokens last 15 minutes." --add-tag auth\n'
    '  recollect edit auth-notes --section "Open questions" --text "None left."\n'
    "  recollect edit --where project=harbor-api --where kind=note --kind fact",
    _edit_arguments,
)
def edit(args: argparse.Namespace) -> int:
    changes, cleared = memory_fields(args), {name.replace("-", "_") for name in args.clear}
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
            return _edit_form(args)
        raise WrongUsage("Nothing to change. Name a field, such as --title.")
    if args.edit:
        raise WrongUsage("Use either --edit or options that change a field.")
    make_draft(
        changes, change=True
    )  # checks names, so that no field is passed as another argument of `edit_all`
    with open_vault(lifetime=Lifetime.ONCE) as memory:
        ids = choose_ids(memory, args, "changed")
        if "text" in changes and not changes["text"] and on_terminal():
            confirm(args, f"The text of {counted(len(ids), 'memory')} will be emptied.")
        done = memory.edit_all(
            ids, add_tags=args.add_tag, remove_tags=args.remove_tag, append=args.append,
            section=args.section, redact=args.redact, **changes,
        )  # fmt: skip
        _print_edited(memory, args, done)
    return 0


def _edit_form(args: argparse.Namespace) -> int:
    """Let the user edit the memory as a form."""
    with open_vault(lifetime=Lifetime.ONCE) as memory:
        args.ids = resolve_ids(memory, args.ids)
        [before] = memory.looked_up(args.ids)

    def use(fields: dict[str, object]) -> None:
        with open_vault(lifetime=Lifetime.ONCE) as memory:
            done = memory.edit_all(
                args.ids, redact=args.redact, if_revision=revision(before),
                **find_changes(before, fields),
            )  # fmt: skip
            _print_edited(memory, args, done)

    if not fill_in(as_markdown(before), use):
        print("recollect: Nothing was changed.", file=sys.stderr)
    return 0


def _print_edited(memory: Recollect, args: argparse.Namespace, done: list[Saved]) -> None:
    edited = done[0].memory if len(args.ids) == 1 else None
    if edited is None:
        changed = [saved.memory.id for saved in done if saved.outcome == "updated"]
        say(args.json, f"{counted(len(changed), 'memory')} changed.", changed=changed)
    elif args.json:
        print_json(memory_json(edited))
    else:
        print(edited.id)
    report_redacted(sum((Counter(saved.redacted) for saved in done), Counter()))
    report_later_vector(memory, *(saved.memory for saved in done))
