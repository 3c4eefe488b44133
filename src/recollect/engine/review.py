"""The review: items that need a decision, and carrying the decisions out.

An item's id is a hash of its kind and its memories' ids, so it is the same for everyone. A decision
holds until one of the memories changes; then the item comes back. Each kind of item has a function
in KINDS that finds its items; decisions are applied afterwards.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import timedelta
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta

from recollect.auth.capabilities import DELETE, SEARCH, WRITE
from recollect.checks import check_limit
from recollect.engine.browsing import list_ending
from recollect.engine.capture import accept, candidate_draft
from recollect.engine.comparison import compare_all
from recollect.engine.filters import EVERYTHING
from recollect.engine.lifecycle import merge, tidy
from recollect.engine.operations import operation
from recollect.engine.session import Session
from recollect.engine.writing import edit_all, forget, supersede_all
from recollect.errors import NotFound, StoreError, UserError
from recollect.hashing import content_digest
from recollect.ingest.draft import complete_draft
from recollect.memory_json import revision
from recollect.times import day, shift, to_micros
from recollect.types import Choice, Memory, ReviewKind, about

REVIEW_LIMIT = 20  # items
SOON = timedelta(days=7)
UNUSED = timedelta(days=90)
SAID_SURE = 0.9  # the share of captured sentences worth keeping, by bench_capture.py
MOST = 1_000  # items of a kind: more than a person decides in one session
NOTE = "secrets_looked_for"  # in `meta`
AT_ONCE = 5_000  # memories: a second of work
MOST_NOTED = 1_000
OFTEN = 100  # memories read, after which the progress is saved even if nothing was found
LATER = timedelta(days=7)
LATER_SAID = "It comes back in a week."
PROPOSED = "proposed "  # prefix of a decision that an agent proposed


# The decisions for each kind of item, the suggested one first; and for items that only inform.
CHOICES: dict[ReviewKind, tuple[Choice, ...]] = {
    "candidate": ("keep", "edit", "forget", "later"),
    "secret": ("edit", "forget", "keep", "later"),
    "contradiction": ("supersede", "merge", "forget", "edit", "keep", "later"),
    "duplicate": ("merge", "supersede", "forget", "edit", "keep", "later"),
    "expired": ("forget", "edit", "keep", "later"),
    "expiring": ("keep", "edit", "forget", "later"),
    "unused": ("forget", "edit", "keep", "later"),
    "policy": ("keep", "later"),
}
NOTICED: tuple[Choice, ...] = ("keep", "later")


class Found(NamedTuple):
    """An item before decisions are applied. `ids`: its memories; of duplicates the one to keep
    first, of contradictions the older first."""

    kind: ReviewKind
    ids: tuple[str, ...]
    why: str
    sure: float = 1.0
    name: str = ""  # identifies an item without memories
    memories: tuple[Memory, ...] = ()  # unsaved ones: what a candidate would become
    only_notice: bool = False  # the memories cannot be changed here

    @property
    def id(self) -> str:
        named = "\0".join((self.kind, self.name, *sorted(self.ids)))
        return f"{self.kind}-{content_digest(named, 5).hex()}"

    @property
    def choices(self) -> tuple[Choice, ...]:
        return NOTICED if self.only_notice else CHOICES[self.kind]

    @property
    def suggested(self) -> Choice:
        """The default choice."""
        return "later" if self.kind == "policy" else self.choices[0]


def find_candidates(session: Session) -> Iterator[Found]:
    """Find captured sentences that may be worth keeping."""
    for each in session.store.candidates.waiting():
        why = f'Said in {each.client}, in the form "{each.form}": {each.place or each.session}.'
        found = Found("candidate", (), why, SAID_SURE, each.mark.hex())
        proposal = candidate_draft(each)
        yield found._replace(memories=(complete_draft(proposal, found.id, None, each.at),))


def find_secret_items(session: Session) -> Iterator[Found]:
    for id, kinds in find_secrets(session).items():
        why = f"It holds what looks like a secret: {', '.join(kinds)}."
        yield Found("secret", (id,), why)


class SecretScan(msgspec.Struct):
    """The progress of the scan for secrets: up to this key, at this time, with these rules; and the
    ids of memories with secrets."""

    rules: str = ""
    key: int = 0
    at: int = 0
    found: list[str] = msgspec.field(default_factory=list)


def find_secrets(session: Session) -> dict[str, tuple[str, ...]]:
    """Scan the next memories for secrets that were saved before a rule for them existed, or with
    redaction off. Return the ids of all found so far with the kinds of secrets.

    A scan continues where the last one stopped, by the memories' keys, and reads changed memories
    again. New rules restart it. The ids found are saved in the vault and checked every time."""
    if not session.settings.secrets.redact:
        return {}
    reviews, redaction = session.store.reviews, session.redaction
    noted = reviews.note(NOTE)
    last = msgspec.json.decode(noted, type=SecretScan) if noted else SecretScan()
    if last.rules != redaction.rules:
        last = SecretScan(redaction.rules)
    keys = reviews.list_unchecked(last.key, last.at, AT_ONCE)
    ids = dict.fromkeys([*last.found, *(id for _, id in keys)])
    found = {
        memory.id: kinds
        for memory in session.store.memories.get(list(ids)).values()
        if (kinds := tuple(redaction.redact_memory(memory)[1]))
    }
    scan = SecretScan(
        redaction.rules,
        max([last.key, *(key for key, _ in keys)]),
        to_micros(session.clock()),
        list(found)[:MOST_NOTED],
    )
    if (scan.key, scan.found) != (last.key, last.found) or len(keys) > OFTEN:
        with suppress(StoreError):  # a read-only vault is scanned again next time
            reviews.set_note(NOTE, msgspec.json.encode(scan).decode())
    return found


def find_contradictions(session: Session) -> Iterator[Found]:
    for pair in compare_all(session).contradictions:
        yield Found("contradiction", pair, "The newer one seems to replace the older one.", 0.8)


def find_duplicates(session: Session) -> Iterator[Found]:
    for group in compare_all(session).duplicates:
        if group.reason == "same file":
            why = f"The same file is in two folders: {group.about}."
            yield Found("duplicate", group.ids, why, group.sure, only_notice=True)
            continue
        article = "" if group.reason == "nearly the same words" else "the "
        why = f"They have {article}{group.reason}."
        yield Found("duplicate", group.ids, why, group.sure)


def find_expired(session: Session) -> Iterator[Found]:
    for memory in list_ending(session, EVERYTHING, MOST, since=None, until=session.clock()):
        if memory.valid_until and not memory.superseded_by:
            why = f"It was valid until {day(memory.valid_until)}."
            yield Found("expired", (memory.id,), why)


def find_expiring(session: Session) -> Iterator[Found]:
    now = session.clock()
    soon = shift(now, SOON)
    for memory in list_ending(session, EVERYTHING, MOST, since=now, until=soon):
        if memory.valid_until:
            why = f"It is valid until {day(memory.valid_until)}."
            yield Found("expiring", (memory.id,), why)


def find_unused(session: Session) -> Iterator[Found]:
    if not session.settings.usage.keep:
        return
    session.store.usage.settle()
    for id in session.store.aging.list_weak(shift(session.clock(), -UNUSED), MOST):
        yield Found("unused", (id,), "It names no source, and was of no use in three months.")


def find_policies(session: Session) -> Iterator[Found]:
    """Find policies that a server does not apply without being asked."""
    try:
        outcomes = tidy(session, dry_run=True)
    except UserError as error:
        yield Found("policy", (), str(error), name="settings")
        return
    for outcome in outcomes:
        if outcome.asks:
            yield Found("policy", (), outcome.sentence, name=outcome.name)


KINDS: dict[ReviewKind, Callable[[Session], Iterator[Found]]] = {
    "candidate": find_candidates,
    "secret": find_secret_items,
    "contradiction": find_contradictions,
    "duplicate": find_duplicates,
    "expired": find_expired,
    "expiring": find_expiring,
    "unused": find_unused,
    "policy": find_policies,
}


class ReviewItem(NamedTuple):
    """An item to decide. `proposed`: an agent's proposal, or ''."""

    id: str
    kind: ReviewKind
    why: str
    sure: float
    suggested: Choice
    choices: tuple[Choice, ...]
    proposed: str
    memories: tuple[Memory, ...]

    @property
    def key(self) -> str:
        """The key of its decision: the id and a hash of the memories."""
        content = "".join(map(revision, self.memories)) or self.why
        return f"{self.id}:{content_digest(content, 6).hex()}"


class Review(NamedTuple):
    """The next items, the number of all items by kind, and of those beyond the limit."""

    items: tuple[ReviewItem, ...]
    counts: dict[str, int]
    more: int


@operation(SEARCH, retry=True, route="GET /review")
def review(
    session: Session,
    *,
    limit: Annotated[
        int, about("maximum number of items", short="n"), Meta(ge=1, le=1000)
    ] = REVIEW_LIMIT,
    kind: Annotated[ReviewKind | None, about("only this kind")] = None,
) -> Review:
    """List what needs a decision, the most urgent first, and how much there is of each kind. An
    item has the same id as long as it is about the same memories. One that was decided comes back
    when they change."""
    counts: Counter[str] = Counter()
    shown: list[ReviewItem] = []
    for item in _find_items(session, kind):
        counts[item.kind] += 1
        if len(shown) < check_limit(limit):
            shown.append(item)
    return Review(tuple(shown), dict(counts), counts.total() - len(shown))


@operation(SEARCH, DELETE)
def decide(
    session: Session, item: str, decision: str, *, changes: Mapping[str, Any] | None = None
) -> str:
    """Carry out a decision and return a sentence about it. `changes`: for `edit`, the new fields,
    and with `id` the memory to change instead of the item's last one. Without changes, a secret is
    redacted."""
    return settle(session, _find_item(session, item), decision, changes=changes)


@operation(SEARCH, WRITE, retry=True)
def propose(session: Session, item: str, decision: str) -> str:
    """Record an agent's proposal, for a person to decide, and return a sentence about it."""
    found = _find_item(session, item)
    _check(found, decision)
    session.store.reviews.decide(found.key, PROPOSED + decision, session.clock())
    return f"Proposed: {decision}. A person decides, in `recollect review` or on the page."


@operation(SEARCH, WRITE)
def decide_or_propose(
    session: Session, item: str, decision: str, *, changes: Mapping[str, Any] | None = None
) -> str:
    """Propose a decision, or carry it out if the settings allow agents to decide."""
    if session.settings.review.agents_decide:
        session.require(DELETE, action="review")
        return decide(session, item, decision, changes=changes)
    return propose(session, item, decision)


@operation(SEARCH, DELETE)
def settle(
    session: Session,
    item: ReviewItem,
    decision: str,
    *,
    changes: Mapping[str, Any] | None = None,
) -> str:
    """Carry out a decision on an item that `review` returned; see `decide`."""
    _check(item, decision)
    now = session.clock()
    done = _carry_out(session, item, decision, changes or {})
    if decision in ("keep", "later"):  # other decisions change the memories, and so the item's key
        until = shift(now, LATER) if decision == "later" else None
        session.store.reviews.decide(item.key, decision, now, until)
    session.wrote("review", [memory.id for memory in item.memories])
    return done


def _check(item: ReviewItem, decision: str) -> None:
    if decision not in item.choices:
        raise UserError(
            f"{decision!r} is no decision for this item; there are: {', '.join(item.choices)}."
        )


def _carry_out(
    session: Session, item: ReviewItem, decision: str, changes: Mapping[str, Any]
) -> str:
    if item.kind == "candidate":
        return _decide_candidate(session, item, decision, changes)
    ids = [memory.id for memory in item.memories]
    if decision in ("merge", "supersede", "edit"):
        session.require(WRITE, action="review")
    if decision == "merge":
        kept = merge(session, ids, into=ids[0])
        return f"Merged into {kept.id}."
    if decision == "supersede":
        *olds, new = ids if item.kind == "contradiction" else [*ids[1:], ids[0]]
        supersede_all(session, olds, new)
        return f"{new} takes the place of {', '.join(olds)}."
    if decision == "forget":
        gone = ids[1:] if item.kind == "duplicate" else ids[:1]
        forget(session, gone)
        return f"Forgotten: {', '.join(gone)}."
    if decision == "edit":
        return _edit(session, item, dict(changes))
    return "Kept." if decision == "keep" else LATER_SAID


def _decide_candidate(
    session: Session, item: ReviewItem, decision: str, changes: Mapping[str, Any]
) -> str:
    """Save a captured sentence, as it is or edited, or drop it."""
    if decision == "later":
        return LATER_SAID
    if decision == "edit" and not any(name != "id" for name in changes):
        raise UserError(f"Say what to change: recollect review {item.id} edit --text TEXT")
    marks = [bytes.fromhex(one.name) for one in find_candidates(session) if one.id == item.id]
    mark = marks[0] if marks else b""  # decided by someone else: `accept` says so
    if decision == "forget":
        session.store.candidates.settle(mark, session.clock())
        return "Not kept, and removed from the review."
    session.require(WRITE, action="review")
    kept = accept(session, mark, {} if decision == "keep" else changes)
    return f"Kept as {kept.id}."


def _edit(session: Session, item: ReviewItem, changes: dict[str, Any]) -> str:
    id = changes.pop("id", item.memories[-1].id)
    chosen = next((memory for memory in item.memories if memory.id == id), None)
    if chosen is None:
        raise NotFound(f"The memory {id!r} is not part of this item.")
    if not changes and item.kind == "secret":
        changes = dict(session.redaction.redact_memory(chosen)[0])
    if not changes:
        raise UserError(f"Say what to change; `recollect edit {id}` changes it as well.")
    edit_all(session, [id], **changes)
    return f"Changed: {id}."


def _find_item(session: Session, id: str) -> ReviewItem:
    for item in _find_items(session, None, wanted=id):
        return item
    raise NotFound(f"There is no item {id!r} to decide; `recollect review` shows what there is.")


def _find_items(
    session: Session, kind: str | None, wanted: str | None = None
) -> Iterator[ReviewItem]:
    """Yield undecided items. An item is left out if a memory of it is gone, or if a contradiction
    was resolved since it was found."""
    kinds = [each for name, each in KINDS.items() if kind in (None, name)]
    if not kinds:
        raise UserError(f"There is no kind {kind!r} of item; there are: {', '.join(KINDS)}.")
    decided = session.store.reviews.all()
    now = session.clock()
    for found in (found for each in kinds for found in each(session)):
        id = found.id
        if wanted not in (None, id):
            continue
        memories = session.store.memories.get(found.ids) if found.ids else {}
        if len(memories) < len(found.ids) or (
            found.kind == "contradiction" and memories[found.ids[0]].superseded_by
        ):
            continue
        every = found.memories or tuple(memories[each] for each in found.ids)
        item = ReviewItem(
            id, found.kind, found.why, found.sure, found.suggested, found.choices, "", every
        )
        decision = decided.get(item.key)
        choice = decision.decision if decision else ""
        proposed = choice.removeprefix(PROPOSED) if choice.startswith(PROPOSED) else ""
        if decision and not proposed and (decision.until is None or decision.until > now):
            continue
        yield item._replace(proposed=proposed)
