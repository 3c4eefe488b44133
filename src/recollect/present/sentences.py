"""Text for people and models: safe characters, numbers and times, headings of memories, sentences
about a search. JSON has the raw values.

Control characters steer terminals. Bidirectional ones show text in another order than it is written
(the "Trojan Source" attack). Tag characters are invisible, but models read them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

from recollect.times import day, minute, validity
from recollect.types import Chain, Degraded, FilePlace, Memory, Response, Result, Use

STEERING = range(0x7F, 0xA0)  # JSON escapes those below U+0020 itself
BIDIRECTIONAL = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
TAGS = range(0xE0000, 0xE0080)
NAMED = {code: f"<U+{code:04X}>" for code in (*STEERING, *BIDIRECTIONAL, *TAGS)}
HIDING = frozenset(map(chr, NAMED))
PICTURES = {code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\t\n"}
SHOWN = NAMED | PICTURES | {0x7F: "␡"}
# `isprintable`, but invisible: fillers, an empty Braille cell, variation selectors.
BLANK = frozenset(
    (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0,
     *range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))
)  # fmt: skip
SEPARATORS = {ord(sign): "-" for sign in "·>"}  # those between the parts of a line
LABEL, LABEL_WORDS = 40, 2  # characters and words of a kind, a project or a tag
SHOWN_CHARACTER = re.compile(r"<U\+([0-9A-F]{4,5})>")
# The keys of JSON whose values, or keys of them, are labels.
LABELS = frozenset(("kind", "project", "tags", "type", "category", "topics"))
IDS = frozenset(
    ("id", "ids", "asked", "around", "history", "joined", "replaces", "same", "seems_replaced_by",
     "seems_to_replace", "superseded", "superseded_by", "target")
)  # fmt: skip


def visible(text: str) -> str:
    """Return the text with control characters as pictures, and other unsafe characters by name."""
    return text.translate(SHOWN)


def one_line(text: str) -> str:
    """Return visible text in one line: titles, ids and names of files may hold line breaks."""
    return visible(" ".join(text.splitlines()))


def quoted(text: str) -> str:
    """Return visible text with `> ` before every line, so that it is recognised as quoted."""
    return "\n".join(f"> {visible(line)}".rstrip() for line in text.splitlines())


def label(name: str) -> str:
    """Return a kind, a project or a tag for one line of text, so that it cannot pass for a sentence
    or for another part of the line. More than two words are joined; filters accept that too, since
    they ignore case and spaces."""
    shown = "".join(" " if each.isspace() else each for each in name if _shows(each))
    words = shown.translate(SEPARATORS).split()
    if len(words) > 1:
        words = [word.rstrip(".,:;!?") for word in words]
    if len(words) > LABEL_WORDS:
        words = ["".join(word[:1].upper() + word[1:] for word in words)]
    text = " ".join(words)
    return text if len(text) <= LABEL else f"{text[:LABEL]}…"


def shown_id(id: str) -> str:
    """Return an id with invisible characters by name, such as `<U+200B>`."""
    if id.isascii() and id.isprintable():  # the usual case
        return id
    return "".join(each if _shows(each) else f"<U+{ord(each):04X}>" for each in id)


def parse_shown_id(shown: str) -> str:
    """Return the id that `shown_id` was given."""
    return SHOWN_CHARACTER.sub(lambda found: chr(int(found[1], 16)), shown)


def as_data(value: Any, name: str = "") -> Any:
    """Return JSON for a model, with labels and ids made safe. `name`: the key of the value."""
    if isinstance(value, str):
        return label(value) if name in LABELS else shown_id(value) if name in IDS else value
    if isinstance(value, list | tuple):
        return [as_data(each, name) for each in value]
    if isinstance(value, dict):
        return {as_data(key, name): as_data(each, key) for key, each in value.items()}
    return value


def _shows(character: str) -> bool:
    """Return whether a character is visible or white space."""
    return (character.isprintable() or character.isspace()) and ord(character) not in BLANK


def visible_json(encoded: str) -> str:
    """Return the same JSON with unsafe characters as escapes."""
    if HIDING.isdisjoint(encoded):  # the usual case; translating is far slower
        return encoded

    def escape(character: str) -> str:
        return "\\u" + character.encode("utf-16-be").hex("|", 2).replace("|", "\\u")

    return encoded.translate({ord(each): escape(each) for each in HIDING})


HEADING = 120  # characters, as in the view `scan`: enough to tell memories without a title apart
AGES = (
    (timedelta(days=365), "year"),
    (timedelta(days=30), "month"),
    (timedelta(days=1), "day"),
    (timedelta(hours=1), "hour"),
    (timedelta(minutes=1), "minute"),
)


def age(moment: datetime, now: datetime) -> str:
    """Return a time relative to now: `3 days ago`, `in 2 months`, `just now`."""
    passed = now - moment
    for unit, name in AGES:
        count = abs(passed) // unit
        if count:
            amount = f"{count} {name}{'s' if count > 1 else ''}"
            return f"{amount} ago" if passed > timedelta(0) else f"in {amount}"
    return "just now"


def number(value: float) -> str:
    """Return a short score or weight: `0.6931`, `12.5`, `3`."""
    return f"{value:.4g}" if abs(value) >= 0.001 or value == 0 else f"{value:.2e}"


def counted(number: int, singular: str, plural: str = "") -> str:
    """Return a number with its noun: `1 memory`, `2 memories`."""
    many = plural or (singular[:-1] + "ies" if singular.endswith("y") else singular + "s")
    return f"{number:,} {singular if number == 1 else many}"


def use_text(use: Use, last: str) -> str:
    """Return `returned 12 times, opened 3, accepted 1; last 2 days ago`. `last`: the time."""
    times = counted(use.returned, "time")
    return f"returned {times}, opened {use.opened}, accepted {use.accepted}; last {last}"


def title_of(memory: Memory) -> str:
    """Return the title of a memory, or for a part of a file its headings (`Recipes › blend`), since
    its title is the path. Empty without either."""
    if memory.tier == "file" and memory.context:
        return " ".join(memory.context.split()).replace(" > ", " › ")
    return memory.title


def heading_line(memory: Memory) -> str:
    """Return the title of a memory, or the beginning of its text, in one safe line."""
    line = " ".join(visible(title_of(memory) or memory.text).split())
    return line if len(line) <= HEADING else f"{line[:HEADING]}…"


def about_line(
    memory: Memory, validity: str = "", vault: str = "", when: Callable[[datetime], str] = day
) -> str:
    """Return `decision · harbor-api · 2026-10-12 · expired 2026-11-01 · tokens-live-k3f9`. `vault`:
    its vault, if it is not the home's; `when`: formats times."""
    named = (label(memory.kind), label(memory.project), when(memory.updated_at))
    where = f"vault {label(vault)}" if vault else ""
    return " · ".join(filter(None, (*named, validity, where, shown_id(memory.id))))


def two_lines(
    memory: Memory, when: Callable[[datetime], str] = day, now: datetime | None = None
) -> str:
    """Return a memory for a model: its quoted title and the line about it. `now`: say whether it
    is expired or replaced."""
    state = state_of(memory, now) if now else ""
    return f"> {heading_line(memory)}\n{about_line(memory, state, when=when)}"


def state_of(memory: Memory, now: datetime) -> str:
    """Return `replaced by deploy-3` or `expired 2026-04-30`; empty for a valid memory."""
    link = memory.superseded_by
    return f"replaced by {shown_id(link)}" if link else validity(memory, now)


def state_json(memory: Memory, now: datetime) -> dict[str, object]:
    """Return the state as data: `expired` and `superseded_by`, if they apply."""
    expired = validity(memory, now).startswith("expired")
    link = memory.superseded_by
    return ({"expired": True} if expired else {}) | ({"superseded_by": link} if link else {})


def place_in_file(place: FilePlace, *, short: bool = False) -> str:
    """Return `notes/setup.md:14, Install > Linux` in one line: the matching line, as editors open
    it, and the headings; or `notes/setup.md:12-40` without a search. `short`: without headings, and
    with the last folders only."""
    last = f"-{place.last_line}" if place.last_line > place.first_line else ""
    lines = place.line or f"{place.first_line}{last}"
    under = f", {place.heading}" if place.heading and not short else ""
    path = "/".join(place.path.split("/")[-3:]) if short else place.path
    return " ".join(f"{path}:{lines}{under}".splitlines())


EVIDENCE = {
    "strong": "Strong evidence",
    "weak": "Weak evidence: these may not answer it",
    "none": "Probably not in your memories; these are the closest",
}
# Part of a search → its name for people.
PARTS = {
    "vault": "search",
    "vector": "search by meaning",
    "keyword": "search by words",
    "rerank": "reranking",
}
# How a saved memory is similar to another → the beginning of the sentence.
SIMILAR = {
    "seems to replace": "Seems to replace",
    "same words": "Same words as",
    "nearly the same words": "Nearly the same words as",
    "same meaning": "Same meaning as",
    "about the same thing": "About the same thing as",
}
LONGEST_SAID = 100  # characters of another memory's heading


def as_of(moment: datetime | None) -> str:
    """Return `As of 2026-10-01 12:00 UTC`; empty for the present."""
    return "" if moment is None else f"As of {minute(moment)}"


def evidence(response: Response) -> str:
    """Say whether the results answer the query; empty without results or a judgement."""
    return EVIDENCE[response.evidence] if response.evidence and response.results else ""


def understood(response: Response) -> list[str]:
    """Say what the search read in the query's words: a time, a kind, an order, exclusions."""
    return [f"Understood: {', '.join(response.understood)}"] if response.understood else []


def count_found(response: Response) -> int:
    """Return how many memories were found, including those not shown."""
    dropped = response.counts["dropped"]
    assert isinstance(dropped, dict)
    return len(response) + sum(dropped.values())


def not_shown(response: Response) -> str:
    """Return `61 more not shown`; empty if everything found is shown."""
    count = count_found(response) - len(response)
    return f"{count:,} more not shown" if count else ""


def others(result: Result) -> Iterator[str]:
    """Yield `says the same as deploy-2`, `replaces deploy-1 (2026-01-14)`, `replaced by deploy-3`:
    only links, not the ranking's guesses."""
    if result.same:
        yield f"says the same as {', '.join(shown_id(memory.id) for memory in result.same)}"
    newer = result.superseded_by
    for verb, memories in (
        ("replaces", result.replaces),
        ("replaced by", (newer,) if newer else ()),
    ):
        yield from (f"{verb} {shown_id(each.id)} ({day(each.updated_at)})" for each in memories)


def chain(chain: Chain) -> Iterator[str]:
    """Yield `Replaced by deploy-3 (2026-11-02): Deploys run on Buildkite` and `Replaces …` for the
    memories of a chain."""
    for verb, memories in (("Replaced by", chain.replaced_by), ("Replaces", chain.replaces)):
        for memory in memories:
            yield f"{verb} {memory.id} ({day(memory.updated_at)}): {_heading(memory)}"


def similar(memory: Memory, why: str) -> str:
    """Return how a saved memory is similar: `Seems to replace deploy-1: Deploys run on Jenkins`."""
    return f"{SIMILAR[why]} {memory.id}: {_heading(memory)}"


def _heading(memory: Memory) -> str:
    return " ".join((title_of(memory) or memory.text).split())[:LONGEST_SAID]


def took_part(part: Degraded, response: Response) -> bool:
    """Return whether an incomplete part of a search did some of its work."""
    if part.channel == "rerank":
        return bool(response.counts["reranked"])
    return part.channel in response.counts


def no_results(response: Response, browse: str) -> str:
    """Say why there are no results. `browse`: how to list memories without a query."""
    if not response.query.strip():
        return f"The query is empty. {browse}"
    late = (part.channel == "keyword" and not took_part(part, response)
            for part in response.degraded)  # fmt: skip
    return "Nothing was found within the time limit." if any(late) else "No memory matches."


def degraded(part: Degraded, response: Response) -> str:
    """Say what is missing, and why: `No search by meaning: …`, `The reranker read 8 of 20 …`."""
    if reach := part.reach:
        rest = "the rest keep" if reach.read else "they keep"
        read = f"{reach.read or 'none'} of {reach.candidates} results"
        return f"The reranker read {read} in time; {rest} their order."
    name = PARTS.get(part.channel)
    if name is None:
        return f"Without {part.channel}: {part.reason}"
    missing = f"Incomplete {name}" if took_part(part, response) else f"No {name}"
    return f"{missing}: {part.reason}"
