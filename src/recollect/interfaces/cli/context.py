"""`recollect context`."""

from __future__ import annotations

import argparse

from recollect.engine import Recollect
from recollect.engine.searching import CONTEXT_LIMIT
from recollect.interfaces.cli.arguments import add_filter, add_json, add_limit, filter_of
from recollect.interfaces.cli.output import BOLD, DIM, YELLOW, print_json, styled
from recollect.interfaces.cli.results import about
from recollect.present import sentences
from recollect.present.response import context_json
from recollect.present.visible import one_line, visible
from recollect.present.words import counted

EXAMPLE = (
    "  recollect context --here --max-tokens 2000\n  recollect context auth --project harbor-api"
)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", metavar="QUERY", nargs="?", default="", help="the topic")
    add_limit(parser, str(CONTEXT_LIMIT))
    parser.add_argument(
        "--max-tokens", type=int, metavar="N", help="maximum length in tokens, roughly"
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
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    with Recollect(brief=True) as memory:
        now = memory.now()
        found = memory.context(
            args.query,
            limit=CONTEXT_LIMIT if args.limit is None else args.limit,
            max_tokens=args.max_tokens,
            filter=filter_of(args, now),
            semantic=args.semantic,
            topup_recent=False if args.no_topup else None,
        )
    if args.json:
        print_json(context_json(found))
        return 0
    for each in found.memories:
        print(styled(one_line(each.title or each.id), BOLD))
        for line in each.text.splitlines():
            print(f"  {visible(line)}")
        print(styled(about(each, now), DIM) + "\n")
    origins = f"{found.matched} found by search, {found.topped_up} newest"
    print(styled(f"{counted(len(found.memories), 'memory')}: {origins}", DIM))
    if found.left_out:
        print(styled(sentences.over_budget(found.left_out), DIM))
    if found.response:
        for part in found.response.degraded:
            print(styled(visible(sentences.degraded(part, found.response)), YELLOW))
    return 0
