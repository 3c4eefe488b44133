"""Opening the vault for a command, so that history says how a memory was changed."""

from __future__ import annotations

from functools import partial

from recollect.engine import Recollect

opened = partial(Recollect, interface="command line")
