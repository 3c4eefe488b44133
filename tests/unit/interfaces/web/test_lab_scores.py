"""The lab's score of one's own questions is in a package of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect import Recollect
from recollect.interfaces.web import lab_sides


def test_without_the_package_the_lab_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lab_sides, "find_spec", lambda name: None)
    with Recollect(home=tmp_path) as memory:
        found = lab_sides.score_sides(memory)
    assert found["sides"] == {}
    assert "pip install 'recollect-memory[eval]'" in found["problem"]
