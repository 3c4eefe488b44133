"""Command-line arguments that several commands share."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO

from recollect.errors import UserError
from recollect.interfaces import requests
from recollect.times import parse_time
from recollect.types import Filter, Search


class WrongUsage(UserError):
    """The command was called in a way that it cannot be called."""

    exit_code = 2


def check_action(
    command: str, action: str, names: Sequence[str], usages: Mapping[str, str]
) -> None:
    """WrongUsage for an action that is none, or that takes fewer or more names. `usages`: how each
    is called, `add NAME PATH`; what it can do without stands in brackets."""
    if action not in usages:
        raise WrongUsage(f"{action!r} is not an action; there are: {', '.join(usages)}.")
    usage = usages[action]
    most = usage.count(" ")
    if not most - usage.count("[") <= len(names) <= most:
        raise WrongUsage(f"It is called as `recollect {command} {usage}`.")


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Help 100 characters wide: asking the terminal would cost every command's start-up."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=100)


def parser_of(name: str, about: str, command: ModuleType) -> argparse.ArgumentParser:
    """A command's parser: its own arguments, and its example in the help."""
    parser = argparse.ArgumentParser(
        prog=f"recollect {name}",
        description=f"{about[0].upper()}{about[1:]}.",
        epilog=f"example:\n{command.EXAMPLE}",
        formatter_class=_Formatter,
        allow_abbrev=False,
    )
    command.arguments(parser)
    return parser


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")


def add_limit(parser: argparse.ArgumentParser, default: str) -> None:
    parser.add_argument(
        "--limit", type=int, metavar="N", help=f"at most so many (default: {default})"
    )


def add_filter(parser: argparse.ArgumentParser) -> None:
    """What a memory must satisfy; every one given must hold."""
    group = parser.add_argument_group("filters", "every one given must hold")
    where = group.add_mutually_exclusive_group()
    where.add_argument("--project", metavar="P", help="only this project")
    where.add_argument(
        "--here", action="store_true", help="only the project named after the working directory"
    )
    group.add_argument("--source", metavar="S", help="only from this source")
    group.add_argument(
        "--tag", dest="tags", action="append", default=[], metavar="T", help="only with this tag"
    )
    group.add_argument("--domain", metavar="D", help="only of this domain")
    group.add_argument("--kind", metavar="K", help="only of this kind")
    group.add_argument("--space", metavar="S", help="only in this space")
    group.add_argument("--since", metavar="D", help="changed since: 2026-03-01, 7d, 12h, 2w")
    group.add_argument("--until", metavar="D", help="changed until")


def add_now(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--now", metavar="T", help="pretend that it is this time (ISO 8601)")


def filter_of(args: argparse.Namespace, now: datetime) -> Filter:
    """The Filter that the arguments of `add_filter` ask for."""
    return requests.filter_of(named(args), now, "--")


def search_of(args: argparse.Namespace, now: datetime) -> Search:
    """The Search that the arguments of `recollect search` ask for."""
    return requests.search_of(named(args), now, "--")


def named(args: argparse.Namespace) -> dict[str, Any]:
    """The arguments by name; `--here` is a project."""
    return vars(args) | ({"project": here()} if args.here else {})


def now_of(args: argparse.Namespace, otherwise: datetime) -> datetime:
    return parse_time(args.now, "--now") if args.now else otherwise


def here() -> str:
    """The project named after the working directory, or after its repository's root."""
    try:
        folder = Path.cwd()
    except OSError as error:
        raise UserError("--here: the working directory is gone.") from error
    for candidate in (folder, *folder.parents):
        if (candidate / ".git").exists():
            return candidate.name
    return folder.name


FIELDS = (
    "text", "context", "why", "impact", "kind", "severity", "domain", "source", "tier", "space",
    "path", "valid-from", "valid-until", "created-at", "updated-at",
)  # fmt: skip
HELP = {
    "text": "what it says; - reads standard input",
    "kind": "decision, bug, preference, … (default: fact)",
    "severity": "critical, warning or suggestion",
    "tier": "core, file or capture (default: capture)",
    "valid-until": "when it stops being true (ISO 8601)",
}


def add_fields(parser: argparse.ArgumentParser) -> None:
    """A memory's fields as options."""
    group = parser.add_argument_group("fields")
    group.add_argument("--title", metavar="T", help="its title")
    for name in FIELDS:
        group.add_argument(f"--{name}", metavar="…", help=HELP.get(name))
    where = group.add_mutually_exclusive_group()
    where.add_argument("--project", metavar="P", help="the project it belongs to")
    where.add_argument(
        "--here", action="store_true", help="the project named after the working directory"
    )
    group.add_argument(
        "--details-file", metavar="F", help="a file with the long version; - reads standard input"
    )


def fields_of(args: argparse.Namespace) -> dict[str, Any]:
    """The memory's fields that were given."""
    names = ("title", "project", *(name.replace("-", "_") for name in FIELDS))
    given = {name: getattr(args, name) for name in names if getattr(args, name) is not None}
    if args.here:
        given["project"] = here()
    if given.get("text") == "-":
        if args.details_file == "-":
            raise WrongUsage("Only one of --text and --details-file can read standard input.")
        given["text"] = read_text("-")
    if args.details_file is not None:
        given["details"] = read_text(args.details_file)
    return given


def read_text(name: str) -> str:
    """A file's text, or standard input's; bytes that are not UTF-8 are refused."""
    try:
        return (standard_input().read() if name == "-" else Path(name).read_bytes()).decode()
    except OSError as error:
        raise UserError(f"{name} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        what = "Standard input" if name == "-" else name
        raise UserError(f"{what} is not valid UTF-8 text (byte {error.start}).") from error


def standard_input() -> BinaryIO:
    if sys.stdin is None:
        raise UserError("Standard input is closed, so nothing can be read from it.")
    return sys.stdin.buffer
