"""The review: what wants a decision, one item at a time, and what becomes of it.

An item's id follows from its kind and its memories, so that a person, a script and an agent mean
the same one. What was decided holds for the memories as they were: when one of them changes, the
item comes back. Each kind of item has a function in KINDS, which reads the vault as it is and knows
nothing of what was decided.
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
from recollect.checks import bounded
from recollect.engine.browsing import ending
from recollect.engine.capture import accept, candidate_draft
from recollect.engine.comparison import compared
from recollect.engine.filters import EVERYTHING
from recollect.engine.lifecycle import merge, tidy
from recollect.engine.operations import operation
from recollect.engine.session import Session
from recollect.engine.writing import edit_all, forget, supersede_all
from recollect.errors import NotFound, StoreError, UserError
from recollect.hashing import content_digest
from recollect.ingest.draft import complete_draft
from recollect.memory_json import memory_json, revision
from recollect.times import day, moved, to_micros
from recollect.types import Choice, Memory, ReviewKind, about

REVIEW_LIMIT = 20  # items that want a decision
SOON = timedelta(days=7)
UNUSED = timedelta(days=90)
SAID_SURE = 0.9  # so large a share of what is captured is worth keeping, by bench_capture.py
MOST = 1_000  # of a kind: more than anybody decides in one go
NOTE = "secrets_looked_for"  # in `meta`
AT_ONCE = 5_000  # memories: a second of work
MOST_NOTED = 1_000
OFTEN = 100  # changed memories: they need not all be read again the next time
LATER = timedelta(days=7)
LATER_SAID = "It comes back in a week."
PROPOSED = "proposed "  # before a decision that nobody has made yet


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
        yield found._replace(memories=(complete_draft(proposal, found.id, None, each.at),))


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
    keys = reviews.list_unchecked(looked.key, looked.at, AT_ONCE)
    ids = dict.fromkeys([*looked.found, *(id for _, id in keys)])
    found = [
        LateSecret(memory.id, kinds)
        for memory in session.store.memories.get(list(ids)).values()
        if (kinds := tuple(redaction.redact_memory(memory)[1]))
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
    for memory in ending(session, EVERYTHING, MOST, since=None, until=session.clock()):
        if memory.valid_until and not memory.superseded_by:
            why = f"It expired on {day(memory.valid_until)}."
            yield Found("expired", (memory.id,), why, "forget", ("forget", "edit", "keep", "later"))


def expiring(session: Session) -> Iterator[Found]:
    now = session.clock()
    soon = moved(now, SOON)
    for memory in ending(session, EVERYTHING, MOST, since=now, until=soon):
        if memory.valid_until:
            why = f"It expires on {day(memory.valid_until)}."
            yield Found("expiring", (memory.id,), why, "keep", ("keep", "edit", "forget", "later"))


def unused(session: Session) -> Iterator[Found]:
    if not session.settings.usage.keep:
        return
    session.store.usage.settle()
    for id in session.store.aging.list_weak(moved(session.clock(), -UNUSED), MOST):
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


class ReviewItem(NamedTuple):
    """Something to decide. `proposed`: what an agent would do; '' where none said anything."""

    id: str
    kind: ReviewKind
    why: str
    sure: float
    suggested: Choice
    choices: tuple[Choice, ...]
    memories: tuple[Memory, ...]
    proposed: str
    key: str  # of the decision: the id and the state of the memories


class Review(NamedTuple):
    """The next items, and how many there are of each kind."""

    items: tuple[ReviewItem, ...]
    counts: Mapping[str, int]

    @property
    def more(self) -> int:
        """How many there are beyond the limit."""
        return sum(self.counts.values()) - len(self.items)


def item_json(item: ReviewItem) -> dict[str, object]:
    """An item for programs."""
    return {
        "id": item.id,
        "kind": item.kind,
        "why": item.why,
        "sure": item.sure,
        "suggested": item.suggested,
        "choices": list(item.choices),
        "proposed": item.proposed,
        "memories": [memory_json(memory) for memory in item.memories],
    }


def review_json(found: Review) -> dict[str, object]:
    """Return the items and the counts for programs."""
    items = [item_json(item) for item in found.items]
    return {"items": items, "counts": dict(found.counts), "more": found.more}


@operation(SEARCH, retry=True, route="GET /review", as_json=review_json, answer="ReviewJson")
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
    for item in _items(session, kind):
        counts[item.kind] += 1
        if len(shown) < bounded(limit):
            shown.append(item)
    return Review(tuple(shown), dict(counts))


@operation(SEARCH, DELETE)
def decide(
    session: Session, item: str, decision: str, *, changes: Mapping[str, Any] | None = None
) -> str:
    """Carry a decision out; return what was done, in a sentence. `changes`: for `edit`, the fields
    of the memory that is named by `id` among them, or of the item's last one. Without them, a
    secret is replaced."""
    return settle(session, _item(session, item), decision, changes=changes)


@operation(SEARCH, WRITE, retry=True)
def propose(session: Session, item: str, decision: str) -> str:
    """Note what an agent would do, for a person to decide; return that in a sentence."""
    found = _item(session, item)
    _check(found, decision)
    session.store.reviews.decide(found.key, PROPOSED + decision, session.clock())
    return f"Proposed: {decision}. A person decides, in `recollect review` or on the page."


@operation(SEARCH, WRITE)
def decide_or_propose(
    session: Session, item: str, decision: str, *, changes: Mapping[str, Any] | None = None
) -> str:
    """Propose a decision, or carry it out where the settings allow that to an agent."""
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
    done = _carried_out(session, item, decision, changes or {})
    if decision in ("keep", "later"):  # the others change the memories, and so the item's key
        until = moved(now, LATER) if decision == "later" else None
        session.store.reviews.decide(item.key, decision, now, until)
    session.wrote("review", [memory.id for memory in item.memories])
    return done


def _check(item: ReviewItem, decision: str) -> None:
    if decision not in item.choices:
        raise UserError(
            f"{decision!r} is no decision for this item; there are: {', '.join(item.choices)}."
        )


def _carried_out(
    session: Session, item: ReviewItem, decision: str, changes: Mapping[str, Any]
) -> str:
    if item.kind == "candidate":
        return _captured(session, item, decision, changes)
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
        return _edited(session, item, dict(changes))
    return "Kept." if decision == "keep" else LATER_SAID


def _captured(session: Session, item: ReviewItem, decision: str, changes: Mapping[str, Any]) -> str:
    """What becomes of something that a user said: a memory, as it is or edited, or nothing."""
    if decision == "later":
        return LATER_SAID
    if decision == "edit" and not any(name != "id" for name in changes):
        raise UserError(f"Say what to change: recollect review {item.id} edit --text TEXT")
    marks = [bytes.fromhex(one.name) for one in candidates(session) if one.id == item.id]
    mark = marks[0] if marks else b""  # somebody else has decided
    if decision == "forget":
        session.store.candidates.settle(mark, session.clock())
        return "Not kept, and removed from the review."
    session.require(WRITE, action="review")
    kept = accept(session, mark, {} if decision == "keep" else changes)
    return f"Kept as {kept.id}."


def _edited(session: Session, item: ReviewItem, changes: dict[str, Any]) -> str:
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


def _item(session: Session, id: str) -> ReviewItem:
    for item in _items(session, None, wanted=id):
        return item
    raise NotFound(f"There is no item {id!r} to decide; `recollect review` shows what there is.")


def _items(session: Session, kind: str | None, wanted: str | None = None) -> Iterator[ReviewItem]:
    """What nobody has decided. One whose memories are gone or changed since it was found is left
    out where it no longer is what it was."""
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
        content = "".join(map(revision, every)) or found.why
        key = f"{id}:{content_digest(content, 6).hex()}"
        decision = decided.get(key)
        choice = decision.decision if decision else ""
        proposed = choice.removeprefix(PROPOSED) if choice.startswith(PROPOSED) else ""
        if decision and not proposed and (decision.until is None or decision.until > now):
            continue
        yield ReviewItem(
            id, found.kind, found.why, found.sure, found.suggested, found.choices, every,
            proposed, key,
        )  # fmt: skip
