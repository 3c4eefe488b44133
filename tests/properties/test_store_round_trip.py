"""Whatever a memory holds, the store gives it back unchanged, and every index stays in step."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

from hypothesis import given, settings
from hypothesis import strategies as st
from suites.stores.samples import CHANGE

from examples import examples
from recollect.engine import Recollect
from recollect.ingest.draft import complete_draft
from recollect.ingest.exchange import RawLine, as_line, parse_line, raw_lines, stored_line
from recollect.settings import Embedding, Rerank, Settings
from recollect.store.sqlite.store import SqliteStore
from recollect.types import Filter, Memory, Severity, Tier

MOMENTS = st.datetimes(
    min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30), timezones=st.just(UTC)
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)
SAID = TEXTS.filter(str.strip)
IDS = st.text(st.characters(exclude_categories=["Cs", "Z", "Cc"]), min_size=1, max_size=40).filter(
    lambda id: id.split() == [id]
)
ANY_TEXT = ("text", "context", "why", "impact", "details", "domain", "project", "source", "space")
MEMORIES = st.builds(
    Memory,
    id=IDS,
    title=SAID,
    tags=st.lists(SAID, unique=True, max_size=4).map(tuple),
    kind=SAID,
    severity=st.sampled_from([None, *get_args(Severity)]),
    tier=st.sampled_from(get_args(Tier)),
    valid_from=st.none() | MOMENTS,
    valid_until=st.none() | MOMENTS,
    **dict.fromkeys((*ANY_TEXT, "path"), TEXTS),
    **dict.fromkeys(("created_at", "updated_at"), MOMENTS),
)
UNHURRIED = settings(max_examples=examples(40))
BATCHES = st.lists(MEMORIES, min_size=1, max_size=5, unique_by=lambda memory: memory.id)


@contextmanager
def new_store() -> Iterator[SqliteStore]:
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder) / "vault.db")
        try:
            yield store
            assert [finding for finding in store.examine() if finding.problem] == []
        finally:
            store.close()


@contextmanager
def new_engine() -> Iterator[Recollect]:
    with tempfile.TemporaryDirectory() as folder:
        off = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))
        with Recollect(home=folder, settings=off, environment={}) as engine:
            yield engine
            assert [finding for finding in engine.session.store.examine() if finding.problem] == []


@UNHURRIED
@given(BATCHES)
def test_memories_come_back_as_they_were_saved(batch: list[Memory]) -> None:
    expected = {memory.id: memory for memory in batch}
    with new_store() as store:
        with store.writing(CHANGE) as write:
            for memory in batch:
                write.add(memory)
        assert store.memories.get(list(expected)) == expected
        listed = store.memories.browse(Filter(), 10)
        assert {memory.id: memory for memory in listed} == expected
        for memory in batch:
            alike = Filter(project=memory.project, kind=memory.kind, tags=memory.tags)
            assert memory in store.memories.newest(alike, 10)


@UNHURRIED
@given(st.lists(MEMORIES, min_size=2, max_size=5))
def test_a_memory_that_changes_is_always_what_it_was_changed_to(versions: list[Memory]) -> None:
    with new_store() as store:
        first, *rest = versions
        with store.writing(CHANGE) as write:
            held = write.add(first)
        for number, after in enumerate(rest):
            with store.writing(CHANGE) as write:
                if number % 2:
                    write.forget(held, after.updated_at)
                    [held] = write.find([held.memory.id]).values()
                held = write.replace(held, after)
            assert store.memories.get([after.id]) == {after.id: after}


@UNHURRIED
@given(BATCHES, st.data())
def test_a_vault_moves_whole(batch: list[Memory], data: st.DataObject) -> None:
    """Live and forgotten memories and feedback, out of one vault and twice into another."""
    with new_engine() as first, new_engine() as second:
        for memory in batch:
            at = data.draw(st.none() | MOMENTS)
            with first.session.store.writing(CHANGE) as write:
                stored = write.add(memory)
                if at is not None:
                    write.forget(stored, at)
            for accepted in data.draw(st.lists(st.booleans(), max_size=3)):
                query = data.draw(SAID.map(first.session.redaction.redact_query).filter(str.strip))
                moment = data.draw(st.sampled_from([datetime(2026, 1, 1, tzinfo=UTC)]) | MOMENTS)
                first.session.store.feedback.add(query, memory.id, accepted, moment)
        lines = [stored_line(item) for item in first.export_all()]
        events = len(first.session.store.feedback.list_all())
        done = second.import_lines(raw_lines(lines), redact=False)
        assert done == (len(batch), 0, 0, [], {}, events)
        assert [stored_line(item) for item in second.export_all()] == lines
        again = second.import_lines(raw_lines(lines), redact=False)
        assert again == (0, 0, len(batch), [], {}, 0)
        assert second.opinions() == first.opinions()
        assert [*second.export()] == [*first.export()]


@UNHURRIED
@given(MEMORIES)
def test_an_exported_memory_imports_as_itself(memory: Memory) -> None:
    line = parse_line(RawLine(1, as_line(memory)))
    assert line.draft is not None, line.reason
    assert complete_draft(line.draft, memory.id, None, memory.created_at) == memory
