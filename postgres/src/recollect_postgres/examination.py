"""The doctor's checks: whether what is kept beside the memories is what they say."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from operator import itemgetter

from recollect.store.base import Stored
from recollect.store.differences import earlier
from recollect.store.history import VERSION_BYTES, WRITE_BYTES
from recollect.store.memory_rows import BadRow, content_hash_of
from recollect.store.vault import Finding
from recollect_postgres.memories import READ, from_row
from recollect_postgres.pool import Connection

STEP = 1_000  # memories after which progress is told
COUNTS = """
SELECT v.documents, v.forgotten, v.history_bytes,
       (SELECT count(*) FROM memories m WHERE m.vault = vault() AND m.forgotten_at IS NULL),
       (SELECT count(*) FROM memories m WHERE m.vault = vault() AND m.forgotten_at IS NOT NULL),
       (SELECT coalesce(sum(length(before) + %s), 0) FROM versions WHERE vault = vault())
     + %s * (SELECT count(*) FROM writes WHERE vault = vault())
  FROM vaults v WHERE v.key = vault()"""
TOPICS = """
SELECT count(*) FROM (
    SELECT m.key AS memory, tag AS name FROM memories m, unnest(m.tags) AS tag
     WHERE m.vault = vault()
) AS said FULL JOIN (SELECT memory, name FROM topics WHERE vault = vault()) AS kept
  ON kept.memory = said.memory AND kept.name = said.name
 WHERE kept.memory IS NULL OR said.memory IS NULL"""
HASHES = "SELECT key, content_hash FROM memories WHERE vault = vault() AND key = ANY(%s)"
BEHIND = f"{READ} WHERE m.vault = vault() AND m.key > %s ORDER BY m.key LIMIT {STEP}"
VERSIONS = """
SELECT memory, before FROM versions
 WHERE vault = vault() AND memory = ANY(%s) ORDER BY memory, write DESC"""


def examine(connection: Connection, advance: Callable[[int], None]) -> list[Finding]:
    """Check every memory, its versions, and everything that is derived from them."""
    hashes, versions, last = 0, 0, 0
    while rows := connection.execute(BEHIND, (last,)).fetchall():
        found = {row[0]: from_row(row) for row in rows}
        kept = dict[int, bytes](connection.execute(HASHES, ([*found],)))
        hashes += sum(kept[key] != content_hash_of(one.memory) for key, one in found.items())
        differences = connection.execute(VERSIONS, ([*found],))
        for key, some in groupby(differences, itemgetter(0)):
            versions += not _readable(found[key], [before for _, before in some])
        last = rows[-1][0]
        advance(len(rows))
    [(wrong,)] = connection.execute(TOPICS).fetchall()
    return [
        _finding("memories", hashes, "memories are not what was saved"),
        _finding("versions", versions, "memories have earlier versions that cannot be read"),
        _finding("topics", wrong, "tags are not those of their memories"),
        counts_finding(connection),
    ]


def counts_finding(connection: Connection) -> Finding:
    """Whether the vault counts as many memories and as much history as it has."""
    [row] = connection.execute(COUNTS, (VERSION_BYTES, WRITE_BYTES)).fetchall()
    wrong = sum(counted != real for counted, real in zip(row[:3], row[3:], strict=True))
    return _finding("counts", wrong, "counts are wrong")


def _readable(stored: Stored | None, differences: list[bytes]) -> bool:
    try:
        for before in differences:
            assert stored is not None
            stored = earlier(stored, before)
    except BadRow:
        return False
    return True


def _finding(check: str, wrong: int, what: str) -> Finding:
    return Finding(check, f"{wrong} {what}" if wrong else None)
