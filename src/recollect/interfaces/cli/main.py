"""`recollect`: finds the command, runs it, and turns errors into one line and an exit code."""

import codecs
import gc
import os
import sys

# Start-up time: without `from __future__`, which would be one more module.
TYPE_CHECKING = False  # what typing.TYPE_CHECKING is, without the time to import typing
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence
    from typing import Any, NoReturn

    from recollect.interfaces.cli.commands import DeclaredCommand

USAGE = 2
FAILED = 1
FOUND_NOTHING = 1  # as grep has it
INTERRUPTED = 130
KEPT = "Interrupted. Everything saved so far is kept."


def entry() -> "NoReturn":
    """Run the installed command; start and exit as quickly as Python allows.

    Garbage collection finds nothing during imports, so it is off. At the end the vault is closed
    and everything is printed, so the process skips the interpreter's clean-up.
    """
    gc.disable()
    # Start-up time: `signal` would import enum.
    import _signal  # type: ignore[import-not-found]  # noqa: PLC0415  start-up time

    _signal.signal(_signal.SIGINT, _exit_on_interrupt)
    _set_up_streams()
    if _is_agent_call(sys.argv[1:]):
        from recollect.interfaces.cli.hook_process import guard  # noqa: PLC0415  start-up time

        guard(sys.argv[2:])
    code = main()
    try:  # noqa: SIM105  start-up time: `--version` needs no contextlib
        sys.stdout.flush()
    except (OSError, ValueError):  # the reader, `head` say, has gone
        pass
    os._exit(code)


# Sign that Recollect draws → its replacement on a terminal without UTF-8.
PLAIN_SIGNS = str.maketrans("·█…│├└─›→×", "-#~||`->>x")


def _exit_on_interrupt(*_: object) -> None:
    """Exit at once on Ctrl-C, before anything is written: an exception during the import of a
    native library would become an ImportError, or a crash."""
    print_error(KEPT, INTERRUPTED)
    os._exit(INTERRUPTED)


def _set_up_streams() -> None:
    """Print UTF-8 in any locale, and discard output to a closed stream. On a terminal whose locale
    lacks UTF-8, such as C, draw with ASCII signs, but print memories unchanged."""
    locale = next(filter(None, map(os.environ.get, ("LC_ALL", "LC_CTYPE", "LANG"))), "UTF-8")
    utf8 = "utf8" in locale.lower().replace("-", "")
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115
        elif utf8 or not stream.isatty():
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
        else:
            codecs.register_error("plain-signs", _encode_plain)
            stream.reconfigure(encoding="ascii", errors="plain-signs")


def _encode_plain(error: "Any") -> "tuple[bytes, int]":
    """Encode what ASCII lacks as UTF-8, with plain signs; an error handler for codecs."""
    text = error.object[error.start : error.end].translate(PLAIN_SIGNS)
    return text.encode(errors="backslashreplace"), error.end


def main(arguments: "Sequence[str] | None" = None) -> int:
    """Run one command; return the exit code."""
    argv = list(sys.argv[1:] if arguments is None else arguments)
    report = (
        print_error if {"-j", "--json", "--jsonl", "--fields"}.isdisjoint(argv) else _failed_json
    )
    try:
        code = _dispatch(argv)
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # the reader, `head` say, has seen enough
        return 0
    except OSError as error:
        what = f"{error.filename} cannot be used" if error.filename else "Cannot print"
        return report(f"{what}: {error.strerror}.", FAILED, "os_error")
    except KeyboardInterrupt:
        return report(KEPT, INTERRUPTED, "interrupted")
    except Exception as error:
        from recollect.errors import RecollectError  # noqa: PLC0415  start-up time

        if not isinstance(error, RecollectError):
            raise
        name = "".join(
            f"_{sign.lower()}" if sign.isupper() else sign for sign in type(error).__name__
        )
        return report(str(error), getattr(error, "exit_code", FAILED), name.lstrip("_"))


def _dispatch(argv: list[str]) -> int:
    if argv in (["--version"], ["-V"], ["version"]):
        from recollect.version import __version__  # noqa: PLC0415  start-up time: nothing else

        print(f"recollect {__version__}")
        return 0
    if argv[:2] == ["completion", "--line"]:
        from recollect.interfaces.cli.completion_line import complete  # noqa: PLC0415  start-up time

        print("\n".join(complete(argv[2:])))
        return 0
    if argv[:1] == ["--passphrase-file"] and len(argv) > 1:
        # As a setting: every command then finds it, and what it starts as well.
        os.environ["RECOLLECT_VAULT__PASSPHRASE_FILE"] = argv[1]
        argv = argv[2:]
    from recollect.interfaces.cli import commands  # noqa: PLC0415  start-up time
    from recollect.interfaces.cli.output import show  # noqa: PLC0415  start-up time

    if not argv or argv[0] in ("-h", "--help", "help"):
        if {*argv[1:]} <= {"--all", "--help", "-h"}:
            show(commands.overview(whole="--all" in argv).rstrip("\n"))
            return 0
        argv = [*argv[1:], "--help"]
    name, rest = commands.resolve(argv)
    if commands.is_command(name):
        return _run(name, rest)
    if name.startswith("-"):
        meant = commands.did_you_mean(
            commands.near_misses(name, ("--help", "--version", "--passphrase-file"))
        )
        return print_error(f"There is no option {name}.{meant} See: recollect --help", USAGE)
    near = commands.near_misses(name, [*commands.every_command(), "help"])
    if argv[-1] != "--help" and (not near or _begins_question(name)):
        return _run("search", argv)
    meant = commands.did_you_mean([f"`{each}`" for each in near])
    sentence = f"There is no command {name!r}.{meant} To search for words: recollect search WORDS"
    return print_error(sentence, USAGE)


def _begins_question(word: str) -> bool:
    """Return whether it is a word such as `how`, which is no typing error of `show`."""
    from recollect.query.terms import is_function_word  # noqa: PLC0415  start-up time

    return is_function_word(word.lower())


def _is_agent_call(argv: list[str]) -> bool:
    """Return whether an agent calls its hook; a person uses a terminal, --help, or --test."""
    if argv[:1] != ["hook"] or {"--test", "--help", "-h"}.intersection(argv):
        return False
    return sys.stdin is None or not sys.stdin.isatty()


def _run(name: str, argv: list[str]) -> int:
    """Run the command with these arguments; its errors name options, not parameters."""
    if _is_agent_call([name, *argv]):
        from recollect.interfaces.cli.hook_process import run  # noqa: PLC0415  start-up time

        return run(argv)
    from recollect.errors import UserError  # noqa: PLC0415  start-up time
    from recollect.interfaces.cli.arguments import parser_of  # noqa: PLC0415  start-up time
    from recollect.interfaces.cli.commands import command_of  # noqa: PLC0415  start-up time

    command, parser = command_of(name), parser_of(name)
    try:
        parsed = parser.parse_args(argv)
    except SystemExit as leaving:  # argparse has printed the help or the error
        return int(leaving.code or 0)
    try:
        return _run_parsed(command, parsed)
    except UserError as error:
        error.args = (parser.with_options(str(error)),)
        raise


def _run_parsed(command: "DeclaredCommand", parsed: "Namespace") -> int:
    if not command.reads:  # reading commands make little garbage
        import signal  # noqa: PLC0415  start-up time

        if signal.getsignal(signal.SIGINT) is _exit_on_interrupt:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        gc.freeze()  # exclude the imported modules from garbage collection
        gc.enable()
        code: int = command.run(parsed) or 0
        return code
    from recollect.engine import Recollect  # noqa: PLC0415  start-up time
    from recollect.interfaces.cli.output import show  # noqa: PLC0415  start-up time
    from recollect.lifetime import Lifetime  # noqa: PLC0415  start-up time

    with Recollect(lifetime=Lifetime.ONCE, interface="command line") as memory:
        answer = command.run(memory, parsed)
    text, found = answer if isinstance(answer, tuple) else (answer, True)
    if parsed.json or not text:  # no ids, no line
        print(text, end="\n" if text else "")
    else:
        show(text)
    return 0 if found or parsed.exit_zero else FOUND_NOTHING


def _failed_json(sentence: str, code: int, name: str) -> int:
    """Print the error as an `ErrorJson` with this name as its code; return the exit code."""
    import json  # noqa: PLC0415  start-up time

    print(json.dumps({"code": name, "message": " ".join(sentence.split())}), file=sys.stderr)
    return code


def print_error(sentence: str, code: int, name: str = "") -> int:
    """Print the sentence as one line on stderr; return the exit code. `name` is for JSON only."""
    try:  # noqa: SIM105  start-up time
        print("recollect: " + " ".join(sentence.split()), file=sys.stderr, flush=True)
    except OSError:  # the exit code still tells
        pass
    return code


if __name__ == "__main__":
    entry()
