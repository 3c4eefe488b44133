"""Answers as short text, for models whose client shows them only text.

Each line of a memory's own text begins with `>`, so that it cannot pass for another memory or for a
message of the server.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from traceback import extract_tb
from typing import Any

from recollect.engine.browsing import Timeline, TimelineEntry
from recollect.engine.reading import MissingMemory
from recollect.engine.review import Review
from recollect.errors import RecollectError
from recollect.ingest.saving import REPLACES, Saved, SimilarMemory
from recollect.interfaces.mcp.brief import (
    FEWEST,
    TEXT_TOKENS,
    Part,
    estimate_tokens,
    fit,
    full_title,
    place_of,
)
from recollect.memory_json import memory_json
from recollect.present import sentences
from recollect.present.history import version_line
from recollect.present.response import PointerView, PreviewView, ScanView, SnippetView, as_lines
from recollect.present.sentences import (
    HEADING,
    about_line,
    as_data,
    counted,
    heading_line,
    label,
    one_line,
    quoted,
    shown_id,
    state_of,
    two_lines,
    visible,
)
from recollect.present.snippet import join_lines
from recollect.secrets.redaction import describe_counts
from recollect.store.history import Version
from recollect.times import day, minute, on_clock
from recollect.types import Memory, Response, Result
from recollect.vaults.known import HOME, FoundMemory

OWN = f"In vault {HOME}:"


def response_text(response: Response, *, explain: bool = False, brief: bool = False) -> str:
    """Return each result in a few lines, then remarks on the search. `brief`: ten results take at
    most 600 tokens."""
    titles = [full_title(result) for result in response]
    bodies = [shown_text(result) for result in response]
    about = [[*_about(result, explain)] for result in response]
    remarks = [*_remarks(response)]
    if then := sentences.as_of(response.as_of):
        remarks.insert(0, f"{then}.")
    if brief:
        lines = [line for lines in about for line in ("1. >", *lines, ">")]
        taken = estimate_tokens("\n".join([*lines, *remarks]))
        room = TEXT_TOKENS * max(len(titles), FEWEST) - taken
        titles, bodies = fit(titles, bodies, response.query, room)
    parts = zip(titles, about, bodies, strict=True)
    results = [_result(rank, *each) for rank, each in enumerate(parts, start=1)]
    if not results:
        results = [sentences.no_results(response, "memory_list browses.")]
    return "\n".join([*results, *remarks])


def _about(result: Result, explain: bool) -> Iterator[str]:
    """Yield the line below the title, then remarks on the result."""
    elsewhere = result.vault if result.vault != HOME else ""
    yield about_line(result.memory, result.validity, elsewhere)
    if place := place_of(result):
        yield f"in {one_line(place)}"
    yield from map(one_line, sentences.others(result))
    if explain:
        yield from (f"{name} {value:.6g} = {one_line(how)}" for name, value, how in
                    as_lines(result.explain))  # fmt: skip


def _result(rank: int, title: str, about: Sequence[str], body: str) -> str:
    """Return the lines of a result; without a title, its text comes first."""
    if not title:
        title, _, body = body.partition("\n")
    lines = [f"{rank}. > {visible(title)}", *about, *([quoted(body)] if body else [])]
    return "\n".join(lines)


def _remarks(response: Response) -> Iterator[str]:
    if evidence := sentences.evidence(response):
        yield evidence
    yield from filter(None, [sentences.not_shown(response)])
    yield from sentences.understood(response)
    yield from map(one_line, response.notes)
    for facet, counts in response.facets.items():
        values = [f"{label(name)} {count}" for name, count in counts.items()]
        yield from ([f"{facet}: {', '.join(values)}"] if values else [])
    yield from (one_line(sentences.degraded(part, response)) for part in response.degraded)


def shown_text(result: Result) -> str:
    """Return the text of a result below its heading, according to the view."""
    match result.shown:
        case ScanView(snippet=snippet):
            text = snippet
        case SnippetView(snippet=snippet):
            text = snippet or result.memory.text[:HEADING]
        case PreviewView(preview=preview):
            text = preview
        case PointerView(what=what, why=why, impact=impact):
            parts = (what, why and f"Why: {why}", impact and f"Impact: {impact}")
            text = " ".join(part for part in parts if part)
        case _:
            return fields_text(result.memory)
    passage = result.passage
    if passage and passage.field != "text":
        if passage.text not in text:
            text = f"{text}\n{passage.field}: {passage.text}"
        else:
            text = f"{passage.field}: {text}"
    return join_lines(text)


def fields_text(memory: Memory) -> str:
    """Return every field that is not empty, one per line."""
    fields = {name: value for name, value in as_data(memory_json(memory)).items() if value}
    return "\n".join(
        f"{name}: {', '.join(value) if isinstance(value, list) else value}"
        for name, value in fields.items()
    )


def memories_text(
    found: Sequence[FoundMemory],
    shown: Sequence[Memory | Part],
    missing: Sequence[MissingMemory],
    then: datetime | None,
) -> str:
    """Return each memory or its shown part, then a sentence on each unknown id."""
    texts = ["\n".join(_memory_lines(*each)) for each in zip(found, shown, strict=True)]
    gone = [one_line(each.sentence) for each in missing]
    return "\n\n".join([*([f"{sentences.as_of(then)}:"] if then else []), *texts, *gone])


def _memory_lines(found: FoundMemory, shown: Memory | Part) -> Iterator[str]:
    merged = f", which {shown_id(found.asked)} was merged into" if found.asked else ""
    yield f"{_name(found.memory, found.vault)}{merged}"
    yield quoted(fields_text(shown.shortened if isinstance(shown, Part) else shown))
    replaced, replaces = found.chain.replaced_by, found.chain.replaces
    for verb, memories in (("Replaced by", replaced), ("Replaces", replaces)):
        for each in memories:
            yield f"{verb} {shown_id(each.id)} ({day(each.updated_at)}) > {heading_line(each)}"
    if isinstance(shown, Part):
        yield one_line(shown.sentence)
        if shown.following and shown.headings:
            yield f"Its headings, each a part: > {one_line(' · '.join(shown.headings))}"


def history_text(versions: Sequence[Version], rows: Sequence[dict[str, Any]]) -> str:
    """Return a line for each change and each changed field. `rows`: the versions that fit."""
    lines = [f"History of [{shown_id(versions[0].memory.id)}]:"]
    for version, row in zip(versions, rows, strict=False):
        lines.append(one_line(version_line(version)))
        lines += [f"> {one_line(each)}" for each in row["differences"]]
    older = len(versions) - len(rows)
    return "\n".join([*lines, *([f"{counted(older, 'older version')} not shown"] if older else [])])


def review_text(found: Review) -> str:
    """Return each item with its reason, its choices and its memories."""
    lines = [OWN] if found.items else ["Nothing to review."]
    for item in found.items:
        proposal = f"; proposed: {item.proposed}" if item.proposed else ""
        lines.append(
            f"{item.id}: {one_line(item.why)} Choices: {', '.join(item.choices)}{proposal}"
        )
        lines += map(two_lines, item.memories)
    more = sum(found.counts.values()) - len(found.items)
    return "\n".join([*lines, *([f"{more} more not shown"] if more else [])])


def list_text(
    memories: Sequence[Memory], following: str | None, now: datetime, then: datetime | None
) -> str:
    """Return two lines per memory, which say if it is still valid at `now`, and how to read on."""
    rows = [two_lines(memory, now=now) for memory in memories]
    lines = [OWN, *rows] if rows else ["No memory here."]
    lines[0] = f"{sentences.as_of(then)}. {lines[0]}" if then else lines[0]
    return "\n".join([*lines, *([f"More: after={following}"] if following else [])])


# Outcome of a save → the sentence.
SAVED = {
    "added": "Saved {named}.",
    "updated": "Updated {named}.",
    "unchanged": "{named} says exactly this already.",
}
REPEATED = {
    "updated": "This repeats {named}; updated it instead of adding a second one.",
    "unchanged": "This repeats {named}; nothing new, so nothing was added.",
}


def saved_text(saved: Saved, similar: Sequence[SimilarMemory] = ()) -> str:
    """Return the outcome of a save, then similar memories."""
    sentence = (REPEATED if saved.repeated else SAVED)[saved.outcome]
    outcome = sentence.format(named=_name(saved.memory, HOME)) + redacted_text(saved)
    replaced = [f"It replaces {shown_id(id)}." for id in saved.superseded]
    lines = [outcome, f"> {heading_line(saved.memory)}", *replaced]
    for memory, why in similar:
        lines.append(f"{sentences.SIMILAR[why]} {shown_id(memory.id)} > {heading_line(memory)}")
    if similar and similar[0].why == REPLACES:
        old, new = shown_id(similar[0].memory.id), shown_id(saved.memory.id)
        lines.append(f"If it does: memory_update id={old} superseded_by={new}")
    return "\n".join(lines)


def timeline_text(found: Timeline) -> str:
    """Return a line for each event, oldest first; `=` marks the requested memory or time."""
    middle = found.around and TimelineEntry(found.at, "saved", found.around)

    def line(entry: TimelineEntry) -> str:
        memory, when = entry.memory, f"{on_clock(entry.at):%Y-%m-%d %H:%M} {entry.what}"
        state = state_of(memory, found.now)
        known = f"{shown_id(memory.id)} ({state})" if state else shown_id(memory.id)
        return f"{when} {known} > {heading_line(memory)}"

    lines = [
        *map(line, found.before),
        f"= {line(middle) if middle else minute(found.at)}",
        *map(line, found.after),
    ]
    return "\n".join([OWN, *lines])


def redacted_text(saved: Saved) -> str:
    """Tell a model which secrets were replaced; empty if none."""
    return f" {describe_counts(saved.redacted)}." if saved.redacted else ""


def _name(memory: Memory, vault: str) -> str:
    return f"[{shown_id(memory.id)}] in vault {one_line(vault)}"


# Errors

LOG = logging.getLogger("recollect.mcp")

# The engine's errors name commands, which a model cannot run: command → the equivalent tool.
COMMAND_TOOLS = {
    "list": "memory_list",
    "search": "memory_search",
    "show": "memory_retrieve",
    "history": "memory_retrieve with history=true",
    "save": "memory_save",
    "edit": "memory_update",
    "supersede": "memory_update with superseded_by",
    "forget": "memory_forget",
    "restore": "memory_forget with undo=true",
    "merge": "memory_forget with merge_into",
    "feedback": "memory_feedback",
    "review": "memory_review",
    "context": "memory_context",
}
COMMAND = re.compile(
    r"(?<!command )`recollect (?P<name>\w+)(?P<rest>[^`]*)`|: recollect (?P<last>\w+)(?P<end>.*)$"
)


def for_tools(sentence: str) -> str:
    """Replace each command in a sentence with its tool, or mark it as a command of the user."""
    return COMMAND.sub(_replacement, sentence)


def _replacement(found: re.Match[str]) -> str:
    name, rest = found["name"] or found["last"], found["rest"] or found["end"] or ""
    start = "" if found["name"] else ": "
    if name in COMMAND_TOOLS and "--from" not in rest:
        undone = " with undo=true" if "--undo" in rest else ""
        return f"{start}{COMMAND_TOOLS[name]}{undone}"
    return f"{start}the user's command `recollect {name}{rest}`"


def error_sentence(error: RecollectError) -> str:
    """Return an error as one line, in the words of tools."""
    return for_tools(" ".join(str(error).split()))


def log_unexpected(error: Exception) -> str:
    """Log an unexpected error and return a sentence for the client. Both leave out the error's
    text, which may quote a memory."""
    frames = extract_tb(error.__traceback__)
    place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "unknown place"
    kind = type(error).__name__
    LOG.error("unexpected %s at %s", kind, place)
    return for_tools(
        f"Recollect failed unexpectedly ({kind} at {place}); `recollect doctor` may say more."
    )
