"""Commands that put memories in order: tier, tags, projects, and what replaces what."""

from __future__ import annotations

import argparse
from functools import partial

from recollect.errors import NotFound
from recollect.interfaces.cli.arguments import WrongUsage, add_json, add_repeatable, argument, flag
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.output import say, say_counts
from recollect.interfaces.cli.selection import (
    add_selection,
    add_yes,
    change_chosen,
    confirm,
    open_vault,
    resolve_id,
    resolve_ids,
)
from recollect.lifetime import Lifetime
from recollect.present.words import counted
from recollect.types import Filter


@command(
    "  recollect pin auth-jwt-001\n  recollect pin --project harbor-api --kind decision\n"
    "  recollect pin --off auth-jwt-001",
    flag("--off", "unpin them"),
    add_selection,
    add_json,
)
def pin(args: argparse.Namespace) -> None:
    if args.off:
        change_chosen(args, "unpinned", lambda memory, ids: memory.unpin(ids))
    else:
        change_chosen(args, "pinned", lambda memory, ids: memory.pin(ids))


@command(
    "  recollect tag auth-jwt-001 --add security\n  recollect tag --tag wip --remove wip",
    partial(add_repeatable, flag="--add", metavar="TAG", about="add this tag"),
    partial(add_repeatable, flag="--remove", metavar="TAG", about="remove this tag"),
    add_selection,
    add_json,
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


@command("  recollect tag list\n  recollect tag list --json", add_json)
def tag_list(args: argparse.Namespace) -> None:
    with open_vault() as memory:
        say_counts(args.json, memory.facets().tags, "No memory has a tag.")


@command(
    "  recollect tag rename auht auth",
    argument("old", "OLD", "the tag", nargs=1),
    argument("new", "NEW", "its new name; a tag that exists is fine"),
    add_yes,
    add_json,
)
def tag_rename(args: argparse.Namespace) -> None:
    """Put a tag in the place of others, in every memory."""
    gone = [tag for tag in args.old if tag != args.new]
    with open_vault() as memory:
        found = {tag: memory.selected(filter=Filter(tags=(tag,))) for tag in gone}
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
    argument("old", "TAG", "the tags to replace", nargs="+"),
    argument("new", "INTO", "the tag that replaces them"),
    add_yes,
    add_json,
)
def tag_merge(args: argparse.Namespace) -> None:
    tag_rename(args)


@command("  recollect projects", add_json)
def projects(args: argparse.Namespace) -> None:
    with open_vault() as memory:
        say_counts(args.json, memory.facets().project, "No memories found.")


@command(
    "  recollect move auth-jwt-001 --to-project harbor-api\n"
    "  recollect move --project harbour --to-project harbor-api --yes",
    argument("--to-project", "NAME", 'the project; "" for none'),
    argument("--to-space", "NAME", 'the space; "" for none'),
    add_selection,
    add_json,
)
def move(args: argparse.Namespace) -> None:
    project, space = args.to_project, args.to_space
    if project is None and space is None:
        raise WrongUsage("Name where to: --to-project NAME or --to-space NAME.")
    change_chosen(args, "moved", lambda memory, ids: memory.move(ids, project=project, space=space))


@command(
    "  recollect supersede deploy-jenkins-001 deploy-buildkite-002",
    argument("old", "OLD", "the outdated memory"),
    argument("new", "NEW", "the memory that replaces it"),
    add_json,
)
def supersede(args: argparse.Namespace) -> None:
    with open_vault(lifetime=Lifetime.ONCE) as memory:
        args.old, args.new = resolve_id(memory, args.old), resolve_id(memory, args.new)
        memory.supersede(args.old, args.new)
    sentence = f"{args.new} replaces {args.old}."
    say(args.json, sentence, superseded=args.old, superseded_by=args.new)


@command(
    "  recollect merge deploy-001 deploy-002 --into deploy-002",
    argument("ids", "ID", "the memories, two or more", nargs="+"),
    argument("--into", "ID", "the one that stays (default: the first of them)"),
    add_json,
)
def merge(args: argparse.Namespace) -> None:
    with open_vault(lifetime=Lifetime.ONCE) as memory:
        args.ids = resolve_ids(memory, args.ids)
        kept = memory.merge(args.ids, into=args.into and resolve_id(memory, args.into)).id
    gone = [id for id in dict.fromkeys(args.ids) if id != kept]
    sentence = f"{counted(len(gone), 'memory')} merged into {kept}. To undo: recollect undo"
    say(args.json, sentence, merged=gone, into=kept)
