"""Reading TOML that people write, within bounds."""

from __future__ import annotations

import re
import tomllib
from typing import Any

# Settings for a thousand vaults; tomllib takes a second for as much.
MOST_CHARACTERS = 200_000
# Recipes need six; deeper tables would exhaust the stack of whoever walks through them.
DEEPEST = 20
# tomllib takes the square of a dotted key's length.
LONG_KEY = re.compile(r"(?<![\w-])(?:[\w-]++[\"']?[ \t]*+\.[ \t]*+[\"']?){50}")
TOO_DEEP = f"it is nested deeper than {DEEPEST} levels"


def toml_values(text: str) -> dict[str, Any]:
    """The values of the text. ValueError says why it cannot be read."""
    if len(text) > MOST_CHARACTERS:
        raise ValueError(f"it has {len(text):,} characters; at most {MOST_CHARACTERS:,} are read")
    if LONG_KEY.search(text):
        raise ValueError(TOO_DEEP)
    try:
        values = tomllib.loads(text)
    except RecursionError:
        raise ValueError(TOO_DEEP) from None
    level: list[Any] = [values]
    for _ in range(DEEPEST):
        level = [inner for value in level for inner in _members(value)]
        if not level:
            return values
    raise ValueError(TOO_DEEP)


def _members(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []
