"""Policies: what becomes of captures as time passes, as the settings declare it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from msgspec.structs import replace

from recollect.engine.lifecycle import empty_old_trash
from recollect.engine.session import Session
from recollect.errors import UserError
from recollect.present.words import counted
from recollect.settings import AGE, PolicySettings
from recollect.store.base import Stored, Writing
from recollect.store.history import parse_keep
from recollect.times import from_micros, moved, to_micros
from recollect.types import Filter

DAYS = {"d": 1, "w": 7, "m": 30, "y": 365}
DAY = timedelta(days=1)
TIDIED = "tidied"  # in `meta`: when a server last did it
MOST_SHARE = 0.5  # of the vault: what would touch more asks first
DONE = {"expire": "forgotten", "archive": "archived", "cap": "archived", "purge": "purged"}


class PolicyOutcome(NamedTuple):
    """What a policy does, or would do. `asks`: it is more than half of the vault, so nothing is
    done unless somebody says yes. `done`: whether it was."""

    name: str
    policy: PolicySettings
    ids: tuple[str, ...]
    asks: bool
    done: bool

    @property
    def outcome(self) -> str:
        return DONE[self.policy.what]

    @property
    def sentence(self) -> str:
        """What became of it; names no memory, so that a log can have it."""
        what = counted(len(self.ids), "memory")
        if not self.ids:
            return f"Policy {self.name}: nothing to do."
        if self.done:
            return f"Policy {self.name}: {what} {self.outcome}."
        much = ", more than half of the vault; `recollect tidy` asks and does it"
        return f"Policy {self.name}: {what} would be {self.outcome}{much if self.asks else ''}."


def tidy(
    session: Session, *, dry_run: bool = False, yes: bool = False, automatic: bool = False
) -> list[PolicyOutcome]:
    if not dry_run:
        empty_old_trash(session, automatic=automatic)
        keep = parse_keep(session.settings.history.keep)
        while session.store.history.compact(keep, session.clock(), whole=True):
            pass
    return [
        _applied(session, name, dry_run=dry_run, yes=yes, automatic=automatic)
        for name in session.settings.policies
    ]


def tidy_daily(session: Session) -> list[PolicyOutcome]:
    database, wanted = session.store.database, session.settings
    ages = wanted.policies or wanted.trash.keep or parse_keep(wanted.history.keep).days
    if not ages or database.at_rest or database.frozen:
        return []  # a locked vault that nobody uses stays closed
    now, reviews = session.clock(), session.store.reviews
    last = reviews.note(TIDIED)
    if last and now - from_micros(int(last)) < DAY:
        return []
    reviews.set_note(TIDIED, str(to_micros(now)))
    return tidy(session, automatic=True)


def _applied(
    session: Session, name: str, *, dry_run: bool, yes: bool, automatic: bool
) -> PolicyOutcome:
    policy = session.settings.policies[name]
    ids = tuple(matching(session, name, policy))
    asks = len(ids) > MOST_SHARE * session.store.vocabulary.documents()
    found = PolicyOutcome(name, policy, ids, asks, done=False)
    if dry_run or not ids or (asks and not yes):
        return found
    now = session.clock()
    with session.writing("tidy", reason=f"policy {name}", automatic=automatic) as write:
        for before in write.find(ids).values():
            if not before.forgotten:
                CHANGES[policy.what](write, before, now)
    session.wrote("tidy", ids)
    if policy.what == "purge":
        session.store.scrub()
    return found._replace(done=True)


def matching(session: Session, name: str, policy: PolicySettings) -> Sequence[str]:
    """The ids of what a policy is about now, oldest first."""
    spares = policy.unless_useful and policy.what in ("expire", "purge")
    if (spares or policy.what == "archive") and not session.settings.usage.keep:
        raise UserError(
            f"The policy {name} goes by how memories were used, which is not counted. Set "
            "usage.keep to true."
        )
    narrower = ("project", "source", "domain", "kind", "space", "tags")
    filter = Filter(**{field: getattr(policy, field) for field in narrower})
    aging = session.store.aging
    session.store.usage.settle()
    if policy.what == "cap":
        return aging.beyond(filter, policy.most)
    before = moved(session.clock(), -age_of(policy.after))
    if policy.what == "archive":
        return aging.unreturned(filter, before)
    if policy.what == "purge":
        filter = replace(filter, archived=True)
    return aging.unchanged(filter, before, unless_useful=spares)


def age_of(text: str) -> timedelta:
    """`30d`, `2 weeks`, `6 months`, `1 year`; a month has 30 days, a year 365."""
    found = re.fullmatch(AGE, text)
    if found is None:
        raise UserError(f"{text!r} is no age; write 30d, 2w, 6 months or 1 year.")
    return timedelta(days=int(found["count"]) * DAYS[found["unit"][0]])


def _archive(write: Writing, before: Stored, at: datetime) -> None:
    write.replace(before, replace(before.memory, archived_at=at))


CHANGES: dict[str, Callable[[Writing, Stored, datetime], object]] = {
    "expire": lambda write, before, at: write.forget(before, at),
    "archive": _archive,
    "cap": _archive,
    "purge": lambda write, before, at: write.purge(before),
}


def outcome_json(outcome: PolicyOutcome) -> dict[str, object]:
    """What a policy does or did, for programs."""
    return {
        "policy": outcome.name,
        "what": outcome.policy.what,
        "outcome": outcome.outcome,
        "memories": list(outcome.ids),
        "asks": outcome.asks,
        "done": outcome.done,
    }
