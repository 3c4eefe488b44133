"""`recollect demo`."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from recollect.demo.load import sample
from recollect.engine import Recollect
from recollect.errors import UserError
from recollect.interfaces.cli.output import (
    BOLD,
    CYAN,
    DIM,
    YELLOW,
    counted,
    shortened,
    styled,
    width,
)
from recollect.interfaces.cli.results import explained
from recollect.recipes import BUILT_IN
from recollect.types import Response

EXAMPLE = "  recollect demo\n  recollect demo --keep ./demo-home"
QUERY = "auth refresh tokens"
SHOWN = 5


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--query", metavar="Q", default=QUERY, help="ask something else")
    parser.add_argument("--keep", metavar="FOLDER", help="keep the vault in this new folder")


def run(told: argparse.Namespace) -> int:
    if told.keep is not None:
        home = Path(told.keep)
        if home.exists():
            raise UserError(f"{home} exists already; name a new folder for the demo vault.")
        _demo(home, told.query)
        print(f'The vault stays: RECOLLECT_HOME={home} recollect search "{told.query}"')
        return 0
    with tempfile.TemporaryDirectory(prefix="recollect-demo-") as folder:
        _demo(Path(folder), told.query)
    return 0


def _demo(home: Path, query: str) -> None:
    with Recollect(home=home) as memory:
        saved = memory.save_all(list(sample(memory.now())))
        print(f"A throw-away vault with {counted(len(saved), 'sample memory')}.\n")
        print(f"One question, {len(BUILT_IN)} documented rankings: {styled(query, BOLD)}\n")
        answers = [memory.search(query, recipe=name, limit=SHOWN) for name in BUILT_IN]
        for answer in answers:
            _print_answer(answer)
        _print_why(answers[0])
        _print_degraded(answers)
    _print_next()


def _print_answer(answer: Response) -> None:
    print(f"{styled(answer.recipe, CYAN)}  {styled(BUILT_IN[answer.recipe].about, DIM)}")
    for place, result in enumerate(answer.results[:SHOWN], start=1):
        title = shortened(result.memory.title or result.memory.text, width() - 40)
        print(f"  {place}  {result.score:8.4f}  {title}  {styled(result.id, DIM)}")
    if not answer.results:
        print("  nothing")
    print()


def _print_why(answer: Response) -> None:
    if not answer.results:
        return
    best = answer.results[0]
    print(f"Why {styled(best.memory.title or best.id, BOLD)} is first for {answer.recipe}:\n")
    print("\n".join(explained(best.explain)) + "\n")


def _print_degraded(answers: list[Response]) -> None:
    for part in dict.fromkeys(part for answer in answers for part in answer.degraded):
        print(styled(f"! {part.channel}: {part.reason}", YELLOW))


def _print_next() -> None:
    print(
        """
What to try next, on a vault of your own:
  recollect save --title "What we decided" --text "…" --kind decision --here
  recollect search "what did we decide" --explain
  recollect recipes show vault
  recollect demo --query "roadmap 1.4"        exact names and versions
  recollect demo --keep ./demo-home           the same vault, to play with"""
    )
