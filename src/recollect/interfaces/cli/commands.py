"""Every command: which module has it, what it does, and where the overview shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, NamedTuple, TypeVar

from recollect.errors import UserError
from recollect.query.spelling import within

Run = TypeVar("Run", bound=Callable[..., Any])


class DeclaredCommand(NamedTuple):
    """An example, what adds the arguments to a parser, and what runs: `run(args)` returns the
    exit code, None for 0; of a command that only `reads`, `run(memory, args)` returns the text that
    is printed."""

    example: str
    arguments: tuple[Callable[[Any], object], ...]
    run: Callable[..., Any]
    reads: bool


DECLARED: dict[str, DeclaredCommand] = {}  # by name; filled as modules are imported


def command(
    example: str, *arguments: Callable[[Any], object], reads: bool = False
) -> Callable[[Run], Run]:
    """Declare the command that is named like the function, but for a `_` at its end."""

    def declare(run: Run) -> Run:
        DECLARED[run.__name__.rstrip("_")] = DeclaredCommand(example, arguments, run, reads)
        return run

    return declare


# Command → (module, what it does). The module is imported when the command is called; a name with
# dots is in a package of its own.
COMMANDS = {
    "save": ("save", "save one memory and print its id"),
    "import": ("transfer", "save many memories, from JSON Lines or from another tool"),
    "export": ("transfer", "write every memory, as JSON Lines or as Markdown files"),
    "add": ("folders", "save a folder's files as memories, and follow its changes"),
    "folders": ("folders", "list, sync, watch or remove the folders that were added"),
    "mirror": ("folders", "keep the vault and a folder of Markdown files in sync"),
    "search": ("search", "search the memories; --explain shows why each result is there"),
    "find": ("find", "find a memory while you type, and open, edit, copy or forget it"),
    "show": ("browse", "show whole memories, details included"),
    "related": ("search", "show other memories about what one is about"),
    "list": ("browse", "browse memories: pinned first, then captures, then files"),
    "clip": ("desktop", "copy memories to the clipboard"),
    "edit": ("save", "change a memory, or many"),
    "pin": ("organise", "pin memories: they become tier core, the most trusted"),
    "unpin": ("organise", "make pinned memories ordinary ones again"),
    "tag": ("organise", "add tags to memories, or remove them"),
    "tags": ("organise", "count the tags, rename or merge them"),
    "projects": ("organise", "count the memories of each project"),
    "move": ("organise", "move memories to another project or space"),
    "history": ("browse", "show what a memory was before, change by change"),
    "timeline": ("browse", "show what was saved and changed around a memory or a time"),
    "undo": ("undo", "take back your last change, or that of one memory"),
    "redo": ("undo", "do again what your last undo took back"),
    "forget": ("undo", "remove memories; --undo brings them back"),
    "supersede": ("organise", "put a memory in the place of another that no longer holds"),
    "merge": ("organise", "make one memory of several that say the same"),
    "trash": ("undo", "list or search what was forgotten; --empty deletes it permanently"),
    "context": ("browse", "show what an agent should know when it starts"),
    "feedback": ("recipes", "say whether a result was right; the ranking learns from it"),
    "recipes": ("recipes", "list, show, check or compare recipes, the declared rankings"),
    "eval": (
        "recollect_evaluation.commands.eval",
        "measure how well each recipe finds the right answers",
    ),
    "suite": ("recollect_evaluation.commands.suite", "score each recipe on ten kinds of query"),
    "models": ("models", "list the installed models, or switch to another one"),
    "reindex": ("upkeep", "rebuild the indexes and compute missing vectors"),
    "doctor": ("upkeep", "check the vault; --fix repairs it"),
    "backup": ("upkeep", "copy the vault to a file, verified, while others use it"),
    "restore": ("upkeep", "bring forgotten memories back, or the vault from a backup"),
    "duplicates": ("review", "find memories that say the same"),
    "review": ("review", "decide on contradictions, duplicates, what expires and more"),
    "policies": ("review", "show what becomes of memories as time passes"),
    "tidy": ("review", "apply the policies; --dry-run says what they would do"),
    "config": ("config", "show, change or check the settings"),
    "stats": ("upkeep", "count what the vault holds"),
    "copy": (
        "recollect_postgres.commands.copy",
        "copy a vault between a file and PostgreSQL, both ways, and compare both",
    ),
    "migrate": (
        "recollect_postgres.commands.migrate",
        "bring the tables of a vault in PostgreSQL up to date",
    ),
    "vault": ("vaults", "encrypt the vault with a passphrase: lock, unlock, rekey, status"),
    "vaults": ("vaults", "search other vaults too: list, add, remove, trust"),
    "collections": ("vaults", "list, add or remove shared collections"),
    "publish": ("vaults", "copy memories into a shared collection"),
    "setup": ("setup", "register the MCP server with Claude Code, Cursor, Codex and others"),
    "hook": ("hook", "answer an event of a coding agent; `setup CLIENT --hooks` installs it"),
    "mcp": ("mcp", "serve the memories to agents over the Model Context Protocol"),
    "serve": ("serve", "serve the HTTP API, MCP and the web page on this machine"),
    "open": ("desktop", "open the page of the running server, or of a memory, or its file"),
    "token": ("access", "create and revoke limited access tokens"),
    "sessions": ("access", "list the browsers that are logged in, and end their sessions"),
    "audit": ("access", "show who wrote what, and what was refused"),
    "demo": ("demo", "try it: a temporary vault, searched and explained"),
    "completion": ("completion", "print the completion script for bash, zsh, fish or PowerShell"),
    "schema": ("schemas", "print the JSON schema of what a command prints with --json"),
    "version": ("upkeep", "print the version, and what it runs on"),
}
# What one wants → the commands for it, as the overview shows them.
GROUPS = {
    "Most used": "search save show list context",
    "Find": "find related projects tags history timeline trash duplicates clip feedback demo",
    "Keep": "import add folders mirror export backup restore",
    "Organise": "edit tag move pin unpin forget undo redo supersede merge review policies tidy",
    "Share": "setup hook mcp serve open vaults collections publish token sessions audit",
    "Look after": "doctor config stats reindex migrate copy vault recipes models eval suite "
    "completion schema version",
}
# What people type who know other programs.
ALIASES = {"ls": "list", "rm": "forget"}
# Such a package → the extra that installs it.
EXTRAS = {"recollect_evaluation": "eval", "recollect_postgres": "postgres"}
TWO_ERRORS = 6  # letters from which a word with two errors is still that word


def command_of(name: str) -> DeclaredCommand:
    """Import the module of a command; raise UserError where its package is not installed."""
    module = COMMANDS[name][0]
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


def overview() -> str:
    """What `recollect --help` prints."""
    lines = []
    for group, names in GROUPS.items():
        lines += [f"{group}:", *(f"  {name:<11} {COMMANDS[name][1]}" for name in names.split()), ""]
    return "\n".join(
        [
            "usage: recollect [--passphrase-file FILE] COMMAND [options]",
            "       recollect WORDS                 the same as recollect search WORDS",
            "",
            "Memory search for AI agents and the people they work for.",
            "",
            *lines,
            "`recollect help COMMAND` explains a command and shows an example.",
            "The vault is in $RECOLLECT_HOME, or else in your user data directory.",
            "--passphrase-file FILE: the file's first line opens a locked vault.",
            "New here? Try `recollect demo`.",
            "",
        ]
    )


def near_misses(typed: str, known: Iterable[str]) -> list[str]:
    """Those of the known names that a typing error may have turned into this one; where there are
    none, those that two may have."""
    names = [*known]
    for errors in (1,) if len(typed) < TWO_ERRORS else (1, 2):
        if found := [name for name in names if within(typed.lower(), name, errors)]:
            return found
    return []


def did_you_mean(names: list[str]) -> str:
    """A question with the names, after a space; nothing where there are none."""
    return f" Did you mean {' or '.join(names)}?" if names else ""
