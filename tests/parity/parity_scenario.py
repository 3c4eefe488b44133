"""The steps that are run through every interface, in this order, as data.

A step is the name of what is done, and what it is done with. Searches name their view and limit,
since each interface has its own idea of how much to show where none is named.
"""

from __future__ import annotations

from typing import Any, NamedTuple, get_args

from recollect.recipes.registry import BUILT_IN
from recollect.types import View

NOW = "2026-03-01T12:00:00Z"
QUESTION = "how do we refresh tokens"
TOO_LONG = "x" * 10_001


class Step(NamedTuple):
    """`what` is a method of an interface, `given` its arguments."""

    name: str
    what: str
    given: dict[str, Any]


def save(name: str, **fields: Any) -> Step:
    return Step(name, "save", {"fields": fields})


def search(name: str, query: str = QUESTION, **asked: Any) -> Step:
    told = {"view": "scan", "limit": 8, "explain": True} | asked
    return Step(name, "search", {"query": query, "asked": told})


def edit(name: str, id: str, **changes: Any) -> Step:
    return Step(name, "edit", {"id": id, "changes": changes})


def show(name: str, id: str, **asked: Any) -> Step:
    return Step(name, "show", {"id": id, **asked})


def context(name: str, query: str = "", **asked: Any) -> Step:
    return Step(name, "context", {"query": query, "asked": {"limit": 5, "max_tokens": 900} | asked})


def browse(name: str, **narrow: Any) -> Step:
    return Step(name, "browse", {"narrow": {"limit": 10} | narrow})


RUDDER = {
    "title": "Rudder pins are bronze", "text": "Steel ones rusted within a year.",
    "tags": ["rudder", "metal"], "kind": "decision", "severity": "warning", "domain": "repair",
    "project": "boat", "source": "log-book", "why": "Salt.", "created_at": "2026-02-20T08:00:00Z",
}  # fmt: skip
SAVING = (
    save("one with an id", id="sail-1", title="Sails dry below deck", text="Never in the sun.",
         tags=["sail"], project="boat", tier="core", valid_until="2030-01-01"),
    save("one without an id", **RUDDER),
    save("the same again is repeated", **RUDDER),
    save("the same in other words adds what is new", **RUDDER | {"tags": ["bronze"]}),
    save("the same id again updates", id="sail-1", title="Sails dry below deck", text="In May."),
    save("the same id with the same changes nothing", id="sail-1", title="Sails dry below deck",
         text="In May."),
    save("in another language", id="ja-1", title="帆は甲板の下で乾かす", text="日光に当てない。"),
    show("a saved memory is read back whole", "sail-1"),
)  # fmt: skip
SEARCHES = (
    *(search(f"recipe {name}", recipe=name) for name in BUILT_IN),
    *(search(f"view {view}", view=view, limit=3) for view in get_args(View)),
    search("deep, by gnosis", recipe="gnosis", deep=True, view="preview", limit=20),
    search("without an explanation", explain=False),
    search("what was just saved", "rudder pins"),
    search("what was saved in another language", "甲板の下"),
    search("by project", project="harbor-api"),
    search("by tag, domain and kind", tags=["auth"], domain="security", kind="decision"),
    search("by source and space", source="cli", space="work"),
    search("since a day", since="2026-02-01"),
    search("since a week ago, until a day", since="5w", until="2026-02-25"),
    search("prefers tags and a domain", recipe="vault", prefer_tags=["auth"], prefer_domain="auth"),
    search("time in words", "what did we decide last week"),
    search("time in words, taken as words", "what did we decide last week", literal=True),
    search("an exact name", "ERR_4021"),
    search("a typing error", "refesh tokns"),
    search("fields and words", "kind:decision tag:auth tokens -project:ledger -docker"),
    search("fields alone", "kind:decision,bug -tag:jwt", limit=20),
    search("a field and another filter", "kind:decision tokens", project="harbor-api"),
    search("signs of a query language", 'tokens AND (NOT "x" OR *:^~'),
    search("no word at all", "?!"),
    search("nothing found", "zyxomma"),
    search("an empty query", ""),
    search("with a deadline that is far away", deadline_ms=3_600_000),
)  # fmt: skip
CHANGES = (
    edit("a text and a severity", "sail-1", text="In April.", severity="critical"),
    edit("tags beside the others", "sail-1", add_tags=["wet"], remove_tags=["sail"]),
    edit("back to the default", "sail-1", severity=None, valid_until=None),
    edit("nothing that is not so already", "sail-1", text="In April."),
    search("finds the changed text", "sails april"),
    Step("one is forgotten", "forget", {"id": "auth-jwt-001"}),
    search("the forgotten one is not found"),
    Step("it is brought back", "forget", {"id": "auth-jwt-001", "undo": True}),
    search("it is found again"),
    Step("right", "feedback", {"query": QUESTION, "id": "auth-jwt-001", "accepted": True}),
    Step("wrong", "feedback", {"query": QUESTION, "id": "home-guitar-001", "accepted": False}),
    search("the ranking has learned", recipe="vault"),
    browse("the first page"),
    browse("a project", project="boat"),
    browse("tags and time", tags=["auth"], since="2025-01-01", until="2026-03-01"),
    context("the newest"),
    context("about something", "refresh tokens", project="harbor-api"),
    context("in few tokens", "refresh tokens", max_tokens=60),
    search("as of a time", as_of=NOW),
    show("one as of a time", "sail-1", as_of=NOW),
    browse("a list as of a time", project="boat", as_of=NOW),
    context("a context as of a time", "refresh tokens", as_of=NOW),
    save("the old mast", id="mast-1", title="The mast is spruce", project="boat"),
    save("the new mast", id="mast-2", title="Carbon fibre carries the sails", project="boat"),
    save("the mast again", id="mast-3", title="Stays are of steel wire", project="boat"),
    Step("one takes the place of another", "supersede", {"old": "mast-1", "new": "mast-2"}),
    Step("two become one", "merge", {"ids": ["mast-2", "mast-3"]}),
    show("what leads to the merged one", "mast-1"),
)
REFUSALS = (
    show("no such memory", "nobody"),
    edit("a change of no memory", "nobody", title="x"),
    Step("forgetting no memory", "forget", {"id": "nobody"}),
    Step("bringing back what was not forgotten", "forget", {"id": "sail-1", "undo": True}),
    Step("an opinion on no memory", "feedback", {"query": "x", "id": "nobody", "accepted": True}),
    Step("an opinion on no query", "feedback", {"query": " ", "id": "sail-1", "accepted": True}),
    save("neither title nor text", tags=["x"]),
    save("only blanks", title="  "),
    save("no time", title="x", created_at="yesterday-ish"),
    save("a blank kind", title="x", kind=" "),
    save("a text that is too long", text="é" * 500_001),
    save("a title that is too long", title="x" * 100_001),
    edit("a text that has become too long", "sail-1", text="x" * 1_000_001),
    edit("takes away the last words", "sail-1", title=None, text=None),
    search("no such recipe", recipe="nonesuch"),
    search("a deep search with one word", "tokens", recipe="gnosis", deep=True, view="preview"),
    browse("no such time", since="2026-13-45"),
    search("a query that is too long", TOO_LONG),
    search("a deadline of no time", deadline_ms=0),
    search("a deadline in the past", deadline_ms=-5),
    context("a context for what is too long", TOO_LONG),
    context("a context for blanks that are too many", " " * 10_001),
    Step(
        "an opinion on what is too long",
        "feedback",
        {"query": TOO_LONG, "id": "sail-1", "accepted": True},
    ),
    browse("a time that UTC does not have", since="9999-12-31T23:59:59-12:00"),
    search("as of a time to come", as_of="2026-03-02"),
    browse("as of a time before the vault", as_of="2020-01-01"),
    show("what was not there yet", "nobody", as_of=NOW),
)
STEPS = (*SAVING, *SEARCHES, *CHANGES, *REFUSALS)
# Models make each search a hundred times as long; these show all that models can change.
WITH_MODELS = tuple(
    step
    for step in STEPS
    if step.what not in ("search", "browse")
    or step.name.startswith(("recipe ", "deep", "what was saved", "the rank"))
)
