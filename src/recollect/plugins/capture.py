"""English forms of remarks that a user wants to be remembered beyond the task, as data.

They are few and precise: what is saved without asking must be worth it. A form requires its words
at the start of a sentence, a verb of the agent's work in an order, and a word for "in general" in a
correction or a preference. Another language needs its own `TRIGGERS`, `VERBS`, `ASIDE`, `REFUSED`
and patterns; the limits and the handling of quotations, pastes and matches stay the same.
`benchmarks/bench_capture.py` measures each form on judged sessions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from recollect.plugin.capture import LONGEST_TITLE, CaptureForm, Remark, cut_title

# A longer turn contains pasted text, after the person's own words.
LONGEST = 20_000
# Every turn in a form contains one of its triggers. Most turns have none, and then no pattern is
# compiled.
TRIGGERS: Mapping[CaptureForm, tuple[str, ...]] = {
    "correction": (
        " no ", " no,", " no:", " no.", " no!", " nope", "wrong", "incorrect", "not right",
        "not correct", "not how we", "i said", "already said", "told you", "asked you",
    ),
    "remember": (
        "remember", "keep in mind", "for the record", "for future reference", "note for",
    ),
    "from-now-on": (
        "from now on", "from here on", "going forward", "in future", "in the future", "henceforth",
        "next time",
    ),
    "prefer": ("prefer",),
    "never": ("never", " ever ", "must not", "mustn't", "mustn’t"),
    "always": ("always", "we only", "whenever you", "every time you", "each time you"),
}  # fmt: skip
MOST_CHARACTERS = 400  # of a sentence: rules are short
MASK = "q"
# Code, logs, quotations and lists of requirements are not the user's own words: no form may match
# in them. Such lines are left out, and quoted text is masked.
FENCED = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)|<(\w[\w-]*)>.{0,2000}?</\2>", re.S | re.M)
QUOTED = re.compile(
    r'`[^`\n]*`|"[^"]{0,999}"|“[^”]{0,999}”|„[^“”]{0,999}[“”]|«[^»]{0,999}»|(?<![\w.])\'[^\'\n]+\'(?!\w)|["`“„«].*'
)
# Indented, quoted or listed; a line of a log, a shell, a diff or a trace; an error by its name.
FOREIGN = re.compile(
    r"\s{2,}\S|\t|[>|$#%+\[{<]|[-*•–]\s|--|\d+[.)]\s|\[?\d{2,4}[-:/]\d\d|at \S+\(|E {2,}|"
    r"(?:file|diff|traceback|index|thread|caused by|panic|fatal|error|warning|warn|info|debug|note|"
    r"fail(?:ed)?)\b[^a-z,]*[\[:(\"0-9]|\S*(?:error|exception|warning)\b\S*:",
    re.I,
)
ENDS = re.compile(r"(?<=[.!?…])[)\"”]*\s+(?=\S)|\n")
# A turn with more of them is a pasted document.
MOST_IN_A_TURN = 3
# "Never do that" says nothing without its task.
FEWEST_WORDS = 4

# Work of an agent, as opposed to behaviour of the program ("always return 200").
VERBS = (
    r"(?:add|amend|answer|apply|ask|assume|avoid|base|branch|build|bump|change|check|cherry-pick|"
    r"comment|commit|create|delete|deploy|disable|document|edit|explain|fix|follow|force[- ]push|"
    r"format|generate|guess|hard-?code|import|install|introduce|leave|lint|make sure|merge|mock|"
    r"modify|move|name|open|pin|prefix|prefer|push|put|rebase|refactor|release|rely|remove|rename|"
    r"reply|rewrite|run|ship|show me|sign|skip|squash|stage|stick|suggest|switch|tag|talk|tell|"
    r"test|touch|translate|trust|try|update|upgrade|use|verify|wait|wrap|write)\b"
)
# Habits of a team, after "we" or "this project".
HABITS = (
    r"(?:use|uses|run|deploy|write|keep|store|support|supports|target|build|ship|follow|name|put|"
    r"merge|squash|test|wrap|report|release|sign|pin|avoid|agreed|decided|moved|migrated|switched|"
    r"standardi[sz]ed)\b"
)
# Rules about things: "strings always go through …".
THINGS = r"(?:goe?s?|comes?|lives?|belongs?|have to|has to)\b"
MUST = r"(?:must|should|shall|have to|has to|needs? to|ought to)"
NOT = r"do(?:n't| not)"
ORDER = rf"(?:(?:please|always|never|{NOT}(?: ever)?) )*{VERBS}"
LATER = r"(?:from (?:now|here) on(?: out)?|going forward)"
SCOPED = r"(?:all|our|every|any|new)\b"

# Words that make a correction a general one.
HERE = (
    r"(?:in|for|across) (?:this|our|the (?:whole|entire)) (?:\w+ )?(?:repo|repository|project|"
    r"code ?base|crate|package|team|company|organi[sz]ation|monorepo)\b"
)
WE = (
    r"\b(?:we|this (?:repo|project|code ?base|crate|team)) "
    rf"(?:{NOT} (?:ever )?|never |always |only |all )*{HABITS}"
)
OUR = (
    r"\bour (?:\S+ ){1,4}(?:is|are|lives?|comes?|goes) "
    r"(?:in|at|on|from|under|called|named|built|through|via)\b"
)
SINCE = (
    r"\b(?:since|as of) (?:january|february|march|april|may|june|july|august|september|october|"
    r"november|december|version|v?\d|last (?:week|month|year))\b"
)
RULE = (
    rf"\b(?:always|never|ever|must not|mustn't) (?:{VERBS}|{THINGS})|"
    rf"\b{THINGS}[^,;]* (?:never|always)\b|, never (?!mind|again|seen|had|happened)\w"
)
GENERAL = rf"(?:{WE}|{OUR}|{SINCE}|{RULE}|{HERE})"
WRONG = (
    r"(?:actually,? )?(?:no|nope|wrong|incorrect|that(?:'s| is| was) "
    r"(?:wrong|incorrect|not (?:right|correct|how we do (?:it|that|this))))(?:,? no)?"
)


def triggered_forms(turn: str) -> frozenset[CaptureForm]:
    """Return the forms that the turn may be in."""
    small = f" {' '.join(turn[:LONGEST].casefold().split())} "
    return frozenset(
        form for form, triggers in TRIGGERS.items() if any(each in small for each in triggers)
    )


def sentences(turn: str) -> Iterator[tuple[str, str]]:
    """Yield each sentence of the user's own words, as it is and with quotations and code masked."""
    if turn.lstrip().startswith(("/", "!")):  # a command of the client
        return
    text = "\n".join(_own_lines(FENCED.sub("\n", turn[:LONGEST])))
    masked = QUOTED.sub(lambda found: MASK * len(found[0]), text)
    start = 0
    for end in [*ENDS.finditer(masked), None]:
        stop = len(text) if end is None else end.start()
        sentence = text[start:stop]
        shift = len(sentence) - len(sentence.lstrip())
        if len(sentence) <= MOST_CHARACTERS:
            yield sentence.strip(), masked[start + shift : stop].rstrip()
        start = len(text) if end is None else end.end()


def _own_lines(text: str) -> Iterator[str]:
    """Yield the user's own lines. The rest of a paragraph after a foreign line, or after a line
    that ends with a colon, is foreign too."""
    foreign = skipped = False
    for line in text.splitlines():
        if not line.strip():
            foreign, skipped = foreign and not skipped, False
        elif foreign or FOREIGN.match(line):
            foreign = skipped = True
        else:
            foreign = line.rstrip().endswith(":")
            yield line


class Form(NamedTuple):
    """A form of remark.

    kind: the kind of the memory.
    about: what it matches and what it does not.
    patterns: one of them matches the start of a sentence in small letters, after an aside.
    """

    name: CaptureForm
    kind: str
    about: str
    patterns: tuple[str, ...]


FORMS = (
    Form(
        "correction",
        "fact",
        "The agent did it wrong, and the user says how it is done in general: 'no, we use pytest "
        "in this repo', 'I told you not to …'. Not which of two things is meant this time.",
        (
            rf"{WRONG}\b[\s,.:;!–-]+(?!.*\bi meant\b).*{GENERAL}",
            r"i(?:'ve| have)? (?:already )?(?:told|asked) you (?:(?:not|never) to|"
            rf"to (?:never|always|not)) {VERBS}",
            rf"i (?:already )?said (?!i (?:was|am)\b).*(?:{GENERAL}|\bthis code ?base\b)",
        ),
    ),
    Form(
        "remember",
        "fact",
        "The user asks to remember a statement: 'remember that …', 'keep in mind: …'. No errand "
        "('remember to push'), and no question.",
        (
            r"(?:always )?remember (?:to (?:always|never) |that\b|this\b.*:|for [^:]*:)",
            r"(?:remember|keep in mind)\s*[:–-]",
            r"keep in mind (?:that\b|for .*:)",
            r"for (?:the record|future reference)\b",
            r"note for (?:the future|later)\b",
        ),
    ),
    Form(
        "from-now-on",
        "preference",
        "An order for the time to come: 'from now on …', 'in future, never …'. Not what something "
        "is called from now on.",
        (
            rf"(?:{LATER}|henceforth|in (?:the )?future|next time)[\s,:–-]+(?:{ORDER}|"
            rf"(?:you|we) (?:{MUST}|{HABITS}|always|never|only)|i (?:want|expect|prefer)|"
            r"(?:every|all|any|each|new)\b.* (?:needs?|must|should|ha(?:s|ve) to|gets?|goes?)\b)",
            rf"{ORDER}.*\b{LATER}\W*$",
            rf"{NOT} {VERBS}.*\bnext time\W*$",
        ),
    ),
    Form(
        "prefer",
        "preference",
        "What the user prefers in general: 'I prefer short answers', 'I prefer A over B'. Not "
        "which of the variants at hand.",
        (
            r"i (?:(?:always|generally|usually|strongly|much|really) )*prefer (?!(?:the|this|that|"
            r"these|those|it|a|an|your|his|her|to|not|if|when|option|approach|variant|version|"
            r"number|solution|plan)\b)(?!.*\b(?:here|instead)\W*$|.*\bas (?:the|a)\b)"
            r"(?:\S+ \S|\S+s\W*$)",
            r"i(?:'d| would) (?:always|generally|usually) prefer\b",
            rf"i(?:'d| would)? prefer .*(?:{HERE}|"
            r"\b(?:everywhere|in general|by default|whenever|for all)\b)",
        ),
    ),
    Form(
        "never",
        "preference",
        "An order not to do something of the agent's work, ever: 'never commit to main', 'we never "
        "use …'. Not 'never mind', nor what never happens.",
        (
            rf"(?:never(?: ever)?|{NOT} ever) {VERBS}",
            rf"(?:you|we|i|agents) {MUST} never {VERBS}",
            rf"you (?:must not|mustn't|may never|are never to) {VERBS}",
            rf"we (?:never|{NOT} ever) {HABITS}",
            rf"i (?:never|{NOT} ever) want (?:you|to see)\b",
            r"(?:\S+ ){1,4}never (?:go|come|live|belong)\b",
            rf"{SCOPED}.* {MUST} never\b",
        ),
    ),
    Form(
        "always",
        "preference",
        "An order to do something of the agent's work each time, or a habit of the team: 'always "
        "run the tests before …', 'whenever you add a page, …'. Not what always happens.",
        (
            rf"always (?!.*\bjust\b){VERBS}",
            rf"(?:you|we|agents) (?:{MUST} always|always {MUST}) {VERBS}",
            rf"we (?:always|only) {HABITS}",
            r"i always want (?:you|the|every|all)\b",
            rf"(?:whenever|every time|each time) you {VERBS}.*, ",
            rf"{ORDER}.* (?:whenever|every time|each time) you\b",
            rf"(?!(?:i|it|he|she|they|you|this|that|there)\b)(?:\S+ ){{1,6}}always {THINGS}",
            rf"{SCOPED}.* {MUST} always\b",
        ),
    ),
)

# Words that may come before a form: "ok then, please …".
ASIDE = (
    r"(?:(?:ok(?:ay)?|and|also|so|but|then|well|hey|oh|ah|hm+|yes|yeah|yep|good|great|fine|nice|"
    r"thanks|thank you|cool|perfect|btw|by the way|please|pls|plz|in general|generally|as a rule|"
    r"one (?:more )?thing(?: in general)?|important|quick note|side note|fyi|i want you to|"
    r"i'?d like you to|you keep [^.]*[.,])[\s,:;.!–-]+)+"
)
# In these sentences no form counts.
REFUSED = (
    # A question, also without its mark.
    r"(?:what|why|how|who|which|where|can|could|would|should|shall|will|does|did|is|are|am|was|"
    r"were|has|may|might|isn't|aren't|doesn't|didn't|won't|can't|couldn't|wouldn't|shouldn't|"
    r"(?:do|have|when do|when did|when does|when is) (?:you|we|i|they|it|the))\b|.*\?\W*$",
    # A supposition, or other people's words.
    r"(?:if|suppose|supposing|imagine|assume|assuming|let's say|say|unless|even if|in case|maybe|"
    r"perhaps|i think|i guess|i wonder|not sure)\b|.*\b(?:if i (?:said|say|told)|would be|"
    r"(?:he|she|they|docs?|readme|manual|spec|someone) (?:says?|said|told)|says the|"
    r"according to)\b",
    # A rule about "it", which means nothing without the sentence before.
    r"(?:\S+ ){,6}(?:it|this|that|them|those)\W*$",
    # A remark about the task at hand alone.
    r".*\b(?:for now|right now|(?<!from )now\b(?! on)|this time|today|tonight|tomorrow|once|"
    r"at the moment|temporarily|for a (?:second|minute|moment)|in this (?:function|file|case|test|"
    r"method|class|branch|pr|commit|loop|query|component|page|script|endpoint|example|run|task|"
    r"session)|for this (?:one|task|change|test|file|function|case|pr|run|session))\b",
)


@cache
def _compile(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns))


def remarks(turn: str) -> list[Remark]:
    """Return the remarks in a user's turn; none if there are so many that it was pasted."""
    names = triggered_forms(turn)
    forms = [form for form in FORMS if form.name in names]
    matches = list(_remarks(turn, forms)) if forms else []
    return matches if len(matches) <= MOST_IN_A_TURN else []


def _remarks(turn: str, forms: Sequence[Form]) -> Iterator[Remark]:
    before = ""  # a sentence such as "No, wrong.", which makes the next one a correction
    for sentence, masked in sentences(turn):
        plain = before + masked.casefold().replace("’", "'")
        bare = plain[_aside(plain) :]
        before = f"{bare} " if _compile(WRONG).fullmatch(bare.rstrip(".!")) else ""
        if len(bare.split()) >= FEWEST_WORDS and not _compile(*REFUSED).match(bare):
            form = next((form for form in forms if _compile(*form.patterns).match(bare)), None)
            if form is not None:
                yield Remark(form.kind, title_of(sentence), sentence, form.name)


def _aside(text: str) -> int:
    """Return the length of the aside at the start."""
    start = _compile(ASIDE).match(text.casefold())
    return start.end() if start else 0


def title_of(sentence: str) -> str:
    """Return the sentence as a title, without its aside and a leading "no"."""
    title = sentence[_aside(sentence) :]
    if no := _compile(rf"{WRONG}[,.:;!–-]\s+(?=\S)").match(title.casefold()):
        title = title[no.end() :]
    return cut_title((title[:1].upper() + title[1:]).rstrip(" .!"), LONGEST_TITLE)
