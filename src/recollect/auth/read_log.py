"""Reading the log of reads that `Audit` keeps: who searched, opened or recalled what, and when."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from recollect.auth.audit import READS, Read


class NumberedRead(NamedTuple):
    """A read and where its line ends, by which reads are told apart."""

    end: int
    read: Read


class ReadLog:
    """The log beside an audit log; without a file there is nothing in it."""

    def __init__(self, audit: Path | None) -> None:
        self._file = audit and audit.with_name(READS)

    def size(self) -> int:
        """A number that changes with each line, and is where the next one begins."""
        try:
            return 0 if self._file is None else self._file.stat().st_size
        except OSError:
            return 0

    def since(self, start: int) -> list[NumberedRead]:
        """The reads whose lines begin at `start` or behind it, oldest first."""
        try:
            return [] if self._file is None else list(_reads(self._file.read_bytes(), start))
        except OSError:
            return []


def _reads(whole: bytes, start: int) -> Iterator[NumberedRead]:
    decoder, end = msgspec.json.Decoder(Read), start
    for line in whole[start:].splitlines(keepends=True):
        end += len(line)
        with suppress(msgspec.DecodeError):  # written in half
            yield NumberedRead(end, decoder.decode(line))
