"""Importing many memories, batch by batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from recollect.engine.session import Session
from recollect.errors import UserError
from recollect.ingest.jsonl import Line
from recollect.ingest.saving import save_drafts
from recollect.store.base import Writing

IMPORT_BATCH = 4000  # long enough to be quick, short enough that other writers wait little

# A line to import without its secrets, and how many of each kind it had.
Cleaned = tuple[Line, Mapping[str, int]]


class Imported(NamedTuple):
    """What an import did; `redacted`: how many secrets of each kind were replaced."""

    added: int
    updated: int
    unchanged: int
    bad: list[tuple[int, str]]
    redacted: Counter[str]


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
    """Save the memories of these lines. Bad lines are reported, and the others are saved.

    `strict`: with one bad line nothing is saved. `redact` as for `save_all`. `dry_run`: say what
    would be done, and do nothing.
    """
    session.models.embeds()  # as for `save_all`
    counts = Imported(0, 0, 0, [], Counter())
    cleaned: Iterable[Cleaned] = (_cleaned(session, line, redact=redact) for line in lines)
    if strict:
        every = list(cleaned)
        bad = [(line.number, line.reason) for line, _ in every if line.draft is None]
        if bad:
            return counts._replace(bad=bad)
        cleaned = every
    at_once = strict or dry_run
    for batch in [list(cleaned)] if at_once else _batches(cleaned, IMPORT_BATCH):
        with suppress(_Undone), session.store.writing() as write:
            done = _save_lines(session, write, batch, progress)
            if dry_run:
                raise _Undone
        if not dry_run and (changed := done.added + done.updated):
            session.wrote("import", count=changed)
        counts = Imported(*(a + b for a, b in zip(counts, done, strict=True)))  # type: ignore[operator]
    return counts


def _cleaned(session: Session, line: Line, *, redact: bool) -> Cleaned:
    """The line without its secrets; a bad line if one cannot be replaced."""
    if line.draft is None:
        return line, {}
    try:
        draft, found = session.redaction.of_draft(line.draft, redact=redact)
    except UserError as error:
        return line._replace(draft=None, reason=str(error)), {}
    return line._replace(draft=draft), found


def _save_lines(
    session: Session, write: Writing, clean: Sequence[Cleaned], progress: Callable[[int], None]
) -> Imported:
    lines = [line for line, _ in clean]
    drafts = [line.draft for line in lines if line.draft is not None]
    outcomes = [saved.outcome for saved in save_drafts(write, drafts, session.clock())]
    progress(sum(line.size for line in lines))
    return Imported(
        outcomes.count("added"),
        outcomes.count("updated"),
        outcomes.count("unchanged"),
        [(line.number, line.reason) for line in lines if line.draft is None],
        sum((Counter(found) for _, found in clean if found), Counter[str]()),
    )


def _batches(lines: Iterable[Cleaned], size: int) -> Iterator[list[Cleaned]]:
    batch: list[Cleaned] = []
    for line in lines:
        batch.append(line)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch
