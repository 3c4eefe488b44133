"""A vault on another Recollect server.

Its answers are checked: every score must follow from its explanation, and texts are cut to one line
without control characters. It is asked for its own vault alone, so that two servers that know each
other cannot ask in a circle.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeVar
from urllib.parse import quote

import msgspec
from msgspec import Struct

from recollect.errors import NotFound, ProviderError, UserError
from recollect.memory_json import id_path
from recollect.models.remote import Blamed, Key, Remote
from recollect.present.response import VIEWS, FullView
from recollect.present.schema import FileLines, MemoryDate
from recollect.recipes.base import Recipe
from recollect.recipes.registry import BUILT_IN
from recollect.recipes.tree import differences
from recollect.times import in_utc, iso, validity
from recollect.types import (
    TIMES,
    Degraded,
    Evidence,
    FilePlace,
    Filter,
    Intent,
    Memory,
    Passage,
    Response,
    Result,
    Search,
    Term,
    View,
    recompute,
)
from recollect.vaults.known import KnownVault

# Floating-point sums may differ in the last place from one machine to another.
TOLERANCE = 1e-9
# Far above any recipe's scores; a larger one times a priority might overflow.
LARGEST_SCORE = 1e9
# Recipes need five levels; an unbounded tree would exhaust the stack of any reader.
DEEPEST = 24
# The API's own limit.
MOST_RESULTS = 1000
OLDER = "it may run an older Recollect"
# Longer notes are cut.
LONGEST_NOTE = 300
MOST_NOTES = 20
# Filter fields that the API of another server does not have.
NARROWER = (
    "among", "severity", "tier", "made_since", "made_before", "holding", "without", "valid_at",
    "unchanged_since",
)  # fmt: skip
# Fields that older servers refuse; they are sent only if they are set.
NEWER = ("archived", "as_of", "without_tags", "without_projects", "without_sources")
# Fields that are not sent: its answer is narrowed here.
OURS = frozenset(
    {"filter", *NARROWER, "without_kinds", "changes", "vaults", "mark", "facets", "sort"}
)

Shape = TypeVar("Shape")


class _RemoteResult(Struct):
    id: str
    score: float
    memory: Memory
    explain: Term
    snippet: str = ""
    file: FileLines | None = None
    same: tuple[MemoryDate, ...] = ()
    replaces: tuple[MemoryDate, ...] = ()
    superseded_by: MemoryDate | None = None
    seems_to_replace: tuple[MemoryDate, ...] = ()
    seems_replaced_by: MemoryDate | None = None


class _RemoteAnswer(Struct):
    intent: Intent
    view: View
    results: list[dict[str, Any]]
    counts: dict[str, int | dict[str, int]]
    degraded: list[Degraded]
    notes: list[str]
    understood: list[str] = []
    evidence: Evidence | None = None
    confidence: float | None = None


class RemoteVault:
    """Searches the vault and reads its memories. Raises only ProviderError and NotFound."""

    def __init__(self, known: KnownVault, environment: Mapping[str, str], timeout_s: float) -> None:
        self._known = known
        self._timeout_s = timeout_s
        blamed = Blamed(
            f"the url of the vault {known.name}",
            "search.vault_deadline_ms",
            f"token_env of the vault {known.name}",
        )
        self._remote = Remote(
            known.url,
            blamed=blamed,
            who=f"The vault {known.name}",
            timeout_s=timeout_s,
            key=Key.read(environment, known.token_env),
            hints={404: OLDER, 405: OLDER},
        )

    def search(self, recipe: Recipe, search: Search) -> Response:
        start = time.perf_counter()
        view = search.view or recipe.view
        body = self._body(recipe, msgspec.structs.replace(search, view=view))
        answer = self._remote.post_once(
            "/api/v1/search", body, dict[str, Any], timeout_s=self._timeout_s
        )
        parsed = self._convert(answer, _RemoteAnswer)
        if parsed.view != view or len(parsed.results) > MOST_RESULTS:
            raise self._wrong("answered with something else than was asked for")
        spent = round((time.perf_counter() - start) * 1000, 3)
        return Response(
            query=search.query,
            recipe=recipe.name,
            view=view,
            intent=parsed.intent,
            results=tuple(
                result
                for answer in parsed.results
                if (result := self._result(answer, recipe, view, search.now)).memory.kind
                not in search.filter.without_kinds
            ),
            counts=_counts(parsed.counts, len(parsed.results)),
            topics={},
            degraded=tuple(
                Degraded(_line(part.channel), _line(part.reason), part.reach)
                for part in parsed.degraded[:MOST_NOTES]
            ),
            notes=tuple(map(_line, parsed.notes[:MOST_NOTES])),
            timings_ms={"total": spent},
            understood=tuple(map(_line, parsed.understood[:MOST_NOTES])),
            evidence=parsed.evidence,
            confidence=parsed.confidence,
        )

    def _convert(self, answer: dict[str, Any], kind: type[Shape]) -> Shape:
        """Read a JSON object. The error leaves msgspec's reason out, since that quotes the data."""
        try:
            msgspec.json.encode(answer)  # a lone surrogate cannot be shown anywhere
            return msgspec.convert(answer, kind)
        except (msgspec.ValidationError, UnicodeEncodeError, RecursionError):
            raise self._wrong("answered in an unexpected shape") from None

    def _result(
        self, answer: dict[str, Any], recipe: Recipe, view: View, now: datetime | None
    ) -> Result:
        result = self._convert(answer, _RemoteResult)
        shown = self._convert(answer, VIEWS[view])
        if result.memory.id != result.id or not _follows(result.explain, result.score):
            raise self._wrong("answered with a score that does not follow from its explanation")
        memory, at = self._in_utc(result.memory), result.file
        newer, perhaps = result.superseded_by, result.seems_replaced_by
        if isinstance(shown, FullView):
            shown = msgspec.structs.replace(shown, memory=memory)
        return Result(
            id=result.id,
            score=result.score,
            vault=self._known.name,
            memory=memory,
            explain=result.explain,
            shown=shown,
            passage=Passage("text", result.snippet) if recipe.reads and result.snippet else None,
            file=FilePlace(_line(at.path), _line(at.heading), *at.lines, at.line) if at else None,
            same=tuple(map(self._related, result.same[:MOST_NOTES])),
            replaces=tuple(map(self._related, result.replaces[:MOST_NOTES])),
            superseded_by=self._related(newer) if newer else None,
            seems_to_replace=tuple(map(self._related, result.seems_to_replace[:MOST_NOTES])),
            seems_replaced_by=self._related(perhaps) if perhaps else None,
            validity=validity(memory, now) if now else "",
        )

    def _related(self, other: MemoryDate) -> Memory:
        """Return a memory with the id and the date that a result gives of another memory."""
        fields = dict.fromkeys(("created_at", "updated_at"), other.updated_at)
        return self._in_utc(self._convert(fields | {"id": _line(other.id)}, Memory))

    def show(self, id: str, as_of: datetime | None = None) -> Memory:
        path = f"/api/v1/memories/{id_path(id)}?federate=false"
        if as_of is not None:
            path += f"&as_of={quote(iso(as_of))}"
        try:
            memory = self._remote.get_once(path, Memory, timeout_s=self._timeout_s)
        except ProviderError as error:
            raise NotFound(f"The vault {self._known.name} has no memory {id!r} to show.") from error
        if memory.id != id:
            raise self._wrong("answered with another memory than was asked for")
        return self._in_utc(memory)

    def close(self) -> None:
        self._remote.close()

    def _body(self, recipe: Recipe, search: Search) -> dict[str, Any]:
        """Return the search as the body of an API request."""
        if any(getattr(search.filter, name) != getattr(Filter(), name) for name in NARROWER):
            raise self._wrong("cannot be asked with this filter")
        name, changes = self._nearest(recipe)
        limit = None if search.limit is None else min(search.limit, MOST_RESULTS)
        fields = msgspec.structs.asdict(search.filter) | msgspec.structs.asdict(search)
        body = {
            field: iso(value) if isinstance(value, datetime) else value
            for field, value in fields.items()
            if field not in OURS and not (field in NEWER and not value)
        }
        asked = {"recipe": name, "set": changes, "limit": limit, "federate": False}
        if search.deadline_ms is not None:  # the answer must come back, and be ranked
            asked["deadline_ms"] = max(1, search.deadline_ms // 2)
        return body | asked | {"explain": True, "whole": True}

    def _nearest(self, recipe: Recipe) -> tuple[str, dict[str, object]]:
        """Return the built-in recipe that is most like this one, and the constants that differ.

        The other server does not know the user's own recipes.
        """
        if BUILT_IN.get(recipe.name) == recipe:
            return recipe.name, {}

        ways = [
            (name, {field: here for field, _, here in differences(built_in, recipe)})
            for name, built_in in BUILT_IN.items()
        ]
        name, changes = min(ways, key=lambda way: (way[0] != recipe.name, len(way[1])))
        if not all(isinstance(value, bool | int | float | str) for value in changes.values()):
            raise self._wrong(f"cannot be asked with the recipe {recipe.name}, which is your own")
        return name, changes

    def _in_utc(self, memory: Memory) -> Memory:
        times = {name: getattr(memory, name) for name in TIMES}
        try:
            zones = {name: in_utc(moment) for name, moment in times.items() if moment is not None}
        except UserError:
            raise self._wrong("answered with a time that UTC does not have") from None
        return msgspec.structs.replace(memory, **zones)

    def _wrong(self, what: str) -> ProviderError:
        return ProviderError(f"The vault {self._known.name} {what}.", transient=False)


def _follows(term: Term, score: float) -> bool:
    """Return True if the score follows from its explanation, and the explanation can be shown."""
    try:
        value = recompute(term) if _is_sound(term, DEEPEST) else math.nan
    except (KeyError, ValueError, OverflowError):  # an unknown operation, or one without parts
        return False
    near = abs(value - score) <= TOLERANCE * max(1.0, abs(score))
    return near and term.value == score and abs(score) <= LARGEST_SCORE


def _is_sound(term: Term, left: int) -> bool:
    """Return True if the term has at most `left` levels, and no names with control characters."""
    shown = left > 0 and term.name.isprintable()
    return shown and all(_is_sound(part, left - 1) for part in term.parts)


def _line(text: str) -> str:
    """Cut a text of the other server to one line without control characters."""
    shown = "".join(sign if sign.isprintable() else " " for sign in text[: 2 * LONGEST_NOTE])
    return " ".join(shown.split())[:LONGEST_NOTE]


def _counts(counts: dict[str, int | dict[str, int]], returned: int) -> dict[str, object]:
    """Return the counts that are whole numbers, and what was dropped by reason."""
    dropped = counts.get("dropped")
    numbers = {_line(name): count for name, count in counts.items() if isinstance(count, int)}
    left_out = dropped if isinstance(dropped, dict) else {}
    return {
        "pool": 0,
        "reranked": 0,
        **numbers,
        "returned": returned,
        "dropped": {_line(name): count for name, count in left_out.items()},
    }
