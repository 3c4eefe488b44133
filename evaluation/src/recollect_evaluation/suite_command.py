"""`recollect eval suite`."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence

from recollect.interfaces.cli.arguments import WrongUsage, add_json
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.layout import shorten, width
from recollect.interfaces.cli.output import (
    BOLD,
    CYAN,
    DIM,
    YELLOW,
    paint,
    print_json,
    progress,
    table_lines,
)
from recollect.interfaces.cli.results import score_tree
from recollect.present.sentences import counted, visible
from recollect.recipes.registry import BUILT_IN, Recipes
from recollect.settings_reading import home_folder, load_settings
from recollect_evaluation.suite import (
    MOST,
    QueryOutcome,
    SuiteVault,
    filter_json,
    missing_parts,
    open_suite,
    points,
    report,
    suite,
)

ABOUT = """

It asks ten kinds of query in a temporary vault with the memories of a small team, which come with
Recollect. Each answer gets 0 to 3 points. The models are those of the settings, and the reranker
has no time limit."""
SHOWN = 5

Found = Mapping[str, Sequence[QueryOutcome]]


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = f"{parser.description}{ABOUT}"
    parser.add_argument(
        "--recipe",
        action="append",
        metavar="NAME",
        help="the recipe to score, built-in or your own; repeatable (default: all built-in ones)",
    )
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument(
        "--queries",
        action="store_true",
        help="show each query, what makes it hard, and how each recipe did",
    )
    shape.add_argument(
        "--explain",
        metavar="KIND",
        help=f"explain the first {SHOWN} results for that kind of query, and the best wanted one",
    )
    add_json(parser)


@command(
    "  recollect eval suite\n"
    "  recollect eval suite --recipe blend --recipe covalence --queries\n"
    '  recollect eval suite --recipe router --explain "canonical file"',
    arguments,
)
def eval_suite(args: argparse.Namespace) -> None:
    if args.json and (args.queries or args.explain is not None):
        raise WrongUsage("--json cannot be combined with --queries or --explain.")
    home = home_folder(os.environ)
    names = list(dict.fromkeys(args.recipe or BUILT_IN))
    for name in names:  # refuse an unreadable one before anything is done
        Recipes(home / "recipes").get(name)
    asked = suite().queries if args.explain is None else (suite().query(args.explain),)
    with open_suite(home, load_settings(home, os.environ), os.environ, progress) as bench:
        outcomes = {name: bench.outcomes(name, asked) for name in names}
        if args.json:
            print_json(report(bench, outcomes))
            return
        if args.explain is not None:
            _print_answers(outcomes)
        elif args.queries:
            _print_queries(outcomes)
        else:
            _print_table(outcomes)
        _print_remarks(bench, outcomes)


def _print_table(found: Found) -> None:
    """Print a row per kind of query, a column per recipe, and the sums below."""
    rows = [
        [row[0].query.kind, *(str(outcome.score.points) for outcome in row)]
        for row in zip(*found.values(), strict=True)
    ]
    sums = [f"of {MOST * len(rows)}", *(str(points(outcomes)) for outcomes in found.values())]
    heading, *lines, last = table_lines(["", *map(visible, found)], [*rows, sums])
    print("\n".join([paint(heading, CYAN), *lines, paint(last, BOLD)]) + "\n")


def _print_queries(found: Found) -> None:
    """Print each query, what makes it hard, and a line per recipe."""
    size = max(len(visible(name)) for name in found)
    for row in zip(*found.values(), strict=True):
        query = row[0].query
        narrowed = "".join(
            f"  {name}: {_text(value)}" for name, value in filter_json(query.filter).items()
        )
        print(f"{paint(query.kind, CYAN)}  {paint(query.text, BOLD)}{narrowed}")
        print(f"  {query.about}")
        for name, outcome in zip(found, row, strict=True):
            points, why = outcome.score.points, visible(outcome.score.why)
            print(f"  {visible(name):<{size}}  {points}  {why}")
        print()


def _text(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _print_answers(found: Found) -> None:
    for name, outcomes in found.items():
        for outcome in outcomes:
            heading = paint(f"{visible(name)}: {outcome.query.text}", BOLD)
            points, why = counted(outcome.score.points, "point"), visible(outcome.score.why)
            print(f"{heading}  {points}, {why}\n")
            print("\n".join(_results(outcome)))


def _results(outcome: QueryOutcome) -> Iterator[str]:
    """Yield the first results, and the best wanted one if it is further down."""
    results = () if outcome.response is None else outcome.response.results
    for place, result in enumerate(results, start=1):
        if place > SHOWN and place != outcome.score.rank:
            continue
        wanted = "*" if result.id in outcome.query.wanted else " "
        title = shorten(result.memory.title, width() - len(result.id) - 8)
        yield f"{place:>2}{wanted} {title}  {paint(result.id, DIM)}"
        yield from score_tree(result.explain)
        yield ""


def _print_remarks(bench: SuiteVault, found: Found) -> None:
    """Print the models, and the parts that were missing."""
    identities = bench.memory.models.identities()
    models = ", ".join(f"{kind} {name or 'none'}" for kind, name in identities.items())
    print(paint(f"Models: {models}.", DIM))
    if bench.problem is not None:
        print(paint(visible(f"! {bench.problem}"), YELLOW))
    for name, outcomes in found.items():
        for reason in missing_parts(outcomes):
            print(paint(visible(f"! {name}: {reason}"), YELLOW))
