"""What a user said outright and meant to last: found in the turns of an agent's session.

`TRIGGERS`: without one of its own, a turn is not in that form. Most turns have none, and then no
pattern is compiled.
"""

from __future__ import annotations

from collections.abc import Mapping

from recollect.plugin.capture import CaptureForm

# What is longer was pasted; a person's own words come first.
LONGEST = 20_000
TRIGGERS: Mapping[CaptureForm, tuple[str, ...]] = {
    "correction": (
        " no ", " no,", " no:", " no.", " no!", " nope", "wrong", "incorrect", "not right",
        "not correct", "not how we", "i said", "already said", "told you", "asked you",
    ),
    "remember": (
        "remember", "keep in mind", "for the record", "for future reference", "note for",
    ),
    "from-now-on": (
        "from now on", "from here on", "going forward", "in future", "in the future", "henceforth",
        "next time",
    ),
    "prefer": ("prefer",),
    "never": ("never", " ever ", "must not", "mustn't", "mustn’t"),
    "always": ("always", "we only", "whenever you", "every time you", "each time you"),
}  # fmt: skip


def triggered(turn: str) -> frozenset[CaptureForm]:
    """The forms that the turn may be in."""
    small = f" {' '.join(turn[:LONGEST].casefold().split())} "
    return frozenset(
        form for form, triggers in TRIGGERS.items() if any(each in small for each in triggers)
    )
