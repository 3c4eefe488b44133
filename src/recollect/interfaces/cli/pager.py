"""A pager for text that is longer than the terminal's screen."""

import os
import sys

# Start-up time: modules that only long texts need are imported in the functions.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

VARIABLES = ("RECOLLECT_PAGER", "PAGER")  # the first that is set decides
DEFAULT = "less"
# Quit if the text fits after all, pass colours, leave the text on the screen. The user's own
# options come after these.
LESS = "-FRX"
NONE = ("", "cat")


def show(text: str) -> None:
    """Print a text with a line end, through the pager if it is longer than the terminal's
    screen."""
    command = _pager_command() if _is_long(text) else ()
    if not command or not _run_pager(command, text):
        print(text)


def _is_long(text: str) -> bool:
    """Return whether a terminal shows the text and has no room for one more line. Escapes count as
    characters: for a text that fits after all, the pager quits."""
    if not (sys.stdout.isatty() and sys.stdin is not None and sys.stdin.isatty()):
        return False
    try:
        columns, rows = os.get_terminal_size(sys.stdout.fileno())
    except (OSError, ValueError):
        return False
    if not rows or not columns or os.environ.get("TERM", "dumb") == "dumb":
        return False
    return sum(1 + len(line) // columns for line in text.splitlines()) >= rows


def _pager_command() -> "Sequence[str]":
    """Return the command of the pager; () if none is wanted or installed."""
    if os.environ.get("NO_PAGER"):
        return ()
    import shlex  # noqa: PLC0415  start-up time
    import shutil  # noqa: PLC0415  start-up time

    chosen = next((os.environ[name] for name in VARIABLES if name in os.environ), DEFAULT)
    try:
        command = shlex.split(chosen)
    except ValueError:  # a quote without its end
        return ()
    return command if command and command[0] not in NONE and shutil.which(command[0]) else ()


def _run_pager(command: "Sequence[str]", text: str) -> bool:
    """Show the text in the pager and wait until it ends; return False if it cannot be started. Only
    the pager receives Ctrl-C."""
    import signal  # noqa: PLC0415  start-up time
    import subprocess  # noqa: PLC0415  start-up time

    sys.stdout.flush()
    environment = os.environ | {
        "LESS": f"{LESS} {os.environ.get('LESS', '')}".strip(),
        "LESSCHARSET": os.environ.get("LESSCHARSET", "utf-8"),
    }
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, env=environment)
        process.communicate(f"{text}\n".encode(sys.stdout.encoding, sys.stdout.errors or "strict"))
    except OSError:
        return False
    finally:
        signal.signal(signal.SIGINT, before)
    return True
