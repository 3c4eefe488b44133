"""Exclusions in a query: `postgres NOT billing`, `stripe but not Tom`, `-billing`.

A wrong reading hides results, so a doubtful one leaves the query as it is. `without` names a topic
in a question (`how to deploy without downtime`) and excludes only after a few bare words (`caches
without redis`). A dash in a question may begin a command's option; it excludes only at the end of a
question for a thing (`which queue -redis`) that does not speak of commands. Text in double quotes
or backticks is never read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from recollect.query.terms import cut_spans, keywords, lower_words, words
from recollect.types import Span

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
# Words that exclude nothing: "works for some but not others".
OBJECTLESS = frozenset(
    "others other all everyone everybody everything always me us them it this that here there yet "
    "now anymore mine ours yours today sure".split()
)
SHORTEST_SIGN = 3  # options of commands are often shorter
# A quick check: most queries exclude nothing.
HINT = re.compile(
    r"(?:^|\s)-[\w\"]|\bNOT\b|\b(?i:but\s+not|and\s+not|not\s+(?:in|about|from|by)|other\s+than|without|except|excluding|apart\s+from)\b"
)


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
    for match in _pattern().finditer(text):
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


@cache
def _pattern() -> re.Pattern[str]:
    thing = r'"[^"]+"|\w[\w.+#/-]*'
    few = r"\w[\w.+#/'’-]*(?:\s+\w[\w.+#/'’-]*){0,2}"
    article = r"(?:(?:the|a|an|any|about|in|from|of|for)\s+)*"
    clause = r"(?!(?:when|if|how|because|since|to|yet|only|just|always|by|with|as|in case)\b)"
    return re.compile(
        r'"[^"]*"|`[^`]*`'
        rf"|(?:^|(?<=\s))-(?P<sign>{thing})(?=[\s?]|$)"
        rf"|(?:\b(?:AND\s+)?NOT\s+)(?P<operator>{thing})"
        rf"|,?\s*\b(?i:(?:but|and)\s+not|not\s+(?:in|about|from|by)|other\s+than|except(?:\s+for)?|excluding|apart\s+from)\s+{article}"
        rf"(?i:{clause})(?P<phrase>{few})(?=\s*(?:$|[,.;?!]))"
        rf"|\s*\b(?i:without)\s+{article}(?P<bare>{few})\s*$"
    )
