"""`recollect context`."""

from __future__ import annotations

import argparse

from recollect.engine import Recollect
from recollect.engine.searching import CONTEXT_LIMIT
from recollect.interfaces.cli.arguments import (
    CommandParser,
    add_as_of,
    add_dates,
    add_filter,
    add_json,
    add_limit,
    add_words,
    as_of,
    filter_of,
)
from recollect.interfaces.cli.layout import laid_out
from recollect.interfaces.cli.lines import flowing, width
from recollect.interfaces.cli.output import BOLD, DIM, YELLOW, styled
from recollect.interfaces.cli.results import when_of
from recollect.interfaces.cli.screen import screen
from recollect.present.agent_context import FORMS, context_line, context_text
from recollect.times import day

EXAMPLE = (
    "  recollect context --here --max-tokens 2000\n  recollect context auth --project harbor-api"
)


def arguments(parser: CommandParser) -> None:
    add_words(parser, "query", "the topic", default="")
    add_limit(parser, str(CONTEXT_LIMIT))
    parser.add_argument(
        "--max-tokens",
        type=int,
        metavar="N",
        help="maximum length of the whole answer, in tokens of four characters",
    )
    parser.add_argument(
        "--semantic",
        metavar="MODE",
        help="search by meaning: auto, always or never (default: setting context.semantic)",
    )
    parser.add_argument(
        "--no-topup", action="store_true", help="do not fill up with the newest memories"
    )
    add_filter(parser)
    add_dates(parser)
    add_as_of(parser)
    add_json(parser)


def answer(memory: Recollect, args: argparse.Namespace) -> str:
    now = memory.now()
    then = as_of(args, now)
    found = memory.context(
        args.query,
        limit=CONTEXT_LIMIT if args.limit is None else args.limit,
        max_tokens=args.max_tokens,
        filter=filter_of(args, then or now),
        semantic=args.semantic,
        topup_recent=False if args.no_topup else None,
        forms=FORMS if args.json else (context_text,),
        as_of=then,
    )
    if args.json:
        return context_line(found)
    exact = args.dates or not screen().terminal  # an agent reads it in a pipe
    parts = context_text(found, day if exact else when_of(False, now)).split("\n\n")
    degraded = found.response.degraded if found.response else ()
    styles = [DIM] * (len(parts) - len(degraded))
    styles += [DIM if part.reach else YELLOW for part in degraded]
    return "\n\n".join(map(_coloured, parts, styles))


def _coloured(part: str, style: str) -> str:
    """A memory with its title bold and the line about it dim, in lines that fit a terminal; or a
    sentence in that style."""
    if not part.startswith("> "):
        return flowing(part, style)
    title, about, *body = part.split("\n")
    text = "\n".join(line[2:] for line in body)
    lines = laid_out(text, width() - 2, code=not screen().terminal)
    heading = flowing(title[2:], BOLD)
    return "\n".join(
        [
            styled("> ", DIM) + heading,
            flowing(about, DIM),
            *(f"> {line}".rstrip() for line in lines),
        ]
    )
