"""Commands that put memories in order: tier, tags, projects, and what replaces what."""

from __future__ import annotations

import argparse

from recollect.engine import Recollect
from recollect.errors import NotFound
from recollect.interfaces.cli.arguments import (
    Actions,
    WrongUsage,
    add_action,
    add_json,
    add_repeatable,
    chosen_action,
)
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.output import say, say_counts
from recollect.interfaces.cli.selection import (
    add_selection,
    add_yes,
    change_chosen,
    confirm,
    meant,
    only,
    opened,
)
from recollect.lifetime import Lifetime
from recollect.present.words import counted
from recollect.types import Filter


@command(
    "  recollect pin auth-jwt-001\n  recollect pin --project harbor-api --kind decision",
    add_selection,
    add_json,
)
def pin(args: argparse.Namespace) -> None:
    change_chosen(args, "pinned", lambda memory, ids: memory.pin(ids))


@command("  recollect unpin auth-jwt-001", add_selection, add_json)
def unpin(args: argparse.Namespace) -> None:
    change_chosen(args, "unpinned", lambda memory, ids: memory.unpin(ids))


def _tag_arguments(parser: argparse.ArgumentParser) -> None:
    add_repeatable(parser, "--add", "TAG", "add this tag")
    add_repeatable(parser, "--remove", "TAG", "remove this tag")
    add_selection(parser)
    add_json(parser)


@command(
    "  recollect tag auth-jwt-001 --add security\n  recollect tag --tag wip --remove wip",
    _tag_arguments,
)
def tag(args: argparse.Namespace) -> None:
    if not (args.add or args.remove):
        raise WrongUsage("Name a tag: --add TAG or --remove TAG.")
    change_chosen(
        args, "tagged", lambda memory, ids: memory.tag(ids, add=args.add, remove=args.remove)
    )


def _tags_arguments(parser: argparse.ArgumentParser) -> None:
    names = "rename: the tag and its new name; merge: tags, and last the one they become"
    add_action(parser, ACTIONS, names, "TAG")
    add_yes(parser)
    add_json(parser)


@command(
    "  recollect tags\n  recollect tags rename auht auth\n  recollect tags merge db sql postgres",
    _tags_arguments,
)
def tags(args: argparse.Namespace) -> int | None:
    action = chosen_action(args)
    with opened() as memory:
        return action(memory, args)


def _list_tags(memory: Recollect, args: argparse.Namespace) -> None:
    say_counts(args.json, memory.facets().tags, "No memory has a tag.")


def _merge_tags(memory: Recollect, args: argparse.Namespace) -> None:
    """Put the last tag in the place of the others."""
    *old, new = args.names
    gone = [tag for tag in old if tag != new]
    found = {tag: memory.selected(filter=Filter(tags=(tag,))) for tag in gone}
    for tag, ids in found.items():
        if not ids:
            raise NotFound(f"No memory has the tag {tag!r}.")
    every = list(dict.fromkeys(id for ids in found.values() for id in ids))
    if every:
        them = ", ".join(gone)
        confirm(args, f"{counted(len(every), 'memory')} will have {new!r} instead of {them}.")
        memory.tag(every, add=[new], remove=gone)
    say(args.json, f"{counted(len(every), 'memory')} changed.", changed=every)


ACTIONS: Actions[Recollect] = {
    "list": (_list_tags, "list"),
    "rename": (_merge_tags, "rename OLD NEW"),
    "merge": (_merge_tags, "merge TAG INTO..."),
}


@command("  recollect projects", add_json)
def projects(args: argparse.Namespace) -> None:
    with opened() as memory:
        say_counts(args.json, memory.facets().project, "No memories found.")


def _move_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--to-project", metavar="NAME", help='the project; "" for none')
    parser.add_argument("--to-space", metavar="NAME", help='the space; "" for none')
    add_selection(parser)
    add_json(parser)


@command(
    "  recollect move auth-jwt-001 --to-project harbor-api\n"
    "  recollect move --project harbour --to-project harbor-api --yes",
    _move_arguments,
)
def move(args: argparse.Namespace) -> None:
    project, space = args.to_project, args.to_space
    if project is None and space is None:
        raise WrongUsage("Name where to: --to-project NAME or --to-space NAME.")
    change_chosen(args, "moved", lambda memory, ids: memory.move(ids, project=project, space=space))


def _supersede_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("old", metavar="OLD", help="the memory that no longer holds")
    parser.add_argument("new", metavar="NEW", help="the memory that takes its place")
    add_json(parser)


@command("  recollect supersede deploy-jenkins-001 deploy-buildkite-002", _supersede_arguments)
def supersede(args: argparse.Namespace) -> None:
    with opened(lifetime=Lifetime.ONCE) as memory:
        args.old, args.new = only(memory, args.old), only(memory, args.new)
        memory.supersede(args.old, args.new)
    sentence = f"{args.new} replaces {args.old}."
    say(args.json, sentence, superseded=args.old, superseded_by=args.new)


def _merge_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ids", metavar="ID", nargs="+", help="the memories, two or more")
    parser.add_argument(
        "--into", metavar="ID", help="the one that stays (default: the first of them)"
    )
    add_json(parser)


@command("  recollect merge deploy-001 deploy-002 --into deploy-002", _merge_arguments)
def merge(args: argparse.Namespace) -> None:
    with opened(lifetime=Lifetime.ONCE) as memory:
        args.ids = meant(memory, args.ids)
        kept = memory.merge(args.ids, into=args.into and only(memory, args.into)).id
    gone = [id for id in dict.fromkeys(args.ids) if id != kept]
    sentence = f"{counted(len(gone), 'memory')} merged into {kept}. To undo: recollect undo"
    say(args.json, sentence, merged=gone, into=kept)
