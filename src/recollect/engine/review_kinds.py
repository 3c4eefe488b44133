"""What wants a decision: one function for each kind of item, in the order in which they are shown.

Each reads the vault as it is, and knows nothing of what was decided. Another kind is another
function in KINDS; what is most urgent stands first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from typing import NamedTuple

import msgspec

from recollect.engine.browsing import expired as expired_memories
from recollect.engine.browsing import expiring as expiring_memories
from recollect.engine.capture import candidate_draft
from recollect.engine.comparison import compared
from recollect.engine.policies import tidy
from recollect.engine.session import Session
from recollect.errors import StoreError, UserError
from recollect.hashing import content_digest
from recollect.ingest.draft import complete
from recollect.times import day, moved, to_micros
from recollect.types import Choice, Memory, ReviewKind

SOON = timedelta(days=7)
UNUSED = timedelta(days=90)
SAID_SURE = 0.9  # so large a share of what is captured is worth keeping, by bench_capture.py
MOST = 1_000  # of a kind: more than anybody decides in one go
NOTE = "secrets_looked_for"  # in `meta`
AT_ONCE = 5_000  # memories: a second of work
MOST_NOTED = 1_000
OFTEN = 100  # changed memories: they need not all be read again the next time


class Found(NamedTuple):
    """Something that wants a decision. `ids`: the memories it is about; of duplicates the one to
    keep first, of contradictions the older first. `suggested`: what most people would do."""

    kind: ReviewKind
    ids: tuple[str, ...]
    why: str
    suggested: Choice
    choices: tuple[Choice, ...]
    sure: float = 1.0
    name: str = ""  # what it is about, where that is no memory
    memories: tuple[Memory, ...] = ()  # what would become one

    @property
    def id(self) -> str:
        named = "\0".join((self.kind, self.name, *sorted(self.ids)))
        return f"{self.kind}-{content_digest(named, 5).hex()}"


def candidates(session: Session) -> Iterator[Found]:
    """What a user said in a session that may be worth keeping."""
    choices: tuple[Choice, ...] = ("keep", "edit", "forget", "later")
    for each in session.store.candidates.waiting():
        why = f'Said in {each.client}, in the form "{each.form}": {each.place or each.session}.'
        found = Found("candidate", (), why, "keep", choices, SAID_SURE, each.mark.hex())
        proposal = candidate_draft(each)
        yield found._replace(memories=(complete(proposal, found.id, None, each.at),))


def secrets(session: Session) -> Iterator[Found]:
    for secret in late_secrets(session):
        why = f"It holds what looks like a secret: {', '.join(secret.kinds)}."
        yield Found("secret", (secret.id,), why, "edit", ("edit", "forget", "keep", "later"))


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
    """Memories with secrets, saved before a rule for them existed, or with redaction off: those
    found so far, after a look at the next memories. A look goes on where the last one stopped, by
    the memories' keys; what changed since then it reads again. With other rules it begins anew.
    What was found is noted in the vault by id, and checked each time it is shown."""
    if not session.settings.secrets.redact:
        return []
    reviews, redaction = session.store.reviews, session.redaction
    noted = reviews.note(NOTE)
    looked = msgspec.json.decode(noted, type=Looked) if noted else Looked()
    if looked.rules != redaction.rules:
        looked = Looked(redaction.rules)
    keys = reviews.unchecked(looked.key, looked.at, AT_ONCE)
    ids = dict.fromkeys([*looked.found, *(id for _, id in keys)])
    found = [
        LateSecret(memory.id, kinds)
        for memory in session.store.memories.get(list(ids)).values()
        if (kinds := tuple(redaction.of_memory(memory)[1]))
    ]
    now = Looked(
        redaction.rules,
        max([looked.key, *(key for key, _ in keys)]),
        to_micros(session.clock()),
        [secret.id for secret in found[:MOST_NOTED]],
    )
    if (now.key, now.found) != (looked.key, looked.found) or len(keys) > OFTEN:
        with suppress(StoreError):  # a vault that cannot be written to is looked through again
            reviews.set_note(NOTE, msgspec.json.encode(now).decode())
    return found


def contradictions(session: Session) -> Iterator[Found]:
    choices: tuple[Choice, ...] = ("supersede", "merge", "forget", "edit", "keep", "later")
    for older, newer in compared(session).contradictions:
        why = "The newer one seems to replace the older one."
        yield Found("contradiction", (older, newer), why, "supersede", choices, 0.8)


def duplicates(session: Session) -> Iterator[Found]:
    for group in compared(session).duplicates:
        if group.reason == "same file":
            why = f"The same file is in two folders: {group.about}."
            yield Found("duplicate", group.ids, why, "keep", ("keep", "later"), group.sure)
            continue
        why = f"They have the {group.reason}."
        if group.reason == "nearly the same words":
            why = "They have nearly the same words."
        choices: tuple[Choice, ...] = ("merge", "supersede", "forget", "edit", "keep", "later")
        yield Found("duplicate", group.ids, why, "merge", choices, group.sure)


def expired(session: Session) -> Iterator[Found]:
    for memory in expired_memories(session, limit=MOST):
        if memory.valid_until and not memory.superseded_by:
            why = f"It expired on {day(memory.valid_until)}."
            yield Found("expired", (memory.id,), why, "forget", ("forget", "edit", "keep", "later"))


def expiring(session: Session) -> Iterator[Found]:
    for memory in expiring_memories(session, limit=MOST, within=SOON):
        if memory.valid_until:
            why = f"It expires on {day(memory.valid_until)}."
            yield Found("expiring", (memory.id,), why, "keep", ("keep", "edit", "forget", "later"))


def unused(session: Session) -> Iterator[Found]:
    if not session.settings.usage.keep:
        return
    session.store.usage.settle()
    for id in session.store.aging.weak(moved(session.clock(), -UNUSED), MOST):
        why = "It names no source, and was of no use in three months."
        yield Found("unused", (id,), why, "forget", ("forget", "edit", "keep", "later"))


def policies(session: Session) -> Iterator[Found]:
    """Policies that a server does not apply by itself."""
    try:
        outcomes = tidy(session, dry_run=True)
    except UserError as error:
        yield Found("policy", (), str(error), "later", ("keep", "later"), name="settings")
        return
    for outcome in outcomes:
        if outcome.asks:
            choices: tuple[Choice, ...] = ("keep", "later")
            yield Found("policy", (), outcome.sentence, "later", choices, name=outcome.name)


KINDS: dict[ReviewKind, Callable[[Session], Iterator[Found]]] = {
    "candidate": candidates,
    "secret": secrets,
    "contradiction": contradictions,
    "duplicate": duplicates,
    "expired": expired,
    "expiring": expiring,
    "unused": unused,
    "policy": policies,
}
