"""A large import is made ready by worker processes, and does what a small one does."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from recollect import Recollect, worker_processes
from recollect.engine import importing
from recollect.engine.importing import Imported
from recollect.ingest.exchange import RawLine, raw_lines
from recollect.secrets.redaction import Redaction
from recollect.settings import Embedding, Rerank, Secrets, Settings
from recollect.store.sqlite.segments import buffer
from recollect.store.sqlite.writing import BackgroundMerging
from worker_calls import CallsHere

OFF = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))
TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3


@pytest.fixture(autouse=True)
def _few_lines_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importing, "FEW", 6)
    monkeypatch.setattr(importing, "IMPORT_BATCH", 8)
    monkeypatch.setattr(importing, "SEGMENT_BATCH", 8)
    monkeypatch.setattr(importing, "worker_count", lambda: 2)
    monkeypatch.setattr(buffer, "FIRST", 3)
    monkeypatch.setattr(buffer, "MOST", 3)
    monkeypatch.setattr(BackgroundMerging, "wrote", lambda *_, **__: None)


def lines(count: int = 40) -> list[bytes]:
    """Memories with and without ids, some again, some forgotten, with secrets; feedback; bad
    lines."""
    found: list[dict[str, object]] = [
        {"title": f"Memory {number}", "text": f"What it says of ship{number} and café_{number}."}
        for number in range(count)
    ]
    for number in range(0, count, 3):
        found[number]["id"] = f"id-{number}"
    for number in range(0, count, 9):
        found[number] |= {"forgotten_at": "2026-01-01T00:00:00Z", "id": f"gone-{number}"}
    found[7]["text"] = f"The token is {TOKEN}."
    found[20] = {**found[5], "tags": ["again"]}
    found[31] = {"id": "id-3", "title": "Memory 3", "text": "Changed to lighthouse."}
    feedback = {"query": "ship", "id": "id-3", "accepted": True, "at": "2026-01-01T00:00:00Z"}
    found[11] = found[12] = {"feedback": feedback}
    raw = [json.dumps(one).encode() + b"\n" for one in found]
    raw[14] = b"{\n"
    raw[25] = b"\n"
    raw[33] = b'{"titel": "a word too few"}\n'
    return raw


def run_import(path: Path, raw: list[bytes], **options: Any) -> tuple[Imported, dict[str, object]]:
    """Return the result of an import, and the vault's content after it."""
    with Recollect(path, settings=OFF, environment={"RECOLLECT_NOW": "2026-02-01"}) as memory:
        done = memory.import_lines(raw_lines(raw), **options)
        found = memory.store.memories.ids(forgotten=True)
        words = {"ship3", "ship5", "ship9", "ship39", "lighthouse", "café_8", "redacted"}
        return done, {
            "stored": {id: one[1:] for id, one in memory.store.memories.find(found).items()},
            "feedback": memory.store.feedback.list_all(),
            "frequencies": memory.store.vocabulary.frequencies(words),
            "found": {
                word: {one.id for one in memory.search(word, recipe="router").results}
                for word in sorted(words)
            },
            "problems": [one for one in memory.store.examine() if one.problem],
        }


@pytest.mark.parametrize("options", [{}, {"strict": True}, {"dry_run": True}, {"redact": False}])
@pytest.mark.parametrize("bad", [True, False])
def test_a_large_import_does_what_a_small_one_does(
    options: dict[str, bool], bad: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = lines() if bad else [line for line in lines() if b"titel" not in line and line != b"{\n"]
    monkeypatch.setattr(importing, "Workers", CallsHere)
    large = run_import(tmp_path / "large.db", raw, **options)
    again = run_import(tmp_path / "large.db", raw, **options)
    monkeypatch.setattr(importing, "FEW", 1000)
    monkeypatch.setattr(buffer, "FIRST", 1000)
    assert large == run_import(tmp_path / "small.db", raw, **options)
    assert again == run_import(tmp_path / "small.db", raw, **options)
    assert large[1]["problems"] == []


ODD = (
    f"ghp_{'aB3dE5fG7hI9' * 3}|plain words|password = hunter2hunter2X|FileSyncService|İstanbul KEY|"
    f"<redact>mine</redact>|-----BEGIN it|docker login here|{'w' * 30} cio|ΟΔΥΣΣΕΥΣ token|東京"
).split("|")


@pytest.mark.parametrize("patterns", [{}, {"mine": "plain"}])
def test_lines_made_ready_together_are_those_made_ready_one_by_one(
    patterns: dict[str, str],
) -> None:
    """Suspects are found among the pieces of all; what the indexes hold is without secrets, too."""
    chance = Random(5)
    redaction = Redaction(Secrets(patterns=patterns))
    names = ("title", "text", "context", "details", "project", "path", "domain", "id")
    drafts = [
        {"text": f"note {number}", "tags": chance.choices(ODD, k=number % 3)}
        | {name: chance.choice(ODD) for name in chance.choices(names, k=2)}
        for number in range(300)
    ]
    feedback = {"query": ODD[0], "id": "x", "accepted": True, "at": "2026-01-01T00:00:00Z"}
    raw = [json.dumps(line).encode() for line in [*drafts, {"feedback": feedback}, {"odd": 1}]]
    some = [RawLine(number, text) for number, text in enumerate(raw, start=1)]
    together = importing.prepare_batch(redaction, True, some)
    alone = importing.redact_batch(redaction, True, some).lines
    assert together.lines == alone
    assert any(found for _, found in alone)
    assert any("secret" in line.reason for line, _ in alone)
    again = importing.prepare_batch(redaction, False, [line for line, _ in alone])
    assert together.prepared == again.prepared


def test_workers_make_an_import_ready(tmp_path: Path) -> None:
    """Real ones; what they made is what is written."""
    raw = [b'{"title": "Memory %d", "text": "ship%d"}\n' % (n, n) for n in range(40)]
    raw[3] = b'{"title": "Memory 3", "text": "The token is %s."}\n' % TOKEN.encode()
    with Recollect(tmp_path / "vault.db", settings=OFF, environment={}) as memory:
        done = memory.import_lines(raw_lines(raw))
        assert (done.added, done.bad, done.redacted) == (40, [], {"github token": 1})
        [(buffered,)] = memory.store.database.rows("SELECT count(*) FROM stemmed_docsize")
        [(segments,)] = memory.store.database.rows("SELECT count(*) FROM segments")
        assert (buffered, segments) == (0, 5)
        [found] = memory.search("ship39", recipe="router").results
        assert found.id.startswith("memory-39-")


def test_an_import_that_is_interrupted_leaves_whole_batches_and_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[worker_processes.Workers[Any, Any]] = []

    class Noted(worker_processes.Workers[Any, Any]):
        def __init__(self, function: Callable[[Any], Any], count: int) -> None:
            super().__init__(function, count)
            started.append(self)

    monkeypatch.setattr(importing, "Workers", Noted)

    def fail_later() -> Iterator[RawLine]:
        yield from raw_lines([b'{"title": "Memory %d"}\n' % number for number in range(36)])
        raise KeyboardInterrupt

    with Recollect(tmp_path / "vault.db", settings=OFF, environment={}) as memory:
        with pytest.raises(KeyboardInterrupt):
            memory.import_lines(fail_later())
        assert len(memory.store.memories.ids()) % 8 == 0
        assert [one for one in memory.store.examine() if one.problem] == []
    [workers] = started
    assert all(process.returncode is not None for process in workers._every)
