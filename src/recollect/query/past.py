"""Questions about what was before."""

from __future__ import annotations

import re

# Words that ask for what held before: "what was … before", "which editor did I use to use".
PAST = (
    r"\b(?:before|formerly|previously|earlier|used to|use to|back then|in the past|originally"
    r"|no longer|once|(?<!how )old|former|previous|prior|until now"
    r"|(?:what|which|who|where|how (?:much|many|long|high))\b(?: \w+){0,2} (?:was|were)"
    r"|did\b.*\b(?:use|have|need|run|live|work|pay|cost)"
    r"|vorher|früher|damals|ehemals|bisher(?:ige[rns]?)?|bis dahin|(?:was|wer|wo|wie \w+) war"
    r"|avant|auparavant|autrefois|ancien(?:ne)?s?|était"
    r"|antes|anterior(?:mente)?|antigu[oa]|solía\w*|era"
    r"|раньше|прежде|прежн\w+|был[аои]?)\b|以前|之前|原来|过去|前は|かつて|昔|예전|이전|전에는"
)
# Those that say nothing of what is searched for. "Before" does where something follows it.
BARE = (
    r"\bbefore(?=\W*$)|\b(?:formerly|previously|back then|in the past|used to|use to"
    r"|vorher|früher|damals|auparavant|autrefois|antes|раньше)\b"
)


def asks_before(query: str) -> bool:
    """Whether the query asks for what held before."""
    return re.search(PAST, query, re.IGNORECASE) is not None


def without_past(query: str) -> str:
    """The query without the words that ask for what was before and nothing else; all of it where
    nothing would be left."""
    rest = re.sub(BARE, " ", query, flags=re.IGNORECASE)
    return rest if re.search(r"\w", rest) else query
