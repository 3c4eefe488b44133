"""Many files are read by worker processes, and become the memories that few become."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from recollect import Recollect, worker_processes
from recollect.folders import sync
from recollect.settings import Embedding, Rerank, Settings
from recollect.store.sqlite.segments import buffer, packing
from recollect.store.sqlite.writing import BackgroundMerging
from worker_calls import CallsHere

OFF = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))
TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3


@pytest.fixture(autouse=True)
def _few_files_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sync, "FEW_FILES", 2)
    monkeypatch.setattr(sync, "BATCH_FILES", 3)
    monkeypatch.setattr(sync, "MOST_FILES", 5)
    monkeypatch.setattr(buffer, "FIRST", 3)
    monkeypatch.setattr(buffer, "MOST", 3)
    monkeypatch.setattr(worker_processes, "worker_count", lambda: 2)
    monkeypatch.setattr(BackgroundMerging, "wrote", lambda *_, **__: None)


def files(folder: Path) -> None:
    """Notes of several sections, some the same; a secret; a file that is left out."""
    folder.mkdir()
    for number in range(12):
        text = f"# Note {number}\n\nAbout ship{number}.\n\n## Again\n\nSame.\n\n## Again\n\nSame.\n"
        ending = "txt" if number else "md"  # the sections of which are chunks
        (folder / f"note-{number}.{ending}").write_text(text, encoding="utf-8")
    (folder / "secret.txt").write_text(f"The token is {TOKEN}.\n", encoding="utf-8")
    (folder / "empty.txt").write_text("", encoding="utf-8")
    (folder / "café.txt").write_text("Ein Schiff namens lighthouse.\n", encoding="utf-8")
    for file in folder.iterdir():
        os.utime(file, (1_700_000_000, 1_700_000_000))


def change(folder: Path) -> None:
    (folder / "note-1.txt").write_text("Now something else about ship1.\n", encoding="utf-8")
    (folder / "note-2.txt").rename(folder / "moved.txt")
    (folder / "note-3.txt").unlink()
    for number in range(20, 26):
        (folder / f"note-{number}.txt").write_text(f"About ship{number}.\n", encoding="utf-8")
    os.utime(folder / "note-4.txt", (1_700_000_001, 1_700_000_001))


def sync_all(memory: Recollect, folder: Path) -> dict[str, object]:
    """Return the report of a sync, and the content of the vault."""
    found = memory.add_folder(folder)
    ids = memory.store.memories.ids(forgotten=True)
    words = ("ship0", "ship1", "ship2", "ship3", "ship25", "lighthouse", "redacted", "same")
    return {
        **vars(found),
        "named": sorted(found.named),
        "stored": {
            id: (one.memory.title, one.memory.text, one.memory.path, one.forgotten)
            for id, one in memory.store.memories.find(ids).items()
        },
        "found": [
            {one.id for one in memory.search(word, recipe="router").results} for word in words
        ],
        "problems": [one for one in memory.store.examine() if one.problem],
    }


def test_many_files_become_what_few_become(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "folder"
    files(folder)
    monkeypatch.setattr(worker_processes, "Workers", CallsHere)
    with (
        Recollect(tmp_path / "many.db", settings=OFF, environment={}) as many,
        Recollect(tmp_path / "few.db", settings=OFF, environment={}) as few,
    ):
        for again in (False, True):
            by_workers = sync_all(many, folder)
            with monkeypatch.context() as patched:
                patched.setattr(sync, "FEW_FILES", 1000)
                assert by_workers == sync_all(few, folder)
            assert by_workers["problems"] == []
            if not again:
                change(folder)


def test_workers_read_and_prepare_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Real ones; nothing is packed here, and nothing passes through the buffer."""
    folder = tmp_path / "folder"
    files(folder)
    monkeypatch.setattr(packing, "prepare", None)
    with Recollect(tmp_path / "vault.db", settings=OFF, environment={}) as memory:
        done = memory.add_folder(folder)
        assert (done.files["added"], done.left_out, done.redacted) == (
            14, {"empty": 1}, {"github token": 1},
        )  # fmt: skip
        [(buffered,)] = memory.store.database.rows("SELECT count(*) FROM stemmed_docsize")
        assert buffered == 0
        assert len(memory.search("lighthouse", recipe="router").results) == 1
