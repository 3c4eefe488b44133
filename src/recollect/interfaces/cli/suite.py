"""`recollect suite`."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence

from recollect.evals.suite.rules import MOST
from recollect.evals.suite.suite import (
    QueryOutcome,
    SuiteVault,
    degraded,
    given,
    opened,
    points,
    report,
    suite,
)
from recollect.interfaces.cli.arguments import WrongUsage, add_json
from recollect.interfaces.cli.output import (
    BOLD,
    CYAN,
    DIM,
    YELLOW,
    print_json,
    progress,
    shortened,
    styled,
    visible,
    width,
)
from recollect.interfaces.cli.results import explained
from recollect.present.words import counted
from recollect.recipes.registry import BUILT_IN, Recipes
from recollect.settings import home_folder, load_settings

EXAMPLE = (
    "  recollect suite\n"
    "  recollect suite --recipe blend --recipe covalence --queries\n"
    '  recollect suite --recipe router --explain "canonical file"'
)
ABOUT = """

Ten kinds of query, asked of the memories of a small team that come with Recollect, in a vault of
their own that is removed again. Each answer gets 0 to 3 points. The models are those of the
settings, and the reranker has all the time it needs."""
SHOWN = 5
NARROWEST = 5  # characters of a column

Found = Mapping[str, Sequence[QueryOutcome]]


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = f"{parser.description}{ABOUT}"
    parser.add_argument(
        "--recipe",
        action="append",
        metavar="R",
        help="which recipe, one of your own too; may be repeated (default: every built-in one)",
    )
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument(
        "--queries", action="store_true", help="each query, what it wants, and what each recipe did"
    )
    shape.add_argument(
        "--explain",
        metavar="KIND",
        help=f"the first {SHOWN} results for the query of that kind, and the best one wanted, with "
        "a reason for every rank",
    )
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    if args.json and (args.queries or args.explain is not None):
        raise WrongUsage("--json goes neither with --queries nor with --explain.")
    home = home_folder(os.environ)
    names = list(dict.fromkeys(args.recipe or BUILT_IN))
    for name in names:  # one that cannot be read is refused before anything is done
        Recipes(home / "recipes").get(name)
    asked = suite().queries if args.explain is None else (suite().query(args.explain),)
    with opened(home, load_settings(home, os.environ), os.environ, progress) as bench:
        found = {name: bench.outcomes(name, asked) for name in names}
        if args.json:
            print_json(report(bench, found))
            return 0
        if args.explain is not None:
            _print_answers(found)
        elif args.queries:
            _print_queries(found)
        else:
            _print_table(found)
        _print_remarks(bench, found)
    return 0


def _print_table(found: Found) -> None:
    """A row per kind of query, a column per recipe, the sum below."""
    rows = list(zip(*found.values(), strict=True))
    size = max(len(row[0].query.kind) for row in rows)
    heading = "".join(f"  {visible(name):>{NARROWEST}}" for name in found)
    print(f"{'':<{size}}{styled(heading, CYAN)}")
    for row in rows:
        print(f"{row[0].query.kind:<{size}}{_cells(found, [one.score.points for one in row])}")
    sums = _cells(found, [points(outcomes) for outcomes in found.values()])
    print(styled(f"{f'of {MOST * len(rows)}':<{size}}{sums}", BOLD))
    print()


def _cells(names: Iterable[str], values: Iterable[int]) -> str:
    return "".join(
        f"  {value:>{max(NARROWEST, len(visible(name)))}}"
        for name, value in zip(names, values, strict=True)
    )


def _print_queries(found: Found) -> None:
    """Each query, what makes it hard, and a line per recipe."""
    size = max(len(visible(name)) for name in found)
    for row in zip(*found.values(), strict=True):
        query = row[0].query
        narrowed = "".join(
            f"  {name}: {_said(value)}" for name, value in given(query.filter).items()
        )
        print(f"{styled(query.kind, CYAN)}  {styled(query.text, BOLD)}{narrowed}")
        print(f"  {query.about}")
        for name, one in zip(found, row, strict=True):
            print(f"  {visible(name):<{size}}  {one.score.points}  {visible(one.score.why)}")
        print()


def _said(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _print_answers(found: Found) -> None:
    for name, outcomes in found.items():
        for one in outcomes:
            heading = styled(f"{visible(name)}: {one.query.text}", BOLD)
            print(f"{heading}  {counted(one.score.points, 'point')}, {visible(one.score.why)}\n")
            print("\n".join(_results(one)))


def _results(outcome: QueryOutcome) -> Iterator[str]:
    """The first results, and the best of the wanted ones where it stands below them."""
    held = () if outcome.response is None else outcome.response.results
    for place, result in enumerate(held, start=1):
        if place > SHOWN and place != outcome.score.rank:
            continue
        wanted = "*" if result.id in outcome.query.wanted else " "
        title = shortened(result.memory.title, width() - len(result.id) - 8)
        yield f"{place:>2}{wanted} {title}  {styled(result.id, DIM)}"
        yield from explained(result.explain)
        yield ""


def _print_remarks(bench: SuiteVault, found: Found) -> None:
    """Which models took part, and what could not."""
    models = ", ".join(f"{kind} {name or 'none'}" for kind, name in bench.models().items())
    print(styled(f"Models: {models}.", DIM))
    if bench.problem is not None:
        print(styled(visible(f"! {bench.problem}"), YELLOW))
    for name, outcomes in found.items():
        for reason in degraded(outcomes):
            print(styled(visible(f"! {name}: {reason}"), YELLOW))
