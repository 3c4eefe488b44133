"""`importance`: pinned and severe memories."""

from __future__ import annotations

from collections.abc import Callable

from recollect.context import SearchContext
from recollect.signals.properties import Importance

Search = Callable[..., SearchContext]
MEMORIES = {
    "pinned": {"title": "x", "tier": "core"},
    "critical": {"title": "x", "severity": "critical"},
    "warning": {"title": "x", "severity": "warning"},
    "both": {"title": "x", "tier": "core", "severity": "warning"},
    "suggestion": {"title": "x", "severity": "suggestion"},
    "plain": {"title": "x"},
}


def test_pinned_and_severe_memories_score_and_most_do_not(search_at: Search) -> None:
    found = Importance(weight=1.0).values(search_at("", MEMORIES), list(MEMORIES))
    assert found == {
        "pinned": (1.0, "pinned"),
        "critical": (1.0, "critical"),
        "warning": (0.5, "warning"),
        "both": (1.0, "pinned"),
    }


def test_the_larger_mark_counts(search_at: Search) -> None:
    signal = Importance(weight=1.0, core=0.2)
    assert signal.values(search_at("", MEMORIES), ["both"])["both"] == (0.5, "warning")
