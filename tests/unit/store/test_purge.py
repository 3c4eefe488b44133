"""Purging: nothing of a memory is left in any file of the vault."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import apsw
import pytest
from killed_work import Killing, run_and_kill
from store_fixtures import OpenStore, problems
from suites.stores.helpers import change, matches, purge, save
from suites.stores.samples import CHANGE, memory
from words_in_vault import check_words, small_segments

from examples import one_in
from recollect import Recollect
from recollect.deadline import without_waiting
from recollect.lifetime import Lifetime
from recollect.store.sqlite.connection import Database
from recollect.store.sqlite.memories import read_purge_note
from recollect.store.sqlite.segments import merging
from recollect.store.sqlite.segments.merging import Merger, scrub
from recollect.store.sqlite.segments.packing import fields_of, prepare
from recollect.store.sqlite.store import SqliteStore
from recollect.types import Memory

STRIDE = 17  # writes from one kill to the next
OFF = {"RECOLLECT_EMBEDDING__PROVIDER": "none", "RECOLLECT_RERANK__PROVIDER": "none"}


def test_no_word_of_a_purged_memory_is_on_disk(tmp_path: Path) -> None:
    with Recollect(home=tmp_path, environment=OFF) as vault:
        vault.save(id="kept", title="harmless", tags=["common"])
        vault.save(
            id="gone", title="zanzibarword", text="quixoticword", tags=["marzipanword", "common"]
        )
        assert b"zanzibarword" in on_disk(tmp_path), "The test would find nothing at all."
        vault.forget(["gone"], purge=True)
        for word in (b"zanzibar", b"quixotic", b"marzipan"):
            assert word not in on_disk(tmp_path)
        assert [result.id for result in vault.search("harmless")] == ["kept"]
        assert not [finding for finding in vault.doctor() if finding.problem]


def test_a_purge_killed_before_its_words_were_removed_is_finished_by_the_next_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Recollect(home=tmp_path, environment=OFF) as vault:
        vault.save(id="kept", title="harmless", tags=["common"])
        vault.save(id="gone", title="zanzibarword", tags=["marzipanword", "common"])
        with monkeypatch.context() as patched:
            patched.setattr(SqliteStore, "scrub", lambda self: None)
            vault.forget(["gone"], purge=True)
        assert b"zanzibar" in on_disk(tmp_path)
    assert b"marzipan" in on_disk(tmp_path)
    with Recollect(home=tmp_path, environment=OFF) as vault:
        assert [result.id for result in vault.search("harmless")] == ["kept"]
        for word in (b"zanzibar", b"marzipan"):
            assert word not in on_disk(tmp_path)
        assert not read_purge_note(vault.store.database)


def test_what_a_reader_keeps_in_the_log_is_removed_by_the_next_command(
    open_store: OpenStore, tmp_path: Path
) -> None:
    path = tmp_path / "vault.db"
    store = open_store(path)
    save(store, memory("gone", title="zanzibarword"))
    with closing(apsw.Connection(str(path))) as reader:
        reader.execute("BEGIN").execute("SELECT count(*) FROM memories").fetchall()
        purge(store, "gone")
        with without_waiting():
            scrub(store.database)
        assert b"zanzibar" in on_disk(tmp_path)
        SqliteStore(path).close()
        assert read_purge_note(store.database)
    SqliteStore(path).close()
    assert b"zanzibar" not in on_disk(tmp_path)
    assert not read_purge_note(store.database)


def test_a_purge_names_the_copies_that_may_still_hold_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Recollect(home=tmp_path, environment=OFF) as vault:
        vault.save(id="gone", title="zanzibarword")
        vault.save(id="other", title="harmless")
        copy = vault.backup().file
        vault.forget(["gone"], purge=True)
        assert b"zanzibar" in copy.read_bytes()
        assert f"Copies may still hold what was purged; remove them where that matters: {copy}" in (
            caplog.text
        )
        copy.unlink()
        caplog.clear()
        vault.forget(["other"], purge=True)
        assert caplog.text == ""


def test_a_new_vault_is_its_owners_alone(tmp_path: Path) -> None:
    with Recollect(home=tmp_path / "home", environment=OFF) as vault:
        vault.save(title="secret")
        for file in (tmp_path / "home").iterdir():
            assert file.stat().st_mode & 0o077 == 0, file.name
    assert (tmp_path / "home").stat().st_mode & 0o077 == 0


def test_no_byte_of_purged_memories_is_left_amid_edits(tmp_path: Path) -> None:
    """SQLite moves rows from page to page, and leaves copies in the unused part of the old one."""
    chance, serial = random.Random(1), count()
    words: dict[str, list[str]] = {}

    def fresh(id: str) -> str:
        words[id].append(f"zq{next(serial)}v")
        return words[id][-1]

    def fields(id: str) -> dict[str, Any]:
        return {
            "title": f"{fresh(id)} note",
            "text": " ".join(["some words here"] * chance.randrange(1, 60)) + f" {fresh(id)}",
            "tags": [fresh(id), "common"],
            "why": fresh(id),
            "details": "long " * chance.choice([0, 0, 3000]) + fresh(id),
        }

    with Recollect(home=tmp_path, environment=OFF) as vault:
        for number in range(300):
            id = f"zqid{number}v"
            words[id] = [id]
            vault.save(id=id, **fields(id))
        for id in chance.choices([*words], k=200):
            some = fields(id)
            vault.edit(id, **{name: some[name] for name in chance.sample([*some], 2)})
        gone = chance.sample([*words], 40)
        for id in gone:
            vault.forget([id], purge=True)
        assert [one for one in vault.doctor() if one.problem] == []
    raw = on_disk(tmp_path)
    assert [word for id in gone for word in words[id] if word.encode() in raw] == []
    assert all(id.encode() in raw for id in words if id not in gone)


def test_no_id_of_a_purged_memory_is_left_in_other_rows(tmp_path: Path) -> None:
    """Its feedback goes, and links to it in earlier versions of others."""
    gone, kept = "how-we-deploy-zanzibar-1", "how-we-deploy-zanzibar-2"
    with Recollect(home=tmp_path, environment=OFF) as vault:
        for id in (gone, kept, "old", "older"):
            vault.save(id=id, title=f"note {id}")
        vault.supersede("old", gone)
        vault.supersede("old", kept)
        vault.supersede("older", kept)
        vault.supersede("older", gone)
        vault.feedback("note of deploying", gone, accept=True)
        vault.feedback("note of deploying", kept, accept=True)
        vault.forget([gone], purge=True)
        assert gone.encode() not in on_disk(tmp_path)
        links = [version.memory.superseded_by for version in vault.history("old")]
        assert links == [kept, "", ""]
        links = [version.memory.superseded_by for version in vault.history("older")]
        assert links == ["", kept, ""]
        assert vault.store.database.rows("SELECT memory_id FROM feedback") == [(kept,)]
        assert [one for one in vault.doctor() if one.problem] == []


# An import during purges


@pytest.fixture
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    small_segments(monkeypatch)
    monkeypatch.setattr(merging, "STAGED_ROWS", 6)


def marked_memory(id: str) -> Memory:
    """A memory with words that no other has, in every index."""
    return memory(
        id,
        title=f"zq{id}title hello",
        text=f"zq{id}text the hello FileSyncService",
        tags=(f"zq{id}tag",),
        details=f"zq{id}details",
    )


def import_memories(store: SqliteStore, memories: Sequence[Memory]) -> None:
    ready = prepare(map(fields_of, memories))
    with store.writing_many(CHANGE, prepared=ready) as write:
        for one in memories:
            write.add(one)
        write.index_added(ready)


def check_vault(path: Path, gone: Iterable[str]) -> None:
    """The index says what the memories say, and nothing of what is gone is on the disk."""
    store = SqliteStore(path, lifetime=Lifetime.ONCE)
    check_words(store)
    assert problems(store) == []
    store.scrub()
    store.close()
    assert [id for id in gone if f"zq{id}".encode() in on_disk(path.parent)] == []


def beside(
    store: SqliteStore, act: Callable[[], None], monkeypatch: pytest.MonkeyPatch | None = None
) -> None:
    """Act before each write of the store, as another process may."""
    real, acting = Database.writing, [False]

    @contextmanager
    def writing(database: Database, **options: bool) -> Iterator[apsw.Connection]:
        if database is store.database and not acting[0]:
            acting[0] = True
            act()
            acting[0] = False
        with real(database, **options) as connection:
            yield connection

    if monkeypatch is None:
        setattr(Database, "writing", writing)  # noqa: B010  mypy
    else:
        monkeypatch.setattr(Database, "writing", writing)


@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize("moment", range(2, 9, 2))
@pytest.mark.parametrize(
    ("gone", "scrub"),
    [pytest.param("a8x", False, id="the last memory"), pytest.param("a1x", True, id="scrubbed")],
)
def test_a_purge_amid_an_import_costs_no_imported_memory_and_leaves_no_row(
    moment: int, gone: str, scrub: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The key of the last memory was given again, and the new segment did not speak for it."""
    path = tmp_path / "vault.db"
    store, other = (SqliteStore(path, lifetime=Lifetime.ONCE) for _ in range(2))
    save(store, *(marked_memory(f"a{number}x") for number in range(9)))
    left = iter(range(moment))

    def purge_once() -> None:
        if next(left, None) == moment - 1:
            purge(other, gone)
            if scrub:
                other.scrub()

    beside(store, purge_once, monkeypatch)
    import_memories(store, [marked_memory(f"b{number}x") for number in range(12)])
    monkeypatch.undo()
    assert matches(store, "zqb0xtitle") == ["b0x"]
    sql = "SELECT count(*) FROM postings WHERE segment NOT IN (SELECT number FROM segments)"
    assert not scrub or store.database.rows(sql) == [(0,)]
    purge(store, "b1x")
    store.close()
    other.close()
    check_vault(path, [gone, "b1x"])


def test_the_doctor_counts_rows_that_belong_to_no_segment_and_removes_them(tmp_path: Path) -> None:
    path = tmp_path / "vault.db"
    with Recollect(path, home=tmp_path, environment=OFF) as vault:
        vault.save(id="kept", title="harmless")
        with vault.store.database.writing() as connection:
            for segment in (8, 9):
                row = (segment, 0, "zanzibarword", 1, 1, b"zq", b"zq", None)
                connection.execute("INSERT INTO postings VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
        wrong = {one.check: one.problem for one in vault.doctor() if one.problem}
        assert wrong == {"references": "2 rows of the keyword index belong to no segment"}
        assert [one for one in vault.doctor(fix=True) if one.problem] == []
        assert [result.id for result in vault.search("harmless")] == ["kept"]
    assert b"zanzibarword" not in on_disk(tmp_path)


@pytest.mark.usefixtures("_small")
@pytest.mark.skipif(sys.platform == "win32", reason="kill -9 is a matter of POSIX")
@pytest.mark.parametrize("first", range(1, STRIDE + 1, one_in(STRIDE)))
def test_imports_beside_purges_killed_at_any_write_leave_a_vault_that_answers_right(
    first: int, tmp_path: Path
) -> None:
    """All of them together are killed at every write, before it is committed or after."""
    path, log = tmp_path / "vault" / "vault.db", tmp_path / "purged"
    path.parent.mkdir()
    log.touch()
    made = SqliteStore(path, lifetime=Lifetime.ONCE)
    save(made, *(marked_memory(f"a{number}x") for number in range(9)))
    made.close()

    def work(chance: random.Random, start: int) -> None:
        store, other = (SqliteStore(path, lifetime=Lifetime.ONCE) for _ in range(2))

        def act() -> None:
            ids = sorted(other.memories.ids())
            what = chance.choice(("purge", "purge newest", "scrub", "edit", "save"))
            if what == "scrub":
                other.scrub()
            elif what == "save" or len(ids) < 3:
                save(other, marked_memory(f"s{start}n{len(ids)}x{chance.randrange(10**6)}x"))
            elif what == "edit":
                id = chance.choice(ids)
                change(other, id, text=f"zq{id}edited hello")
            else:
                sql = "SELECT id FROM memories ORDER BY key DESC LIMIT 1"
                newest = str(other.database.rows(sql)[0][0])
                id = newest if what == "purge newest" else chance.choice(ids)
                purge(other, id)
                with log.open("a") as file:
                    file.write(f"{id}\n")

        beside(store, act)
        for batch in range(2):
            import_memories(store, [marked_memory(f"b{start}n{batch}n{n}x") for n in range(12)])
            Merger(store.database).run()

    for step in range(first, 10_000, STRIDE):
        killing = Killing(step, committed=step % 2 == 0)
        was_killed = run_and_kill(partial(work, random.Random(step), step), killing)
        check_vault(path, log.read_text().split())
        if not was_killed:
            break
    assert log.read_text()


def on_disk(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.iterdir() if file.is_file())
