"""Regular expressions that a user wrote, compiled by RE2.

Python's own matcher tries every choice again, which can take forever and cannot be stopped from
outside; RE2 takes time in step with the text.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from recollect.errors import UserError

LONGEST_PATTERN = 2_000  # characters; longer ones are lists of words, which need no pattern


@cache
def compile_pattern(pattern: str) -> Any:
    """Return the pattern as `re.compile` would; raise UserError that says why it cannot be used."""
    import re2  # noqa: PLC0415  start-up time: few users have patterns

    if len(pattern) > LONGEST_PATTERN:
        length = f"it has {len(pattern):,} characters"
        raise UserError(f"{length}; at most {LONGEST_PATTERN:,} are allowed")
    options = re2.Options()
    options.log_errors = False
    try:
        compiled = re2.compile(pattern, options)
    except (re2.error, UnicodeEncodeError) as error:
        reason = error.args[0]
        raise UserError(reason.decode() if isinstance(reason, bytes) else str(reason)) from error
    if compiled.match(""):
        raise UserError("it matches the empty text")
    return compiled
