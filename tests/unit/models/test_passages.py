"""Long memories, embedded in passages by the built-in model, from end to end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import apsw
import pytest

from recollect.context import SearchContext
from recollect.engine import Recollect
from recollect.ingest.exchange import raw_lines
from recollect.lifetime import Lifetime
from recollect.models.active import ActiveModels
from recollect.models.base import Embedder, Windowed
from recollect.recall.vector import Vector
from recollect.settings import Rerank, Settings
from recollect.store.base import VectorIndex, VectorMatch
from recollect.types import Filter, Ranking

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
SETTINGS = Settings(rerank=Rerank(provider="none"))
FILLER = "The meeting went through the list of open points and moved most of them to the next one. "
NEEDLE = "Heike keeps an aquarium full of tropical fish."
LONG = FILLER * 150 + NEEDLE
SEVERAL = FILLER * 50 + NEEDLE  # a few passages
ASKED = "who has pets that swim"


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    """The built-in model, loaded once."""
    return ActiveModels(SETTINGS, {}).embedder()


@pytest.fixture
def memory(
    tmp_path: Path, embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Recollect]:
    monkeypatch.setattr("recollect.models.active.open_embedder", lambda *_: embedder)
    with Recollect(
        tmp_path / "vault.db",
        home=tmp_path,
        settings=SETTINGS,
        environment={},
        clock=lambda: NOW,
        lifetime=Lifetime.ONCE,  # long texts are embedded when the test says so
    ) as opened:
        yield opened


def stored_rows(memory: Recollect, *, waits: bool = False) -> list[tuple[str, int, int, int]]:
    """Every vector: (memory, passage, start, stop). All are made first, unless some must wait."""
    assert waits or memory.embed_now() is None
    connection = apsw.Connection(str(memory.path), flags=apsw.SQLITE_OPEN_READONLY)
    rows = connection.execute(
        "SELECT m.id, v.passage, v.start, v.stop FROM vectors v "
        "JOIN memories m ON m.key = v.memory ORDER BY v.memory, v.passage"
    ).fetchall()
    connection.close()
    return rows  # type: ignore[return-value]


def nearest(memory: Recollect, asked: str = ASKED) -> list[VectorMatch]:
    embedder = memory.models.embedder()
    assert memory.embed_now() is None
    [vector] = embedder.queries([asked])
    index: VectorIndex = memory.store.vectors
    return index.nearest(embedder.identity, vector, 10, Filter())


def coverage(memory: Recollect) -> tuple[int, int]:
    index: VectorIndex = memory.store.vectors
    return index.coverage(memory.models.embedder().identity)


def test_a_long_memory_is_found_by_its_last_sentence(memory: Recollect) -> None:
    assert len(LONG.split()) > 2500
    memory.save(id="long", title="Minutes", text=LONG)
    memory.save(id="other", title="Minutes of another day", text=FILLER)
    passages = stored_rows(memory)[:-1]
    assert [passage for _, passage, _, _ in passages] == list(range(1, len(passages) + 1))
    assert len(passages) > 5
    best, other = nearest(memory)
    assert best.memory_id == "long"
    assert best.passage == len(passages), "The last one holds the needle."
    assert best.score > other.score + 0.05
    whole = f"Minutes\n{LONG}"
    assert whole[best.span.start : best.span.end].endswith(NEEDLE)
    assert best.span.end == len(whole)


def test_a_short_memory_is_one_passage_without_a_number(memory: Recollect) -> None:
    memory.save(id="short", title="Aquarium", text=NEEDLE)
    assert stored_rows(memory) == [("short", 0, 0, len(f"Aquarium\n{NEEDLE}"))]
    [found] = nearest(memory)
    assert (found.passage, found.span.start) == (0, 0)


@pytest.mark.parametrize("recipe", ["router", "covalence", "gnosis"])
def test_the_vector_channel_names_the_passage(
    memory: Recollect, recipe: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.save(id="long", title="Minutes", text=SEVERAL)
    memory.save(id="short", title="Aquarium", text=NEEDLE)
    seen: list[Ranking] = []
    recall = Vector.recall

    def watched(self: Vector, at: SearchContext) -> Ranking | None:
        found = recall(self, at)
        assert found is not None
        seen.append(found)
        return found

    monkeypatch.setattr(Vector, "recall", watched)
    memory.embed_now()
    answer = memory.search(ASKED, recipe=recipe)
    assert {"long", "short"} == {result.id for result in answer}
    assert answer.degraded == ()
    [channel] = seen
    how = {hit.memory_id: hit.why.how for hit in channel}
    last = stored_rows(memory)[-2]
    assert last[0] == "long"
    place = f"(passage {last[1]}: characters {last[2]}–{last[3]} of title, text and context)"
    assert how == {"long": place, "short": ""}


@pytest.mark.parametrize("recipe", ["vault", "echovault", "router", "covalence"])
def test_the_explanation_names_the_passage(memory: Recollect, recipe: str) -> None:
    memory.save(id="long", title="Minutes", text=SEVERAL)
    memory.save(id="short", title="Aquarium", text=NEEDLE)
    memory.embed_now()
    results = {result.id: result for result in memory.search(ASKED, recipe=recipe)}
    hows = {
        id: [term.how for term in result.explain.leaves() if term.name == "vector"]
        for id, result in results.items()
    }
    last = stored_rows(memory)[-2]
    assert f"passage {last[1]}: characters {last[2]}–{last[3]}" in hows["long"][0]
    assert "passage" not in hows["short"][0]


def test_an_edit_replaces_all_passages(memory: Recollect) -> None:
    memory.save(id="long", title="Minutes", text=SEVERAL)
    memory.save(id="other", title="Bread", text="Bake it hot.")
    assert nearest(memory)[0].passage > 1
    memory.edit("long", text="Nothing was decided.")
    assert [(id, passage) for id, passage, _, _ in stored_rows(memory)] == [
        ("long", 0),
        ("other", 0),
    ]
    assert [near.passage for near in nearest(memory)] == [0, 0]
    memory.edit("long", text=SEVERAL)
    assert nearest(memory)[0].passage > 1
    assert coverage(memory) == (2, 2)


def test_forgetting_removes_all_passages_and_undoing_brings_them_back(memory: Recollect) -> None:
    memory.save(id="long", title="Minutes", text=SEVERAL)
    memory.save(id="other", title="Bread", text="Bake it hot.")
    before = stored_rows(memory)
    memory.forget(["long"])
    assert [id for id, *_ in stored_rows(memory)] == ["other"]
    assert [near.memory_id for near in nearest(memory)] == ["other"]
    assert coverage(memory) == (1, 1)
    memory.forget(["long"], undo=True)
    assert sorted(stored_rows(memory)) == sorted(before)
    assert nearest(memory)[0].memory_id == "long"
    memory.forget(["long"], purge=True)
    assert [id for id, *_ in stored_rows(memory)] == ["other"]
    assert not any(finding.problem for finding in memory.doctor())


def test_coverage_counts_memories_not_passages(memory: Recollect) -> None:
    memory.save(id="long", title="Minutes", text=SEVERAL)
    memory.save(id="other", title="Bread", text="Bake it hot.")
    assert len(stored_rows(memory)) > 3
    assert coverage(memory) == (2, 2)
    assert memory.waiting() == 0
    assert memory.stats()["vectors"] == 2


def test_an_interrupted_reindex_goes_on(memory: Recollect, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process goes away after the first of two batches: those vectors are kept as they are."""
    embedder = memory.models.embedder()
    memory.session.background.stop()  # else it might take what this test leaves waiting
    memory.session.background.close()
    lines = [{"id": "long", "title": "Minutes", "text": SEVERAL}]
    lines += [{"id": f"n{number}", "title": f"Note {number}"} for number in range(3)]
    memory.import_lines(raw_lines(json.dumps(line).encode() for line in lines))
    assert memory.waiting() == 4
    monkeypatch.setattr("recollect.models.embedding_queue.BATCH", 2)

    def interrupted(done: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        memory.reindex(progress=interrupted)
    kept = stored_rows(memory, waits=True)
    assert {id for id, *_ in kept} == {"n0", "n1"}
    assert memory.waiting() == 2
    asked: list[str] = []
    windows = type(embedder).windows  # type: ignore[attr-defined]

    def watched(self: Windowed, text: str) -> object:
        asked.append(text)
        return windows(self, text)

    monkeypatch.setattr(type(embedder), "windows", watched)
    assert memory.reindex() == 2
    assert asked == ["Note 2", f"Minutes\n{SEVERAL}"]
    assert memory.waiting() == 0
    assert memory.reindex() == 0
    assert set(kept) < set(stored_rows(memory))
    assert nearest(memory)[0].memory_id == "long"


def test_two_processes_agree_on_the_passages(memory: Recollect, tmp_path: Path) -> None:
    """A vault that is opened anew reads the same passages from its file."""
    memory.save(id="long", title="Minutes", text=SEVERAL)
    with Recollect(
        memory.path, home=tmp_path, settings=SETTINGS, environment={}, clock=lambda: NOW
    ) as other:
        assert nearest(other) == nearest(memory)
        memory.edit("long", text="Nothing was decided.")
        assert nearest(other) == nearest(memory)
        assert nearest(other)[0].passage == 0
