"""Commands that organise memories: pin, tag, move, supersede, merge, forget, trash, undo, redo."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from recollect.engine import Recollect
from recollect.engine.history import Agree, Undone, redone_json, undone_json
from recollect.errors import NotFound
from recollect.interfaces.cli import arguments as arg
from recollect.interfaces.cli.arguments import WrongUsage
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.layout import shorten, width, wrap_sentence
from recollect.interfaces.cli.main import FOUND_NOTHING
from recollect.interfaces.cli.output import (
    BOLD,
    DIM,
    paint,
    print_json,
    print_note,
    print_rows,
    say,
    say_counts,
    show,
)
from recollect.interfaces.cli.results import When, about_line, inner_width, time_format
from recollect.interfaces.cli.selection import (
    add_selection,
    add_yes,
    change_chosen,
    choose_ids,
    confirm,
    open_vault,
    resolve_id,
    resolve_ids,
)
from recollect.lifetime import Lifetime
from recollect.present.sentences import counted, heading_line, visible
from recollect.store.upkeep import ForgottenMemory, trashed_json
from recollect.times import minute
from recollect.types import Filter
from recollect.vaults.keys import on_terminal


@command(
    "  recollect pin auth-jwt-001\n  recollect pin --project harbor-api --kind decision\n"
    "  recollect pin --off auth-jwt-001",
    arg.flag("--off", "unpin them"),
    add_selection,
    arg.add_json,
)
def pin(args: argparse.Namespace) -> None:
    if args.off:
        change_chosen(args, "unpinned", lambda memory, ids: memory.unpin(ids))
    else:
        change_chosen(args, "pinned", lambda memory, ids: memory.pin(ids))


@command(
    "  recollect tag auth-jwt-001 --add security\n  recollect tag --tag wip --remove wip",
    arg.repeatable("--add", "TAG", "add this tag"),
    arg.repeatable("--remove", "TAG", "remove this tag"),
    add_selection,
    arg.add_json,
)
def tag(args: argparse.Namespace) -> None:
    if set(args.typed) <= {"--json", "-j"}:
        tag_list(args)
        return
    if not (args.add or args.remove):
        raise WrongUsage("Name a tag: --add TAG or --remove TAG.")
    change_chosen(
        args, "tagged", lambda memory, ids: memory.tag(ids, add=args.add, remove=args.remove)
    )


@command("  recollect tag list\n  recollect tag list --json", arg.add_json)
def tag_list(args: argparse.Namespace) -> None:
    with open_vault() as memory:
        say_counts(args.json, memory.facets().tags, "No memory has a tag.")


@command(
    "  recollect tag rename auht auth",
    arg.argument("old", "OLD", "the tag", nargs=1),
    arg.argument("new", "NEW", "its new name, which may be an existing tag"),
    add_yes,
    arg.add_json,
)
def tag_rename(args: argparse.Namespace) -> None:
    """Replace tags by another one, in every memory."""
    gone = [tag for tag in args.old if tag != args.new]
    with open_vault() as memory:
        found = {tag: memory.select_ids(filter=Filter(tags=(tag,))) for tag in gone}
        for tag, ids in found.items():
            if not ids:
                raise NotFound(f"No memory has the tag {tag!r}.")
        every = list(dict.fromkeys(id for ids in found.values() for id in ids))
        if every:
            them = ", ".join(gone)
            confirm(
                args, f"{counted(len(every), 'memory')} will have {args.new!r} instead of {them}."
            )
            memory.tag(every, add=[args.new], remove=gone)
    say(args.json, f"{counted(len(every), 'memory')} changed.", changed=every)


@command(
    "  recollect tag merge db sql postgres",
    arg.argument("old", "TAG", "the tags to replace", nargs="+"),
    arg.argument("new", "INTO", "the tag that replaces them"),
    add_yes,
    arg.add_json,
)
def tag_merge(args: argparse.Namespace) -> None:
    tag_rename(args)


@command("  recollect projects", arg.add_json)
def projects(args: argparse.Namespace) -> None:
    with open_vault() as memory:
        say_counts(args.json, memory.facets().project, "No memories found.")


@command(
    "  recollect move auth-jwt-001 --to-project harbor-api\n"
    "  recollect move --project harbour --to-project harbor-api --yes",
    arg.argument("--to-project", "NAME", 'the project; "" for none'),
    arg.argument("--to-space", "NAME", 'the space; "" for none'),
    add_selection,
    arg.add_json,
)
def move(args: argparse.Namespace) -> None:
    project, space = args.to_project, args.to_space
    if project is None and space is None:
        raise WrongUsage("Name where to: --to-project NAME or --to-space NAME.")
    change_chosen(args, "moved", lambda memory, ids: memory.move(ids, project=project, space=space))


@command(
    "  recollect supersede deploy-jenkins-001 deploy-buildkite-002",
    arg.argument("old", "OLD", "the outdated memory"),
    arg.argument("new", "NEW", "the memory that replaces it"),
    arg.add_json,
)
def supersede(args: argparse.Namespace) -> None:
    with open_vault(lifetime=Lifetime.ONCE) as memory:
        args.old, args.new = resolve_id(memory, args.old), resolve_id(memory, args.new)
        memory.supersede(args.old, args.new)
    sentence = f"{args.new} replaces {args.old}."
    say(args.json, sentence, superseded=args.old, superseded_by=args.new)


@command(
    "  recollect merge deploy-001 deploy-002 --into deploy-002",
    arg.argument("ids", "ID", "the memories, two or more", nargs="+"),
    arg.argument("--into", "ID", "the memory to keep (default: the first one)"),
    arg.add_json,
)
def merge(args: argparse.Namespace) -> None:
    with open_vault(lifetime=Lifetime.ONCE) as memory:
        args.ids = resolve_ids(memory, args.ids)
        kept = memory.merge(args.ids, into=args.into and resolve_id(memory, args.into)).id
    gone = [id for id in dict.fromkeys(args.ids) if id != kept]
    sentence = f"{counted(len(gone), 'memory')} merged into {kept}. To undo: recollect undo"
    say(args.json, sentence, merged=gone, into=kept)


# Undo, redo, forget and trash

MOST_NAMED = 10  # memories, a line each, or ids in the sentence that says how to undo it
MOST_UNASKED = 5  # memories that are changed without a confirmation
DEFAULT = 20


@command(
    "  recollect undo\n  recollect undo auth-jwt-001\n  recollect undo auth-jwt-001 --to 2",
    arg.argument("id", "ID", "undo this memory's last change, by anyone", nargs="?"),
    arg.argument("--to", "VERSION", "go back to this version of it (see history)", type=int),
    add_yes,
    arg.add_json,
)
def undo(args: argparse.Namespace) -> None:
    def undo(memory: Recollect, agree: Agree) -> Undone:
        return memory.undo(args.id and resolve_id(memory, args.id), to=args.to, agree=agree)

    take_back(args, undo, "undo", "redo")


def take_back(
    args: argparse.Namespace, act: Callable[[Recollect, Agree], Undone], verb: str, other: str
) -> None:
    """Undo or redo a change and report it; confirm it first if it concerns many memories. `other`:
    the command that reverses this one."""

    def agree(undone: Undone) -> None:
        if len(undone.memories) > MOST_UNASKED and on_terminal() and not args.yes:
            print("\n".join(_memory_lines(undone)), file=sys.stderr)
            confirm(args, f"This {verb}es the {_describe(undone)}.")

    with open_vault(lifetime=Lifetime.ONCE) as memory:
        done = act(memory, agree)
    back = f"To {other}: recollect {other}"
    told = [f"{verb.capitalize()}ne: {_describe(done)}.", *_memory_lines(done), back]
    as_json = undone_json if verb == "undo" else redone_json
    say(args.json, "\n".join(told), **as_json(done))


def _describe(done: Undone) -> str:
    return f"{done.action} of {minute(done.at)}, {counted(len(done.memories), 'memory')}"


def _memory_lines(done: Undone) -> Iterator[str]:
    """Yield a line for each of the first memories: what happens to it, its title and id."""
    for each in done.memories[:MOST_NAMED]:
        gone, back = each.id in done.forgotten, each.id in done.restored
        what = "to the trash" if gone else "from the trash" if back else "changed"
        id = visible(each.id)
        yield f"  {what:<14}  {shorten(heading_line(each), width() - len(id) - 20)} ({id})"
    if len(done.memories) > MOST_NAMED:
        yield f"  and {len(done.memories) - MOST_NAMED:,} more"


@command("  recollect redo", add_yes, arg.add_json)
def redo(args: argparse.Namespace) -> None:
    take_back(args, lambda memory, agree: memory.redo(agree=agree), "redo", "undo")


@command(
    "  recollect forget auth-jwt-000\n  recollect forget --project old-site\n"
    "  recollect forget --undo auth-jwt-000",
    add_selection,
    arg.one_of(
        arg.flag("--undo", "bring forgotten memories back"),
        arg.flag("--purge", "delete permanently; cannot be undone"),
    ),
    arg.add_json,
)
def forget(args: argparse.Namespace) -> None:
    done = "restored" if args.undo else "purged" if args.purge else "forgotten"
    with open_vault(lifetime=Lifetime.ONCE) as memory:
        ids = choose_ids(memory, args, done, forgotten=args.undo)
        memory.forget(ids, undo=args.undo, purge=args.purge)
    if args.json:
        print_json({done: ids})
        return
    print(f"{counted(len(ids), 'memory')} {done}.")
    if done == "forgotten" and ids:
        if len(ids) <= MOST_NAMED:
            print(f"To undo: recollect forget --undo {' '.join(ids)}")
        else:
            print("To undo: recollect undo")


@command(
    "  recollect trash\n  recollect trash deploy --project harbor-api\n  recollect trash --empty",
    arg.words("query", "what to look for", default=""),
    arg.limit(DEFAULT, whole=True),
    arg.add_dates,
    arg.flag("--empty", "delete everything in the trash permanently"),
    arg.add_filter,
    add_yes,
    arg.add_ids_only,
    arg.add_exit_zero,
    arg.rows(unless="empty"),
)
def trash(args: argparse.Namespace) -> int:
    with open_vault(lifetime=Lifetime.ONCE) as memory:
        now, limit = memory.now(), arg.limit_of(args, DEFAULT)
        filter = arg.read_filter(args, now)
        if args.empty:
            if args.query or filter.narrows():
                raise WrongUsage("--empty is about everything. To purge some: recollect forget "
                                 "--purge ID")  # fmt: skip
            _empty_trash(memory, args)
            return 0
        found = memory.trash(args.query, filter, limit)
        every = memory.count_trash(args.query, filter) if len(found) == limit else len(found)
        unknown = [] if found else memory.unknown_values(filter)
    when = time_format(args.dates, now)
    if args.ids:
        print("".join(f"{each.memory.id}\n" for each in found), end="")
    elif args.json:
        print_note(
            f"{every - len(found):,} more: --all" if every > len(found) else " ".join(unknown)
        )
        print_rows(args, [trashed_json(each) for each in found])
    elif found:
        more = arg.more_line("trash", every - len(found), args)
        show("\n".join(_trash_lines(found, more, now, when)))
    elif args.query or filter.narrows():
        print(wrap_sentence(" ".join(["Nothing in the trash matches.", *unknown]), ""))
    else:
        print("The trash is empty.")
    return 0 if found or args.exit_zero else FOUND_NOTHING


def _trash_lines(
    found: Sequence[ForgottenMemory], more: str, now: datetime, when: When
) -> Iterator[str]:
    """Yield three lines for each memory, how to restore it, and how to see more."""
    for each in found:
        yield paint(shorten(heading_line(each.memory), width()), BOLD)
        yield f"    {paint(about_line(each.memory, now, when), DIM)}"
        by = f" by {each.by}" if each.by else ""
        yield f"    {paint(shorten(f'{each.why}, {when(each.at)}{by}', inner_width()), DIM)}"
    yield paint("To bring one back: recollect trash restore ID", DIM)
    if more:
        yield paint(more, DIM)


def _empty_trash(memory: Recollect, args: argparse.Namespace) -> None:
    count = memory.count_trash()
    if count:
        confirm(args, f"{counted(count, 'memory')} will be deleted permanently.")
    purged = memory.empty_trash()
    say(args.json, f"{counted(purged, 'memory')} purged.", purged=purged)
