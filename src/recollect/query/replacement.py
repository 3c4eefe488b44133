"""Which memories seem to be replaced by which: of two statements about one thing, the later one.

A belief drawn from words, dates and vectors, never written into the vault. `benchmarks/
replacements.py` measures how often it is right.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cached_property

from msgspec.structs import replace

from recollect.query.change import (
    ADDRESS,
    ADVERBS,
    BESIDE,
    CHANGED_TO,
    COPULAS,
    HAPPENED,
    NO_FACT,
    USES,
    VERBS,
    changed_thing,
    ended,
    found,
    role,
    subject_and_value,
    unspaced_subject,
)
from recollect.query.sameness import ALIKE as SAME
from recollect.query.sameness import FILLERS, Wording
from recollect.query.subwords import UNSPACED
from recollect.times import validity
from recollect.types import Memory

# Kinds that tell of what happened, was thought or is to be done: only one that names in its title
# what it replaces does so.
NO_STATEMENTS = frozenset(
    "bug incident outage note learning lesson meeting session report retro journal log code "
    "snippet question idea todo task event review talk summary result runbook guide howto "
    "recipe".split()
)
# Words of a title that tell nothing of its subject, as stems.
EMPTY = FILLERS | frozenset(
    "we our my us me they he she now sinc no longer not onli new all also "
    "der die das ist sind ein eine und auf zu von im am jetzt seit nicht mehr sondern "
    "le la les de du des un une est et à au ne plu desormai el los las es en y ya ahora "
    # Articles and possessives of more languages: what follows is the subject.
    "il lo gli i una uno mio nostro nostra o um uma meu minha nosso nossa het een mijn onz "
    "ein mein unser mon ma notr mi nuestro nuestra min mitt ett den det мой моя моё мои наш наша "
    "наше наши ο η το οι τα".split()
)
SENTENCE_END = r"(?<=[.!?])\s|(?<=[。！？])"
ARTICLES = frozenset(("the", "our", "my", "a"))
# What numbers the entries of a series: a date, or a number behind a word such as "session".
DATED = (
    r"\b(?:19|20)\d\d\b|\b\d{1,2}\.? (?:jan|feb|mar|apr|may|mai|jun|jul|aug|sep|o[ck]t|nov|de[cz])"
    r"|\b(?:january|february|march|april|june|july|august|september|october|november|december) \d"
    r"|\b(?:session|chapter|part|week|day|sprint|episode|meeting|lesson|issue|ticket|incident|adr"
    r"|version|release|step|question|page|turn|round|entry|no\.?|kapitel|teil|woche|tag) \d+"
)
# A title of a date and at most one other word tells who spoke, or which entry it is, and names no
# subject: "user, March 12, 2026 (Thu) 17:50".
DAY = re.compile(
    r"(?:19|20)\d\d|(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?"
    r"|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
    r"|(?:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?)",
    re.IGNORECASE,
)
# Cosines of the bundled embedder. Two texts about different things have 0.4 to 0.6.
LEAST = 0.5  # whatever else is known
ABOUT_ALIKE = 0.55
ALIKE = 0.67
VERY_ALIKE = 0.8
# So much of the shorter head must be in the longer, in the same order, and so many words.
SHARE = 0.5
FEWEST = 2
# A fact fits into one short sentence; a longer one tells several things, or a story.
MOST = 16

Tokens = Callable[[str], list[str]]


class Statement:
    """A memory as the rule reads it: its head (the title, or the first sentence) and its words."""

    def __init__(self, memory: Memory, tokens: Tokens) -> None:
        self.memory = memory
        self._tokens = tokens

    def stems(self, text: str) -> list[str]:
        """The stems in order. Scripts without spaces are read by the character."""
        if not text.isascii():
            text = re.sub(f"([{UNSPACED}])", r" \1 ", text)
        return self._tokens(text)

    def telling(self, text: str) -> list[str]:
        """The stems that carry meaning, in order."""
        return [stem for stem in self.stems(text) if stem not in EMPTY]

    @cached_property
    def title(self) -> str:
        """The memory's title; empty where that is a label."""
        words = re.findall(r"\w+", self.memory.title)
        others = [word for word in words if not word.isdigit() and not DAY.fullmatch(word)]
        dated = any(map(DAY.fullmatch, words))
        return "" if dated and len(others) < FEWEST else self.memory.title

    @cached_property
    def head(self) -> str:
        return self.title or re.split(SENTENCE_END, self.memory.text, maxsplit=1)[0]

    @cached_property
    def body(self) -> Statement:
        """The same without its title."""
        return Statement(replace(self.memory, title=""), self._tokens)

    @cached_property
    def whole(self) -> str:
        return f"{self.title}. {self.memory.text}" if self.title else self.memory.text

    @cached_property
    def head_words(self) -> list[str]:
        """What the head tells, without the project's name: every memory may begin with it."""
        words, project = self.telling(self.head), set(self.stems(self.memory.project))
        return [word for word in words if word not in project] or words

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(self.stems(self.whole))

    @cached_property
    def wording(self) -> Wording:
        return Wording.of(self.stems(self.memory.title), self.stems(self.memory.text))

    @cached_property
    def tags(self) -> frozenset[str]:
        return frozenset(self.stems(" ".join(self.memory.tags)))

    @cached_property
    def ended(self) -> tuple[frozenset[str], frozenset[str]]:
        """The words that it says no longer hold: anywhere, and in the head."""
        named = [(place, self.telling(text)) for place, text in ended(self.whole)]
        in_head = (word for place, words in named if place < len(self.head) for word in words)
        return frozenset(word for _, words in named for word in words), frozenset(in_head)

    @cached_property
    def states(self) -> bool:
        """Whether it states a fact. Of a text without a title the first sentence must be short
        and half of it, and all of it speak to nobody: all else is talk, or a story."""
        if "?" in self.head or "!" in self.head:
            return False
        if self.title:
            return True
        text = self.memory.text
        brief = 2 * len(self.head) >= len(text) and len(self.head_words) <= MOST
        return brief and "?" not in text and not found(ADDRESS, text)

    @cached_property
    def is_fact(self) -> bool:
        """Whether it says what is: neither a plan nor an addition."""
        return not (found(NO_FACT, self.whole) or found(BESIDE, self.head))

    @cached_property
    def happened(self) -> bool:
        return found(HAPPENED, self.head) is not None

    @cached_property
    def subject(self) -> list[str]:
        """What its head is said of; empty where nothing divides the head."""
        return self.telling(self._divided[0])

    @cached_property
    def value(self) -> str:
        """What its head says of the subject."""
        return self._divided[1]

    @cached_property
    def _divided(self) -> tuple[str, str]:
        return subject_and_value(self.head) or ("", "")

    @cached_property
    def verb(self) -> re.Match[str] | None:
        """The verb of change in its head."""
        return found(VERBS, self.head)

    @cached_property
    def changed(self) -> bool:
        """Whether its head says that something changed."""
        return bool(self.verb or found(ADVERBS, self.head))

    @cached_property
    def dates(self) -> set[str]:
        return set(re.findall(DATED, self.head.lower()))


def replaced_by(
    memories: Iterable[Memory],
    cosines: Mapping[tuple[str, str], float],
    tokens: Tokens,
    now: datetime,
) -> dict[str, str]:
    """For each memory that seems to be replaced by another of them the id of that one, which is not
    replaced itself. One that does not hold at `now`, or was not yet known, replaces nothing."""
    known = sorted((memory for memory in memories if memory.updated_at <= now), key=_age)
    statements = {memory.id: Statement(memory, tokens) for memory in known}
    replaced: dict[str, str] = {}
    for newer in reversed(known):
        if validity(newer, now):
            continue
        for older in known:
            if older is newer:
                break
            cosine = cosines.get((older.id, newer.id), cosines.get((newer.id, older.id), 0.0))
            if older.id not in replaced and replaces(
                statements[older.id], statements[newer.id], cosine
            ):
                replaced[older.id] = replaced.get(newer.id, newer.id)
    for id, newer_id in tuple(replaced.items()):
        for memory in known:
            later = _comparable(memory, statements[newer_id].memory)
            if later and statements[memory.id].wording.says(statements[id].wording, SAME):
                replaced.setdefault(memory.id, newer_id)  # it says the same as the replaced one
    return replaced


def replaces(older: Statement, newer: Statement, cosine: float) -> bool:
    """Whether the newer seems to state now what the older stated before."""
    if cosine < LEAST or not _comparable(older.memory, newer.memory):
        return False
    head = set(older.head_words)
    if not head & (newer.words | newer.tags) or not older.states or not newer.states:
        return False
    # Few pairs come so far that the words which speak against it need to be looked for.
    return _seems_to_replace(older, newer, head, cosine) and newer.is_fact


def _seems_to_replace(older: Statement, newer: Statement, head: set[str], cosine: float) -> bool:
    anywhere, in_head = newer.ended
    if in_head and not in_head & (older.words | older.tags):
        return False  # it says what it replaces, and that is something else
    events = not NO_STATEMENTS.isdisjoint((older.memory.kind, newer.memory.kind))
    if named := head & (in_head if events else anywhere):
        return not _only_qualifies(older, named)
    if events or older.memory.updated_at.date() == newer.memory.updated_at.date():
        return False
    if newer.happened:
        return False
    if _changed(older, newer, cosine):
        return True
    if _series(older, newer):
        return False
    if _another_value(older, newer, cosine):
        return True
    # A title may only name the subject; what is said of it stands below.
    if cosine < VERY_ALIKE or newer.body.happened:
        return False
    both = older.body.states and newer.body.states
    return both and _another_value(older.body, newer.body, cosine)


def _age(memory: Memory) -> tuple[datetime, str]:
    return memory.updated_at, memory.id


def _comparable(older: Memory, newer: Memory) -> bool:
    together = (older.project, older.space) == (newer.project, newer.space)
    # What a file says now stands in the file.
    files = "file" in (older.tier, newer.tier)
    return together and not files and older.updated_at < newer.updated_at


def _only_qualifies(older: Statement, named: set[str]) -> bool:
    """Whether what ended only qualifies the older's subject, as in `RabbitMQ dashboards are in
    Grafana`: the end of RabbitMQ is no news of where they are."""
    words = re.findall(r"[^\s:,;.]+|:", older.head)
    first, *rest = [word for word in words if word.lower() not in ARTICLES] or [""]
    if len(rest) < 2 or not named.intersection(older.stems(first)):
        return False
    noun = older.telling(rest[0])
    follows = COPULAS.intersection(word.lower() for word in rest[1:3])
    return bool(noun) and rest[0].lower() not in COPULAS and noun[0] not in named and bool(follows)


def _another_value(older: Statement, newer: Statement, cosine: float) -> bool:
    """Whether both say the same of the same thing, but for one value."""
    if older.head_words == newer.head_words:
        return False
    if _begin_alike(older, newer) and cosine >= ALIKE:
        shared, differing = _compared(older.head_words, newer.head_words)
        if differing == 1 and _enough(shared, older, newer):
            return True
    if not older.subject or older.subject != newer.subject or older.value == newer.value:
        return False
    return _of_a_kind(older.value, newer.value)


def _changed(older: Statement, newer: Statement, cosine: float) -> bool:
    """Whether the newer says that something changed, which is what the older is about."""
    if not newer.changed:
        return False
    if _same_role(older, newer):
        return True
    shared, _ = _compared(older.head_words, newer.head_words)
    subject = older.head_words[0]
    # The text of the newer tells what there was before, as in `Neovim broke once too often`.
    former = set(older.head_words) & (newer.words - set(newer.head_words))
    mentioned = bool(former) and cosine >= (ABOUT_ALIKE if older.tags & newer.tags else ALIKE)
    if not newer.verb:
        return mentioned or (
            _enough(shared, older, newer) and subject in newer.head_words and cosine >= ALIKE
        )
    if _enough(shared, older, newer) and (_begin_alike(older, newer) or cosine >= ALIKE):
        return True
    before, behind = changed_thing(newer.head, newer.verb)
    thing = newer.telling(before) or newer.telling(behind)
    if thing and thing[0] not in older.words | older.tags:
        return False
    return mentioned or (subject in newer.head_words and cosine >= ABOUT_ALIKE)


def _same_role(older: Statement, newer: Statement) -> bool:
    """Whether the older says what it uses something as (`I use Neovim as my editor`) and the newer,
    or its tags, that another thing took that role. Without a role nothing tells whether two names
    are of one kind: cosines do not."""
    if not (found(USES, older.head) and found(CHANGED_TO, newer.head)):
        return False
    before, now = (each.telling(role(each.head)) for each in (older, newer))
    if not before or not now:
        return before[-1:] != [] and before[-1] in newer.tags
    return set(now) <= set(before)


def _series(older: Statement, newer: Statement) -> bool:
    """Whether they are two entries of a series."""
    return bool(older.dates and newer.dates and older.dates != newer.dates)


def _begin_alike(older: Statement, newer: Statement) -> bool:
    """Whether both begin with the same word: that is their subject, or begins it."""
    alike = older.head_words[:1] == newer.head_words[:1]
    return alike and unspaced_subject(older.head) == unspaced_subject(newer.head)


def _compared(one: Sequence[str], other: Sequence[str]) -> tuple[int, int]:
    """How many words both have in the same order, and in how many places they have others."""
    from difflib import SequenceMatcher  # noqa: PLC0415  start-up time

    parts = SequenceMatcher(None, one, other, autojunk=False).get_opcodes()
    shared = sum(end - start for tag, start, end, _, _ in parts if tag == "equal")
    return shared, sum(tag == "replace" for tag, *_ in parts)


def _enough(shared: int, older: Statement, newer: Statement) -> bool:
    shorter = min(len(older.head_words), len(newer.head_words))
    return shared >= SHARE * shorter and shared >= FEWEST


def _of_a_kind(one: str, other: str) -> bool:
    """Whether both values begin with a number, or with a name."""
    return bool(one and other) and (
        (one[0].isdigit() and other[0].isdigit()) or (one[0].isupper() and other[0].isupper())
    )
