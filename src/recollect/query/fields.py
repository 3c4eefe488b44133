"""Fields and exclusions in a query: `kind:bug tag:auth,jwt project:"harbor api" -source:slack`,
`postgres NOT billing`, `stripe but not Tom`, `-billing`.

A field begins after white space, and its value follows the colon directly. Any other word with a
colon is a word: `error: x`, `http://x`, `std::vector`, `C:\\temp`, `12:30`. A field that OR joins
with something else is not read.

A wrong exclusion hides results, so a doubtful one leaves the query as it is. `without` names a
topic in a question (`how to deploy without downtime`) and excludes only after a few bare words
(`caches without redis`). A dash in a question may begin a command's option; it excludes only at the
end of a question for a thing (`which queue -redis`) that does not speak of commands.

Text in double quotes or backticks is never read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from typing import Any, NamedTuple

from recollect.query.terms import LONGEST_READ, cut_spans, keywords, lower_words, word_set, words
from recollect.types import Filter, Span

# Field → the filter's attribute, and the attribute for `-field:`.
FIELDS = {
    "kind": ("kind", "without_kinds"),
    "project": ("project", "without_projects"),
    "source": ("source", "without_sources"),
    "tag": ("tags", "without_tags"),
    "domain": ("domain", None),
}
VALUE = r""""[^"]+"|'[^']+'|(?!:|//|["'])[^\s"()]+"""
NAME = rf"(?i:{'|'.join(FIELDS)})"
FIELD = (
    r'"[^"]*"|`[^`]*`'
    r"|(?<!\S)(?:AND\s+|(?P<or>OR\s+))?(?P<sign>-|NOT\s+)?"
    rf"(?P<named>(?P<name>{NAME}):(?:{VALUE})"
    rf"(?(sign)|(?:\s+OR\s+(?!(?i:tag):)(?P=name):(?:{VALUE}))*+))"
    r"(?=\s|$)(?:(?=\s+(?P<or_else>OR)(?!\S))|\s+AND(?=\s)|)"
)
# `"connection refused"`, `-"blue green"` and `project:"harbor api"` after a shell took the quotes.
QUOTED_BEFORE = rf'^(-?(?:{NAME}:)?)((?=.*\S)[^"]*\s[^"]*)\Z'
# A query of bare words matches none of these and has at most MOST_BARE words before `without`.
ASKING = (
    r"(?i)\b(?:how|what|why|when|where|which|who|can|could|may|do|does|did|is|are|was|were|should|will"
    r"|would|to|if)\b|\?"
)
MOST_BARE = 3
# A question that asks for a thing; and words about commands, with the programs whose options are
# whole words after a single dash.
FOR_A_THING = (
    r"(?i)\W*(?:which|who|whose|where|when|what(?!\s+(?:does|do|did|is|are|was|were)\b))\b"
)
OF_COMMANDS = (
    r"(?i)\b(?:how|why|does|options?|flags?|switch(?:es)?|arguments?|parameters?|commands?|runs?"
    r"|running|ran|calls?|execut\w+|invok\w+|means?|prints?|shell|script|adb|clang|convert|emacs"
    r"|ffmpeg|find|gcc|go|java|javac|mvn|openssl|perl|powershell|ruby|terraform|vim|xcodebuild)\b"
    r"|(?:^|\s)-\w{1,2}\b|--\w"
)
# Only more exclusions may follow.
ENDS = r'(?:\s+-(?:"[^"]+"|\w+))*\s*\??\s*'
EXCLUDING = (
    r"(?:but|and)\s+not|not\s+(?:in|about|from|by)|other\s+than|except(?:\s+for)?|excluding"
    r"|apart\s+from"
)
THING = r'"[^"]+"|\w[\w.+#/-]*'
FEW_WORDS = r"\w[\w.+#/'’-]*(?:\s+\w[\w.+#/'’-]*){0,2}"
ARTICLES = r"(?:(?:the|a|an|any|about|in|from|of|for)\s+)*"
NO_CLAUSE = r"(?!(?:when|if|how|because|since|to|yet|only|just|always|by|with|as|in case)\b)"
EXCLUSION = (
    r'"[^"]*"|`[^`]*`'
    rf"|(?:^|(?<=\s))-(?P<sign>{THING})(?=[\s?]|$)"
    rf"|(?:\b(?:AND\s+)?NOT\s+)(?P<operator>{THING})"
    rf"|,?\s*\b(?i:{EXCLUDING})\s+{ARTICLES}"
    rf"(?i:{NO_CLAUSE})(?P<phrase>{FEW_WORDS})(?=\s*(?:$|[,.;?!]))"
    rf"|\s*\b(?i:without)\s+{ARTICLES}(?P<bare>{FEW_WORDS})\s*$"
)
# Words that exclude nothing: "works for some but not others".
OBJECTLESS = word_set("nothing to exclude")
SHORTEST_SIGN = 3  # options of commands are often shorter
# A quick check: most queries exclude nothing.
HINT = re.compile(
    r"(?:^|\s)-[\w\"]|\bNOT\b|\b(?i:but\s+not|and\s+not|not\s+(?:in|about|from|by)|other\s+than|without|except|excluding|apart\s+from)\b"
)


class QueryFields(NamedTuple):
    """A query without its fields, the filter they make, and their readings as people see them."""

    text: str
    filter: Filter = Filter()
    readings: tuple[str, ...] = ()


def read_fields(text: str, ignored: Set[str] = frozenset()) -> QueryFields:
    """Read the fields of a query. Without a field, the text stays as it is.

    ignored: readings that do not count.
    """
    if ":" not in text:
        return QueryFields(text)
    spans: list[Span] = []
    wanted: dict[str, list[str]] = {}
    readings: dict[str, None] = {}
    for match in re.finditer(FIELD, text):
        if match["or"] or match["or_else"] or not match["name"]:
            continue
        name = match["name"].lower()
        part = FIELDS[name][bool(match["sign"])]
        for value in _values(match["named"]) if part else ():
            reading = f"{'without ' if match['sign'] else ''}{name} {value}"
            if part and reading not in ignored:
                wanted.setdefault(part, []).append(value)
                readings[reading] = None
                spans.append(Span(*match.span()))
    rest = " ".join(cut_spans(text, spans).split()).rstrip(" ,;")
    if not spans or len(words(rest)) > LONGEST_READ:
        return QueryFields(text)
    parts: dict[str, Any] = {part: tuple(values) for part, values in wanted.items()}
    read = read_exclusions(rest, ignored)
    if read.readings and not read.text:  # `kind:bug -docker`: nothing to search
        rest, parts["without"] = "", read.filter.without
        readings |= dict.fromkeys(read.readings)
    return QueryFields(rest, Filter(**parts), tuple(readings))


def read_exclusions(text: str, ignored: Set[str] = frozenset()) -> QueryFields:
    """Read the exclusions of a query. The text is empty if it has no other word to search for."""
    excluded = [
        one for one in exclusions(text, alone=True) if describe_exclusion(one) not in ignored
    ]
    if not excluded:
        return QueryFields(text)
    rest = without(text, excluded)
    filter = Filter(without=tuple(one.words for one in excluded))
    return QueryFields(
        rest if keywords(rest) else "", filter, tuple(map(describe_exclusion, excluded))
    )


def query_of(typed: Sequence[str]) -> str:
    """Join the words of a command line into one query. A shell removes quotes, so a word with a
    space in it was a quoted phrase or field value."""
    if len(typed) == 1:
        return typed[0]
    return " ".join(re.sub(QUOTED_BEFORE, r'\1"\2"', word) for word in typed)


def _values(text: str) -> Iterator[str]:
    """Yield the values of a field: one in quotes, or several separated by commas."""
    for match in re.finditer(rf"(?:^|\sOR\s+){NAME}:({VALUE})", text):
        value = match[1]
        several = [value[1:-1]] if value[0] in "\"'" else value.rstrip(".?!;").split(",")
        yield from filter(None, map(str.strip, several))


class Exclusion(NamedTuple):
    """One exclusion: memories that hold all of these words are left out."""

    words: tuple[str, ...]
    span: Span


def exclusions(text: str, *, alone: bool = False) -> tuple[Exclusion, ...]:
    """Return the exclusions of a query, left to right; none if no word would be left to search for.

    alone: a query of exclusions only is allowed.
    """
    if not HINT.search(text):
        return ()
    found = []
    for match in re.finditer(EXCLUSION, text):
        named = match["sign"] or match["operator"] or match["phrase"] or match["bare"]
        if named and _is_exclusion(text, match):
            excluded = tuple(words(named))
            if excluded:
                found.append(Exclusion(excluded, Span(*match.span())))
    return tuple(found) if found and (alone or keywords(without(text, found))) else ()


def describe_exclusion(exclusion: Exclusion) -> str:
    """Return the exclusion as people read it."""
    return f"without {' '.join(exclusion.words)}"


def without(text: str, excluded: Sequence[Exclusion]) -> str:
    """Return the query without these exclusions."""
    rest = cut_spans(text, (exclusion.span for exclusion in excluded))
    return " ".join(rest.split()).rstrip(" ,;")


def _is_exclusion(text: str, match: re.Match[str]) -> bool:
    """Return True if the match excludes something: it is no option of a command (`what does -v
    print`) and no topic."""
    if (sign := match["sign"]) is not None:
        return len(sign) >= SHORTEST_SIGN and (
            not re.search(ASKING, text) or _is_left_out_in_question(text, match.end(), sign)
        )
    if match["operator"] is not None:
        return True
    if match["phrase"] is not None:
        asks = re.search(ASKING, text) and not re.search(r"\bbut\s+not\b", match[0], re.IGNORECASE)
        vague = OBJECTLESS.issuperset(lower_words(match["phrase"]))
        return (
            not asks and not vague and not match["phrase"].endswith("ly")
        )  # "but not exclusively"
    before = text[: match.start()]
    return not re.search(ASKING, text) and 0 < len(words(before)) <= MOST_BARE


def _is_left_out_in_question(text: str, end: int, sign: str) -> bool:
    return bool(
        (sign.isalpha() or sign.startswith('"'))
        and re.match(FOR_A_THING, text)
        and re.fullmatch(ENDS, text[end:])
        and not re.search(OF_COMMANDS, text)
    )
