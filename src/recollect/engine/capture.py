"""Capture: what a user said outright in a session waits in the review, or is saved where the
settings trust its form.

Nothing is captured twice: a sentence of a session has a mark, and what the vault or the review
already says is left out. Secrets are replaced before anything is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from msgspec.structs import replace

from recollect.auth.capabilities import WRITE
from recollect.checks import clean_text
from recollect.engine.operations import operation
from recollect.engine.session import Command, Session
from recollect.engine.writing import save_all
from recollect.errors import NotFound
from recollect.ingest.draft import Draft, make_draft
from recollect.ingest.remarks import Remark, remarks, title_of
from recollect.ingest.saving import find_sharing_words
from recollect.query.sameness import ALIKE, Wording, same
from recollect.store.history import WriteOperation
from recollect.store.upkeep import CapturedRemark
from recollect.types import Filter, Memory

ALL = "all"  # forms that are trusted


class AgentSession(NamedTuple):
    """Where something was said: the client, its session, and the project of its folder."""

    client: str
    id: str
    project: str


class UserTurn(NamedTuple):
    """What the user typed; `place` in the transcript, as file:line; when, where that is known."""

    text: str
    place: str = ""
    at: datetime | None = None


@operation(WRITE)
def capture(
    session: Session, turns: Iterable[UserTurn], said_in: AgentSession, *, late: bool = False
) -> int:
    """Keep what is said outright in these turns; return how many candidates there are. `late`: a
    process that stays does not wait for the write; what is lost of it, the transcript has."""
    if not session.settings.capture.enabled:
        return 0
    found = [(turn, remark) for turn in turns for remark in remarks(clean_text(turn.text))]
    made = [_candidate(session, turn, remark, said_in) for turn, remark in found]
    if made and late:
        session.late.do(lambda stop: _add(session, made))
    elif made:
        _add(session, made)
    return len(made)


def _candidate(
    session: Session, turn: UserTurn, remark: Remark, said_in: AgentSession
) -> CapturedRemark:
    client, id, project = map(clean_text, said_in)
    words = " ".join(remark.text.split())
    mark = session.store.topics.hash_word(f"said:{client}\0{id}\0{words}")
    fields = {
        "title": remark.title, "text": remark.text, "kind": remark.kind, "project": project,
        "source": client, "path": clean_text(turn.place),
    }  # fmt: skip
    redacted, _ = session.redaction.redact_draft(make_draft(fields))
    place = redacted.fields.pop("path")
    at = turn.at or session.clock()
    return CapturedRemark(mark, at, client, id, session.user, remark.form, place, redacted.fields)


def _add(session: Session, made: list[CapturedRemark]) -> None:
    """Add those that are new, and where the settings trust their form, make them memories."""
    store = session.store.candidates
    known = store.find_places([each.mark for each in made])
    waiting = [(each.fields["project"], _wording(session, each)) for each in store.waiting()]
    new: list[CapturedRemark] = []
    moved: list[CapturedRemark] = []
    for each in {each.mark: each for each in made}.values():
        project, wording = each.fields["project"], _wording(session, each)
        if each.mark in known:
            moved += [each] if known[each.mark] not in (None, each.place) else []
        elif not _is_stored(session, each, wording) and not any(
            wording.says(other, ALIKE) for place, other in waiting if place == project
        ):
            new.append(each)
            waiting.append((project, wording))
    if new or moved:
        store.add([*moved, *new])
    if new:
        session.wrote("capture", count=len(new))
    trusted = session.settings.capture.trust
    for each in new:
        if trusted == ALL or each.form in map(str.strip, trusted.split(",")):
            command = Command("capture", WriteOperation(), "hook", automatic=True)
            accept(replace(session, command=command, client=each.client), each.mark, {})


def _wording(session: Session, candidate: CapturedRemark) -> Wording:
    """What is compared: the sentence without "please" and the like, which its title is."""
    return Wording.of((), session.store.keyword.tokens(candidate.fields["title"]))


def _is_stored(session: Session, candidate: CapturedRemark, wording: Wording) -> bool:
    """Whether a memory of the project, or of none, says the same: its title, its text or both."""
    tokens = session.store.keyword.tokens
    for project in {candidate.fields["project"], ""}:
        ids = find_sharing_words(session.store, candidate.fields["text"], Filter(project=project))
        for memory in session.store.memories.get(ids).values():
            stored = Wording.of(tokens(memory.title), tokens(memory.text))
            parts = (stored.title, stored.text, stored.whole)
            if any(same(wording.whole, part, ALIKE) for part in parts):
                return True
    return False


def candidate_draft(candidate: CapturedRemark) -> Draft:
    """The memory that a candidate would be."""
    return make_draft({**candidate.fields, "path": candidate.place})


def accept(session: Session, mark: bytes, changes: Mapping[str, Any]) -> Memory:
    """Make a candidate a memory, with these changes; one that has another text gets its title from
    that."""
    found = next((one for one in session.store.candidates.waiting() if one.mark == mark), None)
    if found is None:
        raise NotFound("Somebody else has decided this meanwhile.")
    changed = {name: value for name, value in changes.items() if name != "id"}
    if changed.get("text"):
        changed.setdefault("title", title_of(changed["text"]))
    dates = {"created_at": found.at, "updated_at": found.at}
    [saved] = save_all(session, [make_draft({**candidate_draft(found).fields, **dates, **changed})])
    session.store.candidates.settle(mark, session.clock())
    return saved.memory
