"""The activity of a vault, from its history and the log of reads, in either store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect import Recollect
from recollect.auth import access as access_files
from recollect.auth.capabilities import SEARCH, Caller

OFF = {"RECOLLECT_EMBEDDING__PROVIDER": "none", "RECOLLECT_RERANK__PROVIDER": "none"}


@pytest.fixture
def agent(tmp_path: Path, each_store: str) -> Iterator[Recollect]:
    with Recollect(home=tmp_path, environment=OFF, interface="mcp", client="an-agent") as opened:
        yield opened


def test_the_past_is_paged_through_and_what_comes_after_is_new(agent: Recollect) -> None:
    for number in range(6):
        agent.save(title=f"Numbered {number}", project="paging")
        agent.search(f"numbered {number}", project="paging")
    agent.save(title="Of something else")
    first = agent.activity(limit=5, project="paging")
    assert first.older is not None
    second = agent.activity(limit=50, project="paging", before=first.older)
    assert second.older is None
    together = [*first.entries, *second.entries]
    times = [entry.at for entry in together]
    assert times == sorted(times, reverse=True)
    assert sum(entry.action == "save" for entry in together) == 6
    assert sum(entry.times for entry in together if entry.action == "search") == 6
    assert agent.activity(after=first.newest).entries == []
    assert agent.activity(by="library").entries == []
    assert agent.active_clients() == ["an-agent"]
    agent.save(title="The newest")
    assert [entry.action for entry in agent.activity(after=first.newest).entries] == ["save"]


def test_what_was_forgotten_is_counted_and_not_named_to_who_may_only_search(
    agent: Recollect,
) -> None:
    gone = agent.save(title="A secret plan")
    agent.forget([gone.id])
    reader = agent.acting_as(Caller(name="reader", capabilities=frozenset({SEARCH})))
    assert [(entry.size, entry.memories) for entry in reader.activity().entries] == [(1, ())] * 2
    assert agent.activity().entries[0].memories == (gone,)


def test_the_log_of_reads_stays_short_and_has_no_words(
    agent: Recollect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access_files, "LARGEST_READS", 1000)
    agent.save(title="Quokkas sleep at noon")
    for _ in range(50):
        agent.search("quokkas")
    text = (agent.home / access_files.READS).read_text()
    assert "quokka" not in text.lower()
    assert len(text) < 1200
    assert agent.activity().entries[0].times > 5
