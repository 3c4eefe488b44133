"""The search page: one box, results as they are typed for, filters, and why each stands there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode

import msgspec
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from recollect import types
from recollect.engine import Recollect
from recollect.errors import RecollectError, StoreError
from recollect.interfaces.http.asking import SETS, Asked, from_parameters
from recollect.interfaces.http.problems import status_of
from recollect.interfaces.http.service import Service
from recollect.interfaces.web.rendering import AGES, environment, page
from recollect.interfaces.web.waterfall import left_out, scale_of, took, waterfall
from recollect.pipeline import MOST_FACETS
from recollect.recipes.base import Recipe
from recollect.types import Memory, Result

LIMITS = (10, 20, 50)  # shown at first, and at each "more"; who wants all of them browses
NEWEST = 6
CHIPS = 6  # of each filter; the others are behind "more"
EXAMPLES = 5
START_CHARACTERS = 240

# Facet, its parameter, its heading.
FACETS = (
    ("project", "project", "Project"),
    ("kind", "kind", "Kind"),
    ("tags", "tag", "Tags"),
    ("source", "source", "Source"),
)
# Parameters that choose among memories or change the ranking, as a person calls them.
CHOSEN = {
    "project": "project", "kind": "kind", "tag": "tag", "source": "source", "since": "since",
    "until": "until", "domain": "domain", "space": "space", "prefer_tag": "preferred tag",
    "prefer_domain": "preferred domain", "now": "as of",
}  # fmt: skip

EVIDENCE = {
    "strong": "Strong evidence",
    "weak": "Weak evidence: these may not answer it",
    "none": "No evidence: nothing here seems to answer it; these are the nearest",
}
PARTS = {
    "vector": "Search by meaning",
    "rerank": "The second opinion",
    "keyword": "Search by words",
}


class Address(NamedTuple):
    """What the page's address asks for; each link asks for something a little different."""

    pairs: tuple[tuple[str, str], ...]

    def values(self, name: str) -> list[str]:
        return [value for given, value in self.pairs if given == name and value]

    def without(self, *names: str) -> Address:
        return Address(tuple(pair for pair in self.pairs if pair[0] not in names))

    def putting(self, name: str, value: str) -> Address:
        return Address((*self.without(name).pairs, (name, value)))

    def toggled(self, name: str, value: str) -> Address:
        """Without that filter where it is on, else with it; tags add up, others take turns."""
        kept = tuple(pair for pair in self.pairs if not _is(pair, name, value))
        if len(kept) < len(self.pairs):
            return Address(kept)
        return Address((*self.pairs, (name, value))) if name == "tag" else self.putting(name, value)

    def link(self) -> str:
        """Another selection begins with as many results as any."""
        return "/?" + self.without("limit").query() if self.without("limit").pairs else "/"

    def query(self) -> str:
        return urlencode([pair for pair in self.pairs if pair[1]])


def _is(pair: tuple[str, str], name: str, value: str) -> bool:
    """Tags that differ only in case are one tag."""
    given, held = pair
    same = held.casefold() == value.casefold() if name == "tag" else held == value
    return given == name and same


class Chip(NamedTuple):
    """A filter to switch on or off. `amount` is None where it is not known."""

    key: str
    label: str
    amount: int | None
    on: bool
    href: str


class Group(NamedTuple):
    """The chips of one filter: those chosen, then the most common, then the rest."""

    name: str
    label: str
    shown: tuple[Chip, ...]
    rest: tuple[Chip, ...] = ()


def routes(service: Service) -> list[BaseRoute]:
    environment().globals["waterfall"] = waterfall

    async def show(request: Request) -> Response:
        values = await service.ask(_values, service.engine, request.query_params)
        if isinstance(values["error"], StoreError):
            raise values["error"]
        return page("search.html", request, values, status=values["status"])

    async def results(request: Request) -> Response:
        values = await service.ask(_values, service.engine, request.query_params)
        return page("_results.html", request, values, status=values["status"])

    async def feedback(request: Request) -> Response:
        told = QueryParams((await request.body()).decode("utf-8", "replace"))
        right, wrong = told.get("right", ""), told.get("wrong", "")
        query, accept = told.get("query", ""), bool(right)
        await service.ask(service.engine.feedback, query, right or wrong, accept=accept)
        back = urlencode(parse_qsl(told.get("back", "")))
        return RedirectResponse(f"/?{back}", 303)

    return [
        Route("/", show),
        Route("/results", results),
        Route("/feedback", feedback, methods=["POST"]),
    ]


def _values(engine: Recollect, parameters: QueryParams) -> dict[str, Any]:
    """Everything the templates need; what cannot be served as asked is said in place of results."""
    address = Address(tuple(p for p in parameters.multi_items() if p[0] != "quick"))
    values: dict[str, Any] = {
        "address": address,
        "text": parameters.get("q", ""),
        "now": engine.now(),
        "recipes": engine.recipes.names(),
        "default": engine.settings.search.recipe,
        "recipe": parameters.get("recipe") or engine.settings.search.recipe,
        "chosen": _chosen(address),
        "cleared": address.without(*_narrowing(address)).link(),
        "error": None, "status": 200, "response": None, "pending": False, "groups": [],
    }  # fmt: skip
    try:
        asked = _asked(address)
        recipe = engine.recipe(asked.recipe)
        values |= {"deep": _deep(recipe, address), "about": recipe.about}
        if asked.query.strip():
            values |= _found(engine, recipe, asked, address, quick="quick" in parameters)
        else:
            values |= _start(engine, asked, address)
    except RecollectError as error:
        return {"deep": None, "about": "", **values, "error": error, "status": status_of(error)}
    return values


def _asked(address: Address) -> Asked:
    """The search that the address asks for, as much of it as the page shows."""
    given = address.without("facets", "explain", "view").pairs
    asked: Asked = from_parameters(Asked, QueryParams([("q", ""), *given]))
    limit = asked.limit or LIMITS[0]
    return msgspec.structs.replace(asked, facets=True, limit=limit, view="scan")


# With a query


def _found(
    engine: Recollect, recipe: Recipe, asked: Asked, address: Address, *, quick: bool
) -> dict[str, Any]:
    """An answer and what is told about it. `quick` leaves out what a person who still types would
    wait for; the page then asks again."""
    deferred = _deferred(engine, recipe, asked) if quick else {}
    pending = bool(deferred) or (quick and asked.deep)
    if pending:
        asked = msgspec.structs.replace(asked, deep=False, set=asked.set | deferred)
    response = asked.answered(engine, mark=True)
    degraded = [_degraded(part, response) for part in response.degraded]
    read = response.counts["reranked"]
    kinds = response.facets.get("kind", {})
    among = sum(kinds.values()) if len(kinds) < MOST_FACETS else None
    return {
        "response": response,
        "pending": pending,
        "evidence": EVIDENCE.get(response.evidence or ""),
        "opinion": ("", "The second opinion follows") if pending else _opinion(response),
        "degraded": degraded,
        "warned": [told for told in degraded if told[0] != PARTS["rerank"] or not read],
        "among": among,
        "groups": _groups(address, response.facets, among),
        "scale": scale_of(result.explain for result in response),
        "judged": engine.judged(response.query, [result.id for result in response]),
        "more": _more(asked, response, address),
        "did": _did(response),
        "untimed": address.putting("read_time", "false").link() if response.understood else None,
        "timed": _reads_time_again(address),
        "start_of": start_of,
    }


def _deferred(engine: Recollect, recipe: Recipe, asked: Asked) -> dict[str, object]:
    """The constants with which no reranker is asked; empty where none would be asked anyway."""
    if engine.settings.rerank.provider == "none":
        return {}
    return recipe.deferral(asked.query)


def _opinion(response: types.Response) -> tuple[str, str] | None:
    """What came of the second opinion, in the place that said before that it follows: a warning or
    not, and the words. Why it is a warning, `_degraded` says."""
    read = response.counts["reranked"]
    if any(part.channel == "rerank" for part in response.degraded):
        return "warn", f"Second opinion: only {read} read" if read else "No second opinion"
    return ("", f"Second opinion: {read} read") if read else None


def _degraded(part: types.Degraded, response: types.Response) -> tuple[str, str, str]:
    """Which part, why, and what that means for the results."""
    reason = part.reason.rstrip(".")
    if part.channel == "rerank":
        means = "What it did not read counts as no better than the worst it read."
        if not response.counts["reranked"]:
            means = "The order is that of the first ranking."
    elif part.channel not in response.counts:
        means = "It took no part: the results come from the other channels alone."
    else:
        means = "It took part as far as it could."
    return PARTS.get(part.channel, f"The channel {part.channel}"), reason, means


def _more(asked: Asked, response: types.Response, address: Address) -> tuple[int, str] | None:
    dropped = response.counts["dropped"]
    assert isinstance(dropped, dict)
    larger = next((limit for limit in LIMITS if limit > (asked.limit or 0)), None)
    if larger is None or not dropped.get("limit"):
        return None
    return larger, "/?" + address.putting("limit", str(larger)).query()


def _did(response: types.Response) -> dict[str, Any]:
    """What the search did, in numbers."""
    counts = dict(response.counts)
    dropped = counts.pop("dropped")
    assert isinstance(dropped, dict)
    steps = {name: counts.pop(name) for name in ("pool", "reranked", "returned")}
    return {
        "channels": counts,
        **steps,
        "dropped": left_out(dropped),
        "took": took(response.timings_ms),
        "total": response.timings_ms["total"],
    }


def _reads_time_again(address: Address) -> str | None:
    """The way back for who has switched the reading of times off."""
    off = address.values("read_time")[-1:] == ["false"]
    return address.without("read_time").link() if off else None


def start_of(result: Result) -> str:
    """The beginning of a memory's text, for one that no keyword matched."""
    return opening(result.memory, START_CHARACTERS)


def opening(memory: Memory, most: int) -> str:
    """The text, or what explains it, up to `most` characters; cut between words where it can be."""
    text = " ".join((memory.text or memory.context or memory.details)[: 2 * most].split())
    if len(text) <= most:
        return text
    kept = text[:most]
    return (kept.rpartition(" ")[0] or kept).rstrip(" .,;:") + "…"


# Without a query


def _start(engine: Recollect, asked: Asked, address: Address) -> dict[str, Any]:
    """What there is: how much, the newest, and what could be asked."""
    filter = asked.filter(engine)
    narrowed = filter.narrows()
    counts = engine.facets(filter)._asdict()
    total = sum(counts["kind"].values()) if len(counts["kind"]) < MOST_FACETS else None
    limit = asked.limit if narrowed and asked.limit else NEWEST
    memories = engine.list(filter, limit)
    return {
        "groups": _groups(address, counts, total) if memories or narrowed else [],
        "among": None,
        "counts": counts,
        "total": total,
        "narrowed": narrowed,
        "memories": memories,
        "examples": _examples(memories, counts["tags"], address),
        "opening": opening,
    }


def _examples(
    memories: Sequence[Memory], tags: Mapping[str, int], address: Address
) -> list[tuple[str, str]]:
    """Queries that find something here, taken from what is here."""
    titles = [memory.title for memory in memories if 8 < len(memory.title) <= 60]
    words = [*titles[:2], *tags][:EXAMPLES]
    return [(text, address.putting("q", text).link()) for text in words]


# Filters


def _groups(
    address: Address, facets: Mapping[str, Mapping[str, int]], among: int | None
) -> list[Group]:
    """A value that everything has, and a filter without values, are not offered; what is on is."""
    made = [
        _group(address, _telling(facets.get(facet, {}), among), *told) for facet, *told in FACETS
    ]
    return [*(group for group in made if group.shown), _ages(address, facets["age"])]


def _telling(counts: Mapping[str, int], among: int | None) -> dict[str, int]:
    return {value: count for value, count in counts.items() if count != among}


def _group(address: Address, counts: Mapping[str, int], name: str, label: str) -> Group:
    on = address.values(name)
    if name == "tag":
        spelled = {tag.casefold() for tag in on}
        others = [value for value in counts if value.casefold() not in spelled]
    else:
        others = [value for value in counts if value not in on]
    known = {value.casefold(): count for value, count in counts.items()}
    chips = tuple(
        Chip(
            f"{name}:{value}",
            value,
            known.get(value.casefold()),
            value in on,
            address.toggled(name, value).link(),
        )
        for value in (*on, *others)
    )
    return Group(name, label, chips[:CHIPS], chips[CHIPS:])


def _ages(address: Address, counts: Mapping[str, int]) -> Group:
    on = address.values("since")[-1:]
    chips = [
        Chip(f"since:{age}", label, counts[age], [age] == on, address.toggled("since", age).link())
        for age, label in AGES.items()
    ]
    anything = [Chip("since:", "Any time", None, False, address.without("since").link())]
    return Group("since", "Changed", (*chips, *(anything if on else ())))


def _narrowing(address: Address) -> list[str]:
    return [name for name, _ in address.pairs if name in CHOSEN or name.startswith(SETS)]


def _chosen(address: Address) -> list[Chip]:
    """Everything that narrows or changes this search, each with the way to be rid of it."""
    return [
        Chip(f"chosen:{name}:{value}", label, None, on=True, href=href)
        for name, value, label, href in _each_chosen(address)
    ]


def _each_chosen(address: Address) -> Iterator[tuple[str, str, str, str]]:
    for name, value in address.pairs:
        if name.startswith(SETS):
            label = f"{name.removeprefix(SETS)} = {value}"
        elif name == "since" and value in AGES:
            label = AGES[value]
        elif name in CHOSEN:
            label = f"{CHOSEN[name]} {value}"
        else:
            continue
        if value:
            yield name, value, label, address.toggled(name, value).link()


def _deep(recipe: Recipe, address: Address) -> Chip | None:
    """Deep search, where the recipe has one or the address asks for it in vain."""
    on = address.values("deep")[-1:] == ["true"]
    if recipe.deep is None and not on:
        return None
    return Chip("deep:true", "Deep search", None, on, address.toggled("deep", "true").link())
