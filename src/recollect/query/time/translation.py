"""Times in other languages, translated to English for the grammar to read.

Each word becomes a letter for its kind (LETTERS), CORES finds times in these letters, and each is
written in English: `vor drei Tagen` is `gnu` and becomes `3 days ago`. A language is read only if
more words identify it than English.

`languages.json` has the words of seven languages with their English. Forms are listed as written; a
form of several words has blanks between them, also for a hyphen or an apostrophe in a query
(`avant-hier`, `aujourd'hui`). Ordered lists (IN_ORDER) have blanks between their places, `/`
between the forms of one place, `_` within a form.

dateparser was tried: it returns points in time, no periods, found 10 of 15 such phrases, read `we`
in an English question as Wednesday, and took 0.3 to 4 s for the first query.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct, json

from recollect.query.terms import english_words, function_words, word_set
from recollect.types import Span

# The kinds of words. Also `y`, a year in digits; `x`, any other word; `/`, a sign that is not in
# BETWEEN. A preposition that also means `ago` (German `vor`) has the letter `g`.
LETTERS = {
    "months": "m",
    "weekdays": "d",
    "seasons": "s",
    "numbers": "n",
    "units": "u",
    "near": "t",
    "which": "w",
    "parts": "p",
    "leads": "l",
    "fillers": "a",
    "ago": "g",
    "no_time": "x",
}
TELLING = "mdsutwplx"  # words of these kinds identify the language
OF_YEAR = r"(?:a*yu?|a*wa*u|a*ua*w)?"
CORES = (
    r"ga*na*u|nug",  # three days ago
    r"(?:wn|nw)u",  # the last three days
    rf"(?:da*)?n(?:[la]a*n)?a*m{OF_YEAR}",  # the 3rd of March, the 3rd to the 5th of March
    rf"(?:pa*)?(?:wa*)?[mds](?:a*w(?!a*u))?{OF_YEAR}",  # March 2026, last Monday, summer
    r"(?:pa*)?(?:wu|ua*w)",  # last week
    r"(?:pa*)?(?:ua*)?yu?",  # the year 2026
    r"t",  # yesterday
)
PHRASE = rf"(?P<leads>[lga]*)(?P<core>{'|'.join(CORES)})(?P<range>(?=la*[mdsny]))?"
WORD = r"([0-9]{1,4})(?:(?<=\b1)er\b|[ºª]|-?(?:го|е|я)\b|\.(?=\s))?|[^\W\d_]+"
BETWEEN = r"\s+|['’]\s?|-"
YEARS = range(1900, 2101)
DAYS = range(1, 32)
MOST_WORDS = 4  # in one form: `ayer por la mañana`
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
DOUBTFUL = word_set("doubtful times")


class TimeWord(NamedTuple):
    letter: str
    english: str
    telling: bool


class PlacedWord(NamedTuple):
    """A form and its span in the query."""

    form: TimeWord
    start: int
    end: int


class TranslatedPart(NamedTuple):
    """A span of the query (`start`, `end`) and its translation (`first`, `last`)."""

    start: int
    end: int
    first: int
    last: int


class Translation(NamedTuple):
    text: str
    segments: Sequence[TranslatedPart]

    def span(self, first: int, last: int) -> tuple[int, int]:
        """Map a span of the English to the query."""
        start, end = first, last
        for part in self.segments:
            if part.first <= first:
                start = part.start if first < part.last else first - part.last + part.end
            if part.first < last:
                end = part.end if last <= part.last else last - part.last + part.end
        return start, end


@lru_cache(16)  # the current queries
def translate(text: str) -> Translation | None:
    """Return the query with its times in English; None if it names none in another language."""
    words = [found[0].lower() for found in re.finditer(WORD, text)]
    if not any(word in _naming() or word.isdigit() for word in words):
        return None
    found = [each for name in _languages(words) for each in _phrases(text, _forms(name))]
    english, segments, at = "", list[TranslatedPart](), 0
    for (start, end), phrase in sorted(found, key=lambda each: (each[0].start, -each[0].end)):
        if start < at:
            continue  # another language has read it
        joins = bool(segments) and text[at:start].isspace()
        written = re.sub(r"^at\b", "to" if joins else "in", phrase)
        english += text[at:start]
        segments.append(TranslatedPart(start, end, len(english), len(english + written)))
        english += written
        at = end
    return Translation(english + text[at:], segments) if segments else None


def _languages(words: Sequence[str]) -> list[str]:
    """Return the languages that most of these words identify; none if as many identify English."""
    english = {word for word in words if word in english_words()}
    tables, counts = time_words().keys(), {}
    for name, own in function_words().items():
        if name == "english":
            continue
        forms = _forms(name) if name in tables else {}
        matching = sum(word in own or (word in forms and forms[word].telling) for word in words)
        counts[name] = matching if matching > len(english - own - forms.keys()) else 0
    most = max(counts.values())
    found = [name for name, count in counts.items() if count == most > 0]
    return found if tables >= {*found} else []


def _phrases(text: str, forms: Mapping[str, TimeWord]) -> Iterator[tuple[Span, str]]:
    """Yield each time in one language: its span, and its English."""
    tokens = [*_tokens(text, forms)]
    for found in re.finditer(PHRASE, "".join(token.form.letter for token in tokens)):
        whole = tokens[slice(*found.span())]
        core = [token.form for token in tokens[slice(*found.span("core"))]]
        leads = [token.form for token in whole[: -len(core)]]
        bounded = found["range"] is not None or {"l", "g", "n", "p"}.intersection(found[0])
        if not bounded and not any(form.telling for form in core):
            continue  # such as `mars` alone
        english = _english(core)
        before = [form.english for form in leads if form.english and "–" not in english]
        if english:
            yield Span(whole[0].start, whole[-1].end), " ".join([*before, english])


def _english(core: Sequence[TimeWord]) -> str:
    """Return one time in English; empty if it cannot be one."""
    by_letter = {
        letter: [form.english for form in core if form.letter == letter] for letter in "npstuwy"
    }
    numbers, units, which, year = (by_letter[letter] for letter in "nuwy")
    name = [form.english for form in core if form.letter in "mds"][-1:]
    if units and any(form.letter == "g" for form in core):
        return f"{numbers[0]} {units[0]}s ago"
    if units and numbers and not name:
        return f"last {numbers[0]} {units[0]}s" if which[0] in ("last", "past") else ""
    if (year and units not in ([], ["year"])) or (
        name and not all(int(number) in DAYS for number in numbers)
    ):
        return ""
    if not name:
        return " ".join([*by_letter["p"], *which, *(() if year else units), *year, *by_letter["t"]])
    which = ["last" if word == "past" else word for word in which]  # a month does not end today
    own, of_year = which[: len(which) - len(units)], [*which[len(which) - len(units) :], *units]
    days = ["–".join(numbers)] if numbers else []
    return " ".join([*by_letter["p"], *own, *name, *days, *(year or of_year)])


def _tokens(text: str, forms: Mapping[str, TimeWord]) -> Iterator[PlacedWord]:
    """Yield the longest forms of a language in the query, and all other words."""
    found = [*re.finditer(WORD, text)]
    at = end = 0
    while at < len(found):
        if end and not re.fullmatch(BETWEEN, text[end : found[at].start()]):
            yield PlacedWord(TimeWord("/", "", telling=False), end, end)
        for count in range(min(MOST_WORDS, len(found) - at), 0, -1):
            some = found[at : at + count]
            form = forms.get(" ".join(each[0].lower() for each in some))
            if form or count == 1:
                break
        start, end = some[0].start(), some[-1].end()
        named = start > 0 and text[start].isupper() and form and form.letter == "t"  # David Ayer
        yield PlacedWord(form if form and not named else _other(some[0]), start, end)
        at += count


def _other(word: re.Match[str]) -> TimeWord:
    number = word[1]
    letter = ("y" if int(number) in YEARS else "n") if number else "x"
    return TimeWord(letter, number or "", telling=False)


@cache
def _naming() -> frozenset[str]:
    """Return words of which every time has one; most queries have none and need no table."""
    listed = []
    for table in time_words().values():
        listed += [table.months, table.weekdays, table.seasons, table.units, *table.near.values()]
    return frozenset(re.findall(r"[^\W\d_]+", " ".join(listed)))


@cache
def _forms(language: str) -> dict[str, TimeWord]:
    """Return the forms of a language. Forms of one word may identify it."""
    table, own, found = time_words()[language], function_words()[language], dict[str, TimeWord]()
    for kind, letter in LETTERS.items():
        words = getattr(table, kind)
        if kind in IN_ORDER:
            named = zip(IN_ORDER[kind], words.split(), strict=False)
            pairs = [(en, one.replace("_", " ")) for en, each in named for one in each.split("/")]
        else:
            listed = words.items() if isinstance(words, Mapping) else [("", words)]
            pairs = [(english, one) for english, each in listed for one in each.split(", ")]
        for english, form in pairs:
            doubtful = form in DOUBTFUL or form in english_words() or letter not in TELLING
            known = found[form].english if form in found else english
            found[form] = TimeWord(letter, known, telling=form in own or not doubtful)
    return found


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
    file = Path(__file__).with_name("languages.json")
    return json.decode(file.read_bytes(), type=dict[str, TimeWords])
