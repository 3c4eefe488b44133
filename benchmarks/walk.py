"""Print which functions under src/recollect one search and one save enter, and in how many files:
of a vault of 50 memories without models. With --list, each of them with its number of calls."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import recollect
from recollect import Recollect
from recollect.settings import Embedding, Rerank, Settings

SOURCE = Path(recollect.__file__).parent
SETTINGS = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))
TOPICS = ("billing", "login", "search", "harbour pilots", "release notes")
Function = tuple[str, int, str]  # file, first line, name


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true", help="name the functions")
    args = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as home,
        Recollect(home=home, settings=SETTINGS) as memory,
    ):
        for number in range(50):
            topic = TOPICS[number % len(TOPICS)]
            title, text = f"Decision {number} on {topic}", f"The {topic} of team {number} moved."
            memory.save(title=title, text=text, tags=[topic], project="harbor")
        memory.search("login decision")  # one-time preparation is not counted
        report("search", lambda: memory.search("who moved the billing of team 5"), args.list)
        report("save", lambda: memory.save(title="Tea at four", text="In the kitchen."), args.list)


def report(name: str, call: Callable[[], object], names: bool) -> None:
    entered = functions_entered(call)
    files = {file for file, _, _ in entered}
    print(f"{name}: {len(entered)} functions in {len(files)} files, {entered.total()} calls")
    if names:
        for (file, line, function), calls in sorted(entered.items()):
            print(f"  {file}:{line} {function} {calls}")


def functions_entered(call: Callable[[], object]) -> Counter[Function]:
    """Run `call`; return the number of calls of each function of Recollect in this thread. Bodies
    of modules and classes, lambdas and comprehensions are not counted."""
    entered: Counter[Function] = Counter()

    def note(frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if event == "call" and not code.co_qualname.rpartition(".")[2].startswith("<"):
            file = Path(code.co_filename)
            if file.is_relative_to(SOURCE):
                place = str(file.relative_to(SOURCE)), code.co_firstlineno, code.co_qualname
                entered[place] += 1

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return entered


if __name__ == "__main__":
    main()
