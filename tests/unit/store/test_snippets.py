"""FTS5's own snippets of memories that are shown."""

from __future__ import annotations

import pytest
from suites.stores.helpers import WORD_INDEXES
from suites.stores.samples import memory

from recollect.store.base import KeywordIndexName
from recollect.store.sqlite.fts5_index import snippets

STORED = [memory("a", text="drop the anchor here"), memory("b", text="set sail")]


@pytest.mark.parametrize("index", WORD_INDEXES)
def test_snippets_mark_the_match_and_leave_out_what_does_not_match(index: KeywordIndexName) -> None:
    found = snippets(index, '"anchor"', STORED)
    assert found == {"a": "drop the <mark>anchor</mark> here"}


def test_nothing_has_no_snippets() -> None:
    assert snippets("plain", "", STORED) == {}
    assert snippets("plain", '"anchor"', []) == {}


def test_subwords_have_no_snippets() -> None:
    assert snippets("subwords", '"filesync"', [memory("a", text="FileSync")]) == {}
