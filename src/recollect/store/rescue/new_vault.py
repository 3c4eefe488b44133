"""A new vault from what can be read of a damaged one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import closing
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple

import apsw

from recollect.errors import Damaged
from recollect.files import new_beside
from recollect.hashing import topic_hash
from recollect.store.memory_rows import SAME_CONTENT, content_hash
from recollect.store.rescue.checks import examine
from recollect.store.rescue.derived import rebuild, repair_history
from recollect.store.rescue.pages import Record
from recollect.store.rescue.salvage import Salvage, SalvagedMemory
from recollect.store.sqlite.checksums import FIELDS, checksum
from recollect.store.sqlite.cipher import Sealed, give_key
from recollect.store.sqlite.migration import fill_feedback, migrate
from recollect.times import to_micros

TOPIC_KEY = "topic_key"
HEXADECIMAL = re.compile("[0-9a-f]{64}")
# The tables that are taken over as they are, each after those that its rows refer to.
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
    """What the damage cost: memories that cannot be read (`lost`), that are not what was written
    (`altered`), or have lost tags (`untagged`), and sentences about everything else. `uncertain`:
    there may have been memories of which nothing is left to tell."""

    lost: list[str]
    altered: list[str]
    untagged: list[str]
    others: list[str]
    uncertain: bool = False

    def memories(self) -> bool:
        """Whether it cost anything of a memory."""
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
    """Make a vault of what was salvaged, under the same key, with everything that is derived made
    anew; Damaged where the result does not pass every check. A memory that is not what was written
    is forgotten in it, so that no search takes it for right."""
    with (
        new_beside(file) as (beside, _),
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
            repair_history(made, [one.stored().key for one in salvage.memories if not one.whole])
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
