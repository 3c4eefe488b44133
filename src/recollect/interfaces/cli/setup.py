"""`recollect setup`."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from recollect.errors import UserError
from recollect.interfaces.cli import arguments as arg
from recollect.interfaces.cli.arguments import WrongUsage
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.output import BOLD, CYAN, DIM, GREEN, paint, print_json, print_rows
from recollect.interfaces.setup.agent_files import (
    BLOCK,
    find_protocol,
    hooks_file,
    instruction_file,
    plan_block,
    plan_hook_removal,
    plan_hooks,
)
from recollect.interfaces.setup.clients import CLIENTS, Client, Machine, find_client
from recollect.interfaces.setup.registration import (
    FileChange,
    check_name,
    entry_state,
    plan_entry,
    plan_removal,
    server_address,
    server_command,
)
from recollect.present.sentences import visible

RED = "31"
COLOURS = {"+": GREEN, "-": RED, "@": CYAN}
STATES = {"yes": "yes", "no": "-", "differs": "other command", "unreadable": "unreadable"}
# The sentence for a change of the server's entry, hooks or instructions.
SAID = {
    "server": {
        "added": "{name} {is} registered with {title}.",
        "updated": "{name} {was} already registered with {title}; its entry {is} updated.",
        "removed": "{name} {is_no_longer} registered with {title}.",
    },
    "hooks": {
        "added": "The hooks {are} installed in {title}.",
        "updated": "The hooks in {title} {are} updated.",
        "removed": "The hooks {are} removed from {title}.",
    },
    "instructions": {
        "added": "The instructions {are} written for {title}.",
        "updated": "The instructions for {title} {are} updated.",
        "removed": "The instructions for {title} {are} removed.",
    },
}
DONE = {"is": "is", "are": "are", "was": "was", "is_no_longer": "is no longer"}
WOULD = {"is": "would be", "are": "would be", "was": "is", "is_no_longer": "would no longer be"}
UNCHANGED = {
    "server": (
        "{name} is already registered with {title}",
        "{name} is not registered with {title}",
    ),
    "hooks": ("The hooks are already installed in {title}", "{title} has no hooks of Recollect"),
    "instructions": (
        "The instructions for {title} are already there",
        "There are no instructions for {title}",
    ),
}


@command(
    """\
  recollect setup --list
  recollect setup claude-code --dry-run
  recollect setup cursor --project
  recollect setup claude-code --hooks
  recollect setup codex --url http://127.0.0.1:7117/mcp --token-env TOKEN
  recollect setup codex --instructions --project
  recollect setup codex --remove""",
    arg.argument("client", "CLIENT", f"one of: {', '.join(CLIENTS)}", nargs="?"),
    arg.one_of(
        arg.flag("--list", "list the clients, their files, and where the server is registered"),
        arg.flag("--remove", "remove the entry"),
    ),
    arg.one_of(
        arg.flag("--hooks", "install hooks instead: automatic recall and capture"),
        arg.flag(
            "--instructions",
            "tell the agent in its AGENTS.md or CLAUDE.md instead when to search and to save",
        ),
    ),
    arg.flag("--project", "change the project's file instead of your own"),
    arg.argument("--name", "NAME", "the entry's name (default: recollect)", default="recollect"),
    arg.argument("--home", "FOLDER", "the vault's folder for this client (RECOLLECT_HOME)"),
    arg.argument(
        "--url", "URL", "register a running server (`recollect serve`) instead of a command"
    ),
    arg.argument(
        "--token-env", "NAME", "with --url: the client's environment variable that holds the token"
    ),
    arg.flag("--dry-run", "show the change; write nothing"),
    arg.rows(unless="client"),
)
def setup(args: argparse.Namespace) -> int:
    name = check_name(args.name)
    machine = Machine(os.environ)
    project = _project_root() if args.project else None
    if args.client is None:
        if args.remove or args.home or args.dry_run or args.hooks or args.instructions or args.url:
            raise WrongUsage("Name a client; `recollect setup --list` lists them.")
        return _list(machine, name, project, args)
    if args.list:
        raise WrongUsage("--list lists every client. Leave CLIENT out.")
    if args.remove and args.home:
        raise WrongUsage("--home and --remove cannot be combined.")
    if args.url and (args.remove or args.home or args.hooks or args.instructions):
        raise WrongUsage("--url cannot be combined with --remove, --home, --hooks, --instructions.")
    if args.token_env and not args.url:
        raise WrongUsage("--token-env needs --url.")
    chosen = find_client(args.client)
    change, after = _plan(chosen, machine, project, name, args)
    fresh = not change.file.parent.exists()
    if not args.dry_run:
        change.carry_out()
    if args.json:
        _print_json(chosen, change, args)
    else:
        _print(chosen, change, args, after, fresh=fresh)
    return 0


def _plan(
    client: Client, machine: Machine, project: Path | None, name: str, args: argparse.Namespace
) -> tuple[FileChange, str]:
    """Return the change that the arguments ask for, and the next step after it."""
    home = None if args.home is None else _folder(machine, args.home)
    started = server_command(machine.environment, home)
    if args.hooks:
        protocol = find_protocol(client.name)
        file = hooks_file(protocol, machine, project)
        if args.remove:
            return plan_hook_removal(protocol, file), protocol.next
        return plan_hooks(protocol, file, started), protocol.next
    if args.instructions:
        file = instruction_file(client.name, machine, project)
        return plan_block(file, None if args.remove else BLOCK), "Start a new session."
    file = client.file(machine, project)
    if args.remove:
        return plan_removal(client, file, name), client.next
    reached = started if args.url is None else server_address(args.url, args.token_env or "")
    return plan_entry(client, file, name, reached), client.next


def _project_root() -> Path:
    """Return the root of the working directory's repository, or the directory itself."""
    try:
        folder = Path.cwd()
    except OSError as error:
        raise UserError("--project: the working directory no longer exists.") from error
    above = (path for path in (folder, *folder.parents) if (path / ".git").exists())
    return next(above, folder)


def _folder(machine: Machine, path: str) -> Path:
    if not path:
        raise WrongUsage("--home: name a folder.")
    return Path(os.path.abspath(machine.expand(path)))  # noqa: PTH100  `..` goes, links stay


def _list(machine: Machine, name: str, project: Path | None, args: argparse.Namespace) -> int:
    started = server_command(machine.environment, None)
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
                "installed": known.is_installed(machine),
                "registered": entry_state(known, file, name, started),
            }
        )
    if args.json:
        print_rows(args, rows)
        return 0
    heads = f"{'CLIENT':<15}{'INSTALLED':<11}{'REGISTERED':<16}FILE"
    print(paint(heads, BOLD))
    for row in rows:
        installed = "yes" if row["installed"] else "-"
        registered = STATES[str(row["registered"])]
        line = f"{row['client']:<15}{installed:<11}{registered:<16}{visible(str(row['file']))}"
        print(line if row["installed"] else paint(line, DIM))
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


def _subject(args: argparse.Namespace) -> str:
    return "hooks" if args.hooks else "instructions" if args.instructions else "server"


def _print(
    client: Client, change: FileChange, args: argparse.Namespace, after: str, *, fresh: bool
) -> None:
    words = {"name": args.name, "title": client.title}
    if change.action == "none":
        status = UNCHANGED[_subject(args)][args.remove].format(**words)
        print(f"{status}; {change.file} is unchanged.")
        return
    for line in change.diff():
        colour = COLOURS.get(line[:1])
        print(paint(visible(line), colour) if colour else visible(line))
    print()
    tense = WOULD if args.dry_run else DONE
    print(SAID[_subject(args)][change.action].format(**words, **tense))
    for note in _next_steps(client, change, args, after, fresh=fresh):
        print(note)


def _next_steps(
    client: Client, change: FileChange, args: argparse.Namespace, after: str, *, fresh: bool
) -> list[str]:
    """Return notes on the change, and the next step."""
    notes = []
    starts = not (args.remove or args.instructions or args.url)  # the entry starts a command
    if starts and not args.home and os.environ.get("RECOLLECT_HOME"):
        notes.append(
            f"RECOLLECT_HOME is set here, so the entry sets it too: {client.title} may not see "
            "your shell's environment."
        )
    if starts and args.project:
        notes.append("The entry holds the command's path on this machine; it may differ on others.")
    if args.dry_run:
        return [*notes, f"Nothing was written to {change.file}."]
    if fresh:
        notes.append(f"{change.file.parent} did not exist. Is {client.title} installed?")
    if args.remove:
        return [*notes, f"Restart {client.title} to apply the change."]
    return [*notes, f"Next: {after}"]
