"""`recollect stats`."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import date

from recollect.interfaces.cli.arguments import add_json
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.layout import cells
from recollect.interfaces.cli.lines import shortened, width
from recollect.interfaces.cli.opening import opened
from recollect.interfaces.cli.output import CYAN, DIM, GREEN, print_json, styled
from recollect.interfaces.cli.screen import screen
from recollect.present.explain import bar
from recollect.present.visible import visible

LABELS = {"waiting": "no vector"}
CHARTED = ("kinds", "tiers", "projects")
MOST_BARS = 8
LONGEST_NAME = 20
MONTHS = 24
LEVELS = "▁▂▃▄▅▆▇█"


@command("  recollect stats --json", add_json)
def stats(args: argparse.Namespace) -> int:
    with opened() as memory:
        stats = memory.stats()
        drawn = screen().terminal and not args.json
        made = memory.dates().made if drawn else {}
        today = memory.now().date()
    if args.json:
        print_json(stats)
        return 0
    for name, value in stats.items():
        label = styled(f"{LABELS.get(name, name):<12}", CYAN)
        if drawn and name in CHARTED and value:
            print(label)
            print("\n".join(_bars(value)))
            continue
        shown = f"{value:,}" if isinstance(value, int) else value
        if isinstance(value, dict):
            shown = visible(", ".join(f"{key or '(none)'} {count}" for key, count in value.items()))
        print(f"{label} {shown}")
    if made:
        print(f"{styled('by month    ', CYAN)} {_by_month(made, today)}")
    return 0


def _bars(counts: Mapping[str, int]) -> Iterator[str]:
    """A bar for each of the largest, and how many others there are."""
    shown = {
        shortened(name or "(none)", LONGEST_NAME): count
        for name, count in [*counts.items()][:MOST_BARS]
    }
    names, numbers = max(map(cells, shown)), max(len(f"{count:,}") for count in shown.values())
    for name, count in shown.items():
        drawn = bar(count, max(shown.values()), width() - names - numbers - 6)
        yield f"  {name}{' ' * (names - cells(name))}  {count:>{numbers},}  {styled(drawn, GREEN)}"
    if len(counts) > MOST_BARS:
        rest = sum([*counts.values()][MOST_BARS:])
        yield styled(f"  {len(counts) - MOST_BARS} others: {rest:,}", DIM)


def _by_month(made: Mapping[date, int], today: date) -> str:
    """The memories that were made in each of the last months, as a row of bars, the oldest left."""
    counts: Counter[int] = Counter()
    for day, count in made.items():
        counts[(today.year - day.year) * 12 + today.month - day.month] += count
    oldest = min(MONTHS - 1, max(counts))
    row = [counts[ago] for ago in range(oldest, -1, -1)]
    most = max(row) or 1
    drawn = "".join(LEVELS[-(-count * 7 // most)] if count else " " for count in row)
    return f"{styled(drawn, GREEN)}  {oldest + 1} months, at most {most:,} in one"
