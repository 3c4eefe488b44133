"""What a text says of a change: that there was one, what it ended, what it was about.

Words of English, German, French, Spanish and Russian, and a few of Chinese, Japanese and Korean.
"""

from __future__ import annotations

import re

from recollect.query.subwords import UNSPACED

# Behind these stands what is no longer so: "replaces X", "switched from X", "no longer X".
ENDS = (
    r"replac(?:es?|ed|ing)|supersed(?:es?|ed|ing)|instead of|rather than|no more"
    r"|no longer(?: use[sd]?| need(?:s|ed)?| go(?:es)? to| gets?)?|(?:took|takes?) over from"
    r"|drop(?:s|ped)|stop(?:s|ped)|quit|sold|cancell?ed|abandoned|away from|out of"
    r"|(?<=we )left|(?<=have )left|(?<=has )left|(?<=, )not"
    r"|(?:mov\w+|switch\w*|chang\w+|migrat\w+|went|convert\w*|upgrad\w+)\b[^.;:!?\n]*? from"
    r"|umstieg von|(?:umgestiegen|gewechselt|umgezogen) von|ersetz(?:t|en)|statt|nicht mehr|kein\w*"
    r"|remplac\w+|au lieu de|ne \w+ plus|(?:pass|migr|chang)\w+ de"
    r"|reemplaz\w+|sustituy\w+|en (?:vez|lugar) de|ya no(?: \w+ a| \w+)?|(?:cambi|migr)\w+ de"
    r"|переш\w+ с|вместо|больше не|заменил\w*"
)
# Before these stands what is no longer so: "X is gone", "X was switched off".
ENDED = (
    r"(?:(?:was|were|has been|have been|has|have)\s+(?:deleted|removed|dropped|ended|left)"
    r"|(?:(?:is|are|was|were|has been|have been|has|have|ist|sind|wurden?|est|sont|es|fue)\s+)?"
    r"(?:gone|replaced|abolished|switched off|cancell?ed|retired|deprecated|read-only|no longer"
    r"|abgeschaltet|gekündigt|abgeschafft|ersetzt|résiliée?|remplacée?|supprimée?|cancelad[oa]"
    r"|отключ\w+))"
)
EAST_ASIAN_FROM = r"从(.{1,8}?)(?:迁移|改|换|转)|(\w{2,12}?)から\w{1,12}に(?:移行|変更|切)"
UNTIL = r"(?:to|by|with|into|and|auf|zu|durch|und|à|par|a|por|на)\b"
WORD = r"(?:[^\s.,;:!?]|[.,:](?=\S))+"
BEHIND = rf"\b(?:{ENDS})\s+((?:(?!{UNTIL}){WORD}\s*){{1,4}})"
BEFORE = rf"\b{ENDED}\b"
# A text that holds none of these is not searched: they are found much quicker than the patterns.
HINTS = (
    "replac supersed instead rather more longer over drop stop quit sold cancel abandon away "
    "out left not from gone abolish off retired deprecat read-only delet remov ended umst umge "
    "gewechs ersetz statt nicht kein abge gekünd remplac lieu plus de résili supprim reempl "
    "sustit vez lugar ya cancela переш вместо больше замен отключ 从 から"
).split()
FEW = 5  # words: what ended stands no further away

# Verbs of change, and what is said in their place.
VERBS = (
    r"\b(?:replac\w+|supersed\w+|switch(?:ed|es)|mov(?:ed|ing)|migrated|changed|became|took over"
    r"|dropped|postponed|brought forward|raised|lowered|cut|reduced|increased|extended|shortened"
    r"|went (?:up|down|from)|upgraded|stopped|quit|sold|left|cancell?ed|abolished|renamed|rewrote"
    r"|rewritten|ported|converted|no longer|no more|instead of"
    r"|gewechselt|umgestiegen|umgezogen|umstieg|ersetzt|erhöht|gesenkt|verlegt|geändert|nicht mehr"
    r"|statt|remplac\w+|passée?s?|changé|déménagé|ne \w+ plus|au lieu"
    r"|cambi\w+|reemplaz\w+|sustitu\w+|mudamos|pasó a|ya no|en (?:vez|lugar) de"
    r"|переш\w+|переех\w+|заменил\w*|больше не|вместо)\b"
    r"|改为|改成|迁移|换成|不再|取代|変更|移行|切り替え|乗り換え|代わりに|변경|바꾸|바뀌|옮겼|이전했|대신"
)
# Words that say that something was otherwise before, and not what.
ADVERBS = (
    r"\b(?:now|any ?more|new|since|from now on|instead|gone|jetzt|nun|seit|neue[rns]?|désormais"
    r"|maintenant|depuis|nouve(?:au|lle)|ahora|desde|nuev[oa]|теперь|нов(?:ый|ая|ое))\b"
    r"|现在|今は|이제"
)
# Somebody uses something; the next is what for, as in "I use Neovim as my editor".
USES = (
    r"^(?:(?:i|we|ich|wir|je|nous)\s+)?(?:us(?:e|es|ing)|work with|nutzen?|benutzen?|verwenden?"
    r"|utilis(?:e|ons))\b"
)
ROLE = (
    r"\b(?:as|als|comme)\s+(?:(?:my|our|the|an?|meine?n?|unsere?n?|mon|ma|notre)\s+)?([^.,;:!?]+)"
)
# The change alone, and what it led to: "Switched to Zed".
CHANGED_TO = (
    r"^(?:(?:i|we)\s+)?(?:have\s+)?(?:switched|moved|changed|migrated)(?:\s+over)?\s+to\b"
    r"|^(?:umgestiegen|gewechselt|umstieg)\s+auf\b|^passée?s?\s+à\b"
)
# What is no change yet, or will not be one, or is told of one.
NO_FACT = (
    r"\?|\b(?:ideas?|maybe|perhaps|try|tried|trial|think(?:ing)? about|consider\w*|would like|wish"
    r"|plan(?:s|ned|ning)? (?:to|for)|heard|might|could we|(?:some|one) day|wonder\w*"
    r"|decided against|reject\w*|stays? with|question|why|how the|lessons?"
    r"|today|yesterday|this (?:morning|week)|vielleicht|idee|überleg\w*|peut-être|quizás)\b"
)
BESIDE = r"\b(?:still|as well|also|too|another|auch|noch|aussi|encore|también|todavía)\b"
# Who is spoken to.
ADDRESS = r"\b(?:you|your|yours|thanks|hey|hi|hello|wow|du|dein\w*|tu|vous|votre|tú|usted|ты|вы)\b"
# Something that happened once and can happen again: of two, neither replaces the other.
HAPPENED = (
    r"^(?:\w+\s)?(?:fixed|deployed|ordered|watched|visited|bought|met|read|finished|ran|went|loved"
    r"|saw|took|signed|started)\b|\breleased\b"
)
# Where the subject ends and what is said of it begins.
COPULA = (
    r"\s*:\s+|\s(?:is|are|ist|sind|est|sont|es|son)\s"
    r"(?:(?:now|jetzt|the|a|my|our|at|in|by|of|de)\s)*"
)
# The same in scripts without spaces; a name in Latin letters or a number is said of something, too.
UNSPACED_COPULA = r"[はが是在为為：:A-Za-z0-9]|คือ|อยู่|เป็น|[은는이가]\s"
COPULAS = frozenset(": is are was were has have of ist sind hat haben est sont es son".split())


def found(pattern: str, text: str) -> re.Match[str] | None:
    """Where the words stand first, in any case."""
    return re.search(pattern, text, re.IGNORECASE)


def ended(text: str) -> list[tuple[int, str]]:
    """What the text says is no longer so, each with its place."""
    lower = text.lower()
    if not any(hint in lower for hint in HINTS):
        return []
    named = [(match.start(1), match[1]) for match in re.finditer(BEHIND, text, re.IGNORECASE)]
    for match in re.finditer(BEFORE, text, re.IGNORECASE):
        clause = re.split(r"[.,;:!?]\s", text[: match.start()])[-1]
        named.append((match.start(), " ".join(clause.split()[-FEW:])))
    if not text.isascii():
        named += [(each.start(), each[1] or each[2]) for each in re.finditer(EAST_ASIAN_FROM, text)]
    return named


def changed_thing(head: str, verb: re.Match[str]) -> tuple[str, str]:
    """What stands before a verb of change, and what stands behind it up to what it became."""
    behind = re.split(rf"\b(?:from|in|von|de|с|{UNTIL[3:]}|[:;,]", head[verb.end() :], maxsplit=1)
    return head[: verb.start()], behind[0]


def role(head: str) -> str:
    """What something is used as; empty where the head says nothing of it."""
    named = found(ROLE, head)
    return named[1] if named else ""


def subject_and_value(head: str) -> tuple[str, str] | None:
    """`The office is at Hafenplatz 4` in two; None where nothing divides it. A clause that says the
    change alone, as in `We have moved: the office is …`, is left out."""
    parts = re.split(COPULA, head, maxsplit=1)
    if len(parts) == 2 and found(VERBS, parts[0]):
        parts = re.split(COPULA, parts[1], maxsplit=1)
    return (parts[0], parts[1]) if len(parts) == 2 else None


def unspaced_subject(head: str) -> str:
    """What a head in a script without spaces is about; empty where it has another script. There
    words are characters, and one that two heads begin with alike tells nothing."""
    if not re.match(f"[{UNSPACED}]", head):
        return ""
    return re.split(UNSPACED_COPULA, head, maxsplit=1)[0]
