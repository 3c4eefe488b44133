"""The address of a page with filters, and its chips: filters to switch on and off, what is
chosen."""

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

NOT = "not_"  # begins the name of a filter that leaves out


class Address(NamedTuple):
    """The parameters in a page's address; each link changes some of them."""

    pairs: tuple[tuple[str, str], ...]
    path: str = "/"

    def values(self, name: str) -> list[str]:
        return [value for parameter, value in self.pairs if parameter == name and value]

    def without(self, *names: str) -> Address:
        return self._replace(pairs=tuple(pair for pair in self.pairs if pair[0] not in names))

    def putting(self, name: str, value: str) -> Address:
        return self._replace(pairs=(*self.without(name).pairs, (name, value)))

    def adding(self, name: str, value: str) -> Address:
        return self._replace(pairs=(*self.pairs, (name, value)))

    def toggled(self, name: str, value: str) -> Address:
        """With that filter switched: values of one that takes several add up, another replaces its
        value."""
        kept = self.dropping(name, value)
        if kept != self:
            return kept
        several = name in (*ANY_OF, "tag", "ignore") or name.startswith(NOT)
        return self.adding(name, value) if several else self.putting(name, value)

    def excluding(self, name: str, value: str) -> Address:
        """With memories of that value left out; asked for again, no longer."""
        return self.dropping(name, value).toggled(f"{NOT}{name}", value)

    def dropping(self, name: str, value: str) -> Address:
        pairs = tuple(pair for pair in self.pairs if not _is(pair, name, value))
        return self._replace(pairs=pairs)

    def holds(self, name: str, value: str) -> bool:
        return self.dropping(name, value) != self

    def link(self) -> str:
        """The address of another selection, which starts with the usual number of results."""
        query = self.without("limit").query()
        return f"{self.path}?{query}" if query else self.path

    def query(self) -> str:
        return "&".join(f"{_quoted(name)}={_quoted(value)}" for name, value in self.pairs if value)


# Nearly the same few words stand in each of the hundred links of a page.
_quoted = lru_cache(1024)(quote_plus)


def _is(pair: tuple[str, str], name: str, value: str) -> bool:
    """Tags that differ only in case are one tag."""
    parameter, chosen = pair
    same = chosen.casefold() == value.casefold() if name.endswith("tag") else chosen == value
    return parameter == name and same


# Chips

ROWS = 6  # of each filter; the others are behind "more"
MOST_ROWS = 24  # of each filter: thousands of tags would be sent after each key
# Facet, its parameter and its heading.
FACETS = (
    ("project", "project", "Project"),
    ("kind", "kind", "Kind"),
    ("tags", "tag", "Tags"),
    ("source", "source", "Source"),
)
# Parameters that choose among memories or change the ranking, as a person calls them.
CHOSEN = {
    "project": "project", "kind": "kind", "tag": "tag", "source": "source", "since": "since",
    "until": "until", "domain": "domain", "space": "space", "not_project": "not project",
    "not_kind": "not kind", "not_source": "not source", "not_tag": "not tag",
    "prefer_tag": "preferred tag", "prefer_domain": "preferred domain",
    "prefer_project": "preferred project",
    "now": "now", "as_of": "as of",
}  # fmt: skip


class Chip(Struct, frozen=True):
    """A value to narrow by; followed again, it narrows no more. `count` is None where it is not
    known, and `key` names the chip for scripts. `without`: the link that leaves it out, or lets it
    in again where it is `out`."""

    label: str
    href: str
    on: bool
    count: int | None = None
    key: str = ""
    without: str = ""
    out: bool = False


class ChipGroup(Struct, frozen=True):
    """The values of one filter: those that something here has, the most common of the vault first;
    then those that nothing has. `left`: how many more there are."""

    name: str
    label: str
    shown: tuple[Chip, ...]
    rest: tuple[Chip, ...] = ()
    left: int = 0


Counts = Mapping[str, Mapping[str, int]]
COUNTED = frozenset(facet for facet, *_ in FACETS)


def apart(address: Address, count: Callable[[str], Counts]) -> Counts:
    """The counts of each facet that values are chosen of, as if none were: how many more another
    one would bring. `count` counts without the facet of this name."""
    chosen = [facet for facet in ANY_OF if address.values(facet)]
    return {facet: count(facet)[facet] for facet in chosen if facet in COUNTED}


def facets_without(engine: Recollect, filter: Filter, as_of: datetime | None, facet: str) -> Counts:
    """The counts of what passes the filter without its part of this name."""
    return engine.facets(replace(filter, **{facet: None}), as_of=as_of)._asdict()


def chip_groups(
    address: Address, facets: Counts, everything: Counts, others: Counts
) -> list[ChipGroup]:
    """The filters to offer, with how many of what is found each value has. `everything` has the
    counts of the vault: the order of the values that are found. `others` are counted by `apart`."""
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
    single = bool(on) and name != "tag" and not known  # the others were not counted
    values: dict[str, str] = {}
    for value in (*all_counts, *on, *address.values(f"{NOT}{name}"), *counts):
        values.setdefault(value.casefold() if name == "tag" else value, value)
    counted = [
        Chip(
            value,
            address.dropping(f"{NOT}{name}", value).toggled(name, value).link(),
            address.holds(name, value),
            folded.get(value.casefold(), None if single else 0),
            f"{name}:{value}",
            address.excluding(name, value).link(),
            address.holds(f"{NOT}{name}", value),
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
        Chip(label, address.toggled("since", age).link(), [age] == on, counts[age], f"since:{age}")
        for age, label in AGES.items()
    ]
    anything = [Chip("Any time", address.without("since").link(), on=False, key="since:")]
    return ChipGroup("since", "Changed", (*chips, *(anything if on else ())))


def narrowing(address: Address) -> list[str]:
    return [name for name, _ in address.pairs if name in CHOSEN or name.startswith(SETS)]


def chosen_chips(address: Address) -> list[Chip]:
    """Every filter and change of this search, each with the link that removes it."""
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
            href = address.toggled(name, value).link()
            chips.append(Chip(label, href, on=True, key=f"chosen:{name}:{value}"))
    return chips


def reading_chips(address: Address, response: Response) -> list[Chip]:
    """What was read in the query's words, each with the link that takes it back, and what was taken
    back, each with the link that reads it again."""
    corrected = {word: f"{word} → {', '.join(w)}" for word, w in response.corrected.items()}
    read = {part.partition(" = ")[0]: part for part in response.understood} | corrected
    ignored = [part for part in dict.fromkeys(address.values("ignore")) if part not in read]
    return [
        *(
            Chip(label, address.adding("ignore", part).link(), on=True, key=f"reading:{part}")
            for part, label in read.items()
        ),
        *(
            Chip(part, address.toggled("ignore", part).link(), on=False, key=f"reading:{part}")
            for part in ignored
        ),
    ]


def deep_chip(recipe: Recipe, address: Address) -> Chip | None:
    """Deep search, where the recipe has one or the address asks for it."""
    on = address.values("deep")[-1:] == ["true"]
    if recipe.deep is None and not on:
        return None
    return Chip("Deep search", address.toggled("deep", "true").link(), on, key="deep:true")
