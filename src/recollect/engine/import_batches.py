"""Lines in batches, made ready to be saved: by worker processes where there are many lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import chain, count, islice
from typing import NamedTuple

from recollect.engine.redaction import TEXTS, Redaction
from recollect.errors import UserError
from recollect.ingest.draft import Draft, complete
from recollect.ingest.ids import made_id
from recollect.ingest.jsonl import Line, RawLine, parsed
from recollect.parts import parts
from recollect.store.base import SEGMENTS_FROM
from recollect.store.prepared import PreparedMemories
from recollect.worker_processes import Workers, fitting, part_size

# Long enough to be quick, short enough that other writers wait little.
IMPORT_BATCH = 2000
SEGMENT_BATCH = 6000  # what is packed is written more quickly
# With fewer lines, starting workers takes longer than they spare.
FEW = 4000
ANY_TIME = datetime(1970, 1, 1, tzinfo=UTC)

# A line to import without its secrets, and how many of each kind it had.
Cleaned = tuple[Line, Mapping[str, int]]


class Batch(NamedTuple):
    """Lines to save in one write. `prepared`: what a store needs of their live memories, if all of
    them are new."""

    lines: list[Cleaned]
    prepared: PreparedMemories | None = None


def batches(
    lines: Iterable[RawLine | Line], redaction: Redaction, *, redact: bool
) -> Iterator[Batch]:
    """The lines in order, without their secrets."""
    source = iter(lines)
    ahead = list(islice(source, FEW + 1))
    clean = partial(cleaned, redaction, redact)
    if len(ahead) <= FEW:
        yield from map(clean, parts(ahead, IMPORT_BATCH))
        return

    workers = fitting()
    if workers < 2:
        yield from map(clean, parts(chain(ahead, source), IMPORT_BATCH))
        return
    ahead += islice(source, SEGMENTS_FROM - len(ahead))
    many = len(ahead) == SEGMENTS_FROM
    ready = partial(ready_made, redaction, redact) if many else clean
    # Where all lines are here already, no worker has nothing to do.
    size = SEGMENT_BATCH if many else part_size(len(ahead), IMPORT_BATCH, workers)
    yield from Workers(ready, workers).map(parts(chain(ahead, source), size))


def cleaned(redaction: Redaction, redact: bool, lines: Sequence[RawLine | Line]) -> Batch:
    return Batch([_cleaned(redaction, parsed(line), redact=redact) for line in lines])


def ready_made(redaction: Redaction, redact: bool, lines: Sequence[RawLine | Line]) -> Batch:
    """The lines, and what a store needs of their memories: most of the work of an import. A
    memory is looked at by itself only where one of its pieces may be of a secret."""
    from recollect.store.sqlite.segments import packing  # noqa: PLC0415  start-up time: numpy

    def row_of(draft: Draft) -> Sequence[str]:
        return packing.fields_of(complete(draft, draft.id or made_id(draft.fields), None, ANY_TIME))

    numbers = count()
    pairs = [
        (line, next(numbers) if line.draft and line.forgotten_at is None else None)
        for line in map(parsed, lines)
    ]
    live = [line.draft for line, row in pairs if line.draft and row is not None]
    memories = packing.split(map(row_of, live))
    suspect = memories.having(redaction.suspect_pieces(memories.pieces)) if redact else set()
    unseen = {*TEXTS} - {*packing.FIELDS}
    changes: dict[int, Sequence[str] | None] = {}
    found: list[Cleaned] = []
    for line, row in pairs:
        if row is not None and not (row in suspect or any(map(live[row].fields.get, unseen))):
            found.append((line, {}))
            continue
        found.append(_cleaned(redaction, line, redact=redact))
        draft = found[-1][0].draft
        if row is not None and draft is not line.draft:
            changes[row] = None if draft is None else row_of(draft)
    return Batch(found, packing.prepared(memories.changed(changes) if changes else memories))


def _cleaned(redaction: Redaction, line: Line, *, redact: bool) -> Cleaned:
    """The line without its secrets; a bad line if one cannot be replaced."""
    try:
        if line.feedback is not None:
            query = redaction.of_query(line.feedback.query)
            return line._replace(feedback=line.feedback._replace(query=query)), {}
        if line.draft is None:
            return line, {}
        draft, found = redaction.of_draft(line.draft, redact=redact)
    except UserError as error:
        return line._replace(draft=None, feedback=None, reason=str(error)), {}
    return line._replace(draft=draft), found
