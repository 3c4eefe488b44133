"""The nearest vectors are those that a comparison with all of them finds, whatever was written."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from suites.stores.helpers import change, forget, nearest, put, save
from suites.stores.samples import MODEL, memory

from recollect.lifetime import Lifetime
from recollect.store import vector_codes
from recollect.store.sqlite.store import SqliteStore
from recollect.types import Filter

WIDTHS = st.sampled_from([2, 7, 24])
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["add", "edit", "replace", "forget"]),
        st.integers(1, 40),  # how many
        st.booleans(),  # through which connection
    ),
    min_size=3,
    max_size=12,
)


@pytest.mark.parametrize("large", [250_000, 10])
@given(width=WIDTHS, steps=STEPS, seed=st.integers(0, 2**32 - 1), limit=st.integers(1, 60))
def test_the_nearest_are_exact_after_any_writes_of_two_processes(
    large: int, width: int, steps: list[tuple[str, int, bool]], seed: int, limit: int
) -> None:
    random = np.random.default_rng(seed)

    def vector() -> np.typing.NDArray[np.float32]:
        # Rounded, so that some vectors are equal, and some almost.
        row = np.rint(2 * random.standard_normal(width)) + 0.001 * random.integers(0, 3, width)
        row[0] += 0.5
        return np.asarray(row / np.linalg.norm(row), np.float32)

    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(vector_codes, "LARGE", large)  # more are found by sign bits
        path = Path(folder) / "vault.db"
        stores = SqliteStore(path), SqliteStore(path), SqliteStore(path, lifetime=Lifetime.ONCE)
        known: dict[str, np.typing.NDArray[np.float32]] = {}
        made = 0
        for action, count, second in steps:
            store = stores[second]
            names = [str(one) for one in random.permutation(sorted(known))[:count]]
            if action == "add" or not names:
                names = [f"m{made + number:04}" for number in range(count)]
                made += count
                save(store, *(memory(name, project=f"p{int(name[1:]) % 3}") for name in names))
            if action == "forget":
                forget(store, *(name for name in names if name in known))
                known = {name: row for name, row in known.items() if name not in names}
            elif action == "edit" and names[0] in known:
                for name in names:
                    change(store, name, text=f"edited {random.integers(1 << 30)}")
                    del known[name]
            else:
                rows = {name: vector() for name in names}
                put(store, MODEL, rows)
                known |= rows
            query = vector()
            cosines = {
                name: float(np.einsum("i,i->", row, query, dtype=np.float64))
                for name, row in known.items()
            }
            expected = sorted(cosines, key=lambda name: (-cosines[name], name))
            of_project = [name for name in expected if int(name[1:]) % 3 == 1]
            for reader in stores:
                assert nearest(reader, query, limit) == expected[:limit]
                found = nearest(reader, query, limit, Filter(project="p1"))
                assert found == of_project[:limit]
        for store in stores:
            assert [one for one in store.examine() if one.problem] == []
            store.close()
