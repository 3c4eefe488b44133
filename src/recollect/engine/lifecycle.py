"""What becomes of memories: several become one; what was forgotten, and the way back; policies,
which say what becomes of captures as time passes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, NamedTuple, get_args

from msgspec import Meta
from msgspec.structs import replace

from recollect.auth.capabilities import ADMIN, DELETE, SEARCH, WRITE
from recollect.checks import LARGEST_LIMIT, bounded, named_ids, several
from recollect.engine.filters import EVERYTHING, selection
from recollect.engine.operations import operation
from recollect.engine.searching import prepare_search
from recollect.engine.session import Session
from recollect.engine.writing import changing, live
from recollect.errors import UserError
from recollect.ingest.draft import complete_draft, make_draft
from recollect.ingest.saving import relink
from recollect.pipeline import run
from recollect.present.words import counted
from recollect.query.time.moments import read_duration
from recollect.settings import PolicySettings
from recollect.store.base import Store, Stored, Writing
from recollect.store.history import parse_keep
from recollect.store.sqlite.store import UNKEPT, ScratchStore
from recollect.store.upkeep import Trashed, TrashPlace
from recollect.times import from_micros, moved, to_micros
from recollect.types import TEXTS, Filter, Memory, Severity, about

# A search copies what was forgotten into memory, some thousand a second: the last ones.
MOST_SEARCHED = 20_000
PURGED_AT_ONCE = 1000  # so that no other writer waits long
LAST = datetime.max.replace(tzinfo=UTC)
NAMES = ("title", "domain", "project", "source", "space", "path")
DAY = timedelta(days=1)
TIDIED = "tidied"  # in `meta`: when a server last did it
MOST_SHARE = 0.5  # of the vault: what would touch more asks first
DONE = {"expire": "forgotten", "archive": "archived", "cap": "archived", "purge": "purged"}


@operation(WRITE, DELETE, route="POST /merge")
def merge(
    session: Session,
    ids: Annotated[
        Sequence[str],
        about("the memories", ["auth-jwt-001", "auth-jwt-002"]),
        Meta(min_length=1, max_length=100),
    ],
    *,
    into: Annotated[str | None, about("the memory to keep (default: the first one)")] = None,
) -> Memory:
    """Make one memory of several: the first, or `into`, gets what the others say beside it, and
    the others are forgotten. `show` answers their ids with it. Returns the merged memory."""
    names = list(dict.fromkeys([*([into] if into is not None else ()), *several(ids, "ids")]))
    if len(names) < 2:
        raise UserError("A memory cannot be merged with itself; name two or more.")
    kept, *others = names
    session.models.embeds()  # as for `save_all`
    now = session.clock()
    with changing(session, "merge", names, target=kept) as write:
        found = write.find(named_ids(names))
        first, *rest = [live(found, id) for id in names]
        fields = union(first.memory, [each.memory for each in rest], names)
        after = complete_draft(make_draft(fields, change=True, now=now), kept, first.memory, now)
        if after != first.memory:
            write.replace(first, after)
        for each in rest:
            write.forget(each, now)
        links = session.store.memories.list_replaced(others)
        relink(write, [each for each in links if each.id not in names], kept)
    session.wrote("merge", names)
    session.embed_soon([after])
    return session.shown(after)


@operation(SEARCH, DELETE, retry=True)
def trash(
    session: Session,
    query: str = "",
    filter: Filter = EVERYTHING,
    limit: int = 20,
    after: TrashPlace | None = None,
) -> list[Trashed]:
    """What was forgotten, the last first, by whom and why; with a query what answers it, the
    best first. It is searched by its words: a forgotten memory has no vector."""
    limit = bounded(limit)
    search = prepare_search(session, query, filter=filter, limit=limit).search
    if not search.query.strip():
        return session.store.trash.list_forgotten(search.filter, limit, after)
    recipe = session.recipe().asking_vectors("never")
    search = replace(search, filter=replace(search.filter, archived=True))
    with _searchable(session) as (store, found):
        answer = run(
            recipe, replace(search, include_expired=True), store=store, models=session.models
        )
        return [found[result.id] for result in answer]


@operation(SEARCH, DELETE, retry=True)
def count_trash(session: Session, query: str = "", filter: Filter = EVERYTHING) -> int:
    """Return how many memories `trash` lists without a limit."""
    search = prepare_search(session, query, filter=filter).search
    if search.query.strip():
        return len(trash(session, query, filter, LARGEST_LIMIT))
    return session.store.trash.count(search.filter)


@operation(SEARCH, DELETE, retry=True)
def selected_in_trash(
    session: Session, *, query: str = "", filter: Filter = EVERYTHING
) -> list[str]:
    """The ids of what is in the trash, as `selected` has those of live memories."""
    chosen = selection(session, query, filter)
    if not chosen.holding:
        listed = session.store.trash.list_forgotten(chosen, LARGEST_LIMIT)
        return [each.memory.id for each in listed]
    with _searchable(session) as (store, _):
        found = store.memories.browse(replace(chosen, archived=True), LARGEST_LIMIT)
        return [memory.id for memory in found]


@contextmanager
def _searchable(session: Session) -> Iterator[tuple[Store, dict[str, Trashed]]]:
    """A vault in memory that holds what was forgotten last, to search in."""
    listed = session.store.trash.list_forgotten(EVERYTHING, MOST_SEARCHED)
    store = ScratchStore()
    try:
        with store.writing(UNKEPT) as write:
            for each in listed:
                write.add(each.memory)
        yield store, {each.memory.id: each for each in listed}
    finally:
        store.close()


def purged_json(purged: int) -> dict[str, int]:
    """Return for programs how many memories were deleted permanently."""
    return {"purged": purged}


@operation(DELETE, route="DELETE /trash", as_json=purged_json, answer="PurgedCount")
def empty_trash(
    session: Session, *, before: datetime | None = None, automatic: bool = False
) -> int:
    """Delete permanently what was forgotten, or what was forgotten before that time; return how
    many memories that were."""
    purged = 0
    while True:
        listed = session.store.trash.list_forgotten(
            EVERYTHING, PURGED_AT_ONCE, TrashPlace(before or LAST, "")
        )
        if not listed:
            break
        ids = [each.memory.id for each in listed]
        with session.writing(
            "purge", reason="The trash was emptied.", automatic=automatic
        ) as write:
            for stored in write.find(ids).values():
                if stored.forgotten:
                    write.purge(stored)
        session.wrote("purge", ids)
        purged += len(ids)
    if purged:
        session.store.scrub()
    return purged


def empty_old_trash(session: Session, *, automatic: bool = False) -> int:
    """Purge what has been in the trash for longer than the setting `trash.keep` says."""
    days = session.settings.trash.keep
    if not days:
        return 0
    before = moved(session.clock(), -timedelta(days=days))
    return empty_trash(session, before=before, automatic=automatic)


def union(first: Memory, others: Sequence[Memory], ids: Iterable[str]) -> dict[str, Any]:
    """The fields of the memory that all of these become. Short fields are those of the first one
    that has them. Of texts the longest is kept, and what the others say beside it follows. It is
    valid while any of them is, and as trusted as the most trusted; a link to one of `ids` is
    dropped."""
    every = [first, *others]
    title = next((each.title for each in every if each.title), "")
    fields: dict[str, Any] = {
        name: next((value for each in every if (value := getattr(each, name))), None)
        for name in NAMES
    }
    for name in TEXTS[2:]:
        fields[name] = _united([getattr(each, name) for each in every]) or None
    fields["text"] = _united(_bodies(every, title)) or None
    fields["tags"] = list(dict.fromkeys(tag for each in every for tag in each.tags))
    fields["kind"] = next((each.kind for each in every if each.kind != "fact"), "fact")
    levels = [each.severity for each in every]
    fields["severity"] = next((level for level in get_args(Severity) if level in levels), None)
    fields["tier"] = "core" if any(each.tier == "core" for each in every) else first.tier
    fields["created_at"] = min(each.created_at for each in every)
    begins = [each.valid_from for each in every]
    fields["valid_from"] = None if None in begins else min(filter(None, begins))
    ends = [each.valid_until for each in every]
    fields["valid_until"] = None if None in ends else max(filter(None, ends))
    fields["superseded_by"] = None if first.superseded_by in {*ids} else first.superseded_by or None
    stored = [each.archived_at for each in every]
    fields["archived_at"] = None if None in stored else first.archived_at
    return fields


def _bodies(every: Sequence[Memory], title: str) -> list[str]:
    """The texts, each behind its title where that is another than the one that is kept."""
    return [
        f"{each.title}\n{each.text}".strip() if _flat(each.title) != _flat(title) else each.text
        for each in every
    ]


def _united(texts: Sequence[str]) -> str:
    """The longest of these, and each other one that says something else, in their order."""
    kept = max(texts, key=len, default="")
    for text in texts:
        if _flat(text) not in _flat(kept):
            kept = f"{kept}\n\n{text.strip()}"
    return kept


def _flat(text: str) -> str:
    """The text as it is compared: without case and layout."""
    return " ".join(text.casefold().split())


class PolicyOutcome(NamedTuple):
    """What a policy does, or would do. `asks`: it is more than half of the vault, so nothing is
    done unless somebody says yes. `done`: whether it was."""

    name: str
    policy: PolicySettings
    ids: tuple[str, ...]
    asks: bool
    done: bool

    @property
    def outcome(self) -> str:
        return DONE[self.policy.what]

    @property
    def sentence(self) -> str:
        """What became of it; names no memory, so that a log can have it."""
        what = counted(len(self.ids), "memory")
        if not self.ids:
            return f"Policy {self.name}: nothing to do."
        if self.done:
            return f"Policy {self.name}: {what} {self.outcome}."
        much = ", more than half of the vault; `recollect tidy` asks and does it"
        return f"Policy {self.name}: {what} would be {self.outcome}{much if self.asks else ''}."


@operation(WRITE, DELETE, ADMIN)
def tidy(
    session: Session, *, dry_run: bool = False, yes: bool = False, automatic: bool = False
) -> list[PolicyOutcome]:
    """Purge what is too long in the trash, remove what is too old in history, and apply every
    policy of the settings, each in one write; `dry_run` only says what each would do. One that
    would touch more than half of the vault is applied only with `yes`."""
    if not dry_run:
        empty_old_trash(session, automatic=automatic)
        keep = parse_keep(session.settings.history.keep)
        while session.store.history.compact(keep, session.clock(), whole=True):
            pass
    return [
        _applied(session, name, dry_run=dry_run, yes=yes, automatic=automatic)
        for name in session.settings.policies
    ]


@operation(WRITE, DELETE, ADMIN)
def tidy_daily(session: Session) -> list[PolicyOutcome]:
    """Do what `tidy` does, at most once a day for a vault, whichever server asks."""
    database, wanted = session.store.database, session.settings
    ages = wanted.policies or wanted.trash.keep or parse_keep(wanted.history.keep).days
    if not ages or database.at_rest or database.frozen:
        return []  # a locked vault that nobody uses stays closed
    now, reviews = session.clock(), session.store.reviews
    last = reviews.note(TIDIED)
    if last and now - from_micros(int(last)) < DAY:
        return []
    reviews.set_note(TIDIED, str(to_micros(now)))
    return tidy(session, automatic=True)


def _applied(
    session: Session, name: str, *, dry_run: bool, yes: bool, automatic: bool
) -> PolicyOutcome:
    policy = session.settings.policies[name]
    ids = tuple(matching(session, name, policy))
    asks = len(ids) > MOST_SHARE * session.store.vocabulary.documents()
    found = PolicyOutcome(name, policy, ids, asks, done=False)
    if dry_run or not ids or (asks and not yes):
        return found
    now = session.clock()
    with session.writing("tidy", reason=f"policy {name}", automatic=automatic) as write:
        for before in write.find(ids).values():
            if not before.forgotten:
                CHANGES[policy.what](write, before, now)
    session.wrote("tidy", ids)
    if policy.what == "purge":
        session.store.scrub()
    return found._replace(done=True)


def matching(session: Session, name: str, policy: PolicySettings) -> Sequence[str]:
    """The ids of what a policy is about now, oldest first."""
    spares = policy.unless_useful and policy.what in ("expire", "purge")
    if (spares or policy.what == "archive") and not session.settings.usage.keep:
        raise UserError(
            f"The policy {name} goes by how memories were used, which is not counted. Set "
            "usage.keep to true."
        )
    narrower = ("project", "source", "domain", "kind", "space", "tags")
    filter = Filter(**{field: getattr(policy, field) for field in narrower})
    aging = session.store.aging
    session.store.usage.settle()
    if policy.what == "cap":
        return aging.list_beyond(filter, policy.most)
    before = moved(session.clock(), -read_duration(policy.after))
    if policy.what == "archive":
        return aging.list_unreturned(filter, before)
    if policy.what == "purge":
        filter = replace(filter, archived=True)
    return aging.list_unchanged(filter, before, unless_useful=spares)


def _archive(write: Writing, before: Stored, at: datetime) -> None:
    write.replace(before, replace(before.memory, archived_at=at))


CHANGES: dict[str, Callable[[Writing, Stored, datetime], object]] = {
    "expire": lambda write, before, at: write.forget(before, at),
    "archive": _archive,
    "cap": _archive,
    "purge": lambda write, before, at: write.purge(before),
}


def outcome_json(outcome: PolicyOutcome) -> dict[str, object]:
    """What a policy does or did, for programs."""
    return {
        "policy": outcome.name,
        "what": outcome.policy.what,
        "outcome": outcome.outcome,
        "memories": list(outcome.ids),
        "asks": outcome.asks,
        "done": outcome.done,
    }
