"""Copying a vault from one store to another: memories, their history, what people said of results,
folders, vectors; checked at the end. It can be interrupted, and goes on where it was."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import msgspec

from recollect.engine.searching import run_recipe
from recollect.errors import StoreError, UserError
from recollect.named_tuples import NamedTuple
from recollect.parts import parts
from recollect.store.history import Author, Change
from recollect.store.vault_tables import (
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
)  # fmt: skip
from recollect.times import EPOCH

if TYPE_CHECKING:
    from recollect.engine.session import Session
    from recollect.store.vault import VaultStore

BATCH = 1_000  # memories of one write
SAMPLES = 200
NOTE = "copy"  # in the target, until all is checked: where it comes from
MODELS = "SELECT identity, dimensions FROM models WHERE {vault} ORDER BY identity"
WHERE_FOLDERS = "SELECT key, path FROM folders WHERE {vault}"
WHERE_FILES = "SELECT key, folder, path FROM files WHERE {vault}"
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


def secret_of(store: VaultStore) -> bytes:
    return VaultTables(store).secret()


def take_secret(store: VaultStore, secret: bytes) -> None:
    """Give an empty vault the key of the one that is copied; it must be opened again."""
    tables = VaultTables(store)
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
        with target.writing(change, bulk=True) as write:
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
        folders = _paired(source.ask(WHERE_FOLDERS), target.ask(WHERE_FOLDERS))
        files = [row | {"folder": folders[row["folder"]]} for row in source.rows(FILES)]
        target.insert(connection, FILES, files)
        before = [(key, (folders[folder], path)) for key, folder, path in source.ask(WHERE_FILES)]
        after = [(key, (folder, path)) for key, folder, path in target.ask(WHERE_FILES)]
        file_keys = _paired(before, after)
        chunks = map(moved, source.about(CHUNKS, [*keys.values()]))
        placed = (row | {"file": file_keys[row["file"]]} for row in chunks)
        target.insert(connection, CHUNKS, placed)
        target.set_history(connection, *source.history())
        target.set_notes(connection, source.notes())
        if until := _learned_until(source, target):
            target.set_notes(connection, {"learned_until": until})


def _paired(before: Sequence[Any], after: Sequence[Any]) -> dict[int, int]:
    """The keys of the one as those of the other, by what they are keys of."""
    keys = {what: key for key, what in after}
    return {key: keys[what] for key, what in before}


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
                spans = [one.span for _, one in rows]
                target.vectors.put(identity, models[identity], vectors, spans=spans)
            count += len(found)
    return count


def _compared(source: Session, target: Session, vectors: int) -> Copied:
    """Counts, every memory, its versions, and the answers to a sample of questions."""
    compared: dict[str, Callable[[VaultStore], object]] = {
        "counts": _counts, "memories": _digest, "vectors": _vector_digest,
    }  # fmt: skip
    differs = [name for name, of in compared.items() if of(source.store) != of(target.store)]
    queries = _queries(source.store)
    recipe = source.recipe()
    for query in [] if differs else queries:
        # The pages of one moment: what is newer weighs the same for both.
        answers = [
            run_recipe(each, recipe, query, now=source.clock(), limit=10)
            for each in (source, target)
        ]
        scores = [{result.id: result.score for result in answer.results} for answer in answers]
        if [*scores[0]] != [*scores[1]] or any(
            abs(score - scores[1][id]) > 1e-9 for id, score in scores[0].items()
        ):
            differs.append("answers")
            break
    if differs:
        raise StoreError(
            f"The copy is not what {source.store.database.place} is: other {', '.join(differs)}. "
            "Remove it, and copy again while nobody writes."
        )
    counts = _counts(source.store)
    return Copied(
        counts["memories"], counts["forgotten"], counts["versions"], counts["feedback"], vectors,
        len(queries),
    )  # fmt: skip


def _counts(store: VaultStore) -> dict[str, Any]:
    counted, tables = store.counts(), VaultTables(store)
    names = ("memories", "forgotten", "archived", "kinds", "tiers", "projects", "tags")
    return {name: counted[name] for name in names} | {
        table.name: tables.count(table) for table in EVERY
    }


def _digest(store: VaultStore) -> str:
    """A hash of all memories, live and forgotten, and of the last versions of some."""
    hashed = sha256()
    for ids in parts(sorted(VaultTables(store).keys()), BATCH):
        found = store.memories.find(ids)
        for id in ids:
            hashed.update(msgspec.json.encode((found[id].memory, found[id].forgotten_at)))
        hashed.update(msgspec.json.encode(store.history.of(ids[0])))
    return hashed.hexdigest()


def _vector_digest(store: VaultStore) -> str:
    hashed, tables = sha256(), VaultTables(store)
    for identity, _ in tables.ask(MODELS):
        for ids in parts(sorted(tables.keys()), BATCH):
            for id, each in sorted(store.vectors.stored(identity, ids).items()):
                hashed.update(id.encode(errors="surrogatepass"))
                hashed.update(b"".join(one.vector.tobytes() for one in each))
    return hashed.hexdigest()


def _queries(store: VaultStore) -> list[str]:
    """The same words for both, from memories that are chosen by chance, and always the same."""
    ids = sorted(store.memories.ids())
    chosen = random.Random(SAMPLES).sample(ids, min(SAMPLES, len(ids)))
    found = store.memories.get(chosen)
    texts = [f"{found[id].title} {found[id].text}" for id in chosen]
    return [query for text in texts if (query := " ".join(text.split()[:8]))]
