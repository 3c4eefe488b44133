"""`recollect folders`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

from recollect.engine import Recollect
from recollect.errors import RecollectError
from recollect.interfaces.cli.arguments import add_json, check_action
from recollect.interfaces.cli.output import BOLD, one_line, print_json, say, styled
from recollect.interfaces.cli.syncing import advancing, embed, follow, synced_json, tell
from recollect.present.words import counted

EXAMPLE = (
    "  recollect folders\n  recollect folders sync\n  recollect folders watch\n"
    "  recollect folders remove ~/notes"
)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action", metavar="ACTION", nargs="?", default="list",
        help="list, sync, watch or remove",
    )  # fmt: skip
    parser.add_argument("folder", metavar="FOLDER", nargs="?", help="the folder to remove")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    usages = {name: name for name in ACTIONS} | {"remove": "remove FOLDER"}
    check_action("folders", args.action, [args.folder] if args.folder is not None else [], usages)
    with Recollect() as memory:
        return ACTIONS[args.action](memory, args)


def _list(memory: Recollect, args: argparse.Namespace) -> int:
    found = [
        {
            "path": folder.path,
            "project": folder.project,
            "followed": folder.followed,
            "files": folder.files,
        }
        for folder in memory.folders()
    ]
    if args.json:
        print_json({"folders": found})
        return 0
    for one in found:
        follows = ", followed" if one["followed"] else ""
        name = styled(one_line(str(one["path"])), BOLD)
        files = counted(int(str(one["files"])), "file")
        print(f"{name}  {files}, project {one_line(str(one['project']))}{follows}")
    if not found:
        print("No folder was added yet; `recollect add FOLDER`.")
    return 0


def _sync(memory: Recollect, args: argparse.Namespace) -> int:
    """Every folder; one that is away is reported, and the others are brought into step."""
    code = 0
    found: list[dict[str, Any]] = []
    for folder in memory.folders():
        try:
            with advancing(folder.project) as advance:
                done = memory.sync_folder(folder, progress=advance)
        except RecollectError as error:
            print(f"recollect: {error}", file=sys.stderr)
            found.append({"path": folder.path, "problem": str(error)})
            code = 1
            continue
        found.append({"path": folder.path} | synced_json(done))
        if not args.json:
            print(styled(one_line(folder.path), BOLD))
            tell(done, 0, as_json=False)
    embed(memory)
    if args.json:
        print_json({"folders": found, "waiting": memory.waiting()})
    return code


def _watch(memory: Recollect, args: argparse.Namespace) -> int:
    return follow(memory)


def _remove(memory: Recollect, args: argparse.Namespace) -> int:
    count = memory.remove_folder(args.folder)
    what = f"{counted(count, 'memory')} forgotten, no file touched"
    sentence = f"Removed: {one_line(args.folder)}; {what}."
    say(args.json, sentence, removed=args.folder, forgotten=count)
    return 0


ACTIONS: dict[str, Callable[[Recollect, argparse.Namespace], int]] = {
    "list": _list,
    "sync": _sync,
    "watch": _watch,
    "remove": _remove,
}
