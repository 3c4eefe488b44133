"""`recollect clip`."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from base64 import b64encode
from collections.abc import Callable
from contextlib import suppress

from recollect.errors import UserError
from recollect.interfaces.cli.arguments import IDS
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.ids import meant
from recollect.interfaces.cli.opening import opened
from recollect.present.words import counted
from recollect.types import Memory

# A program that takes the text → the variable that says that its clipboard is there.
PROGRAMS = {
    "wl-copy": "WAYLAND_DISPLAY",
    "xclip -selection clipboard": "DISPLAY",
    "xsel --clipboard --input": "DISPLAY",
    "pbcopy": "HOME",
    "clip.exe": "PATH",
    "tmux load-buffer -w -": "TMUX",  # by itself it keeps what programs send for the terminal
}
PATIENCE_S = 5.0


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ids", metavar="ID", nargs="+", help=IDS)


@command("  recollect clip auth-jwt-001", arguments)
def clip(args: argparse.Namespace) -> int:
    with opened() as memory:
        found = memory.show(meant(memory, args.ids))
    text = "\n\n".join(map(text_of, found))
    if not copied(text, sys.stdout.write if sys.stdout.isatty() else None):
        raise UserError(
            "There is no clipboard: no program for one, and no terminal. Use `recollect show ID`."
        )
    print(f"{counted(len(found), 'memory')} copied.")
    return 0


def text_of(memory: Memory) -> str:
    return "\n\n".join(filter(None, (memory.title, memory.text, memory.details)))


def copied(text: str, to_terminal: Callable[[str], object] | None) -> bool:
    """Whether a program took the text, or else the terminal, which may hand it on even over ssh
    (OSC 52); None where there is none."""
    for program, variable in PROGRAMS.items():
        command = program.split()
        if os.environ.get(variable) and shutil.which(command[0]):
            # Its output goes nowhere: some stay, to serve what was copied, and would keep a pipe.
            with suppress(subprocess.SubprocessError):  # it failed, or waits for its display
                subprocess.run(
                    command, input=text.encode(), timeout=PATIENCE_S, check=True,
                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                )  # fmt: skip
                return True
    if to_terminal is None:
        return False
    to_terminal(f"\x1b]52;c;{b64encode(text.encode()).decode()}\x07")
    return True
