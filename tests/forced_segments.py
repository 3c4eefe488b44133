"""With SEGMENTS=all in the environment every vault of a test is in segments: each write ends with
the merge of whatever it left in the buffer. Ordinarily only large vaults have segments."""

from __future__ import annotations

import os

import pytest

from recollect.store.sqlite.segments import buffer
from recollect.store.sqlite.segments.background import BackgroundMerging
from recollect.store.sqlite.segments.merging import Merger


def pytest_configure() -> None:
    if os.environ.get("SEGMENTS") == "all":
        patch = pytest.MonkeyPatch()
        patch.setattr(buffer, "FIRST", 1)
        patch.setattr(buffer, "MOST", 1)
        patch.setattr(BackgroundMerging, "wrote", _merge_at_once)


def _merge_at_once(self: BackgroundMerging, *, segments: bool = False) -> None:
    Merger(self._database).run()
