"""Whether a regular expression that a user wrote may run on any text."""

from __future__ import annotations

import re


def problem_of(pattern: str) -> str:
    """Why the pattern is refused; empty where it is fine."""
    try:
        compiled = re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        return str(error)
    if compiled.match(""):
        return "it matches the empty text"
    if _repeats_repeats(pattern):
        return (
            "a repetition inside a repetition can take forever; make the inner one atomic, (?>…), "
            "or possessive, ++"
        )
    return ""


# An escape, a set, the opening of a group, its end, or a repetition without an upper bound.
_SIGNS = (
    r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|(?P<open>\((?P<atomic>\?>)?)|(?P<close>\))"
    r"|(?P<repeat>(?:[*+]|\{\d*,\})(?P<possessive>\+)?)"
)


def _repeats_repeats(pattern: str) -> bool:
    """Whether a group that repeats without bound contains a part that does too, as in `(a+)+`: on a
    text that almost matches, the number of ways to try doubles with every character."""
    groups = [[False, False]]  # whether the group is atomic, and whether something in it repeats
    closed = -1  # where a group ended in which something repeats
    for sign in re.finditer(_SIGNS, pattern, re.DOTALL):
        if sign["open"]:
            groups.append([sign["atomic"] is not None, False])
        elif sign["repeat"] and sign["possessive"] is None:
            if closed == sign.start():
                return True
            groups[-1][1] = True
        closed = -1
        if sign["close"] and len(groups) > 1:
            atomic, repeats = groups.pop()
            if repeats and not atomic:
                groups[-1][1] = True
                closed = sign.end()
    return False
