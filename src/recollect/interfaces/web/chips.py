"""The address of a page with filters, and its chips: links that switch a filter on or off."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import quote_plus

from msgspec import Struct
from msgspec.structs import replace

from recollect.engine import Recollect
from recollect.interfaces.http.schemas import SETS
from recollect.interfaces.web.rendering import AGES
from recollect.recipes.base import Recipe
from recollect.types import ANY_OF, Filter, Response

NOT = "not_"  # prefix of filters that exclude


class Address(NamedTuple):
    """The path and parameters of a page; each link changes some of them."""

    pairs: tuple[tuple[str, str], ...]
    path: str = "/"

    def values(self, name: str) -> list[str]:
        return [value for parameter, value in self.pairs if parameter == name and value]

    def without(self, *names: str) -> Address:
        return self._replace(pairs=tuple(pair for pair in self.pairs if pair[0] not in names))

    def set(self, name: str, value: str) -> Address:
        return self._replace(pairs=(*self.without(name).pairs, (name, value)))

    def add(self, name: str, value: str) -> Address:
        return self._replace(pairs=(*self.pairs, (name, value)))

    def toggle(self, name: str, value: str) -> Address:
        """Switch a filter on or off. A filter with several values gets one more; another one
        replaces its value."""
        rest = self.drop(name, value)
        if rest != self:
            return rest
        several = name in (*ANY_OF, "tag", "ignore") or name.startswith(NOT)
        return self.add(name, value) if several else self.set(name, value)

    def toggle_excluded(self, name: str, value: str) -> Address:
        """Exclude memories with this value, or stop excluding them."""
        return self.drop(name, value).toggle(f"{NOT}{name}", value)

    def drop(self, name: str, value: str) -> Address:
        pairs = tuple(pair for pair in self.pairs if not _matches(pair, name, value))
        return self._replace(pairs=pairs)

    def has(self, name: str, value: str) -> bool:
        return self.drop(name, value) != self

    def link(self) -> str:
        """Return the path and query, with the default number of results."""
        query = self.without("limit").query()
        return f"{self.path}?{query}" if query else self.path

    def query(self) -> str:
        return "&".join(f"{_quote(name)}={_quote(value)}" for name, value in self.pairs if value)


# The hundred links of a page consist of nearly the same few words.
_quote = lru_cache(1024)(quote_plus)


def _matches(pair: tuple[str, str], name: str, value: str) -> bool:
    """Compare a parameter; tags that differ only in case are the same tag."""
    parameter, chosen = pair
    same = chosen.casefold() == value.casefold() if name.endswith("tag") else chosen == value
    return parameter == name and same


# Chips

ROWS = 6  # values of each filter before "more"
MOST_ROWS = 24  # of each filter: otherwise each key press would send thousands of tags
# Facet, its parameter and its heading.
FACETS = (
    ("project", "project", "Project"),
    ("kind", "kind", "Kind"),
    ("tags", "tag", "Tags"),
    ("source", "source", "Source"),
)
# Parameters that filter memories or change the ranking → their labels.
CHOSEN = {
    "project": "project", "kind": "kind", "tag": "tag", "source": "source", "since": "since",
    "until": "until", "domain": "domain", "space": "space", "not_project": "not project",
    "not_kind": "not kind", "not_source": "not source", "not_tag": "not tag",
    "prefer_tag": "preferred tag", "prefer_domain": "preferred domain",
    "prefer_project": "preferred project",
    "now": "now", "as_of": "as of",
}  # fmt: skip


class Chip(Struct, frozen=True):
    """A filter value; its link switches the filter on or off. `count`: None if unknown. `key`: the
    name of the chip for scripts. `without`: the link that excludes the value, or stops excluding it
    if it is `out`."""

    label: str
    href: str
    on: bool
    count: int | None = None
    key: str = ""
    without: str = ""
    out: bool = False


class ChipGroup(Struct, frozen=True):
    """The values of one filter: first those that occur here, the most common of the vault first,
    then the others. `left`: how many more there are."""

    name: str
    label: str
    shown: tuple[Chip, ...]
    rest: tuple[Chip, ...] = ()
    left: int = 0


Counts = Mapping[str, Mapping[str, int]]
COUNTED = frozenset(facet for facet, *_ in FACETS)


def count_unfiltered(address: Address, count: Callable[[str], Counts]) -> Counts:
    """Return the counts of each filtered facet without its filter: what choosing another value
    would add. `count`: counts without the facet of this name."""
    chosen = [facet for facet in ANY_OF if address.values(facet)]
    return {facet: count(facet)[facet] for facet in chosen if facet in COUNTED}


def facets_without(engine: Recollect, filter: Filter, as_of: datetime | None, facet: str) -> Counts:
    """Return the counts of memories that pass the filter, without its part named `facet`."""
    return engine.facets(replace(filter, **{facet: None}), as_of=as_of)._asdict()


def chip_groups(
    address: Address, facets: Counts, everything: Counts, others: Counts
) -> list[ChipGroup]:
    """Return the filters with the count of each value. `facets`: counts of the results.
    `everything`: counts of the vault, which give the order. `others`: from `count_unfiltered`."""
    made = [
        _group(
            address,
            {**facets.get(facet, {}), **others.get(facet, {})},
            everything.get(facet, {}),
            name,
            label,
            known=facet in others,
        )
        for facet, name, label in FACETS
    ]
    return [*(group for group in made if group.shown), _ages(address, facets["age"])]


def _group(
    address: Address,
    counts: Mapping[str, int],
    all_counts: Mapping[str, int],
    name: str,
    label: str,
    *,
    known: bool,
) -> ChipGroup:
    on = address.values(name)
    folded = {value.casefold(): count for value, count in counts.items()}
    single = bool(on) and name != "tag" and not known  # other values have no counts
    values: dict[str, str] = {}
    for value in (*all_counts, *on, *address.values(f"{NOT}{name}"), *counts):
        values.setdefault(value.casefold() if name == "tag" else value, value)
    counted = [
        Chip(
            value,
            address.drop(f"{NOT}{name}", value).toggle(name, value).link(),
            address.has(name, value),
            folded.get(value.casefold(), None if single else 0),
            f"{name}:{value}",
            address.toggle_excluded(name, value).link(),
            address.has(f"{NOT}{name}", value),
        )
        for value in values.values()
    ]
    chips = sorted(counted, key=lambda chip: chip.count == 0 and not (chip.on or chip.out))
    shown = [*chips[:ROWS], *(chip for chip in chips[ROWS:] if chip.on or chip.out)]
    rest = [chip for chip in chips[ROWS:] if not (chip.on or chip.out)]
    kept = tuple(rest[: MOST_ROWS - ROWS])
    return ChipGroup(name, label, tuple(shown), kept, len(rest) - len(kept))


def _ages(address: Address, counts: Mapping[str, int]) -> ChipGroup:
    on = address.values("since")[-1:]
    chips = [
        Chip(label, address.toggle("since", age).link(), [age] == on, counts[age], f"since:{age}")
        for age, label in AGES.items()
    ]
    anything = [Chip("Any time", address.without("since").link(), on=False, key="since:")]
    return ChipGroup("since", "Changed", (*chips, *(anything if on else ())))


def filter_names(address: Address) -> list[str]:
    return [name for name, _ in address.pairs if name in CHOSEN or name.startswith(SETS)]


def chosen_chips(address: Address) -> list[Chip]:
    """Return the filters and changes of this search, each with a link that removes it."""
    chips = []
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
            href = address.toggle(name, value).link()
            chips.append(Chip(label, href, on=True, key=f"chosen:{name}:{value}"))
    return chips


def reading_chips(address: Address, response: Response) -> list[Chip]:
    """Return how the query was understood, with links that ignore a part or stop ignoring it."""
    corrected = {word: f"{word} → {', '.join(w)}" for word, w in response.corrected.items()}
    read = {part.partition(" = ")[0]: part for part in response.understood} | corrected
    ignored = [part for part in dict.fromkeys(address.values("ignore")) if part not in read]
    return [
        *(
            Chip(label, address.add("ignore", part).link(), on=True, key=f"reading:{part}")
            for part, label in read.items()
        ),
        *(
            Chip(part, address.toggle("ignore", part).link(), on=False, key=f"reading:{part}")
            for part in ignored
        ),
    ]


def deep_chip(recipe: Recipe, address: Address) -> Chip | None:
    """Return the chip for deep search, if the recipe has one or the address asks for it."""
    on = address.values("deep")[-1:] == ["true"]
    if recipe.deep is None and not on:
        return None
    return Chip("Deep search", address.toggle("deep", "true").link(), on, key="deep:true")
