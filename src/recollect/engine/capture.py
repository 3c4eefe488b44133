"""Capture: sentences in which a user asks to keep something. They wait in the review, or are saved
at once if the settings trust their form.

Nothing is captured twice: each sentence of a session has a mark, and sentences that the vault or
the review already has are left out. Secrets are redacted before anything is written.
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
    """A session of a coding agent: the client, the session's id, and the project of its folder."""

    client: str
    id: str
    project: str


class UserTurn(NamedTuple):
    """A message of the user. `place`: file:line in the transcript; `at`: when, if known."""

    text: str
    place: str = ""
    at: datetime | None = None


@operation(WRITE)
def capture(
    session: Session, turns: Iterable[UserTurn], said_in: AgentSession, *, late: bool = False
) -> int:
    """Capture candidates from these messages and return their number. `late`: a server writes them
    in the background; if it dies before that, the transcript still has them."""
    if not session.settings.capture.enabled:
        return 0
    found = [(turn, remark) for turn in turns for remark in remarks(clean_text(turn.text))]
    made = [_candidate(session, turn, remark, said_in) for turn, remark in found]
    if made and late:
        session.tasks.run(lambda stop: _add(session, made))
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
    """Add the new candidates to the review, and save those whose form the settings trust."""
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
    """Return the words to compare: those of the title, which has no "please" and the like."""
    return Wording.of((), session.store.keyword.tokens(candidate.fields["title"]))


def _is_stored(session: Session, candidate: CapturedRemark, wording: Wording) -> bool:
    """Return whether a memory of the project, or without one, says the same in its title, its text
    or both."""
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
    """Return the draft of the memory that a candidate would become."""
    return make_draft({**candidate.fields, "path": candidate.place})


def accept(session: Session, mark: bytes, changes: Mapping[str, Any]) -> Memory:
    """Save a candidate as a memory, with these changes. A new text also gives it a new title."""
    found = next((one for one in session.store.candidates.waiting() if one.mark == mark), None)
    if found is None:
        raise NotFound("This was already decided by someone else.")
    changed = {name: value for name, value in changes.items() if name != "id"}
    if changed.get("text"):
        changed.setdefault("title", title_of(changed["text"]))
    dates = {"created_at": found.at, "updated_at": found.at}
    [saved] = save_all(session, [make_draft({**candidate_draft(found).fields, **dates, **changed})])
    session.store.candidates.settle(mark, session.clock())
    return saved.memory
