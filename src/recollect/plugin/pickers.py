"""The interface for pickers, functions that show results while the user types."""

from __future__ import annotations

from recollect.errors import Cancelled
from recollect.present.picking import Picked, PickerText, PickerType
from recollect.present.sentences import counted, evidence, no_results, visible
from recollect.types import Search

__all__ = (
    "Cancelled", "Picked", "PickerText", "PickerType", "Search", "counted", "evidence",
    "no_results", "visible",
)  # fmt: skip
