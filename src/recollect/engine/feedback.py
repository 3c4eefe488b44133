"""What people say of results, and what the ranking learns from it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from recollect.checks import named_ids
from recollect.engine.learning import is_due, learn
from recollect.engine.reading import looked_up
from recollect.engine.session import Session
from recollect.errors import NotFound, RecollectError, UserError
from recollect.models.embedding_queue import embed_queries
from recollect.query.likeness import normalised


def feedback(
    session: Session, query: str, id: str, *, accept: bool | None = None, undo: bool = False
) -> tuple[int, int]:
    kept = session.redaction.of_query(query)
    words = normalised(kept)
    if not words:
        raise UserError("Feedback needs the query that the result answered, in words.")
    named_ids([id])
    was = any(
        verdict.memory_id == id and verdict.accepted
        for verdict in session.store.feedback.on([words])
    )
    if undo:
        if not session.store.feedback.take_back(words, id, accept):
            what = {None: "feedback", True: "acceptance", False: "dismissal"}[accept]
            raise NotFound(f"There is no {what} of {id!r} for “{kept}” that could be taken back.")
    elif accept is None:
        raise UserError("Say whether the result was right: accept it, or dismiss it.")
    else:
        _check_there(session, id)
        session.store.feedback.add(kept, id, accept, session.clock())
    session.wrote("feedback", [id])
    if was != (accept is True and not undo):
        session.used("taken back" if was else "accepted", [id])
    # What follows can be made up for later; what was said is on the disk.
    with suppress(RecollectError):
        if session.models.embeds():
            embed_queries(session.store.feedback, session.models.embedder())
        if is_due(session):
            session.late.do(partial(learn, session))
    return session.store.feedback.standing()


def _check_there(session: Session, id: str) -> None:
    """NotFound where there is no such memory, or it is forgotten."""
    try:
        looked_up(session, [id])
    except NotFound:
        if id in session.store.memories.find([id]):
            raise NotFound(
                f"The memory {id!r} is forgotten; `recollect forget {id} --undo` brings it back."
            ) from None
        raise


def judged(session: Session, query: str, ids: Sequence[str]) -> dict[str, bool]:
    if not session.store.feedback.state().given:
        return {}
    verdicts = session.store.feedback.on([normalised(session.redaction.of_query(query))])
    wanted = set(named_ids(ids))
    return {
        verdict.memory_id: verdict.accepted for verdict in verdicts if verdict.memory_id in wanted
    }


def judgements(session: Session) -> dict[str, dict[str, bool]]:
    log = session.store.feedback
    asked = {normalised(event.query): event.query for event in reversed(log.every())}
    found: dict[str, dict[str, bool]] = {words: {} for words in asked}
    for verdict in log.on([*asked]):
        found[verdict.words][verdict.memory_id] = verdict.accepted
    return {asked[words]: verdicts for words, verdicts in found.items() if any(verdicts.values())}


def gold_folder(home: Path) -> Path:
    """The default folder of a gold set: questions that were judged apart from searches."""
    return home / "gold"
