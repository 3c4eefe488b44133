"""A fresh process in place of this one: the same command and id, and nothing of the old memory.

After the idle lock no memory may be left in the process. Python cannot promise that of a running
one, so a server replaces its program by a new run of it: the operating system drops all memory of
the old. Files and sockets that are inheritable stay open, and so does the connection of a client.
"""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from recollect.errors import UserError

# What the old run hands on to the new one; the environment holds it from one to the other.
STATE = "RECOLLECT_RESUMED"


def possible() -> bool:
    """Whether a process can be replaced here. Windows starts another one, with another id."""
    return sys.platform != "win32" and bool(sys.executable)


def resumed() -> str | None:
    """What the run before this one handed on; None in a first run. Whatever this run starts does
    not see it."""
    return os.environ.pop(STATE, None)


def replace(state: str) -> NoReturn:
    """Run the same command again, in place of this one."""
    try:
        os.execve(sys.executable, sys.orig_argv, {**os.environ, STATE: state})
    except OSError as error:
        raise UserError(
            f"The vault is locked again, and this server cannot start anew: {error.strerror}. "
            "Start it yourself."
        ) from error
