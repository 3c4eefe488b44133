"""The lab's address: the query, and the recipe and changes of each side."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import NamedTuple

from starlette.datastructures import QueryParams

from recollect.engine import Recollect
from recollect.errors import UserError
from recollect.interfaces.http.parameters import SETS, SearchParameters, from_parameters
from recollect.interfaces.web.sliders import typed, unchanged
from recollect.recipes.constants import constants

LEFT, RIGHT = "left", "right"
USUAL = {LEFT: "vault", RIGHT: "blend"}
# What a side's fields are called when the form is sent without script; none of it is kept.
PASSING = ("of", "as", "replace", "name")
# The pieces that can be had alone: a side's list, what stands below both, and the score of both.
PIECES = (LEFT, RIGHT, "below", "score")

Pairs = list[tuple[str, str]]


class LabAddress(NamedTuple):
    """What an address asks for: the two sides, what both share, the memory to explain, whether to
    list the differences, and the only piece that a script wants."""

    left: SearchParameters
    right: SearchParameters
    kept: Pairs
    open: str = ""
    diff: bool = False
    only: str = ""

    @property
    def query(self) -> str:
        return self.left.query

    def pairs(self) -> Pairs:
        """The shortest address that asks for the same."""
        found = [("q", self.query), *((name, value) for name, value in self.kept if value)]
        for name, asked in ((LEFT, self.left), (RIGHT, self.right)):
            found.append((name, asked.recipe or ""))
            found += [
                (f"{name}.{SETS}{constant}", text_of(value))
                for constant, value in asked.set.items()
            ]
        found += [("open", self.open)] if self.open else []
        return found + ([("diff", "1")] if self.diff else [])


def read(engine: Recollect, query: QueryParams) -> LabAddress:
    """Read the address. A constant set to its declared value is no change; a constant of another
    recipe than the chosen one is dropped."""
    pairs = query.multi_items()
    skipped = {
        LEFT, RIGHT, "open", "diff", "only", "score", "accept", "dismiss", "undo", "save",
        "rename", "delete",
    }  # fmt: skip
    kept = [
        (name, value)
        for name, value in pairs
        if name not in skipped and name != "q" and not _sets(name) and not _passing(name)
    ]
    return LabAddress(
        left=_asked(engine, LEFT, query, kept),
        right=_asked(engine, RIGHT, query, kept),
        kept=kept,
        open=query.get("open", ""),
        diff=query.get("diff", "") == "1",
        only=query.get("only", "") if query.get("only") in PIECES else "",
    )


def _asked(engine: Recollect, side: str, query: QueryParams, kept: Pairs) -> SearchParameters:
    recipe = query.get(side) or USUAL[side]
    of = query.get(f"{side}.of", recipe)
    fields = [("q", query.get("q", "")), *_own(side, kept), ("recipe", recipe)]
    if of == recipe:
        declared = _declared(engine, recipe)
        for name, value in _own(side, query.multi_items()):
            constant = name.removeprefix(SETS)
            if name != constant and not unchanged(value, declared.get(constant, float("nan"))):
                fields.append((name, value))
    asked: SearchParameters = from_parameters(SearchParameters, QueryParams(fields))
    return asked


def _own(side: str, pairs: Iterable[tuple[str, str]]) -> Pairs:
    """What concerns this side, without its prefix: its own, and what both share."""
    other = RIGHT if side == LEFT else LEFT
    return [
        (name.removeprefix(f"{side}."), value)
        for name, value in pairs
        if not name.startswith(f"{other}.")
    ]


def _sets(name: str) -> bool:
    return name.startswith((SETS, f"{LEFT}.{SETS}", f"{RIGHT}.{SETS}"))


def _passing(name: str) -> bool:
    side, _, rest = name.partition(".")
    return side in USUAL and rest in PASSING


def _declared(engine: Recollect, recipe: str) -> dict[str, float]:
    try:
        return {constant.name: constant.value for constant in constants(engine.recipe(recipe))}
    except UserError:
        return {}  # the side says so when it is searched


def text_of(value: object) -> str:
    """A value as a person would type it; empty for None."""
    if value is None:
        return ""
    if isinstance(value, bool | str):
        return value if isinstance(value, str) else str(value).lower()
    if isinstance(value, int | float):
        return typed(value)
    return json.dumps(value, ensure_ascii=False)
