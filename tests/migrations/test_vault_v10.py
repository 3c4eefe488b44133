"""A vault of version 10, committed as it was made: it had no vectors of tokens."""

from __future__ import annotations

from pathlib import Path

from old_vaults import check_nothing_is_lost, open_vault


def test_nothing_is_lost_and_vectors_serve_without_tokens(tmp_path: Path) -> None:
    with open_vault(10, tmp_path) as memory:
        check_nothing_is_lost(memory, 10)
        identity = memory.store.vectors.model()
        assert identity is not None
        ids = [one.id for one in memory.export()]
        stored = memory.store.vectors.read_vectors(identity, ids)
        assert stored
        assert not any(one.tokens for each in stored.values() for one in each)
