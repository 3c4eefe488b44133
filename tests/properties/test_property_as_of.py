"""As of any moment of a random history a vault holds and finds what it held then."""

from __future__ import annotations

from pathlib import Path

import pytest
from random_history import OwnWriter, try_history

from examples import examples
from recollect.recipes.registry import BUILT_IN


@pytest.mark.usefixtures("each_store")
@pytest.mark.parametrize("seed", range(examples(24)))
def test_as_of_each_moment_a_vault_holds_and_finds_what_it_held(tmp_path: Path, seed: int) -> None:
    assert try_history(seed, tmp_path, 6, OwnWriter) == 6 * len(BUILT_IN)
