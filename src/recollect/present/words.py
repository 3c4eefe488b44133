"""Numbers and times as people say them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from recollect.present.visible import label, shown_id, visible
from recollect.times import day, validity
from recollect.types import FilePlace, Memory, Use

# As long as a scan's first words: enough to distinguish memories without a title.
HEADING = 120

AGES = (
    (timedelta(days=365), "year"),
    (timedelta(days=30), "month"),
    (timedelta(days=1), "day"),
    (timedelta(hours=1), "hour"),
    (timedelta(minutes=1), "minute"),
)


def age(moment: datetime, now: datetime) -> str:
    """`3 days ago`, `in 2 months`, `just now`."""
    passed = now - moment
    for unit, name in AGES:
        count = abs(passed) // unit
        if count:
            amount = f"{count} {name}{'s' if count > 1 else ''}"
            return f"{amount} ago" if passed > timedelta(0) else f"in {amount}"
    return "just now"


def number(value: float) -> str:
    """A score or a weight, short: `0.6931`, `12.5`, `3`."""
    return f"{value:.4g}" if abs(value) >= 0.001 or value == 0 else f"{value:.2e}"


def counted(number: int, singular: str, plural: str = "") -> str:
    """`1 memory`, `2 memories`."""
    many = plural or (singular[:-1] + "ies" if singular.endswith("y") else singular + "s")
    return f"{number:,} {singular if number == 1 else many}"


def use_text(use: Use, last: str) -> str:
    """`returned 12 times, opened 3, accepted 1; last 2 days ago`, where `last` says when."""
    times = counted(use.returned, "time")
    return f"returned {times}, opened {use.opened}, accepted {use.accepted}; last {last}"


def title_of(memory: Memory) -> str:
    """What a memory is called: its title, or the headings (`Recipes › blend`) for a part of a file,
    whose title is the file's path, as of all its parts. Empty where it has neither."""
    if memory.tier == "file" and memory.context:
        return " ".join(memory.context.split()).replace(" > ", " › ")
    return memory.title


def heading_line(memory: Memory) -> str:
    """What it is called, or how its text begins, in one line that is safe to show."""
    line = " ".join(visible(title_of(memory) or memory.text).split())
    return line if len(line) <= HEADING else f"{line[:HEADING]}…"


def about_line(
    memory: Memory, validity: str = "", vault: str = "", when: Callable[[datetime], str] = day
) -> str:
    """`decision · harbor-api · 2026-10-12 · expired 2026-11-01 · tokens-live-k3f9`. `vault`: where
    it is, unless in the home's own; `when`: how times are written."""
    named = (label(memory.kind), label(memory.project), when(memory.updated_at))
    where = f"vault {label(vault)}" if vault else ""
    return " · ".join(filter(None, (*named, validity, where, shown_id(memory.id))))


def two_lines(
    memory: Memory, when: Callable[[datetime], str] = day, now: datetime | None = None
) -> str:
    """Return the title, quoted, and the line about it, as a model reads them. With `now`, the line
    says whether it no longer holds."""
    state = state_of(memory, now) if now else ""
    return f"> {heading_line(memory)}\n{about_line(memory, state, when=when)}"


def state_of(memory: Memory, now: datetime) -> str:
    """`replaced by deploy-3`, `expired 2026-04-30`; empty for a memory that holds."""
    link = memory.superseded_by
    return f"replaced by {shown_id(link)}" if link else validity(memory, now)


def state_json(memory: Memory, now: datetime) -> dict[str, object]:
    """The state as data: `expired`, and `superseded_by` where a link leads to another memory."""
    expired = validity(memory, now).startswith("expired")
    link = memory.superseded_by
    return ({"expired": True} if expired else {}) | ({"superseded_by": link} if link else {})


def place_in_file(place: FilePlace, *, short: bool = False) -> str:
    """Return `notes/setup.md:14, Install > Linux`: the line that matches, as editors open it, then
    the headings. `notes/setup.md:12-40` where nothing was searched for. One line, even where a name
    has several. `short`: without the headings, and only the last folders."""
    last = f"-{place.last_line}" if place.last_line > place.first_line else ""
    lines = place.line or f"{place.first_line}{last}"
    under = f", {place.heading}" if place.heading and not short else ""
    path = "/".join(place.path.split("/")[-3:]) if short else place.path
    return " ".join(f"{path}:{lines}{under}".splitlines())
