"""`recollect tour`."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import tempfile
from collections.abc import Mapping
from typing import NamedTuple

from recollect.interfaces.cli.commands import COMMANDS, READING
from recollect.interfaces.cli.lines import flowing
from recollect.interfaces.cli.main import main
from recollect.interfaces.cli.output import BOLD, CYAN, styled
from recollect.vaults.keys import on_terminal

EXAMPLE = "  recollect tour"
LEAVE = ("q", "quit", "exit")
# These touch nothing but the vault that is thrown away.
TRIED = ("save", "edit", "tag", "pin", "forget", "undo", "supersede", "stats", *READING)


class TourStep(NamedTuple):
    """What a step is about, and the command that shows it."""

    heading: str
    about: str
    command: str


STEPS = (
    TourStep(
        "Save",
        "A memory is a sentence. Tags, a project and the reason are worth a moment.",
        'save --id deploys "Deploys run on Jenkins" --tag ci --project harbor --why "It is what '
        'the old server had"',
    ),
    TourStep(
        "Save another",
        "Anything that somebody will ask for one day.",
        'save --id tokens "Access tokens last 15 minutes" --project harbor --kind decision',
    ),
    TourStep(
        "Ask",
        "Ask as you would ask a colleague. No quotes are needed, nor the word `search`.",
        "search how do we deploy",
    ),
    TourStep(
        "Why",
        "Every result can say how it came to its place.",
        "search how do we deploy --explain",
    ),
    TourStep(
        "Correct",
        "What no longer holds is replaced, not lost: the old memory stays, and names the new one.",
        'save --id buildkite "Deploys run on Buildkite" --project harbor --supersedes deploys',
    ),
    TourStep("Ask again", "The new one comes first now.", "search how do we deploy"),
    TourStep(
        "History",
        "Every change is kept: what was there, who changed it, and when.",
        "history deploys",
    ),
    TourStep(
        "Agent",
        "What a coding agent is told when it starts; `recollect setup CLIENT` registers it.",
        "context --project harbor",
    ),
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """None: it asks for what it needs."""


def run(args: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory(prefix="recollect-tour-") as home:
        before = dict(os.environ)
        # Nothing of the person's own vault or settings takes part.
        for name in [name for name in before if name.startswith("RECOLLECT_")]:
            del os.environ[name]
        os.environ |= {"RECOLLECT_HOME": home} | _models(before)
        try:
            finished = _walk(asking=on_terminal())
        finally:
            os.environ.clear()
            os.environ.update(before)
    if finished:
        print("\nThat was it; nothing of it is left. Yours begins with: recollect save")
        print("To see more: recollect find, recollect serve, recollect --help")
    return 0


def _models(environment: Mapping[str, str]) -> dict[str, str]:
    """Whether models take part is as everywhere."""
    names = ("RECOLLECT_EMBEDDING__PROVIDER", "RECOLLECT_RERANK__PROVIDER")
    return {name: "none" for name in names if environment.get(name) == "none"}


def _walk(*, asking: bool) -> bool:
    """Go through the steps; False where the person left."""
    print(flowing("A tour in eight steps, on a vault that is thrown away.", ""))
    for number, step in enumerate(STEPS, start=1):
        print(f"\n{styled(f'{number}/{len(STEPS)} {step.heading}', BOLD)}")
        print(flowing(step.about, "", indent=0))
        print(styled(f"$ recollect {step.command}", CYAN))
        shown = shlex.split(step.command)
        words: list[str] | None = [] if asking else shown
        while words != shown:  # after another command the step is still to be done
            words = _asked(step.command)
            if words is None:
                print("You left the tour; nothing of it is left.")
                return False
            if words:
                main(words)
        if not asking:
            main(shown)
    return True


def _asked(command: str) -> list[str] | None:
    """The words of the command that the person wants; nothing where it cannot be run here, None to
    leave."""
    print("Enter runs it; or type it, or another one; q leaves: ", end="", flush=True)
    try:
        line = sys.stdin.readline()
    except KeyboardInterrupt:
        print()
        return None
    if not line or line.strip() in LEAVE:
        return None
    try:
        words = shlex.split(line.strip() or command)
    except ValueError as error:
        print(f"{error}. Once more.")
        return []
    words = words[1:] if words[:1] == ["recollect"] else words
    if words and words[0] in COMMANDS and words[0] not in TRIED:
        print(f"The tour is for: {', '.join(TRIED)}.")
        return []
    return words
