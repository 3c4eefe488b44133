"""Copy a vault from one store to another: memories, history, feedback, folders, vectors; compare
both at the end. An interrupted copy continues."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from recollect.engine.searching import run_recipe
from recollect.errors import StoreError, UserError
from recollect.maths import batched
from recollect.store.history import Author, Change
from recollect.store.sqlite.store import SqliteStore
from recollect.store.vault import SET_NOTE
from recollect.times import EPOCH

if TYPE_CHECKING:
    from recollect.engine.session import Session
    from recollect.store.vault import VaultStore

AT_ONCE = 1_000  # rows


class Table(NamedTuple):
    """A table: its columns, the order of its rows, and its boolean columns."""

    name: str
    columns: tuple[str, ...]
    order: str
    flags: tuple[str, ...] = ()


# Tables come after those that they refer to.
WRITES = Table(
    "writes",
    (
        "seq", "operation", "at", "action", "interface", "client", "author", "automatic", "reason",
        "target", "undoes",
    ),
    "seq",
    ("automatic",),
)  # fmt: skip
VERSIONS = Table("versions", ("memory", "write", "before"), "memory, write")
FEEDBACK = Table(
    "feedback", ("query", "memory_id", "accepted", "given_at", "words"), "key", ("accepted",)
)
FOLDERS = Table(
    "folders", ("path", "project", "redact", "followed", "added_at"), "key", ("redact", "followed")
)
FILES = Table(
    "files",
    ("folder", "path", "size", "changed", "inode", "read_at", "digest", "reason", "gone_at"),
    "key",
)
CHUNKS = Table(
    "chunks", ("memory", "file", "number", "heading", "first_line", "last_line"), "memory"
)
USAGE = Table("usage", ("memory", "returned", "opened", "accepted", "last_at"), "memory")
OTHERS = (
    Table("reviews", ("item", "decision", "at", "until"), "item"),
    Table(
        "candidates",
        ("mark", "at", "client", "session", "author", "form", "place", "fields"),
        "mark",
    ),
    Table("feedback_vectors", ("model", "words", "vector"), "key"),
)
EVERY = (WRITES, VERSIONS, FEEDBACK, FOLDERS, FILES, CHUNKS, USAGE, *OTHERS)
KEYS = ("memory", "folder", "file")  # columns whose numbers differ in a copy
DIFFERENT = ("chunks", "author")  # names in braces, which differ between the stores
# Keys of `meta` that belong to a store; a copy takes the others.
OWN_NOTES = (
    "topic_key", "bulk", "unscrubbed", "embedding_dim", "embedding_identity", "vault_id",
    "history_bytes", "history_from", "last_key", "learned_until", "copy",
)  # fmt: skip


def _name(name: str) -> str:
    return f"{{{name}}}" if name in DIFFERENT else name


class VaultTables:
    """The tables of one vault."""

    def __init__(self, store: VaultStore) -> None:
        self.database: Any = store.database
        self._file = isinstance(store, SqliteStore)

    def ask(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = self.database.rows(self.database.sql(sql), *values)
        return rows

    def count(self, table: Table) -> int:
        return int(self.ask(f"SELECT count(*) FROM {_name(table.name)} WHERE {{vault}}")[0][0])

    def rows(self, table: Table, within: str = "true", *values: object) -> list[dict[str, Any]]:
        """Return the rows of a table as dictionaries."""
        columns = ", ".join(map(_name, table.columns))
        sql = f"SELECT {columns} FROM {_name(table.name)} WHERE {{vault}} AND {within}"
        rows = self.ask(f"{sql} ORDER BY {table.order}", *values)
        return [dict(zip(table.columns, row, strict=True)) for row in rows]

    def digest(self, table: Table) -> str:
        """Return a hash of all rows without their keys."""
        hashed = sha256()
        for row in self.rows(table):
            alike = {name: bool(row[name]) for name in table.flags}
            values = {name: value for name, value in row.items() if name not in KEYS}
            hashed.update(msgspec.json.encode(values | alike))
        return hashed.hexdigest()

    def keys(self) -> dict[str, int]:
        """Return the key of each memory by id, live or forgotten, in the order of keys."""
        rows = self.ask("SELECT id, key FROM memories WHERE {vault} ORDER BY key")
        return dict(rows)

    def insert(self, connection: Any, table: Table, rows: Iterable[dict[str, Any]]) -> None:
        """Insert rows within a write of the vault."""
        columns, flag = ", ".join(map(_name, table.columns)), int if self._file else bool
        signs = ", ".join("?" for _ in table.columns)
        sql = self.database.sql(
            f"INSERT INTO {_name(table.name)} ({{key}}{columns}) VALUES ({{own}}{signs})"
        )
        for some in batched(rows, AT_ONCE):
            values = [
                tuple(
                    flag(row[name]) if name in table.flags else row[name] for name in table.columns
                )
                for row in some
            ]
            connection.cursor().executemany(sql, values)

    def clear(self, connection: Any) -> None:
        """Remove the rows of all these tables."""
        for table in reversed(EVERY):
            sql = f"DELETE FROM {_name(table.name)} WHERE {{vault}}"
            connection.execute(self.database.sql(sql))

    def secret(self) -> bytes:
        """Return the key of this vault's hashes."""
        if self._file:
            return bytes.fromhex(self.ask("SELECT value FROM meta WHERE key = 'topic_key'")[0][0])
        return bytes(self.database.secret)

    def set_secret(self, secret: bytes) -> None:
        """Set the key of an empty vault, which must be reopened afterwards."""
        with self.database.writing() as connection:
            if self._file:
                sql = "UPDATE meta SET value = ? WHERE key = 'topic_key'"
                connection.execute(sql, (secret.hex(),))
            else:
                connection.execute("UPDATE vaults SET secret = %s WHERE key = vault()", (secret,))

    def history(self) -> tuple[int, int | None]:
        """Return the bytes of history, and its first moment; None for the beginning."""
        if not self._file:
            sql = "SELECT history_bytes, history_from FROM vaults WHERE key = vault()"
            history: tuple[int, int | None] = self.database.rows(sql)[0]
            return history
        sql = "SELECT key, value FROM meta WHERE key IN ('history_bytes', 'history_from')"
        noted = {key: int(value) for key, value in self.ask(sql)}
        return noted.get("history_bytes", 0), noted.get("history_from")

    def set_history(self, connection: Any, size: int, start: int | None) -> None:
        if self._file:
            noted = {"history_bytes": size, "history_from": start}
            self.set_notes(connection, {key: str(n) for key, n in noted.items() if n is not None})
            return
        connection.execute(
            "UPDATE vaults SET history_bytes = %s, history_from = %s, last_write = (SELECT "
            "coalesce(max(seq), 0) FROM writes WHERE vault = vault()) WHERE key = vault()",
            (size, start),
        )

    def notes(self) -> dict[str, str]:
        """Return the vault's notes, except those of the store itself."""
        noted = self.ask("SELECT key, value FROM meta WHERE {vault}")
        return {key: value for key, value in noted if key not in OWN_NOTES}

    def set_notes(self, connection: Any, notes: Mapping[str, str]) -> None:
        for note in notes.items():
            connection.execute(self.database.sql(SET_NOTE), note)

    def about(self, table: Table, memories: Sequence[int]) -> Iterator[dict[str, Any]]:
        """Yield the rows about these memories, given in the order of their keys."""
        for some in batched(memories, AT_ONCE):
            yield from self.rows(table, "memory BETWEEN ? AND ?", some[0], some[-1])


BATCH = 1_000  # memories of one write
SAMPLES = 200
COUNTED = ("memories", "forgotten", "archived", "kinds", "tiers", "projects", "tags")
NOTE = "copy"  # of the copy's source, in the target until all is checked
MODELS = "SELECT identity, dimensions FROM models WHERE {vault} ORDER BY identity"
FOLDER_KEYS = "SELECT key, path FROM folders WHERE {vault}"
FILE_KEYS = (
    "SELECT key, (SELECT path FROM folders WHERE {vault} AND key = folder), path FROM files "
    "WHERE {vault}"
)
NOT_EMPTY = (
    "{target} is not empty, and not a copy of {source} that was interrupted; copy into another "
    "vault, or remove what is there."
)
WRITTEN = (
    "{source} was written to while it was copied. Stop all writers, then copy it again into "
    "an empty vault."
)


class CopySource(NamedTuple):
    """The vault that is copied and its state; an interrupted copy has the same one."""

    secret: str
    last_write: int
    memories: int


class Copied(NamedTuple):
    """The numbers of things that were compared."""

    memories: int
    forgotten: int
    versions: int
    feedback: int
    vectors: int
    queries: int


def copy_vault(
    source: Session, target: Session, progress: Callable[[int], None] = lambda done: None
) -> Copied:
    """Copy everything, or the rest of it, then compare both; StoreError if they differ."""
    there = VaultTables(source.store)
    source.store.usage.settle()
    origin = _origin(there)
    _begin(source.store, target.store, origin)
    _copy_memories(source.store, target.store, progress)
    _copy_tables(there, VaultTables(target.store))
    vectors = _copy_vectors(source.store, target.store)
    if _origin(there) != origin:
        raise StoreError(WRITTEN.format(source=source.store.database.place))
    copied = _compare(source, target, vectors)
    target.store.reviews.set_note(NOTE, "")
    return copied


def take_secret(source: VaultStore, target: VaultStore) -> None:
    """Give an empty vault the key of the source; it must be reopened afterwards."""
    secret, tables = VaultTables(source).secret(), VaultTables(target)
    if tables.secret() != secret and not tables.keys():
        tables.set_secret(secret)


def _origin(tables: VaultTables) -> CopySource:
    [(last, memories)] = tables.ask(
        "SELECT (SELECT coalesce(max(seq), 0) FROM writes WHERE {vault}), "
        "(SELECT count(*) FROM memories WHERE {vault})"
    )
    return CopySource(sha256(tables.secret()).hexdigest(), last, memories)


def _begin(source: VaultStore, target: VaultStore, origin: CopySource) -> None:
    note = msgspec.json.encode(origin).decode()
    noted = target.reviews.note(NOTE)
    tables = VaultTables(target)
    if noted != note:
        if noted or tables.keys() or any(map(tables.count, EVERY)):
            places = {"source": source.database.place, "target": target.database.place}
            raise UserError(NOT_EMPTY.format(**places))
        target.reviews.set_note(NOTE, note)


def _copy_memories(source: VaultStore, target: VaultStore, progress: Callable[[int], None]) -> None:
    """Copy memories in the order of their keys; the target may have the first of them already."""
    ids = [*VaultTables(source).keys()]
    done = [*VaultTables(target).keys()]
    if ids[: len(done)] != done:
        raise StoreError(f"{target.database.place} was changed since the copy was begun.")
    progress(len(done))
    change = Change("copy", Author("command line"), lambda: EPOCH)
    for some in batched(ids[len(done) :], BATCH):
        memories = source.memories.find(some)
        with target.writing_many(change) as write:
            added = [(write.add(memories[id].memory), memories[id].forgotten_at) for id in some]
            write.index_added()
            for stored, at in added:
                if at is not None:
                    write.forget(stored, at)
        progress(len(some))


def _copy_tables(source: VaultTables, target: VaultTables) -> None:
    """Copy all other tables in one write; a retry clears them first."""
    keys, mine = source.keys(), target.keys()
    renamed = {key: mine[id] for id, key in keys.items()}

    def with_new_key(row: dict[str, Any]) -> dict[str, Any]:
        return row | {"memory": renamed[row["memory"]]}

    with target.database.writing() as connection:
        target.clear(connection)
        for table in (WRITES, FEEDBACK, FOLDERS, *OTHERS):
            target.insert(connection, table, source.rows(table))
        for table in (VERSIONS, USAGE):
            target.insert(
                connection, table, map(with_new_key, source.about(table, [*keys.values()]))
            )
        folders = _match_keys(source, target, FOLDER_KEYS)
        rows = (row | {"folder": folders[row["folder"]]} for row in source.rows(FILES))
        target.insert(connection, FILES, rows)
        files = _match_keys(source, target, FILE_KEYS)
        chunks = map(with_new_key, source.about(CHUNKS, [*keys.values()]))
        target.insert(connection, CHUNKS, (row | {"file": files[row["file"]]} for row in chunks))
        target.set_history(connection, *source.history())
        target.set_notes(connection, source.notes())
        if until := _learned_until(source, target):
            target.set_notes(connection, {"learned_until": until})


def _match_keys(source: VaultTables, target: VaultTables, sql: str) -> dict[int, int]:
    """Map the source's keys of rows to the target's."""
    keys = {(*what,): key for key, *what in target.ask(sql)}
    return {key: keys[*what,] for key, *what in source.ask(sql)}


def _learned_until(source: VaultTables, target: VaultTables) -> str:
    """Return the key of the last feedback that was learned from, in the target; '' if none."""
    noted = source.ask("SELECT value FROM meta WHERE {vault} AND key = 'learned_until'")
    if not noted:
        return ""
    order = "SELECT key FROM feedback WHERE {vault} ORDER BY key"
    pairs = zip(source.ask(order), target.ask(order), strict=True)
    last = [mine for (key,), (mine,) in pairs if key <= int(noted[0][0])]
    return str(last[-1]) if last else "0"


def _copy_vectors(source: VaultStore, target: VaultStore) -> int:
    """Copy the vectors that the target lacks; return the number of memories with one."""
    models: Mapping[str, int] = dict(VaultTables(source).ask(MODELS))
    used, keys, count = source.vectors.model(), VaultTables(target).keys(), 0
    for identity in sorted(models, key=lambda identity: identity != used):
        target.vectors.begin(identity, models[identity])
        for ids in batched(keys, BATCH):
            stored = source.vectors.read_vectors(identity, ids)
            there = target.vectors.read_vectors(identity, [*stored])
            rows = [
                (keys[id], one) for id, each in stored.items() if id not in there for one in each
            ]
            if rows:
                vectors = [(key, one.vector) for key, one in rows]
                spans, tokens = [one.span for _, one in rows], [one.tokens for _, one in rows]
                target.vectors.put(identity, models[identity], vectors, spans=spans, tokens=tokens)
            count += len(stored)
    return count


def _compare(source: Session, target: Session, vectors: int) -> Copied:
    """Compare counts, memories, vectors, all other rows, and the answers to sample queries."""
    there, here = _content(source.store), _content(target.store)
    differs = [name for name, content in there.items() if here[name] != content]
    queries = _queries(source.store)
    if not differs and not all(_same_answer(source, target, query) for query in queries):
        differs = ["answers"]
    if differs:
        raise StoreError(
            f"The copy is not what {source.store.database.place} is: other {', '.join(differs)}. "
            "Remove it, stop all writers, and copy again."
        )
    counts, rows = there["counts"], VaultTables(source.store).count
    return Copied(
        counts["memories"], counts["forgotten"], rows(VERSIONS), rows(FEEDBACK), vectors,
        len(queries),
    )  # fmt: skip


def _content(store: VaultStore) -> dict[str, Any]:
    """Return counts, and a hash of each kind of thing."""
    tables, counted = VaultTables(store), store.counts()
    hashes = {name: sha256() for name in ("memories", "vectors")}
    for ids in batched(sorted(tables.keys()), BATCH):
        stored = store.memories.find(ids)
        memories = [(stored[id].memory, stored[id].forgotten_at) for id in ids]
        hashes["memories"].update(msgspec.json.encode(memories))
        for identity, _ in tables.ask(MODELS):
            for id, each in sorted(store.vectors.read_vectors(identity, ids).items()):
                hashes["vectors"].update(id.encode(errors="surrogatepass"))
                hashes["vectors"].update(
                    b"".join(one.vector.tobytes() + one.tokens for one in each)
                )
    return {
        "counts": {name: counted[name] for name in COUNTED},
        **{name: hashed.hexdigest() for name, hashed in hashes.items()},
        **{table.name: tables.digest(table) for table in EVERY},
    }


def _same_answer(source: Session, target: Session, query: str) -> bool:
    # One moment for both, so that ages are the same.
    recipe, now = source.recipe(), source.clock()
    answers = [run_recipe(each, recipe, query, now=now, limit=10) for each in (source, target)]
    first, second = ([(one.id, one.score) for one in answer.results] for answer in answers)
    return len(first) == len(second) and all(
        one[0] == other[0] and abs(one[1] - other[1]) <= 1e-9
        for one, other in zip(first, second, strict=True)
    )


def _queries(store: VaultStore) -> list[str]:
    """Return sample queries, the first words of memories chosen by a fixed seed."""
    ids = sorted(store.memories.ids())
    chosen = random.Random(SAMPLES).sample(ids, min(SAMPLES, len(ids)))
    memories = store.memories.get(chosen)
    texts = [f"{memories[id].title} {memories[id].text}" for id in chosen]
    return [query for text in texts if (query := " ".join(text.split()[:8]))]
