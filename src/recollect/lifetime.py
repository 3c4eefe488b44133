"""How long a process will use a vault."""

from __future__ import annotations

from enum import Enum


class Lifetime(Enum):
    ONCE = "once"  # a command: nothing is prepared for later, and what was saved is embedded
    LIBRARY = "library"  # a program: work is done at once, and only vectors in a thread
    SERVER = "server"  # stays: it keeps caches, and takes what other processes left
