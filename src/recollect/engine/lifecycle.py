"""Merging memories, the trash, and policies for captures that get old."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, NamedTuple, get_args

from msgspec import Meta
from msgspec.structs import replace

from recollect.auth.capabilities import ADMIN, DELETE, SEARCH, WRITE
from recollect.checks import LARGEST_LIMIT, as_tuple, check_ids, check_limit
from recollect.engine.filters import EVERYTHING, read_selection
from recollect.engine.operations import operation
from recollect.engine.searching import prepare_search
from recollect.engine.session import Session
from recollect.engine.writing import require_live, write_memories
from recollect.errors import UserError
from recollect.ingest.draft import complete_draft, make_draft
from recollect.ingest.saving import relink
from recollect.pipeline import run
from recollect.present.sentences import counted
from recollect.query.time.moments import read_duration
from recollect.settings import PolicySettings
from recollect.store.base import Store, Stored, Writing
from recollect.store.history import parse_keep
from recollect.store.sqlite.store import UNKEPT, ScratchStore
from recollect.store.upkeep import ForgottenMemory, TrashPlace
from recollect.times import from_micros, shift, to_micros
from recollect.types import TEXTS, Filter, Memory, Severity, about

MOST_SEARCHED = 20_000  # forgotten memories copied for a search, a few thousand a second
PURGED_AT_ONCE = 1000  # so that no other writer waits long
LAST = datetime.max.replace(tzinfo=UTC)
NAMES = ("title", "domain", "project", "source", "space", "path")
DAY = timedelta(days=1)
TIDIED = "tidied"  # in `meta`: when a server last did it
MOST_SHARE = 0.5  # a policy that would change a larger share of the vault needs confirmation
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
    """Merge memories into the first one, or into `into`. It gets what the others add, and they are
    forgotten; `show` answers their ids with it. Returns the merged memory."""
    names = list(dict.fromkeys([*([into] if into is not None else ()), *as_tuple(ids, "ids")]))
    if len(names) < 2:
        raise UserError("Name two or more memories to merge.")
    kept, *others = names
    session.models.embeds()  # as for `save_all`
    now = session.clock()
    with write_memories(session, "merge", names, target=kept) as write:
        found = write.find(check_ids(names))
        first, *rest = [require_live(session, found, id) for id in names]
        fields = merge_fields(first.memory, [each.memory for each in rest], names)
        after = complete_draft(make_draft(fields, change=True, now=now), kept, first.memory, now)
        if after != first.memory:
            write.replace(first, after)
        for each in rest:
            write.forget(each, now)
        links = session.store.memories.list_replaced(others)
        relink(write, [each for each in links if each.id not in names], kept)
    session.wrote("merge", names)
    session.embed_soon([after])
    return session.visible(after)


@operation(SEARCH, DELETE, retry=True)
def trash(
    session: Session,
    query: str = "",
    filter: Filter = EVERYTHING,
    limit: int = 20,
    after: TrashPlace | None = None,
) -> list[ForgottenMemory]:
    """List forgotten memories, latest first, with who forgot them and why; with a query, those that
    answer it, best first. The search is by words: forgotten memories have no vectors."""
    limit = check_limit(limit)
    search = prepare_search(session, query, filter=filter, limit=limit).search
    if not search.query.strip():
        return session.store.trash.list_forgotten(search.filter, limit, after)
    recipe = session.recipe().with_vectors("never")
    search = replace(search, filter=replace(search.filter, archived=True))
    with _copy_trash(session) as (store, found):
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
def select_in_trash(session: Session, *, query: str = "", filter: Filter = EVERYTHING) -> list[str]:
    """Return the ids of forgotten memories, selected as `select_ids` does live ones."""
    chosen = read_selection(session, query, filter)
    if not chosen.holding:
        listed = session.store.trash.list_forgotten(chosen, LARGEST_LIMIT)
        return [each.memory.id for each in listed]
    with _copy_trash(session) as (store, _):
        found = store.memories.browse(replace(chosen, archived=True), LARGEST_LIMIT)
        return [memory.id for memory in found]


@contextmanager
def _copy_trash(session: Session) -> Iterator[tuple[Store, dict[str, ForgottenMemory]]]:
    """Return an in-memory store of the latest forgotten memories, and these by id."""
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
    """Delete forgotten memories permanently, or those forgotten before a time; return their
    number."""
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


def merge_fields(first: Memory, others: Sequence[Memory], ids: Iterable[str]) -> dict[str, Any]:
    """Return the fields of the merged memory. Short fields come from the first memory that has
    them. Of texts the longest is kept, followed by what others add. It is valid while any of them
    is, and has the most trusted tier; a link to one of `ids` is dropped."""
    every = [first, *others]
    title = next((each.title for each in every if each.title), "")
    fields: dict[str, Any] = {
        name: next((value for each in every if (value := getattr(each, name))), None)
        for name in NAMES
    }
    for name in TEXTS[2:]:
        fields[name] = _join_texts([getattr(each, name) for each in every]) or None
    fields["text"] = _join_texts(_bodies(every, title)) or None
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
    """Return the texts, each after its title if that differs from the kept one."""
    return [
        f"{each.title}\n{each.text}".strip()
        if _normalise(each.title) != _normalise(title)
        else each.text
        for each in every
    ]


def _join_texts(texts: Sequence[str]) -> str:
    """Return the longest text, followed by each other one that is not contained in it."""
    kept = max(texts, key=len, default="")
    for text in texts:
        if _normalise(text) not in _normalise(kept):
            kept = f"{kept}\n\n{text.strip()}"
    return kept


def _normalise(text: str) -> str:
    """Normalise a text for comparison: no case, single spaces."""
    return " ".join(text.casefold().split())


class PolicyOutcome(NamedTuple):
    """The memories that a policy changes or would change. `asks`: they are more than half of the
    vault, so it needs confirmation. `done`: the change was made."""

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
        """The outcome for people and logs, without the names of memories."""
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
    """Purge old trash and old history, and apply every policy of the settings, each in one write.
    `dry_run`: only report the policies. A policy that would change more than half of the vault
    needs `yes`."""
    if not dry_run:
        if days := session.settings.trash.keep:
            before = shift(session.clock(), -timedelta(days=days))
            empty_trash(session, before=before, automatic=automatic)
        keep = parse_keep(session.settings.history.keep)
        while session.store.history.compact(keep, session.clock(), whole=True):
            pass
    return [
        _apply_policy(session, name, dry_run=dry_run, yes=yes, automatic=automatic)
        for name in session.settings.policies
    ]


@operation(WRITE, DELETE, ADMIN)
def tidy_daily(session: Session) -> list[PolicyOutcome]:
    """Do `tidy` at most once a day per vault, however many servers call this."""
    database, wanted = session.store.database, session.settings
    ages = wanted.policies or wanted.trash.keep or parse_keep(wanted.history.keep).days
    if not ages or database.at_rest or database.frozen:
        return []  # a vault at rest stays closed
    now, reviews = session.clock(), session.store.reviews
    last = reviews.note(TIDIED)
    if last and now - from_micros(int(last)) < DAY:
        return []
    reviews.set_note(TIDIED, str(to_micros(now)))
    return tidy(session, automatic=True)


def _apply_policy(
    session: Session, name: str, *, dry_run: bool, yes: bool, automatic: bool
) -> PolicyOutcome:
    policy = session.settings.policies[name]
    ids = tuple(find_matching(session, name, policy))
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


def find_matching(session: Session, name: str, policy: PolicySettings) -> Sequence[str]:
    """Return the ids of the memories that a policy applies to now, oldest first."""
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
    before = shift(session.clock(), -read_duration(policy.after))
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
    """Return the outcome of a policy for programs."""
    return {
        "policy": outcome.name,
        "what": outcome.policy.what,
        "outcome": outcome.outcome,
        "memories": list(outcome.ids),
        "asks": outcome.asks,
        "done": outcome.done,
    }
