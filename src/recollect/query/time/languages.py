"""Words that name times in seven languages, with the English that `grammar.py` reads.

`languages.json` lists forms as written. A form of several words has blanks between them, also for a
hyphen or an apostrophe in a query (`avant-hier`, `aujourd'hui`). Ordered lists (IN_ORDER) have
blanks between their places, `/` between the forms of one place, `_` within a form.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from msgspec import Struct, json

IN_ORDER = {
    "months": (
        "January February March April May June July August September October November December"
    ).split(),
    "weekdays": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split(),
    "seasons": "spring summer autumn winter".split(),
    "numbers": "1 2 3 4 5 6 7 8 9 10 11 12".split(),
    "units": "hour day week weekend month quarter year".split(),
    "parts": "early mid late".split(),
}
# Words that are English too, or names, or things in another of these languages: alone they name no
# time, and they do not identify the language.
DOUBTFUL = frozenset(
    "april august september november december winter mars mai mei mayo julio augustus avril "
    "janeiro domingo week weekend tag dia ore an mes estate primavera recent anterior ce quest "
    "hora van von al alla na op fra nos nas ab e y et en und fin mi fine final fines half begin "
    "среда среду".split()
)


class TimeWords(Struct, frozen=True):
    """One language. The keys of a mapping are English, its values are forms separated by commas.
    `at` means `to` after another time, else `in`."""

    months: str
    weekdays: str
    seasons: str
    numbers: str
    units: str
    parts: str
    near: Mapping[str, str]  # days around today, and `recently`
    which: Mapping[str, str]  # `last` is the calendar's, `past` ends today
    leads: Mapping[str, str]  # prepositions, `and`, `every`
    ago: str
    fillers: str = ""  # articles and what means `of`
    no_time: str = ""  # what holds such a word and names no time


@cache
def time_words() -> dict[str, TimeWords]:
    file = Path(__file__).with_suffix(".json")
    return json.decode(file.read_bytes(), type=dict[str, TimeWords])
