"""Copying a vault from one store to another: memories, their history, what people said of results,
folders, vectors; checked at the end. It can be interrupted, and goes on where it was."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from recollect.engine.searching import run_recipe
from recollect.errors import StoreError, UserError
from recollect.maths import parts
from recollect.store.history import Author, Change
from recollect.times import EPOCH
from recollect_postgres.vault_tables import (
    CHUNKS,
    EVERY,
    FEEDBACK,
    FILES,
    FOLDERS,
    OTHERS,
    USAGE,
    VERSIONS,
    WRITES,
    VaultTables,
)

if TYPE_CHECKING:
    from recollect.engine.session import Session
    from recollect.store.vault import VaultStore

BATCH = 1_000  # memories of one write
SAMPLES = 200
COUNTED = ("memories", "forgotten", "archived", "kinds", "tiers", "projects", "tags")
NOTE = "copy"  # in the target, until all is checked: where it comes from
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
    "{source} was written to while it was copied. Let nobody write to it, and copy it again into "
    "an empty vault."
)


class CopySource(NamedTuple):
    """Which vault a copy is of, and how far its history was: the same for the same copy."""

    secret: str
    last_write: int
    memories: int


class Copied(NamedTuple):
    """What the copy has, as far as it was compared with the source."""

    memories: int
    forgotten: int
    versions: int
    feedback: int
    vectors: int
    queries: int


def copy_vault(
    source: Session, target: Session, progress: Callable[[int], None] = lambda done: None
) -> Copied:
    """Copy everything, or the rest of it, then compare both. StoreError where they differ."""
    there = VaultTables(source.store)
    source.store.usage.settle()
    origin = _origin(there)
    _begin(source.store, target.store, origin)
    _copy_memories(source.store, target.store, progress)
    _copy_tables(there, VaultTables(target.store))
    vectors = _copy_vectors(source.store, target.store)
    if _origin(there) != origin:
        raise StoreError(WRITTEN.format(source=source.store.database.place))
    found = _compared(source, target, vectors)
    target.store.reviews.set_note(NOTE, "")
    return found


def take_secret(source: VaultStore, target: VaultStore) -> None:
    """Give an empty vault the key of the one that is copied; it must be opened again."""
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
    found = target.reviews.note(NOTE)
    tables = VaultTables(target)
    if found != note:
        if found or tables.keys() or any(map(tables.count, EVERY)):
            places = {"source": source.database.place, "target": target.database.place}
            raise UserError(NOT_EMPTY.format(**places))
        target.reviews.set_note(NOTE, note)


def _copy_memories(source: VaultStore, target: VaultStore, progress: Callable[[int], None]) -> None:
    """In the order of their keys; those that are there already are the first of them."""
    ids = [*VaultTables(source).keys()]
    done = [*VaultTables(target).keys()]
    if ids[: len(done)] != done:
        raise StoreError(f"{target.database.place} was changed since the copy was begun.")
    progress(len(done))
    change = Change("copy", Author("command line"), lambda: EPOCH)
    for some in parts(ids[len(done) :], BATCH):
        found = source.memories.find(some)
        with target.writing_many(change) as write:
            added = [(write.add(found[id].memory), found[id].forgotten_at) for id in some]
            write.index_added()
            for stored, at in added:
                if at is not None:
                    write.forget(stored, at)
        progress(len(some))


def _copy_tables(source: VaultTables, target: VaultTables) -> None:
    """What is beside the memories, as it is, in one write: another try begins it anew."""
    keys, mine = source.keys(), target.keys()
    renamed = {key: mine[id] for id, key in keys.items()}

    def moved(row: dict[str, Any]) -> dict[str, Any]:
        return row | {"memory": renamed[row["memory"]]}

    with target.database.writing() as connection:
        target.clear(connection)
        for table in (WRITES, FEEDBACK, FOLDERS, *OTHERS):
            target.insert(connection, table, source.rows(table))
        for table in (VERSIONS, USAGE):
            target.insert(connection, table, map(moved, source.about(table, [*keys.values()])))
        folders = _paired(source, target, FOLDER_KEYS)
        rows = (row | {"folder": folders[row["folder"]]} for row in source.rows(FILES))
        target.insert(connection, FILES, rows)
        files = _paired(source, target, FILE_KEYS)
        chunks = map(moved, source.about(CHUNKS, [*keys.values()]))
        target.insert(connection, CHUNKS, (row | {"file": files[row["file"]]} for row in chunks))
        target.set_history(connection, *source.history())
        target.set_notes(connection, source.notes())
        if until := _learned_until(source, target):
            target.set_notes(connection, {"learned_until": until})


def _paired(source: VaultTables, target: VaultTables, sql: str) -> dict[int, int]:
    """The keys of the one as those of the other, by what they are keys of."""
    keys = {(*what,): key for key, *what in target.ask(sql)}
    return {key: keys[*what,] for key, *what in source.ask(sql)}


def _learned_until(source: VaultTables, target: VaultTables) -> str:
    """The key of the last feedback that is not learned from any more; '' for none."""
    noted = source.ask("SELECT value FROM meta WHERE {vault} AND key = 'learned_until'")
    if not noted:
        return ""
    order = "SELECT key FROM feedback WHERE {vault} ORDER BY key"
    pairs = zip(source.ask(order), target.ask(order), strict=True)
    last = [mine for (key,), (mine,) in pairs if key <= int(noted[0][0])]
    return str(last[-1]) if last else "0"


def _copy_vectors(source: VaultStore, target: VaultStore) -> int:
    """Those that are there already are not read again; returns how many memories have one."""
    models: Mapping[str, int] = dict(VaultTables(source).ask(MODELS))
    used, keys, count = source.vectors.model(), VaultTables(target).keys(), 0
    for identity in sorted(models, key=lambda identity: identity != used):
        target.vectors.begin(identity, models[identity])
        for ids in parts(keys, BATCH):
            found = source.vectors.stored(identity, ids)
            there = target.vectors.stored(identity, [*found])
            rows = [
                (keys[id], one) for id, each in found.items() if id not in there for one in each
            ]
            if rows:
                vectors = [(key, one.vector) for key, one in rows]
                spans, tokens = [one.span for _, one in rows], [one.tokens for _, one in rows]
                target.vectors.put(identity, models[identity], vectors, spans=spans, tokens=tokens)
            count += len(found)
    return count


def _compared(source: Session, target: Session, vectors: int) -> Copied:
    """Counts, memories, vectors, the rows beside them, and the answers to a sample of questions."""
    there, here = _content(source.store), _content(target.store)
    differs = [name for name, found in there.items() if here[name] != found]
    queries = _queries(source.store)
    if not differs and not all(_same_answer(source, target, query) for query in queries):
        differs = ["answers"]
    if differs:
        raise StoreError(
            f"The copy is not what {source.store.database.place} is: other {', '.join(differs)}. "
            "Remove it, and copy again while nobody writes."
        )
    counts, rows = there["counts"], VaultTables(source.store).count
    return Copied(
        counts["memories"], counts["forgotten"], rows(VERSIONS), rows(FEEDBACK), vectors,
        len(queries),
    )  # fmt: skip


def _content(store: VaultStore) -> dict[str, Any]:
    """What both must have alike: counts, and a hash of each kind of thing."""
    tables, counted = VaultTables(store), store.counts()
    hashes = {name: sha256() for name in ("memories", "vectors")}
    for ids in parts(sorted(tables.keys()), BATCH):
        found = store.memories.find(ids)
        memories = [(found[id].memory, found[id].forgotten_at) for id in ids]
        hashes["memories"].update(msgspec.json.encode(memories))
        for identity, _ in tables.ask(MODELS):
            for id, each in sorted(store.vectors.stored(identity, ids).items()):
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
    # The pages of one moment: what is newer weighs the same for both.
    recipe, now = source.recipe(), source.clock()
    answers = [run_recipe(each, recipe, query, now=now, limit=10) for each in (source, target)]
    first, second = ([(one.id, one.score) for one in answer.results] for answer in answers)
    return len(first) == len(second) and all(
        one[0] == other[0] and abs(one[1] - other[1]) <= 1e-9
        for one, other in zip(first, second, strict=True)
    )


def _queries(store: VaultStore) -> list[str]:
    """The same words for both, from memories that are chosen by chance, and always the same."""
    ids = sorted(store.memories.ids())
    chosen = random.Random(SAMPLES).sample(ids, min(SAMPLES, len(ids)))
    found = store.memories.get(chosen)
    texts = [f"{found[id].title} {found[id].text}" for id in chosen]
    return [query for text in texts if (query := " ".join(text.split()[:8]))]
