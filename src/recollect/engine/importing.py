"""Importing many memories, batch by batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain, groupby
from typing import NamedTuple

from recollect.auth.capabilities import DELETE
from recollect.engine.import_batches import Batch, batches
from recollect.engine.session import Session
from recollect.errors import StoreError
from recollect.ingest.jsonl import Line, RawLine
from recollect.ingest.saving import Saved, save_drafts, save_forgotten
from recollect.present.words import counted
from recollect.store.base import FeedbackEvent, Writing
from recollect.store.history import WriteOperation


class Imported(NamedTuple):
    """What an import did. `redacted`: how many secrets of each kind were replaced. `feedback`: how
    much of it was added."""

    added: int
    updated: int
    unchanged: int
    bad: list[tuple[int, str]]
    redacted: Counter[str]
    feedback: int = 0

    @property
    def changed(self) -> int:
        """How much was written."""
        return self.added + self.updated + self.feedback

    def plus(self, other: Imported) -> Imported:
        return Imported(*(a + b for a, b in zip(self, other, strict=True)))  # type: ignore[operator]


class _Undone(Exception):
    """Ends a write that was only tried."""


def import_lines(
    session: Session,
    lines: Iterable[RawLine | Line],
    *,
    strict: bool = False,
    redact: bool = True,
    dry_run: bool = False,
    progress: Callable[[int], None] = lambda size: None,
) -> Imported:
    session.models.embeds()  # as for `save_all`
    counts = Imported(0, 0, 0, [], Counter())
    found = batches(lines, session.redaction, redact=redact)
    writes: Iterable[Sequence[Batch]] = ([batch] for batch in found)
    if strict or dry_run:
        writes = [list(found)]
        bad = [line for line in chain.from_iterable(map(_lines, writes[0])) if line.reason]
        if strict and bad:
            return counts._replace(bad=[(line.number, line.reason) for line in bad])
    feedback: Counter[FeedbackEvent] = Counter()
    writing = partial(session.writing_many, "import", WriteOperation())

    def saved(several: Sequence[Batch]) -> Imported:
        counts, events = Imported(0, 0, 0, [], Counter()), feedback.copy()
        prepared = None if strict or dry_run else several[0].prepared
        with suppress(_Undone), writing(prepared=prepared) as write:
            for batch in several:
                counts = counts.plus(_save_lines(session, write, batch, events, progress))
            if dry_run:
                raise _Undone
        feedback.update(events - feedback)
        return counts

    for several in writes:
        try:
            done = session.store.database.retrying(partial(saved, several))
        except StoreError as error:
            if not (before := counts.added + counts.updated):
                raise
            hint = f"Imported before that: {counted(before, 'memory')}. Import again for the rest."
            raise type(error)(f"{error} {hint}") from error
        counts = counts.plus(done)
        if done.changed and not dry_run:
            session.wrote("import", count=done.changed)
    return counts


def _save_lines(
    session: Session,
    write: Writing,
    batch: Batch,
    feedback: Counter[FeedbackEvent],
    progress: Callable[[int], None],
) -> Imported:
    """Save a batch; `feedback` counts what all batches so far have had."""
    lines = _lines(batch)
    outcomes = [saved.outcome for saved in _save_memories(session, write, lines)]
    write.index_added(batch.prepared)
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
        sum((Counter(found) for _, found in batch.lines if found), Counter[str]()),
        write.complete_feedback(events) if events else 0,
    )


def _lines(batch: Batch) -> list[Line]:
    return [line for line, _ in batch.lines]


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
