"""`recollect setup`."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from recollect.errors import UserError
from recollect.interfaces.cli.arguments import WrongUsage, add_json
from recollect.interfaces.cli.output import BOLD, CYAN, DIM, GREEN, print_json, styled
from recollect.interfaces.setup.clients import CLIENTS, Client, Machine, known_client
from recollect.interfaces.setup.registration import (
    FileChange,
    checked_name,
    planned,
    server,
    state,
    unplanned,
)
from recollect.present.visible import visible

EXAMPLE = """\
  recollect setup --list
  recollect setup claude-code --dry-run
  recollect setup cursor --project
  recollect setup codex --remove"""
RED = "31"
COLOURS = {"+": GREEN, "-": RED, "@": CYAN}
STATES = {"yes": "yes", "no": "-", "differs": "other command", "unreadable": "unreadable"}
DONE = {
    "added": "{name} is registered with {title}.",
    "updated": "{name} was already registered with {title}; its entry is updated.",
    "removed": "{name} is no longer registered with {title}.",
}
WOULD = {
    "added": "{name} would be registered with {title}.",
    "updated": "{name} is already registered with {title}; its entry would be updated.",
    "removed": "{name} would no longer be registered with {title}.",
}


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("client", metavar="CLIENT", nargs="?", help=f"one of: {', '.join(CLIENTS)}")
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "--list",
        action="store_true",
        help="list the clients, their files, and where the server is registered",
    )
    how.add_argument("--remove", action="store_true", help="remove the entry")
    parser.add_argument(
        "--project", action="store_true", help="change the project's file instead of your own"
    )
    parser.add_argument(
        "--name", metavar="NAME", default="recollect", help="the entry's name (default: recollect)"
    )
    parser.add_argument(
        "--home", metavar="FOLDER", help="the vault's folder for this client (RECOLLECT_HOME)"
    )
    parser.add_argument("--dry-run", action="store_true", help="show the change; write nothing")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    name = checked_name(args.name)
    machine = Machine(os.environ)
    project = _project() if args.project else None
    if args.client is None:
        if args.remove or args.home or args.dry_run:
            raise WrongUsage("Name a client; `recollect setup --list` lists them.")
        return _list(machine, name, project, as_json=args.json)
    if args.list:
        raise WrongUsage("--list lists every client. Leave CLIENT out.")
    if args.remove and args.home:
        raise WrongUsage("--home and --remove cannot be combined.")
    chosen = known_client(args.client)
    file = chosen.file(machine, project)
    if args.remove:
        change = unplanned(chosen, file, name)
    else:
        home = None if args.home is None else _folder(machine, args.home)
        change = planned(chosen, file, name, server(machine.environment, home))
    fresh = not file.parent.exists()
    if not args.dry_run:
        change.carry_out()
    if args.json:
        _print_json(chosen, change, args)
    else:
        _print(chosen, change, args, fresh=fresh)
    return 0


def _project() -> Path:
    """The root of the repository that the working directory is in, else that directory."""
    try:
        folder = Path.cwd()
    except OSError as error:
        raise UserError("--project: the working directory no longer exists.") from error
    above = (path for path in (folder, *folder.parents) if (path / ".git").exists())
    return next(above, folder)


def _folder(machine: Machine, path: str) -> Path:
    if not path:
        raise WrongUsage("--home: name a folder.")
    return Path(os.path.abspath(machine.expanded(path)))  # noqa: PTH100  `..` goes, links stay


def _list(machine: Machine, name: str, project: Path | None, *, as_json: bool) -> int:
    started = server(machine.environment, None)
    rows = []
    for known in CLIENTS.values():
        if project is not None and not known.project:
            continue
        file = known.file(machine, project)
        rows.append(
            {
                "client": known.name,
                "title": known.title,
                "file": str(file),
                "installed": known.installed(machine),
                "registered": state(known, file, name, started),
            }
        )
    if as_json:
        print_json(rows)
        return 0
    heads = f"{'CLIENT':<15}{'INSTALLED':<11}{'REGISTERED':<16}FILE"
    print(styled(heads, BOLD))
    for row in rows:
        installed = "yes" if row["installed"] else "-"
        registered = STATES[str(row["registered"])]
        line = f"{row['client']:<15}{installed:<11}{registered:<16}{visible(str(row['file']))}"
        print(line if row["installed"] else styled(line, DIM))
    return 0


def _print_json(client: Client, change: FileChange, args: argparse.Namespace) -> None:
    print_json(
        {
            "client": client.name,
            "file": str(change.file),
            "changed": change.action != "none" and not args.dry_run,
            "action": change.action,
            "diff": "".join(f"{line}\n" for line in change.diff()),
        }
    )


def _print(client: Client, change: FileChange, args: argparse.Namespace, *, fresh: bool) -> None:
    words = {"name": args.name, "title": client.title}
    if change.action == "none":
        status = "not registered" if args.remove else "already registered"
        print(f"{args.name} is {status} with {client.title}; {change.file} is unchanged.")
        return
    for line in change.diff():
        colour = COLOURS.get(line[:1])
        print(styled(visible(line), colour) if colour else visible(line))
    print()
    print((WOULD if args.dry_run else DONE)[change.action].format(**words))
    for note in _notes(client, change, args, fresh=fresh):
        print(note)


def _notes(
    client: Client, change: FileChange, args: argparse.Namespace, *, fresh: bool
) -> list[str]:
    """What else to know, and what to do next."""
    notes = []
    if not args.remove and not args.home and os.environ.get("RECOLLECT_HOME"):
        notes.append(
            f"RECOLLECT_HOME is set here, so the entry sets it too: {client.title} may not see "
            "your shell's environment."
        )
    if not args.remove and args.project:
        notes.append("The entry holds the command's path on this machine; it may differ on others.")
    if args.dry_run:
        return [*notes, f"Nothing was written to {change.file}."]
    if fresh:
        notes.append(f"{change.file.parent} did not exist. Is {client.title} installed?")
    if args.remove:
        return [*notes, f"Restart {client.title} to apply the change."]
    return [*notes, f"Next: {client.next}"]
