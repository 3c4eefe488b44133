"""With SEGMENTS=all in the environment every vault of a test is in segments: each write ends with
the merge of whatever it left in the buffer. Ordinarily only large vaults have segments. A test
that is about the FTS5 tables, or says itself what is merged when, is marked `own_segments`."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager
from hashlib import sha256
from pathlib import Path

import pytest

from recollect.files import exclusive
from recollect.store.sqlite.segments import buffer, merging
from recollect.store.sqlite.store import ScratchDatabase
from recollect.store.sqlite.writing import BackgroundMerging

_patch = pytest.MonkeyPatch()
undo = _patch.undo
_locks: list[Path] = []  # the folder of the locks of merges, where segments are forced


def pytest_configure(config: pytest.Config) -> None:
    if os.environ.get("SEGMENTS") == "all":
        _locks.append(Path(tempfile.mkdtemp(prefix="recollect-merging-")))
        config.add_cleanup(lambda: shutil.rmtree(_locks.pop()))
        _force()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    own = _locks and item.get_closest_marker("own_segments")
    if own:
        _patch.undo()
    try:
        return (yield)
    finally:
        if own:
            _force()


def _force() -> None:
    _patch.setattr(buffer, "FIRST", 1)
    _patch.setattr(buffer, "MOST", 1)
    _patch.setattr(BackgroundMerging, "wrote", _merge_at_once)
    _patch.setattr(merging, "exclusive", _locked_elsewhere)


def _merge_at_once(self: BackgroundMerging, *, segments: bool = False) -> None:
    if not isinstance(self._database, ScratchDatabase):  # which has no segments
        merging.Merger(self._database).run()


def _locked_elsewhere(lock: Path) -> AbstractContextManager[bool]:
    """Tests say which files are beside a vault, of which none is large enough to be merged."""
    return exclusive(_locks[0] / sha256(bytes(lock)).hexdigest())
