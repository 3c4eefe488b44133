"""Reading filters: the vault's own spelling, unknown values, selections for bulk changes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from difflib import get_close_matches
from typing import Any

from msgspec.structs import replace

from recollect.auth.capabilities import SEARCH
from recollect.checks import check_filter, clean_query, split_list
from recollect.engine.operations import operation
from recollect.engine.session import Session
from recollect.errors import UserError
from recollect.ingest.draft import Draft
from recollect.present.sentences import label
from recollect.query.fields import QueryFields, exclusions, read_fields, without
from recollect.query.terms import keywords
from recollect.query.time.moments import read_time
from recollect.store.base import UsedColumn
from recollect.types import ANY_OF, WITHOUT, Filter, any_of
from recollect.vaults.known import HOME

EVERYTHING = Filter()
LEFT_OUT: dict[UsedColumn, str] = {"kind": "without_kinds", "project": "without_projects"}
PLURAL = re.compile(r"(?:(s|x|z|ch|sh)es|(?<!s)s)$")
# Exclusions for bulk changes: the word "without" may be part of a topic, so it does not count.
SIGN = re.compile(r"\s*(?:-|(?:AND\s+)?NOT\b)")
MOST_NAMED = 5  # values in a message


def read_values(fields: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    """Return the fields of a search, with times and lists read from text: `since="7d"`,
    `tags="api,auth"`."""
    read = dict(fields)
    for name in ("as_of", "now", "since", "until"):
        if isinstance(text := read.get(name), str):
            read[name] = read_time(text, now, name)
            now = read[name] if name == "as_of" else now
    for name in ("tags", *WITHOUT, *ANY_OF):
        if isinstance(text := read.get(name), str) and (name not in ANY_OF or "," in text):
            read[name] = tuple(split_list(text))
    return read


def read_filter(session: Session, filter: Filter) -> Filter:
    """Check a filter, and return it in the vault's own spelling."""
    return with_own_spelling(session, check_filter(filter))


def with_own_spelling(session: Session, filter: Filter) -> Filter:
    """Return a filter with kinds, projects and tags as the vault spells them, ignoring case, spaces
    and the plural of a kind. Unknown values are kept."""
    changes: dict[str, Any] = {}
    for name in ("tags", "without_tags"):
        # The stores ignore the case of tags, so only tags with spaces are looked up.
        if any(tag.split() != [tag] for tag in getattr(filter, name)):
            known = [*session.store.memories.facets(Filter(), session.clock()).tags]
            changes[name] = tuple(
                tag if _is_known("tag", tag, known) else _spellings("tag", tag, known)[0]
                for tag in getattr(filter, name)
            )
    for field, others in LEFT_OUT.items():
        wanted, unwanted = _values_of(filter, field), getattr(filter, others)
        if wanted or unwanted:
            store = session.with_collections(session.store) or session.store
            known = store.memories.values(field)
            for name, values in ((field, wanted), (others, unwanted)):
                every = [one for value in values for one in _spellings(field, value, known)]
                changes[name] = tuple(every)
    return replace(filter, **changes)


def join_filters(filter: Filter, other: Filter) -> Filter:
    """Return the intersection of two filters; raise UserError if they need different values of a
    field."""
    changes: dict[str, Any] = {}
    for name in ANY_OF:
        given, also = any_of(getattr(filter, name)), any_of(getattr(other, name))
        changes[name] = tuple(value for value in given or also if value in (also or given))
        if given and also and not changes[name]:
            raise UserError(
                f"The query asks for {name}:{also[0]} and the filter for the {name} {given[0]!r}; "
                "no memory has both. Leave one out."
            )
    for name in ("tags", "without", *WITHOUT):
        changes[name] = tuple(dict.fromkeys((*getattr(filter, name), *getattr(other, name))))
    return replace(filter, **changes)


def in_known_projects(session: Session, drafts: Sequence[Draft]) -> Iterator[Draft]:
    """Yield the drafts; a project that differs from a known one only in case or spaces gets the
    known spelling."""
    named = any(draft.fields.get("project") for draft in drafts)
    known = session.store.memories.values("project") if named else []
    spelled = {_normalise("project", name): name for name in known} | {name: name for name in known}
    for draft in drafts:
        if project := draft.fields.get("project"):
            own = spelled.get(project) or spelled.setdefault(
                _normalise("project", project), project
            )
            yield Draft(draft.fields | {"project": own}, draft.supersedes)
        else:
            yield draft


@operation(SEARCH, retry=True)
def unknown_values(session: Session, filter: Filter) -> list[str]:
    """Return a sentence for each kind, project and tag of the filter that no memory has, with
    those that may be meant."""
    named = {"project": _values_of(filter, "project"), "kind": _values_of(filter, "kind")}
    every = named | {"tag": filter.tags}
    if not session.caller.sees(HOME) or not any(every.values()):
        return []
    counts = session.vault_store().memories.facets(Filter(archived=True), session.clock())
    known = {"project": [*counts.project], "kind": [*counts.kind], "tag": [*counts.tags]}
    return [
        _unknown_sentence(field, value, known[field])
        for field, values in every.items()
        for value in {_normalise(field, value): value for value in reversed(values)}.values()
        if value and not _is_known(field, value, known[field])
    ]


def _values_of(filter: Filter, field: UsedColumn) -> Sequence[str]:
    value = getattr(filter, field)
    return [value] if isinstance(value, str) else value or ()


def _is_known(field: str, value: str, known: Iterable[str]) -> bool:
    """Return whether a filter finds this value. Spaces in tags count."""
    if field == "tag":
        return value.lower() in map(str.lower, known)
    return _normalise(field, value) in {_normalise(field, one) for one in known}


def _normalise(field: str, value: str) -> str:
    """Normalise a value for comparison: no case, no spaces, and a kind in the singular."""
    bare = "".join(value.casefold().split())
    if field != "kind":
        return bare
    return bare[:-3] + "y" if bare.endswith("ies") else PLURAL.sub(r"\1", bare)


def _spellings(field: str, value: str, known: Iterable[str]) -> list[str]:
    """Return the known spellings of a value, and its own, since the trash or another vault may have
    it. If none is known, add the normalised one."""
    wanted = _normalise(field, value)
    found = [one for one in known if _normalise(field, one) == wanted]
    return [*dict.fromkeys([*found, value] if found else [value, wanted])]


def _unknown_sentence(field: str, value: str, known: Sequence[str]) -> str:
    """Return the sentence for a value that no memory has."""
    plain = {one: _normalise(field, one) for one in known}
    wanted = _normalise(field, value)
    like = [one for one in known if wanted in plain[one]]
    like = like or [one for near in get_close_matches(wanted, plain.values())
                    for one in known if plain[one] == near]  # fmt: skip
    more = f" and {len(known) - MOST_NAMED} more" if len(known) > MOST_NAMED else ""
    every = f"there are: {', '.join(map(label, known[:MOST_NAMED]))}{more}."
    hint = f"did you mean {' or '.join(dict.fromkeys(map(label, like[:3])))}?" if like else every
    return f"There is no {field} {value!r}; {hint if known else 'no memory has one.'}"


def read_query_fields(session: Session, query: str) -> QueryFields:
    """Read the fields of a query for another operation, unless the settings are literal."""
    literal = session.settings.search.literal
    return QueryFields(query) if literal else read_fields(query)


def read_selection(session: Session, query: str, filter: Filter) -> Filter:
    """Return the filter with the query's fields, keywords and exclusions; raise UserError if it
    would select all memories, which is hardly ever meant."""
    chosen, read = read_filter(session, filter), read_query_fields(session, clean_query(query))
    chosen = join_filters(chosen, with_own_spelling(session, read.filter))
    if read.text.strip():
        excluded = [
            one
            for one in exclusions(read.text)
            if SIGN.match(read.text, one.span.start) and not session.settings.search.literal
        ]
        words = tuple(keywords(without(read.text, excluded)))
        if not words:
            raise UserError(f"The query {query!r} has no word to select by; add one.")
        left_out = tuple(each.words for each in excluded)
        chosen = replace(chosen, holding=words, without=(*chosen.without, *left_out))
    if not chosen.narrows():
        raise UserError("Name memories by id, or give a filter or a query.")
    return chosen
