"""A vault of version 11, as it was made: the codes of its vectors were chunks with a codebook."""

from __future__ import annotations

from pathlib import Path

from old_vaults import check_nothing_is_lost, open_vault

from recollect.types import Filter


def test_nothing_is_lost_and_each_vector_has_a_code(tmp_path: Path) -> None:
    with open_vault(11, tmp_path) as memory:
        check_nothing_is_lost(memory, 11)
        vectors = memory.store.vectors
        identity = vectors.model()
        assert identity is not None
        stored = vectors.read_vectors(identity, [one.id for one in memory.export()])
        assert len(stored) > 1
        for id, [one] in stored.items():
            best = vectors.nearest(identity, one.vector, 1, Filter())
            assert [near.memory_id for near in best] == [id]
