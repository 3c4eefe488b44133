"""Repairing a vault: in place if only derived data is wrong, or by a new file made of what can be
read if the file itself is damaged. The damaged file is kept."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import apsw

from recollect.errors import Damaged, Locked, NotAVault, StoreError
from recollect.files import remove_database, replace_file
from recollect.hashing import topic_hash
from recollect.store.memory_rows import SAME_CONTENT, content_hash
from recollect.store.rescue.checks import examine
from recollect.store.rescue.derived import TopicHash, rebuild, repair_history
from recollect.store.rescue.salvage import Record, Salvage, SalvagedMemory
from recollect.store.sqlite.checksums import FIELDS, accept_altered, checksum, find_altered
from recollect.store.sqlite.connection import Database
from recollect.store.sqlite.migration import VERSION, fill_feedback, migrate
from recollect.store.sqlite.replacement import replace_vault
from recollect.store.sqlite.snapshot import file_problem, path_aside, references_problem
from recollect.store.sqlite.vault_files import WRONG_PASSPHRASE, Sealed, give_key
from recollect.times import EPOCH, to_micros

if TYPE_CHECKING:
    from recollect.store.sqlite.store import SqliteStore

TOPIC_KEY = "topic_key"
HEXADECIMAL = re.compile("[0-9a-f]{64}")
# The tables that are copied unchanged, each after those that its rows refer to.
COPIED = (
    "folders", "files", "cuts", "models", "vectors", "token_vectors", "writes", "versions", "usage",
    "reviews", "candidates",
)  # fmt: skip
INSERT = (
    f"INSERT OR IGNORE INTO memories ({', '.join(FIELDS)}, content_hash, checksum) "
    f"VALUES (?, ?{', ?' * len(FIELDS)})"
)
DANGLING = (
    "DELETE FROM files WHERE folder NOT IN (SELECT key FROM folders)",
    "DELETE FROM cuts WHERE memory NOT IN (SELECT key FROM memories) "
    "OR file NOT IN (SELECT key FROM files)",
    "DELETE FROM vectors WHERE model NOT IN (SELECT key FROM models) "
    "OR memory NOT IN (SELECT key FROM memories WHERE forgotten_at IS NULL)",
    "DELETE FROM token_vectors WHERE vector NOT IN (SELECT seq FROM vectors)",
    "DELETE FROM versions WHERE memory NOT IN (SELECT key FROM memories) "
    "OR write NOT IN (SELECT seq FROM writes)",
    "DELETE FROM usage WHERE memory NOT IN (SELECT key FROM memories)",
)
UNCERTAIN = "Memories may be missing whose ids could not be read either."
FILES = "What is known of some files of folders may be missing; the next scan reads them again."
HISTORY = "Some earlier versions of memories may be missing."
VECTORS = "Some vectors may be missing; `recollect reindex` computes them."
LOSSES = {
    "feedback": "Some feedback may be missing.",
    "folders": "Some folders may be missing; `recollect add FOLDER` adds them again.",
    "files": FILES,
    "cuts": FILES,
    "vectors": VECTORS,
    "token_vectors": VECTORS,
    "models": VECTORS,
    "writes": HISTORY,
    "versions": HISTORY,
    "usage": "How often some memories were used may be missing.",
    "reviews": "Some decisions of reviews may be missing.",
    "candidates": "Some of what was captured and waits in the review may be missing.",
}


class SalvageReport(NamedTuple):
    """The loss: memories that cannot be read (`lost`), that are not what was written (`altered`),
    or have lost tags (`untagged`), and sentences about everything else. `uncertain`: there may have
    been memories without a trace."""

    lost: list[str]
    altered: list[str]
    untagged: list[str]
    others: list[str]
    uncertain: bool = False

    def memories(self) -> bool:
        """Return True if anything of a memory was lost."""
        return bool(self.lost or self.altered or self.untagged or self.uncertain)


def report(salvage: Salvage) -> SalvageReport:
    every = salvage.memories
    uncertain = {"memories", "sqlite_autoindex_memories_1"} <= salvage.incomplete
    others = [UNCERTAIN] if uncertain else []
    return SalvageReport(
        lost=salvage.lost(),
        altered=[memory.id for memory in every if not memory.whole],
        untagged=[memory.id for memory in every if memory.whole and not memory.tagged],
        others=[
            *others,
            *dict.fromkeys(LOSSES[name] for name in LOSSES if name in salvage.incomplete),
        ],
        uncertain=uncertain,
    )


def write_vault(salvage: Salvage, file: Path, sealed: Sealed | None, now: datetime) -> None:
    """Make a vault of the salvaged rows, under the same key, and rebuild everything derived. Raise
    Damaged if the result does not pass every check. A memory that is not what was written is
    forgotten in it, so that no search takes it for right."""
    with (
        replace_file(file) as (beside, _),
        closing(apsw.Connection(str(beside), apsw.SQLITE_OPEN_READWRITE)) as made,
    ):
        if sealed is not None:
            give_key(made, sealed.key + sealed.header)
        made.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
        migrate(made, file)
        with made:
            for name, value in salvage.rows("meta"):
                if name != TOPIC_KEY or HEXADECIMAL.fullmatch(str(value)):
                    made.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))
            [(key,)] = made.execute("SELECT value FROM meta WHERE key = ?", (TOPIC_KEY,)).fetchall()
            hashed = partial(topic_hash, bytes.fromhex(str(key)))
            _insert_memories(made, salvage.memories, to_micros(now))
            _insert(made, "feedback", [(*row[:5], "") for row in salvage.rows("feedback")])
            fill_feedback(made)
            for table in COPIED:
                _insert(made, table, salvage.rows(table))
            for sql in DANGLING:
                made.execute(sql)
            repair_history(made, [one.as_stored().key for one in salvage.memories if not one.whole])
            made.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 1)
            rebuild(made, hashed)
        wrong = [finding for finding in examine(made, hashed) if finding.problem]
        if wrong:
            raise Damaged(
                f"What could be read of the vault does not make a new one ({wrong[0].check}: "
                f"{wrong[0].problem}), so nothing was changed. `recollect export --salvage` writes "
                "what can be read."
            )


def _insert_memories(made: apsw.Connection, memories: Iterable[SalvagedMemory], now: int) -> None:
    tags: dict[str, int] = {}
    places = [FIELDS.index(name) for name in SAME_CONTENT]
    for memory in memories:
        fields = memory.fields
        if not memory.whole and fields[-1] is None:
            fields = (*fields[:-1], now)
        kept = list(dict.fromkeys(memory.tags))
        content = content_hash([str(fields[place]) for place in places])
        made.execute(INSERT, (*fields, content, checksum(fields, kept)))
        for position, name in enumerate(kept):
            if name not in tags:
                tags[name] = len(tags) + 1
                made.execute("INSERT INTO tags VALUES (?, ?, x'')", (tags[name], name))
            _insert(made, "memory_tags", [(fields[0], tags[name], position)])


def _insert(made: apsw.Connection, table: str, rows: Iterable[Record]) -> None:
    for row in rows:
        made.execute(f"INSERT OR IGNORE INTO {table} VALUES (?{', ?' * (len(row) - 1)})", row)


class RepairResult(NamedTuple):
    """The loss, and the path of the damaged file; None if it was repaired in place."""

    report: SalvageReport
    kept: Path | None = None


def mend(store: SqliteStore, now: datetime | None) -> RepairResult:
    """Rebuild everything derived, and check it; forget from `now` on a memory that is not what was
    written. If the file itself is damaged, make a new one. Without `now`, raise Damaged if this
    would lose anything that was saved."""
    mended = _mend(store.database, store.topics.hash_word, now)
    store.forget()
    return mended


def _mend(database: Database, hashed: TopicHash, now: datetime | None) -> RepairResult:
    with suppress(Damaged, NotAVault, Locked):  # what looks like a wrong key may be damage
        mended = _mend_in_place(database, hashed, now)
        with database.translate_errors():
            wrong = any(finding.problem for finding in examine(database.connection(), hashed))
        if mended is not None and not wrong:
            database.note_damage(None)
            return mended
    return _rewrite(database, now)


def _mend_in_place(
    database: Database, hashed: TopicHash, now: datetime | None
) -> RepairResult | None:
    with database.repairing() as connection:
        if file_problem(connection) or references_problem(connection):
            return None
        found = [*find_altered(connection)]
        altered = [memory.id for memory in found if memory.what == "fields"]
        untagged = [memory.id for memory in found if memory.what == "tags"]
        costs = SalvageReport([], altered, untagged, [])
        _check_costs(database, costs, now)
        accept_altered(connection, found, to_micros(now or EPOCH))
        if repair_history(connection, [memory.key for memory in found if memory.what == "fields"]):
            costs.others.append(HISTORY)
        rebuild(connection, hashed)
    database.rewrite()
    return RepairResult(costs)


def _rewrite(database: Database, now: datetime | None) -> RepairResult:
    """Replace the vault by a new one, made of what can be read of it."""
    aside = path_aside(database.path, "damaged")
    costs: list[SalvageReport] = []

    def write(copy: Path) -> None:
        with salvaging(database, aside) as salvage:
            costs.append(report(salvage))
            _check_costs(database, costs[0], now)
            write_vault(salvage, copy, database.sealed, now or EPOCH)

    database.release()
    try:
        kept = replace_vault(database.path, aside, write)
    except BaseException:
        remove_database(aside)
        raise
    aside.with_name(f"{aside.name}-shm").unlink(missing_ok=True)
    database.note_damage(None)
    return RepairResult(costs[0], kept)


def _check_costs(database: Database, costs: SalvageReport, now: datetime | None) -> None:
    if now is None and (costs.memories() or costs.others):
        raise Damaged(
            f"The vault {database.path} is damaged; `recollect doctor --fix` keeps what can be "
            "read and says what is lost."
        )


@contextmanager
def salvaging(database: Database, file: Path) -> Iterator[Salvage]:
    """Yield what can be read of the file, which is the vault or a copy of it."""
    with closing(database.reader(file)) as connection:
        salvage = Salvage(connection)
        if salvage.version > VERSION:
            raise StoreError(
                f"The vault {file} is of a newer Recollect; install that to repair it."
            )
        if database.sealed is not None and not salvage.readable:
            raise Locked(WRONG_PASSPHRASE.format(path=database.path))
        if not salvage.found and not salvage.memories:
            raise NotAVault(
                f"{database.path} is not a SQLite database, and nothing in it can be read as a "
                "vault; `recollect restore --from FILE` puts a backup in its place."
            )
        yield salvage
