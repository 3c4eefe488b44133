"""One caller's use of an opened vault: what every module of the engine works with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from msgspec import Struct
from msgspec.structs import replace

from recollect.auth.audit import MOST_KEYS, Audit, Read
from recollect.auth.capabilities import DELETE, OWNER, SEARCH, Caller
from recollect.deadline import NO_DEADLINE, Deadline
from recollect.errors import Forbidden, Interrupted, RecollectError, UserError
from recollect.lifetime import LateWork, Lifetime
from recollect.models.active import ActiveModels
from recollect.models.background_embedding import BackgroundEmbedding
from recollect.recipes.base import Recipe
from recollect.recipes.registry import Recipes
from recollect.settings import Settings
from recollect.store.base import Store, Writing
from recollect.store.feedback import UseKind
from recollect.store.history import Author, Change, WriteOperation, parse_keep
from recollect.store.sqlite.store import SqliteStore
from recollect.times import in_utc, minute, to_micros
from recollect.types import Memory
from recollect.vaults.known import HOME, FoundMemory

if TYPE_CHECKING:
    from recollect.engine.opening import OtherVaults
    from recollect.secrets.redaction import Redaction
    from recollect.store.memory_rows import PreparedMemories
    from recollect.store.vault import VaultStore
    from recollect.vaults.combined_store import CombinedStore

NOT_IN_FILE = "{what} is for a vault in a file; with PostgreSQL, {who}."


class Closable(Protocol):
    def close(self) -> None: ...


class Command(NamedTuple):
    """What all writes of a session belong to, where that is more than each says of itself."""

    action: str
    operation: WriteOperation
    interface: str
    automatic: bool


class Session(Struct, frozen=True, kw_only=True, eq=False):
    """An opened vault, its settings and models, and who uses them. One for another caller is the
    same value with `caller` replaced, which shares everything and has nothing to close; one that
    reads what there was at a moment has `as_of`. `step` is called with what is done next, before
    each step of long work that only reads; it raises Cancelled to end that."""

    home: Path
    path: Path
    settings: Settings
    recipes: Recipes
    models: ActiveModels
    store: VaultStore
    audit: Audit
    clock: Callable[[], datetime]
    background: BackgroundEmbedding
    late: LateWork
    others: OtherVaults
    caller: Caller = OWNER
    interface: str = "library"
    client: str = ""
    command: Command | None = None
    lifetime: Lifetime = Lifetime.LIBRARY
    step: Callable[[str], None] = lambda what: None
    as_of: datetime | None = None
    closing: tuple[Closable, ...] = ()
    # `Recollect` by a session such as this; set by `Recollect`, which imports this module.
    recollect: Callable[[Session], Any] = lambda session: session

    def close(self) -> None:
        if self.closing:
            self.background.stop()
        for part in self.closing:
            part.close()

    @property
    def redaction(self) -> Redaction:
        """What replaces secrets, as the settings want it."""
        from recollect.secrets.redaction import Redaction  # noqa: PLC0415  start-up time

        return Redaction(self.settings.secrets)

    def recipe(
        self,
        name: str | None = None,
        changes: Mapping[str, object] | None = None,
        *,
        section: Literal["search", "context"] = "search",
    ) -> Recipe:
        """The named recipe, or the one that this section of the settings names, with these
        constants changed."""
        try:
            recipe = self.recipes.get(
                getattr(self.settings, section).recipe if name is None else name
            )
        except UserError as error:
            if name is not None:
                raise
            place = f"{section}.recipe, in {self.home / 'config.toml'} or the environment"
            raise UserError(f"{place}: {error}") from error
        return self.recipes.with_changes(recipe.name, changes) if changes else recipe

    # What the caller may do

    def require(self, *capabilities: str, action: str, anywhere: bool = False) -> None:
        """Forbidden, unless the caller may do all that in this vault, or `anywhere` in one of those
        that a search spans; a refusal is noted."""
        why = self.refusal(capabilities, anywhere=anywhere)
        if why is not None:
            self.audit.log_refusal(self.caller, action, HOME, why)
            raise Forbidden(why)

    @property
    def user(self) -> str:
        """The caller's name in history; empty for the owner."""
        return "" if self.caller.name == OWNER.name else self.caller.name

    def require_restore(self) -> None:
        """Forbidden, unless the caller may bring back what was forgotten. Saving it does."""
        try:
            self.require(DELETE, action="restore")
        except Forbidden as error:
            raise Forbidden(f"Saving this would bring back a forgotten memory. {error}") from error

    def refusal(self, capabilities: tuple[str, ...], *, anywhere: bool) -> str | None:
        """Why the caller may not do that; None when it may."""
        vault = self.others.reached(self.caller) if anywhere else HOME
        return self.caller.refusal(capabilities, vault)

    def enter(self, vault: str) -> None:
        """Forbidden where that vault is out of the caller's reach, whether it is there or not."""
        if not self.caller.sees(vault):
            # The name is the caller's own words, which have no place in the log.
            self.audit.log_refusal(self.caller, "search", HOME, "another vault")
            raise Forbidden(f"This caller may not use the vault {vault!r}.")

    def in_file(self, what: str, who: str) -> SqliteStore:
        """The vault as the file that it is; UserError where it is in a database, with `who` does
        there what was asked for."""
        if not isinstance(self.store, SqliteStore):
            raise UserError(NOT_IN_FILE.format(what=what, who=who))
        return self.store

    # What the caller can reach beside the vault

    def at(self, moment: datetime | None) -> Session:
        """The same session, reading what there was at that moment; None: now."""
        if moment is None:
            return self
        then, now = in_utc(moment, "as_of"), self.clock()
        if then > now:
            future = f"that is in the future; it is {minute(now)} now."
            raise UserError(f"As of {minute(then)}: {future}")
        return replace(self, as_of=then, clock=lambda: then, closing=())

    def held(self, deadline: Deadline = NO_DEADLINE) -> Store:
        """What the vault holds, or held at the moment that the session reads."""
        if self.as_of is None:
            return self.store
        from recollect.vaults.past_store import past_store  # noqa: PLC0415  start-up time

        return past_store(self.store, self.as_of, self.models, deadline)

    def fanned(self, store: Store) -> CombinedStore | None:
        """The store with the collections behind it that the caller belongs to, as they are or as
        they were; None without any."""
        collections = self.others.collections
        if collections is None:
            return None
        names = filter(self.caller.shares, collections.names())
        return collections.combine_with(store, names, self.as_of, self.models)

    def readable_store(self) -> Store:
        store = self.held()
        return self.fanned(store) or store

    def elsewhere(self, id: str) -> FoundMemory | None:
        """The memory of that id in another vault, and which; None if no other has it."""
        federation = self.others.federation
        return None if federation is None else federation.show(id, self.caller.sees, self.as_of)

    # What is made of a write

    @contextmanager
    def writing(
        self,
        action: str,
        *,
        reason: str = "",
        target: str = "",
        undoes: int | None = None,
        automatic: bool = False,
        store: VaultStore | None = None,
    ) -> Iterator[Writing]:
        """A write by this caller: what memories were before it is kept, and why it was made.
        `store`: another one than the vault."""
        change = self._change(action, reason, target, None, undoes, automatic)
        store = store or self.store
        with store.writing(change) as write:
            yield write
        self._compact(store)

    @contextmanager
    def writing_many(
        self,
        action: str,
        operation: WriteOperation | None = None,
        prepared: PreparedMemories | None = None,
    ) -> Iterator[Writing]:
        """A write by this caller that may add many memories, some of them `prepared`. Writes with
        the same `operation` are undone together."""
        change = self._change(action, operation=operation)
        with self.store.writing_many(change, prepared) as write:
            yield write
        self._compact(self.store)

    def _change(
        self,
        action: str,
        reason: str = "",
        target: str = "",
        operation: WriteOperation | None = None,
        undoes: int | None = None,
        automatic: bool = False,
    ) -> Change:
        interface = self.interface
        if self.command is not None:
            action, operation, interface, automatic = self.command
        author = Author(interface, self.client, self.user, automatic)
        return Change(action, author, self.clock, reason, target, operation, undoes)

    def _compact(self, store: VaultStore) -> None:
        """Remove what need not be kept of history, where anything is due; nobody waits for it."""
        keep = parse_keep(self.settings.history.keep)

        def compact(stopped: Callable[[], bool]) -> None:
            while store.history.compact(keep, self.clock()) and not stopped():
                pass

        with suppress(Interrupted):  # the write is done, whatever becomes of the connection
            if store.history.due(keep, self.clock()):
                self.late.do(compact)

    def wrote(self, action: str, ids: Sequence[str] | None = None, count: int = 1) -> None:
        """Note what was changed; an empty list of ids changed nothing."""
        if ids is None:
            self.audit.log_write(self.caller, action, HOME, count)
        elif ids:
            self.audit.log_write(
                self.caller, action, HOME, len(ids), lambda: [self.mark(id) for id in ids]
            )

    def used(self, kind: UseKind, ids: Sequence[str], action: str = "") -> None:
        """Count a use of memories of this vault, not of what they were. Nothing is written into the
        vault for it here; a process that stays writes what it has counted beside everything else,
        at most once a minute. An `action` is told to whoever watches; what a person types on the
        page is not, letter by letter."""
        kept = self.settings.usage.keep and self.as_of is None
        if not kept or self.store.database.frozen:
            return
        keys: Sequence[int] = ()
        if ids:
            with suppress(RecollectError):  # the answer does not depend on it
                keys = self.store.usage.count(kind, ids, self.clock())
        if action and not (self.interface == "page" and action == "search"):
            who = (self.interface, self.client, self.user)
            at, few = to_micros(self.clock()), tuple(keys[:MOST_KEYS])
            self.audit.log_read(Read(at, action, *who, len(ids), few))
        if self.lifetime is Lifetime.SERVER and self.store.usage.due:
            self.late.do(lambda stop: self.store.usage.fold())

    def mark(self, id: str) -> str:
        """The name of a memory in the audit log: a hash that only this vault can make."""
        exact = id.encode(errors="surrogatepass").hex()  # a topic is hashed in small letters
        return self.store.topics.hash_word(f"audit:{exact}").hex()[:12]

    def shown(self, memory: Memory) -> Memory:
        """The memory; for somebody who may change it and not read it, its id and times alone."""
        if self.caller.may(SEARCH):
            return memory
        return Memory(id=memory.id, created_at=memory.created_at, updated_at=memory.updated_at)

    def embed_soon(self, memories: Sequence[Memory], store: VaultStore | None = None) -> None:
        """Take care of the vectors of what was saved, here or in another store: at once where that
        is quick, else in the background, so that no save waits."""
        if memories and self.models.embeds():
            with suppress(Interrupted):  # who embeds what waits finds them
                self.background.embed_saved((store or self.store).vectors, memories)
