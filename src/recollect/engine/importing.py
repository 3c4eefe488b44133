"""Importing many memories, batch by batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from itertools import chain, count, groupby, islice
from typing import NamedTuple

from recollect.auth.capabilities import DELETE, WRITE
from recollect.engine.operations import operation
from recollect.engine.session import Session
from recollect.errors import StoreError, UserError
from recollect.ingest.draft import Draft, complete_draft, make_id
from recollect.ingest.exchange import Line, RawLine, parse_line
from recollect.ingest.saving import Saved, save_drafts, save_forgotten
from recollect.maths import batched
from recollect.present.sentences import counted
from recollect.secrets.redaction import SEARCHED, Redaction
from recollect.store.base import Writing
from recollect.store.feedback import FeedbackEvent
from recollect.store.history import WriteOperation
from recollect.store.memory_rows import PreparedMemories
from recollect.store.sqlite.segments import packing
from recollect.worker_processes import Workers, worker_count

IMPORT_BATCH = 2000  # lines: fast, and other writers do not wait long
SEGMENT_BATCH = 12_500  # packed memories; more leave fewer segments, but take 340 MB per worker
FEW = 4000  # lines: for fewer, starting workers takes longer than it saves
ANY_TIME = datetime(1970, 1, 1, tzinfo=UTC)

# A line without its secrets, and how many of each kind were redacted.
Cleaned = tuple[Line, Mapping[str, int]]


class Batch(NamedTuple):
    """Lines to save in one write. `prepared`: index data of their live memories, for the case that
    all of them are new."""

    lines: list[Cleaned]
    prepared: PreparedMemories | None = None


def prepare_batches(
    lines: Iterable[RawLine | Line], redaction: Redaction, *, redact: bool
) -> Iterator[Batch]:
    """Yield the lines in order, without their secrets; many of them prepared by workers."""
    source = iter(lines)
    ahead = list(islice(source, FEW + 1))
    workers = worker_count() if len(ahead) > FEW else 1
    if workers < 2:
        clean = partial(redact_batch, redaction, redact)
        yield from map(clean, batched(chain(ahead, source), IMPORT_BATCH))
        return
    ahead += islice(source, workers * SEGMENT_BATCH)
    # All workers get the same amount, and each part is large enough to be a segment.
    size = min(SEGMENT_BATCH, max(IMPORT_BATCH, -(-len(ahead) // workers)))
    prepare = partial(prepare_batch, redaction, redact)
    yield from Workers(prepare, workers).map(batched(chain(ahead, source), size))


def redact_batch(redaction: Redaction, redact: bool, lines: Sequence[RawLine | Line]) -> Batch:
    return Batch([_redact(redaction, parse_line(line), redact=redact) for line in lines])


def prepare_batch(redaction: Redaction, redact: bool, lines: Sequence[RawLine | Line]) -> Batch:
    """Redact the lines and prepare index data of their memories: most of the work of an import. A
    memory is searched for secrets only if one of its pieces may be part of one."""

    def row_of(draft: Draft) -> Sequence[str]:
        return packing.fields_of(
            complete_draft(draft, draft.id or make_id(draft.fields), None, ANY_TIME)
        )

    numbers = count()
    pairs = [
        (line, next(numbers) if line.draft and line.forgotten_at is None else None)
        for line in map(parse_line, lines)
    ]
    live = [line.draft for line, row in pairs if line.draft and row is not None]
    memories = packing.split(map(row_of, live))
    suspect = memories.having(redaction.suspect_pieces(memories.pieces)) if redact else set()
    unseen = {*SEARCHED} - {*packing.FIELDS}
    changes: dict[int, Sequence[str] | None] = {}
    found: list[Cleaned] = []
    for line, row in pairs:
        if row is not None and not (row in suspect or any(map(live[row].fields.get, unseen))):
            found.append((line, {}))
            continue
        found.append(_redact(redaction, line, redact=redact))
        draft = found[-1][0].draft
        if row is not None and draft is not line.draft:
            changes[row] = None if draft is None else row_of(draft)
    return Batch(found, packing.prepare(memories.with_changes(changes) if changes else memories))


def _redact(redaction: Redaction, line: Line, *, redact: bool) -> Cleaned:
    """Return the line without its secrets, or a bad line if one cannot be redacted."""
    try:
        if line.feedback is not None:
            query = redaction.redact_query(line.feedback.query)
            return line._replace(feedback=line.feedback._replace(query=query)), {}
        if line.draft is None:
            return line, {}
        draft, found = redaction.redact_draft(line.draft, redact=redact)
    except UserError as error:
        return line._replace(draft=None, feedback=None, reason=str(error)), {}
    return line._replace(draft=draft), found


class Imported(NamedTuple):
    """The result of an import. `redacted`: secrets by kind; `feedback`: the number added."""

    added: int
    updated: int
    unchanged: int
    bad: list[tuple[int, str]]
    redacted: Counter[str]
    feedback: int = 0

    @property
    def changed(self) -> int:
        """The number of memories and feedback events written."""
        return self.added + self.updated + self.feedback

    def plus(self, other: Imported) -> Imported:
        return Imported(*(a + b for a, b in zip(self, other, strict=True)))  # type: ignore[operator]


class _DryRun(Exception):
    """Rolls back a write that was only tried."""


@operation(WRITE)
def import_lines(
    session: Session,
    lines: Iterable[RawLine | Line],
    *,
    strict: bool = False,
    redact: bool = True,
    dry_run: bool = False,
    progress: Callable[[int], None] = lambda size: None,
) -> Imported:
    """Save the memories and the feedback of these lines. Bad lines are reported, and the others
    are saved. Feedback that is already there is not added again.

    `strict`: save nothing if a line is bad; `redact`: see `save_all`; `dry_run`: only report.
    """
    session.models.embeds()  # as for `save_all`
    counts = Imported(0, 0, 0, [], Counter())
    found = prepare_batches(lines, session.redaction, redact=redact)
    writes: Iterable[Sequence[Batch]] = ([batch] for batch in found)
    if strict or dry_run:
        writes = [list(found)]
        bad = [line for line in chain.from_iterable(map(_lines, writes[0])) if line.reason]
        if strict and bad:
            return counts._replace(bad=[(line.number, line.reason) for line in bad])
    feedback: Counter[FeedbackEvent] = Counter()
    writing = partial(session.writing_many, "import", WriteOperation())

    def save(several: Sequence[Batch]) -> Imported:
        counts, events = Imported(0, 0, 0, [], Counter()), feedback.copy()
        prepared = None if strict or dry_run else several[0].prepared
        with suppress(_DryRun), writing(prepared=prepared) as write:
            for batch in several:
                counts = counts.plus(_save_lines(session, write, batch, events, progress))
            if dry_run:
                raise _DryRun
        feedback.update(events - feedback)
        return counts

    for several in writes:
        try:
            done = session.store.database.retrying(partial(save, several))
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
    """Save a batch; `feedback` counts the events of all batches so far."""
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
