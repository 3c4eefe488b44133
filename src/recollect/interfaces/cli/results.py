"""Search results, memories and explanations for people."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial

from msgspec.structs import replace

from recollect.interfaces.cli.layout import (
    TABLE,
    MarkedText,
    count_cells,
    highlight,
    lay_out,
    line_spans,
    link_to,
    shorten,
    width,
    wrap_sentence,
    wrap_text,
)
from recollect.interfaces.cli.output import BOLD, CYAN, DIM, GREEN, YELLOW, paint, screen
from recollect.memory_json import memory_json
from recollect.present import sentences
from recollect.present.response import BAR, PreviewView, as_lines, bar, in_words, summary
from recollect.present.sentences import (
    age,
    counted,
    heading_line,
    place_in_file,
    title_of,
    use_text,
    visible,
)
from recollect.present.snippet import is_code
from recollect.recipes.base import about_part
from recollect.times import minute, validity
from recollect.types import TIMES, Memory, Response, Result, Span, Term, Use
from recollect.vaults.known import HOME

LABELS = ((30, "excellent"), (20, "good"), (0, "weak"))
SHARE = 10  # characters of the bar next to a title
BESIDE = 44  # characters of a full explanation's line without the name and the reason
NARROWEST = 40  # minimum width of a reason
MOST_LINES = 4  # lines of a result: heading, passage and metadata; the passage gets the rest
SHORTEST_ID = 12  # cells of an id in a narrow line
INDENT = "    "
GUTTER = "│ "  # before code
CUT = ("…", "...")  # how a passage begins that is not the beginning of its text

When = Callable[[datetime], str]


def time_format(exact: bool, now: datetime) -> When:
    """Return a function that formats times: `3 days ago`, or exactly."""
    return minute if exact else partial(age, now=now)


def response_text(
    response: Response,
    now: datetime,
    *,
    explain: str = "",
    dates: bool = False,
    shown: int | None = None,
    empty: bool = False,
) -> str:
    """Return the results, best first, and a footer about the search. `explain`: `words` or `full`;
    `dates`: exact ones; `shown`: the number of results, of which the others are only counted;
    `empty`: the vault has no memories."""
    lines, when = as_of_lines(response.as_of), time_format(dates, now)
    explained = {"": lambda term: (), "words": reason_lines, "full": score_tree}[explain]
    for place, result in enumerate(response.results[:shown], start=1):
        lines += _result(place, result, response, now, when)
        lines += [*explained(result.explain), ""]
    if empty:
        lines.append("This vault is empty. To save: recollect save TEXT")
    elif not response.results:
        lines.append(sentences.no_results(response, "To browse: recollect list"))
    folded = len(response.results[shown:]) if shown else 0
    if folded:
        lines += [paint(f"{counted(folded, 'weaker result')}: --all", DIM), ""]
    return "\n".join([*lines, *_footer(response, folded)])


def as_of_lines(moment: datetime | None) -> list[str]:
    """Return the heading of results as of an earlier time."""
    return [paint(sentences.as_of(moment), BOLD), ""] if moment else []


def inner_width() -> int:
    """Return the width of an indented line in cells."""
    return width() - len(INDENT)


def draw_bar(value: float, largest: float, length: int) -> str:
    """Return a bar, padded to `length`, after two spaces; "" in a pipe."""
    if not screen().terminal:
        return ""
    return "  " + paint(f"{bar(value, largest, length):<{length}}", GREEN)


def _result(
    place: int, result: Result, response: Response, now: datetime, when: When
) -> Iterator[str]:
    match = _match_bar(result, response)
    heading, passage = _heading(result, width() - len(INDENT) - 2 - count_cells(match))
    yield f"{paint(f'{place:>2}', DIM)}  {heading}  {paint(match, GREEN)}".rstrip()
    below = [*_place_line(result)]
    body = _body(result, response, passage, MOST_LINES - 2 - len(below))
    if response.view == "full":
        body = memory_lines(result.memory, when)
    yield from (f"{INDENT}{line}" for line in body)
    more = f" · vault {result.vault}" if result.vault != HOME else ""
    more += " · with details" if response.view == "pointer" and result.memory.details else ""
    yield INDENT + paint(about_line(result.memory, now, when, more), DIM)
    yield from (f"{INDENT}{line}" for line in below)


def _heading(result: Result, most: int) -> tuple[str, MarkedText]:
    """Return a result's heading and its matching passage. Without a title, the heading is the
    beginning of the passage."""
    title = title_of(result.memory)
    start = result.passage.text if result.passage else result.memory.text
    passage = MarkedText.of(result.marked or start or title)
    # A memory that is only a title continues below, too, unless its tags matched.
    titled = title and (result.memory.text or passage.text != title)
    if (
        titled
        or _matched_field(result) != "text"
        or passage.text.startswith(CUT)
        or is_code(passage.text)
    ):
        return paint(shorten(heading_line(result.memory), most), BOLD), passage
    passage = passage.on_one_line()
    first = line_spans(passage.text, most)[0]
    rest = Span(min(first.end + 1, len(passage.text)), len(passage.text))
    return highlight(passage.part(first), BOLD), passage.part(rest)


def _matched_field(result: Result) -> str:
    """Return the field that the passage is from."""
    return result.passage.field if result.passage else "text"


def _place_line(result: Result) -> Iterator[str]:
    """Yield one line with its place in a file and what other memories say about it, if any."""
    others = " · ".join(sentences.others(result))
    if result.file is None:
        if others:
            yield paint(shorten(others, inner_width()), DIM)
        return
    where = place_in_file(result.file)
    if count_cells(visible(where)) > inner_width():  # a path's end says more than its beginning
        where = place_in_file(replace(result.file, heading=""))
        where = where if len(where) <= inner_width() else "…" + where[1 - inner_width() :]
    shown = shorten(f"{where} · {others}" if others else where, inner_width())
    yield link_to(paint(shown, DIM), result.file.path if result.vault == HOME else "")


def _body(result: Result, response: Response, passage: MarkedText, most: int) -> Iterator[str]:
    """Yield the matching passage, after its field's name unless that is the text, and for a pointer
    the memory's reason."""
    memory, field = result.memory, _matched_field(result)
    name, why = ("why", memory.why) if memory.why else ("impact", memory.impact)
    reasoned = response.view == "pointer" and bool(why) and field not in ("why", "impact")
    if passage.text.strip():
        named = f"{field}  " if field != "text" else ""
        yield from passage_lines(passage, most - reasoned, named)
    if reasoned:
        yield f"{paint(name, CYAN)}  {shorten(why, inner_width() - len(name) - 2)}"


def passage_lines(passage: MarkedText, most: int, named: str = "") -> Iterator[str]:
    """Yield at most `most` lines, those that match best. Code keeps its lines and gets a rule on a
    terminal; `named` precedes the first line."""
    code = is_code(passage.text) or TABLE.search(passage.text) is not None
    rule = GUTTER if code and screen().terminal else ""
    left = inner_width() - len(named) - len(rule)
    lines = passage.code_lines(left, most) if code else passage.on_one_line().wrap(left, most)
    for place, line in enumerate(lines):
        before = paint(named, CYAN) if place == 0 else " " * len(named)
        yield f"{before}{paint(rule, DIM)}{highlight(line)}"


def _match_bar(result: Result, response: Response) -> str:
    """Return a bar that compares the score with the best one, since recipes' scores have no common
    scale; "" in a pipe. Previews get 0–100 and a word, as the `gnosis` recipe has it."""
    shown, scores = result.shown, [other.score for other in response]
    if not isinstance(shown, PreviewView) or min(scores) < 0 or max(scores) > 1:
        compared = len(response) > 1 and screen().terminal
        return bar(result.score, max(scores), SHARE) if compared else ""
    hundred = 100 * result.score
    if not shown.verified:
        return f"{hundred:.0f} unverified"
    return f"{hundred:.0f} {next(word for least, word in LABELS if hundred >= least)}"


def about_line(memory: Memory, now: datetime, when: When, elsewhere: str = "") -> str:
    """Return id, kind, project, validity, age and tags in one line. If a terminal is too narrow,
    the id is shortened before the age."""
    parts = [memory.kind, memory.project, memory.severity or ""]
    parts += ["pinned" if memory.tier == "core" else "", validity(memory, now)]
    rest = " · ".join(part for part in (*parts, when(memory.updated_at)) if part)
    id = shorten(memory.id, max(SHORTEST_ID, inner_width() - count_cells(rest) - 3))
    tags = " ".join(f"#{tag}" for tag in memory.tags)
    return shorten(" · ".join(filter(None, (id, rest, tags))) + elsewhere, inner_width())


def memory_lines(memory: Memory, when: When, use: Use | None = None) -> Iterator[str]:
    """Yield every field that is set, long ones below their name, and how often it was used."""
    fields = memory_json(memory)
    fields |= {name: when(getattr(memory, name)) for name in TIMES if fields.get(name)}
    fields |= {"used": use_text(use, when(use.last_at))} if use else {}
    for name, value in fields.items():
        if not value:
            continue
        text = ", ".join(value) if isinstance(value, list) else str(value)
        label = paint(f"{name:<12}", CYAN)
        if "\n" not in text and count_cells(text) + 13 <= width():
            shown = visible(text)
            yield f"{label} {link_to(shown, text) if name == 'path' else shown}"
            continue
        yield paint(name, CYAN)
        whole = memory.kind == "code" and name == "text"
        lines = lay_out(visible(text), inner_width() - 2, code=whole or not screen().terminal)
        yield from (f"  {line}" for line in lines)


def reason_lines(term: Term) -> Iterator[str]:
    """Yield the score in words: the reasons for it with their shares, then those against it."""
    for share, reason in in_words(term, about_part):
        figure = f"{share:.0%}" if share else ""
        first, *more = wrap_text(visible(reason), inner_width() - SHARE - 9)
        yield f"{INDENT}{figure:>4}{draw_bar(share, 1.0, SHARE)}  {first}"
        yield from (f"{INDENT}{'':<{SHARE + 8}}{line}" for line in more)


def score_tree(term: Term) -> Iterator[str]:
    """Yield the score as a tree: each part's value, a bar relative to the largest, the reason."""
    lines = list(as_lines(term))
    longest = max(len(name) for name, _, _ in lines)
    largest = max(value for _, value, _ in lines)
    for name, value, reason in lines:
        share = draw_bar(value, largest, BAR)
        first, *more = wrap_text(visible(reason), max(width() - longest - BESIDE, NARROWEST))
        yield f"    {name:<{longest}}  {value:>10.6f}{share}  {paint(first, DIM)}".rstrip()
        yield from (f"{'':<{longest + BESIDE}}{paint(line, DIM)}" for line in more)


def _footer(response: Response, folded: int) -> Iterator[str]:
    count = counted(len(response) - folded, "result")
    ms = f"{response.timings_ms['total']:.1f} ms"
    if evidence := sentences.evidence(response):
        yield wrap_sentence(evidence, GREEN if response.evidence == "strong" else YELLOW)
    lines = [f"{count} · recipe {response.recipe} · {ms}"]
    for sentence in sentences.understood(response):
        lines.append(f"{sentence}. Not what you meant? Add --literal.")
    if response.view == "preview" and not any(part.reach for part in response.degraded):
        lines.append(summary(response))
    if (more := sentences.not_shown(response)) and not folded:
        lines.append(f"{more}: --limit N")
    yield from (wrap_sentence(visible(sentence), DIM) for sentence in (*lines, *response.notes))
    for part in response.degraded:
        style = DIM if part.reach else YELLOW
        yield wrap_sentence(visible(sentences.degraded(part, response)), style)
