"""Commands that show memories: list, show, history, timeline, context."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from datetime import datetime

from recollect.engine import Recollect
from recollect.engine.browsing import LIMIT, Timeline, TimelineEntry, timeline_json
from recollect.engine.searching import CONTEXT_LIMIT
from recollect.interfaces.cli import arguments as arg
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.layout import lay_out, shorten, width, wrap_sentence, wrap_text
from recollect.interfaces.cli.output import (
    BOLD,
    CYAN,
    DIM,
    GREEN,
    YELLOW,
    json_text,
    paint,
    print_note,
    rows_text,
    screen,
)
from recollect.interfaces.cli.results import (
    When,
    about_line,
    as_of_lines,
    memory_lines,
    time_format,
)
from recollect.interfaces.cli.selection import remember_results, resolve_id, resolve_ids
from recollect.memory_json import memory_json
from recollect.present import sentences
from recollect.present.agent_context import FORMS, context_line, context_text
from recollect.present.history import (
    FieldDifference,
    difference_text,
    history_json,
    version_line,
    with_differences,
)
from recollect.present.sentences import heading_line, visible
from recollect.store.history import Version
from recollect.times import day, iso, minute
from recollect.types import Filter, Use
from recollect.vaults.known import FoundMemory

DEFAULT = 20
RED = "31"
# Colours of removed and added text, by the marks that `difference_text` puts around it.
STYLES = {"[-": RED, "{+": GREEN}
ENDS = ("-]", "+}")
MARKS = re.compile(r"(?=\[-|\{\+)|(?<=-\])|(?<=\+\})")


@command(
    "  recollect list --project harbor-api --since 7d",
    arg.limit(DEFAULT, whole=True),
    arg.argument("--after", "ID", "continue after this memory"),
    arg.add_filter,
    arg.add_dates,
    arg.add_as_of,
    arg.add_ids_only,
    arg.add_exit_zero,
    arg.rows(),
    reads=True,
)
def list_(memory: Recollect, args: argparse.Namespace) -> tuple[str, bool]:
    now = memory.now()
    then = arg.read_as_of(args, now)
    most = arg.limit_of(args, DEFAULT)
    filter = arg.read_filter(args, then or now)
    after = args.after and resolve_id(memory, args.after)
    found = memory.list(filter, most, after, as_of=then)
    remember_results(memory, [each.id for each in found])
    last = found[-1].id if found else ""
    cut = len(found) == most and bool(memory.list(filter, 1, last, as_of=then))
    left = sum(memory.facets(filter, as_of=then).kind.values()) - most if cut and not after else 0
    more = f"{left:,} more" if left else "More" if cut else ""
    if args.ids or args.json:
        print_note(f"{more}: --all or --after {last}" if cut else "")
        if args.ids:
            print_note("" if found else " ".join(memory.unknown_values(filter)))
            return "\n".join(each.id for each in found), bool(found)
        return rows_text(args, [memory_json(each) for each in found]), bool(found)
    if not found:
        return _none_listed(memory, args, filter, then), False
    lines, when = as_of_lines(then), time_format(args.dates, then or now)
    for place, each in enumerate(found, start=1):
        heading = shorten(heading_line(each), width() - 4)
        lines.append(f"{paint(f'{place:>2}', DIM)}  {paint(heading, BOLD)}")
        lines.append(f"    {paint(about_line(each, then or now, when), DIM)}")
    if cut:
        same_time = {"as_of": iso(then)} if then else {}
        again = visible(arg.repeat_options(args, after=last, **same_time))
        lines.append(wrap_sentence(f"{more}: recollect list {again}", DIM))
    return "\n".join(lines), True


def _none_listed(
    memory: Recollect, args: argparse.Namespace, filter: Filter, then: datetime | None
) -> str:
    """Return why the list is empty."""
    if filter.narrows():
        told = "No memories match these filters"
    elif then is None and not args.after:
        return "No memories found. To save one: recollect save --title TITLE"
    else:
        told = "No memories found"
    told += f" after {visible(args.after)}" if args.after else ""
    told += f" as of {minute(then)}" if then else ""
    return wrap_sentence(" ".join([f"{told}.", *memory.unknown_values(filter)]), "")


@command(
    "  recollect show auth-jwt-001",
    arg.argument("ids", "ID", arg.IDS, nargs="+"),
    arg.add_dates,
    arg.add_as_of,
    arg.rows(),
    reads=True,
)
def show(memory: Recollect, args: argparse.Namespace) -> str:
    ids = resolve_ids(memory, args.ids)
    # Read before this command counts as a use.
    used = {} if args.json or args.as_of else memory.usage(ids)
    then = arg.read_as_of(args, memory.now())
    found = memory.locate(ids, as_of=then)
    if args.json:
        return rows_text(args, [memory_json(each.memory) | _link_fields(each) for each in found])
    when = time_format(args.dates, then or memory.now())
    shown = "\n\n".join(
        "\n".join(_memory_lines(each, when, used.get(each.memory.id))) for each in found
    )
    return "\n".join([*as_of_lines(then), shown])


def _link_fields(found: FoundMemory) -> dict[str, object]:
    """Return what other memories say about it, as fields; only those that are not empty."""
    links = {"asked": found.asked, "replaces": [each.id for each in found.chain.replaces]}
    return {name: value for name, value in links.items() if value}


def _memory_lines(found: FoundMemory, when: When, used: Use | None) -> Iterator[str]:
    if found.asked:
        yield visible(f"{found.asked} was merged into {found.memory.id}:")
    yield from memory_lines(found.memory, when, used)
    yield from (wrap_sentence(visible(line), DIM) for line in sentences.chain(found.chain))


@command(
    "  recollect history auth-jwt-001",
    arg.argument("id", "ID", "the memory"),
    arg.add_dates,
    arg.rows(),
    reads=True,
)
def history(memory: Recollect, args: argparse.Namespace) -> str:
    versions = memory.history(resolve_id(memory, args.id))
    if args.json:
        return rows_text(args, history_json(versions))
    return "\n".join(_version_lines(versions, time_format(args.dates, memory.now())))


def _version_lines(versions: list[Version], when: When) -> Iterator[str]:
    for version, differences in with_differences(versions):
        yield wrap_sentence(visible(version_line(version, when(version.at))), CYAN)
        yield from (line for difference in differences for line in _difference_lines(difference))
    if len(versions) > 1:
        yield wrap_sentence(
            f"To return to a version: recollect undo {versions[0].memory.id} --to VERSION", DIM
        )


def _difference_lines(difference: FieldDifference) -> Iterator[str]:
    """Yield a difference in lines that fit the terminal, removed and added text in colours."""
    text = visible(difference_text(difference))
    style = DIM
    for place, line in enumerate(wrap_text(text, width() - 4)):
        shown = "  " if place == 0 else "    "
        for piece in filter(None, MARKS.split(line)):
            style = STYLES.get(piece[:2], style)
            shown += paint(piece, style)
            style = DIM if piece[-2:] in ENDS else style
        yield shown


@command(
    "  recollect timeline auth-jwt-001\n  recollect timeline yesterday --project harbor-api",
    arg.argument("around", "ID|TIME", "a memory, or a time: 2026-03-01, yesterday, 7d"),
    arg.limit(f"{LIMIT} on each side"),
    arg.add_filter,
    arg.add_dates,
    arg.add_exit_zero,
    arg.add_json,
    reads=True,
)
def timeline(memory: Recollect, args: argparse.Namespace) -> tuple[str, bool]:
    most = LIMIT if args.limit is None else args.limit
    filter = arg.read_filter(args, memory.now())
    named = resolve_id(memory, args.around) if args.around.startswith("@") else args.around
    found = memory.timeline(named, limit=most, filter=filter)
    around = bool(found.before or found.after)
    if args.json:
        return json_text(timeline_json(found)), around
    lines = [*_timeline_lines(found, time_format(args.dates, memory.now()))]
    if not around:
        told = ["Nothing was saved or changed around it.", *memory.unknown_values(filter)]
        lines.append(wrap_sentence(" ".join(told), DIM))
    return "\n".join(lines), around


def _timeline_lines(found: Timeline, when: When) -> Iterator[str]:
    around = [TimelineEntry(found.at, "saved", found.around)] if found.around is not None else []
    entries = (*found.before, *around, *found.after)
    longest = max(len(when(moment)) for moment in (found.at, *(each.at for each in entries)))
    for entry in (*found.before, *around):
        line = _timeline_line(entry, when, longest)
        yield paint(line, BOLD) if entry in around else line
    if found.around is None:
        yield paint(f"{when(found.at):<{longest}}  ---", DIM)
    yield from (_timeline_line(entry, when, longest) for entry in found.after)


def _timeline_line(entry: TimelineEntry, when: When, longest: int) -> str:
    memory = entry.memory
    begin = f"{when(entry.at):<{longest}}  {entry.what:<7}  "
    text = f"{memory.id}: {heading_line(memory)}"
    return begin + shorten(text, max(20, width() - len(begin)))


@command(
    "  recollect context --here --max-tokens 2000\n  recollect context auth --project harbor-api",
    arg.words("query", "the topic", default=""),
    arg.limit(CONTEXT_LIMIT),
    arg.argument(
        "--max-tokens",
        "N",
        "maximum length of the whole answer, in tokens of four characters",
        type=int,
    ),
    arg.argument(
        "--semantic",
        "MODE",
        "search by meaning: auto, always or never (default: setting context.semantic)",
    ),
    arg.flag("--no-topup", "do not fill up with the newest memories"),
    arg.add_filter,
    arg.add_dates,
    arg.add_as_of,
    arg.add_json,
    reads=True,
)
def context(memory: Recollect, args: argparse.Namespace) -> str:
    now = memory.now()
    then = arg.read_as_of(args, now)
    filter = arg.read_filter(args, then or now)
    found = memory.context(
        args.query,
        limit=CONTEXT_LIMIT if args.limit is None else args.limit,
        max_tokens=args.max_tokens,
        filter=filter,
        semantic=args.semantic,
        topup_recent=False if args.no_topup else None,
        forms=FORMS if args.json else (context_text,),
        as_of=then,
    )
    if args.json:
        return context_line(found)
    exact = args.dates or not screen().terminal  # an agent reads it in a pipe
    parts = context_text(found, day if exact else time_format(False, now)).split("\n\n")
    degraded = found.response.degraded if found.response else ()
    styles = [DIM] * (len(parts) - len(degraded))
    styles += [DIM if part.reach else YELLOW for part in degraded]
    if found.memories and not args.here:  # pinned memories belong to any project
        unknown = memory.unknown_values(filter)
        parts, styles = [*parts, *unknown], [*styles, *(DIM for _ in unknown)]
    return "\n\n".join(map(_context_lines, parts, styles))


def _context_lines(part: str, style: str) -> str:
    """Return a memory in lines that fit the terminal, its title bold and its metadata dim; or a
    sentence in that style."""
    if not part.startswith("> "):
        return wrap_sentence(part, style)
    title, about, *body = part.split("\n")
    text = "\n".join(line[2:] for line in body)
    lines = lay_out(text, width() - 2, code=not screen().terminal)
    heading = wrap_sentence(title[2:], BOLD)
    return "\n".join(
        [
            paint("> ", DIM) + heading,
            wrap_sentence(about, DIM),
            *(f"> {line}".rstrip() for line in lines),
        ]
    )
