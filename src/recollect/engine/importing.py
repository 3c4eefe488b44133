"""Importing many memories, batch by batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from typing import NamedTuple

from recollect.auth.capabilities import DELETE
from recollect.engine.session import Session
from recollect.errors import UserError
from recollect.ingest.jsonl import Line
from recollect.ingest.saving import Saved, save_drafts, save_forgotten
from recollect.store.base import FeedbackEvent, Writing

IMPORT_BATCH = 4000  # long enough to be quick, short enough that other writers wait little

# A line to import without its secrets, and how many of each kind it had.
Cleaned = tuple[Line, Mapping[str, int]]


class Imported(NamedTuple):
    """What an import did. `redacted`: how many secrets of each kind were replaced. `feedback`: how
    much of it was added."""

    added: int
    updated: int
    unchanged: int
    bad: list[tuple[int, str]]
    redacted: Counter[str]
    feedback: int = 0


class _Undone(Exception):
    """Ends a write that was only tried."""


def import_lines(
    session: Session,
    lines: Iterable[Line],
    *,
    strict: bool = False,
    redact: bool = True,
    dry_run: bool = False,
    progress: Callable[[int], None] = lambda size: None,
) -> Imported:
    """Save the memories and the feedback of these lines. Bad lines are reported, and the others are
    saved. What is there already, feedback too, is not added again.

    `strict`: with one bad line nothing is saved. `redact` as for `save_all`. `dry_run`: say what
    would be done, and do nothing.
    """
    session.models.embeds()  # as for `save_all`
    counts = Imported(0, 0, 0, [], Counter())
    cleaned: Iterable[Cleaned] = (_cleaned(session, line, redact=redact) for line in lines)
    if strict:
        every = list(cleaned)
        bad = [(line.number, line.reason) for line, _ in every if line.reason]
        if bad:
            return counts._replace(bad=bad)
        cleaned = every
    feedback: Counter[FeedbackEvent] = Counter()
    at_once = strict or dry_run
    for batch in [list(cleaned)] if at_once else _batches(cleaned, IMPORT_BATCH):
        with suppress(_Undone), session.store.writing(bulk=True) as write:
            done = _save_lines(session, write, batch, feedback, progress)
            if dry_run:
                raise _Undone
        if not dry_run and (changed := done.added + done.updated + done.feedback):
            session.wrote("import", count=changed)
        counts = Imported(*(a + b for a, b in zip(counts, done, strict=True)))  # type: ignore[operator]
    return counts


def _cleaned(session: Session, line: Line, *, redact: bool) -> Cleaned:
    """The line without its secrets; a bad line if one cannot be replaced."""
    try:
        if line.feedback is not None:
            query = session.redaction.of_query(line.feedback.query)
            return line._replace(feedback=line.feedback._replace(query=query)), {}
        if line.draft is None:
            return line, {}
        draft, found = session.redaction.of_draft(line.draft, redact=redact)
    except UserError as error:
        return line._replace(draft=None, feedback=None, reason=str(error)), {}
    return line._replace(draft=draft), found


def _save_lines(
    session: Session,
    write: Writing,
    clean: Sequence[Cleaned],
    feedback: Counter[FeedbackEvent],
    progress: Callable[[int], None],
) -> Imported:
    """Save a batch; `feedback` counts what all batches so far have had."""
    lines = [line for line, _ in clean]
    outcomes = [saved.outcome for saved in _save_memories(session, write, lines)]
    events = []
    for event in (line.feedback for line in lines if line.feedback is not None):
        feedback[event] += 1
        events.append((event, feedback[event]))
    progress(sum(line.size for line in lines))
    return Imported(
        outcomes.count("added"),
        outcomes.count("updated"),
        outcomes.count("unchanged"),
        [(line.number, line.reason) for line in lines if line.reason],
        sum((Counter(found) for _, found in clean if found), Counter[str]()),
        write.complete_feedback(events) if events else 0,
    )


def _save_memories(session: Session, write: Writing, lines: Sequence[Line]) -> Iterator[Saved]:
    """Save the memories in the order of their lines, live and forgotten ones."""
    memories = [(line.draft, line.forgotten_at) for line in lines if line.draft is not None]
    for live, group in groupby(memories, lambda memory: memory[1] is None):
        if live:
            drafts = [draft for draft, _ in group]
            yield from save_drafts(write, drafts, session.clock(), session.require_restore)
        else:
            session.require(DELETE, action="forget")
            forgotten = [(draft, at) for draft, at in group if at is not None]
            yield from save_forgotten(write, forgotten, session.clock())


def _batches(lines: Iterable[Cleaned], size: int) -> Iterator[list[Cleaned]]:
    batch: list[Cleaned] = []
    for line in lines:
        batch.append(line)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch
