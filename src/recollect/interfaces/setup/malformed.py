"""What an editor says about a text that it cannot read."""

from __future__ import annotations


class Malformed(Exception):
    """The text is not what its format demands; nothing may be written over it."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason if line is None else f"line {line}: {reason}")
