"""The interface for a capture language, which finds what a user says outright."""

from __future__ import annotations

from recollect.ingest.draft import cut_title
from recollect.ingest.remarks import LONGEST_TITLE, CaptureLanguage, Remark
from recollect.types import CaptureForm

__all__ = (
    "LONGEST_TITLE", "CaptureForm", "CaptureLanguage", "Remark", "cut_title",
)  # fmt: skip
