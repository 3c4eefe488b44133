"""The codes of vectors, in the vault and in memory, follow their vectors through every write."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from store_fixtures import OpenStore
from suites.stores.helpers import forget, nearest, purge, put, save
from suites.stores.samples import EVERYTHING, memory

from recollect.lifetime import Lifetime
from recollect.store import vector_codes
from recollect.store.sqlite import vector_index, vectors
from recollect.store.sqlite.replacement import change_key, new_header
from recollect.store.sqlite.store import SqliteStore
from recollect.store.sqlite.vault_files import Sealed
from recollect.store.vector_codes import (
    CodedVectors,
    PassingVectors,
    encode_signs,
    pack,
    score,
    score_signs,
    unpack,
)
from recollect.types import Filter, Span

Floats = NDArray[np.float32]

MODEL, WIDTH = "toy", 12
KEY = bytes(range(32))


@pytest.fixture(autouse=True, params=[250_000, 20])
def _large(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """From how many vectors on sign bits are scanned."""
    monkeypatch.setattr(vector_codes, "LARGE", request.param)


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

    def nearest_by_hand(self, query: Floats, limit: int, project: str | None = None) -> list[str]:
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
            assert nearest(store, query, 10, identity=MODEL) == self.nearest_by_hand(query, 10)
            found = nearest(store, query, 5, Filter(project="p1"), MODEL)
            assert found == self.nearest_by_hand(query, 5, "p1")

    def count_found(self, limit: int = 100) -> int:
        return len(nearest(self.stores[0], self.vector(), limit, identity=MODEL))

    def coded(self) -> CodedVectors:
        """Return the codes in memory."""
        found = self.stores[0].vectors._indexes[MODEL, 0]._coded
        assert found is not None
        return found

    def codes(self) -> int:
        [(count,)] = self.stores[0].database.rows("SELECT count(*) FROM vector_codes")
        return int(str(count))

    def problems(self) -> list[tuple[str, str | None]]:
        found = self.stores[0].examine()
        return [(one.check, one.problem) for one in found if one.problem]


@pytest.fixture
def vault(tmp_path: Path) -> Iterator[Vault]:
    vault = Vault(tmp_path / "vault.db")
    yield vault
    for store in vault.stores:
        store.close()


@pytest.mark.parametrize("width", [1, 3, 12, 384])
def test_the_error_of_a_score_is_within_its_bound(width: int) -> None:
    random = np.random.default_rng(5)
    rows = random.standard_normal((3000, width)).astype(np.float32)
    rows[:100, 0] *= 50  # one number is much larger than the others
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    places = np.arange(len(rows))
    coded = unpack(pack(places, places, rows))
    for query in rows[::300]:
        scored = score(PassingVectors(coded, None), query)
        assert np.abs(scored.scores - rows @ query).max() <= scored.error


def test_sign_bits_propose_most_of_the_nearest() -> None:
    """Of vectors as models make them: around a few hundred subjects, all leaning the same way."""
    random = np.random.default_rng(6)
    subjects = random.standard_normal((200, 384)) + random.standard_normal(384)
    rows = subjects[random.integers(0, 200, 40_000)] + 0.8 * random.standard_normal((40_000, 384))
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    places = np.arange(len(rows))
    coded = unpack(pack(places, places, rows, signs=True))
    hits = 0
    for query in rows[::2000]:
        near = query + random.standard_normal(384).astype(np.float32) / 40
        scored = score_signs(PassingVectors(coded, None), near, 1000)
        assert len(scored.seqs) == 1000
        hits += np.isin(np.argsort(-(rows @ near))[:10], scored.seqs).sum()
    assert hits >= 0.99 * 200


@pytest.mark.parametrize("width", [1, 8, 12, 64, 100])
def test_sign_bits_are_counted_in_whole_words(width: int) -> None:
    rows = np.random.default_rng(7).standard_normal((70_000, width)).astype(np.float32)
    signs = encode_signs(rows)[1]
    assert signs.shape[1] % 8 == 0
    expected = ((rows > 0) != (rows[3] > 0)).sum(axis=1)
    assert np.array_equal(vector_codes._distances(signs, signs[3]), expected)


def test_a_vector_of_zeros_has_a_code() -> None:
    rows = np.zeros((2, 4), np.float32)
    rows[1] = 0.5
    coded = unpack(pack(np.arange(2), np.arange(2), rows))
    assert score(PassingVectors(coded, None), rows[1]).scores.tolist() == pytest.approx([0, 1])


def test_no_code_of_a_purged_memory_is_left(vault: Vault) -> None:
    vault.add(100)
    store, gone = vault.stores[0], vault.some(1)[0]
    [(seq,)] = store.database.rows(
        "SELECT seq FROM vectors JOIN memories m ON m.key = memory WHERE m.id = ?", gone
    )
    purge(store, gone)
    del vault.vectors[gone]
    store.scrub()
    codes = store.database.rows("SELECT vector, code FROM vector_codes")
    assert len(codes) == 99
    assert seq not in [vector for vector, _ in codes]
    assert int(str(seq)).to_bytes(8, "little") not in [code[:8] for _, code in codes]  # type: ignore[index]
    vault.check()
    assert vault.problems() == []


def test_killed_while_it_stores_vectors_it_has_neither_vectors_nor_codes(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault.add(30)
    before = dict(vault.vectors)

    def fail(*arguments: object) -> None:
        raise KeyboardInterrupt  # inside the transaction, which is rolled back

    with monkeypatch.context() as patch:
        patch.setattr(vectors, "write_codes", fail)
        with pytest.raises(KeyboardInterrupt):
            vault.add(20)
    vault.vectors = before
    vault.check(vault.stores[0], vault.open())
    assert vault.codes() == 30
    assert vault.problems() == []


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
        "UPDATE vector_codes SET code = zeroblob(length(code))",
        "UPDATE vector_codes SET code = substr(code, 2)",
        "UPDATE vector_codes SET model = model + 1",
        "UPDATE vector_signs SET code = zeroblob(length(code))",
        "DELETE FROM vector_signs",
        "DELETE FROM vector_codes WHERE vector = (SELECT min(vector) FROM vector_codes)",
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


def test_codes_of_a_locked_vault_are_encrypted_and_work(
    open_store: OpenStore, tmp_path: Path
) -> None:
    plain = Vault(tmp_path / "vault.db")
    plain.add(150)
    [(code,), *_] = plain.stores[0].database.rows("SELECT code FROM vector_codes")
    plain.stores[0].close()
    assert isinstance(code, bytes)
    assert code in (tmp_path / "vault.db").read_bytes()
    change_key(tmp_path / "vault.db", None, Sealed(KEY, new_header(1)))
    assert code not in (tmp_path / "vault.db").read_bytes()
    store = open_store(keys=lambda path, header: KEY)
    plain.stores = [store]
    plain.add(90)
    plain.check()
    assert plain.codes() == 240


def test_a_model_that_is_removed_takes_its_codes_along(vault: Vault) -> None:
    vault.add(100)
    vault.check()
    vault.stores[0].vectors.begin("other", WIDTH)
    assert vault.stores[0].vectors.adopt("other") == 100
    assert vault.codes() == 0
    assert nearest(vault.stores[0], vault.vector(), 5, EVERYTHING, MODEL) == []


def test_many_small_writes_equal_one_big_load(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With hardly any room the codes are read again and again."""
    monkeypatch.setattr(vector_codes, "HEADROOM", (1.0, 20))
    monkeypatch.setattr(vector_index, "BATCH", 7)
    for _ in range(34):
        vault.add(9)
        vault.check()
    query, stores = vault.vector(), (vault.stores[0], vault.open())
    grown, loaded = (one.vectors.nearest(MODEL, query, 306, EVERYTHING) for one in stores)
    assert grown == loaded


def test_a_command_keeps_no_codes(vault: Vault) -> None:
    vault.add(300)
    vault.stores.append(SqliteStore(vault.path, lifetime=Lifetime.ONCE))
    vault.check()
    assert vault.stores[1].vectors._indexes == {} or vector_codes.LARGE < 300


def test_codes_are_read_again_where_much_of_what_they_propose_was_removed(vault: Vault) -> None:
    vault.add(40)
    vault.check()
    before = vault.coded()
    vault.remove(*vault.some(10))
    assert [vault.count_found() for _ in range(2)] == [30, 30]
    assert vault.coded() is before, "A quarter is borne."
    vault.remove(*vault.some(1))
    assert [vault.count_found() for _ in range(2)] == [29, 29]
    assert vault.coded().size == 29
    vault.check()


def test_a_search_under_way_keeps_the_rows_that_it_began_with(vault: Vault) -> None:
    vault.add(40)
    vault.check()
    began = vault.coded()
    numbers, seqs = began.numbers[:40].copy(), began.seqs[:40].copy()
    vault.add(40)
    vault.check()
    vault.remove(*sorted(vault.vectors)[:30])
    vault.check()
    assert began.size == 40
    assert np.array_equal(began.numbers[:40], numbers)
    assert np.array_equal(began.seqs[:40], seqs)


def test_a_reader_of_an_earlier_moment_takes_nothing_from_others(vault: Vault) -> None:
    """It reads the codes of its moment; later readers still find later ones."""
    vault.add(40)
    vault.check()
    store = vault.stores[0]
    with ThreadPoolExecutor(1) as thread, store.database.reading() as connection:
        connection.execute("SELECT 1 FROM vectors").fetchall()  # of this moment is the block
        thread.submit(vault.add, 20).result()
        assert thread.submit(vault.count_found).result() == 60
        store.vectors.forget()
        assert vault.count_found() == 40
        assert thread.submit(vault.count_found).result() == 60
    vault.check()


def test_many_passages_of_one_memory_do_not_crowd_out_the_others(vault: Vault) -> None:
    """A hundred passages are all nearer than any other memory."""
    query, store = vault.vector(), vault.stores[0]
    stored = save(store, *(memory(f"m{number:02}") for number in range(20)))
    first, *others = [one.key for one in stored.values()]
    near = query + 0.01 * vault.random.standard_normal((100, WIDTH))
    crowd = (near / np.linalg.norm(near, axis=1, keepdims=True)).astype(np.float32)
    rows = [(first, row) for row in crowd] + [(key, vault.vector()) for key in others]
    store.vectors.put(MODEL, WIDTH, rows, spans=[Span(0, 1)] * len(rows))
    found = nearest(store, query, 10, identity=MODEL)
    assert len(set(found)) == len(found) == 10
    assert found[0] == "m00"
    assert len(nearest(store, query, 100, identity=MODEL)) == 20
