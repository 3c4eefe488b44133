"""`recollect save` and `recollect edit`; and a memory as a form in the user's editor, with front
matter and text as in a mirrored folder.

The form is a private file in the home, removed once it is saved. Until then no typing is lost: a
form that cannot be read is opened again with a message at its top.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Set
from functools import partial
from pathlib import Path
from typing import Any

from recollect.checks import split_list
from recollect.documents.memory_markdown import ALWAYS, as_markdown, front_line, our_fields, parse
from recollect.engine import Recollect
from recollect.errors import UserError
from recollect.home import home_path
from recollect.ingest.draft import FIELDS, cut_title, make_draft
from recollect.ingest.saving import REPLACES, Saved, saved_json
from recollect.interfaces.cli import arguments as arg
from recollect.interfaces.cli.arguments import WrongUsage
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.desktop import open_in_editor
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
from recollect.present.sentences import counted, visible
from recollect.types import Memory
from recollect.vaults.keys import on_terminal

REPEATED = "recollect: The project already had this memory; it was updated instead of saved twice."
NOTHING = "recollect: Nothing was saved: the form is empty."
LONGEST_TITLE = 100
DASH = re.compile(r"(^|\s)-$")  # as the last word


def _tags(about: str) -> arg.AddArgument:
    """`--tag`, which is None if not given."""
    return arg.argument(
        "--tag -t", "TAG", f"{about}; repeatable, or a,b", action="extend", type=split_list
    )


@command(
    '  recollect save "Sessions became signed tokens that last 15 minutes" --tag auth\n'
    "  git log -1 --format=%B | recollect save --here\n"
    "  recollect save --edit --kind decision",
    arg.words(
        "words",
        "what to remember; - or a pipe reads standard input; without text, fill in a form",
        default="",
        metavar="TEXT",
    ),
    arg.flag("-e --edit", "fill in a form in your editor"),
    arg.add_fields,
    _tags("a tag"),
    arg.argument("--id", "ID", "an id of your own (default: made from the title)"),
    arg.repeatable("--supersedes", "ID", "mark this memory as replaced by the new one"),
    arg.flag("--quiet -q", "print only the id, no notes on similar or earlier memories"),
    add_redact,
    arg.add_json,
)
def save(args: argparse.Namespace) -> None:
    fields = arg.memory_fields(args) | ({} if args.tag is None else {"tags": args.tag})
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
        return f"{words}\n{arg.read_text_file('-')}".strip()
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
        print(f"recollect: {saved.memory.id} already existed; changed: {changed}.", file=sys.stderr)


def _tell_similar(memory: Recollect, saved: Memory) -> None:
    """Report similar memories; called after the id is printed."""
    found = memory.similar(saved, wait=True)
    for each in found:
        print(visible(sentences.similar(*each)), file=sys.stderr)
    if found and found[0].why == REPLACES:
        old = found[0].memory.id
        print(f"If it does: recollect supersede {old} {saved.id}", file=sys.stderr)


@command(
    '  recollect edit auth-jwt-001 --text "Tokens last 15 minutes." --add-tag auth\n'
    '  recollect edit auth-notes --section "Open questions" --text "None left."\n'
    "  recollect edit --where project=harbor-api --where kind=note --kind fact",
    partial(add_selection, named=True),
    partial(arg.add_fields, change=True),
    _tags("replace all tags"),
    arg.repeatable("--add-tag", "TAG", "add a tag"),
    arg.repeatable("--remove-tag", "TAG", "remove a tag"),
    arg.repeatable("--clear", "FIELD", "empty a field"),
    arg.argument("--append", "TEXT", "add a paragraph to the text"),
    arg.argument("--section", "HEADING", "replace the text under this heading with --text"),
    arg.flag("-e --edit", "fill in a form in your editor (the default on a terminal)"),
    add_redact,
    arg.add_json,
)
def edit(args: argparse.Namespace) -> int:
    changes, cleared = arg.memory_fields(args), {name.replace("-", "_") for name in args.clear}
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
        [before] = memory.show(args.ids, opened=False)

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


# The form in the editor

FOLDER = "drafts"
# Fields of an empty form, which most people fill in.
USUAL = ("title", "tags", "kind", "project", "why")
# Begins the message line above a refused form.
MESSAGE = "#! "


def make_form(fields: Mapping[str, object]) -> str:
    """Return the form of a new memory, with these fields filled in."""
    empty = dict.fromkeys(USUAL, "")
    front = {name: value for name, value in (empty | dict(fields)).items() if name != "text"}
    lines = [front_line(name, value) if value else f"{name}:\n" for name, value in front.items()]
    return "".join(["---\n", *lines, "---\n\n", str(fields.get("text", "")), "\n"])


def find_changes(memory: Memory, fields: Mapping[str, object]) -> dict[str, Any]:
    """Return the changes that a form makes to a memory; None for fields that were removed."""
    if fields.get("id") != memory.id:
        raise UserError("An id cannot be changed; save a new memory and forget this one.")
    before = our_fields(parse(as_markdown(memory)))
    names = [name for name in FIELDS if fields.get(name) != before.get(name, None)]
    return {name: fields.get(name) for name in names if name in fields or name not in ALWAYS}


def fill_in(form: str, use: Callable[[dict[str, object]], None], *, as_is: bool = False) -> bool:
    """Let the user edit the form, and call `use` with its fields. Return False if the form is
    empty, or unchanged and not `as_is`. A form that cannot be read, or that `use` refuses, is
    opened again with the reason; if it stays unchanged then, raise UserError with the file's
    name."""
    folder = Path(home_path(os.environ)) / FOLDER
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(".md", "memory-", folder)
    path, shown = Path(name), form
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(form)
    while True:
        open_in_editor(path)
        text = _read_form(path)
        written = "\n".join(line for line in text.split("\n") if not line.startswith(MESSAGE))
        if not written.strip() or (written == form and not as_is):
            _remove_form(path)
            return False
        try:
            use(_parse_form(written))
        except UserError as error:
            if text == shown:
                raise UserError(f"{error} What you wrote is in {path}.") from error
            shown = f"{MESSAGE}Not saved: {' '.join(str(error).split())}\n{written}"
            path.write_text(shown, encoding="utf-8")
        else:
            _remove_form(path)
            return True


def _parse_form(text: str) -> dict[str, object]:
    """Return the memory's fields in a form."""
    file = parse(text)
    if file.problem:
        raise UserError(file.problem)
    if file.others:
        raise UserError(f"There is no field {next(iter(file.others))!r}.")
    fields = our_fields(file)
    return {name: value for name, value in fields.items() if value not in ("", [])}


def _read_form(path: Path) -> str:
    try:
        return path.read_bytes().decode()
    except OSError:  # the editor removed it
        return ""
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not valid UTF-8 text (byte {error.start}).") from error


def _remove_form(path: Path) -> None:
    path.unlink(missing_ok=True)
    if not any(path.parent.iterdir()):
        path.parent.rmdir()
