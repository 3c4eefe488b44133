"""Commands about folders whose files are memories: add, mirror."""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from os.path import realpath
from pathlib import Path
from typing import Any

from recollect.engine import Recollect
from recollect.errors import NotFound, RecollectError
from recollect.folders.chunk_writing import Synced
from recollect.folders.mirroring import STATE, Action, Mirrored
from recollect.folders.transcript import transcript_clients, transcript_type
from recollect.interfaces.cli import arguments as arg
from recollect.interfaces.cli.arguments import WrongUsage
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.output import (
    BOLD,
    paint,
    print_json,
    print_rows,
    say,
    warn_of_plain_text,
)
from recollect.interfaces.cli.selection import confirm, open_vault
from recollect.interfaces.cli.syncing import (
    add_no_embed,
    add_redact,
    compute_vectors,
    follow,
    late_progress,
    report_sync,
    stop_event,
    synced_json,
)
from recollect.interfaces.setup.clients import Machine
from recollect.present.sentences import counted, one_line, visible
from recollect.secrets.redaction import describe_counts
from recollect.vaults.keys import on_terminal

EVERY = "all"
# Action → the word for it, in the order in which they are listed.
MIRROR_DONE: dict[Action, str] = {
    "write": "written",
    "edit": "edited",
    "take in": "imported",
    "forget": "forgotten",
    "trash": "moved to .trash",
    "conflict": "in conflict",
}
# What files do to a vault that has never been there.
FROM_FILES = ("take in", "edit", "conflict")


def _run_action(args: argparse.Namespace) -> int | None:
    """List, sync or remove folders that were added."""
    takes = " FOLDER" if args.action == "remove" else ""
    if bool(args.folder) != bool(takes) or args.watch or args.transcripts or args.project:
        raise arg.usage_error(f"add --{args.action}{takes}")
    with open_vault() as memory:
        return ACTIONS[args.action][0](memory, args)


def _transcript_places(args: argparse.Namespace) -> list[tuple[str, str]]:
    """Return the folders to add, each with the client whose transcripts it holds, or ""."""
    if args.transcripts is None:
        if args.folder is None:
            raise WrongUsage("Usage: recollect add FOLDER, or add --transcripts [CLIENT].")
        return [("", args.folder)]
    if args.project is not None:
        raise WrongUsage("--project: each session has the project of its working directory.")
    if args.transcripts == EVERY and args.folder is not None:
        raise WrongUsage(f"Name the client: --transcripts {'|'.join(transcript_clients())}.")
    if args.transcripts != EVERY:
        transcript_type(args.transcripts)
        return [(args.transcripts, args.folder or _default_place(args.transcripts))]
    found = [(client, _default_place(client)) for client in transcript_clients()]
    there = [(client, place) for client, place in found if Path(place).is_dir()]
    if not there:
        places = ", ".join(place for _, place in found)
        raise NotFound(f"No transcripts are there; looked in: {places}.")
    return there


def _default_place(client: str) -> str:
    return transcript_type(client).kept_in.format_map(Machine(os.environ).folders())


def _list_folders(memory: Recollect, args: argparse.Namespace) -> None:
    found = memory.folders()
    if args.json:
        names = ("path", "project", "followed", "files")
        listed = [{name: getattr(folder, name) for name in names} for folder in found]
        for entry, folder in zip(listed, found, strict=True):
            if folder.client:
                entry |= {"project": None, "client": folder.client}
        print_rows(args, {"folders": listed}, "folders")
        return
    for folder in found:
        watched = ", watched" if folder.followed else ""
        name, about = paint(one_line(folder.path), BOLD), one_line(folder.project)
        about = about if folder.client else f"project {about}"
        print(f"{name}  {counted(folder.files, 'file')}, {about}{watched}")
    if not found:
        print("No folders yet. To add one: recollect add FOLDER")


def _sync_folders(memory: Recollect, args: argparse.Namespace) -> int:
    """Sync every folder; one that is missing is reported, and the others still sync."""
    code = 0
    found: list[dict[str, Any]] = []
    for folder in memory.folders():
        try:
            with late_progress(folder.project) as advance:
                done = memory.sync_folder(folder, progress=advance)
        except RecollectError as error:
            print(f"recollect: {error}", file=sys.stderr)
            found.append({"path": folder.path, "problem": str(error)})
            code = 1
            continue
        found.append({"path": folder.path} | synced_json(done))
        if not args.json:
            print(paint(one_line(folder.path), BOLD))
            report_sync(done, 0, as_json=False)
    compute_vectors(memory)
    if args.json:
        print_rows(args, {"folders": found, "waiting": memory.waiting()}, "folders")
    return code


def _remove_folder(memory: Recollect, args: argparse.Namespace) -> None:
    folder = args.folder
    named = one_line(folder)
    client = next((each.client for each in memory.folders() if each.path == realpath(folder)), "")
    again = f"{named} --transcripts {client}" if client else named
    back = f"`recollect add {again}` brings them back."
    count = memory.remove_folder(folder, dry_run=True)
    would = f"{counted(count, 'memory')} of {named} will be forgotten; its files are kept. {back}"
    if args.dry_run:
        say(args.json, would, would_forget=count)
        return
    if on_terminal():
        confirm(args, would)
    count = memory.remove_folder(folder)
    sentence = f"Removed: {named}. {counted(count, 'memory')} forgotten; its files are kept. {back}"
    say(args.json, sentence, removed=folder, forgotten=count)


ACTIONS: Mapping[str, tuple[Callable[[Recollect, argparse.Namespace], int | None], str]] = {
    "list": (_list_folders, "list the folders"),
    "sync": (_sync_folders, "save what changed in all of them"),
    "remove": (
        _remove_folder,
        "forget the memories of FOLDER and stop following it; its files are kept",
    ),
}


@command(
    "  recollect add ~/notes\n  recollect add . --project harbor --watch\n"
    "  recollect add --transcripts\n  recollect add --list\n  recollect add --remove ~/notes",
    arg.argument("folder", "FOLDER", "the folder whose files become memories", nargs="?"),
    arg.argument(
        "--transcripts",
        "CLIENT",
        "save and follow the sessions of a coding agent instead: "
        f"{', '.join(transcript_clients())} (default: all that are found); "
        "FOLDER is where they are, if not in the usual place",
        nargs="?",
        const=EVERY,
    ),
    arg.flag(
        "--watch",
        "keep running and save changes, until Ctrl+C; without FOLDER: of all followed folders",
    ),
    arg.argument("--project -p", "NAME", "the memories' project (default: the folder's name)"),
    arg.group(
        "folders that were added",
        arg.one_of(
            *(
                arg.flag(f"--{name}", about, action="store_const", dest="action", const=name)
                for name, (_, about) in ACTIONS.items()
            )
        ),
        arg.flag("--dry-run", "with --remove: only say how many would be forgotten"),
        arg.flag("--yes", "with --remove: do not ask"),
    ),
    add_no_embed,
    add_redact,
    arg.rows(unless="folder"),
)
def add(args: argparse.Namespace) -> int | None:
    if args.action:
        return _run_action(args)
    if args.dry_run or args.yes:
        raise WrongUsage(f"--{'dry-run' if args.dry_run else 'yes'} is for --remove FOLDER.")
    places = (
        [] if args.watch and not (args.folder or args.transcripts) else _transcript_places(args)
    )
    with open_vault() as memory:
        done = Synced()
        for client, place in places:
            with late_progress("Reading") as advance:
                if client:
                    done.include(
                        memory.add_transcripts(place, client, redact=args.redact, progress=advance)
                    )
                else:
                    done = memory.add_folder(
                        place,
                        project=args.project,
                        follow=True if args.watch else None,
                        redact=args.redact,
                        progress=advance,
                    )
        if not (args.no_embed or args.watch):
            compute_vectors(memory)
        if places:
            report_sync(done, memory.waiting(), as_json=args.json, watching=args.watch)
        if args.watch:
            follow(memory)
    return None


@command(
    "  recollect mirror ~/notes/memories\n  recollect mirror ~/notes/memories --dry-run\n"
    "  recollect mirror --watch",
    arg.argument("folder", "FOLDER", "the folder (default: setting mirror.folder)", nargs="?"),
    arg.flag("--dry-run", "show what would happen; change nothing"),
    arg.flag("--watch", "keep running and sync every change, until Ctrl+C"),
    arg.flag("--adopt", "the first time, import the folder's existing files without asking"),
    arg.add_json,
)
def mirror(args: argparse.Namespace) -> int:
    if args.watch and (args.dry_run or args.json):
        raise WrongUsage("--watch cannot be combined with --dry-run or --json.")
    with open_vault() as memory:
        if not args.dry_run:
            warn_of_plain_text(memory, "the mirror")
            _confirm_adoption(memory, args)
        done = memory.mirror(args.folder, dry_run=args.dry_run)
        code = _print_mirrored(done, args)
        if not (args.dry_run or args.watch):
            compute_vectors(memory)
        if args.watch:
            stop = stop_event()
            print("Watching for changes. Press Ctrl+C to stop.", flush=True)
            memory.follow_mirror(args.folder, stop, partial(_print_mirror, args))
    return code


def _confirm_adoption(memory: Recollect, args: argparse.Namespace) -> None:
    """Ask before files become memories that no mirror of this vault has written: a folder that was
    named by mistake may hold anything."""
    if args.adopt or (args.folder and (Path(args.folder) / STATE).exists()):
        return
    planned = memory.mirror(args.folder, dry_run=True)
    count = sum(step.action in FROM_FILES for step in planned.steps)
    if count and not (planned.folder / STATE).exists():
        holds = counted(count, "Markdown file")
        confirm(args, f"{planned.folder} holds {holds}, to become memories.", "adopt")


def _print_mirror(args: argparse.Namespace, done: Mirrored | RecollectError) -> None:
    if isinstance(done, RecollectError):
        print(f"recollect: {done}", file=sys.stderr)
    else:
        _print_mirrored(done, args)
    sys.stdout.flush()


def _print_mirrored(done: Mirrored, args: argparse.Namespace) -> int:
    for path, reason in done.problems:
        print(f"{visible(' '.join(path.split()))}: {reason}", file=sys.stderr)
    if args.json:
        print_json(_mirror_json(done, dry_run=args.dry_run))
    else:
        _print_steps(done, dry_run=args.dry_run)
    if done.redacted:
        where = "only in the vault, the files are unchanged"
        print(f"recollect: {describe_counts(done.redacted)}; {where}.", file=sys.stderr)
    return 1 if done.problems else 0


def _mirror_json(done: Mirrored, *, dry_run: bool) -> dict[str, object]:
    problems = [{"path": path, "reason": reason} for path, reason in done.problems]
    facts = {
        "folder": str(done.folder),
        "dry_run": dry_run,
        "steps": [step._asdict() for step in done.steps],
        "unchanged": done.unchanged,
        "problems": problems,
    }
    return facts | ({"redacted": dict(done.redacted)} if done.redacted else {})


def _print_steps(done: Mirrored, *, dry_run: bool) -> None:
    """Print conflicts one by one, and in a dry run everything; the rest is counted."""
    for step in done.steps:
        if dry_run or step.action == "conflict" or step.note:
            more = f" ({step.note})" if step.note else ""
            print(visible(" ".join(f"{MIRROR_DONE[step.action]}: {step.path}{more}".split())))
    counts = Counter(step.action for step in done.steps)
    parts = [
        f"{counts[action]:,} {words}" for action, words in MIRROR_DONE.items() if action in counts
    ]
    if done.problems:
        parts.append(f"{len(done.problems):,} skipped")
    line = ", ".join([*parts, f"{done.unchanged:,} unchanged"])
    print(f"Dry run: {line}." if dry_run else f"{line}.")
