"""Commands that ask for decisions or carry them out: review, duplicates, tidy."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import asdict

from recollect.engine import Recollect
from recollect.engine.comparison import DuplicateGroup
from recollect.engine.lifecycle import outcome_json
from recollect.engine.review import Review, ReviewItem
from recollect.errors import RecollectError
from recollect.interfaces.cli import arguments as arg
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.desktop import open_in_editor
from recollect.interfaces.cli.layout import count_cells, shorten, width, wrap_sentence
from recollect.interfaces.cli.output import (
    BOLD,
    CYAN,
    DIM,
    YELLOW,
    paint,
    print_json,
    print_rows,
    progress,
    say,
    show,
)
from recollect.interfaces.cli.results import INDENT, about_line, inner_width, time_format
from recollect.interfaces.cli.selection import add_yes, confirm, open_vault
from recollect.interfaces.operations import plain
from recollect.present.sentences import counted, heading_line, visible
from recollect.settings import PolicySettings
from recollect.types import Memory
from recollect.vaults.keys import on_terminal

DEFAULT = 20
QUIT = "q"
NO_POLICIES = (
    "There are no policies. Declare one in config.toml, such as:\n\n"
    '[policies.unused]\nwhat = "archive"\nafter = "6 months"'
)
POLICY_FILTERS = ("project", "source", "domain", "kind", "space", "tags")
MOST_NAMED = 5  # memories listed for a policy


@command(
    "  recollect review\n  recollect review --kind duplicate --json\n"
    "  recollect review duplicate-1a2b3c4d5e merge",
    arg.argument("item", "ITEM", "decide this item instead of going through all", nargs="?"),
    arg.argument(
        "decision", "DECISION", "keep, edit, merge, supersede, forget or later", nargs="?"
    ),
    arg.argument("--text", "TEXT", "with edit: the memory's new text"),
    arg.argument("--kind -k", "KIND", "only items of this kind, such as duplicate"),
    arg.limit(DEFAULT, whole=True),
    arg.rows(unless="item"),
)
def review(args: argparse.Namespace) -> None:
    if (args.item is None) != (args.decision is None):
        raise arg.usage_error("review [ITEM DECISION]")
    with open_vault() as memory:
        if args.item is not None:
            changes = None if args.text is None else {"text": args.text}
            done = memory.decide(args.item, args.decision, changes=changes)
            say(args.json, done, item=args.item, decision=args.decision, done=done)
            return
        found = memory.review(limit=arg.limit_of(args, DEFAULT), kind=args.kind)
        if args.json:
            print_rows(args, plain(found), "items")
        elif on_terminal() and found.items:
            review_each(memory, found, read_key, edit_text)
        else:
            print("\n".join(overview_lines(memory, found)))
        if not args.json and (more := arg.more_line("review", found.more, args)):
            print(paint(more, DIM))


def review_each(
    memory: Recollect, found: Review, ask: Callable[[str], str], edited: Callable[[str], str]
) -> None:
    """Show the items one by one and carry out the decision that is typed; `q` quits."""
    for number, item in enumerate(found.items, start=1):
        print(paint(f"{number} of {sum(found.counts.values()):,}", DIM))
        print("\n".join(item_lines(memory, item)))
        keys = {choice[0]: choice for choice in item.choices}
        question = " ".join(f"[{choice[0]}]{choice[1:]}" for choice in item.choices)
        while (key := ask(f"{question} [q]uit ")) not in (QUIT, *keys):
            pass
        if key == QUIT:
            print("The rest stays in the review.")
            return
        try:
            print(memory.settle(item, keys[key], changes=_edited_fields(item, keys[key], edited)))
        except RecollectError as error:
            print(f"{error} It stays in the review.")
        print()


def _edited_fields(
    item: ReviewItem, decision: str, edited: Callable[[str], str]
) -> dict[str, Any] | None:
    """Return the fields that the user edited; None for other decisions, and for secrets, which are
    replaced automatically."""
    if decision != "edit" or item.kind == "secret":
        return None
    last = item.memories[-1]
    return {"id": last.id, "text": edited(last.text)}


def item_lines(memory: Recollect, item: ReviewItem) -> Iterator[str]:
    now = memory.now()
    measured = f" ({item.sure:.0%} sure)" if item.kind == "duplicate" else ""
    yield wrap_sentence(f"{item.kind.capitalize()}: {visible(item.why)}{measured}", BOLD)
    for each in item.memories:
        heading = shorten(heading_line(each), max(20, width() - count_cells(each.id) - 4))
        yield f"  {paint(visible(each.id), CYAN)}  {heading}"
        if each.title and each.text:
            yield f"    {shorten(each.text, width() - 4)}"
        yield f"    {paint(about_line(each, now, time_format(False, now)), DIM)}"
    if item.proposed:
        yield paint(f"  An agent proposes: {item.proposed}", YELLOW)


def overview_lines(memory: Recollect, found: Review) -> Iterator[str]:
    """Yield all items as text, for a pipe."""
    for item in found.items:
        yield from item_lines(memory, item)
        yield f"  {paint(f'To decide: recollect review {item.id} {item.suggested}', DIM)}"
    counts = ", ".join(f"{kind} {count:,}" for kind, count in found.counts.items())
    total = sum(found.counts.values())
    yield f"{counted(total, 'item')} to decide: {counts}" if total else "Nothing to review."


def read_key(question: str) -> str:
    """Return the key that is pressed; on Windows the first one of a line."""
    print(question, end="", flush=True)
    try:
        import termios  # noqa: PLC0415  not on Windows
        import tty  # noqa: PLC0415  as above
    except ImportError:
        return sys.stdin.readline().strip()[:1].lower() or QUIT
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    try:
        tty.setcbreak(terminal)
        key = sys.stdin.read(1).lower() or QUIT
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)
    print(key)
    return key


def edit_text(text: str) -> str:
    """Let the user edit the text in their editor, or without one, type a line; return it."""
    if not (os.environ.get("VISUAL") or os.environ.get("EDITOR")):
        print("The new text, in one line: ", end="", flush=True)
        return sys.stdin.readline().strip()
    folder = Path(tempfile.mkdtemp())  # kept if the editor fails: the message names the file
    file = folder / "memory.md"
    file.write_text(text, encoding="utf-8")
    open_in_editor(file)
    written = file.read_text(encoding="utf-8").rstrip("\n")
    shutil.rmtree(folder)
    return written


@command(
    "  recollect duplicates\n  recollect duplicates --json",
    arg.limit(DEFAULT, whole=True),
    arg.rows(),
)
def duplicates(args: argparse.Namespace) -> None:
    with open_vault() as memory:
        with progress("Comparing memories", memory.coverage().memories) as advance:
            every = memory.duplicates(progress=advance)
        groups = every[: arg.limit_of(args, DEFAULT)]
        shown: dict[str, Memory] = {}
        for group in groups:
            shown |= zip(group.ids, memory.show(group.ids, opened=False), strict=True)
    if args.json:
        print_rows(args, [group._asdict() for group in groups])
        return
    if not every:
        print("No two memories say the same.")
        return
    lines = [line for group in groups for line in (*_group_lines(group, shown), "")]
    more = arg.more_line("duplicates", len(every) - len(groups), args)
    tail = [counted(len(every), "group"), *([more] if more else [])]
    show("\n".join([*lines, *(paint(line, DIM) for line in tail)]))


def _group_lines(group: DuplicateGroup, shown: Mapping[str, Memory]) -> Iterator[str]:
    yield f"{paint(group.reason.capitalize(), BOLD)} ({group.sure:.0%} sure)"
    for id in group.ids:
        heading = shorten(heading_line(shown[id]), max(20, inner_width() - count_cells(id) - 2))
        yield f"{INDENT}{visible(id)}  {paint(heading, DIM)}"
    if group.reason == "same file":
        yield INDENT + wrap_sentence(f"Both are followed: {visible(group.about)}", DIM, 6)
    else:
        yield INDENT + wrap_sentence(
            f"To merge: recollect merge {visible(' '.join(group.ids))}", DIM, 6
        )


def _print_policies(declared: Mapping[str, PolicySettings], args: argparse.Namespace) -> None:
    if args.json:
        print_json({name: asdict(policy) for name, policy in declared.items()})
        return
    for name, policy in declared.items():
        print(f"{paint(visible(name), BOLD)}: {visible(describe_policy(policy))}")
    if not declared:
        print(NO_POLICIES)


def describe_policy(policy: PolicySettings) -> str:
    """Return what a policy does, in a sentence."""
    filters = {name: getattr(policy, name) for name in POLICY_FILTERS if getattr(policy, name)}
    texts = (
        f"{name} {', '.join(value) if isinstance(value, tuple) else value}"
        for name, value in filters.items()
    )
    which = f"captures ({', '.join(texts)})" if filters else "captures"
    spared = ", unless someone opened or accepted it" if policy.unless_useful else ""
    return {
        "expire": f"forget {which} not changed for {policy.after}{spared}",
        "purge": f"delete {which} permanently that are not changed for {policy.after}{spared}",
        "archive": f"archive {which} neither changed nor used for {policy.after}",
        "cap": f"archive {which} of each project beyond the {policy.most:,} changed or used last",
    }[policy.what]


@command(
    "  recollect tidy --policies\n  recollect tidy --dry-run\n  recollect tidy",
    arg.flag("--dry-run", "only say what would be done"),
    arg.flag("--policies", "show the policies instead of applying them"),
    add_yes,
    arg.rows(unless="policies"),
)
def tidy(args: argparse.Namespace) -> None:
    with open_vault() as memory:
        if args.policies:
            _print_policies(memory.settings.policies, args)
            return
        planned = memory.tidy(dry_run=True)
        if not args.dry_run:
            for policy in planned:
                if policy.asks or (on_terminal() and len(policy.ids) > 1):
                    much = " is about more than half of the vault" if policy.asks else ""
                    result = f"{counted(len(policy.ids), 'memory')} will be {policy.outcome}"
                    confirm(args, f"The policy {policy.name}{much}: {result}.")
            planned = memory.tidy(yes=True)
    if args.json:
        print_rows(args, [outcome_json(policy) for policy in planned])
        return
    for policy in planned:
        print(visible(policy.sentence))
        if policy.ids:
            named = ", ".join(policy.ids[:MOST_NAMED])
            rest = len(policy.ids) - MOST_NAMED
            more = f" and {rest:,} more" if rest > 0 else ""
            print(paint(f"    {visible(named)}{more}", DIM))
    if not planned:
        print(NO_POLICIES)
