"""One conversation, as data: start, recall, save, contradict, supersede, end.

Every client has it, whatever carries its calls. A step says what its answer must hold, by meaning:
ids and titles, not the form of the answer. `$orders-live-in-mariadb` stands for the id that begins
so in an earlier answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

PROJECT = "shop"
PROMPT = "Where do our orders live, and in which database?"
# What the vault holds before.
SEED: tuple[Mapping[str, str], ...] = (
    {"title": "No releases on Friday", "tier": "core"},
    {
        "title": "Orders live in MariaDB",
        "text": "The orders database is MariaDB 11, on the host db-2.",
        "kind": "decision",
        "project": PROJECT,
    },
)
OLD, NEW = "orders-live-in-mariadb", "orders-live-in-postgresql"
MOVED = {
    "title": "Orders live in PostgreSQL",
    "text": "The orders database is PostgreSQL 17, on the host db-7.",
    "kind": "decision",
    "project": PROJECT,
}


class Step(NamedTuple):
    """A call, the words that its answer must hold, those that must come in this order, and those
    that only a vault with a model for meaning can know."""

    name: str
    tool: str
    arguments: Mapping[str, Any]
    shows: tuple[str, ...]
    order: tuple[str, ...] = ()
    by_meaning: tuple[str, ...] = ()


STEPS = (
    Step("start", "memory_context", {}, ("No releases on Friday", "Orders live in MariaDB")),
    Step("recall", "memory_search", {"query": PROMPT}, (OLD, "Orders live in MariaDB")),
    Step(
        "save",
        "memory_save",
        {
            "title": "Failed payments are retried three times",
            "why": "The provider drops one request in a hundred.",
            "kind": "decision",
            "tags": ["payments"],
            "project": PROJECT,
        },
        ("failed-payments-are-retried",),
    ),
    Step("contradict", "memory_save", MOVED, (NEW,), by_meaning=(OLD,)),
    Step("supersede", "memory_save", MOVED | {"supersedes": [f"${OLD}"]}, (NEW,)),
    Step("recall again", "memory_search", {"query": PROMPT}, (NEW, OLD), (NEW, OLD)),
)
END = "Orders live in PostgreSQL now; the earlier decision is replaced."


def with_ids(arguments: Any, seen: str) -> Any:
    """The arguments, with `$title-words` replaced by the id that begins so in what was seen."""
    if isinstance(arguments, str) and arguments.startswith("$"):
        found = re.findall(re.escape(arguments[1:]) + r"-[a-z0-9]{6}", seen)
        return found[-1] if found else arguments
    if isinstance(arguments, list | tuple):
        return [with_ids(each, seen) for each in arguments]
    if isinstance(arguments, Mapping):
        return {name: with_ids(value, seen) for name, value in arguments.items()}
    return arguments


def problems(step: Step, answer: str, *, by_meaning: bool = True) -> Iterator[str]:
    """Return what is wrong with the answer to a step."""
    for words in step.shows + (step.by_meaning if by_meaning else ()):
        if words not in answer:
            yield f"{step.name}: the answer lacks {words!r}: {answer[:400]!r}"
    places = [answer.find(words) for words in step.order]
    if places != sorted(places):
        yield f"{step.name}: {' is not before '.join(step.order)}: {answer[:400]!r}"


def hold_conversation(
    call: Callable[[str, dict[str, Any]], str], *, by_meaning: bool = True
) -> list[str]:
    """Have the conversation by that function, which calls a tool; what was wrong."""
    found: list[str] = []
    seen = ""
    for step in STEPS:
        answer = call(step.tool, with_ids(step.arguments, seen))
        found += problems(step, answer, by_meaning=by_meaning)
        seen += answer
    return found
