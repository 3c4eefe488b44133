"""Recorded events: what each client sends to a hook, to try hooks with."""

from __future__ import annotations

from importlib import resources
from typing import Any

import msgspec


def recorded_event(client: str, event: str) -> dict[str, Any]:
    """The input of that event. The values are examples; the folder is left out."""
    file = resources.files("recollect.interfaces.hooks") / "recorded" / f"{client}.json"
    events = msgspec.json.decode(file.read_bytes(), type=dict[str, dict[str, Any]])
    return events[event]
