"""`recollect demo`."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

from recollect.demo import sample
from recollect.engine import Recollect
from recollect.errors import UserError
from recollect.interfaces.cli import arguments as arg
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.layout import count_cells, shorten, width
from recollect.interfaces.cli.output import BOLD, CYAN, DIM, YELLOW, paint, progress
from recollect.interfaces.cli.results import reason_lines
from recollect.present import sentences
from recollect.present.sentences import counted, heading_line
from recollect.recipes.registry import BUILT_IN
from recollect.times import day
from recollect.types import Response

QUERY = "slow shipment list"
CHANGED = "how many connections per web worker"
SHOWN = 5
ORDINALS = {1: "1st", 2: "2nd", 3: "3rd"}


@command(
    "  recollect demo\n  recollect demo --keep ./demo-home",
    arg.argument("--query", "QUERY", f"what to search for (default: {QUERY})", default=QUERY),
    arg.argument("--keep", "FOLDER", "keep the vault, in this new folder"),
)
def demo(args: argparse.Namespace) -> None:
    if args.keep is not None:
        home = Path(args.keep)
        if home.exists():
            raise UserError(f"{home} already exists. Choose a new folder for the demo vault.")
        _demo(home, args.query)
        print(f'The vault is kept. Try: RECOLLECT_HOME={home} recollect search "{args.query}"')
        return
    with tempfile.TemporaryDirectory(prefix="recollect-demo-") as folder:
        _demo(Path(folder), args.query)


def _demo(home: Path, query: str) -> None:
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    with Recollect(home / "vault.db", home=home) as memory:  # never locked
        samples = list(sample(memory.now()))
        print(f"A demo vault with {counted(len(samples), 'sample memory')}.\n", flush=True)
        with progress("Preparing it", len(samples) + len(BUILT_IN)) as advance:
            memory.save_all(samples)
            memory.embed_now(advance)
            answers, refusals = _search_all(memory, query, advance)
        print(f"One query, {len(BUILT_IN)} rankings: {paint(query, BOLD)}\n")
        best = _print_side_by_side(answers)
        _print_why(answers, best, memory.settings.search.recipe)
        print_newer_first(memory)
        print_degraded(answers)
        for refusal in refusals:
            print(paint(f"! {refusal}", YELLOW))
    _print_next()


def _search_all(
    memory: Recollect, query: str, advance: Callable[[int], None]
) -> tuple[list[Response], list[str]]:
    """Search with each recipe. Return the responses and the errors; raise if all recipes fail."""
    answers: list[Response] = []
    refusals: list[str] = []
    for name in BUILT_IN:
        try:
            answers.append(memory.search(query, recipe=name, limit=SHOWN))
        except UserError as error:
            refusals.append(str(error))
        advance(1)
    if not answers:
        raise UserError(refusals[0])
    return answers, refusals


def _print_side_by_side(answers: list[Response]) -> str:
    """Print a row per memory and a column with its rank per recipe; return the id of the memory
    that ranks highest overall."""
    names = [answer.recipe for answer in answers]
    places = {
        answer.recipe: {result.id: place for place, result in enumerate(answer, start=1)}
        for answer in answers
    }
    rows = {result.id: result.memory for answer in answers for result in answer.results[:SHOWN]}
    left = max(24, width() - sum(len(name) + 2 for name in names) - 2)
    shown = {id: shorten(heading_line(each), left - 1) for id, each in rows.items()}
    titles = 1 + max(map(count_cells, shown.values()), default=0)
    heading = "".join(f"  {name}" for name in names)
    print(f"{'':<{titles}}{paint(heading, CYAN)}")
    ordered = sorted(rows, key=lambda id: _ranks(id, places))
    for id in ordered:
        ranks = "".join(f"  {places[name].get(id, '·'):>{len(name)}}" for name in names)
        print(f"{shown[id]}{' ' * (titles - count_cells(shown[id]))}{ranks}")
    print(paint("\n1 is the first result; · means not found.\n", DIM))
    return ordered[0] if ordered else ""


def _ranks(id: str, places: dict[str, dict[str, int]]) -> tuple[float, str]:
    """Return the sum of a memory's ranks; not found counts as the rank after the last."""
    below = max(map(len, places.values())) + 1
    return sum(ranks.get(id, below) for ranks in places.values()), id


def _print_why(answers: list[Response], id: str, default: str) -> None:
    """Print the explanation of this memory's score by the default recipe, or else another."""
    for answer in sorted(answers, key=lambda answer: answer.recipe != default):
        for place, result in enumerate(answer, start=1):
            if result.id == id:
                title = paint(result.memory.title or id, BOLD)
                rank = ORDINALS.get(place, f"{place}th")
                print(f"Why {title} is {rank} for {answer.recipe}:\n")
                print("\n".join(reason_lines(result.explain)) + "\n")
                return


def print_newer_first(memory: Recollect) -> None:
    """Print a newer statement above the one it replaces; nothing without vectors, which this
    needs."""
    answer = memory.search(CHANGED, limit=2)
    if answer.results and answer.results[0].seems_to_replace:
        print(f"A newer statement comes first: {paint(CHANGED, BOLD)}\n")
        for result in answer:
            print(f"{day(result.memory.updated_at)}  {result.memory.title}")
        print()


def print_degraded(answers: list[Response]) -> None:
    """Print what the responses lack, except that a reranker ran out of time, which is normal."""
    failed = (
        sentences.degraded(part, answer)
        for answer in answers
        for part in answer.degraded
        if not part.reach
    )
    for sentence in dict.fromkeys(failed):
        print(paint(sentence, YELLOW))


def _print_next() -> None:
    print(
        """
Try next, on a vault of your own:
  recollect save --title "What we decided" --text "…" --kind decision --here
  recollect search "what did we decide" --explain
  recollect recipes show blend
  recollect demo --query ERR_4012             exact names and codes
  recollect demo --keep ./demo-home           the same vault, to play with"""
    )
