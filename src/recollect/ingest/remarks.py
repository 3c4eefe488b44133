"""Remarks: statements in a user's turn that are worth remembering, found by plugins for each
language (entry points of the group `recollect.capture`)."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple, Protocol, cast

from recollect.entry_points import entry_points_of
from recollect.ingest.draft import cut_title
from recollect.types import CaptureForm

GROUP = "recollect.capture"
LONGEST_TITLE = 120


class Remark(NamedTuple):
    """A statement in one of the forms: a memory's kind, its title, the sentence as it was said, and
    the form's name."""

    kind: str
    title: str
    text: str
    form: CaptureForm


class CaptureLanguage(Protocol):
    """Protocol of an entry point: a module or object that knows one language."""

    def triggered_forms(self, turn: str) -> Collection[CaptureForm]:
        """Return the forms that the turn may contain; quick, since most turns have none."""

    def remarks(self, turn: str) -> list[Remark]:
        """Return the remarks in a turn."""

    def title_of(self, sentence: str) -> str:
        """Return a title for a remark's sentence."""


def is_triggered(turn: str) -> bool:
    """Return whether the turn may contain a remark."""
    return any(language.triggered_forms(turn) for language in _languages())


def remarks(turn: str) -> list[Remark]:
    """Return the remarks in a turn, in any language."""
    return [remark for language in _languages() for remark in language.remarks(turn)]


def title_of(sentence: str) -> str:
    """Return a title for a remark's sentence."""
    for language in _languages():
        return language.title_of(sentence)
    return cut_title(sentence, LONGEST_TITLE)


def _languages() -> list[CaptureLanguage]:
    return [cast(CaptureLanguage, point.load()) for point in entry_points_of(GROUP).values()]
