"""Secrets found late: in memories saved before a rule for them existed, or with redaction off.

A look goes on where the last one stopped, by the memories' keys, and reads so many at a time; what
changed since then it reads again. With other rules it begins anew. What was found is noted in the
vault by id, and checked each time it is shown.
"""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

import msgspec

from recollect.engine.session import Session
from recollect.errors import StoreError
from recollect.times import to_micros

NOTE = "secrets_looked_for"  # in `meta`
AT_ONCE = 5_000  # memories: a second of work
MOST_NOTED = 1_000
OFTEN = 100  # changed memories: they need not all be read again the next time


class LateSecret(NamedTuple):
    """A memory, and the kinds of secrets in it."""

    id: str
    kinds: tuple[str, ...]


class Looked(msgspec.Struct):
    """How far the look came: up to this key, at this time, by these rules."""

    rules: str = ""
    key: int = 0
    at: int = 0
    found: list[str] = msgspec.field(default_factory=list)


def late_secrets(session: Session) -> list[LateSecret]:
    """What was found so far, after a look at the next memories."""
    if not session.settings.secrets.redact:
        return []
    reviews, rules = session.store.reviews, session.redaction.rules
    noted = reviews.note(NOTE)
    looked = msgspec.json.decode(noted, type=Looked) if noted else Looked()
    if looked.rules != rules:
        looked = Looked(rules)
    keys = reviews.unchecked(looked.key, looked.at, AT_ONCE)
    ids = dict.fromkeys([*looked.found, *(id for _, id in keys)])
    found = [
        LateSecret(memory.id, kinds)
        for memory in session.store.memories.get(list(ids)).values()
        if (kinds := tuple(session.redaction.of_memory(memory)[1]))
    ]
    now = Looked(
        rules,
        max([looked.key, *(key for key, _ in keys)]),
        to_micros(session.clock()),
        [secret.id for secret in found[:MOST_NOTED]],
    )
    if (now.key, now.found) != (looked.key, looked.found) or len(keys) > OFTEN:
        with suppress(StoreError):  # a vault that cannot be written to is looked through again
            reviews.set_note(NOTE, msgspec.json.encode(now).decode())
    return found
