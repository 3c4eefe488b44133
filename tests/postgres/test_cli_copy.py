"""`recollect store copy`: a vault in a file becomes one in PostgreSQL, and the other way round."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest
from commandline import Home, check_schema
from suites.stores.helpers import put
from suites.stores.samples import MODEL, random_vectors

from recollect import Recollect
from recollect.settings import Embedding, Rerank, Settings
from recollect_postgres import copying

OFF = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))


def fill_vault(file: Path) -> None:
    """A vault with all that a copy takes over."""
    folder = file.parent / "notes"
    folder.mkdir()
    (folder / "tides.md").write_text("# Tides\n\nThey turn every six hours.\n")
    with Recollect(file, home=file.parent / "home", settings=OFF) as memory:
        for number in range(12):
            memory.save(id=f"m{number}", title=f"Note {number}", text=f"The tide of day {number}",
                        tags=["Sea", f"day {number}"])  # fmt: skip
        memory.edit("m3", text="The flood of day 3")
        memory.forget(["m5"])
        memory.forget(["m6"], purge=True)
        memory.supersede("m1", "m2")
        memory.feedback("tide of day", "m2", accept=True)
        memory.unlearn()
        memory.feedback("flood", "m3", accept=False)
        memory.add_folder(folder, project="sea")
        memory.search("tide")
        put(memory.store, MODEL, random_vectors(f"m{number}" for number in (0, 3, 7)))


def state(memory: Recollect) -> object:
    ids = memory.store.memories.ids(forgotten=True)
    return (
        memory.store.memories.find(ids).keys(),
        [memory.store.history.versions(id) for id in ids],
        memory.store.feedback.list_all(),
        memory.store.feedback.questions(),
        [(one.path, one.project) for one in memory.folders()],
        memory.store.usage.totals(),
        [finding for finding in memory.doctor() if finding.problem],
    )


def test_there_and_back_again_everything_is_the_same(
    tmp_path: Path, postgres_url: str, postgres_vault: str
) -> None:
    home, first, last = Home(tmp_path / "home"), tmp_path / "first.db", tmp_path / "last.db"
    fill_vault(first)
    done = home.json("copy", str(first), postgres_url, "--vault", postgres_vault)
    check_schema("store copy", done)
    assert {name: done[name] for name in ("memories", "forgotten", "vectors", "feedback")} == {
        "memories": 11, "forgotten": 1, "vectors": 3, "feedback": 2,
    }  # fmt: skip
    assert done["queries"] == 11
    back = home.call("copy", postgres_url, str(last), "--vault", postgres_vault)
    assert back.out.startswith("11 memories copied to")
    with (
        Recollect(first, home=tmp_path, settings=OFF) as one,
        Recollect(last, home=tmp_path, settings=OFF) as other,
    ):
        assert state(one) == state(other)
        other.save(title="What comes after it")  # and it goes on as a vault
        assert len(other.history("m3")) == 2


def test_a_copy_that_was_interrupted_goes_on(
    tmp_path: Path, postgres_url: str, postgres_vault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, file = Home(tmp_path / "home"), tmp_path / "first.db"
    fill_vault(file)
    there = ("copy", str(file), postgres_url, "--vault", postgres_vault)
    monkeypatch.setattr(copying, "BATCH", 4)
    copy, steps = copying._copy_memories, []

    def interrupted(*args: object) -> None:
        def step(done: int) -> None:
            steps.append(done)
            if steps == [0, 4]:
                raise KeyboardInterrupt

        copy(*args[:2], step)  # type: ignore[arg-type,call-arg]

    with monkeypatch.context() as patch:
        patch.setattr(copying, "_copy_memories", interrupted)
        assert home.call(*there).code == 130
    steps.clear()
    monkeypatch.setattr(copying, "_copy_memories", interrupted)
    assert home.call(*there).out.startswith("11 memories copied")
    assert steps[0] == 4


@pytest.mark.parametrize(
    ("source", "target", "sentence"),
    [
        ("first.db", "first.db", "are the same vault"),
        ("first.db", "other.db", "`recollect backup` copies"),
        ("nothing.db", "URL", "There is no vault at"),
        ("locked.db", "URL", "is locked, and PostgreSQL keeps memories as they are"),
        ("mysql://host/db", "URL", "FROM and TO are a file or"),
        ("URL", "newer.db", "install a newer Recollect"),
        ("first.db", "FULL", "is not empty, and not a copy of"),
    ],
)
def test_what_cannot_be_copied_is_refused(
    tmp_path: Path, postgres_url: str, postgres_vault: str, source: str, target: str, sentence: str
) -> None:
    home, file = Home(tmp_path / "home"), tmp_path / "first.db"
    with Recollect(file, home=tmp_path, settings=OFF) as memory:
        memory.save(title="Deploys need a ticket")
        if target == "newer.db":
            memory.backup(tmp_path / "newer.db")
    if source == "locked.db":
        home.save("Deploys need a ticket")
        secret = {"RECOLLECT_PASSPHRASE": "a long passphrase"}
        assert home.call("vault", "lock", using=secret).code == 0
        home.vault.rename(tmp_path / "locked.db")
    if target == "newer.db":
        apsw.Connection(str(tmp_path / "newer.db")).pragma("user_version", 99)
    if target == "FULL":
        place = {"RECOLLECT_STORE__URL": postgres_url, "RECOLLECT_STORE__VAULT": postgres_vault}
        home.save("Already there", using=place)
    places = {"URL": postgres_url, "FULL": postgres_url}
    named = [
        places.get(one) or (one if "://" in one else str(tmp_path / one))
        for one in (source, target)
    ]
    refused = home.call("copy", *named, "--vault", postgres_vault)
    assert refused.code == 1
    assert sentence in refused.err


def test_a_source_that_is_written_to_meanwhile_is_no_copy(
    tmp_path: Path, postgres_url: str, postgres_vault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "first.db"
    with Recollect(file, home=tmp_path, settings=OFF) as memory:
        memory.save(title="Deploys need a ticket")
    tables = copying._copy_tables

    def written(*args: object) -> None:
        tables(*args)  # type: ignore[arg-type]
        with Recollect(file, home=tmp_path, settings=OFF) as memory:
            memory.save(title="Rollbacks need none")

    monkeypatch.setattr(copying, "_copy_tables", written)
    home = Home(tmp_path / "home")
    there = ("copy", str(file), postgres_url, "--vault", postgres_vault)
    assert "was written to while it was copied" in home.call(*there).err
