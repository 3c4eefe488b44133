"""Files that other processes may change: opened safely, written as a whole."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO


def opened_regular(file: Path) -> BinaryIO | None:
    """The file, open for reading; None where it is not a regular file. It may have become a link or
    a pipe since it was found: neither is followed or waited for."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    handle = os.open(file, flags | getattr(os, "O_BINARY", 0))
    if stat.S_ISREG(os.fstat(handle).st_mode):
        return os.fdopen(handle, "rb")
    os.close(handle)
    return None


def write_whole(file: Path, text: str) -> None:
    """Replace the file's text. A reader sees the old text or the new one, never half: the text is
    written to a file beside it, made durable, then renamed. A failure leaves nothing behind."""
    import tempfile  # noqa: PLC0415  start-up time: few commands write files

    handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.stem}-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        Path(name).replace(file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
