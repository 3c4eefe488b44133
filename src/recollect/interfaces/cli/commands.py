"""Every command: which module has it, what it does, and where the overview shows it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple, TypeVar

from recollect.errors import UserError
from recollect.query.variants import within

Run = TypeVar("Run", bound=Callable[..., Any])


class DeclaredCommand(NamedTuple):
    """A command: an example, functions that add its arguments, and `run`. `run(args)` returns the
    exit code, None for 0; if the command only `reads`, `run(memory, args)` returns the text to
    print."""

    example: str
    arguments: tuple[Callable[[Any], object], ...]
    run: Callable[..., Any]
    reads: bool


DECLARED: dict[str, DeclaredCommand] = {}  # by name; filled as modules are imported


def command(
    example: str, *arguments: Callable[[Any], object], reads: bool = False
) -> Callable[[Run], Run]:
    """Declare the command that is named like the function: `tag_rename` is `tag rename`, `import_`
    is `import`."""

    def declare(run: Run) -> Run:
        name = run.__name__.rstrip("_").replace("_", " ")
        DECLARED[name] = DeclaredCommand(example, arguments, run, reads)
        return run

    return declare


# Command → (module, what it does). The module is imported when the command is called; a name with
# dots is another package. A command of two words is a subcommand.
COMMANDS = {
    "save": ("save", "save one memory and print its id"),
    "import": ("transfer", "save many memories from JSON Lines or another tool"),
    "export": ("transfer", "write all memories as JSON Lines or Markdown"),
    "add": ("folders", "save a folder's files as memories and follow changes"),
    "mirror": ("folders", "sync the vault with a folder of Markdown files"),
    "search": ("search", "search the memories; --explain says why each was found"),
    "find": ("find", "search while you type; open, edit, copy or forget"),
    "show": ("browse", "show whole memories, details included"),
    "related": ("search", "show similar memories"),
    "list": ("browse", "list memories: pinned first, then the newest"),
    "clip": ("desktop", "copy memories to the clipboard"),
    "edit": ("save", "change a memory, or many"),
    "pin": ("organise", "pin important memories; --off unpins"),
    "tag": ("organise", "add or remove tags; list, rename or merge them"),
    "tag list": ("organise", "count the memories of each tag"),
    "tag rename": ("organise", "rename a tag in every memory"),
    "tag merge": ("organise", "replace several tags by one"),
    "projects": ("organise", "count the memories of each project"),
    "move": ("organise", "move memories to another project or space"),
    "history": ("browse", "show the earlier versions of a memory"),
    "timeline": ("browse", "show what was saved and changed around a time"),
    "undo": ("organise", "undo your last change, or one memory's last change"),
    "redo": ("organise", "redo what you undid last"),
    "forget": ("organise", "move memories to the trash; --undo brings them back"),
    "supersede": ("organise", "mark a memory as replaced by a newer one"),
    "merge": ("organise", "merge memories that say the same"),
    "trash": ("organise", "list, search or empty the trash"),
    "trash restore": ("upkeep", "bring forgotten memories back, or a whole backup"),
    "context": ("browse", "show what an agent should know when it starts"),
    "feedback": ("recipes", "say whether a result was right; ranking learns from it"),
    "recipes": ("recipes", "show, check or compare recipes (the rankings)"),
    "eval": ("recollect_evaluation.eval_command", "measure how well recipes find answers"),
    "eval suite": ("recollect_evaluation.suite_command", "score recipes on ten kinds of query"),
    "models": ("recipes", "list the installed models, or switch to another"),
    "reindex": ("upkeep", "rebuild the indexes and compute missing vectors"),
    "doctor": ("upkeep", "check the vault; --fix repairs it"),
    "backup": ("upkeep", "copy the vault to a file and verify the copy"),
    "duplicates": ("review", "find memories that say the same"),
    "review": ("review", "decide on contradictions, duplicates and more"),
    "tidy": ("review", "apply your policies for old memories"),
    "config": ("config", "show, change or check the settings"),
    "stats": ("upkeep", "count what the vault holds"),
    "store": ("recollect_postgres.commands", "move a vault to PostgreSQL and back"),
    "store copy": (
        "recollect_postgres.commands", "copy a vault between a file and PostgreSQL"
    ),
    "store migrate": ("recollect_postgres.commands", "update the tables in PostgreSQL"),
    "vault": ("vaults", "encrypt the vault, search other vaults, publish"),
    "vault list": ("vaults", "list the vaults that searches include"),
    "vault add": ("vaults", "search another vault too"),
    "vault remove": ("vaults", "stop searching a vault; its memories are kept"),
    "vault trust": ("vaults", "search the vault of this project too"),
    "vault untrust": ("vaults", "stop searching the vault of this project"),
    "vault collections": ("vaults", "list, add or remove shared collections"),
    "vault publish": ("vaults", "copy memories into a shared collection"),
    "setup": ("setup", "connect Claude Code, Cursor, Codex and other clients"),
    "hook": ("agents", "answer a coding agent's event (see setup --hooks)"),
    "mcp": ("agents", "run the MCP server on standard input and output"),
    "serve": ("serve", "run the web page, HTTP API and MCP on this machine"),
    "open": ("desktop", "open the web page, or a memory's page or file"),
    "access": ("access", "manage tokens and sessions; show the audit log"),
    "access token": ("access", "create, list or revoke limited access tokens"),
    "access sessions": ("access", "list logged-in browsers and end their sessions"),
    "access audit": ("access", "show who changed what, and what was refused"),
    "demo": ("demo", "search a temporary vault with sample memories"),
    "completion": ("completion", "print completion for bash, zsh, fish or PowerShell"),
    "schema": ("schemas", "print the JSON schema of a command's --json"),
    "version": ("upkeep", "print the version"),
}  # fmt: skip
# The commands that the first screen explains, and groups of which it only lists the names. `help
# --all` explains all of them, and the rest as rarely needed.
FIRST = "search save find show list edit forget undo add import setup serve"
GROUPS = {
    "look": "context related history timeline",
    "organise": "tag pin supersede merge review tidy trash",
    "share": "export mirror vault access mcp",
    "maintain": "backup doctor config stats recipes demo",
}
HELP_OF_HELP = (
    "recollect help COMMAND explains a command and shows an example.",
    "recollect help --all explains all commands.",
    "recollect demo searches sample memories, if you are new here.",
    "Your memories are in $RECOLLECT_HOME, or else in your user data directory. If they are "
    "locked, put --passphrase-file FILE before COMMAND, with the passphrase in FILE's first line.",
)
# Alias → the words that replace it.
ALIASES = {
    "ls": "list", "rm": "forget", "tags": "tag", "unpin": "pin --off", "restore": "trash restore",
    "copy": "store copy", "migrate": "store migrate",
}  # fmt: skip
# Package → the extra that installs it.
EXTRAS = {"recollect_evaluation": "eval", "recollect_postgres": "postgres"}
WIDEST = 100  # columns; longer lines are hard to read
NARROWEST = 40
TWO_ERRORS = 6  # a word of at least this many letters may have two typing errors


@cache
def every_command() -> dict[str, tuple[str, str]]:
    """Return `COMMANDS` and those that operations declare. Called only for names that are not in
    `COMMANDS`, since it imports every operation."""
    declared = import_module("recollect.interfaces.cli.generated").operation_commands()
    return COMMANDS | {name: ("generated", about) for name, about in declared.items()}


def is_command(name: str) -> bool:
    return name in COMMANDS or name in every_command()


def about_command(name: str) -> str:
    """Return what a command does."""
    return (COMMANDS.get(name) or every_command()[name])[1]


def command_of(name: str) -> DeclaredCommand:
    """Import a command's module; raise UserError if its package is not installed."""
    module = (COMMANDS.get(name) or every_command()[name])[0]
    try:
        import_module(module if "." in module else f"recollect.interfaces.cli.{module}")
    except ModuleNotFoundError as error:
        if error.name not in EXTRAS:
            raise
        raise UserError(
            f"`recollect {name}` is in a package of its own; "
            f"run: pip install 'recollect-memory[{EXTRAS[error.name]}]'."
        ) from None
    return DECLARED[name]


def resolve(words: Sequence[str]) -> tuple[str, list[str]]:
    """Split a line into its command, one or two words, and the rest. Replace an alias; keep an
    unknown name."""
    words = [*ALIASES.get(words[0], words[0]).split(), *words[1:]]
    size = 2 if " ".join(words[:2]) in COMMANDS else 1
    return " ".join(words[:size]), words[size:]


def help_width() -> int:
    """Return the width of help: COLUMNS, else the terminal's up to WIDEST, else 80."""
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given):
        return max(int(given), NARROWEST)
    try:
        return min(os.get_terminal_size(sys.stdout.fileno()).columns, WIDEST) or 80
    except OSError:
        return 80


def wrap(text: str, hanging: int = 0) -> str:
    """Wrap a paragraph of help; indent all lines but the first by `hanging`."""
    import textwrap  # noqa: PLC0415  start-up time

    indent = " " * hanging
    return textwrap.fill(
        text, help_width(), subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def explain(names: Iterable[str]) -> str:
    """Return a line for each command: its name and what it does."""
    names = [*names]
    size = max(map(len, names), default=0)
    return "\n".join(wrap(f"  {name:<{size}}  {about_command(name)}", size + 4) for name in names)


def subcommands(name: str) -> list[str]:
    """Return the subcommands of a command."""
    return [each for each in COMMANDS if each.startswith(f"{name} ")]


def overview(*, whole: bool = False) -> str:
    """Return the text of `recollect --help`, or if `whole`, of `recollect help --all`."""
    if whole:
        shown = {*FIRST.split(), *" ".join(GROUPS.values()).split()}
        rest = sorted(name for name in every_command() if name not in shown and " " not in name)
        named = (f"{name.capitalize()}:\n{explain(each.split())}" for name, each in GROUPS.items())
        more = [*named, f"Rarely needed:\n{explain(rest)}"]
    else:
        lines = (f"  {name:<10}{each.replace(' ', ', ')}" for name, each in GROUPS.items())
        more = ["\n".join(["More commands:", *(wrap(line, 12) for line in lines)])]
    return "\n\n".join([
        "usage: recollect COMMAND [options]\n"
        "       recollect WORDS    the same as recollect search WORDS",
        wrap("Memory search for AI agents and the people they work for."),
        explain(FIRST.split()),
        *more,
        "\n".join(wrap(line, 2) for line in HELP_OF_HELP),
    ]) + "\n"  # fmt: skip


def near_misses(typed: str, known: Iterable[str]) -> list[str]:
    """Return the known names that are one typing error away, or else two."""
    names = [*known]
    for errors in (1,) if len(typed) < TWO_ERRORS else (1, 2):
        if found := [name for name in names if within(typed.lower(), name, errors)]:
            return found
    return []


def did_you_mean(names: list[str]) -> str:
    """Return ` Did you mean A or B?`, or "" without names."""
    return f" Did you mean {' or '.join(names)}?" if names else ""
