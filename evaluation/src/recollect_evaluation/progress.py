"""How an evaluation reports its progress."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

# Takes the name of a task and its number of steps; gives a function to call with the steps done.
Progress = Callable[[str, int], AbstractContextManager[Callable[[int], None]]]
