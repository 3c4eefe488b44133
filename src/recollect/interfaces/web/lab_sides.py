"""The lab's address, the search and results of one side, and how the two sides differ."""

from __future__ import annotations

import json
from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct
from starlette.datastructures import QueryParams

from recollect.engine import Recollect
from recollect.errors import NotFound, ProviderError, RecollectError, UserError
from recollect.interfaces.http.schemas import SETS, SearchParameters, from_parameters
from recollect.interfaces.web.charts import (
    Scale,
    SliderGroup,
    is_default,
    number_text,
    scale_of,
    slider_groups,
)
from recollect.interfaces.web.rendering import heading
from recollect.present.response import steps
from recollect.recipes.base import Recipe
from recollect.recipes.learned import Learned
from recollect.recipes.registry import BUILT_IN
from recollect.recipes.tree import constants, differences, nested_changes, toml_lines
from recollect.types import Response, Result, Term

# The address: the query, and the recipe and changes of each side

LEFT, RIGHT = "left", "right"
USUAL = {LEFT: "vault", RIGHT: "blend"}
SET_PREFIXES = (SETS, f"{LEFT}.{SETS}", f"{RIGHT}.{SETS}")  # of parameters that change a constant
# A side's fields in a form sent without script; the address does not keep them.
PASSING = ("of", "as", "replace", "name")
# The pieces that a script can load: a side's list, the part below both, and the scores.
PIECES = (LEFT, RIGHT, "below", "score")

Pairs = list[tuple[str, str]]


class LabAddress(NamedTuple):
    """The two sides, their common parameters, the memory to explain, whether to list differences,
    and the piece that a script loads."""

    left: SearchParameters
    right: SearchParameters
    kept: Pairs
    open: str = ""
    diff: bool = False
    only: str = ""

    @property
    def query(self) -> str:
        return str(self.left.query)

    def pairs(self) -> Pairs:
        """Return the parameters of the shortest equivalent address."""
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
    """Read the address. Constants set to their declared value, and those of a recipe that is not
    chosen, are dropped."""
    pairs = query.multi_items()
    skipped = {
        LEFT, RIGHT, "open", "diff", "only", "score", "accept", "dismiss", "undo", "save",
        "rename", "delete",
    }  # fmt: skip
    kept = [
        (name, value)
        for name, value in pairs
        if name not in {*skipped, "q"} and not name.startswith(SET_PREFIXES) and not _passing(name)
    ]
    return LabAddress(
        left=_read_side(engine, LEFT, query, kept),
        right=_read_side(engine, RIGHT, query, kept),
        kept=kept,
        open=query.get("open", ""),
        diff=query.get("diff", "") == "1",
        only=query.get("only", "") if query.get("only") in PIECES else "",
    )


def _read_side(engine: Recollect, side: str, query: QueryParams, kept: Pairs) -> SearchParameters:
    recipe = query.get(side) or USUAL[side]
    of = query.get(f"{side}.of", recipe)
    fields = [("q", query.get("q", "")), *_pairs_of(side, kept), ("recipe", recipe)]
    if of == recipe:
        declared = _declared_constants(engine, recipe)
        for name, value in _pairs_of(side, query.multi_items()):
            constant = name.removeprefix(SETS)
            if name != constant and not is_default(value, declared.get(constant, float("nan"))):
                fields.append((name, value))
    asked: SearchParameters = from_parameters(SearchParameters, QueryParams(fields))
    return asked


def _pairs_of(side: str, pairs: Iterable[tuple[str, str]]) -> Pairs:
    """Return the parameters of this side, without its prefix, and the common ones."""
    other = RIGHT if side == LEFT else LEFT
    return [
        (name.removeprefix(f"{side}."), value)
        for name, value in pairs
        if not name.startswith(f"{other}.")
    ]


def _passing(name: str) -> bool:
    side, _, rest = name.partition(".")
    return side in USUAL and rest in PASSING


def _declared_constants(engine: Recollect, recipe: str) -> dict[str, float]:
    try:
        return {constant.name: constant.value for constant in constants(engine.recipe(recipe))}
    except UserError:
        return {}  # the search of the side reports it


def text_of(value: object) -> str:
    """Return a value as a person would type it; empty for None."""
    if value is None:
        return ""
    if isinstance(value, bool | str):
        return value if isinstance(value, str) else str(value).lower()
    if isinstance(value, int | float):
        return number_text(value)
    return json.dumps(value, ensure_ascii=False)


# One side

MOST_ROWS = 25  # with more, the lines between the lists are hard to follow
EVALUATION = "recollect_evaluation"  # a distribution of its own
NO_EVALUATION = "The score is in a package of its own; run: pip install 'recollect-memory[eval]'."
ROWS = 10  # of each list by default, whatever its recipe would return


class Move(NamedTuple):
    """A memory's ranks in the left and the right list; None if it is not in that list."""

    left: int | None
    right: int | None

    @property
    def by(self) -> int | None:
        return None if self.left is None or self.right is None else self.left - self.right

    @property
    def kind(self) -> str:
        if self.by is None:
            return "alone"
        return "same" if self.by == 0 else "up" if self.by > 0 else "down"


class LabRow(NamedTuple):
    """One result of a list. `accepted`: the last feedback on it for this query."""

    rank: int
    result: Result
    title: str
    accepted: bool | None
    move: Move | None


class Learning(NamedTuple):
    """The effect of feedback on a recipe: on its learned weights, and through its signal."""

    accepted: int
    dismissed: int
    learned: Learned
    signal: float

    @property
    def largest(self) -> float:
        return max((max(pair) for pair in self.learned.weights.values()), default=0) or 1


class Side(Struct, frozen=True, kw_only=True):
    """One side: its parameters and its results."""

    name: str
    asked: SearchParameters
    groups: tuple[SliderGroup, ...] = ()
    others: dict[str, str] = {}  # changes that are not numbers and have no slider
    declared: Recipe | None = None  # None if there is no such recipe
    recipe: Recipe | None = None  # with the changes
    own: bool = False  # the declared recipe is the user's own, in a file
    about: str = ""
    answer: Response | None = None
    rows: tuple[LabRow, ...] = ()
    toml: str = ""
    learning: Learning | None = None
    problem: str = ""

    @property
    def changed(self) -> int:
        return len(self.asked.set)

    @property
    def more(self) -> list[str]:
        """The ids after the shown rows; a script needs their ranks to show moves."""
        return [result.id for result in (self.answer or ())][len(self.rows) :]

    @property
    def scale(self) -> Scale:
        """One scale for the whole list, so that its bars can be compared."""
        return scale_of(row.result.explain for row in self.rows)

    def place(self, id: str) -> tuple[int, Result] | None:
        """Return a memory's rank and result, also beyond the shown rows."""
        found = enumerate(self.answer or (), start=1)
        return next(((rank, result) for rank, result in found if result.id == id), None)


def side_of(engine: Recollect, name: str, asked: SearchParameters, *, search: bool) -> Side:
    """Return a side with its recipe and results, as far as possible; errors are in `problem`."""
    found: dict[str, Any] = {}
    try:
        declared = engine.recipe(asked.recipe)
        known = constants(declared)
        numbers = {constant.name for constant in known}
        found |= {
            "groups": slider_groups(known, asked.set),
            "others": {
                key: text_of(value) for key, value in asked.set.items() if key not in numbers
            },
            "about": declared.about,
            "declared": declared,
            "own": declared.name not in BUILT_IN,
        }
        recipe = engine.recipes.with_changes(declared.name, asked.set) if asked.set else declared
        toml = "\n".join(toml_lines({"extends": declared.name} | nested_changes(asked.set)))
        found |= {"recipe": recipe, "toml": toml.rstrip()}
        if search:
            found["learning"] = _learning(engine, declared.name, recipe)
        if search and asked.query.strip():
            limit = asked.limit or ROWS
            answer = msgspec.structs.replace(asked, limit=limit).search(engine)
            rows = _rows(engine, answer, min(limit, MOST_ROWS))  # some recipes return more
            found |= {"answer": answer, "rows": rows}
    except (UserError, ProviderError) as error:
        found["problem"] = str(error)
    return Side(name=name, asked=asked, **found)


def _learning(engine: Recollect, name: str, recipe: Recipe) -> Learning:
    values = {found.name.split(".", 2)[-1]: found.value for found in constants(recipe)}
    return Learning(
        *engine.opinions(),
        learned=engine.learned_weights(name),
        signal=values.get("signals.feedback.weight", 0.0),
    )


def _rows(engine: Recollect, answer: Response, most: int) -> tuple[LabRow, ...]:
    shown = answer.results[:most]
    feedback = engine.feedback_on(answer.query, [result.id for result in shown])
    return tuple(
        LabRow(rank, result, heading(result.memory), feedback.get(result.id), None)
        for rank, result in enumerate(shown, start=1)
    )


def with_moves(side: Side, other: Side) -> Side:
    """Add the moves to the rows of a side, if both lists exist."""
    if side.answer is None or other.answer is None:
        return side
    ranks = {result.id: rank for rank, result in enumerate(other.answer, start=1)}
    rows = []
    for row in side.rows:
        there = ranks.get(row.result.id)
        move = Move(row.rank, there) if side.name == LEFT else Move(there, row.rank)
        rows.append(row._replace(move=move))
    return msgspec.structs.replace(side, rows=tuple(rows))


def score_sides(engine: Recollect, *sides: Side) -> dict[str, Any]:
    """Score each side on the user's own questions, with and without its changes."""
    if find_spec(EVALUATION) is None:
        return {"sides": {}, "problem": NO_EVALUATION}
    own_scores = import_module(f"{EVALUATION}.own_questions").own_scores
    ready = [side for side in sides if side.recipe and side.declared]
    pairs = [(s.recipe, s.declared) for s in ready if s.recipe and s.declared]
    try:
        found = own_scores(engine, pairs)
    except RecollectError as error:
        return {"sides": {}, "problem": str(error)}
    scores = {side.name: score for side, score in zip(ready, found.scores, strict=False)}
    return {"sides": scores, "known": found.known, "asked": found.asked, "problem": ""}


def differing(left: Side, right: Side) -> list[tuple[str, str, str]]:
    """Return the constants that differ: first those of both sides, then those of one."""
    if left.recipe is None or right.recipe is None:
        return []
    found = differences(left.recipe, right.recipe)
    found.sort(key=lambda row: (row[1] is None or row[2] is None, row[1] is None))
    return [(name, text_of(here), text_of(there)) for name, here, there in found]


def compare_memory(engine: Recollect, id: str, left: Side, right: Side) -> dict[str, Any] | None:
    """Return the ranks and score parts of one memory on both sides."""
    if not id or left.answer is None or right.answer is None:
        return None
    places = [(side, side.place(id)) for side in (left, right)]
    try:
        [memory] = engine.show([id], opened=False)
    except NotFound:
        return None
    sums = [_sums(place[1].explain) if place else {} for _, place in places]
    parts = [
        (name, sums[0].get(name), sums[1].get(name)) for name in dict.fromkeys((*sums[0], *sums[1]))
    ]
    return {"id": id, "memory": memory, "places": places, "parts": parts}


def _sums(term: Term) -> dict[str, float]:
    found: dict[str, float] = {}
    for step in steps(term):
        found[step.name] = found.get(step.name, 0.0) + step.value
    return found
