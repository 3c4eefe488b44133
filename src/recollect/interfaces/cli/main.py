"""`recollect`: finds the command, runs it, and turns errors into one line and an exit code."""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress

TYPE_CHECKING = False  # what typing.TYPE_CHECKING is, without the time to import typing
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

# Command → (module, what it does). The module is imported when the command is called.
COMMANDS = {
    "save": ("save", "save one memory; prints its id"),
    "import": ("import_", "save many memories, from JSON Lines or from another tool"),
    "export": ("export", "write every memory, as JSON Lines or as Markdown files"),
    "add": ("add", "make memories of a folder's files, and follow its changes"),
    "folders": ("folders", "the folders that were added: list, sync, watch, remove"),
    "mirror": ("mirror", "keep the vault and a folder of Markdown files equal"),
    "search": ("search", "search, with a reason for every rank"),
    "show": ("show", "whole memories, details included"),
    "list": ("list_", "browse: core, then captures, then files; newest first"),
    "edit": ("edit", "change a memory"),
    "pin": ("pin", "make memories core, the most trusted tier"),
    "forget": ("forget", "remove memories; --undo brings them back"),
    "context": ("context", "what an agent should know when it starts"),
    "feedback": ("feedback", "say whether a result was right; teaches the ranking"),
    "recipes": ("recipes", "the declared rankings: list, show, check, diff"),
    "eval": ("eval_", "how well each recipe finds what it should, with intervals"),
    "suite": ("suite", "ten kinds of query, scored for each recipe"),
    "models": ("models", "the models in the box: which are active, what they cost"),
    "reindex": ("reindex", "rebuild the indexes and make missing vectors"),
    "doctor": ("doctor", "check the vault, and mend what can be mended"),
    "stats": ("stats", "what the vault holds and what waits"),
    "vault": ("vault", "encrypt the vault under a passphrase: lock, unlock, rekey, status"),
    "vaults": ("vaults", "other vaults that a search spans: list, add, remove, trust"),
    "collections": ("collections_", "shared collections: list, add, remove"),
    "publish": ("publish", "copy memories into a shared collection"),
    "setup": ("setup", "register the MCP server with Claude Code, Cursor, Codex and others"),
    "mcp": ("mcp", "serve the memories to agents over the Model Context Protocol"),
    "serve": ("serve", "HTTP API, MCP and the web page, on this machine"),
    "token": ("token", "let others call the server, to do only so much"),
    "audit": ("audit", "what was written and what was refused, and for whom"),
    "demo": ("demo", "a throw-away vault, searched and explained"),
}
USAGE = 2
FAILED = 1
INTERRUPTED = 130


def entry() -> NoReturn:
    """The installed command: start and leave as quickly as Python allows.

    Collecting garbage while importing finds none; and since the vault is closed and everything
    printed, the process may end without taking the interpreter apart first.
    """
    gc.disable()
    _set_up_streams()
    code = main()
    with suppress(OSError, ValueError):  # the reader, `head` say, has gone
        sys.stdout.flush()
    os._exit(code)


def _set_up_streams() -> None:
    """What is printed is UTF-8 whatever the locale, and goes nowhere where a stream is closed."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115
        else:
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    from recollect.errors import RecollectError  # noqa: PLC0415  start-up time

    try:
        code = _dispatched(list(sys.argv[1:] if arguments is None else arguments))
        sys.stdout.flush()
        return code
    except RecollectError as error:
        return failed(str(error), getattr(error, "exit_code", FAILED))
    except BrokenPipeError:  # the reader, `head` say, has seen enough
        return 0
    except OSError as error:
        what = f"{error.filename} cannot be used" if error.filename else "Nothing can be printed"
        return failed(f"{what}: {error.strerror}.", FAILED)
    except KeyboardInterrupt:
        return failed("Interrupted; what was saved before is kept.", INTERRUPTED)


def _dispatched(argv: list[str]) -> int:
    if argv in (["--version"], ["-V"]):
        from recollect.version import __version__  # noqa: PLC0415  start-up time: nothing else

        print(f"recollect {__version__}")
        return 0
    if argv[:1] == ["--passphrase-file"] and len(argv) > 1:
        # As a setting: every command then finds it, and what it starts as well.
        os.environ["RECOLLECT_VAULT__PASSPHRASE_FILE"] = argv[1]
        argv = argv[2:]
    if not argv or argv[0] in ("-h", "--help", "help"):
        print(overview(), end="")
        return 0
    if argv[0] not in COMMANDS:
        known = ", ".join(COMMANDS)
        return failed(f"There is no command {argv[0]!r}; there are: {known}.", USAGE)
    return _run(argv[0], argv[1:])


def _run(name: str, argv: list[str]) -> int:
    from importlib import import_module  # noqa: PLC0415  start-up time: `--version` needs none

    from recollect.interfaces.cli.arguments import parser_of  # noqa: PLC0415  start-up time

    module, about = COMMANDS[name]
    command = import_module(f"recollect.interfaces.cli.{module}")
    try:
        parsed = parser_of(name, about, command).parse_args(argv)
    except SystemExit as leaving:  # the help is printed, or what is wrong is said
        return int(leaving.code or 0)
    gc.enable()
    code: int = command.run(parsed)
    return code


def failed(sentence: str, code: int) -> int:
    """One line on stderr, whatever the sentence holds."""
    with suppress(OSError):  # the exit code still tells
        print("recollect: " + " ".join(sentence.split()), file=sys.stderr, flush=True)
    return code


def overview() -> str:
    """What `recollect --help` prints."""
    lines = [f"  {name:<11} {about}" for name, (_, about) in COMMANDS.items()]
    return "\n".join(
        [
            "usage: recollect [--passphrase-file FILE] COMMAND [options]",
            "",
            "Memory search for AI agents and the people they work for.",
            "",
            *lines,
            "",
            "`recollect COMMAND --help` says more, with an example. The vault is in",
            "$RECOLLECT_HOME, else in the user data directory. New here? `recollect demo`.",
            "--passphrase-file: its first line opens a vault that is locked.",
            "",
        ]
    )


if __name__ == "__main__":
    entry()
