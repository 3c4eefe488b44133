"""The memory of another process, as a debugger reads it."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

import pytest

from patience import until
from recollect.interfaces.server_processes import STATE

PLACE = re.compile(r"([0-9a-f]+)-([0-9a-f]+) rw")  # what a program can have written


def occurrences(pid: int, text: str) -> int:
    """Count how often the text is in the memory of that process."""
    count = 0
    try:
        process = Path("/proc") / str(pid)
        with (process / "maps").open() as maps, (process / "mem").open("rb", 0) as memory:
            for line in maps:
                if place := PLACE.match(line):
                    start, end = (int(number, 16) for number in place.groups())
                    memory.seek(start)
                    with suppress(OSError):  # the process has given it back meanwhile
                        count += memory.read(end - start).count(text.encode())
    except FileNotFoundError:
        pytest.skip("needs /proc/PID/mem, which Linux has")
    except PermissionError:
        pytest.skip("may not read the memory of its own child here")
    return count


def wait_until_fresh(pid: int) -> None:
    """Wait until the process has replaced itself, as it does after the idle lock."""
    state, environment = f"{STATE}=".encode(), Path(f"/proc/{pid}/environ")
    until(lambda: state in environment.read_bytes())
