"""Answers as short text, for models whose client shows them nothing else.

Whatever stands behind a `>` is a memory's own text, line by line, so that none can pass for two
memories or for a message of the server.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from recollect.ingest.saving import Saved
from recollect.memory_json import memory_json
from recollect.present import sentences
from recollect.present.explain import as_lines
from recollect.present.views import PointerView, PreviewView, ScanView, SnippetView
from recollect.present.visible import one_line, quoted, visible
from recollect.present.words import place_in_file
from recollect.types import Context, Memory, Response, Result
from recollect.vaults.known import HOME, FoundMemory

# As long as a scan's first words: enough to distinguish memories without a title.
HEADING = 120
OWN = f"In vault {HOME}:"


def response_text(response: Response, *, explain: bool) -> str:
    """Each result in a few lines, then what limits their worth."""
    lines: list[str] = []
    for place, result in enumerate(response, start=1):
        lines += _result(place, result, response, explain=explain)
    if not lines:
        empty = "The query is empty; memory_list browses."
        lines = ["No memory matches." if response.query.strip() else empty]
    return "\n".join([*lines, *_remarks(response)])


def _result(place: int, result: Result, response: Response, *, explain: bool) -> Iterator[str]:
    memory = result.memory
    expired = f", {result.validity}" if result.validity else ""
    named = f"{_named(memory, result.vault)}, score {result.score:.4g}{expired}"
    yield f"{place}. {named} > {_heading(memory)}"
    body = _shown(result)
    if body and (memory.title or response.view == "full"):
        yield quoted(body)
    if result.file is not None:
        yield f"   in {one_line(place_in_file(result.file))}"
    yield from (f"   {one_line(sentence)}" for sentence in sentences.others(result))
    if explain:
        yield from (f"   {name} {value:.6g} = {one_line(how)}" for name, value, how in
                    as_lines(result.explain))  # fmt: skip


def _remarks(response: Response) -> Iterator[str]:
    if doubt := sentences.doubt(response):
        yield doubt
    yield from sentences.understood(response)
    yield from map(one_line, response.notes)
    yield from (one_line(sentences.degraded(part, response)) for part in response.degraded)


def _shown(result: Result) -> str:
    """What the view shows of a result below its heading."""
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
            return _fields(result.memory)
    return " ".join(text.split())


def _fields(memory: Memory) -> str:
    """Every field that holds something."""
    fields = {name: value for name, value in memory_json(memory).items() if value}
    return "\n".join(
        f"{name}: {', '.join(value) if isinstance(value, list) else value}"
        for name, value in fields.items()
    )


def memories_text(memories: Sequence[FoundMemory]) -> str:
    return "\n\n".join(
        f"{_named(found.memory, found.vault)}\n{quoted(_fields(found.memory))}"
        for found in memories
    )


def context_text(context: Context) -> str:
    """Titles and texts, then how many more there are."""
    parts = [
        "\n".join(part for part in (_listed(memory), quoted(_body(memory))) if part)
        for memory in context.memories
    ]
    if parts:
        parts.insert(0, OWN)
    else:
        parts = ["No memory here yet." if not context.left_out else "Nothing fits max_tokens."]
    if context.left_out:
        parts.append(f"{sentences.over_budget(context.left_out)}; memory_search finds them")
    if response := context.response:
        parts += [one_line(sentences.degraded(part, response)) for part in response.degraded]
    return "\n\n".join(parts)


def _body(memory: Memory) -> str:
    """The text, unless the heading is the whole of it, and the context."""
    whole = memory.title or len(memory.text) > HEADING
    return "\n".join(part for part in (memory.text if whole else "", memory.context) if part)


def list_text(memories: Sequence[Memory], following: str | None) -> str:
    lines = [OWN, *map(_listed, memories)] if memories else ["No memory here."]
    return "\n".join([*lines, *([f"More: after={following}"] if following else [])])


# Outcome of a save → the sentence.
SAVED = {
    "added": "Saved {named}.",
    "updated": "Updated {named}.",
    "unchanged": "{named} says exactly this already; nothing changed.",
}
REPEATED = {
    "updated": "This repeats {named}; updated it instead of adding a second one.",
    "unchanged": "This repeats {named}; nothing new, so nothing was added.",
}


def saved_text(saved: Saved) -> str:
    sentence = (REPEATED if saved.repeated else SAVED)[saved.outcome]
    said = sentence.format(named=_named(saved.memory, HOME)) + redacted_text(saved)
    return f"{said}\n> {_heading(saved.memory)}"


def redacted_text(saved: Saved) -> str:
    """What was redacted, so that a model knows the secret is not kept; empty where nothing was."""
    if not saved.redacted:
        return ""
    from recollect.secrets.redaction import summary  # noqa: PLC0415  start-up time: rarely needed

    return f" {summary(saved.redacted)}."


def _listed(memory: Memory) -> str:
    return f"[{one_line(memory.id)}] > {_heading(memory)}"


def _named(memory: Memory, vault: str) -> str:
    return f"[{one_line(memory.id)}] in vault {one_line(vault)}"


def _heading(memory: Memory) -> str:
    text = " ".join(visible(memory.title or memory.text).split())
    return text if len(text) <= HEADING else f"{text[:HEADING]}…"
