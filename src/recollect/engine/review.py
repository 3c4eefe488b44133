"""The review: what wants a decision, one item at a time, and what becomes of it.

An item's id follows from its kind and its memories, so that a person, a script and an agent mean
the same one. What was decided holds for the memories as they were: when one of them changes, the
item comes back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any, NamedTuple

from recollect.auth.capabilities import DELETE, WRITE
from recollect.checks import bounded
from recollect.engine import lifecycle
from recollect.engine.capture import accept
from recollect.engine.review_kinds import KINDS, candidates
from recollect.engine.session import Session
from recollect.engine.writing import edit_all, forget, supersede_all
from recollect.errors import NotFound, UserError
from recollect.hashing import content_digest
from recollect.memory_json import memory_json, revision
from recollect.times import moved
from recollect.types import Choice, Memory, ReviewKind

LATER = timedelta(days=7)
LATER_SAID = "It comes back in a week."
PROPOSED = "proposed "  # before a decision that nobody has made yet


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


def review(session: Session, *, limit: int, kind: str | None) -> Review:
    counts: Counter[str] = Counter()
    shown: list[ReviewItem] = []
    for item in _items(session, kind):
        counts[item.kind] += 1
        if len(shown) < bounded(limit):
            shown.append(item)
    return Review(tuple(shown), dict(counts))


def decide(
    session: Session, item: str, decision: str, *, changes: Mapping[str, Any] | None = None
) -> str:
    return settle(session, _item(session, item), decision, changes=changes)


def propose(session: Session, item: str, decision: str) -> str:
    found = _item(session, item)
    _check(found, decision)
    session.store.reviews.decide(found.key, PROPOSED + decision, session.clock())
    return f"Proposed: {decision}. A person decides, in `recollect review` or on the page."


def decide_or_propose(
    session: Session, item: str, decision: str, *, changes: Mapping[str, Any] | None = None
) -> str:
    if session.settings.review.agents_decide:
        session.require(DELETE, action="review")
        return decide(session, item, decision, changes=changes)
    return propose(session, item, decision)


def settle(
    session: Session,
    item: ReviewItem,
    decision: str,
    *,
    changes: Mapping[str, Any] | None = None,
) -> str:
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
        kept = lifecycle.merge(session, ids, into=ids[0])
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
        changes = dict(session.redaction.of_memory(chosen)[0])
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
    return {"items": [item_json(item) for item in found.items], "counts": dict(found.counts)}
