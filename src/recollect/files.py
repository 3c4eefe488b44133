"""Writing a file so that whoever reads meanwhile sees the old one or the new one, never half."""

from __future__ import annotations

import os
from pathlib import Path


def write_whole(file: Path, text: str) -> None:
    """Write beside it, make it durable, put it in its place; a failure leaves nothing behind."""
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
