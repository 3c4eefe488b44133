"""With SEGMENTS=all in the environment every vault of a test is in segments: each write ends with
the merge of whatever it left in the buffer. Ordinarily only large vaults have segments. A test
that is about the FTS5 tables, or says itself what is merged when, is marked `own_segments`."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from recollect.store.sqlite.segments import buffer
from recollect.store.sqlite.segments.background import BackgroundMerging
from recollect.store.sqlite.segments.merging import Merger

_patch = pytest.MonkeyPatch()


def pytest_configure() -> None:
    if os.environ.get("SEGMENTS") == "all":
        _patch.setattr(buffer, "FIRST", 1)
        _patch.setattr(buffer, "MOST", 1)
        _patch.setattr(BackgroundMerging, "wrote", _merge_at_once)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    own = item.get_closest_marker("own_segments")
    if own:
        _patch.undo()
    try:
        return (yield)
    finally:
        if own:
            pytest_configure()


def _merge_at_once(self: BackgroundMerging, *, segments: bool = False) -> None:
    Merger(self._database).run()
