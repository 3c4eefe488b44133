"""What a user says outright and means to last: found in a turn of an agent's session, by what is
installed for the user's language (entry points of the group `recollect.capture`)."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple, Protocol, cast

from recollect.entry_points import entry_points_of
from recollect.ingest.draft import cut_title
from recollect.types import CaptureForm

GROUP = "recollect.capture"
LONGEST_TITLE = 120


class Remark(NamedTuple):
    """What a user said in one of the forms: a memory's kind, title and text, and the form's name.
    The text is the sentence as it was said."""

    kind: str
    title: str
    text: str
    form: CaptureForm


class CaptureLanguage(Protocol):
    """What an entry point of the group is: a module, or an object, that knows one language."""

    def triggered_forms(self, turn: str) -> Collection[CaptureForm]:
        """Return the forms that the turn may be in, quickly: most turns are in none."""

    def remarks(self, turn: str) -> list[Remark]:
        """Return what of the turn is in one of the forms."""

    def title_of(self, sentence: str) -> str:
        """Return a heading for a sentence that is in one of the forms."""


def is_triggered(turn: str) -> bool:
    """Return whether the turn may have a remark."""
    return any(language.triggered_forms(turn) for language in _languages())


def remarks(turn: str) -> list[Remark]:
    """Return what of the turn is in one of the forms, in any language."""
    return [remark for language in _languages() for remark in language.remarks(turn)]


def title_of(sentence: str) -> str:
    """Return a heading for a sentence that was a remark."""
    for language in _languages():
        return language.title_of(sentence)
    return cut_title(sentence, LONGEST_TITLE)


def _languages() -> list[CaptureLanguage]:
    return [cast(CaptureLanguage, point.load()) for point in entry_points_of(GROUP).values()]
