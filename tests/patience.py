"""Waits of the product that a loaded machine must not decide: what they wait for comes in a moment,
but here a frozen process or a busy core may keep it back for seconds.

A test that is about one of them sets its own; what is marked `installed` has those of the product.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from importlib import import_module

from recollect.settings import Rerank
from recollect.stages.rerank import RerankRun

LONGEST_S = 60.0
WAITS = {
    "recollect.deadline": {"LEAST_S": LONGEST_S},
    "recollect.interfaces.http.api": {"LONGEST_CHECK_S": LONGEST_S},
    "recollect.interfaces.mcp.stdio": {"LAST_ANSWERS_S": 5.0},  # some tests let it pass
    "recollect.models.background_embedding": {
        "LOCAL_PATIENCE_S": LONGEST_S,
        "REMOTE_PATIENCE_S": LONGEST_S,
    },
    "recollect.models.providers": {"WARM_TIMEOUT_S": LONGEST_S},
    "recollect.store.sqlite.replacement": {"ALONE_SECONDS": LONGEST_S},
}
AS_SHIPPED: dict[str, float] = {}


def be_patient() -> None:
    """From now on, in this process."""
    RerankRun.by = _read_by  # type: ignore[assignment, method-assign]
    for place, waits in WAITS.items():
        module = import_module(place)
        for name, seconds in waits.items():
            AS_SHIPPED.setdefault(name, getattr(module, name))
            setattr(module, name, seconds)


_by = RerankRun.by


def _read_by(
    run: RerankRun, seconds: float, candidates: Sequence[tuple[str, str]]
) -> dict[str, float]:
    """The deadline that nobody has set is far away."""
    unset = seconds == Rerank().budget_ms / 1000
    return _by(run, LONGEST_S if unset else seconds, candidates)


def until(condition: Callable[[], object], what: object = "") -> None:
    """Wait for it, but not for ever."""
    give_up = time.monotonic() + LONGEST_S
    while not condition():
        assert time.monotonic() < give_up, f"It never came about. {what}"
        time.sleep(0.005)
