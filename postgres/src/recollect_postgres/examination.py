"""The doctor's checks of everything that is derived from the memories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import groupby
from operator import itemgetter

import numpy as np

from recollect.maths import batched
from recollect.store.base import Stored
from recollect.store.differences import earlier
from recollect.store.history import VERSION_BYTES, WRITE_BYTES
from recollect.store.memory_rows import BadRow, content_hash_of
from recollect.store.sqlite.segments.packing import prepare
from recollect.store.sqlite.segments.tables import AT_ONCE, WORDS, documents_of
from recollect.store.vault import Finding
from recollect_postgres.memories import READ, from_row
from recollect_postgres.pool import Connection
from recollect_postgres.segments import KEYS, TEXTS, WordSegments

STEP = 1_000  # memories after which progress is reported
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
PAGE = f"{READ} WHERE m.vault = vault() AND m.key > %s ORDER BY m.key LIMIT {STEP}"
VERSIONS = """
SELECT memory, before FROM versions
 WHERE vault = vault() AND memory = ANY(%s) ORDER BY memory, write DESC"""
WRONG = "it is not what the memories say"
VOCABULARY = "SELECT token, documents FROM vocabulary WHERE vault = vault()"
WAITING = """
SELECT count(*) FROM models o JOIN memories m ON m.vault = vault() AND m.forgotten_at IS NULL
 WHERE o.vault = vault()
   AND EXISTS (SELECT 1 FROM vectors v
                WHERE v.vault = vault() AND v.memory = m.key AND v.model = o.key)
     = EXISTS (SELECT 1 FROM waiting w
                WHERE w.vault = vault() AND w.memory = m.key AND w.model = o.key)"""


def examine(connection: Connection, advance: Callable[[int], None]) -> list[Finding]:
    """Check every memory, its versions, and everything that is derived from them."""
    hashes, versions, last = 0, 0, 0
    while rows := connection.execute(PAGE, (last,)).fetchall():
        stored = {row[0]: from_row(row) for row in rows}
        kept = dict[int, bytes](connection.execute(HASHES, ([*stored],)))
        hashes += sum(kept[key] != content_hash_of(one.memory) for key, one in stored.items())
        differences = connection.execute(VERSIONS, ([*stored],))
        for key, some in groupby(differences, itemgetter(0)):
            versions += not _readable(stored[key], [before for _, before in some])
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
    """Check the vault's counts of memories and of history."""
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


def word_findings(connection: Connection, words: WordSegments) -> list[Finding]:
    """Check the keyword indexes, the vocabulary, and what waits for a vector."""
    counts: Counter[str] = Counter()
    lengths: dict[str, dict[int, int]] = {index: {} for index in WORDS}
    rows: dict[str, Counter[str]] = {index: Counter() for index in WORDS}
    for some in batched((key for (key,) in connection.execute(KEYS).fetchall()), AT_ONCE):
        texts = connection.execute(TEXTS, (some,)).fetchall()
        made = prepare([row[1:] for row in texts])
        counts.update(made.vocabulary)
        for index, packed in made.indexes.items():
            keys, sizes = documents_of(packed, [row[0] for row in texts])
            lengths[index].update(zip(keys.tolist(), sizes.tolist(), strict=True))
            rows[index].update({row[0]: row[1] for row in packed.rows})
    indexes = [
        Finding(
            f"{index} index", WRONG if _differs(connection, words, index, lengths, rows) else None
        )
        for index in WORDS
    ]
    vocabulary = dict(connection.execute(VOCABULARY).fetchall()) != dict(counts)
    [(waiting,)] = connection.execute(WAITING).fetchall()
    return [
        *indexes,
        Finding("vocabulary", "tokens have a wrong count" if vocabulary else None),
        Finding("waiting vectors", f"{waiting} are listed wrongly" if waiting else None),
    ]


def _differs(
    connection: Connection,
    words: WordSegments,
    index: str,
    lengths: dict[str, dict[int, int]],
    rows: dict[str, Counter[str]],
) -> bool:
    """Return True if an index has other documents, lengths or document frequencies."""
    search = words.segments(connection, index)  # type: ignore[arg-type]
    if search is None:
        return bool(lengths[index])
    live = np.ones(len(search.keys), np.bool_) if search.live is None else search.live
    keys, sizes = search.keys[live].tolist(), search.lengths[live].tolist()
    frequencies: Counter[str] = Counter()
    for token in search.beginning(""):
        postings = search.postings(token)
        frequencies[token] = 0 if postings is None else int(live[postings.documents].sum())
    return (
        len(keys) != len(lengths[index])
        or dict(zip(keys, sizes, strict=True)) != lengths[index]
        or frequencies != rows[index]
    )
