"""The codes in the vault: made as vectors come, read at opening, right after every step."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest
from numpy.typing import NDArray
from suites.stores.helpers import change, forget, nearest, put, save
from suites.stores.samples import CHANGE, EVERYTHING, memory

from recollect.store.sqlite import vector_codes, vector_rows
from recollect.store.sqlite.cipher import Sealed
from recollect.store.sqlite.replacement import change_key, new_header
from recollect.store.sqlite.store import SqliteStore
from recollect.store.sqlite.vault_files import LOOK_S
from recollect.store.sqlite.vector_codes import CodeChunk, CodedModel
from recollect.types import Filter

Floats = NDArray[np.float32]

MODEL, WIDTH = "toy", 12
KEY = bytes(range(32))


@pytest.fixture(autouse=True)
def _few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, limits in (
        (vector_rows, {"EXACT_ROWS": 40, "FEW_ROWS": 8}),
        (vector_codes, {"CHUNK_ROWS": 40, "MOST_DUE": 160, "MOST_REMOVALS": 15}),
    ):
        for name, value in limits.items():
            monkeypatch.setattr(module, name, value)


class Vault:
    """A vault, and every vector that is in it."""

    def __init__(self, path: Path, seed: int = 1) -> None:
        self.path = path
        self.random = np.random.default_rng(seed)
        self.vectors: dict[str, Floats] = {}
        self.stores = [SqliteStore(path)]
        self.made = 0

    def open(self) -> SqliteStore:
        self.stores.append(SqliteStore(self.path))
        return self.stores[-1]

    def vector(self) -> Floats:
        row = self.random.standard_normal(WIDTH) + 0.5
        return np.asarray(row / np.linalg.norm(row), np.float32)

    def add(self, count: int, store: SqliteStore | None = None) -> None:
        names = [f"m{self.made + number:05}" for number in range(count)]
        self.made += count
        new = {name: self.vector() for name in names}
        store = store or self.stores[0]
        save(store, *(memory(name, project=f"p{int(name[1:]) % 2}") for name in names))
        put(store, MODEL, new)
        self.vectors |= new

    def some(self, count: int) -> list[str]:
        names = self.random.choice(sorted(self.vectors), min(count, len(self.vectors)), False)
        return [str(name) for name in names]

    def remove(self, *names: str) -> None:
        forget(self.stores[0], *names)
        for name in names:
            del self.vectors[name]

    def expected(self, query: Floats, limit: int, project: str | None = None) -> list[str]:
        cosines = {
            name: float(row.astype(np.float64) @ query.astype(np.float64))
            for name, row in self.vectors.items()
            if project is None or int(name[1:]) % 2 == int(project[1:])
        }
        return sorted(cosines, key=lambda name: (-cosines[name], name))[:limit]

    def check(self, *stores: SqliteStore) -> None:
        """Every one of these stores answers as a comparison with all vectors does."""
        for store in stores or self.stores:
            query = self.vector()
            assert nearest(store, query, 10, identity=MODEL) == self.expected(query, 10)
            found = nearest(store, query, 5, Filter(project="p1"), MODEL)
            assert found == self.expected(query, 5, "p1")

    def chunks(self) -> list[tuple[Any, ...]]:
        sql = "SELECT last, removed, length(seqs) / 8 FROM vector_codes ORDER BY last"
        return self.stores[0].database.rows(sql)

    def problems(self) -> list[tuple[str, str | None]]:
        found = self.stores[0].examine()
        return [(one.check, one.problem) for one in found if one.problem]


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Vault]:
    vault = Vault(tmp_path / "vault.db")
    yield vault
    for store in vault.stores:
        store.close()


def test_few_vectors_have_no_codes(vault: Vault) -> None:
    vault.add(40)
    vault.check()
    assert vault.chunks() == []
    assert vault.stores[0].database.rows("SELECT * FROM codebooks") == []


def test_an_index_that_opens_reads_the_codes_and_not_the_vectors(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault.add(205)
    assert [rows for _, _, rows in vault.chunks()] == [40] * 5
    encoded = []
    plain = vector_rows.appended

    def counted(stored: Any, seqs: Any, *rest: Any) -> Any:
        encoded.append(len(seqs))
        return plain(stored, seqs, *rest)

    monkeypatch.setattr(vector_rows, "appended", counted)
    vault.check(vault.open())
    assert encoded == [5]


@pytest.mark.parametrize("seed", range(3))
def test_two_processes_answer_like_a_comparison_with_every_vector(
    tmp_path: Path, seed: int
) -> None:
    """Additions, edits and removals at random, by either; both follow, and so does a newcomer."""
    vault = Vault(tmp_path / "vault.db", seed)
    first, second = vault.stores[0], vault.open()
    for step in range(12):
        vault.add(int(vault.random.integers(1, 60)), (first, second)[vault.random.integers(2)])
        if step % 3 == 1:
            vault.remove(*vault.some(int(vault.random.integers(1, 40))))
        for name in vault.some(3):
            change(second, name, text=f"edited in step {step}")
            del vault.vectors[name]
            if step % 2:
                vault.vectors[name] = vault.vector()
                put(second, MODEL, {name: vault.vectors[name]})
        vault.check(first, second)
    vault.check(vault.open())
    assert len(vault.chunks()) > 1
    assert vault.problems() == []
    for store in vault.stores:
        store.close()


def test_chunks_that_much_was_removed_from_are_made_anew_and_joined(vault: Vault) -> None:
    vault.add(200)
    before = vault.chunks()
    vault.remove(*sorted(vault.vectors)[:150])
    assert vault.chunks() == before, "A removal writes no codes."
    vault.check(*vault.stores, vault.open())
    vault.add(1)
    assert [rows for _, _, rows in vault.chunks()] == [10, 40]
    vault.check(*vault.stores, vault.open())
    assert vault.problems() == []


def test_no_code_of_a_purged_memory_is_left(vault: Vault) -> None:
    vault.add(100)
    store, gone = vault.stores[0], vault.some(1)[0]
    [(seq,)] = store.database.rows(
        "SELECT seq FROM vectors JOIN memories m ON m.key = memory WHERE m.id = ?", gone
    )
    with store.writing(CHANGE) as write:
        write.purge(write.find([gone])[gone])
    del vault.vectors[gone]
    store.scrub()
    chunks = store.database.rows("SELECT seqs FROM vector_codes")
    seqs = [one for (blob,) in chunks for one in np.frombuffer(blob, "<i8").tolist()]  # type: ignore[arg-type]
    assert len(seqs) > 70
    assert seq not in seqs
    vault.check()
    assert vault.problems() == []


def test_an_index_far_behind_reads_the_chunks(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault.add(100)
    behind = vault.open()
    vault.check(behind)
    vault.add(400)
    loads = []
    plain = vector_codes.load
    monkeypatch.setattr(
        vector_codes,
        "load",
        lambda *asked: loads.append(1) or plain(*asked),  # type: ignore[func-returns-value]
    )
    vault.check(behind)
    assert loads == [1]


@pytest.mark.parametrize("steps", range(4))
def test_killed_between_two_steps_it_answers_right_and_goes_on(
    vault: Vault, monkeypatch: pytest.MonkeyPatch, steps: int
) -> None:
    """The first step is the codebook, then comes a chunk at a time."""
    done: list[CodedModel | CodeChunk] = []
    plain = vector_codes._write

    def killed(connection: apsw.Connection, due: CodedModel | CodeChunk) -> None:
        plain(connection, due)
        if len(done) == steps:
            raise KeyboardInterrupt  # inside the transaction, which is rolled back
        done.append(due)

    with monkeypatch.context() as patch:
        patch.setattr(vector_codes, "_write", killed)
        with pytest.raises(KeyboardInterrupt):
            vault.add(130)
    rows = vault.stores[0].database.rows("SELECT id FROM memories")
    vault.vectors = {}
    for store in [vault.open(), vault.stores[0]]:
        assert len(nearest(store, vault.vector(), 200, identity=MODEL)) == len(rows) == 130
    assert vault.problems() == []
    assert len(vault.chunks()) == 3, "A search that opens the index has finished it."


def test_what_another_process_has_written_meanwhile_is_not_written_again(vault: Vault) -> None:
    vault.add(41)
    vault.add(60)
    connection = vault.stores[0].database.connection()
    model = vector_codes.model_of(connection, MODEL)
    assert model is not None
    before = vault.chunks()
    late = vector_codes._chunk(connection, model, 0, before[0][0], 0, [])
    assert late is not None
    with vault.stores[0].database.writing() as connection:
        vector_codes._write(connection, late)
        vector_codes._write(connection, late._replace(model=model._replace(codebook=99)))
        vector_codes._write(connection, model)
    assert vault.chunks() == before
    assert vault.problems() == []


def test_while_another_process_writes_a_save_does_not_wait_for_codes(vault: Vault) -> None:
    vault.add(39)
    other = vault.open()
    plain = vector_codes._due

    def busy(connection: apsw.Connection, identity: str) -> Any:
        due = plain(connection, identity)
        if not other.database.connection().in_transaction:
            other.database.connection().execute("BEGIN IMMEDIATE")
        return due

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vector_codes, "_due", busy)
        vault.add(50)
    assert vault.chunks() == []
    other.database.connection().execute("ROLLBACK")
    vault.check(vault.stores[0])
    vault.add(1)
    assert len(vault.chunks()) == 2


def test_many_vectors_get_their_codes_though_words_are_being_merged(vault: Vault) -> None:
    """Puts, while another connection begins one short write after the other: whoever opens the
    vault finds codes of all but a few vectors."""
    other, ended, plain = vault.open(), threading.Event(), vector_codes._due

    def merging() -> None:
        while not ended.wait(2 * LOOK_S):
            with other.database.writing():
                time.sleep(0.05)

    def busy(connection: apsw.Connection, identity: str) -> Any:
        due = plain(connection, identity)
        time.sleep(0.06)  # the other one has begun by now
        return due

    thread = threading.Thread(target=merging)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vector_codes, "_due", busy)
        thread.start()
        for _ in range(5):
            vault.add(100)
        ended.set()
        thread.join()
    assert sum(rows for _, _, rows in vault.chunks()) >= 500 - vector_codes.MOST_DUE - 40
    vault.check(vault.open())


def test_an_open_index_sees_that_another_process_has_made_the_codes_anew(vault: Vault) -> None:
    vault.add(150)
    other = vault.open()
    vault.check()
    vault.remove(*vault.some(60))
    other.rebuild()
    vault.add(50)
    vault.check()
    assert vault.problems() == []


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE vector_codes SET codes = zeroblob(length(codes))",
        "UPDATE vector_codes SET seqs = substr(seqs, 9), memories = substr(memories, 9)",
        "UPDATE vector_codes SET memories = zeroblob(length(memories))",
        "UPDATE vector_codes SET codes = substr(codes, 2)",
        "DELETE FROM vector_codes WHERE last = (SELECT min(last) FROM vector_codes)",
    ],
)
def test_the_doctor_finds_wrong_codes_and_reindex_makes_them_again(
    vault: Vault, damage: str
) -> None:
    vault.add(150)
    assert vault.problems() == []
    with vault.stores[0].database.writing() as connection:
        connection.execute(damage)
    [(check, problem)] = vault.problems()
    assert check == "vector index"
    assert problem is not None
    assert "differ from the vectors" in problem
    vault.stores[0].rebuild()
    assert vault.problems() == []
    vault.check(vault.stores[0], vault.open())


def test_codes_of_a_locked_vault_are_encrypted_and_work(tmp_path: Path) -> None:
    plain = Vault(tmp_path / "vault.db")
    plain.add(150)
    [(seqs,), *_] = plain.stores[0].database.rows("SELECT seqs FROM vector_codes")
    plain.stores[0].close()
    assert isinstance(seqs, bytes)
    assert seqs in (tmp_path / "vault.db").read_bytes()
    change_key(tmp_path / "vault.db", None, Sealed(KEY, new_header(1)))
    assert seqs not in (tmp_path / "vault.db").read_bytes()
    store = SqliteStore(tmp_path / "vault.db", keys=lambda path, header: KEY)
    plain.stores = [store]
    plain.add(90)
    plain.check()
    assert len(plain.chunks()) == 6
    store.close()


def test_vectors_cut_to_fewer_dimensions_are_found_among_many(vault: Vault) -> None:
    vault.add(200)
    query = vault.vector()
    found = vault.stores[0].vectors.nearest(MODEL, query, 10, EVERYTHING, dimensions=8)
    cut = {name: row[:8] / np.linalg.norm(row[:8]) for name, row in vault.vectors.items()}
    best = sorted(cut, key=lambda name: -float(cut[name] @ query[:8]))[:10]
    assert [near.memory_id for near in found] == best
