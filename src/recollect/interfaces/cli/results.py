"""Search results, memories and explanations for people."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from recollect.interfaces.cli.output import (
    BOLD,
    CYAN,
    DIM,
    GREEN,
    YELLOW,
    marked,
    shortened,
    styled,
    width,
)
from recollect.interfaces.cli.screen import screen
from recollect.memory_json import memory_json
from recollect.present import sentences
from recollect.present.explain import as_lines, bar
from recollect.present.response import summary
from recollect.present.snippet import flowed, is_code
from recollect.present.views import PreviewView
from recollect.present.visible import visible
from recollect.present.words import age, counted, place_in_file, title_of, use_text
from recollect.types import Memory, Response, Result, Term, Use
from recollect.validity import validity
from recollect.vaults.known import HOME

LABELS = ((30, "excellent"), (20, "good"), (0, "weak"))
SHARE = 10  # characters of the bar beside a title
BESIDE = 44  # characters of an explanation's line besides the name and the reason
NARROWEST = 40  # a reason is not wrapped into less


def response_text(response: Response, now: datetime, *, explain: bool) -> str:
    """The results, best first, then what the search did."""
    lines = as_of_lines(response.as_of)
    for place, result in enumerate(response, start=1):
        lines += _result(place, result, response, now)
        lines += [*(explained(result.explain) if explain else ()), ""]
    if not response.results:
        empty = not response.query.strip()
        lines += [
            "The query is empty. To browse: recollect list" if empty else "No memory matches."
        ]
    return "\n".join([*lines, *_footer(response)])


def as_of_lines(moment: datetime | None) -> list[str]:
    """The head of what was asked of an earlier moment."""
    return [styled(sentences.as_of(moment), BOLD), ""] if moment else []


def _result(place: int, result: Result, response: Response, now: datetime) -> Iterator[str]:
    memory = result.memory
    heading = shortened(title_of(memory) or memory.text, width() - 20)
    match = styled(_match(result, response), GREEN)
    yield f"{styled(f'{place:>2}', DIM)}  {styled(heading, BOLD)}  {match}".rstrip()
    for line in _body(result, response):
        yield f"    {line}"
    elsewhere = f" · vault {visible(result.vault)}" if result.vault != HOME else ""
    yield f"    {styled(about(memory, now) + elsewhere, DIM)}"
    if result.file is not None:
        yield f"    {styled(visible(place_in_file(result.file)), DIM)}"
    for sentence in sentences.others(result):
        yield f"    {styled(visible(sentence), DIM)}"


def _body(result: Result, response: Response) -> Iterator[str]:
    memory = result.memory
    if response.view == "full":
        yield from memory_lines(memory)
        return
    if isinstance(result.shown, PreviewView):
        preview = result.shown.preview
        yield from (
            flowed(visible(preview)).splitlines()
            if is_code(preview)
            else [shortened(preview, 4 * width())]
        )
        return
    yield from passage_lines(result)
    if response.view == "pointer":
        for name in ("why", "impact"):
            if getattr(memory, name):
                yield f"{styled(name, CYAN)}  {shortened(getattr(memory, name), width() - 12)}"
        if memory.details:
            yield f"{styled('details', CYAN)}  recollect show {visible(memory.id)}"


def passage_lines(result: Result) -> Iterator[str]:
    """What matched, code line by line, behind the name of the field unless that is the text."""
    start = result.passage.text if result.passage else shortened(result.memory.text, 120)
    text = result.marked or start
    field = result.passage.field if result.passage else "text"
    named = f"{styled(field, CYAN)}  " if field != "text" else ""
    for line in flowed(text).splitlines():
        yield f"{named}{marked(line)}"
        named = ""


def _match(result: Result, response: Response) -> str:
    """How good the match is, compared with the best result: a bar, since the scores of recipes have
    no common scale. Previews show 0–100 and a word, as the `gnosis` recipe does."""
    shown = result.shown
    if not isinstance(shown, PreviewView) or result.score > 1:  # not every recipe's scores end at 1
        best = max(other.score for other in response)
        return bar(result.score, best, SHARE) if len(response) > 1 else ""
    hundred = 100 * result.score
    if not shown.verified:
        return f"{hundred:.0f} unverified"
    return f"{hundred:.0f} {next(word for least, word in LABELS if hundred >= least)}"


def about(memory: Memory, now: datetime) -> str:
    """Id, kind, project, validity, age and tags in one line."""
    parts = [memory.id, memory.kind, memory.project, memory.severity or ""]
    parts += ["pinned" if memory.tier == "core" else "", validity(memory, now)]
    parts += [age(memory.updated_at, now)]
    parts += [" ".join(f"#{tag}" for tag in memory.tags)]
    return " ".join(visible(" · ".join(part for part in parts if part)).split())


def memory_lines(memory: Memory, use: Use | None = None) -> Iterator[str]:
    """Every field that is set, long ones below their name, and how often it was of use."""
    for name, value in memory_json(memory).items():
        if not value:
            continue
        text = ", ".join(value) if isinstance(value, list) else str(value)
        lines = text.splitlines()
        if len(lines) > 1 or len(text) > width():
            yield styled(name, CYAN)
            yield from (f"  {visible(line)}" for line in lines)
        else:
            yield f"{styled(f'{name:<12}', CYAN)} {visible(text)}"
    if use is not None:
        yield f"{styled('used        ', CYAN)} {use_text(use)}"


def explained(term: Term) -> Iterator[str]:
    """The score as a tree: each part's value, a bar for its share, and the reason."""
    lines = list(as_lines(term))
    longest = max(len(name) for name, _, _ in lines)
    for name, value, reason in lines:
        share = bar(value, term.value)
        first, *more = _wrapped(visible(reason), width() - longest - BESIDE)
        yield (
            f"    {name:<{longest}}  {value:>10.6f}  {styled(f'{share:<24}', GREEN)}"
            f"  {styled(first, DIM)}".rstrip()
        )
        yield from (f"{'':<{longest + BESIDE}}{styled(line, DIM)}" for line in more)


def _wrapped(reason: str, room: int) -> list[str]:
    """The reason in lines that fit a terminal; in a pipe it is one line."""
    if not screen().terminal or len(reason) <= max(room, NARROWEST):
        return [reason]
    from textwrap import wrap  # noqa: PLC0415  start-up time: rarely needed

    return wrap(reason, max(room, NARROWEST))


def _footer(response: Response) -> Iterator[str]:
    channels = ", ".join(
        f"{name} {count:,}"
        for name, count in response.counts.items()
        if isinstance(count, int) and count and name not in ("pool", "reranked", "returned")
    )
    parts = [counted(len(response), "result"), f"recipe {response.recipe}"]
    parts += [f"found by {channels}"] if channels else []
    parts.append(f"{response.timings_ms['total']:.1f} ms")
    if evidence := sentences.evidence(response):
        yield styled(evidence, GREEN if response.evidence == "strong" else YELLOW)
    yield styled(" · ".join(parts), DIM)
    for sentence in sentences.understood(response):
        yield styled(f"{sentence} (--literal ignores it, --ignore a part of it)", DIM)
    if response.view == "preview":
        yield styled(summary(response), DIM)
    if more := sentences.not_shown(response):
        yield styled(more, DIM)
    for note in response.notes:
        yield styled(visible(note), DIM)
    for part in response.degraded:
        yield styled(visible(sentences.degraded(part, response)), YELLOW)
