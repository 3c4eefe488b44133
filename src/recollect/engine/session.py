"""The session: an open vault and its caller, the first argument of every operation."""

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
from recollect.lifetime import BackgroundTasks, Lifetime
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

NOT_IN_FILE = "{what} is for a vault in a file; with PostgreSQL, {alternative}."


class Closable(Protocol):
    def close(self) -> None: ...


class Command(NamedTuple):
    """Overrides how all writes of a session are recorded in the history."""

    action: str
    operation: WriteOperation
    interface: str
    automatic: bool


class Session(Struct, frozen=True, kw_only=True, eq=False):
    """An open vault, its settings and models, and its caller. A session for another caller is a
    copy with another `caller` and nothing to close. `as_of`: read the vault as it was then. `step`:
    called with the name of each step of long reading work; it raises Cancelled to stop it."""

    home: Path
    path: Path
    settings: Settings
    recipes: Recipes
    models: ActiveModels
    store: VaultStore
    audit: Audit
    clock: Callable[[], datetime]
    background: BackgroundEmbedding
    tasks: BackgroundTasks
    others: OtherVaults
    caller: Caller = OWNER
    interface: str = "library"
    client: str = ""
    command: Command | None = None
    lifetime: Lifetime = Lifetime.LIBRARY
    step: Callable[[str], None] = lambda what: None
    as_of: datetime | None = None
    closing: tuple[Closable, ...] = ()
    # Makes a `Recollect` of a session; set by `Recollect`, which imports this module.
    recollect: Callable[[Session], Any] = lambda session: session

    def close(self) -> None:
        if self.closing:
            self.background.stop()
        for part in self.closing:
            part.close()

    @property
    def redaction(self) -> Redaction:
        """The redaction of secrets, as configured."""
        from recollect.secrets.redaction import Redaction  # noqa: PLC0415  start-up time

        return Redaction(self.settings.secrets)

    def recipe(
        self,
        name: str | None = None,
        changes: Mapping[str, object] | None = None,
        *,
        section: Literal["search", "context"] = "search",
    ) -> Recipe:
        """Return the named recipe, or the default of this section of the settings, with these
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

    # The caller's rights

    def require(self, *capabilities: str, action: str, anywhere: bool = False) -> None:
        """Raise Forbidden, and log it, unless the caller has these capabilities in this vault, or
        with `anywhere` in one that a search spans."""
        why = self.refusal(capabilities, anywhere=anywhere)
        if why is not None:
            self.audit.log_refusal(self.caller, action, HOME, why)
            raise Forbidden(why)

    @property
    def user(self) -> str:
        """The caller's name in history; empty for the owner."""
        return "" if self.caller.name == OWNER.name else self.caller.name

    def require_restore(self) -> None:
        """Raise Forbidden unless the caller may restore forgotten memories, as saving one does."""
        try:
            self.require(DELETE, action="restore")
        except Forbidden as error:
            raise Forbidden(f"Saving this would bring back a forgotten memory. {error}") from error

    def refusal(self, capabilities: tuple[str, ...], *, anywhere: bool) -> str | None:
        """Return why the caller lacks these capabilities; None if it has them."""
        vault = self.others.first_visible(self.caller) if anywhere else HOME
        return self.caller.refusal(capabilities, vault)

    def enter(self, vault: str) -> None:
        """Raise Forbidden if the caller may not use this vault, whether it exists or not."""
        if not self.caller.sees(vault):
            # The log must not hold the name: it is the caller's own text.
            self.audit.log_refusal(self.caller, "search", HOME, "another vault")
            raise Forbidden(f"This caller may not use the vault {vault!r}.")

    def sqlite_store(self, what: str, alternative: str) -> SqliteStore:
        """Return the SQLite store; raise UserError for PostgreSQL, with the `alternative` to `what`
        was asked for."""
        if not isinstance(self.store, SqliteStore):
            raise UserError(NOT_IN_FILE.format(what=what, alternative=alternative))
        return self.store

    # Other stores: the past, collections, other vaults

    def at(self, moment: datetime | None) -> Session:
        """Return this session, reading the vault as it was at a time; None: now."""
        if moment is None:
            return self
        then, now = in_utc(moment, "as_of"), self.clock()
        if then > now:
            future = f"that is in the future; it is {minute(now)} now."
            raise UserError(f"As of {minute(then)}: {future}")
        return replace(self, as_of=then, clock=lambda: then, closing=())

    def vault_store(self, deadline: Deadline = NO_DEADLINE) -> Store:
        """Return the vault's store, or a view of it as of the session's time."""
        if self.as_of is None:
            return self.store
        from recollect.vaults.past_store import past_store  # noqa: PLC0415  start-up time

        return past_store(self.store, self.as_of, self.models, deadline)

    def with_collections(self, store: Store) -> CombinedStore | None:
        """Return the store together with the caller's collections, as of the session's time; None
        if there are no collections."""
        collections = self.others.collections
        if collections is None:
            return None
        names = filter(self.caller.shares, collections.names())
        return collections.combine_with(store, names, self.as_of, self.models)

    def readable_store(self) -> Store:
        """Return all that the caller can read in this vault, as of the session's time."""
        store = self.vault_store()
        return self.with_collections(store) or store

    def find_elsewhere(self, id: str) -> FoundMemory | None:
        """Return the memory with this id in another vault; None if no other has it."""
        federation = self.others.federation
        return None if federation is None else federation.show(id, self.caller.sees, self.as_of)

    # Writing

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
        """Begin a write by this caller, which the history records. `store`: another one than the
        vault's."""
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
        """Begin a write that may add many memories, some of them `prepared`. Writes with the same
        `operation` are undone together."""
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
        """Remove history that need not be kept, in the background, if it is due."""
        keep = parse_keep(self.settings.history.keep)

        def compact(stopped: Callable[[], bool]) -> None:
            while store.history.compact(keep, self.clock()) and not stopped():
                pass

        with suppress(Interrupted):  # the write itself is done
            if store.history.is_due(keep, self.clock()):
                self.tasks.run(compact)

    def wrote(self, action: str, ids: Sequence[str] | None = None, count: int = 1) -> None:
        """Log a change; with an empty list of ids nothing was changed."""
        if ids is None:
            self.audit.log_write(self.caller, action, HOME, count)
        elif ids:
            self.audit.log_write(
                self.caller, action, HOME, len(ids), lambda: [self.mark(id) for id in ids]
            )

    def count_use(self, kind: UseKind, ids: Sequence[str], action: str = "") -> None:
        """Count a use of memories of this vault, unless the session reads the past. The vault is
        not written to here; a server writes the counts in the background, at most once a minute.
        `action` goes to the activity log, except searches on the page, which come letter by
        letter."""
        kept = self.settings.usage.keep and self.as_of is None
        if not kept or self.store.database.frozen:
            return
        keys: Sequence[int] = ()
        if ids:
            with suppress(RecollectError):  # a failure must not fail the request
                keys = self.store.usage.count(kind, ids, self.clock())
        if action and not (self.interface == "page" and action == "search"):
            who = (self.interface, self.client, self.user)
            at, few = to_micros(self.clock()), tuple(keys[:MOST_KEYS])
            self.audit.log_read(Read(at, action, *who, len(ids), few))
        if self.lifetime is Lifetime.SERVER and self.store.usage.due:
            self.tasks.run(lambda stop: self.store.usage.fold())

    def mark(self, id: str) -> str:
        """Return the name of a memory in the audit log: a hash that only this vault can make."""
        exact = id.encode(errors="surrogatepass").hex()  # topics are hashed in lower case
        return self.store.topics.hash_word(f"audit:{exact}").hex()[:12]

    def visible(self, memory: Memory) -> Memory:
        """Return the memory, or only its id and times if the caller may not read."""
        if self.caller.may(SEARCH):
            return memory
        return Memory(id=memory.id, created_at=memory.created_at, updated_at=memory.updated_at)

    def embed_soon(self, memories: Sequence[Memory], store: VaultStore | None = None) -> None:
        """Embed saved memories, of this or another store: at once if that is quick, else in the
        background."""
        if memories and self.models.embeds():
            with suppress(Interrupted):  # the background embedding finds them later
                self.background.embed_saved((store or self.store).vectors, memories)
